"""What is measured is stored: one writer at a time, whole files, on any disk, and a pass that cannot be stored is kept."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import random
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from tensorcopy.asv_plugin import stamp
from tensorcopy.asv_plugin.stamp import summary
from tensorcopy.cli import main
from tensorcopy.errors import REMEDIES, DiskError, TensorcopyError, of_os_error, of_text
from tensorcopy.measure import plan, run_passes
from tensorcopy.releases import environments, uv
from tensorcopy.results import files, merge, reader, writing
from tests import writers
from tests.conftest import NEW, OLD, PROVENANCE, ROOT, measured_in_passes

PAUSE = 0.02  # seconds at most before each file that a writer reads or writes
LINE = re.compile(r"tensorcopy: [^\n]+: got [^\n]+; allowed: [^\n]+; next: [^\n]+\n")
DISK_ERRORS = [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES]


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder, except the lock."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != ".lock"}


# --- what asv has written gets its provenance and the record of its pass

SUITE = "copies.BySize.time_copy"
RECORD = {"id": "one", "started": PROVENANCE["started"], "selection": "", "ledger": PROVENANCE}


@pytest.fixture
def result_file(results_dir):
    return results_dir / "box" / "d0f2af8b-py3.11-cuda.json"


def stamped(path, report, before="{}", *record):
    """Stamp asv's file on the disk."""
    writing.write_result(path, writing.stamped(files.read(path), report, json.loads(before), *record))


def test_provenance_is_stamped_into_asvs_file(result_file):
    """asv's own keys are unchanged; a provenance that violates the schema leaves the file as it was."""
    before = json.loads(result_file.read_text())
    stamped(result_file, {"ledger": {**PROVENANCE, "threads": 8}, "methods": {}, "article": {}})
    after = json.loads(result_file.read_text())
    assert after["ledger"]["threads"] == 8
    asvs = [key for key in before if key not in ("results", "ledger")]  # results have NaN, which equals nothing
    assert {key: after[key] for key in asvs} == {key: before[key] for key in asvs}
    text = result_file.read_text()
    with pytest.raises(TensorcopyError, match=r"got ledger.threads must be integer: got 'two'"):
        stamped(result_file, {"ledger": {**PROVENANCE, "threads": "two"}}, text)
    assert result_file.read_text() == text
    assert list(result_file.parent.glob("*.new")) == []


def test_a_case_that_is_skipped_later_keeps_its_samples(result_file):
    """asv would drop them; a new number still replaces an old one."""
    before = result_file.read_text()
    document = json.loads(before)
    row = document["results"][SUITE]
    row[0], row[-1] = [float("nan"), 5e-6, 6e-6], None
    result_file.write_text(json.dumps(document))
    stamped(result_file, {"passes": []}, before)
    (result,) = reader.load_results(result_file.parents[1]).results
    by_method = {case["method"]: timing for case, timing in result.timings.items()}
    medians = {method: timing.median for method, timing in by_method.items()}
    assert medians == pytest.approx({"clone_detach": 1e-6, "tensor": 5e-6, "detach_clone": 6e-6})
    assert by_method["clone_detach"].samples == (0.9e-6, 1e-6, 1.1e-6)


def test_a_pass_is_recorded_beside_asvs_samples(result_file):
    """The record counts the samples that asv has appended, with their control and interruptions."""
    document = json.loads(result_file.read_text())
    earlier = {**RECORD, "id": "earlier", "suites": {SUITE: {"version": "1", "samples": [3, 0, 0], "control_ns": [[], [], []]}}}
    before = json.dumps({**document, "passes": [earlier]})
    del document["passes"], document["ledger"]  # asv drops keys that are not its own
    row = document["results"][SUITE]
    row[0][0], row[-1][0] = 1.1e-6, [0.9e-6, 1e-6, 1.1e-6, 3e-6, 5e-6]
    result_file.write_text(json.dumps(document))
    journal = ["copies.BySize 0 0 0 0 8.5e-06", "copies.BySize 0 1025 1 2 1.7e-05", "copies.BySize 1 0 0 0 8.5e-06"]
    stamped(result_file, {"ledger": PROVENANCE}, before, dict(RECORD), journal)
    _, record = json.loads(result_file.read_text())["passes"]
    readings = {"control_ns": [[8500, 17000], [], []], "interruptions": {"0": [[0, 0, 0], [1025, 1, 2]]}}
    assert record["suites"] == {SUITE: {"version": "1", "samples": [2, 0, 0], **readings}}


