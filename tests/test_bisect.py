"""A bisection finds the build with which a case changed, by paired launches, and goes on where it stopped."""

import subprocess
import zipfile
from contextlib import ExitStack
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from math import prod
from pathlib import Path
from random import Random
from threading import Thread

import pytest

from tensorcopy import cli
from tensorcopy.analysis.comparisons import distance
from tensorcopy.configuration import Paths
from tensorcopy.copying.campaign import shipped
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import bisect, launch
from tensorcopy.measure.bisect import BuildFailed, Search, search
from tensorcopy.measure.launch import SideFailed
from tensorcopy.measure.plan import Measurement
from tensorcopy.measure.taking import Job
from tensorcopy.releases import environments, release_table, uv, wheel_index
from tensorcopy.releases.environments import Environment
from tensorcopy.worker import hardware
from tests import launch_files
from tests.conftest import POLL
from tests.launch_files import PROVENANCE

BUILDS = [f"2.{minor}.{patch}" for minor in range(8) for patch in range(2)]


def failed(build: str) -> BuildFailed:
    return BuildFailed("it does not run", got=build, allowed="", next="")


def stepped(changes: dict[str, float], asked: list[str] | None = None, missing: tuple[str, ...] = ()):
    """Return a function that measures builds in turns: ten launches of all, with the ratio of every change up to a build, and noise."""
    random = Random(1)

    def in_turns(versions):
        seconds = {}
        for version in versions:
            if version in missing:
                raise failed(version)
            if asked is not None and version not in asked:
                asked.append(version)
            level = prod(ratio for build, ratio in changes.items() if BUILDS.index(build) <= BUILDS.index(version))
            seconds[version] = [1e-6 * level * random.lognormvariate(0, 0.01) for _ in range(10)]
        return seconds

    return in_turns


@pytest.mark.parametrize("build", BUILDS[1:])
def test_the_build_of_a_change_is_found_in_logarithmically_many_steps(build):
    asked: list[str] = []
    found, values = search(BUILDS, stepped({build: 1.3}, asked), distance)
    assert found == [BUILDS[BUILDS.index(build) - 1], build]
    assert list(values) == sorted(asked)
    assert len(asked) <= 2 + 4


def test_of_several_changes_the_one_that_crosses_the_middle_is_found():
    found, values = search(BUILDS, stepped({"2.1.0": 1.1, "2.5.1": 1.5}), distance)
    assert found == ["2.5.0", "2.5.1"]
    assert values["2.5.1"] / values["2.5.0"] == pytest.approx(1.5, rel=0.03)


def test_a_build_that_cannot_be_measured_is_left_out():
    found, values = search(BUILDS, stepped({"2.4.0": 0.7}, missing=("2.3.1", "2.4.0")), distance)
    assert found == ["2.3.0", "2.4.1"]
    assert not {"2.3.1", "2.4.0"} & set(values)


@pytest.mark.parametrize("end", [0, -1])
def test_an_end_that_cannot_be_measured_is_the_error(end):
    """At once, or later, when a build in between is measured beside it: that one is not to blame, and stays."""
    with pytest.raises(BuildFailed) as error:
        search(BUILDS, stepped({"2.4.0": 2.0}, missing=(BUILDS[end],)), distance)
    assert error.value.got == BUILDS[end]
    measured = []

    def fails_later(versions):
        measured.append(versions)
        if len(measured) > 1:
            raise failed(BUILDS[end])
        return stepped({"2.4.0": 2.0})(versions)

    with pytest.raises(BuildFailed) as error:
        search(BUILDS, fails_later, distance)
    assert error.value.got == BUILDS[end]
    assert len(measured) == 2


def test_equal_ends_are_not_searched():
    assert search(BUILDS, stepped({}), distance) is None


