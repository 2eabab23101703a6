"""The data of the suite."""

import torch


def points(n):
    """Return n points of the unit cube, the same in every process."""
    return torch.rand(n, 3, generator=torch.Generator().manual_seed(0))
