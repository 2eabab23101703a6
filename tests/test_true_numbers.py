"""Measurements survive interruption, and bytes are counted exactly."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tensorcopy.releases import release_table
from tensorcopy.results import launches, reader

pytestmark = pytest.mark.slow

OLDEST, NEWEST = release_table.load()[0], release_table.load()[-1]
ONE_SIZE = r"copies\.BySize.*(clone|tensor)', 16\)"


def started(checkout, arguments: list[str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tensorcopy", *arguments]
    return subprocess.Popen(command, cwd=checkout.root, env=checkout.environment, stdout=subprocess.DEVNULL)


def stored(folder: Path) -> dict[str, bytes]:
    """Return every launch of a folder; each can be read."""
    return {path.name: path.read_bytes() for path in folder.glob("*.json") if launches.read(path).kind == "times"}


def test_killed_measurements_lose_double_and_halve_no_launch(checkout):
    """Twice at random moments; then the same command takes what is missing. Each run of the tests tries others."""
    command = ["measure", NEWEST.version, "--launches", "3", "--machine", "killed", "--bench", ONE_SIZE]
    chance, folder = random.Random(), checkout.root / "results" / "killed"
    first = checkout.run("tensorcopy", *command[:2], "--launches", "1", *command[4:])  # which installs both releases
    assert first.returncode == 0, first.stderr
    before = stored(folder)
    for _ in range(2):
        with started(checkout, command) as process:
            time.sleep(chance.uniform(0.5, 15))
            process.kill()
        after = stored(folder)
        assert before.items() <= after.items()
        assert len(after) <= 3
        before = after
    completed = checkout.run("tensorcopy", *command)
    assert completed.returncode == 0, completed.stderr
    after = stored(folder)
    assert before.items() <= after.items()
    assert len(after) == 3
    assert reader.load_results(checkout.root / "results").problems == ()


def test_two_measures_into_one_folder_both_complete(checkout):
    command = ["measure", NEWEST.version, "--launches", "2", "--machine", "together", "--bench", ONE_SIZE]
    assert [process.wait() for process in [started(checkout, command), started(checkout, command)]] == [0, 0]
    assert len(stored(checkout.root / "results" / "together")) in (2, 3)


COUNTED = r"^memory\.Host.*\('(detach_clone|tensor|detach_numpy_copy|detach|numpy)', \d+, 'cpu'\)"


@pytest.fixture(scope="module")
def counted(checkout):
    """Bytes, counted with the oldest and the newest release."""
    completed = checkout.run("tensorcopy", "measure", OLDEST.version, NEWEST.version, "--machine", "counted", "--bench", COUNTED)
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
