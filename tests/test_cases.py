"""The loop that is timed: seconds per call, tensors, and reasons for skipping."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
import torch

from tests.conftest import ROOT

sys.path.insert(0, str(ROOT))
from asv_runner.benchmarks.mark import SkipNotImplemented
from asv_runner.discovery import disc_benchmarks

from benchmarks import cases
from tensorcopy.results import files
from tensorcopy.worker.methods import ALTERNATIVES, COPIES, DTYPES, make_tensor


@pytest.fixture(autouse=True)
def clean_state(monkeypatch):
    cases.case.cache_clear()
    cases._watch.cache_clear()
    monkeypatch.setattr(cases, "_spent", [0.0])
    monkeypatch.delenv("TENSORCOPY_JOURNAL", raising=False)
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)
    cases._watch.cache_clear()


@pytest.fixture
def now(monkeypatch):
    """A wall clock that advances only when the timed code advances it."""
    moment = [0.0]
    monkeypatch.setattr(cases, "perf_counter", lambda: moment[0])
    return moment


def test_a_sample_is_seconds_per_call(now):
    """Code of a millisecond gives a millisecond, whatever the number of calls."""
    calls = []

    def function(x):
        calls.append(x)
        now[0] += 0.001

    sample = cases.Loop("function(x)", lambda: {"function": function, "x": "x"})
    calls.clear()
    assert sample() == pytest.approx(0.001)
    assert len(calls) * 0.001 >= cases.LOOP_SECONDS


def test_a_device_is_used_until_its_clocks_are_up(now, monkeypatch):
    """An idle GPU becomes faster for some milliseconds; later parts of ten are not faster than earlier ones."""
    monkeypatch.setattr(cases, "monotonic", lambda: now[0])
    monkeypatch.setattr(cases.devices, "waiter", lambda device: float)
    seconds = [0.004]

    def function():
        now[0] += seconds[0]
        seconds[0] = max(0.001, seconds[0] * 0.98)

    cases.Loop("function()", lambda: {"function": function}, device="cuda")
    assert seconds[0] == 0.001


def test_waiting_for_clocks_ends(now, monkeypatch):
    """Also where every part is faster than the last."""
    monkeypatch.setattr(cases, "monotonic", lambda: now[0])
    seconds = [0.01]

    def function():
        now[0] += seconds[0]
        seconds[0] *= 0.999

    loop = cases.Loop("function()", lambda: {"function": function})
    seconds[0] = 0.01
    start = now[0]
    monkeypatch.setattr(cases, "STEADY", 2.0)
    loop._wait_for_clocks()
    assert now[0] - start == pytest.approx(cases.CLOCKS_SECONDS, abs=0.02)


@pytest.mark.parametrize(("device", "nbytes"), [("cuda", 2**31), ("xpu", 2**31), ("mps", 2**31), ("mps", None), ("cpu", None)])
def test_a_tensor_that_the_device_cannot_hold_is_skipped(monkeypatch, device, nbytes):
    """Of any accelerator that reports its memory."""
    properties = SimpleNamespace(total_memory=nbytes)
    module = SimpleNamespace(get_device_properties=lambda index: properties)
    if nbytes is not None and device == "mps":
        module.recommended_max_memory = lambda: nbytes
    monkeypatch.setattr(torch, device, module, raising=False)
    cases.skip_without_memory(2**24, device)
    if nbytes is None:
        cases.skip_without_memory(2**28, device)
    else:
        with pytest.raises(SkipNotImplemented, match=r"4 tensors of 1 GiB, and the device has 2\.0 GiB"):
            cases.skip_without_memory(2**28, device)


def test_making_a_case_takes_no_time_on_the_clock(now):
    """Neither does calibration: `asv run --quick` uses the first call as its sample."""

    def body():
        now[0] += 3.0  # a CUDA context
        suite.time(cases.Loop("function()", lambda: {"function": lambda: now.__setitem__(0, now[0] + 1e-6)}))

    suite = cases.Suite()
    before = cases.clock()
    body()
    assert cases.clock() - before == pytest.approx(1e-6)


def test_a_suspended_process_does_not_get_a_short_loop(now):
    """A suspension during calibration does not make the loop too short."""
    calls = []

    def function():
        calls.append(None)
        now[0] += 1.0 if len(calls) == cases.FIRST + 1 else 1e-6

    sample = cases.Loop("function()", lambda: {"function": function})
    calls.clear()
    sample()
    assert len(calls) * 1e-6 >= cases.LOOP_SECONDS


def test_the_cost_of_the_first_calls_is_not_in_the_sample(now):
    """Slow first calls do not calibrate the loop.

    In asv's processes the first copies of 4 MiB cause page faults, and take twenty times as long. They occur again after a new tensor was
    made.
    """
    slow_calls = [0]

    def place():
        slow_calls[0] += 2
        return {"function": function}

    def function():
        now[0] += 2e-3 if slow_calls[0] > 0 else 1e-4
        slow_calls[0] -= 1

    slow_calls[0] = 5
    sample = cases.Loop("function()", place)
    assert sample._calls * 1e-4 >= cases.STRETCH_SECONDS
    for _ in range(3):
        sample.move()
        assert slow_calls[0] <= 0
        slow_calls[0] = 0
        assert sample() == pytest.approx(1e-4)


@pytest.mark.parametrize("each", [False, True], ids=["throughput", "latency"])
def test_a_device_is_waited_for_around_the_loop_or_after_each_call(monkeypatch, each):
    """Throughput waits twice a sample; latency also waits after each call."""
    waits, calls = [], []
    monkeypatch.setattr(cases.devices, "waiter", lambda device: lambda: waits.append(device))
    sample = cases.Loop("function()", lambda: {"function": lambda: calls.append(None)}, device="cuda", each_waited_for=each)
    waits.clear()
    calls.clear()
    sample()
    assert len(calls) > 100
    assert waits == ["cuda"] * (2 + (len(calls) if each else 0))


@pytest.mark.parametrize(
    ("layout", "contiguous", "dense"),
    [("contiguous", True, True), ("transposed", False, True), ("strided", False, False), ("channels_last", False, True)],
)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_tensor_has_the_requested_layout_dtype_and_size(layout, contiguous, dense, dtype):
    """In every combination."""
    x = make_tensor(2**12, dtype=dtype, layout=layout)
    assert x.numel() == 2**12
    assert x.dtype == getattr(torch, dtype)
    assert x.is_contiguous() is contiguous
    assert (sum((n - 1) * s for n, s in zip(x.shape, x.stride())) == x.numel() - 1) is dense


def test_the_shipped_results_have_the_suites_versions():
    """`tensorcopy measure` counts the passes of a suite's current version only."""
    shipped = files.suites(ROOT / "results")
    versions = {benchmark.name: benchmark.version for benchmark in disc_benchmarks(str(ROOT / "benchmarks"))}
    assert {suite: shipped[suite]["version"] for suite in versions} == versions