def test_a_count_is_recorded_beside_a_case_that_is_skipped(result_file):
    """The case keeps its earlier count, which is not this pass's. Bytes are exact: samples are rounded to five digits."""
    document = json.loads(result_file.read_text())
    columns = document["result_columns"]
    row = dict.fromkeys(columns) | {"params": [["'a'", "'b'"]], "version": "1", "started_at": 1}
    earlier = {**document, "results": {"memory.Host.track_peak": list({**row, "result": [100.0, 50.0]}.values())}}
    counted = {**row, "result": [None, 4194304], "started_at": 2}
    now = {**document, "results": {"memory.Host.track_peak": list(counted.values())}, "version": 2}
    after = writing.stamped(now, {"ledger": PROVENANCE}, earlier, dict(RECORD))
    assert after["results"]["memory.Host.track_peak"][columns.index("result")] == [100.0, 4194304]
    assert after["passes"][-1]["counts"] == {"memory.Host.track_peak": {"version": "1", "values": [None, 4194304]}}


# --- one writer at a time


@pytest.fixture(scope="module")
def processes():
    """A server that has imported the program, and forks a writer in milliseconds."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.writers"])
    return context


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
def test_writers_at_once_lose_no_pass_where_some_are_killed(processes, tmp_path, seed):
    """They add and merge, also the same passes; each pass that one of them reported is stored once, and every file is valid."""
    chance, results, reported = random.Random(seed), tmp_path / "results", tmp_path / "reported"
    drafts = [writers.write_pass(tmp_path / f"pass-{number}", number) for number in range(26)]
    started = []
    for index in range(8):
        of_process = drafts[3 * index : 3 * index + 5]  # two of them are the next process's too
        process = processes.Process(target=writers.write_passes, args=(results, of_process, reported, seed + index, PAUSE))
        process.start()
        started.append(process)
    for process in started[::3]:
        time.sleep(chance.random() * 0.4)
        process.kill()
    for process in started:
        process.join()
    assert {process.exitcode for process in started[::3]} <= {0, -signal.SIGKILL}
    assert {process.exitcode for index, process in enumerate(started) if index % 3} == {0}
    stored = writers.pass_ids(results)
    assert len(stored) == len(set(stored))
    assert set(reported.read_text().split()) <= set(stored)
    for path in results.glob("*/*.json"):
        assert path.name == "machine.json" or files.result(path)
    assert files.benchmarks(results)
    assert files.machine(results / "box")


HOLD = "import sys, time; from pathlib import Path; from tensorcopy.results import writing"
HOLD += "\nwith writing.one_writer(Path(sys.argv[1])): print('locked', flush=True); time.sleep(60)"


def test_a_second_writer_waits_with_a_message_until_the_first_has_ended(tmp_path):
    """Through a link too. A killed writer releases the lock."""
    (tmp_path / "results").mkdir()
    link, messages = tmp_path / "link", []
    link.symlink_to(tmp_path / "results")
    with subprocess.Popen([sys.executable, "-c", HOLD, str(link)], stdout=subprocess.PIPE, text=True, cwd=ROOT) as holder:
        assert holder.stdout.readline() == "locked\n"
        with pytest.raises(TensorcopyError, match="link/ is being written"), writing.one_writer(link, messages.append, patience=0.2):
            pass
        assert messages == ["waiting for link/, which another process is writing"]
        holder.send_signal(signal.SIGKILL)
    with writing.one_writer(link, patience=0.0):
        pass


def replaced_often(path: Path, times: int) -> None:
    os.fsync = lambda descriptor: None  # in this process only, as in all tests
    for number in range(times):
        writing.replace(path, json.dumps([number] * 5000))


def test_a_file_is_replaced_as_a_whole(processes, tmp_path):
    """By writers without the lock too; what a killed one left is removed once it is old, since it may be that of a living one."""
    old, new = (tmp_path / f"machine.json.{number}{writing.ENDING}" for number in range(2))
    for draft in (old, new):
        draft.write_text("{")
    os.utime(old, (0, 0))
    path = tmp_path / "machine.json"
    started = [processes.Process(target=replaced_often, args=(path, 40)) for _ in range(2)]
    for process in started:
        process.start()
    while any(process.is_alive() for process in started):
        assert not path.exists() or len(json.loads(path.read_text())) == 5000
    assert [process.exitcode for process in started] == [0, 0]
    assert sorted(tmp_path.iterdir()) == [path, new]


# --- a pass that cannot be stored is kept where `merge` takes it

RELEASES = {"old": OLD, "new": NEW}
BOTH = ["of new", "of old", "pass-0", "pass-0"]


@dataclass
class Ended:
    """An asv run that has measured a pass of each release, and is at its end.

    errors : what it printed
    """

    draft: stamp.Draft
    errors: list[TensorcopyError]

    @property
    def results(self) -> Path:
        return self.draft.results

    def store(self) -> None:
        stamp.store(self.draft)

    @property
    def unstored(self) -> Path:
        """The folder with the passes that were not stored."""
        (folder,) = (self.draft.folder.parents[1] / stamp.UNSTORED).iterdir()
        return folder

    def merge_unstored(self, into: Path | None = None) -> list[str]:
        """Merge what was kept, and return the ids of all passes that are stored then."""
        merge.merge([self.unstored], into or self.results, summary)
        return writers.pass_ids(into or self.results)


@pytest.fixture
def ended(tmp_path, monkeypatch):
    """Return a function that lets asv measure a pass of two releases whose results have another one."""

    def end(results: Path = tmp_path / "results", **provenance: str) -> Ended:
        errors: list[TensorcopyError] = []
        monkeypatch.setattr(stamp, "end_on", errors.extend)
        for release in RELEASES.values():
            measured_in_passes(results, release, {"tensor": [1.0]})
        draft = stamp.begin_draft(results, tmp_path / ".asv", "run-1")
        for name, release in RELEASES.items():
            measured = measured_in_passes(tmp_path / "measured", release, {"tensor": [1.0, 1.1]})
            document = json.loads(measured.read_text())
            path = draft.folder / measured.relative_to(tmp_path / "measured")
            before = path.read_bytes()
            record = {**document.pop("passes")[-1], "id": f"of {name}", "ledger": {**document.pop("ledger"), **provenance}}
            for row in document["results"].values():
                row[3] = 5  # started_at
            path.write_text(json.dumps(document))  # as asv writes it: without the keys that are tensorcopy's
            del record["suites"]
            draft.pending[release.sha, "py3.11-cuda"] = stamp._Pending(
                {"ledger": record["ledger"]}, record, tmp_path / "journal", 0, {path: before}
            )
        return Ended(draft, errors)

    return end


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOENT, errno.EMFILE, errno.ENOSPC])
def test_passes_that_the_system_does_not_write_are_kept(ended, monkeypatch, number):
    """Whatever the system's error is; the message has the command that merges them."""
    run = ended()
    write = writing.replace

    def fail(path: Path, content: str | bytes) -> None:
        if run.results in path.parents:
            raise OSError(number, os.strerror(number), str(path))
        write(path, content)

    with monkeypatch.context() as patch:
        patch.setattr(writing, "replace", fail)
        run.store()
    assert [str(error).endswith(f", then tensorcopy merge {run.unstored}") for error in run.errors] == [True, True]
    assert [isinstance(error, DiskError) for error in run.errors] == [number == errno.ENOSPC] * 2
    assert writers.pass_ids(run.results) == ["pass-0", "pass-0"]
    assert run.merge_unstored() == BOTH


