"""detach, clone, cpu and numpy: the operations that the copies consist of."""

from tensorcopy.copying.inside.methods import PRIMITIVES

from .cases import Suite, case


class BySize(Suite):
    """Only `clone` copies bytes: the others take the same time at every size."""

    params = [list(PRIMITIVES), [2**0, 2**10, 2**20]]
    param_names = ["method", "numel"]

    def time_primitive(self, method, numel):
        self.time(case(PRIMITIVES[method], numel))