def test_a_moved_case_has_another_address(now):
    """The old tensor is kept alive, so that the allocator cannot reuse its address."""
    sample = cases.Loop("advance()", lambda: {"x": torch.ones(2**10), "advance": lambda: now.__setitem__(0, now[0] + 1e-5)})
    pointers = {sample.names["x"].data_ptr()}
    for _ in range(5):
        sample.move()
        pointers.add(sample.names["x"].data_ptr())
    assert len(pointers) == 6


def test_a_burst_in_some_parts_of_a_sample_has_no_effect(now):
    """If it affects fewer than half of the parts."""
    calls = []
    undisturbed = cases.STRETCH_SECONDS

    def function():
        now[0] += undisturbed * (5 if len(calls) % 10 in (2, 3, 6, 7) else 1)
        calls.append(None)

    sample = cases.Loop("function()", lambda: {"function": function})
    assert sample() == pytest.approx(undisturbed)


@pytest.mark.parametrize(
    ("method", "arguments", "variables", "version", "reason"),
    [
        (COPIES["clone_detach"], {"device": "xpu"}, {}, "", "no xpu here"),
        (COPIES["clone_detach"], {"threads": 4096}, {}, "", "4096 threads on "),
        (ALTERNATIVES["asarray_copy"], {}, {}, "1.9.0", r"torch.asarray\(x, copy=True\) exists from torch 1.11.0 on"),
        (COPIES["clone_detach"], {}, {"TENSORCOPY_ABSENT": "it has wheels for Python 3.7 to 3.9"}, "", "3.7 to 3.9"),
    ],
    ids=["device", "threads", "a later method", "no wheel for this Python"],
)
def test_a_case_that_cannot_run_is_skipped_with_a_reason(monkeypatch, method, arguments, variables, version, reason):
    """asv records it as not applicable. It requests every release on every Python: then the reason is the plugin's."""
    if arguments.get("device") and torch.xpu.is_available():
        pytest.skip("there is an xpu")
    monkeypatch.setattr(torch, "__version__", version or torch.__version__)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SkipNotImplemented, match=reason):
        cases.case(method, 16, **arguments)


@pytest.mark.parametrize(("share", "slowed", "expected"), [("0.05", True, 1.05), ("0.1", True, 1.1), ("0.1", False, 1.0)])
@pytest.mark.parametrize("seconds", [1e-6, 1e-4, 3e-3])
def test_an_injected_slowdown_has_the_given_size(now, monkeypatch, share, slowed, expected, seconds):
    """The loop makes that share of calls in addition to those it counts; baselines measure the machine alone."""
    monkeypatch.setenv(cases.EXTRA, share)
    sample = cases.Loop("function()", lambda: {"function": lambda: now.__setitem__(0, now[0] + seconds)}, slowed=slowed)
    assert sample() == pytest.approx(seconds * expected)