def test_a_pass_that_its_file_refuses_is_kept_and_named(ended, tmp_path):
    """One with another numpy than the passes before: it can be merged into another folder."""
    run = ended(numpy="2.0.0")
    run.store()
    assert f"next: measure under another name with --machine; the pass is kept in {run.unstored}" in str(run.errors[0])
    assert "numpy of passes[1] is" in run.errors[0].got
    assert writers.pass_ids(run.results) == ["pass-0", "pass-0"]
    assert run.merge_unstored(tmp_path / "other") == ["of new", "of old"]


@pytest.mark.parametrize("name", ["results", "results, then repeat"])
def test_a_damaged_file_takes_no_other_pass_with_it(ended, tmp_path, name):
    """The later release is stored; the command restores that file, whatever its folder is called, and then merges what was kept."""
    run = ended(tmp_path / name)
    target = next(run.results.glob(f"box/{OLD.sha[:8]}*"))
    valid = target.read_text()
    target.write_text("{")
    run.store()
    assert [error.what for error in run.errors] == [f"the result file {name}/box/{target.name} cannot be read"]
    assert [error.next for error in run.errors] == [f"git checkout {name}/box/{target.name}, then tensorcopy merge {run.unstored}"]
    target.write_text(valid)
    assert run.merge_unstored() == BOTH


