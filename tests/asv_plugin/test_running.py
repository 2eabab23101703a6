"""What `asv run` measures, and says before."""

from argparse import Namespace
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from tensorcopy.asv_plugin import running
from tensorcopy.configuration import Paths
from tensorcopy.copying.shipped import shipped
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import taking
from tensorcopy.measure.plan import Measurement
from tests import launch_files


@pytest.fixture
def existing(tmp_path):
    """What `asv run EXISTING` measures in environments of these Pythons, with results of 2.4.1 on 3.9 and of 2.15.0 on 3.11."""
    launch_files.write_small(tmp_path, "2.4.1@3.9", machine="box", launches=1)
    launch_files.write_small(tmp_path, "2.15.0", machine="box", launches=1)
    job = taking.Job(taking.Sides(shipped(), Paths(tmp_path, tmp_path, tmp_path, ())), "box")
    repo = SimpleNamespace(get_branch_commits=lambda _: [release.sha for release in job.campaign.releases][::-1])
    options = Namespace(range="EXISTING", date_period=None, steps=None, skip_existing=False, skip_existing_commits=False)

    @dataclass(frozen=True)
    class OfPython:
        python: str
        interpreter = ""
        name = property(lambda self: f"py{self.python}-cuda")

        def why_not(self, release):
            return ""

        def measurement(self, release):
            return Measurement(release, self.python, build="cuda")

    def chosen(*pythons):
        return running._chosen([OfPython(python) for python in pythons], repo, options, job, is_resumed=False)

    return chosen


def test_existing_means_what_was_measured_on_the_same_python(existing):
    """asv combines commits with environments: each release would be installed on another Python, too."""
    assert [(each.release.version, each.python) for each in existing("3.11", "3.9")] == [("2.15.0", "3.11"), ("2.4.1", "3.9")]
    assert [(each.release.version, each.python) for each in existing("3.9")] == [("2.4.1", "3.9")]
    with pytest.raises(TensorcopyError, match=r"nothing to measure: got no result of box in py3\.12-cuda"):
        existing("3.12")


@pytest.mark.parametrize(
    ("there", "outlook", "is_resumed", "lines"),
    [
        (0, ["4 launches"], False, ["4 launches"]),
        (2, ["4 launches"], False, ["1 of 1 side measured before: --skip-existing adds no launch to those", "4 launches"]),
        (2, ["2 launches"], True, ["2 launches"]),
        (4, [], True, ["no launch is missing, and none is taken"]),
    ],
)
def test_a_run_says_before_what_it_adds(there, outlook, is_resumed, lines):
    """Also that what was measured before is measured again, and where nothing is."""
    missing = SimpleNamespace(suites={"a": {}}, measurements=[SimpleNamespace(place="here")])
    assert running._intentions(missing, {"here": there}, outlook, is_resumed=is_resumed) == lines
    assert running._intentions(SimpleNamespace(suites={}), {}, [], is_resumed=False) == []
