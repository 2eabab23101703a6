"""The loop that is timed: a clock per act, the tensor that was asked for, and reasons for what is left out."""

from __future__ import annotations

import sys

import pytest
import torch

from tests.conftest import ROOT

sys.path.insert(0, str(ROOT))
from asv_runner.benchmarks.mark import SkipNotImplemented

from benchmarks import cases
from tensorcopy.methods import ALTERNATIVES, COPIES


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    cases.case.cache_clear()
    monkeypatch.setattr(cases, "_loop", {"acts": 1, "device": "cpu"})
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


def test_the_clock_counts_per_act(monkeypatch):
    """A loop of acts that takes their number in milliseconds reads one millisecond."""
    now = [0.0]
    monkeypatch.setattr(cases, "perf_counter", lambda: now[0])

    def act(x):
        now[0] += 0.001

    run = cases.loop(act, None)
    before = cases.clock()
    run()
    assert cases.clock() - before == pytest.approx(0.001)
    assert cases._loop["acts"] * 0.001 >= cases.LOOP_SECONDS


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


def test_an_absent_release_is_skipped_with_the_plugins_reason(monkeypatch):
    """asv asks every Python for every release."""
    monkeypatch.setenv("TENSORCOPY_ABSENT", "torch 1.9.1 has wheels for Python 3.7 to 3.9")
    with pytest.raises(SkipNotImplemented, match=r"3.7 to 3.9"):
        cases.case(COPIES["clone_detach"], 16)
    with pytest.raises(SkipNotImplemented):
        cases.loop(len, "")
