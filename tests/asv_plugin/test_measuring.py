"""What `asv run` and `asv continuous` ask for, and that they measure it."""

from __future__ import annotations

import shutil
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from asv.commands import make_argparser

from tensorcopy import configuration
from tensorcopy.asv_plugin import measuring, reading
from tensorcopy.campaign import Campaign
from tensorcopy.configuration import Paths
from tensorcopy.copying.shipped import of_folder
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import run as runs
from tensorcopy.measure import sides
from tensorcopy.measure.plan import Request
from tensorcopy.worker import hardware
from tensorcopy.worker.devices import cpu_model
from tests import launch_files
from tests.conftest import ROOT
from tests.repositories import AUTHOR, commit_all
from tests.repositories import run as git

SUITE = (
    'import torch\n\n\nclass Ones:\n    params = [1, 2]\n    param_names = ["n"]\n\n    def time_ones(self, n):\n        torch.ones(n)\n'
)


class Asked(Exception):
    """What a command asks to be measured."""

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self.request = request


@pytest.fixture
def checkout(no_other_repository, every_python, tmp_path, monkeypatch) -> Path:
    """A project with two commits in the current folder, a machine with every Python, and no measuring: a request is raised as `Asked`."""

    def raise_request(request: Request, *_: Any, **__: Any) -> None:
        raise Asked(request)

    monkeypatch.setattr(runs, "run", raise_request)
    for name in ("TENSORCOPY_LAUNCHES", "TENSORCOPY_FOR", "TENSORCOPY_NEEDS", "TENSORCOPY_DEVICE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "asv.conf.json", tmp_path)
    (tmp_path / "tensorcopy.toml").write_text('[project]\nname = "lab"\n[suites]\npath = "benchmarks"\n')
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "__init__.py").touch()
    git(tmp_path, "init", "-q", "-b", "main", ".")
    for body in ("one", "two"):
        (tmp_path / "benchmarks" / "ones.py").write_text(f"# {body}\n{SUITE}")
        commit_all(tmp_path, body)
    return tmp_path


def options_of(*words: str) -> tuple[Campaign, Paths, Namespace]:
    """Return what a command gets: the campaign, its folders, and the options."""
    return of_folder(Path.cwd()), configuration.paths(), make_argparser()[0].parse_args([*words])


def asked(*words: str) -> Request:
    """Return what a command of asv asks for."""
    act = {"run": measuring.run, "continuous": measuring.continuous}[words[0]]
    with pytest.raises(Asked) as caught:
        act(*options_of(*words))
    return caught.value.request


def versions(request: Request) -> list[str]:
    return [f"{side.release.version}@{side.python}" for side in request.sides]


NEWEST = ["2.13.0@3.11", "2.14.1@3.11", "2.15.0@3.11"]


@pytest.mark.parametrize(
    ("range", "expected"),
    [
        ([], NEWEST[-1:]),
        (["v2.9.1..v2.12.1"], ["2.10.0@3.11", "2.11.0@3.11", "2.12.1@3.11"]),
        (["v2.13.0.."], NEWEST[-2:]),
        (["..v1.9.1"], ["1.9.0@3.9", "1.9.1@3.9"]),
        (["NEW"], NEWEST[-2:]),
        (["v1.9.0^!"], ["1.9.0@3.9"]),
    ],
    ids=["the newest", "a range", "from", "to", "NEW", "one"],
)
def test_asv_run_measures_the_releases_of_a_range(checkout, range, expected):
    """As in git without the start of the range; each on the first Python of asv.conf.json that has it, beside the reference."""
    request = asked("run", *range)
    assert versions(request) == expected
    assert request.reference
    assert request.reference.release.version == sides.REFERENCE
    assert (request.launches, request.most, request.again, request.together) == (3, 0, True, False)
    assert (request.counts, request.functions, request.folder) == ("", True, None)


def test_without_newer_releases_new_means_the_newest_two(checkout, monkeypatch):
    """They are completed where a number of launches is given, or get some more."""
    launch_files.write(
        checkout / "results",
        {"ones.Ones.time_ones n=1": {"2.14.1": 1.0, "2.15.0": 1.0}},
        machine="box",
        cpu=cpu_model(),
        hardware=hardware.collect(),
    )
    request = asked("run", "NEW")
    assert (versions(request), request.launches, request.again) == (NEWEST[-2:], 3, True)
    monkeypatch.setenv("TENSORCOPY_LAUNCHES", "12")
    request = asked("run", "NEW")
    assert (versions(request), request.launches, request.again) == (NEWEST[-2:], 12, False)


def test_settings_and_options_say_how_much_is_measured(checkout, monkeypatch):
    """Of the environment, where the workflow sets them, and of asv."""
    monkeypatch.setenv("TENSORCOPY_DEVICE", "cpu")
    assert asked("run").needs == "cpu"
    monkeypatch.setenv("TENSORCOPY_NEEDS", "mps")
    monkeypatch.setenv("TENSORCOPY_FOR", "1h")
    request = asked("run", "-a", "rounds=7", "-b", "time_a", "-b", "(?i)B", "--machine", "box")
    assert (request.device, request.needs) == ("cpu", "mps")
    assert monotonic() < request.until < monotonic() + 3601
    assert (request.launches, request.selection, request.history) == (7, "(?:time_a)|(?:(?i:B))", "box")
    assert request.functions is False
    monkeypatch.setenv("TENSORCOPY_NEEDS", "tpu")
    with pytest.raises(TensorcopyError, match="invalid TENSORCOPY_NEEDS: got 'tpu'; allowed: cpu, "):
        measuring.run(*options_of("run"))
    monkeypatch.delenv("TENSORCOPY_NEEDS")
    quick = asked("run", "--quick")
    assert (quick.launches, quick.most) == (1, 1)
    assert quick.folder
    assert quick.folder.parent == checkout / ".asv" / "now"  # no part of a history


