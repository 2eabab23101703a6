"""A bisection finds the build with which a call changed, by exact count or by time, and goes on where it stopped."""

from __future__ import annotations

import json
import lzma
import subprocess
import sys
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from threading import Thread

import pytest

from tensorcopy import cli
from tensorcopy.analysis import bisection
from tensorcopy.analysis.bisection import COUNT, Interval
from tensorcopy.analysis.profiles import difference
from tensorcopy.asv_plugin.configuration import Paths
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure.profiles import builds
from tensorcopy.releases import environments, interpreters, release_table, uv, wheel_index
from tensorcopy.report.why import bisection_text
from tensorcopy.results.profiles import profile_file
from tests.conftest import POLL, ROOT

BUILDS = [f"2.{minor}.{patch}" for minor in range(8) for patch in range(2)]
CASE = "numpy_from_dlpack 1 float32 contiguous"


def counted(changes: dict[str, float], asked: list[str] | None = None, missing: tuple[str, ...] = ()):
    """Return a function that counts 1000 instructions, times the ratio of every change up to a build."""

    def count(version: str) -> float | None:
        if asked is not None:
            asked.append(version)
        value = 1000.0
        for build, ratio in changes.items():
            value *= ratio if BUILDS.index(build) <= BUILDS.index(version) else 1.0
        return None if version in missing else value

    return count


@pytest.mark.parametrize("build", BUILDS[1:])
def test_the_build_of_a_change_is_found_in_logarithmically_many_steps(build):
    asked: list[str] = []
    outcome = bisection.by_count(BUILDS, counted({build: 1.3}, asked))
    assert (outcome.interval.before, outcome.interval.after) == (BUILDS[BUILDS.index(build) - 1], build)
    assert outcome.ratio == pytest.approx(1.3)
    assert len(asked) <= 2 + bisection.steps(BUILDS) == 6


def test_of_several_changes_the_one_that_crosses_the_middle_is_found():
    """The rest of the whole change is reported, and not attributed to it."""
    outcome = bisection.by_count(BUILDS, counted({"2.1.0": 1.1, "2.5.1": 1.5}))
    assert outcome.interval == Interval("2.5.0", "2.5.1")
    assert outcome.share < bisection_text.WHOLE
    text = bisection_text.text("", outcome, dict.fromkeys(BUILDS, "0" * 40), None, {})
    assert "Changed between torch 2.5.0 and 2.5.1: +50.0 %, of +65.0 % between both ends." in text


def test_a_build_that_cannot_be_installed_is_left_out():
    outcome = bisection.by_count(BUILDS, counted({"2.4.0": 0.7}, missing=("2.3.1", "2.4.0")))
    assert outcome.interval == Interval("2.3.0", "2.4.1")
    assert set(outcome.skipped) == {"2.3.1", "2.4.0"}
    text = bisection_text.text("", outcome, dict.fromkeys(BUILDS, "0" * 40), None, {"2.4.0": "no wheel"})
    assert "torch 2.4.0 was left out: no wheel" in text
    assert "torch 2.3.1 was left out: it does not run this call" in text


def test_equal_counts_are_no_change():
    assert bisection.by_count(BUILDS, counted({"2.4.0": 1.005})) is None
    assert bisection.by_count(BUILDS, counted({"2.4.0": 2.0}, missing=(BUILDS[-1],))) is None


def timed(slower_from: str, ratio: float, noise: float = 0.01):
    """Return a function that measures builds in turns: ten passes of each, with noise."""
    random = Random(3)

    def in_turns(versions):
        level = {version: ratio if BUILDS.index(version) >= BUILDS.index(slower_from) else 1.0 for version in versions}
        return {version: [1e-6 * level[version] * random.lognormvariate(0, noise) for _ in range(10)] for version in versions}

    return in_turns


@pytest.mark.parametrize("build", ["2.0.1", "2.4.0", "2.7.1"])
def test_a_change_of_the_time_is_found_by_passes_in_turns(build):
    outcome = bisection.by_time(BUILDS, timed(build, 1.2))
    assert outcome.interval == Interval(BUILDS[BUILDS.index(build) - 1], build)


