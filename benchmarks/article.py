"""The article's sizes, 2^0 to 2^14, that no other suite has: with these, both of its figures are whole.

Only the newest release of a machine is timed, beside the reference: see `newest` in suites.toml.
"""

from tensorcopy.copying.inside.methods import CONVERSIONS, COPIES
from tensorcopy.worker.devices import ACCELERATORS

from .cases import NUMELS, ON_DEVICE, Suite, case

SIZES = [2**k for k in range(15)]
BETWEEN = [numel for numel in SIZES if numel not in NUMELS]
BETWEEN_ON_DEVICE = [numel for numel in SIZES if numel not in ON_DEVICE]


class Copies(Suite):
    """The sizes between those of `copies.BySize`."""

    params = [list(COPIES), BETWEEN]
    param_names = ["method", "numel"]

    def time_copy(self, method, numel):
        self.time(case(COPIES[method], numel))


class CopiesOnDevice(Suite):
    """The sizes between those of `copies.Throughput`."""

    params = [list(COPIES), BETWEEN_ON_DEVICE, list(ACCELERATORS)]
    param_names = ["method", "numel", "device"]

    def time_copy(self, method, numel, device):
        self.time(case(COPIES[method], numel, device=device))


class Conversions(Suite):
    """The sizes between those of `conversions.BySize`."""

    params = [list(CONVERSIONS), BETWEEN]
    param_names = ["method", "numel"]

    def time_conversion(self, method, numel):
        self.time(case(CONVERSIONS[method], numel))


class ConversionsOnDevice(Suite):
    """The sizes between those of `conversions.Latency`."""

    params = [list(CONVERSIONS), BETWEEN_ON_DEVICE, list(ACCELERATORS)]
    param_names = ["method", "numel", "device"]

    def time_conversion(self, method, numel, device):
        self.time(case(CONVERSIONS[method], numel, device=device))
