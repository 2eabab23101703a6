"""The loop that is timed: a clock per act, the tensor that was asked for, and reasons for what is left out."""

from __future__ import annotations

import sys

import pytest
import torch

from tests.conftest import ROOT

sys.path.insert(0, str(ROOT))
from asv_runner.benchmarks.mark import SkipNotImplemented
from asv_runner.discovery import disc_benchmarks

from benchmarks import cases
from tensorcopy.results import files
from tensorcopy.worker.registry.methods import ALTERNATIVES, COPIES


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
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
    """A wall clock that only acts move."""
    moment = [0.0]
    monkeypatch.setattr(cases, "perf_counter", lambda: moment[0])
    return moment


def test_a_sample_is_seconds_per_act(now):
    """Acts of a millisecond read a millisecond, however many make a loop."""
    acts = []

    def act(x):
        acts.append(x)
        now[0] += 0.001

    sample = cases.Loop("act(x)", lambda: {"act": act, "x": "x"})
    acts.clear()
    assert sample() == pytest.approx(0.001)
    assert len(acts) * 0.001 >= cases.LOOP_SECONDS


def test_making_a_case_takes_no_time_on_the_clock(now):
    """Nor what calibrates its loop: `asv run --quick` takes the very first call for its sample."""

    def body():
        now[0] += 3.0  # a CUDA context
        suite.time(cases.Loop("act()", lambda: {"act": lambda: now.__setitem__(0, now[0] + 1e-6)}))

    suite = cases.Suite()
    before = cases.clock()
    body()
    assert cases.clock() - before == pytest.approx(1e-6)


def test_a_moment_aside_does_not_make_a_short_loop(now):
    """The first loop seems long because the process was put aside; the loop becomes as long as it must all the same."""
    acts = []

    def act():
        acts.append(None)
        now[0] += 1.0 if len(acts) == cases.FIRST + 1 else 1e-6

    sample = cases.Loop("act()", lambda: {"act": act})
    acts.clear()
    sample()
    assert len(acts) * 1e-6 >= cases.LOOP_SECONDS


def test_what_only_the_first_acts_cost_is_not_in_the_sample(now):
    """In a process of asv's the first copies of 4 MiB find pages the kernel has yet to give, one place after the other: each then takes
    twenty times as long. The loop must not be calibrated by them; and where a tensor was made anew, the same begins once more.
    """
    left = [0]

    def place():
        left[0] += 2
        return {"act": act}

    def act():
        now[0] += 2e-3 if left[0] > 0 else 1e-4
        left[0] -= 1

    left[0] = 5
    sample = cases.Loop("act()", place)
    assert sample._acts * 1e-4 >= cases.STRETCH_SECONDS
    for _ in range(3):
        sample.move()
        assert left[0] <= 0
        left[0] = 0
        assert sample() == pytest.approx(1e-4)


@pytest.mark.parametrize("each", [False, True], ids=["throughput", "latency"])
def test_a_device_is_waited_for_around_the_loop_or_after_each_act(monkeypatch, each):
    """Throughput has two waits a sample, latency one an act besides."""
    waited, acts = [], []
    monkeypatch.setattr(cases.devices, "waiter", lambda device: lambda: waited.append(device))
    sample = cases.Loop("act()", lambda: {"act": lambda: acts.append(None)}, device="cuda", each_waited_for=each)
    waited.clear()
    acts.clear()
    sample()
    assert len(acts) > 100
    assert waited == ["cuda"] * (2 + (len(acts) if each else 0))


@pytest.mark.parametrize(
    ("layout", "contiguous", "dense"),
    [("contiguous", True, True), ("transposed", False, True), ("strided", False, False), ("channels_last", False, True)],
)
@pytest.mark.parametrize("dtype", cases.DTYPES)
def test_a_tensor_is_what_was_asked_for(layout, contiguous, dense, dtype):
    """Layout, dtype and number of elements, in every combination."""
    x = cases.tensor(2**12, dtype=dtype, layout=layout)
    assert x.numel() == 2**12
    assert x.dtype == getattr(torch, dtype)
    assert x.is_contiguous() is contiguous
    assert (sum((n - 1) * s for n, s in zip(x.shape, x.stride())) == x.numel() - 1) is dense