def test_no_difference_of_the_time_is_not_searched():
    assert bisection.by_time(BUILDS, timed("2.4.0", 1.0)) is None


def test_a_time_between_both_ends_ends_the_search():
    """It says which builds remain."""
    levels = {BUILDS[0]: 1.0, BUILDS[-1]: 1.1}

    def in_turns(versions):
        return {
            version: [1e-6 * levels.get(version, 1.05) * (1 + 0.045 * (number % 5 - 2)) for number in range(10)] for version in versions
        }

    outcome = bisection.by_time(BUILDS, in_turns)
    assert outcome.interval == Interval(BUILDS[0], BUILDS[-1], BUILDS[7])
    text = bisection_text.text("", outcome, dict.fromkeys(BUILDS, "0" * 40), None, {})
    assert "torch 2.3.1 differs significantly from neither end" in text
    assert f"Left in between: {', '.join(BUILDS[1:-1])}." in text


@pytest.fixture
def job(tmp_path):
    """A bisection that was interrupted after three builds were counted: its file has their profiles, which are shipped ones."""
    paths = Paths(tmp_path / "results", tmp_path / "site", tmp_path / ".asv" / "env", ("3.11",))
    steps: list[str] = []
    interrupted = builds.Job(CASE, "3.11", paths, "0123456789ab", steps.append)
    profiles = {}
    for version in ("2.8.0", "2.9.1", "2.10.0"):
        shipped = ROOT / "results" / "xeon-2core" / f"{release_table.find(version).sha[:8]}-py3.11-cuda{profile_file.ENDING}"
        document = json.loads(lzma.decompress(shipped.read_bytes()))
        profiles[version] = {**document, "cases": {CASE: document["cases"][CASE]}}
    interrupted.file.parent.mkdir(parents=True)
    interrupted.file.write_text(json.dumps({"profiles": profiles, "failed": {"2.9.0": "no network"}}), encoding="utf-8")
    return interrupted, steps


def test_what_was_counted_is_not_counted_again(job):
    """The outcome names the functions, and what lies between which SHAs; a failure is tried again when the search is."""
    interrupted, steps = job
    outcome = bisection.by_count(["2.8.0", "2.9.0", "2.9.1", "2.10.0"], lambda version: builds.count(interrupted, version))
    assert steps == []
    assert (outcome.unit, outcome.skipped, outcome.interval) == (COUNT, ("2.9.0",), Interval("2.8.0", "2.9.1"))
    shas = {version: builds.sha(interrupted, version) for version in outcome.values}
    functions = difference.between(1, builds.profile(interrupted, "2.8.0"), builds.profile(interrupted, "2.9.1"))
    text = bisection_text.text(CASE, outcome, shas, functions, builds.failures(interrupted))
    assert f"/compare/{shas['2.8.0']}...{shas['2.9.1']}\n" in text
    assert "torch 2.9.0 was left out: no network" in text
    assert "Python binding +7\u2009" in text
    builds.forget_failures(interrupted)
    assert builds.failures(interrupted) == {}
    assert builds.count(interrupted, "2.8.0") == outcome.values["2.8.0"]


def test_a_damaged_file_is_one_line(job):
    interrupted, _ = job
    interrupted.file.write_text('{"profiles": {"2.8.0": {"version": 1}}}', encoding="utf-8")
    with pytest.raises(TensorcopyError, match="as tensorcopy bisect writes it"):
        builds.count(interrupted, "2.8.0")
    interrupted.file.write_text("{", encoding="utf-8")
    with pytest.raises(TensorcopyError, match="as tensorcopy bisect writes it"):
        builds.count(interrupted, "2.8.0")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["detach", "2.10", "2.9"], "wrong order: got 2.10.0 2.9.1"),
        (["detach", "2.9", "x"], "unknown torch release: got 'x'"),
        (["detach", "9" * 5000, "2.9"], "unknown torch release: got '999"),
        (["detach", "1.9.0", "2.15.0"], "no Python here runs both releases"),
    ],
    ids=["order", "no version", "endless", "no Python"],
)
def test_a_wrong_range_is_one_line(capsys, arguments, message):
    assert cli.main(["bisect", *arguments]) == 2
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1
    assert message in printed


