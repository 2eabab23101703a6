"""The figures can be believed: they agree with torch's own Timer, a killed run loses and doubles nothing, bytes and instructions repeat."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tensorcopy.measure import crosscheck, run_passes
from tensorcopy.releases import environments, release_table
from tensorcopy.results import load
from tensorcopy.worker import devices
from tensorcopy.worker.probes import instruction_count, timer_crosscheck
from tests.conftest import ROOT, measured_in_passes

pytestmark = pytest.mark.slow

OLDEST, NEWEST = release_table.find("1.9.0"), release_table.load()[-1]

WRONG = '''
"""Suites with the mistakes that are made in timing."""

import torch

from benchmarks import cases
from tensorcopy.worker.registry.methods import COPIES


class SetUpPerCall:
    params = [["clone_detach", "detach_clone"], [1]]
    param_names = ["method", "numel"]

    def setup(self, method, numel):
        self.x = torch.ones(numel)

    def time_copy(self, method, numel):
        COPIES[method](self.x)


class ColdFirstCall(cases.Suite):
    params = [["clone_detach", "detach_clone"], [1]]
    param_names = ["method", "numel"]
    started = False

    def time_copy(self, method, numel):
        if not self.started:  # what is initialized lazily falls into the first sample, and into no other
            cases._spent[0] += 0.001
            self.started = True
        self.time(cases.case(COPIES[method], numel), method, numel)
'''


def test_asv_agrees_with_torchs_timer(checkout):
    """The sizes here; `tensorcopy verify` without --bench compares every case."""
    done = checkout.run("tensorcopy", "verify", NEWEST.version, "--bench", r"^(copies|conversions)\.BySize")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "asv and its reference agree with torch 2.15.0" in done.stdout


@pytest.mark.parametrize("mistake", ["SetUpPerCall", "ColdFirstCall"])
def test_a_wrong_timer_disagrees(tmp_path, mistake):
    """The comparison is able to fail."""
    root = tmp_path / "wrongly"
    root.mkdir()
    (root / "__init__.py").write_text("")
    (root / "wrong.py").write_text(WRONG)
    environment = environments.Environment(Path(sys.executable), {})
    found = crosscheck.run(environment, lambda share, case: None, suites=mistake, root=root)
    assert not found.holds
    assert min(one.ratio for one in found.ratios) > 1.1


@pytest.mark.parametrize("waits", [True, False], ids=["waiting", "not waiting"])
def test_not_waiting_for_a_device_disagrees(monkeypatch, waits):
    """A device that works off an act in 300 µs, after what is queued before it: whoever does not wait measures the queue's door."""
    sys.path.insert(0, str(ROOT))
    from benchmarks import cases

    ready = [0.0]

    def act():
        ready[0] = max(ready[0], time.perf_counter()) + 300e-6

    def wait():
        while time.perf_counter() < ready[0]:
            pass

    monkeypatch.setattr(cases.devices, "waiter", lambda device: wait if waits else float)
    sample = cases.Loop("act()", lambda: {"act": act})
    wait()
    ratio = sample() / timer_crosscheck.by_timer("act()", {"act": act}, wait)
    assert (abs(ratio - 1) < crosscheck.NONE_OUTSIDE) is waits


def samples_of(path):
    document = json.loads(path.read_text())
    column = document["result_columns"].index("samples")
    return document, {suite: row[column] for suite, row in document["results"].items()}