def test_a_time_that_cannot_be_told_from_either_end_ends_the_search():
    """The builds that remain are returned."""
    levels, random = {BUILDS[0]: 1.0, BUILDS[-1]: 1.1}, Random(2)

    def in_turns(versions):
        return {version: [levels.get(version, 1.05) * random.lognormvariate(0, 0.05) for _ in range(10)] for version in versions}

    found, values = search(BUILDS, in_turns, distance)
    assert found == BUILDS
    assert list(values) == [BUILDS[0], BUILDS[7], BUILDS[-1]]


CASE = "copies.BySize.time_copy tensor 16"


@pytest.fixture
def called(tmp_path, monkeypatch):
    """A search whose launches are made at once, the releases that they had, and its reports."""
    taken: list[list[str]] = []
    reports: list[str] = []

    def opened(measurement, campaign, paths):
        version = measurement.release.version
        if version == "2.9.0":
            raise TensorcopyError("it does not run", got="nothing", allowed="", next="")
        return Environment(
            Path("python"), {"ledger": {**PROVENANCE, "torch": version, "torch_sha": measurement.release.sha}, "torch_folder": "torch"}
        )

    def take(sides, machine, **_):
        versions = [side.provenance["torch"] for side in sides]
        if "2.9.1" in versions:
            raise SideFailed.of(sides[versions.index("2.9.1")], "ImportError: no symbol")
        taken.append(versions)
        start = launch_files.START.replace(second=len(taken))
        folder = tmp_path / "made" / str(len(taken))
        (path,) = launch_files.write(
            folder, {CASE: {each: 1.0 if each in ("2.7.1", "2.8.0") else 2.0 for each in versions}}, launches=1, start=start
        )
        return launch_files.launches.read(path)

    monkeypatch.setattr(Measurement, "opened", opened)
    monkeypatch.setattr(launch, "take", take)
    monkeypatch.setattr(hardware, "identity", lambda: PROVENANCE["identity"])
    paths = Paths(tmp_path / "results", tmp_path / "site", tmp_path / ".asv" / "env", ("3.11",))
    added = ExitStack()

    def new() -> Search:
        return Search("3.11", Job(shipped(), paths, "box", "x", folder=tmp_path / "kept"), reports.append, added)

    return new, taken, reports, added


def test_three_builds_take_turns_and_what_was_taken_is_not_taken_again(called):
    """Two launches were there when the search was interrupted."""
    new, taken, reports, _ = called
    first = new()
    times = first.time(["2.7.1", "2.8.0", "2.10.0"])
    assert taken == [["2.7.1", "2.8.0", "2.10.0"]] * bisect.LAUNCHES
    assert {build: round(1e6 * sorted(values)[4]) for build, values in times.items()} == {"2.7.1": 1, "2.8.0": 1, "2.10.0": 2}
    assert distance(times["2.7.1"], times["2.10.0"]) > 0 == distance(times["2.7.1"], times["2.8.0"])
    for path in sorted((first.job.results / "box").iterdir())[2:]:
        path.unlink()
    new().time(["2.7.1", "2.8.0", "2.10.0"])
    assert len(taken) == 2 * bisect.LAUNCHES - 2
    assert reports == ["torch 2.7.1, 2.8.0, 2.10.0 beside each other"] * 2


def test_a_build_that_fails_is_left_out_and_what_only_the_search_needs_is_removed(called, monkeypatch):
    """With its reason in the output; a release of the table stays."""
    new, _, reports, added = called
    row, removed = release_table.load().find("2.8.0"), []
    monkeypatch.setattr(
        wheel_index,
        "release",
        lambda version: type(row)(version, row.date, launch_files.sha_of(version), row.pythons, row.numpy, row.notes),
    )
    monkeypatch.setattr(environments, "remove", lambda path: removed.append(path.name.partition("-")[0]))
    found, _ = search(["2.8.0", "2.8.1", "2.9.0", "2.9.1", "2.10.0"], new().time, distance)
    assert found == ["2.8.0", "2.8.1"]
    assert "torch 2.9.0 cannot be measured: it does not run, nothing" in reports
    added.close()
    assert set(removed) == {"2.8.1", "2.9.0"}


