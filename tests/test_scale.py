"""The time and the memory to write the site grow in proportion to the number of results."""

from __future__ import annotations

import sys
import time

import pytest

from tensorcopy.releases.release_table import load as releases
from tensorcopy.site import render, writer
from tests import scale
from tests.conftest import measured

pytestmark = pytest.mark.weekly

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
    few, many = zip(*((seconds(10), seconds(40)) for _ in range(2)))
    assert min(many) < 1.6 * 4 * max(few)


MACHINES, FILES = writer.FEW_MACHINES + 2, 13  # more than are written together
MEMORY = 75e6  # bytes for another machine: 20 of twice as many files then take 1.5 GB


def test_publishing_takes_time_space_and_memory_in_proportion_to_the_machines(tmp_path, capsys):
    """`asv publish` of results made from the shipped ones with noise; the figures are printed."""
    one, several = (scale.measure(tmp_path / str(machines), machines, FILES) for machines in (1, MACHINES))
    with capsys.disabled():
        sys.stdout.write(f"\n{one}\n{several}\n")
    assert several.files == MACHINES * one.files == MACHINES * FILES
    assert several.written < 1.05 * MACHINES * one.written
    assert several.processor < 1.35 * MACHINES * one.processor
    assert several.memory < one.memory + (MACHINES - 1) * MEMORY