def test_a_draft_is_removed_once_its_process_has_ended(tmp_path):
    """The lock tells, not the name of the process: in another container, that is another process or none."""
    measured_in_passes(tmp_path / "results", NEW, {"tensor": [1.0]})
    living, dead = (stamp.begin_draft(tmp_path / "results", tmp_path / ".asv", name) for name in ("living-999999999", "dead"))
    dead.live.release()  # as the operating system does
    stamp.begin_draft(tmp_path / "results", tmp_path / ".asv", "new")
    assert sorted(path.name for path in living.folder.parent.iterdir()) == ["living-999999999", "new"]


# --- a disk that is full, read-only or not the user's


@pytest.mark.parametrize("number", DISK_ERRORS, ids=errno.errorcode.get)
def test_an_error_of_the_disk_says_what_to_do(number):
    """Also one that another program has printed, or that came from another process; other errors keep their traceback."""
    error = of_os_error(OSError(number, os.strerror(number), "results/x.json"))
    assert (error.got, error.repair) == (os.strerror(number), REMEDIES[number][1])
    assert error.next.startswith(f"{error.repair}, then repeat")
    assert LINE.fullmatch(f"tensorcopy: {error}\n")
    assert isinstance(TensorcopyError.of_document(json.loads(json.dumps(error.document()))), DiskError)
    quoted = [of_text(text) for text in (f"OSError: [Errno {number}] no", f"error: failed (os error {number})")]
    assert [each and each.got for each in quoted] == [os.strerror(number)] * 2
    assert of_os_error(OSError(errno.ECONNRESET, "reset")) is None
    assert of_text("[Errno 2] No such file; (os error 99999)") is None


@pytest.mark.parametrize("number", DISK_ERRORS, ids=errno.errorcode.get)
def test_a_failing_disk_changes_nothing(tmp_path, monkeypatch, capsys, number):
    """Whether a folder is merged, in one line with exit code 2, or a pass is added: each file is the old one, and none is left over."""
    results = tmp_path / "results"
    writers.write_pass(results, 0)
    other = writers.write_pass(tmp_path / "other", 2)
    before = contents(results)

    def fail(descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    assert main(["merge", str(other.parents[1]), "--into", str(results)]) == 2
    assert LINE.fullmatch(capsys.readouterr().err)
    with pytest.raises(OSError, match=re.escape(os.strerror(number))):
        writers.store(other, results)
    assert contents(results) == before


def test_a_full_disk_stops_a_run_of_passes(monkeypatch, tmp_path):
    """The next pass could not be stored either; an installation that found no room frees what it took."""
    taken = []

    def measure_pass(*arguments: object) -> None:
        taken.append(arguments)
        raise of_os_error(OSError(errno.ENOSPC, "full"))

    monkeypatch.setattr(run_passes, "measure_pass", measure_pass)
    paths = run_passes.Paths(tmp_path / "results", tmp_path, tmp_path / "env", ("3.11",))
    with pytest.raises(DiskError, match="No space left on device"):
        list(run_passes._measure_group([plan.Measurement(NEW, "3.11")] * 3, run_passes.Job(paths, "box", "x"), lambda _: None, 1e12))
    assert len(taken) == 1

    def make_environment(path: Path, python: Path, requirements: list[str], index: str) -> None:
        (path / "lib").mkdir(parents=True)
        raise uv.UvFailed("error: failed to write to file: No space left on device (os error 28)")

    monkeypatch.setattr(uv, "find_python", Path)
    monkeypatch.setattr(uv, "make_environment", make_environment)
    with pytest.raises(DiskError, match=r"torch 2.0.0 was not installed: got No space left on device; .*free 5 GB for each environment"):
        environments.build(tmp_path / "new", NEW, "3.11", "cuda")
    assert list((tmp_path / "new").iterdir()) == []
