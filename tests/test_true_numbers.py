"""Measurements agree with torch's Timer, survive interruption, and repeat."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from tensorcopy.measure import run_passes
from tensorcopy.releases import release_table
from tensorcopy.results import reader

pytestmark = pytest.mark.slow

OLDEST, NEWEST = release_table.load()[0], release_table.load()[-1]


def samples_of(path):
    document = json.loads(path.read_text())
    column = document["result_columns"].index("samples")
    return document, {suite: row[column] for suite, row in document["results"].items()}


def test_a_killed_run_neither_loses_nor_repeats_samples(checkout):
    """A command killed at random moments measures the missing passes when repeated."""
    command = ["measure", NEWEST.version, "--passes", "3", "--machine", "killed", "--bench", r"floors\.Control|copies\.BySize.*, 16\)"]
    folder = checkout.root / "results" / "killed"
    before: dict[str, list[list[float] | None]] = {}
    passes = 0
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
        # asv's fork server has another process group, and continues
        subprocess.run(["pkill", "-9", "-f", f"{checkout.root}/.asv/env"], check=False)
        for path in folder.glob("*-py*.json"):
            document, after = samples_of(path)
            passes = len(document["passes"])
            for suite, cases in before.items():
                assert all(new[: len(old or ())] == old for old, new in zip(cases, after[suite]) if old)
            before = after
    completed = checkout.run("tensorcopy", *command)
    assert completed.returncode == 0, completed.stderr
    (path,) = folder.glob("*-py*.json")
    document, after = samples_of(path)
    assert len(document["passes"]) == 3 >= passes
    assert len({record["id"] for record in document["passes"]}) == 3
    assert [len(case) for cases in after.values() for case in cases if case] == [3 * run_passes.ONE_ROUND["repeat"]] * 6
    for suite, cases in before.items():
        assert all(new[: len(old or ())] == old for old, new in zip(cases, after[suite]) if old)
    assert reader.load_results(checkout.root / "results").problems == ()


COUNTED = r"^memory\.Host.*\('(detach_clone|tensor|detach_numpy_copy|detach|numpy)', \d+, 'cpu'\)"


@pytest.fixture(scope="module")
def counted(checkout):
    """Bytes, counted with the oldest and the newest release."""
    options = ("--passes", "1", "--machine", "counted", "--bench", COUNTED, "--no-profile")
    completed = checkout.run("tensorcopy", "measure", OLDEST.version, NEWEST.version, *options)
    assert completed.returncode == 0, completed.stderr
    counts = {result.sha: result.counts for result in reader.load_results(checkout.root / "results").results if result.machine == "counted"}
    return {release: {(case.suite, *(value for _, value in case.parameters)): value for case, value in counts[release.sha].items()}
            for release in (OLDEST, NEWEST)}  # fmt: skip


@pytest.mark.parametrize("release", [OLDEST, NEWEST], ids=["oldest", "newest"])
def test_memory_is_exact_to_the_byte(counted, release):
    """A copy allocates 4 MiB, a view nothing."""
    rows = counted[release]
    for method, nbytes in {"detach_clone": 2**22, "tensor": 2**22, "detach_numpy_copy": 2**22, "detach": 0, "numpy": 0}.items():
        for what in ("allocated", "peak"):
            assert rows[f"memory.Host.track_{what}", method, "1048576", "cpu"] == nbytes, (method, what)
        assert rows["memory.Host.track_allocations", method, "1048576", "cpu"] == (1 if nbytes else 0)
