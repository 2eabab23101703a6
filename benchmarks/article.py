"""The article's sizes: numel = 2^0 … 2^14 on the CPU, without requires_grad.

Run it by name: `asv run --bench article`.
"""

from tensorcopy.worker.methods import CONVERSIONS, COPIES

from .cases import Suite, case

GRID = [2**k for k in range(15)]


class Copies(Suite):
    """The article's second figure: five copies."""

    params = [list(COPIES), GRID]
    param_names = ["method", "numel"]

    def time_copy(self, method, numel):
        self.time(case(COPIES[method], numel), method, numel)


class Conversions(Suite):
    """The article's first figure: three conversions."""

    params = [list(CONVERSIONS), GRID]
    param_names = ["method", "numel"]

    def time_conversion(self, method, numel):
        self.time(case(CONVERSIONS[method], numel), method, numel)
