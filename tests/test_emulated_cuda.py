"""The suites and commands on a CUDA device: a real one, or the emulated one of tests/emulated_cuda.

An operation of the emulated device takes a known time; the times of a real one are those of CUDA's events. Only lower and upper bounds are
tested: another program can only add time.
"""

from __future__ import annotations

import json
import re

import pytest

from tensorcopy.worker.registry.methods import CONVERSIONS, COPIES

OPERATION = 500  # microseconds
MEBIBYTES_4 = 4 * 2**20
SWITCHES = {"CUDA_OPERATION_US": OPERATION, "CUDA_WAIT_US": OPERATION, "CUDA_CONTEXT_MS": 200, "CUDA_LOAD_MS": 100}
WAYS = ("device to device", "device to host, pageable", "device to host, pinned")

THROUGHPUT = [f"copies.Throughput.time_copy('{method}', 1024, 'cuda')" for method in COPIES]
LATENCY = [f"copies.Latency.time_copy('{method}', 1024, 'cuda')" for method in COPIES]
CONVERSION = [f"conversions.Latency.time_conversion('{method}', 1024, 'cuda')" for method in CONVERSIONS]
BASELINES = [f"floors.OnDevice.time_transfer('{way}', 1024, 'cuda')" for way in WAYS]
COPIES_OF = {"detach_numpy_copy": 1, "clone_detach_numpy": 2, "detach_clone_numpy": 2}  # that the device carries out


@pytest.fixture(scope="module")
def readings(gpu, tmp_path_factory):
    """What the suites read, by case."""
    memory = [
        *(f"memory.Device.track_{what}('detach_clone', {2**20}, 'cuda')" for what in ("peak", "allocated", "allocations")),
        f"memory.Device.track_peak('clone_detach_numpy', {2**20}, 'cuda')",
        f"memory.Device.track_peak('detach_numpy_copy', {2**20}, 'cuda')",
        f"memory.Device.track_peak('numpy_from_dlpack', {2**20}, 'cuda')",
        f"memory.Host.track_allocated('detach_numpy_copy', {2**20}, 'cuda')",
        f"memory.Host.track_allocated('numpy_from_dlpack', {2**20}, 'cuda')",
    ]
    counters = tmp_path_factory.mktemp("readings") / "counters"
    return gpu.readings([*THROUGHPUT, *LATENCY, *CONVERSION, *BASELINES, *memory], counters, **SWITCHES)


def value_of(readings, case):
    row = readings[case]
    assert row["value"] is not None, row
    return row["value"]


def assert_is_the_act(reading, seconds):
    """The reading contains the act, and not three times of it: neither a context nor the loading of code."""
    assert seconds * 0.97 <= reading < 3 * seconds


def assert_waited_for(readings, method):
    """Throughput contains every copy and no wait for each; latency contains a wait for each."""
    throughput = readings[f"copies.Throughput.time_copy('{method}', 1024, 'cuda')"]
    latency = value_of(readings, f"copies.Latency.time_copy('{method}', 1024, 'cuda')")
    assert_is_the_act(throughput["value"], throughput["events"])
    assert latency >= 1.2 * throughput["value"]


def test_gcc_builds_the_runtime_without_cuda(emulated_cuda):
    """No header of CUDA's is needed, and nothing is downloaded."""
    assert all(library.stat().st_size < 200_000 for library in emulated_cuda.libraries)


