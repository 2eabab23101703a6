"""What the same bytes cost this machine at least, and an act that no torch can change."""

from functools import cache

import numpy as np

from .cases import NUMELS, Suite, loop


@cache
def fresh(numel):
    return loop(np.copy, np.ones(numel, "float32"))


@cache
def kept(numel):
    out = np.empty(numel, "float32")
    return loop(lambda source: np.copyto(out, source), np.ones(numel, "float32"))


@cache
def control():
    return loop(sum, range(1000))


class BySize(Suite):
    """memcpy of float32, into memory that is allocated anew and into memory that was there."""

    params = [NUMELS]
    param_names = ["numel"]

    def time_fresh(self, numel):
        fresh(numel)()

    def time_kept(self, numel):
        kept(numel)()


class Control(Suite):
    """A sum in the interpreter: when it moves, the machine moved."""

    def time_sum(self):
        control()()
