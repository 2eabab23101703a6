"""A pass that was measured is stored, or kept where `merge` takes it: whatever fails at the end of asv."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

from tensorcopy.asv_plugin import stamp
from tensorcopy.asv_plugin.stamp import summary
from tensorcopy.errors import DiskError, TensorcopyError
from tensorcopy.results import files, merge, reader, writing
from tests import writers
from tests.conftest import NEW, OLD, PROVENANCE, measured_in_passes
from tests.test_disk import fill, mounted

RELEASES = {"old": OLD, "new": NEW}


@dataclass
class Ended:
    """An asv run that has measured a pass of each release, and is at its end.

    errors : what it printed
    """

    run: stamp._Run
    errors: list[TensorcopyError]

    @property
    def results(self) -> Path:
        return self.run.draft.results

    def store(self) -> None:
        stamp._store(self.run)

    @property
    def unstored(self) -> Path:
        """The folder with the passes that were not stored."""
        (folder,) = (self.run.draft.folder.parents[1] / stamp.UNSTORED).iterdir()
        return folder

    def merge_unstored(self, into: Path | None = None) -> list[str]:
        """Merge what was kept, and return the ids of all passes that are stored then."""
        merge.merge([self.unstored], into or self.results, summary)
        return writers.pass_ids(into or self.results)


@pytest.fixture
def ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ended]:
    """Return a function that lets asv measure a pass of two releases whose results have another one."""

    def end(results: Path = tmp_path / "results", workplace: Path = tmp_path / ".asv", **provenance: str) -> Ended:
        errors: list[TensorcopyError] = []
        monkeypatch.setattr(stamp, "end_on", errors.extend)
        for release in RELEASES.values():
            measured_in_passes(results, release, {"tensor": [1.0]})
        run = stamp._Run(stamp.begin_draft(results, workplace, "run-1"))
        for name, release in RELEASES.items():
            measured = measured_in_passes(tmp_path / "measured", release, {"tensor": [1.0, 1.1]})
            document = json.loads(measured.read_text())
            path = run.draft.folder / measured.relative_to(tmp_path / "measured")
            before = path.read_bytes()
            record = {**document.pop("passes")[-1], "id": f"of {name}", "ledger": {**document.pop("ledger"), **provenance}}
            for row in document["results"].values():
                row[3] = 5  # started_at
            path.write_text(json.dumps(document))  # as asv writes it: without the keys that are tensorcopy's
            del record["suites"]
            run.pending[release.sha, "py3.11-cuda"] = stamp._Pending(
                {"ledger": record["ledger"]}, record, tmp_path / "journal", 0, {path: before}
            )
        return Ended(run, errors)

    return end


BOTH = ["of new", "of old", "pass-0", "pass-0"]


def test_a_finished_run_stores_its_passes_and_leaves_no_draft(ended):
    run = ended()
    run.store()
    assert (run.errors, writers.pass_ids(run.results)) == ([], BOTH)
    assert list(run.run.draft.folder.parent.iterdir()) == []


@pytest.mark.parametrize("number", [errno.EIO, errno.ESTALE, errno.ENOENT, errno.EMFILE, errno.EFBIG, errno.ENOSPC])
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
    assert ["'tensor'" in path.read_text() for path in run.unstored.glob("box/*-*.json")] == [True, True]
    assert reader.load_results(tmp_path / "other").unpublishable == ()


def test_a_pass_that_fails_takes_no_other_with_it(ended):
    """The later release of the same run is stored."""
    run = ended()
    target = next(run.results.glob(f"box/{OLD.sha[:8]}*"))
    valid = target.read_text()
    target.write_text("{")
    run.store()
    assert [error.what for error in run.errors] == [f"the result file results/box/{target.name} cannot be read"]
    target.write_text(valid)
    assert writers.pass_ids(run.results) == ["of new", "pass-0", "pass-0"]
    assert run.merge_unstored() == BOTH


def test_the_command_for_a_damaged_file_is_whole_whatever_its_folder_is_called(ended, tmp_path):
    """It restores that file: no part of its name is taken for a part of the message."""
    run = ended(tmp_path / "results, then repeat")
    target = next(run.results.glob(f"box/{OLD.sha[:8]}*"))
    target.write_text("{")
    run.store()
    file = f"{run.results.name}/box/{target.name}"
    assert [error.next for error in run.errors] == [f"git checkout {file}, then tensorcopy merge {run.unstored}"]


def without_provenance(results: Path) -> None:
    for path in results.glob("box/*-*.json"):
        document = json.loads(path.read_text())
        path.write_text(json.dumps({key: value for key, value in document.items() if key not in ("ledger", "passes")}))


def without_parameters(results: Path) -> None:
    document = json.loads((results / "benchmarks.json").read_text())
    del document["copies.BySize.time_copy"]["params"]
    (results / "benchmarks.json").write_text(json.dumps(document))


@pytest.mark.parametrize("damage", [without_provenance, without_parameters])
def test_passes_for_damaged_results_are_kept(ended, tmp_path, damage):
    """Files that JSON can express and a result cannot be: the file is named, and once it is repaired, the passes are merged."""
    run = ended()
    shutil.copytree(run.results, tmp_path / "valid")
    damage(run.results)
    run.store()
    assert [error.what.startswith("the result file results/") for error in run.errors] == [True, True]
    shutil.rmtree(run.results)
    (tmp_path / "valid").rename(run.results)
    assert run.merge_unstored() == BOTH


def test_a_pass_that_cannot_be_read_keeps_none_from_being_merged(ended):
    """asv's file stays as it is, under another name."""
    run = ended()
    without_parameters(run.results)
    unread = next(run.run.draft.folder.glob(f"box/{OLD.sha[:8]}*"))
    unread.write_text("{")
    run.store()
    assert {error.next.rpartition(str(run.unstored))[2] for error in run.errors} == {"", " as asv wrote it, without its provenance"}
    assert (run.unstored / "box" / f"{unread.name}.asv").read_text() == "{"
    shutil.copy(run.unstored / "benchmarks.json", run.results)
    assert run.merge_unstored() == ["of new", "pass-0", "pass-0"]


