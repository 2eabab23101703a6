"""Many results: the pages take time in proportion."""

from __future__ import annotations

import time

import pytest

from tensorcopy.releases.release_table import load as releases
from tensorcopy.site import render
from tests.conftest import measured

pytestmark = pytest.mark.slow

TIMES = {
    (method, numel): 1e-6 * (1 + index) for index, method in enumerate(("clone_detach", "detach_clone", "tensor")) for numel in (16, 1024)
}


def seconds(machines: int) -> float:
    """Of this processor's time, for all pages of so many machines with ten releases each."""
    found = tuple(measured(release, TIMES, machine=f"box{number}") for number in range(machines) for release in releases()[-10:])
    begin = time.process_time()
    assert sum(len(text) for _, text in render.files(render.content(found))) > machines
    return time.process_time() - begin


def test_four_times_the_results_take_four_times_as_long():
    """Or little more; by turns, for the processor's pace is not always the same."""
    seconds(5)  # templates are compiled once
    few, many = zip(*((seconds(50), seconds(200)) for _ in range(2)))
    assert min(many) < 1.6 * 4 * max(few)
