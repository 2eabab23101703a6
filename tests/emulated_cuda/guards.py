"""What must be true of the readings of a CUDA device, and would not be with a mistake in the code.

Only lower and upper bounds are asserted: another program can only add time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tensorcopy.worker.methods import CONVERSIONS, COPIES

NUMEL = 2**24  # 64 MiB: a real device takes longer for a copy than its host for the launch
OPERATION = 500  # microseconds that a copy takes on the emulated device
SWITCHES = {"CUDA_OPERATION_US": OPERATION, "CUDA_WAIT_US": 100, "CUDA_CARRIED_MB": 1, "CUDA_CONTEXT_MS": 200, "CUDA_LOAD_MS": 100}
ONCE = 0.05  # seconds: a context or the loading of code takes longer on any device
COPY = 4 * 2**20  # bytes of a copy of 2^20 elements
BLOCKING = 0.75  # of the time between events, where they enclose what the host does between copies that wait
TRANSFERS = {"detach_numpy_copy": 1, "clone_detach_numpy": 2, "detach_clone_numpy": 2}  # copies that the device carries out
WAYS = ("device to device", "device to host, pageable", "device to host, pinned")

THROUGHPUT = tuple(f"copies.Throughput.time_copy('{method}', {NUMEL}, 'cuda')" for method in COPIES)
LATENCY = tuple(f"copies.Latency.time_copy('{method}', {NUMEL}, 'cuda')" for method in COPIES)
CONVERSION = tuple(f"conversions.Latency.time_conversion('{method}', 1024, 'cuda')" for method in CONVERSIONS)
LATENCY_BASELINE = f"floors.Latency.time_transfer({NUMEL}, 'cuda')"
BASELINES = (*(f"floors.OnDevice.time_transfer('{way}', {NUMEL}, 'cuda')" for way in WAYS), LATENCY_BASELINE)

LARGEST = f"copies.Throughput.time_copy('detach_clone', {2**28}, 'cuda')"

Row = Mapping[str, Any]


def value(row: Row) -> float:
    """Return what asv reads; fail where the case was skipped or raised."""
    assert row["value"] is not None, row
    return row["value"]


def holds_the_act(row: Row, seconds: float) -> None:
    """A sample, also the first of a process, contains one copy: no context, no loading of code, and not only its launch."""
    for sample in (value(row), row["first"]):
        assert seconds * 0.97 <= sample, row
    assert value(row) < 3 * seconds, row
    assert row["first"] < 3 * seconds + ONCE, row


def is_throughput(row: Row) -> None:
    """Every copy is waited for, and the loop is waited for once."""
    value(row)
    holds_the_act(row, row["events"])
    if row["counted"]:
        assert row["counted"]["waits"] < row["counted"]["copies"], row


def is_latency(row: Row, throughput: Row) -> None:
    """Each copy is waited for, which takes a microsecond or more on any device."""
    is_waited_for(row)
    assert value(row) >= value(throughput) + 1e-6, (row, throughput)


def is_waited_for(row: Row) -> None:
    """Each copy is waited for, by the emulated device's counters."""
    if row["counted"]:
        assert row["counted"]["waits"] >= row["counted"]["copies"] - 3, row  # each of three samples makes its tensor by one


def is_conversion(case: str, row: Row, is_emulated: bool) -> None:
    """`.cpu()` waits for the device itself."""
    (method, *_) = re.findall(r"'(\w+)'", case)
    holds_the_act(row, TRANSFERS[method] * OPERATION * 1e-6 if is_emulated else BLOCKING * row["events"])


def is_baseline(row: Row, is_emulated: bool) -> None:
    """One copy of the same bytes; to the host, it waits for the device itself."""
    holds_the_act(row, OPERATION * 1e-6 if is_emulated else BLOCKING * row["events"])


def is_peak(row: Row) -> None:
    """A copy holds as many bytes as its tensor, to the byte."""
    assert value(row) == COPY, row


def is_skipped_for_memory(row: Row) -> None:
    """A tensor of which the device cannot hold what is needed is skipped, and the reason has both sizes."""
    assert re.search(r"[\d.]+ GiB, and the device has [\d.]+ GiB", row.get("skipped", "")), row
