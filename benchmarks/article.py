"""The article's sizes, 2^0 to 2^14, that no other suite has: with these, both of its figures are whole.

Only the newest release of a machine is timed, beside the reference: see `newest` in suites.toml.
"""

from tensorcopy.copying.inside.methods import CONVERSIONS, COPIES
from tensorcopy.worker.devices import ACCELERATORS

from . import conversions, copies
from .cases import NUMELS, ON_DEVICE

SIZES = [2**k for k in range(15)]
BETWEEN = [numel for numel in SIZES if numel not in NUMELS]
BETWEEN_ON_DEVICE = [numel for numel in SIZES if numel not in ON_DEVICE]


class Copies(copies.BySize):
    """The sizes between those of `copies.BySize`."""

    params = [list(COPIES), BETWEEN]


class CopiesOnDevice(copies.Throughput):
    """The sizes between those of `copies.Throughput`."""

    params = [list(COPIES), BETWEEN_ON_DEVICE, list(ACCELERATORS)]


class Conversions(conversions.BySize):
    """The sizes between those of `conversions.BySize`."""

    params = [list(CONVERSIONS), BETWEEN]


class ConversionsOnDevice(conversions.Latency):
    """The sizes between those of `conversions.Latency`."""

    params = [list(CONVERSIONS), BETWEEN_ON_DEVICE, list(ACCELERATORS)]