def test_passes_are_kept_on_a_disk_without_room(ended, tmp_path):
    """The results and the drafts are on the same full disk: other copies make room for the provenance."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if shutil.which("mount") is None or not mounted(disk, "-o", "size=2m"):
        pytest.skip("only root can make a file system of a few megabytes")
    try:
        (disk / "results" / "other").mkdir(parents=True)
        (disk / "results" / "other" / "a-b.json").write_text("x" * 100_000)
        run = ended(disk / "results", disk / ".asv")
        (disk / "results" / "other" / "a-b.json").unlink()
        filler = fill(disk, 0)
        run.store()
        assert [error.got for error in run.errors] == ["No space left on device"] * 2
        filler.unlink()
        assert run.merge_unstored() == BOTH
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def test_passes_that_cannot_be_moved_stay_and_are_named(ended):
    """The next run does not remove them."""
    run = ended()
    (run.run.draft.folder.parents[1] / stamp.UNSTORED).write_text("a file in the way")
    without_parameters(run.results)
    run.store()
    assert str(run.run.draft.folder) in str(run.errors[0])
    stamp.remove_draft(stamp.begin_draft(run.results, run.run.draft.folder.parents[1], "run-2"))
    assert len(list(run.run.draft.folder.glob("box/*-*.json"))) == 2


def test_passes_on_a_disk_that_became_read_only_are_named(ended, tmp_path):
    """Nothing can be written there any more, not even that the draft is to be kept."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if shutil.which("mount") is None or not mounted(disk, "-o", "size=2m"):
        pytest.skip("only root can make a file system of a few megabytes")
    try:
        run = ended(disk / "results", disk / ".asv")
        run.run.draft.live.release()  # with a file that is open for writing, only the kernel could do it
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        run.store()
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
        (first, _) = run.errors
        assert first.got == "Read-only file system"
        folder = run.run.draft.folder
        assert first.next.endswith(
            f"{folder} as asv wrote it, without its provenance; copy that folder before the next run, which removes it"
        )
        assert len(list(folder.glob("box/*-*.json"))) == 2
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def test_a_draft_is_removed_once_its_process_has_ended(tmp_path):
    """The lock tells, not the name of the process: in another container, that is another process or none."""
    measured_in_passes(tmp_path / "results", NEW, {"tensor": [1.0]})
    living, dead = (stamp.begin_draft(tmp_path / "results", tmp_path / ".asv", name) for name in ("living-999999999", "dead"))
    dead.live.release()  # as the operating system does
    stamp.begin_draft(tmp_path / "results", tmp_path / ".asv", "new")
    assert sorted(path.name for path in living.folder.parent.iterdir()) == ["living-999999999", "new"]


