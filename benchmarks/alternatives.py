"""The other ways people ask about, beside the eight."""

from tensorcopy.worker.registry.methods import ALTERNATIVES

from .cases import Suite, case


class BySize(Suite):
    """Some share instead of copying, and look fast for it: see what each promises."""

    params = [list(ALTERNATIVES), [2**0, 2**10, 2**20]]
    param_names = ["method", "numel"]

    def time_alternative(self, method, numel):
        self.time(case(ALTERNATIVES[method], numel), method, numel)
