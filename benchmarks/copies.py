"""Five ways of copying a tensor: what each costs, and where size, graph, layout, dtype and device make the difference."""

from tensorcopy.devices import DEVICES
from tensorcopy.methods import COPIES

from .cases import DTYPES, LAYOUTS, NUMELS, Suite, case


class BySize(Suite):
    """Up to 2^14 elements the dispatcher decides, at 2^20 the memory, at 2^24 the page faults."""

    params = [list(COPIES), NUMELS]
    param_names = ["method", "numel"]

    def time_copy(self, method, numel):
        case(COPIES[method], numel)()


class ByGrad(Suite):
    """`empty_like().copy_()` stays in the graph and pays for it."""

    params = [list(COPIES), [2**4, 2**17], [False, True]]
    param_names = ["method", "numel", "requires_grad"]

    def time_copy(self, method, numel, requires_grad):
        case(COPIES[method], numel, requires_grad=requires_grad)()


class ByLayout(Suite):
    """Dense tensors are copied as they lie; a strided one is gathered."""

    params = [list(COPIES), [2**17], LAYOUTS]
    param_names = ["method", "numel", "layout"]

    def time_copy(self, method, numel, layout):
        case(COPIES[method], numel, layout=layout)()


class ByDtype(Suite):
    """The bytes decide, not their meaning."""

    params = [list(COPIES), [2**17], DTYPES]
    param_names = ["method", "numel", "dtype"]

    def time_copy(self, method, numel, dtype):
        case(COPIES[method], numel, dtype=dtype)()


class ByDevice(Suite):
    """Throughput: the device is waited for around a loop of copies, not after each."""

    params = [list(COPIES), [2**0, 2**10, 2**14, 2**17, 2**20, 2**24], list(DEVICES)]
    param_names = ["method", "numel", "device"]

    def time_copy(self, method, numel, device):
        case(COPIES[method], numel, device=device)()