@pytest.mark.slow
def test_an_emulated_operation_takes_the_time_that_was_set(emulated_cuda, readings):
    """CUDA's events, in torch's own code, read the time of the queue."""
    if readings[THROUGHPUT[0]]["counted"]:
        assert readings[THROUGHPUT[0]]["events"] == pytest.approx(OPERATION * 1e-6, rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("method", COPIES)
def test_copies_are_waited_for_once_per_loop_or_after_each(readings, method):
    """One wait for a loop is throughput, one for each copy is latency."""
    assert_waited_for(readings, method)


@pytest.mark.slow
@pytest.mark.parametrize("case", CONVERSION)
def test_a_conversion_contains_its_copies(gpu, readings, case):
    """`.cpu()` waits for the device itself."""
    row = readings[case]
    method = re.search(r"'(\w+)'", case)[1]
    seconds = COPIES_OF[method] * OPERATION * 1e-6 if gpu.is_emulated else row["events"]
    assert_is_the_act(value_of(readings, case), seconds)


@pytest.mark.slow
@pytest.mark.parametrize("case", BASELINES)
def test_a_baseline_is_one_copy(gpu, readings, case):
    """Of the same bytes, into existing memory."""
    seconds = OPERATION * 1e-6 if gpu.is_emulated else readings[case]["events"]
    assert_is_the_act(value_of(readings, case), seconds)


@pytest.mark.slow
def test_device_memory_is_counted_to_the_byte(readings):
    """A copy takes one tensor; `.clone().cpu()` holds one more on the device, `.cpu()` none."""
    assert value_of(readings, f"memory.Device.track_peak('detach_clone', {2**20}, 'cuda')") == MEBIBYTES_4
    assert value_of(readings, f"memory.Device.track_allocated('detach_clone', {2**20}, 'cuda')") == MEBIBYTES_4
    assert value_of(readings, f"memory.Device.track_allocations('detach_clone', {2**20}, 'cuda')") == 1
    assert value_of(readings, f"memory.Device.track_peak('clone_detach_numpy', {2**20}, 'cuda')") == MEBIBYTES_4
    assert value_of(readings, f"memory.Device.track_peak('detach_numpy_copy', {2**20}, 'cuda')") == 0


@pytest.mark.slow
def test_a_method_that_numpy_refuses_is_counted_up_to_there(readings):
    """numpy reads no memory of a GPU; its words differ between versions."""
    assert value_of(readings, f"memory.Device.track_peak('numpy_from_dlpack', {2**20}, 'cuda')") == 0
    assert value_of(readings, f"memory.Host.track_allocated('numpy_from_dlpack', {2**20}, 'cuda')") == 0
    assert value_of(readings, f"memory.Host.track_allocated('detach_numpy_copy', {2**20}, 'cuda')") >= MEBIBYTES_4


@pytest.mark.slow
def test_memory_is_that_of_the_tensors_device(emulated_cuda):
    """Also where another device is the current one, and whatever was allocated before."""
    code = """
import torch
from tensorcopy.worker.probes import allocations
from tensorcopy.worker.registry.methods import METHODS
for name in ("cuda:0", "cuda:1"):
    torch.empty(2**26, device=name)
    x = torch.empty(2**20, device=name)
    print(allocations.on_device(METHODS["detach_clone"].on["cuda"], x).peak)
"""
    done = emulated_cuda.run("-c", code, CUDA_DEVICES=2, CUDA_OPERATION_US=1)
    assert done.stdout.split() == [str(MEBIBYTES_4)] * 2, done.stderr


@pytest.mark.slow
def test_every_promise_and_every_statement_of_the_article_holds(gpu):
    """check compares each method's promise; the provenance has the article's statements and the device's name."""
    done = gpu.run("-m", "tensorcopy.cli", "check", "--device", "cuda", CUDA_OPERATION_US=1)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "every documented behaviour holds" in done.stdout
    probe = gpu.run("-m", "tensorcopy.worker.run_probe", "tensorcopy.worker.provenance", "--observe", CUDA_OPERATION_US=1)
    report = json.loads(probe.stdout.splitlines()[-1])
    assert report["article"]["cuda"]["statements"] > 100
    assert report["article"]["cuda"]["fail"] == []
    assert report["ledger"]["accelerators"]["cuda"].startswith("Emulated CUDA" if gpu.is_emulated else "")


@pytest.mark.slow
def test_plot_and_advise_read_the_device_and_not_the_queue(gpu):
    """Each time contains at least one copy."""
    plotted = gpu.run("-m", "tensorcopy.cli", "plot", "--device", "cuda", "--max", "2**4", "--json", CUDA_OPERATION_US=OPERATION)
    assert plotted.returncode == 0, plotted.stderr
    times = [seconds for seconds in numbers(json.loads(plotted.stdout)["times"]) if seconds]
    assert times
    if gpu.is_emulated:
        assert min(times) >= OPERATION * 1e-6
        assert min(times) < 3 * OPERATION * 1e-6
    advised = gpu.run("-m", "tensorcopy.cli", "advise", "--device", "cuda", "--json", CUDA_OPERATION_US=OPERATION)
    assert advised.returncode == 0, advised.stderr


def numbers(value):
    """Yield all numbers in nested lists and dictionaries."""
    if isinstance(value, (int, float)):
        yield value
    elif isinstance(value, (list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from numbers(item)
