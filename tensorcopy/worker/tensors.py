"""The tensors on which methods are timed and counted."""

from __future__ import annotations

from typing import Any

import torch

LAYOUTS = ("contiguous", "transposed", "strided", "channels_last")
DTYPES = ("float32", "float16", "bfloat16", "int64", "bool")


def make_tensor(numel: int, device: str = "cpu", dtype: str = "float32", layout: str = "contiguous", requires_grad: bool = False) -> Any:
    """Return a leaf of `numel` elements.

    layout : "transposed" and "channels_last" need 16 elements or a multiple of 2^10; "strided" is every second element, x[::2]
    """
    if layout == "contiguous":
        x = torch.ones(numel)
    elif layout == "strided":
        x = torch.ones(2 * numel)
    else:
        x = torch.ones(numel // 1024, 4, 16, 16) if numel > 16 else torch.ones(1, 1, 4, 4)
        x = x.transpose(-1, -2) if layout == "transposed" else x.contiguous(memory_format=torch.channels_last)
    x = x.to(device=device, dtype=getattr(torch, dtype))  # keeps the strides of dense tensors only
    x = x[::2] if layout == "strided" else x
    return x.requires_grad_() if requires_grad else x
