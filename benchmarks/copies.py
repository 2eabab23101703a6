"""Ways to copy a tensor, by size, graph, layout, dtype and device: the parameters, besides the method, are those of `case`."""

from tensorcopy.copying import LAYOUTS
from tensorcopy.copying.inside.methods import COPIES, DTYPES, METHODS
from tensorcopy.worker.devices import ACCELERATORS

from .cases import NUMELS, ON_DEVICE, Suite, case

BY_SIZE = [*COPIES, "clone"]  # which is recommended where the graph is kept


class BySize(Suite):
    """Dispatch dominates up to 2^14 elements, memory at 2^20, page faults at 2^24."""

    params = [BY_SIZE, NUMELS]
    param_names = ["method", "numel"]

    def time_copy(self, method, *tensor):
        self.time(case(METHODS[method], **dict(zip(self.param_names[1:], tensor))))


class ByGrad(BySize):
    """`clone()` and `empty_like().copy_()` stay in the graph, which costs time.

    BySize has the same cases without grad.
    """

    params = [BY_SIZE, NUMELS, [True]]
    param_names = ["method", "numel", "requires_grad"]


class ByLayout(BySize):
    """Dense tensors are copied in memory order; a strided one is gathered."""

    params = [list(COPIES), [2**14, 2**17], list(LAYOUTS)]
    param_names = ["method", "numel", "layout"]


class ByDtype(BySize):
    """The time depends on the number of bytes, not on their meaning."""

    params = [list(COPIES), [2**17], list(DTYPES)]
    param_names = ["method", "numel", "dtype"]


class Throughput(BySize):
    """Many copies in a row, with one wait for the device before and one after.

    The CPU, which has no queue, is in BySize.
    """

    params = [list(COPIES), ON_DEVICE, list(ACCELERATORS)]
    param_names = ["method", "numel", "device"]


class Latency(Throughput):
    """One copy at a time: the device is waited for after each.

    Every time contains a wait, whose own is `floors.WaitAlone`.
    """

    def time_copy(self, method, numel, device):
        self.time(case(COPIES[method], numel, device=device, each_waited_for=True))
