"""detach, cpu and numpy: the operations beside clone that the copies consist of."""

from tensorcopy.copying.inside.methods import PRIMITIVES

from .cases import Suite, case


class BySize(Suite):
    """None copies bytes on the CPU: they take the same time at every size. `copies.BySize` has `clone`."""

    params = [[name for name in PRIMITIVES if name != "clone"], [2**0, 2**10, 2**20]]
    param_names = ["method", "numel"]

    def time_primitive(self, method, numel):
        self.time(case(PRIMITIVES[method], numel))
