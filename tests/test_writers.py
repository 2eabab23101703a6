"""Whatever processes write the same results at once, every pass that was stored stays."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import types
from collections.abc import Callable
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from tensorcopy.asv_plugin.configuration import Paths
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure.profiles import take
from tensorcopy.results import reader, schemas, writing
from tests import writers
from tests.conftest import ROOT

MEMORY = "/dev/shm"  # where flushing a file to the disk takes no time
MOST_MERGES = 300  # one a second
PAUSE = 0.02  # seconds at most before each file that a writer reads or writes


@pytest.fixture(scope="module")
def processes():
    """A server that has imported the program, and forks a writer in milliseconds."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.writers"])
    return context


class Writers(RuleBasedStateMachine):
    """Processes add and merge passes, through the folder or a link to it; some are killed."""

    processes: ForkServerContext
    started = killed = 0  # of all examples

    @initialize()
    def make_results(self) -> None:
        self.root = Path(tempfile.mkdtemp(dir=MEMORY if os.access(MEMORY, os.W_OK) else None))
        self.results, self.link = self.root / "results", self.root / "second checkout"
        self.results.mkdir()
        self.link.symlink_to(self.results, target_is_directory=True)
        self.running: list[tuple[multiprocessing.Process, set[str]]] = []
        self.stored: set[str] = set()
        self.possible: set[str] = set()
        self.count = 0

    @precondition(lambda self: len(self.running) < 4)
    @rule(kind=st.sampled_from(sorted(writers.WRITERS)), number=st.integers(0, 11), linked=st.booleans(), seed=st.integers(0, 99))
    def start(self, kind: str, number: int, linked: bool, seed: int) -> None:
        """A writer begins; another one may have stored the same pass."""
        source = self.root / f"source {self.count}"
        self.count += 1
        writers.write_pass(source, number)
        results = self.link if linked else self.results
        process = self.processes.Process(target=writers.WRITERS[kind], args=(results, source, seed, PAUSE))
        process.start()
        Writers.started += 1
        self.running.append((process, {f"pass-{number}"}))
        self.possible.add(f"pass-{number}")

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def kill(self, data: st.DataObject) -> None:
        """A writer is killed at a random moment: its pass is stored or not."""
        process, passes = self.running.pop(data.draw(st.integers(0, len(self.running) - 1)))
        process.join(data.draw(st.floats(0, 3 * PAUSE)))
        process.kill()
        process.join()
        Writers.killed += 1
        if process.exitcode == 0:
            self.stored |= passes

    @precondition(lambda self: self.running)
    @rule()
    def finish(self) -> None:
        """All writers end, and the results have every pass that one of them has stored."""
        for process, passes in self.running:
            process.join()
            assert process.exitcode == 0
            self.stored |= passes
        self.running = []
        present = writers.pass_ids(self.results)
        assert self.stored <= set(present) <= self.possible
        assert len(present) == len(set(present))
        problems = [
            problem
            for problem in reader.joined_documents(reader.documents(self.results)).problems
            if "is in no history" not in str(problem)
        ]
        assert problems == []  # the releases of the fixtures are in no table

    def teardown(self) -> None:
        if self.running:
            self.finish()
        shutil.rmtree(self.root, ignore_errors=True)


def check_writers(processes: ForkServerContext, tried: Callable[[str, int], None], examples: int, steps: int) -> None:
    Writers.processes, Writers.started, Writers.killed = processes, 0, 0
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    try:
        run_state_machine_as_test(
            Writers, settings=settings(max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=slow)
        )
    finally:  # a failed try counts too
        tried("a process that adds or merges a pass beside others, through a folder or a link to it", Writers.started)
        tried("a process that adds or merges a pass, killed at a random moment", Writers.killed)


@pytest.mark.slow
def test_the_stored_passes_are_the_union_of_all_writers(processes, tried):
    """Whichever comes first, through whichever path, and whichever is killed."""
    check_writers(processes, tried, 8, 12)


@pytest.mark.fuzz
def test_the_stored_passes_are_the_union_of_all_writers_for_long(processes, tried):
    """The same with many more examples."""
    check_writers(processes, tried, 120, 25)


