"""A disk that is full, read-only or not the user's ends a command in one line, and leaves no half-written file."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tensorcopy.asv_plugin.stamp import summary
from tensorcopy.cli import main
from tensorcopy.errors import REMEDIES, DiskError, TensorcopyError, of_os_error, of_text
from tensorcopy.measure import plan, run_passes
from tensorcopy.releases import environments, uv
from tensorcopy.results import files
from tensorcopy.results.merge import add_pass, last_pass
from tests import writers
from tests.conftest import NEW, ROOT, SHOWN, require

SIMULATED_ROW = "a system call that fails with ENOSPC, EDQUOT, EROFS or EACCES while a file is written"
LINE = re.compile(r"tensorcopy: [^\n]+: got [^\n]+; allowed: [^\n]+; next: [^\n]+\n")
ERRORS = [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES]
NAMES = [errno.errorcode[number] for number in ERRORS]


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder, except the lock."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != ".lock"}


@pytest.mark.parametrize("number", ERRORS, ids=NAMES)
def test_an_error_of_the_disk_says_what_to_do(number):
    """Also one that another program has printed, and one that came from another process."""
    error = of_os_error(OSError(number, os.strerror(number), "results/x.json"))
    assert (error.got, error.repair) == (os.strerror(number), REMEDIES[number][1])
    assert error.next.startswith(f"{error.repair}, then repeat")
    assert LINE.fullmatch(f"tensorcopy: {error}\n")
    assert isinstance(TensorcopyError.of_document(json.loads(json.dumps(error.document()))), DiskError)
    quoted = [of_text(text) for text in (f"OSError: [Errno {number}] no", f"error: failed (os error {number})")]
    assert [each and each.got for each in quoted] == [os.strerror(number)] * 2


def test_another_error_of_the_system_is_not_about_the_disk():
    """It is a fault of the program, and keeps its traceback."""
    assert of_os_error(OSError(errno.ECONNRESET, "reset")) is None
    assert of_text("[Errno 2] No such file; (os error 99999)") is None


@pytest.fixture
def two_folders(tmp_path):
    """Results with a pass, and a folder with another one."""
    writers.write_pass(tmp_path / "results", 0)
    return tmp_path / "results", writers.write_pass(tmp_path / "other", 2)


@pytest.mark.parametrize("number", ERRORS, ids=NAMES)
def test_merging_onto_a_failing_disk_changes_nothing(two_folders, monkeypatch, capsys, tried, number):
    """One line, exit code 2; each file is the old one, and none is left over."""
    tried(SIMULATED_ROW)
    results, other = two_folders
    before = contents(results)

    def fail(descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    assert main(["merge", str(other.parents[1]), "--into", str(results)]) == 2
    assert LINE.fullmatch(capsys.readouterr().err)
    assert contents(results) == before


@pytest.mark.parametrize("number", ERRORS, ids=NAMES)
def test_a_pass_that_cannot_be_stored_leaves_the_results(two_folders, monkeypatch, tried, number):
    """As at the end of asv."""
    tried(SIMULATED_ROW)
    results, other = two_folders
    before = contents(results)

    def fail(descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match=re.escape(os.strerror(number))):
        add_pass(other, last_pass(files.read(other), {}), results / other.relative_to(other.parents[1]), "asv run", summary)
    assert contents(results) == before


def test_a_full_disk_stops_a_run_of_passes(monkeypatch, tmp_path):
    """The next pass could not be stored either."""
    taken = []

    def measure_pass(*arguments: object) -> None:
        taken.append(arguments)
        raise of_os_error(OSError(errno.ENOSPC, "full"))

    monkeypatch.setattr(run_passes, "measure_pass", measure_pass)
    paths = run_passes.Paths(tmp_path / "results", tmp_path, tmp_path / "env", ("3.11",))
    with pytest.raises(DiskError, match="No space left on device"):
        list(run_passes._measure_group([plan.Measurement(NEW, "3.11")] * 3, run_passes.Job(paths, "box", "x"), lambda _: None, 1e12))
    assert len(taken) == 1


def test_an_installation_on_a_full_disk_frees_what_it_took(monkeypatch, tmp_path):
    """uv prints the system's error; the message names the room that is needed."""

    def make_environment(path: Path, python: Path, requirements: list[str], index: str) -> None:
        (path / "lib").mkdir(parents=True)
        raise uv.UvFailed("error: failed to write to file: No space left on device (os error 28)")

    monkeypatch.setattr(uv, "find_python", Path)
    monkeypatch.setattr(uv, "make_environment", make_environment)
    with pytest.raises(DiskError, match=r"torch 2.0.0 was not installed: got No space left on device; .*free 5 GB for each environment"):
        environments.build(tmp_path, NEW, "3.11", "cuda")
    assert list(tmp_path.iterdir()) == []


