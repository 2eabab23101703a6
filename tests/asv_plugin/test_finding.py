"""`asv find` searches by stored launches where they decide a step, and by new ones where they do not."""

import subprocess
import zipfile
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from math import log
from pathlib import Path
from threading import Thread

import pytest

from tensorcopy.asv_plugin import finding
from tensorcopy.asv_plugin.finding import Search, search
from tensorcopy.configuration import Paths
from tensorcopy.copying.shipped import shipped
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure.plan import Measurement
from tensorcopy.measure.side_benchmarks import Benchmark
from tensorcopy.measure.side_process import cannot_import
from tensorcopy.measure.taking import Job, Sides, Taker
from tensorcopy.releases import environments, release_table, uv, wheel_index
from tensorcopy.releases.environments import Environment
from tests import launch_files
from tests.conftest import POLL
from tests.launch_files import PROVENANCE

BUILDS = [f"2.{minor}.{patch}" for minor in range(8) for patch in range(2)]


def changing(changes, asked=None, missing=()):
    """Return a function that measures a step: the planted changes in either half, and nothing else."""

    def sizes_of(low, middle, high):
        if asked is not None:
            asked.append(middle)
        if middle in missing:
            return None
        places = [BUILDS.index(build) for build in (low, middle, high)]
        halves = [
            [log(ratio) for build, ratio in changes.items() if first < BUILDS.index(build) <= last]
            for first, last in zip(places, places[1:])
        ]
        return [sum(half) for half in halves]

    return sizes_of


@pytest.mark.parametrize("build", BUILDS[1:])
def test_the_build_of_a_change_is_found_in_logarithmically_many_steps(build):
    asked: list[str] = []
    assert search(BUILDS, changing({build: 1.3}, asked)) == [BUILDS[BUILDS.index(build) - 1], build]
    assert len(asked) <= 4


def test_of_several_changes_the_half_with_the_greater_one_is_searched():
    assert search(BUILDS, changing({"2.1.0": 1.1, "2.5.1": 1.5})) == ["2.5.0", "2.5.1"]


def test_a_build_that_cannot_be_measured_is_skipped():
    assert search(BUILDS, changing({"2.4.0": 1.5}, missing=("2.3.1", "2.4.0"))) == ["2.3.0", "2.4.1"]


def test_a_step_that_tells_neither_half_ends_the_search():
    """All builds that are left are returned: none of them is named as the one."""
    assert search(BUILDS, lambda low, middle, high: (0.0, 0.0)) == BUILDS


BY_SIZE = "copies.BySize.time_copy"
CASE, OTHER = "copies.BySize.time_copy tensor 16", "copies.BySize.time_copy clone_detach 16"
RELEASES = ("2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0")
PATCH = "2.9.0"  # is not in the table
LEVELS = {"2.7.1": 1.0, "2.8.0": 1.0, PATCH: 1.0, "2.9.1": 2.0, "2.10.0": 2.0, "2.11.0": 2.0}