def test_four_writers_at_once_store_four_passes(processes, tmp_path):
    """Two of them store the same pass."""
    started = []
    for index, (kind, number) in enumerate([("asv run", 0), ("merge", 2), ("asv run", 4), ("merge", 0)]):
        writers.write_pass(tmp_path / f"{index}", number)
        process = processes.Process(target=writers.WRITERS[kind], args=(tmp_path / "results", tmp_path / f"{index}", index, PAUSE))
        process.start()
        started.append(process)
    for process in started:
        process.join()
    assert [process.exitcode for process in started] == [0, 0, 0, 0]
    assert writers.pass_ids(tmp_path / "results") == ["pass-0", "pass-2", "pass-4"]
    (result,) = reader.load_results(tmp_path / "results").results
    assert [len(timing.by_pass) for timing in result.timings.values()] == [3]


HOLD = "import sys, time; from pathlib import Path; from tensorcopy.results import writing"
HOLD += "\nwith writing.one_writer(Path(sys.argv[1]), 'merge'): print('locked', flush=True); time.sleep(60)"


@pytest.fixture
def holder(tmp_path):
    """A process that writes tmp_path/results."""
    (tmp_path / "results").mkdir()
    command = [sys.executable, "-c", HOLD, str(tmp_path / "results")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout.readline() == "locked\n"
        yield process
        process.kill()


def test_a_second_writer_waits_with_a_message_and_is_refused_by_name(holder, tmp_path):
    """Also through a link: the lock is in the folder itself."""
    link, messages = tmp_path / "link", []
    link.symlink_to(tmp_path / "results")
    with pytest.raises(TensorcopyError) as caught, writing.one_writer(link, "asv run", messages.append, patience=0.2):
        pass
    name = rf"merge (process {holder.pid} of "
    assert messages[0].startswith(f"waiting for link/, which {name}")
    assert caught.value.got.startswith(name)
    assert caught.value.what == "link/ is being written by another process"


def test_a_killed_writer_releases_the_lock(holder, tmp_path):
    """The operating system does it; the description that it leaves names no process any more."""
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    with writing.one_writer(tmp_path / "results", "asv run", patience=0.0):
        assert writing.writer(tmp_path / "results").startswith(f"asv run (process {os.getpid()} of ")
    assert writing.writer(tmp_path / "results") == "another process"


@pytest.mark.parametrize("note", ["", "[]", '{"doing": 1}', "\x00", '{"doing": "{doing.__class__}"}', "[" * 100_000])
def test_a_damaged_description_of_the_writer_names_nobody(tmp_path, note):
    """It is never interpreted."""
    (tmp_path / writing.WRITER).write_text(note)
    assert writing.writer(tmp_path) == "another process"


def test_a_description_of_the_writer_has_no_control_characters(tmp_path):
    """Anybody who may write the folder may have written it."""
    note = {"doing": "\x1b[31mmerge\n", "process": 1, "user": "a" * 500, "host": "h", "since": "t"}
    (tmp_path / writing.WRITER).write_text(json.dumps(note))
    assert writing.writer(tmp_path).startswith("[31mmerge (process 1 of aaa")
    assert len(writing.writer(tmp_path)) == writing.LONGEST_DESCRIPTION


def as_another_user(kind: str, results: Path, source: Path) -> None:
    """Write as a user who did not make the results."""
    schemas.fault({})  # imports the validator, which the other user may be unable to read
    os.umask(0o022)
    os.setgid(54321)
    os.setuid(54321)
    writers.WRITERS[kind](results, source, 0, 0.0)


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() != 0, reason="only root may become another user")
def test_two_users_write_the_same_results(processes):
    """In a folder that both may write; the first has made the lock and the machine's folder with a strict umask."""
    root = Path(tempfile.mkdtemp())
    try:
        root.chmod(0o755)
        results = root / "results"
        results.mkdir()
        results.chmod(0o777)
        for number in (0, 2, 4):
            writers.write_pass(root / f"{number}", number)
        writer = {"target": writers.store_pass, "args": (results, root / "0", 0, 0.0)}
        others = [
            {"target": as_another_user, "args": (kind, results, root / number)} for kind, number in (("asv run", "2"), ("merge", "4"))
        ]
        for task in (writer, *others):
            process = processes.Process(**task)
            process.start()
            process.join()
            assert process.exitcode == 0
        assert writers.pass_ids(results) == ["pass-0", "pass-2", "pass-4"]
        assert stat.S_IMODE((results / writing.LOCK).stat().st_mode) == 0o666
    finally:
        shutil.rmtree(root)


