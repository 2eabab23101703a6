"""What a method allocates, in bytes: on the host, on a device, and on a device that is not there.

A process's size (RSS) is too blunt below a megabyte, so each allocator is asked by itself: torch's host allocator by its profiler, numpy's
by tracemalloc, a device's by its own statistics. Where there is no GPU, torch's dispatcher still knows what a GPU would have to hold:
tensors without storage pretend to lie there, and every new storage is counted.
"""

from __future__ import annotations

import tracemalloc
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from tensorcopy.worker import devices

COUNTED_SINCE = (2, 5)  # earlier torch looks for a driver before it pretends


@dataclass(frozen=True)
class Allocations:
    """What one call of a method asks an allocator for. The input was there before and is not part of it.

    nbytes : allocated in all, in bytes
    peak : the most that was held at once, in bytes
    count : how many allocations
    """

    nbytes: int
    peak: int
    count: int


def on_host(method: Callable[[Any], Any], x: Any) -> Allocations:
    """What `method(x)` allocates in the host's memory, also where it raises in the end because x lies on a device that numpy cannot read.

    torch's part is its profiler's, by operator: what an operator frees again by itself does not show. numpy's part is what is alive
    when the call returns. Warmed up by a call before.
    """
    _result(method, x)
    with torch.autograd.profiler.profile(profile_memory=True) as profiler:
        result = _result(method, x)
    changes = [int(event.self_cpu_memory_usage) for event in sorted(profiler.function_events, key=lambda event: event.time_range.end)]
    del result
    of_torch = _allocations(changes)
    of_numpy = _of_numpy(method, x)
    return Allocations(of_torch.nbytes + of_numpy.nbytes, of_torch.peak + of_numpy.peak, of_torch.count + of_numpy.count)


def on_device(method: Callable[[Any], Any], x: Any) -> Allocations:
    """What `method(x)` allocates on x's device, by that device's caching allocator: in its blocks of 512 bytes and more.

    Raises NotImplementedError for a device whose allocator keeps no statistics.
    """
    name = x.device.type
    module = getattr(torch, name)
    if not hasattr(module, "memory_stats"):
        raise NotImplementedError(f"{name}'s allocator keeps no statistics")
    _result(method, x)
    devices.wait(name)
    module.reset_peak_memory_stats()
    before = module.memory_stats()
    result = _result(method, x)
    devices.wait(name)
    after = module.memory_stats()
    del result
    return Allocations(
        after["allocated_bytes.all.allocated"] - before["allocated_bytes.all.allocated"],
        after["allocated_bytes.all.peak"] - before["allocated_bytes.all.current"],
        after["allocation.all.allocated"] - before["allocation.all.allocated"],
    )


def counted(method: Callable[[Any], Any], numel: int) -> Allocations:
    """What `method` would allocate on a CUDA device for `numel` float32: counted by torch's dispatcher, without a device.

    Raises NotImplementedError where this torch cannot pretend.
    """
    if tuple(int(part) for part in torch.__version__.split(".")[:2]) < COUNTED_SINCE:
        raise NotImplementedError("counting without a device works from torch {}.{} on".format(*COUNTED_SINCE))
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        x = torch.empty(numel, device="cuda")
        with _counter(x) as seen:
            try:
                _result(method, x)  # numpy() refuses tensors without storage; they have left the device by then
            except RuntimeError as error:
                raise NotImplementedError(str(error).split("\n")[0]) from error  # this operator looks for a driver
    return _allocations(seen.changes)


def _result(method: Callable[[Any], Any], x: Any) -> Any:
    """What the method returns, or None where no ndarray can be made of a tensor that lies elsewhere."""
    try:
        return method(x)
    except (TypeError, RuntimeError) as error:
        if "numpy" not in str(error):
            raise
        return None


def _allocations(changes: list[int]) -> Allocations:
    held, peak = 0, 0
    for change in changes:
        held += change
        peak = max(peak, held)
    grown = [change for change in changes if change > 0]
    return Allocations(sum(grown), peak, len(grown))


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
    """A dispatch mode that notes in `changes` every storage that comes on x's device, and when it is gone."""
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_flatten

    class Counter(TorchDispatchMode):  # type: ignore[misc]  # torch's classes are not looked into
        def __init__(self) -> None:
            super().__init__()
            self.changes: list[int] = []
            self._alive = {x.untyped_storage()._cdata}

        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = function(*args, **(kwargs or {}))
            for tensor in tree_flatten(result)[0]:
                if isinstance(tensor, torch.Tensor) and tensor.device.type == x.device.type:
                    self._note(tensor.untyped_storage())
            return result

        def _note(self, storage: Any) -> None:
            key, nbytes = storage._cdata, storage.nbytes()
            if key not in self._alive:
                self._alive.add(key)
                self.changes.append(nbytes)
                weakref.finalize(storage, self._gone, key, nbytes)

        def _gone(self, key: int, nbytes: int) -> None:
            self._alive.discard(key)
            self.changes.append(-nbytes)

    return Counter()
