"""Three ways to make an independent ndarray from a tensor.

From an accelerator they go through `.cpu()`. The parameters, besides the method, are those of `case`.
"""

from tensorcopy.copying import LAYOUTS
from tensorcopy.copying.inside.methods import CONVERSIONS, DTYPES
from tensorcopy.worker.devices import ACCELERATORS

from .cases import NUMELS, ON_DEVICE, Suite, case, skip


class BySize(Suite):
    """Copying with numpy compared with copying with torch."""

    params = [list(CONVERSIONS), NUMELS]
    param_names = ["method", "numel"]

    def time_conversion(self, method, *tensor):
        self.time(case(CONVERSIONS[method], **dict(zip(self.param_names[1:], tensor))))


class ByGrad(BySize):
    """With `clone` before `detach`, the clone is recorded in the graph.

    BySize has the same cases without grad.
    """

    params = [list(CONVERSIONS), NUMELS, [True]]
    param_names = ["method", "numel", "requires_grad"]


class ByLayout(BySize):
    """`ndarray.copy()` returns C order, `clone` keeps strides: different work."""

    params = [list(CONVERSIONS), [2**14, 2**17], list(LAYOUTS)]
    param_names = ["method", "numel", "layout"]


class ByDtype(BySize):
    """bfloat16 is skipped: numpy has no such type."""

    params = [list(CONVERSIONS), [2**17], list(DTYPES)]
    param_names = ["method", "numel", "dtype"]

    def time_conversion(self, method, numel, dtype):
        if dtype == "bfloat16":
            skip("numpy has no bfloat16")
        super().time_conversion(method, numel, dtype)


class Latency(BySize):
    """`.cpu()` waits for the device, so throughput and latency are the same."""

    params = [list(CONVERSIONS), ON_DEVICE, list(ACCELERATORS)]
    param_names = ["method", "numel", "device"]
