"""Allocations of a method: bytes in total, the peak above the input, the number.

They are counted, so one pass is enough.
"""

from functools import cache

from tensorcopy.copying.inside.methods import METHODS, make_tensor, why_not
from tensorcopy.worker import allocations as allocation_probe
from tensorcopy.worker.devices import ACCELERATORS, DEVICES

from .cases import skip, skip_without

NUMELS = [2**20]  # 4 MiB of float32
ON_EVERY_DEVICE = [name for name, method in METHODS.items() if method.devices == DEVICES]
ON_ACCELERATORS_ONLY = [name for name in METHODS if name not in ON_EVERY_DEVICE]


@cache
def allocations(measure, method, numel, device):
    method = METHODS[method]
    if reason := why_not(method, device):
        skip(reason)
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
    params = [ON_EVERY_DEVICE, NUMELS, list(DEVICES)]


class Device(_Allocations):
    """Device memory, by the statistics of its caching allocator."""

    measure = staticmethod(allocation_probe.on_device)
    params = [list(METHODS), NUMELS, list(ACCELERATORS)]


class Pinned:
    """Pinned host memory, by the statistics of its caching allocator."""

    version = "1"
    params = [ON_ACCELERATORS_ONLY, NUMELS, ["cuda"]]
    param_names = ["method", "numel", "device"]

    def track_peak(self, method, numel, device):
        return allocations(allocation_probe.pinned, method, numel, device).peak

    track_peak.unit = "bytes"


class Counted:
    """CUDA memory that the code requests, counted by torch's dispatcher.

    It needs no device. It is counted for all methods at once, because importing the counter takes seconds.
    """

    version = "1"
    params = [ON_EVERY_DEVICE, NUMELS]
    param_names = ["method", "numel"]

    def setup_cache(self):
        return {(name, numel): _peak(METHODS[name], numel) for name in ON_EVERY_DEVICE for numel in NUMELS}

    def track_peak(self, peaks, method, numel):
        peak = peaks[method, numel]
        if isinstance(peak, Exception):
            raise peak  # of this method: the others are counted
        return skip(peak) if isinstance(peak, str) else peak

    track_peak.unit = "bytes"


def _peak(method, numel):
    """Return the peak in bytes, the reason for skipping, or what the method raises."""
    if reason := why_not(method, "cuda"):
        return reason
    try:
        return allocation_probe.counted(method.on["cuda"], numel).peak
    except NotImplementedError as reason:
        return str(reason)
    except Exception as error:
        return RuntimeError(f"{type(error).__name__}: {error}")  # a type that can be pickled for the other processes
