"""What `measure` checks and prints before it measures, and how it ends in time."""

from __future__ import annotations

import argparse
import json
import re
from collections import namedtuple
from pathlib import Path
from random import Random

import pytest

from tensorcopy import configuration
from tensorcopy.configuration import Paths
from tensorcopy.cli import arguments, main
from tensorcopy.cli.output import progress_bar
from tensorcopy.errors import DiskError, TensorcopyError
from tensorcopy.measure import plan, run_passes
from tensorcopy.measure.plan import Measurement
from tensorcopy.measure.progress import Progress
from tensorcopy.releases import environments, release_table, uv
from tests.conftest import NEW

FIVE = [Measurement(release, "3.11") for release in release_table.load()[-5:]]


DURATIONS = {"5h": 18000, "90m": 5400, "30s": 30, "1h30m": 5400, "2h5s": 7205}
NO_DURATIONS = ("", "5", "0h", "-5h", "5d", "h", "1.5h", "5 h", "30m1h", "nan", "٥h", "9" * 5000 + "h")
NO_NAMES = ("", ".", "..", "../box", "a/b", "a\\b", "a:b", "-box", ".box", "box.", "a b", "a\nb", "a\x00b", "\x1b[31m", "x" * 65, "\udcff")


def test_a_duration_has_units_and_a_machine_a_name_that_may_be_a_folder():
    """Of other texts, the error says what is allowed."""
    assert {text: arguments.duration(text) for text in DURATIONS} == DURATIONS
    for text in NO_DURATIONS:
        with pytest.raises(argparse.ArgumentTypeError, match="allowed: hours, minutes or seconds, such as 5h, 90m or 1h30m"):
            arguments.duration(text)
    for name in ("xeon-2core", "h200", "a", "a.b_c+d", "機械", "x" * 64):
        assert arguments.machine_name(name) == name
    for name in NO_NAMES:
        with pytest.raises(argparse.ArgumentTypeError, match="allowed: up to 64 letters, digits and"):
            arguments.machine_name(name)


class Clock:
    """A clock that a measured pass advances by a minute."""

    def __init__(self) -> None:
        self.now, self.taken = 1000.0, []

    def monotonic(self) -> float:
        return self.now

    def measure_pass(self, measurement: Measurement, *_: object) -> None:
        self.taken.append(measurement)
        self.now += 60


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(run_passes, "monotonic", clock.monotonic)
    monkeypatch.setattr("tensorcopy.cli.measure.monotonic", clock.monotonic)
    monkeypatch.setattr(run_passes, "measure_pass", clock.measure_pass)
    return clock


@pytest.mark.parametrize(("minutes", "expected"), [(0.5, 1), (3, 3), (3.5, 4), (100, 10)])
def test_no_pass_begins_after_its_time(clock, tmp_path, minutes, expected):
    """The pass that runs then is finished."""
    job = run_passes.Job(Paths(tmp_path / "results", tmp_path, tmp_path / "env", ("3.11",)), "box", "x")
    until = clock.now + minutes * 60
    problems = run_passes.measure_all(
        FIVE, job, passes=2, max_environments=5, random=Random(0), report_progress=lambda _: None, until=until
    )
    assert (problems, len(clock.taken)) == ([], expected)


def test_environments_are_kept_for_the_rest(clock, monkeypatch, tmp_path):
    """With --environments, only a finished group is removed."""
    removed = []
    monkeypatch.setattr(environments, "remove", removed.append)
    job = run_passes.Job(Paths(tmp_path / "results", tmp_path, tmp_path / "env", ("3.11",)), "box", "x")
    run_passes.measure_all(
        FIVE, job, passes=1, max_environments=3, random=Random(0), report_progress=lambda _: None, until=clock.now + 4.5 * 60
    )
    assert [path.name.partition("-")[0] for path in removed] == [each.release.version for each in FIVE[:2]]
    assert run_passes.passes_left(FIVE, job, passes=1, max_environments=3) == 6  # the stand-in stores nothing; the newest is in both groups


def test_the_command_says_what_is_left(clock, small_checkout, monkeypatch, capsys):
    """It exits with 0, and does not confirm changes of half a history."""
    monkeypatch.setattr(plan, "select", lambda *_: (FIVE, []))
    monkeypatch.setattr(configuration, "register_machine", lambda name: None)
    monkeypatch.setattr(plan, "count_passes", lambda *_: 3)  # enough to confirm
    monkeypatch.setattr("tensorcopy.cli.measure.confirm", lambda *_, **__: pytest.fail("has confirmed half a history"))
    assert main(["measure", "--machine", "box", "--passes", "2", "--for", "3m"]) == 0
    assert "stopped at the end of its time: 10 passes are left; the same command takes them" in capsys.readouterr().out


def test_a_full_disk_does_not_hide_what_failed_before_it(small_checkout, monkeypatch, capsys):
    """Each error is a line, in order."""
    errors = [TensorcopyError("no torch", got="none", allowed="one", next="install it")]
    errors += [DiskError("a disk", got="full", allowed="room", next="free some")]

    def measure_pass(*_: object) -> None:
        raise errors.pop(0)

    monkeypatch.setattr(run_passes, "measure_pass", measure_pass)
    monkeypatch.setattr(plan, "select", lambda *_: (FIVE, []))
    monkeypatch.setattr(configuration, "register_machine", lambda name: None)
    assert main(["measure", "--machine", "box", "--passes", "1"]) == 2
    printed = [line for line in capsys.readouterr().err.splitlines() if line.startswith("tensorcopy: ") and "warning" not in line]
    assert [line.partition(": got ")[0] for line in printed] == ["tensorcopy: no torch", "tensorcopy: a disk"]