def test_no_launch_is_taken_without_a_build_that_cannot_import_the_suites(called):
    """Those of the other builds would not be used."""
    new, taken, reports, _ = called
    found, _ = search(["2.8.0", "2.9.1", "2.10.0"], new().time, distance)
    assert found == ["2.8.0", "2.10.0"]
    assert taken == [["2.8.0", "2.10.0"]] * bisect.LAUNCHES
    assert reports[-1].startswith("torch 2.9.1 cannot be measured: the suites cannot be imported")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["detach", "2.10", "2.9"], "an empty range of releases: got '2.10..2.9'"),
        (["detach", "2.9", "2.9.1"], "nothing to search between: got 2.9 and 2.9.1; allowed: two releases"),
        (["detach", "2.9", "x"], "unknown torch release: got 'x'"),
        (["detach", "9" * 5000, "2.9"], "unknown torch release: got '999"),
        (["detach", "1.9.0", "2.15.0"], "no Python here runs both releases"),
    ],
    ids=["order", "one release", "no version", "endless", "no Python"],
)
def test_a_wrong_range_is_one_line(capsys, arguments, message):
    assert cli.main(["bisect", *arguments]) == 2
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1
    assert message in printed


def test_patches_outside_the_table_are_among_the_builds():
    """The index has 2.9.0, the table has not; the ends are there too."""
    assert wheel_index.between("2.8.0", "2.10.0", "3.11", release_table.load()) == ["2.8.0", "2.9.0", "2.9.1", "2.10.0"]


@pytest.fixture
def nightlies(tmp_path):
    """The address of an index with two nightlies and a release candidate of torch 2.15.0, and with one of an earlier series."""
    (tmp_path / "torch").mkdir()
    for version in ("2.13.0.dev20260301", "2.15.0.dev20260801", "2.15.0.dev20260901", "2.15.0rc2"):
        info = f"torch-{version}.dist-info"
        content = {
            "torch/version.py": f"__version__ = {version!r}\ngit_version = {'9' * 40!r}\n",
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\nRequires-Dist: numpy\n",
            f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: false\nTag: cp311-cp311-linux_x86_64\n",
        }
        content[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*content, f"{info}/RECORD"])
        with zipfile.ZipFile(tmp_path / "torch" / f"torch-{version}-cp311-cp311-linux_x86_64.whl", "w") as archive:
            for path, text in content.items():
                archive.writestr(path, text)
    links = "".join(f'<a href="{path.name}">{path.name}</a>' for path in (tmp_path / "torch").iterdir())
    (tmp_path / "torch" / "index.html").write_text(links)
    handler = type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(tmp_path)))
    Thread(target=server.serve_forever, args=(POLL,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()


@pytest.mark.weekly
def test_nightlies_and_candidates_of_an_index_are_among_the_builds(monkeypatch, nightlies, tmp_path):
    """Those between both ends, where the index is set, and they are installed from it; releases come from uv's own."""
    monkeypatch.setenv(uv.NIGHTLY_INDEX, nightlies)
    builds = wheel_index.between("2.14.1", "2.15.0", "3.11", release_table.load())
    assert builds == ["2.14.1", "2.15.0.dev20260801", "2.15.0.dev20260901", "2.15.0rc2", "2.15.0"]
    assert [wheel_index.release(build).sha for build in builds[1:4]] == ["9" * 40] * 3
    candidate = release_table.Release("2.15.0rc2", release_table.UNKNOWN, "9" * 40, ("3.11", "3.11"), "1.26.4", "")
    environments._install(tmp_path / "environment", candidate, "3.11", ["torch==2.15.0rc2"])
    installed = subprocess.run(
        [uv.interpreter(tmp_path / "environment"), "-c", "import numpy, torch.version; print(torch.version.__version__)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert installed.stdout == "2.15.0rc2\n"
