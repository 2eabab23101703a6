"""The time to render the site grows in proportion to the number of results."""

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
    """Return the processor time to render ten releases on each machine."""
    results = tuple(measured(release, TIMES, machine=f"box{number}") for number in range(machines) for release in releases()[-10:])
    begin = time.process_time()
    assert sum(len(text) for _, text in render.files(render.content(results))) > machines
    return time.process_time() - begin


def test_four_times_the_results_take_four_times_as_long():
    """Small and large runs alternate, because the processor's speed varies."""
    seconds(5)  # compiles the templates
    few, many = zip(*((seconds(25), seconds(100)) for _ in range(2)))
    assert min(many) < 1.6 * 4 * max(few)
