"""Three ways of making an independent ndarray of a tensor. From another device than the CPU the way leads through `.cpu()`."""

from tensorcopy.devices import DEVICES
from tensorcopy.methods import CONVERSIONS

from .cases import DTYPES, LAYOUTS, NUMELS, Suite, case, skip


class BySize(Suite):
    """numpy's copy against torch's."""

    params = [list(CONVERSIONS), NUMELS]
    param_names = ["method", "numel"]

    def time_conversion(self, method, numel):
        case(CONVERSIONS[method], numel)()


class ByGrad(Suite):
    """Where `clone` comes before `detach`, the clone enters the graph first."""

    params = [list(CONVERSIONS), [2**4, 2**17], [False, True]]
    param_names = ["method", "numel", "requires_grad"]

    def time_conversion(self, method, numel, requires_grad):
        case(CONVERSIONS[method], numel, requires_grad=requires_grad)()


class ByLayout(Suite):
    """`ndarray.copy()` lays its result out in C order, `clone` as the tensor lies: not the same work."""

    params = [list(CONVERSIONS), [2**17], LAYOUTS]
    param_names = ["method", "numel", "layout"]

    def time_conversion(self, method, numel, layout):
        case(CONVERSIONS[method], numel, layout=layout)()


class ByDtype(Suite):
    """bfloat16 is left out: numpy has no such type."""

    params = [list(CONVERSIONS), [2**17], DTYPES]
    param_names = ["method", "numel", "dtype"]

    def time_conversion(self, method, numel, dtype):
        if dtype == "bfloat16":
            skip("numpy has no bfloat16")
        case(CONVERSIONS[method], numel, dtype=dtype)()


class ByDevice(Suite):
    """Through `.cpu()`, which waits for the device by itself: latency and transfer."""

    params = [list(CONVERSIONS), [2**0, 2**10, 2**14, 2**17, 2**20, 2**24], list(DEVICES)]
    param_names = ["method", "numel", "device"]

    def time_conversion(self, method, numel, device):
        case(CONVERSIONS[method], numel, device=device)()
