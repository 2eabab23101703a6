"""Distances between points."""

import torch

from .common import points


class Pairwise:
    """All distances between two sets of points, in the norm p."""

    params = ([100, 1000], [1.0, 2.0])
    param_names = ("n", "p")

    def setup(self, n, p):
        self.a, self.b = points(n), points(n).flip(0)

    def time_cdist(self, n, p):
        torch.cdist(self.a, self.b, p=p)

    def time_broadcast(self, n, p):
        (self.a[:, None] - self.b[None]).abs().pow(p).sum(-1).pow(1 / p)


def time_topk():
    """The ten largest of 10,000 numbers."""
    torch.topk(FIRST, 10)


FIRST = points(10_000)[:, 0]