GOOD = {"arch": "x86_64", "cpu": "Box 9000", "machine": "box", "num_cpu": "2", "os": "Linux", "ram": "8", "version": 1}


def add_one(path: Path, results: Path) -> None:
    merge.add_pass(path, merge.last_pass(files.read(path), {}), results / "box" / path.name, "asv run", summary)


def merge_one(path: Path, results: Path) -> None:
    assert merge.merge([path.parents[1]], results, summary).warnings == ()


@pytest.mark.parametrize("write", [add_one, merge_one])
@pytest.mark.parametrize("release", [OLD, NEW], ids=["another file", "the same file"])
def test_a_description_of_the_machine_is_not_replaced_by_a_poorer_one(tmp_path, write, release):
    """`asv machine --yes --machine box` describes nothing but the name."""
    results = tmp_path / "results"
    hardware = {
        "identity": "0" * 12,
        "hardware": {"family": "6", "model": "1", "stepping": "1", "flags": [], "caches": [], "processors": 2},
    }
    hardware["hardware"] |= {"hypervisor": "", "memory_gib": 8, "microcode": ""}
    measured_in_passes(results, NEW, {"tensor": [1.0]}, **hardware)
    (results / "box" / "machine.json").write_text(json.dumps(GOOD))
    write(measured_in_passes(tmp_path / "source", release, {"tensor": [1.0]}, **hardware), results)
    assert json.loads((results / "box" / "machine.json").read_text()) == GOOD


def test_a_pass_with_a_wrong_machine_is_not_stored(tmp_path):
    """The reader would refuse the whole folder."""
    path = writers.write_pass(tmp_path / "source", 2)
    path.with_name("machine.json").write_text('{"machine": "another", "version": 1}')
    with pytest.raises(TensorcopyError, match="machine 'another'"):
        add_one(path, tmp_path / "results")
    assert list(tmp_path.glob("results/*/*.json")) == []


def test_a_file_of_another_machine_that_is_no_text_stops_no_run(tmp_path, monkeypatch):
    """It is not this run's: the draft has it as it is, and asv measures."""
    results, release = tmp_path / "results", RELEASES["new"]
    measured_in_passes(results, release, {"tensor": [1.0]})
    damaged = results / "other" / f"{release.sha[:8]}-py3.11-cuda.json"
    damaged.parent.mkdir()
    damaged.write_bytes(b"\xff")
    monkeypatch.setattr(stamp, "_runs", [])
    monkeypatch.setattr(stamp.atexit, "register", lambda *arguments: None)
    configuration = SimpleNamespace(results_dir=str(results), env_dir=str(tmp_path / ".asv" / "env"))
    stamp.stamp_at_exit(configuration, release.sha, "py3.11-cuda", {"ledger": PROVENANCE}, tmp_path / "journal")
    (run,) = stamp._runs
    assert run.pending[release.sha, "py3.11-cuda"].before[run.draft.folder / "other" / damaged.name] == b"\xff"
    run.draft.live.release()
