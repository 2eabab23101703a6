"""Count the bytes a method allocates: on the host, on a device, on a fake device.

The size of a process (RSS) is too coarse below a megabyte, so each allocator is read separately: torch's host allocator through its
profiler, numpy's through tracemalloc, a device's through its own statistics. Without a GPU, torch's dispatcher shows what a GPU would
allocate: FakeTensorMode runs the method on tensors without data, and every new storage is counted.
"""

from __future__ import annotations

import os
import tracemalloc
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from tensorcopy.worker import devices

# in what numpy raises for a device's memory, in .numpy() and in np.from_dlpack, which may also raise BufferError
NUMPY_REFUSES = ("numpy", "Unsupported device in DLTensor")
BYTES, COUNT = "allocated_bytes.all.allocated", "allocation.all.allocated"  # of memory_stats
UNCACHED = "PYTORCH_NO_CUDA_MEMORY_CACHING"
COUNTED_SINCE = (2, 5)  # earlier torch looks for a driver, even for fake tensors


@dataclass(frozen=True)
class Allocations:
    """The allocations of one call of a method, without its input."""

    nbytes: int  # allocated in total
    peak: int  # bytes held at once, at most
    count: int | None  # number of allocations; None for an allocator that does not count them


def on_host(method: Callable[[Any], Any], x: Any) -> Allocations:
    """Return the allocations of `method(x)` in host memory.

    torch's profiler reports the net change per operator: memory that an operator allocates and frees again is not counted. For numpy, the
    memory still allocated when the call returns is counted. Where the method raises because numpy cannot read a tensor on x's device, the
    allocations up to then are counted. The method is called once before, to warm up.
    """
    _result(method, x)
    with torch.autograd.profiler.profile(profile_memory=True) as profiler:
        result = _result(method, x)
    changes = [int(event.self_cpu_memory_usage) for event in sorted(profiler.function_events, key=lambda event: event.time_range.end)]
    del result
    of_torch = _allocations(changes)
    of_numpy = _of_numpy(method, x)
    return Allocations(of_torch.nbytes + of_numpy.nbytes, of_torch.peak + of_numpy.peak, (of_torch.count or 0) + (of_numpy.count or 0))


def on_device(method: Callable[[Any], Any], x: Any) -> Allocations:
    """Return the allocations of `method(x)` on x's device, by its caching allocator.

    Sizes are rounded up to the allocator's blocks of at least 512 bytes.

    Raises NotImplementedError for a device whose allocator keeps no statistics, or is switched off.
    """
    name = x.device.type
    module = getattr(torch, name)
    if not hasattr(module, "memory_stats"):
        raise NotImplementedError(f"{name}'s allocator keeps no statistics")
    if name == "cuda" and os.environ.get(UNCACHED):
        raise NotImplementedError(f"{UNCACHED} is set, so that CUDA's allocator keeps no statistics")
    _result(method, x)
    devices.wait(name)
    module.reset_peak_memory_stats(x.device)  # which need not be the current one
    before = module.memory_stats(x.device)
    result = _result(method, x)
    devices.wait(name)
    after = module.memory_stats(x.device)
    del result
    return between(before, after)


def pinned(method: Callable[[Any], Any], x: Any) -> Allocations:
    """Return the allocations of `method(x)` in pinned host memory, by its caching allocator, which rounds sizes up to powers of two.

    Raises NotImplementedError where torch keeps no statistics of it.
    """
    if not hasattr(torch.cuda, "host_memory_stats"):
        raise NotImplementedError("torch counts pinned memory from 2.7 on")
    _result(method, x)
    devices.wait("cuda")
    torch.empty(1, pin_memory=True)  # what the call has left is counted as in use until the allocator is asked again
    torch.cuda.reset_peak_host_memory_stats()
    before = torch.cuda.host_memory_stats()
    result = _result(method, x)
    after = torch.cuda.host_memory_stats()
    del result
    used = "active_bytes" if "active_bytes.peak" in after else "allocated_bytes"  # in tensors; earlier releases have the other name
    return Allocations(after[f"{used}.allocated"] - before[f"{used}.allocated"], after[f"{used}.peak"] - before[f"{used}.current"], None)


def between(before: Mapping[str, int], after: Mapping[str, int]) -> Allocations:
    """Return the allocations between two readings of `memory_stats`; XPU's has no "allocation" keys: it counts bytes alone."""
    count = after[COUNT] - before[COUNT] if COUNT in after else None
    return Allocations(after[BYTES] - before[BYTES], after["allocated_bytes.all.peak"] - before["allocated_bytes.all.current"], count)


def counted(method: Callable[[Any], Any], numel: int) -> Allocations:
    """Return what `method` would allocate on a CUDA device for `numel` float32, by fake tensors. Raises NotImplementedError."""
    if tuple(int(part) for part in torch.__version__.split(".")[:2]) < COUNTED_SINCE:
        raise NotImplementedError("counting without a device works from torch {}.{} on".format(*COUNTED_SINCE))
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        x = torch.empty(numel, device="cuda")
        with _counter(x) as counter:
            try:
                _result(method, x)  # numpy() rejects fake tensors, after the device's allocations
            except RuntimeError as error:
                raise NotImplementedError(str(error).split("\n")[0]) from error  # this operator looks for a driver
    return _allocations(counter.changes)


def _result(method: Callable[[Any], Any], x: Any) -> Any:
    """Return the method's result; None where numpy cannot read x's device."""
    try:
        return method(x)
    except BufferError:
        return None
    except (TypeError, RuntimeError) as error:
        if not any(text in str(error) for text in NUMPY_REFUSES):
            raise
        return None


def _allocations(changes: list[int]) -> Allocations:
    held, peak = 0, 0
    for change in changes:
        held += change
        peak = max(peak, held)
    allocated = [change for change in changes if change > 0]
    return Allocations(sum(allocated), peak, len(allocated))


def _of_numpy(method: Callable[[Any], Any], x: Any) -> Allocations:
    tracemalloc.start()
    try:
        result = _result(method, x)
        traces = tracemalloc.take_snapshot().filter_traces([tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)]).traces
        del result
    finally:
        tracemalloc.stop()
    nbytes = sum(trace.size for trace in traces)
    return Allocations(nbytes, nbytes, len(traces))


def _counter(x: Any) -> Any:
    """Return a dispatch mode whose `changes` are the bytes of storages on x's device, negative when one is freed."""
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_flatten

    class Counter(TorchDispatchMode):  # type: ignore[misc]  # mypy skips torch
        def __init__(self) -> None:
            super().__init__()
            self.changes: list[int] = []
            self._alive = {x.untyped_storage()._cdata}

        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = function(*args, **(kwargs or {}))
            for tensor in tree_flatten(result)[0]:
                if isinstance(tensor, torch.Tensor) and tensor.device.type == x.device.type:
                    self._record(tensor.untyped_storage())
            return result

        def _record(self, storage: Any) -> None:
            key, nbytes = storage._cdata, storage.nbytes()
            if key not in self._alive:
                self._alive.add(key)
                self.changes.append(nbytes)
                weakref.finalize(storage, self._free, key, nbytes)

        def _free(self, key: int, nbytes: int) -> None:
            self._alive.discard(key)
            self.changes.append(-nbytes)

    return Counter()
