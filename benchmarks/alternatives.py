"""Other ways to copy, besides the article's eight methods."""

from tensorcopy.copying.inside.methods import ALTERNATIVES

from .cases import Suite, case


class BySize(Suite):
    """Some share storage instead of copying, and are fast for that reason."""

    params = [list(ALTERNATIVES), [2**0, 2**10, 2**20]]
    param_names = ["method", "numel"]

    def time_alternative(self, method, numel):
        self.time(case(ALTERNATIVES[method], numel))
