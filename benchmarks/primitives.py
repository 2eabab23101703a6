"""detach, clone, cpu and numpy alone: what the copies are made of."""

from tensorcopy.worker.registry.methods import PRIMITIVES

from .cases import Suite, case


class BySize(Suite):
    """Only `clone` moves bytes: the others cost the same at every size."""

    params = [list(PRIMITIVES), [2**0, 2**10, 2**20]]
    param_names = ["method", "numel"]

    def time_primitive(self, method, numel):
        self.time(case(PRIMITIVES[method], numel), method, numel)
