"""Three ways of making an independent ndarray of a tensor. From another device than the CPU the way leads through `.cpu()`."""

from tensorcopy.worker.devices import ACCELERATORS
from tensorcopy.worker.registry.methods import CONVERSIONS

from .cases import DTYPES, LAYOUTS, NUMELS, ON_DEVICE, Suite, case, skip


class BySize(Suite):
    """numpy's copy against torch's."""

    params = [list(CONVERSIONS), NUMELS]
    param_names = ["method", "numel"]

    def time_conversion(self, method, numel):
        self.time(case(CONVERSIONS[method], numel), method, numel)


class ByGrad(Suite):
    """Where `clone` comes before `detach`, the clone enters the graph first."""

    params = [list(CONVERSIONS), [2**4, 2**17], [False, True]]
    param_names = ["method", "numel", "requires_grad"]

    def time_conversion(self, method, numel, requires_grad):
        self.time(case(CONVERSIONS[method], numel, requires_grad=requires_grad), method, numel, requires_grad)


class ByLayout(Suite):
    """`ndarray.copy()` lays its result out in C order, `clone` as the tensor lies: not the same work."""

    params = [list(CONVERSIONS), [2**17], LAYOUTS]
    param_names = ["method", "numel", "layout"]

    def time_conversion(self, method, numel, layout):
        self.time(case(CONVERSIONS[method], numel, layout=layout), method, numel, layout)


class ByDtype(Suite):
    """bfloat16 is left out: numpy has no such type."""

    params = [list(CONVERSIONS), [2**17], DTYPES]
    param_names = ["method", "numel", "dtype"]

    def time_conversion(self, method, numel, dtype):
        if dtype == "bfloat16":
            skip("numpy has no bfloat16")
        self.time(case(CONVERSIONS[method], numel, dtype=dtype), method, numel, dtype)


class Latency(Suite):
    """Through `.cpu()`, which waits for the device by itself: there is no throughput to be had beside it."""

    params = [list(CONVERSIONS), ON_DEVICE, list(ACCELERATORS)]
    param_names = ["method", "numel", "device"]

    def time_conversion(self, method, numel, device):
        self.time(case(CONVERSIONS[method], numel, device=device), method, numel, device)
