"""Measurements survive interruption, repeat, and are exact where something is counted."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from tensorcopy.releases import release_table
from tensorcopy.results import reader

pytestmark = pytest.mark.slow

OLDEST, NEWEST = release_table.load()[0], release_table.load()[-1]
LAUNCHES = 3


def test_a_killed_run_neither_loses_nor_repeats_launches(checkout):
    """A command killed at random moments takes the missing launches when repeated; those that are there stay as they are."""
    selection = r"floors\.ByBytes.*, 64\)|copies\.BySize.*, 16\)"
    command = ["measure", NEWEST.version, "--launches", str(LAUNCHES), "--machine", "killed", "--bench", selection, "--no-counts"]
    folder = checkout.root / "results" / "killed"
    before: dict[str, bytes] = {}
    chance = random.Random()
    for moment in (chance.uniform(0.5, 5), chance.uniform(4, 10), chance.uniform(8, 20)):
        with subprocess.Popen(
            [sys.executable, "-m", "tensorcopy", *command],
            cwd=checkout.root,
            env=checkout.environment,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            time.sleep(moment)
            os.killpg(process.pid, signal.SIGKILL)
        after = {path.name: path.read_bytes() for path in folder.glob("*.json")}
        assert before.items() <= after.items()
        before = after
    completed = checkout.run("tensorcopy", *command)
    assert completed.returncode == 0, completed.stderr
    after = {path.name: path.read_bytes() for path in folder.glob("*.json")}
    assert before.items() <= after.items()
    loaded = reader.load_results(checkout.root / "results")
    assert loaded.problems == ()
    (result,) = (result for result in loaded.results if (result.machine, result.sha) == ("killed", NEWEST.sha))
    assert {timing.launches for timing in result.timings.values()} == {LAUNCHES}
    assert len(after) == LAUNCHES


COUNTED = r"^memory\.Host.*\('(detach_clone|tensor|detach_numpy_copy|detach|numpy)', \d+, 'cpu'\)"


@pytest.fixture(scope="module")
def counted(checkout):
    """Bytes, counted with the oldest and the newest release."""
    completed = checkout.run("tensorcopy", "measure", OLDEST.version, NEWEST.version, "--machine", "counted", "--bench", COUNTED)
    assert completed.returncode == 0, completed.stderr
    counts = {result.sha: result.counts for result in reader.load_results(checkout.root / "results").results if result.machine == "counted"}
    return {
        release: {(case.suite, *(value for _, value in case.parameters)): value for case, value in counts[release.sha].items()}
        for release in (OLDEST, NEWEST)
    }


@pytest.mark.parametrize("release", [OLDEST, NEWEST], ids=["oldest", "newest"])
def test_memory_is_exact_to_the_byte(counted, release):
    """A copy allocates 4 MiB, a view nothing."""
    rows = counted[release]
    for method, nbytes in {"detach_clone": 2**22, "tensor": 2**22, "detach_numpy_copy": 2**22, "detach": 0, "numpy": 0}.items():
        for what in ("allocated", "peak"):
            assert rows[f"memory.Host.track_{what}", method, "1048576", "cpu"] == nbytes, (method, what)
        assert rows["memory.Host.track_allocations", method, "1048576", "cpu"] == (1 if nbytes else 0)
