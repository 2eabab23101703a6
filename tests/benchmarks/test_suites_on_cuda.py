"""The suites on a CUDA device: a real one, or the emulated one of tests/emulated_cuda, on which a copy takes a known time.

Only lower bounds, and upper ones of a few times as much, are asserted: another program can only add time.
"""

import re

import pytest

from tensorcopy.copying.inside.methods import CONVERSIONS, COPIES

NUMEL = 2**24  # 64 MiB: a real device takes longer for a copy than its host for the launch
# Seconds that a copy takes on the emulated device, what the host takes to ask for it, and until it learns of its end
OPERATION, LAUNCH, WAIT = 500e-6, 50e-6, 100e-6
SWITCHES = {"OPERATION_US": 500, "LAUNCH_US": 50, "WAIT_US": 100, "CARRIED_MB": 1, "CONTEXT_MS": 200}
ONCE = 0.05  # seconds: a context takes longer on any device
COPY = 4 * 2**20  # bytes of a copy of 2^20 elements
# copies that the device carries out
TRANSFERS = {"detach_numpy_copy": 1, "clone_detach_numpy": 2, "detach_clone_numpy": 2, "pinned_numpy": 1}

THROUGHPUT = {method: f"copies.Throughput.time_copy('{method}', {NUMEL}, 'cuda')" for method in COPIES}
LATENCY = {method: f"copies.Latency.time_copy('{method}', {NUMEL}, 'cuda')" for method in COPIES}
CONVERSION = {method: f"conversions.Latency.time_conversion('{method}', 1024, 'cuda')" for method in CONVERSIONS}
CONVERSION["pinned_numpy"] = "transfers.Latency.time_transfer('pinned_numpy', 1024, 'cuda')"
MEMORY = {
    f"memory.Device.track_peak('detach_clone', {2**20}, 'cuda')": COPY,
    f"memory.Device.track_allocations('detach_clone', {2**20}, 'cuda')": 1,
    f"memory.Device.track_peak('clone_detach_numpy', {2**20}, 'cuda')": COPY,
    f"memory.Device.track_peak('detach_numpy_copy', {2**20}, 'cuda')": 0,
    f"memory.Device.track_peak('pinned_numpy', {2**20}, 'cuda')": 0,
    f"memory.Pinned.track_peak('pinned_numpy', {2**20}, 'cuda')": COPY,
}


def assert_has_the_act(row, seconds):
    """Assert that a sample, also the first of a process, contains one copy: no context, and not only its launch."""
    assert "error" not in row, row
    for sample in (row["value"], row["first"]):
        assert seconds * 0.97 <= sample < 3 * seconds + ONCE, row
    assert row["value"] < 3 * seconds, row


@pytest.fixture(scope="session")  # timed tests run first, and so not beside the others of this module
def rows(gpu):
    """What the suites read, by case."""
    return gpu.readings([*THROUGHPUT.values(), *LATENCY.values(), *CONVERSION.values(), *MEMORY], **SWITCHES)


@pytest.mark.timed
@pytest.mark.parametrize("method", COPIES)
def test_throughput_has_every_copy_and_waits_once_for_a_window(gpu, rows, method):
    row = rows[THROUGHPUT[method]]
    assert_has_the_act(row, row["events"])
    if gpu.library:
        assert OPERATION * 0.97 <= row["value"] < OPERATION + 0.7 * (LAUNCH + WAIT)  # a window of four calls has one of each


@pytest.mark.timed
@pytest.mark.parametrize("method", COPIES)
def test_latency_waits_for_each_copy(gpu, rows, method):
    """A wait takes a microsecond or more on any device."""
    assert rows[LATENCY[method]]["value"] >= rows[THROUGHPUT[method]]["value"] + (WAIT / 2 if gpu.library else 1e-6)


@pytest.mark.timed
@pytest.mark.parametrize("method", CONVERSION)
def test_a_conversion_has_its_copies(gpu, rows, method):
    """One to the host, and one more on the device where the method clones first."""
    row = rows[CONVERSION[method]]
    assert_has_the_act(row, TRANSFERS[method] * OPERATION if gpu.library else 0.75 * row["events"])  # events enclose what the host does


@pytest.mark.timed
@pytest.mark.parametrize("case", MEMORY)
def test_memory_is_counted_to_the_byte(rows, case):
    """A method that numpy refuses is counted up to there."""
    assert rows[case] == {"value": MEMORY[case]}


@pytest.mark.slow
def test_a_lost_device_is_named_and_never_taken_for_an_absent_one(emulated_cuda):
    """One line, and exit code 2; in a case, the error that torch raises."""
    done = emulated_cuda.run("-m", "tensorcopy", "check", LOST_AFTER=0)
    assert done.returncode == 2, done.stdout + done.stderr
    assert re.fullmatch(
        r"tensorcopy: cuda is there and fails: got [^\n]*CUDA unknown error[^\n]*; allowed: cpu; next: [^\n]+\n", done.stderr
    )
    case = LATENCY["detach_clone"]
    assert "unspecified launch failure" in emulated_cuda.readings([case], **SWITCHES, LOST_AFTER=50)[case]["error"]
