"""Allocations of a method: bytes in total, the peak above the input, the number.

They are counted, so one pass is enough.
"""

from functools import cache

from tensorcopy.copying.inside.methods import METHODS, exists, make_tensor
from tensorcopy.worker import allocations as allocation_probe
from tensorcopy.worker.devices import ACCELERATORS, DEVICES

from .cases import skip, skip_without

NUMELS = [2**20]  # 4 MiB of float32


@cache
def allocations(measure, method, numel, device):
    method = METHODS[method]
    if not exists(method):
        skip(f"{method.code} exists from torch {method.since} on")
    skip_without(device)
    try:
        return measure(method.on[device], make_tensor(numel, device))
    except NotImplementedError as reason:
        return skip(str(reason))


class _Allocations:
    """The measurements of both kinds of memory."""

    version = "1"
    param_names = ["method", "numel", "device"]

    def track_allocated(self, method, numel, device):
        return allocations(self.measure, method, numel, device).nbytes

    def track_peak(self, method, numel, device):
        return allocations(self.measure, method, numel, device).peak

    def track_allocations(self, method, numel, device):
        count = allocations(self.measure, method, numel, device).count
        return skip(f"{device}'s allocator does not count allocations") if count is None else count

    track_allocated.unit = track_peak.unit = "bytes"
    track_allocations.unit = "allocations"


class Host(_Allocations):
    """Host memory, by torch's and numpy's allocators, for tensors on any device."""

    measure = staticmethod(allocation_probe.on_host)
    params = [list(METHODS), NUMELS, list(DEVICES)]


class Device(_Allocations):
    """Device memory, by the statistics of its caching allocator."""

    measure = staticmethod(allocation_probe.on_device)
    params = [list(METHODS), NUMELS, list(ACCELERATORS)]


class Counted:
    """CUDA memory that the code requests, counted by torch's dispatcher.

    It needs no device. It is counted for all methods at once, because importing the counter takes seconds.
    """

    version = "1"
    params = [list(METHODS), NUMELS]
    param_names = ["method", "numel"]

    def setup_cache(self):
        return {(name, numel): _peak(method, numel) for name, method in METHODS.items() for numel in NUMELS}

    def track_peak(self, peaks, method, numel):
        peak = peaks[method, numel]
        if isinstance(peak, Exception):
            raise peak  # of this method: the others are counted
        return skip(peak) if isinstance(peak, str) else peak

    track_peak.unit = "bytes"


def _peak(method, numel):
    """Return the peak in bytes, the reason for skipping, or what the method raises."""
    if not exists(method):
        return f"{method.code} exists from torch {method.since} on"
    try:
        return allocation_probe.counted(method.on["cuda"], numel).peak
    except NotImplementedError as reason:
        return str(reason)
    except Exception as error:
        return RuntimeError(f"{type(error).__name__}: {error}")  # a type that can be pickled for the other processes
