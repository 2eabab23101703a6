"""The suites and probes on a CUDA device: a real one, or the emulated one of tests/emulated_cuda.

A copy of the emulated device takes a known time; that of a real one is read by CUDA's events.
"""

from __future__ import annotations

import json

import pytest

from tests.conftest import ROOT
from tests.emulated_cuda import Request, guards
from tests.emulated_cuda.guards import BASELINES, CONVERSION, COPY, LARGEST, LATENCY, LATENCY_BASELINE, OPERATION, SWITCHES, THROUGHPUT

MEMORY = {
    f"memory.Device.track_peak('detach_clone', {2**20}, 'cuda')": COPY,
    f"memory.Device.track_allocated('detach_clone', {2**20}, 'cuda')": COPY,
    f"memory.Device.track_allocations('detach_clone', {2**20}, 'cuda')": 1,
    f"memory.Device.track_peak('clone_detach_numpy', {2**20}, 'cuda')": COPY,
    f"memory.Device.track_peak('detach_numpy_copy', {2**20}, 'cuda')": 0,
    f"memory.Device.track_peak('numpy_from_dlpack', {2**20}, 'cuda')": 0,
    f"memory.Host.track_allocated('numpy_from_dlpack', {2**20}, 'cuda')": 0,
    "peak('detach_clone', 'cuda:0')": COPY,
}
OTHER_DEVICE = "peak('detach_clone', 'cuda:1')"


@pytest.fixture(scope="session")  # timed tests run first, and so not beside the others of this module
def rows(gpu, tmp_path_factory):
    """What the suites read, by case."""
    cases = (*THROUGHPUT, *LATENCY, *CONVERSION, *BASELINES, *MEMORY)
    requests = [Request(ROOT, cases)]
    if gpu.is_emulated:
        requests.append(Request(ROOT, (OTHER_DEVICE,), {"EMULATED_CUDA_DEVICES": "2"}))
        requests.append(Request(ROOT, (LARGEST,), {"EMULATED_CUDA_MEMORY_MB": "512"}))
    readings = gpu.readings(requests, tmp_path_factory.mktemp("readings") / "counters", **SWITCHES)
    return {case: row for (_, case), row in readings.items()}


def test_gcc_builds_the_runtime_without_cuda(emulated_cuda):
    """No header of CUDA's is needed, and nothing is downloaded."""
    assert all(library.stat().st_size < 200_000 for library in emulated_cuda.libraries)


@pytest.mark.timed
@pytest.mark.parametrize("case", THROUGHPUT)
def test_throughput_waits_once_for_a_loop(gpu, rows, case):
    """The emulated device's own clock reads the time that was set."""
    guards.is_throughput(rows[case])
    if gpu.is_emulated:
        assert rows[case]["events"] >= OPERATION * 1e-6


@pytest.mark.timed
@pytest.mark.parametrize(("latency", "throughput"), list(zip(LATENCY, THROUGHPUT)), ids=LATENCY)
def test_latency_waits_for_each_copy(rows, latency, throughput):
    """It is the longer one."""
    guards.is_latency(rows[latency], rows[throughput])


@pytest.mark.timed
@pytest.mark.parametrize("case", CONVERSION)
def test_a_conversion_has_its_copies(gpu, rows, case):
    """One to the host, and one more on the device where the method clones first."""
    guards.is_conversion(case, rows[case], gpu.is_emulated)


@pytest.mark.timed
@pytest.mark.parametrize("case", BASELINES)
def test_a_baseline_is_one_copy(gpu, rows, case):
    """Of the same bytes, into existing memory."""
    guards.is_baseline(rows[case], gpu.is_emulated)
    if case == LATENCY_BASELINE:
        guards.is_waited_for(rows[case])


@pytest.mark.timed
@pytest.mark.parametrize("case", MEMORY)
def test_memory_is_counted_to_the_byte(rows, case):
    """Whatever was allocated and freed before; a method that numpy refuses is counted up to there."""
    assert guards.value(rows[case]) == MEMORY[case]


@pytest.mark.timed
def test_memory_is_that_of_the_tensors_device(gpu, rows):
    """Not of the current one."""
    if not gpu.is_emulated:
        pytest.skip("the number of real devices is not set here; the emulated one has two")
    guards.is_peak(rows[OTHER_DEVICE])


@pytest.mark.timed
def test_a_tensor_that_the_device_cannot_hold_is_skipped_by_name(gpu, rows):
    """2^28 elements are a gibibyte; the other cases are measured."""
    if not gpu.is_emulated:
        pytest.skip("the memory of a real device is not set here")
    guards.is_skipped_for_memory(rows[LARGEST])


@pytest.mark.timed
def test_every_statement_of_the_article_holds_on_the_device(gpu):
    """The provenance names the device."""
    probe = gpu.run("-m", "tensorcopy.worker.processes", "tensorcopy.worker.provenance", "--observe", CUDA_OPERATION_US=1)
    report = json.loads(probe.stdout.splitlines()[-1])
    assert report["article"]["cuda"]["statements"] > report["article"]["cpu"]["statements"]  # some only hold on a device
    assert report["article"]["cuda"]["fail"] == []
    if gpu.is_emulated:
        assert report["ledger"]["accelerators"]["cuda"] == "Emulated CUDA device 0"