def test_a_killed_run_loses_and_doubles_nothing(checkout):
    """SIGKILL to the whole process group at random moments; then the same command completes what is missing."""
    command = ["measure", NEWEST.version, "--passes", "3", "--machine", "killed", "--bench", r"floors\.Control|copies\.BySize.*, 16\)"]
    folder = checkout.root / "results" / "killed"
    before: dict[str, list[list[float] | None]] = {}
    passes = 0
    chance = random.Random()
    for moment in (chance.uniform(0.5, 5), chance.uniform(5, 12), chance.uniform(8, 20), chance.uniform(12, 30)):
        with subprocess.Popen(
            [sys.executable, "-m", "tensorcopy.cli", *command],
            cwd=checkout.root,
            env=checkout.environment,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            time.sleep(moment)
            os.killpg(process.pid, signal.SIGKILL)
        # asv's server of forks has a process group of its own, and lives on
        subprocess.run(["pkill", "-9", "-f", f"{checkout.root}/.asv/env"], check=False)
        for path in folder.glob("*-py*.json"):
            document, after = samples_of(path)
            passes = len(document["passes"])
            for suite, cases in before.items():
                assert all(new[: len(old or ())] == old for old, new in zip(cases, after[suite]) if old)
            before = after
    done = checkout.run("tensorcopy", *command)
    assert done.returncode == 0, done.stderr
    (path,) = folder.glob("*-py*.json")
    document, after = samples_of(path)
    assert len(document["passes"]) == 3 >= passes
    assert len({record["id"] for record in document["passes"]}) == 3
    assert [len(case) for cases in after.values() for case in cases if case] == [3 * run_passes.ONE_ROUND["repeat"]] * 6
    for suite, cases in before.items():
        assert all(new[: len(old or ())] == old for old, new in zip(cases, after[suite]) if old)
    assert load.load_results(checkout.root / "results").problems == ()


CONFIRM = """
import sys
from tensorcopy import cli, confirm
confirm.TIMES, confirm.PASSES = 1, (4,)
sys.exit(cli.main(["compare", "1.9.0@3.9", "2.15.0@3.11", "--machine", "claimed", "--confirm", "--format", "json"]))
"""


def test_a_claim_that_is_not_so_does_not_hold(checkout, tmp_path):
    """Results say that a method takes half the time since; measured again it does not, and the results stay as they are."""
    old, new = {"tensor": 1.0, "empty_like_copy": 1.0}, {"tensor": 2.0, "empty_like_copy": 0.5}
    cpu = devices.cpu_model()
    for release, times, python in ((OLDEST, old, "3.9"), (NEWEST, new, "3.11")):
        passes = {method: [factor * (1 + 0.002 * number) for number in range(6)] for method, factor in times.items()}
        measured_in_passes(tmp_path / "results", release, passes, machine="claimed", python=python, cpu=cpu)
    folder = tmp_path / "results" / "claimed"
    shutil.copytree(folder, checkout.root / "results" / "claimed")
    done = subprocess.run(
        [sys.executable, "-c", CONFIRM], cwd=checkout.root, env=checkout.environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    changes = {one["parameters"]["method"]: one for one in json.loads(done.stdout)["changes"]}
    assert changes["empty_like_copy"]["verdict"] == "inconclusive"
    assert "but not when measured again" in changes["empty_like_copy"]["reason"]
    assert changes["empty_like_copy"]["confirmed"] == [0, 1]
    assert samples_of(folder / f"{NEWEST.sha[:8]}-py3.11-cuda.json") == samples_of(
        checkout.root / "results" / "claimed" / f"{NEWEST.sha[:8]}-py3.11-cuda.json"
    )


@pytest.fixture(scope="module")
def counted(checkout):
    """Bytes and instructions of the oldest and the newest release."""
    done = checkout.run(
        "tensorcopy",
        "measure",
        OLDEST.version,
        NEWEST.version,
        "--passes",
        "1",
        "--machine",
        "counted",
        "--bench",
        "^(memory|instructions)",
    )
    assert done.returncode == 0, done.stderr
    found = {one.sha: one.counts for one in load.load_results(checkout.root / "results").results if one.machine == "counted"}
    return {release: {(case.suite, *(value for _, value in case.parameters)): value for case, value in found[release.sha].items()}
            for release in (OLDEST, NEWEST)}  # fmt: skip


@pytest.mark.parametrize("release", [OLDEST, NEWEST], ids=["oldest", "newest"])
def test_memory_is_known_to_the_byte(counted, release):
    """4 MiB for a copy, none for a view, on the oldest as on the newest."""
    rows = counted[release]
    for method, nbytes in {"detach_clone": 2**22, "tensor": 2**22, "detach_numpy_copy": 2**22, "detach": 0, "numpy": 0}.items():
        for what in ("allocated", "peak"):
            assert rows[f"memory.Host.track_{what}", method, "1048576", "cpu"] == nbytes, (method, what)
        assert rows["memory.Host.track_allocations", method, "1048576", "cpu"] == (1 if nbytes else 0)


def test_the_articles_question_has_an_answer_in_bytes(counted):
    """clone before .cpu() holds one more tensor on the device; .cpu() alone holds none."""
    rows = counted[NEWEST]
    assert rows["memory.Counted.track_peak", "detach_clone_numpy", "1048576"] == 2**22
    assert rows["memory.Counted.track_peak", "detach_numpy_copy", "1048576"] == 0


def test_instructions_repeat_and_tell_the_graph(counted, checkout):
    """A second count differs by less than 3 %; where clone comes before detach, autograd is entered for nothing."""
    if instruction_count.missing():
        pytest.skip(instruction_count.missing())
    name = "instructions.ByMethod.track_instructions"
    first = {key: value for key, value in counted[NEWEST].items() if key[0] == name}
    assert first[name, "clone_detach", "16", "True"] > 1.2 * first[name, "detach_clone", "16", "True"]
    done = checkout.run("tensorcopy", "measure", NEWEST.version, "--passes", "1", "--machine", "again", "--bench", "^instructions")
    assert done.returncode == 0, done.stderr
    (again,) = (one.counts for one in load.load_results(checkout.root / "results").results if one.machine == "again")
    second = {(case.suite, *(value for _, value in case.parameters)): value for case, value in again.items()}
    assert first.keys() == second.keys()
    assert {key: (value, second[key]) for key, value in first.items() if abs(second[key] / value - 1) >= 0.03} == {}