def test_a_case_runs_on_one_thread_unless_asked():
    """Threads are fixed when the case is made, not when the suites are imported."""
    torch.set_num_threads(2)
    cases.case(COPIES["clone_detach"], 16)
    assert torch.get_num_threads() == 1


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"device": "xpu"}, "no xpu here"),
        ({"threads": 4096}, "4096 threads on "),
    ],
)
def test_what_cannot_run_is_skipped_by_name(arguments, reason):
    """asv records it as not applicable, with the reason."""
    if arguments.get("device") and torch.xpu.is_available():
        pytest.skip("there is an xpu")
    with pytest.raises(SkipNotImplemented, match=reason):
        cases.case(COPIES["clone_detach"], 16, **arguments)


def test_a_method_of_a_later_torch_is_skipped(monkeypatch):
    """By the release it exists from."""
    monkeypatch.setattr(torch, "__version__", "1.9.0")
    with pytest.raises(SkipNotImplemented, match=r"torch.asarray\(x, copy=True\) exists from torch 1.11.0 on"):
        cases.case(ALTERNATIVES["asarray_copy"], 16)


def test_the_shipped_results_know_the_suites_versions():
    """`tensorcopy measure` counts passes by them: raise both, and it measures anew."""
    known = files.suites(ROOT / "results")
    found = {benchmark.name: benchmark.version for benchmark in disc_benchmarks(str(ROOT / "benchmarks"))}
    assert {suite: known[suite]["version"] for suite in found} == found


def test_a_moved_case_lies_elsewhere(now):
    """Where it lay is kept, so that the allocator cannot give the same place again."""
    sample = cases.Loop("advance()", lambda: {"x": torch.ones(2**10), "advance": lambda: now.__setitem__(0, now[0] + 1e-5)})
    paths = {sample.names["x"].data_ptr()}
    for _ in range(5):
        sample.move()
        paths.add(sample.names["x"].data_ptr())
    assert len(paths) == 6


def test_a_burst_in_some_stretches_is_not_in_the_sample(now):
    """As long as it is in fewer than half of them."""
    stretches = []

    def act():
        now[0] += burst_free * (5 if len(stretches) % 10 in (2, 3, 6, 7) else 1)
        stretches.append(None)

    burst_free = cases.STRETCH_SECONDS
    sample = cases.Loop("act()", lambda: {"act": act})
    assert sample() == pytest.approx(burst_free)


@pytest.mark.parametrize("share", ["0.05", "0.1"])
@pytest.mark.parametrize("seconds", [1e-6, 1e-4, 3e-3])
def test_a_known_slowdown_is_what_it_is_said_to_be(now, monkeypatch, share, seconds):
    """The act is done so much more often than is counted."""
    monkeypatch.setenv(cases.EXTRA, share)
    sample = cases.Loop("act()", lambda: {"act": lambda: now.__setitem__(0, now[0] + seconds)})
    assert sample() == pytest.approx(seconds * (1 + float(share)))


def test_a_floor_is_not_slowed_down(now, monkeypatch):
    """A known slowdown stands for torch's, and a floor is not torch's: it must tell of the machine alone."""
    monkeypatch.setenv(cases.EXTRA, "0.1")
    sample = cases.Loop("act()", lambda: {"act": lambda: now.__setitem__(0, now[0] + 1e-6)}, slowed=False)
    assert sample() == pytest.approx(1e-6)


def test_an_absent_release_is_skipped_with_the_plugins_reason(monkeypatch):
    """asv asks every Python for every release."""
    monkeypatch.setenv("TENSORCOPY_ABSENT", "torch 1.9.1 has wheels for Python 3.7 to 3.9")
    with pytest.raises(SkipNotImplemented, match=r"3.7 to 3.9"):
        cases.case(COPIES["clone_detach"], 16)
    with pytest.raises(SkipNotImplemented):
        cases.Loop("len(x)", lambda: {"x": ""})
