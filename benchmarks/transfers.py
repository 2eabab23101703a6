"""Conversions to an ndarray that make no copy beside the transfer to the host."""

from tensorcopy.copying.inside.methods import METHODS
from tensorcopy.worker.devices import ACCELERATORS

from .cases import ON_DEVICE, Suite, case


class Latency(Suite):
    """The transfer waits for the device, so throughput and latency are the same.

    On the CPU these are no transfers: two share memory, and the third is in `alternatives`. The time of `pinned_numpy` has the allocation
    of pinned memory, and its wait. torch keeps such memory for later tensors: only the first calls of a size, which are not timed, ask
    the driver for it.
    """

    params = [["detach_cpu_numpy", "detach_to_cpu_copy_numpy", "numpy_force", "pinned_numpy"], ON_DEVICE, list(ACCELERATORS)]
    param_names = ["method", "numel", "device"]

    def time_transfer(self, method, numel, device):
        self.time(case(METHODS[method], numel, device=device))