@dataclass(frozen=True)
class Disk:
    """A small file system with a checkout on it."""

    root: Path
    environment: dict[str, str]

    def run(self, *command: str, prefix: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*prefix, sys.executable, "-m", *command], cwd=self.root, env=self.environment, capture_output=True, text=True, check=False
        )


def fill(folder: Path, free: int) -> Path:
    """Fill the file system of a folder up until `free` bytes are left, and return the file that takes the room."""
    filler = folder / "filler"
    filler.unlink(missing_ok=True)
    with filler.open("wb") as file, suppress(OSError):
        while os.write(file.fileno(), b"\0" * 4096):
            pass
    os.truncate(filler, filler.stat().st_size - free)
    return filler


def mounted(folder: Path, *options: str) -> bool:
    done = subprocess.run(["mount", *options, "-t", "tmpfs", "tmpfs", str(folder)], capture_output=True, check=False)
    return done.returncode == 0


@pytest.fixture(scope="module")
def disk(tmp_path_factory) -> Iterator[Disk]:
    """A file system of 24 MB; only root can make one."""
    folder = tmp_path_factory.mktemp("disk")
    if shutil.which("mount") is None or not mounted(folder, "-o", "size=24m"):
        pytest.skip("only root can make a file system of a few megabytes")
    try:
        yield filled(folder, environments.bytecode_in(tmp_path_factory.mktemp("cache")))
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def filled(folder: Path, cache: dict[str, str]) -> Disk:
    """Write a checkout into a folder, with another folder of results beside it."""
    root = folder / "checkout"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, listed):
        is_wanted = not name.startswith("results/xeon") or Path(name).name.startswith(("machine", *SHOWN))
        if is_wanted and (ROOT / name).exists():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, root / name)
    (folder / "home").mkdir()
    (folder / "home" / ".asv-machine.json").write_text(json.dumps({"box": {"machine": "box"}, "version": 1}))
    (folder / "tmp").mkdir()
    variables = {"HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp"), "PYTHONPATH": str(root), "GITHUB_OUTPUT": str(root / "out")}
    writers.write_pass(folder / "other", 0)
    return Disk(root, {**os.environ, **variables, **cache, "PYENV_ROOT": os.environ.get("PYENV_ROOT", str(Path.home() / ".pyenv"))})