def test_no_pass_is_measured_for_a_file_that_cannot_take_it(results_dir, tmp_path):
    """One without provenance, as asv without the plugin writes it; the lines at the end do not stumble over it."""
    measurement = Measurement(release_table.load()[-1], "3.11", build="cuda")
    paths = Paths(results_dir, tmp_path, tmp_path / "env", ("3.11",))
    path = measurement.file(paths, "box")
    document = json.loads(path.read_text())
    path.write_text(json.dumps({key: value for key, value in document.items() if key not in ("ledger", "passes")}))
    with pytest.raises(TensorcopyError, match="no provenance"):
        run_passes.measure_pass(measurement, run_passes.Job(paths, "box", "x"), lambda *_: None, lambda *_: None)
    assert run_passes.not_measured([measurement], paths, "box") == []


def test_a_wait_is_printed_where_there_is_no_terminal(monkeypatch, capsys):
    """Once, and when it begins."""
    monkeypatch.setenv("COLUMNS", "200")
    step = "torch 2.15.0 on Python 3.11, pass 1 of 2"
    with progress_bar() as report_progress:
        for detail in ("copies.BySize", "waiting for results/, which merge is writing", "waiting for results/, which merge is writing"):
            report_progress(Progress(f"{step}: {detail}", 0.5, 0.0))
    assert capsys.readouterr().err.splitlines()[:2] == [step, f"{step}: waiting for results/, which merge is writing"]


Usage = namedtuple("Usage", "total used free")


@pytest.mark.parametrize(("free", "most", "warned"), [(100e9, 5, False), (14e9, 5, True), (14e9, 2, False)])
def test_the_room_for_missing_environments_is_printed(clock, small_checkout, monkeypatch, capsys, free, most, warned):
    """With a warning where the disk is smaller; --environments limits how many there are at once."""
    monkeypatch.setattr(plan.shutil, "disk_usage", lambda path: Usage(1e12, 1e12 - free, free))
    monkeypatch.setattr(environments, "expected_build", lambda: "cuda")
    monkeypatch.setattr(plan, "select", lambda *_: (FIVE, []))
    monkeypatch.setattr(configuration, "register_machine", lambda name: None)
    assert main(["measure", "--machine", "box", "--passes", "1", "--environments", str(most), "--for", "1s"]) == 0
    printed = capsys.readouterr()
    size = f"{most} environments are to be installed, 3 to 5 GB each where uv's cache lacks the files; {free / 1e9:.0f} GB are free"
    assert size in printed.out
    assert ("warning: the disk may be too small" in printed.err) == warned


@pytest.fixture
def installed(monkeypatch, tmp_path):
    """An environment as uv installs it, whose Python reports what the table of releases says; the list of its installations."""
    installations = []
    good = {"torch": "2.0.0+cu117", "torch_sha": NEW.sha, "build": "cuda", "numpy": "1.26.4", "asv_runner": environments.runner()}

    def make_environment(path: Path, python: Path, requirements: list[str], index: str) -> None:
        installations.append(path)
        (path / "lib" / "python3.11" / "site-packages").mkdir(parents=True, exist_ok=True)
        (path / "bin").mkdir(exist_ok=True)
        (path / "bin" / "python").write_text(f"#!/bin/sh\necho '{json.dumps({'ledger': good})}'\n")
        (path / "bin" / "python").chmod(0o755)

    monkeypatch.setattr(uv, "find_python", Path)
    monkeypatch.setattr(uv, "make_environment", make_environment)
    environments.build(tmp_path, NEW, "3.11", "cuda")
    return installations


@pytest.mark.parametrize("lost", ["bin/python", "lib/python3.11", "torch"])
def test_an_environment_that_lost_a_file_is_named_and_can_be_built_anew(installed, monkeypatch, tmp_path, lost):
    """The message has the folder to remove; with --rebuild this is done."""
    (path,) = installed
    if lost == "torch":
        (path / "bin" / "python").write_text("#!/bin/sh\necho 'ImportError: libtorch.so' >&2; exit 1\n")
    else:
        (path / lost).rename(path / "lost")
    with pytest.raises(
        TensorcopyError, match=rf"the environment {path.name} is damaged: a file is missing: .*; next: remove {path}, it is built anew"
    ):
        environments.build(tmp_path, NEW, "3.11", "cuda")
    assert len(installed) == 1
    monkeypatch.setenv(environments.REBUILD, "1")
    environments.build(tmp_path, NEW, "3.11", "cuda")
    assert len(installed) == 2


@pytest.mark.parametrize("what", ["cuda is there and fails", "mine.through_numpy(x) cannot be run"])
def test_a_fault_that_is_not_the_environments_is_named_and_nothing_is_built_anew(installed, monkeypatch, tmp_path, what):
    """A GPU that fails, or an own operation, fails in the next environment too."""
    (path,) = installed
    document = {"error": {"what": what, "got": "no memory", "allowed": "cpu", "next": "free it"}}
    (path / "bin" / "python").write_text(f"#!/bin/sh\necho '{json.dumps(document)}'; exit 2\n")
    monkeypatch.setenv(environments.REBUILD, "1")
    with pytest.raises(TensorcopyError, match=re.escape(f"{what}: got no memory")):
        environments.build(tmp_path, NEW, "3.11", "cuda")
    assert len(installed) == 1