def wheel(folder: Path, name: str, version: str, files: dict[str, str]) -> None:
    """Write a wheel for every Python of Linux."""
    info = f"{name}-{version}.dist-info"
    content = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nRequires-Dist: numpy\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: false\nTag: cp312-cp312-linux_x86_64\n",
    }
    content[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*content, f"{info}/RECORD"])
    for python in ("cp311", "cp312", "cp313"):
        with zipfile.ZipFile(folder / f"{name}-{version}-{python}-{python}-linux_x86_64.whl", "w") as archive:
            for path, text in content.items():
                archive.writestr(path, text.replace("cp312", python) if path.endswith("WHEEL") else text)


@pytest.mark.slow
def test_a_build_that_does_not_run_the_call_is_skipped_and_removed(monkeypatch, tmp_path):
    """Its name is that of the failure, and no environment of the search stays."""
    job = builds.Job(
        "detach 1 float32 contiguous", "3.11", Paths(tmp_path, tmp_path, tmp_path / "env", ("3.11",)), "0123456789ab", lambda text: None
    )
    removed = []
    monkeypatch.setattr(builds, "_environment", lambda _job, version: (version, partial(removed.append, version)))

    def seconds(_job, version):
        if version == "2.1.0":
            raise TensorcopyError("it does not run", got="", allowed="", next="")
        return 1e-6

    monkeypatch.setattr(builds, "_seconds", seconds)
    assert builds.in_turns(job, ["2.0.0", "2.1.0", "2.2.0"]) is None
    assert list(builds.failures(job)) == ["2.1.0"]
    assert removed == ["2.0.0", "2.1.0", "2.2.0"]


def test_patches_outside_the_table_are_among_the_builds():
    """The index has 2.9.0, the table has not; the ends are there too."""
    assert wheel_index.between("2.8.0", "2.10.0", "3.11") == ["2.8.0", "2.9.0", "2.9.1", "2.10.0"]


@pytest.fixture
def nightlies(tmp_path):
    """The address of an index with two nightlies and a release candidate of torch 2.15.0, and with one of an earlier series."""
    (tmp_path / "torch").mkdir()
    for version in ("2.13.0.dev20260301", "2.15.0.dev20260801", "2.15.0.dev20260901", "2.15.0rc2"):
        constants = f"__version__ = {version!r}\ngit_version = {'9' * 40!r}\n"
        wheel(tmp_path / "torch", "torch", version, {"torch/version.py": constants})
    links = "".join(f'<a href="{path.name}">{path.name}</a>' for path in (tmp_path / "torch").iterdir())
    (tmp_path / "torch" / "index.html").write_text(links)
    handler = type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(tmp_path)))
    Thread(target=server.serve_forever, args=(POLL,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()


@pytest.mark.slow
def test_nightlies_and_candidates_of_an_index_are_among_the_builds(monkeypatch, nightlies, tmp_path):
    """Those between both ends, where the index is set, and they are installed from it; releases come from uv's own."""
    monkeypatch.setenv(uv.NIGHTLY_INDEX, nightlies)
    builds = wheel_index.between("2.14.1", "2.15.0", "3.11")
    assert builds == ["2.14.1", "2.15.0.dev20260801", "2.15.0.dev20260901", "2.15.0rc2", "2.15.0"]
    assert [wheel_index.release(build, dated=False).sha for build in builds[1:4]] == ["9" * 40] * 3
    candidate = release_table.Release("2.15.0rc2", wheel_index.UNKNOWN, "9" * 40, ("3.11", "3.11"), "1.26.4", "")
    environments._install(tmp_path / "environment", candidate, "3.11", ["torch==2.15.0rc2"])
    installed = subprocess.run(
        [uv.interpreter(tmp_path / "environment"), "-c", "import numpy, torch.version; print(torch.version.__version__)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert installed.stdout == "2.15.0rc2\n"


@pytest.mark.slow
def test_a_call_is_timed_in_a_process_of_its_own():
    seconds = interpreters.run_probe(Path(sys.executable), builds.TIMER, "detach 1 float32 contiguous")["seconds"]
    assert len(seconds) == 150
    assert 2e-8 < min(seconds) < 2e-5