def test_a_new_history_has_the_name_that_asv_machine_gave(checkout, tmp_path, monkeypatch):
    """As on GitHub's machines, whose hosts have other names each day, and several processors: a history of this name may be refused."""
    monkeypatch.setenv("HOME", str(tmp_path))
    assert asked("run").machine == ""
    (tmp_path / ".asv-machine.json").write_text('{"github-hosted": {"machine": "github-hosted"}, "version": 1}')
    request = asked("run")
    assert (request.machine, request.history) == ("github-hosted", "")


def test_asv_continuous_compares_two_releases(checkout):
    """Four launches, up to sixteen of what is not exact enough for the factor; without one release its parent is the other."""
    for request in (asked("continuous", "v2.14.1", "v2.15.0"), asked("continuous", "v2.15.0")):
        assert versions(request) == NEWEST[-2:]
        assert (request.launches, request.most, request.together) == (8, 16, True)
        assert request.half == pytest.approx(0.05)
        assert (request.again, request.folder) == (True, None)
    assert asked("continuous", "v2.15.0", "--factor", "1.02").half == pytest.approx(0.01)
    assert asked("continuous", "v2.15.0", "-a", "rounds=3").launches == 3
    assert versions(asked("continuous", "v1.10.2", "v2.8.0")) == ["1.10.2@3.9", "2.8.0@3.9"]  # on the Python that both have
    with pytest.raises(TensorcopyError, match=r"no Python has both releases: .*; next: tensorcopy compare 1\.9\.0 2\.15\.0"):
        measuring.continuous(*options_of("continuous", "v1.9.0", "v2.15.0"))


def test_a_tag_with_the_name_of_a_release_is_a_release(checkout):
    """`asv compare v2.8.0 v2.15.0` is of torch; a longer name is of the package."""
    git(checkout, "tag", "v2.8.0", "HEAD~1")
    assert versions(asked("continuous", "v2.8.0", "v2.15.0")) == ["2.8.0@3.11", "2.15.0@3.11"]
    assert [side.revision.name for side in asked("continuous", "refs/tags/v2.8.0", "main").sides] == ["refs/tags/v2.8.0", "main"]


def test_asv_continuous_compares_two_commits(checkout, caplog):
    """Their launches are no part of a history, and stored ones count; where no file that is measured differs, nothing is measured."""
    request = asked("continuous", "HEAD~1", "main")
    assert [side.revision.name for side in request.sides] == ["HEAD~1", "main"]
    assert (request.again, request.folder) == (False, checkout / ".asv" / "revisions" / "results")
    assert [side.revision.name for side in asked("continuous", "main").sides] == ["main^", "main"]
    git(checkout, *AUTHOR, "commit", "-q", "--allow-empty", "-m", "three")
    assert measuring.continuous(*options_of("continuous", "HEAD~1", "HEAD")) == 0
    assert caplog.messages[-1].startswith("no file that is measured differs between ")


def test_commits_are_compared_under_the_newest_torch_that_measured_both(checkout, capsys):
    """Here head is slower under it, and was not under another."""
    (base, head), case = git(checkout, "log", "--format=%H", "--reverse").split(), "ones.Ones.time_ones n=1"
    for version, time in {"2.15.0": 2.0, "2.14.1": 1.0}.items():
        times = {f"{version}#{base}": 1.0, f"{version}#{head}": time}
        launch_files.write(checkout / ".asv/revisions/results", {case: times}, launches=6, machine="box")
    assert reading.compare(*options_of("compare", "HEAD~1", "HEAD")) == 0
    assert capsys.readouterr().out.startswith("HEAD against HEAD~1 on Box 9000: 1 of 1 case slower (")


def test_interpreters_take_turns_with_each_other(checkout, monkeypatch):
    """The newest is the reference; a single one has none, and nothing is installed. A release that none has is refused."""
    releases = [launch_files.release_table.load().find(version) for version in ("2.7.1", "2.8.0")]
    both = [replace(sides.of_release(each, ["3.9"]), interpreter=f"python{number}") for number, each in enumerate(releases)]
    told = {
        side.interpreter: {"provenance": {"python": f"{side.python}.1", "torch_sha": side.release.sha, "build": side.wheel}}
        for side in both
    }
    monkeypatch.setattr(sides.interpreters, "executable", str)
    monkeypatch.setattr(sides.interpreters, "run_probe", lambda python, _: told[python])
    words = ["-E", "interpreter:python0", "-E", "interpreter:python1"]
    request = asked("run", *words)
    assert (request.sides, request.reference) == (tuple(both), both[1])
    assert asked("run", *words[:2]).reference is None
    for given in (words, [*words[2:], *words[:2]]):
        assert asked("continuous", "v2.7.1", "v2.8.0", *given).sides == tuple(both)
    with pytest.raises(TensorcopyError, match=r"no interpreter has this torch: got 2\.9\.1; "):
        measuring.run(*options_of("run", "v2.9.1", *words))