DISK_ROW = "a command on a real disk that is full, fills up, is read-only or not the user's"
ONE_SUITE = ("--passes", "1", "--bench", "floors.Control", "--machine", "box", "--no-confirm")
COMMANDS = {
    "merge": ("tensorcopy", "merge", "../other"),
    "runners": ("tensorcopy", "ci", "runners"),
    "measure": ("tensorcopy", "measure", "--interpreter", "same", *ONE_SUITE),
    "measure a new machine": ("tensorcopy", "measure", "--interpreter", "same", "--machine", "new"),
    "asv run": ("asv", "run", "NEW", "-E", "interpreter:same", "--machine", "box", "--bench", "floors.Control"),
    "asv publish": ("asv", "publish"),
}
WITHOUT_RIGHTS = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search", "--inh-caps", "-dac_override,-dac_read_search")


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("state", ["full", "read-only", "not permitted"])
def test_a_command_on_a_failing_disk_ends_in_one_line(disk, tried, command, state):
    """A real file system that is full, read-only, or whose folders this user may not write: no traceback, and the results as before."""
    prefix: tuple[str, ...] = ()
    tried(DISK_ROW)
    before = contents(disk.root / "results")
    subprocess.run(["mount", "-o", "remount,rw", str(disk.root.parent)], check=True)
    if state == "full":
        fill(disk.root.parent, 0)
    elif state == "read-only":
        subprocess.run(["mount", "-o", "remount,ro", str(disk.root.parent)], check=True)
    else:
        require(shutil.which("setpriv"), "no setpriv, with which root gives up its rights: apt install util-linux")
        prefix = WITHOUT_RIGHTS
        subprocess.run(["chmod", "-R", "a-w", str(disk.root.parent)], check=True)
    try:
        done = disk.run(*COMMANDS[command], prefix=prefix)
    finally:
        subprocess.run(["mount", "-o", "remount,rw", str(disk.root.parent)], check=True)
        subprocess.run(["chmod", "-R", "u+w", str(disk.root.parent)], check=True)
        (disk.root.parent / "filler").unlink(missing_ok=True)
    printed = done.stdout + done.stderr
    assert "Traceback" not in printed, printed
    assert done.returncode == 2, printed
    assert len(re.findall(r": got [^\n]+; allowed: [^\n]+; next: ", printed)) == 1, printed
    assert contents(disk.root / "results") == before


@pytest.mark.slow
@pytest.mark.parametrize("free", [4096, 20_000, 60_000, 250_000])
def test_merging_onto_a_nearly_full_disk_keeps_every_file_whole(disk, tried, free):
    """The disk fills up between the files; the same merge succeeds later."""
    tried(DISK_ROW)
    results, source = disk.root / "results", disk.root.parent / "source"
    shutil.copytree(results, source)
    try:
        shutil.rmtree(results / "xeon-2core")
        fill(disk.root.parent, free)
        done = disk.run("tensorcopy", "merge", str(source))
        assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stderr
        (disk.root.parent / "filler").unlink()
        assert [path for path in results.rglob("*.json") if not json.loads(path.read_text())] == []
        assert list(results.rglob("*.new")) == []
        assert disk.run("tensorcopy", "merge", str(source)).returncode == 0
        assert writers.pass_ids(results) == writers.pass_ids(source)
    finally:
        (disk.root.parent / "filler").unlink(missing_ok=True)
        shutil.rmtree(source)


@pytest.mark.slow
def test_a_pass_that_finds_no_room_is_kept_and_can_be_merged(disk, tried):
    """The message names the folder that has it, on a disk with room."""
    tried(DISK_ROW)
    results = disk.root / "results"
    elsewhere = disk.root.parent / "results of all"
    results.rename(elsewhere)
    results.mkdir()
    assert mounted(results, "-o", "size=512k")
    try:
        shutil.copy(elsewhere / "benchmarks.json", results)
        (results / "box").mkdir()
        (results / "box" / "machine.json").write_text(json.dumps({"machine": "box", "version": 1}))
        fill(results, 0)
        done = disk.run(*COMMANDS["measure"])
        assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stderr
        assert "then tensorcopy merge" in done.stderr, done.stderr
        (kept,) = re.findall(r"No space left on device; .*, then tensorcopy merge (\S+)", done.stderr.replace("\n", " "))
        assert contents(results).keys() == {"benchmarks.json", "box/machine.json", "filler"}
        (results / "filler").unlink()
        merged = disk.run("tensorcopy", "merge", kept)
        assert merged.returncode == 0, merged.stderr
        assert len(writers.pass_ids(results)) == 1
    finally:
        subprocess.run(["umount", "--lazy", str(results)], check=True)
        results.rmdir()
        elsewhere.rename(results)
