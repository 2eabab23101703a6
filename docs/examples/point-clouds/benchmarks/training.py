"""A step of training, and what it needs."""

import torch

from benchmarks.common import points


class Step:
    """A linear layer of 64 features on 256 points."""

    def setup(self):
        self.model = torch.nn.Linear(3, 64)
        self.x = points(256)

    def time_forward_backward(self):
        self.model(self.x).sum().backward()

    def track_parameters(self):
        return sum(parameter.numel() for parameter in self.model.parameters())