class Machine(Taker):
    """A machine that takes a launch at once: of 2.8.0 beside 2.11.0 none, and with 2.10.0 none.

    taken : the releases of each launch
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.taken = folder, list[list[str]]()

    def opened(self, measurement, campaign, paths):
        version = measurement.release.version
        if version == "2.10.0":
            raise TensorcopyError("it does not run", got="nothing", allowed="", next="")
        measurement.path(paths).mkdir(parents=True, exist_ok=True)
        provenance = {**PROVENANCE, "torch": version, "torch_sha": measurement.release.sha}
        return Environment(Path("python"), {"provenance": provenance, "torch_folder": "torch"})

    def suites_of(self, side):
        return {BY_SIZE: Benchmark(BY_SIZE, "4", ["method", "numel"], [["'clone_detach'", "'tensor'"], ["16"]])}

    def take(self, sides, machine, **_):
        versions = [side.provenance["torch"] for side in sides]
        if "2.8.0" in versions and "2.11.0" in versions:
            raise cannot_import(sides[versions.index("2.8.0")], "ImportError: no symbol")
        self.taken.append(versions)
        folder, start = self.folder / str(len(self.taken)), launch_files.START.replace(second=len(self.taken))
        (path,) = launch_files.write(folder, {CASE: {each: LEVELS[each] for each in versions}}, launches=1, start=start, machine="box")
        return launch_files.launches.read(path)


@pytest.fixture
def called(tmp_path, monkeypatch):
    """Makes searches whose launches are made at once; the results; the releases of the launches; the environments; what ends a search."""
    machine, row = Machine(tmp_path / "made"), release_table.load().find("2.9.1")
    monkeypatch.setattr(environments, "gigabytes", lambda *_: 0)  # whatever this machine's disk has
    monkeypatch.setattr(wheel_index, "release", lambda version: replace(row, version=version, sha=launch_files.sha_of(version)))
    paths, added = Paths(tmp_path / "results", tmp_path / "site", tmp_path / ".asv" / "env", ("3.11",)), ExitStack()

    def new(sign=1, versions=RELEASES, selection="copies"):
        sides = {version: Measurement(release_table.load().find(version), "3.11") for version in versions}
        job = Job(Sides(shipped(), paths, taker=machine), "box", selection, folder=tmp_path / "kept")
        environment = sides[versions[0]].environment
        return Search(sign, job, [(paths.results, "box", environment), (tmp_path / "kept", "box", environment)], sides, added)

    return new, paths.results, machine.taken, paths.environments, added


def test_stored_launches_that_decide_every_step_are_all_that_is_used(called, caplog):
    """The case that changed most is searched for; what changed in the other direction is found with the other sign."""
    new, results, taken, *_ = called
    other = {"2.7.1": 3.0, "2.8.0": 2.7, "2.9.1": 2.7, "2.10.0": 2.7, "2.11.0": 2.7}
    launch_files.write(results, {CASE: {each: LEVELS[each] for each in RELEASES}, OTHER: other})
    searching = new()
    assert searching.start([RELEASES[0], RELEASES[-1]])
    assert search(RELEASES, searching.sizes) == ["2.8.0", "2.9.1"]
    assert caplog.messages[0].startswith("copies.BySize.time_copy('tensor', 16): 2.00 (")
    opposite = new(-1)
    assert opposite.start([RELEASES[0], RELEASES[-1]])
    assert search(RELEASES, opposite.sizes) == ["2.7.1", "2.8.0"]
    assert not taken


def test_without_a_significant_change_there_is_nothing_to_search(called):
    """Where stored launches have tested every case, none is taken."""
    new, results, taken, *_ = called
    launch_files.write(results, {CASE: dict.fromkeys(RELEASES, 1.0)})
    assert not new().start([RELEASES[0], RELEASES[-1]])
    assert not taken


def test_launches_that_are_missing_are_taken_once_beside_the_results(called):
    """Of both ends, and of the three builds of a step; they are found again by the next search."""
    new, results, taken, *_ = called
    searching, versions = new(), ["2.7.1", "2.8.0", "2.9.1"]
    assert searching.start([versions[0], versions[-1]])
    assert search(versions, searching.sizes) == ["2.8.0", "2.9.1"]
    assert taken == [["2.7.1", "2.9.1"]] * finding.LAUNCHES + [versions] * finding.LAUNCHES
    assert not results.exists()
    again = new()
    assert again.start([versions[0], versions[-1]])
    assert search(versions, again.sizes) == ["2.8.0", "2.9.1"]
    assert len(taken) == 2 * finding.LAUNCHES


def test_builds_between_two_releases_are_searched_and_removed(called):
    """A build that is in no table is installed for the search alone; no launch of it joins the results."""
    new, results, taken, folder, added = called
    launch_files.write(results, {CASE: {each: LEVELS[each] for each in RELEASES}})
    searching = new()
    assert searching.start([RELEASES[0], RELEASES[-1]])
    assert search(["2.8.0", PATCH, "2.9.1"], searching.sizes) == [PATCH, "2.9.1"]
    assert taken == [["2.8.0", PATCH, "2.9.1"]] * finding.LAUNCHES
    assert len([*results.rglob("*.json")]) == launch_files.LAUNCHES
    added.close()
    assert {path.name.partition("-")[0] for path in folder.glob("[0-9]*")} == {"2.8.0", "2.9.1"}


@pytest.mark.parametrize(("middle", "reason"), [("2.10.0", "it does not run: got nothing"), ("2.8.0", "ImportError: no symbol")])
def test_a_build_that_cannot_be_opened_or_cannot_import_the_suites_is_skipped(called, caplog, middle, reason):
    """With its reason; no launch is taken without it, which would not be used."""
    new, _, taken, *_ = called
    searching = new()
    assert searching.start(["2.7.1", "2.9.1"])
    count = len(taken)
    assert searching.sizes("2.7.1" if middle == "2.10.0" else "2.9.1", middle, "2.11.0") is None
    assert reason in caplog.messages[-1]
    assert len(taken) == count


def test_an_end_that_cannot_be_measured_ends_the_search_with_what_is_known(called, caplog):
    """The middle is not to blame, and stays; the reason is logged."""
    new, results, *_ = called
    launch_files.write(results, {CASE: {each: LEVELS[each] for each in RELEASES}})
    searching = new()
    assert searching.start([RELEASES[0], RELEASES[-1]])
    assert search(["2.9.1", PATCH, "2.10.0"], searching.sizes) == ["2.9.1", PATCH, "2.10.0"]
    assert caplog.messages[-1].startswith("it does not run")


def test_a_case_that_failed_with_the_middle_is_skipped_by_what_is_stored(called, caplog):
    new, results, taken, *_ = called
    launch_files.write(results, {CASE: {"2.7.1": 1.0, "2.8.0": "RuntimeError: no", "2.9.1": 2.0}})
    searching = new()
    assert searching.start(["2.7.1", "2.9.1"])
    assert search(["2.7.1", "2.8.0", "2.9.1"], searching.sizes) == ["2.7.1", "2.9.1"]
    assert caplog.messages[-1] == "torch 2.8.0 is skipped: RuntimeError: no"
    assert not taken


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
    environments._install(tmp_path / "environment", candidate, "3.11", ["torch==2.15.0rc2"], shipped())
    installed = subprocess.run(
        [uv.interpreter(tmp_path / "environment"), "-c", "import numpy, torch.version; print(torch.version.__version__)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert installed.stdout == "2.15.0rc2\n"