@pytest.mark.slow
def test_commands_at_once_lose_no_pass(checkout, tmp_path, tried):
    """`measure` in two checkouts on one folder of results, `asv run` and several `merge`: every pass of all of them is stored."""
    second = tmp_path / "second"
    shutil.copytree(checkout.root, second, ignore=lambda folder, names: ["results", ".asv", "site"] if folder == str(checkout.root) else [])
    (second / "results").symlink_to(checkout.root / "results")
    for number in range(4):
        writers.write_pass(tmp_path / f"{number}", number)
    before = set(writers.pass_ids(checkout.root / "results"))
    registered = checkout.run("asv", "machine", "--yes", "--machine", "here")
    assert registered.returncode == 0, registered.stderr
    measure = ["tensorcopy", "measure", "--interpreter", "same", "--passes", "2", "--machine", "here", "--no-confirm", "--shard"]
    asv = ["asv", "run", f"v{torch_version()}^!", "-E", "interpreter:same", "--machine", "here", "--append-samples"]
    commands = [(checkout.root, [*measure, "1/2"]), (second, [*measure, "2/2"]), (checkout.root, asv)]  # a pass each, whoever is first
    running = [
        subprocess.Popen(
            [sys.executable, "-m", *command, "--bench", "floors.Control"],
            cwd=folder,
            env={**checkout.environment, "PYTHONPATH": str(folder)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for folder, command in commands
    ]
    for count in range(1, MOST_MERGES):
        merged = checkout.run("tensorcopy", "merge", str(tmp_path / f"{count % 4}"))
        assert merged.returncode == 0, merged.stderr
        if all(process.poll() is not None for process in running):
            break
        time.sleep(1)
    for process in running:
        process.kill()  # one that has not ended by now would never
    tried("`measure` in two checkouts, `asv run` and `merge` at once on the same results", count + len(running))
    outputs = [process.communicate()[0] for process in running]
    assert [process.returncode for process in running] == [0, 0, 0], "\n".join(outputs)
    after = writers.pass_ids(checkout.root / "results")
    assert before < set(after)
    measured = set(after) - before - {f"pass-{number}" for number in range(4)}
    assert len(after) == len(set(after)) == len(before) + 4 + len(measured)
    assert len(measured) == 3
    loaded = reader.load_results(checkout.root / "results")
    assert loaded.unpublishable == ()
    (here,) = (result for result in loaded.results if result.machine == "here")
    assert {len(timing.by_pass) for timing in here.timings.values()} == {3}
    assert list((checkout.root / ".asv" / "drafts").iterdir()) == []


def torch_version() -> str:
    import torch

    return torch.__version__.partition("+")[0]


def replaced_often(path: Path, times: int) -> None:
    os.fsync = lambda descriptor: None  # in this process only, as in all tests
    for number in range(times):
        writing.replace(path, json.dumps([number] * 5000))


def test_two_writers_without_the_lock_leave_a_whole_file(processes, tmp_path):
    """As of asv's list of machines before this program: each has a draft of its own."""
    path = tmp_path / "machine.json"
    started = [processes.Process(target=replaced_often, args=(path, 40)) for _ in range(2)]
    for process in started:
        process.start()
    while any(process.is_alive() for process in started):
        assert not path.exists() or len(json.loads(path.read_text())) == 5000
    assert [process.exitcode for process in started] == [0, 0]
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_writer_left_of_a_file_is_removed_later(tmp_path):
    """Not at once: it may be that of a writer that lives."""
    old, new = (tmp_path / f"x.json.{number}{writing.ENDING}" for number in range(2))
    old.write_text("{")
    new.write_text("{")
    os.utime(old, (0, 0))
    writing.replace(tmp_path / "x.json", b"{}")
    assert sorted(tmp_path.iterdir()) == [tmp_path / "x.json", new]


def test_a_profile_is_written_by_the_one_writer(tmp_path, monkeypatch):
    """It lies in the folder of results, beside the result that it belongs to."""
    result = tmp_path / "results" / "box" / "result.json"
    described = []
    monkeypatch.setattr(take, "_check_machine", lambda result: None)
    monkeypatch.setattr(take, "profiled", lambda environment: {})
    monkeypatch.setattr(take.profile_file, "write", lambda path, document: described.append(writing.writer(path.parents[1])))
    measurement = types.SimpleNamespace(file=lambda paths, machine: result, opened=lambda paths: None)
    take.take(measurement, take.Job(Paths(tmp_path / "results", tmp_path, tmp_path, ()), "box"))
    assert described[0].startswith(f"profile (process {os.getpid()} of ")
