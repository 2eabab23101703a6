"""The values of what operations return, and how two results differ.

They are compared as ndarrays: numpy compares integers exactly, and NaN and infinities by position, beside every release of torch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

# relative and absolute, by dtype; values of others are compared exactly
TOLERANCES = {
    **dict.fromkeys(("float16", "bfloat16", "complex32"), 1e-2),
    **dict.fromkeys(("float32", "complex64"), 1e-4),
    **dict.fromkeys(("float64", "complex128"), 1e-7),
}
SHARE = 0.1  # of the largest expected value, at most, as the absolute tolerance: zeros are no softmax of many values


def as_array(value: Any) -> Any:
    """Return the values of a tensor, an ndarray or numbers as an ndarray, which may share their storage.

    Raises TypeError, or what torch raises, for something else and for a tensor without readable values.
    """
    if isinstance(value, torch.Tensor):
        value = value.detach()
        value = value.dequantize() if value.is_quantized else value
        value = (value if value.layout is torch.strided else value.to_dense()).cpu()
        for lazy in ("resolve_conj", "resolve_neg"):  # from torch 1.10 on
            value = getattr(value, lazy)() if hasattr(value, lazy) else value
        try:
            value = value.numpy()
        except TypeError:  # numpy has no bfloat16, no float8 and no complex numbers of half precision
            value = value.to(torch.complex64 if value.is_complex() else torch.float32).numpy()
    array = np.asarray(value)
    if array.dtype == object:
        raise TypeError(f"a {type(value).__name__} has no values to compare")
    return array


def equal(first: Any, second: Any) -> bool:
    """Return whether two tensors or ndarrays have the same shape and values; NaN equals NaN."""
    x, y = as_array(first), as_array(second)
    return bool(x.shape == y.shape and _equal(x, y).all())


def difference(result: Any, expected: Any) -> str:
    """Return how a result, or one of several, differs from the expected one by more than its tolerance; "" for none.

    The tolerance is that of the less exact dtype; the dtype itself may differ. Raises like `as_array`.
    """
    if _holds_arrays(result) or _holds_arrays(expected):
        if not (isinstance(result, (tuple, list)) and isinstance(expected, (tuple, list)) and len(result) == len(expected)):
            return f"{_name(result)} instead of {_name(expected)}"
        return next(filter(None, map(difference, result, expected)), "")
    x, y = as_array(result), as_array(expected)
    if x.shape != y.shape:
        return f"the shape {x.shape} instead of {y.shape}"
    tolerance = max(TOLERANCES.get(_dtype(value, array), 0.0) for value, array in ((result, x), (expected, y)))
    differs = ~(_close(x, y, tolerance) if tolerance else _equal(x, y))
    if not differs.any():
        return ""
    place = tuple(map(int, np.argwhere(differs)[0]))
    return f"{x[place]!s} instead of {y[place]!s}{f' at {list(place)}' if place else ''}, in {differs.sum()} of {differs.size} values"


def _equal(x: Any, y: Any) -> Any:
    return (x == y) | ((x != x) & (y != y))


def _close(x: Any, y: Any, tolerance: float) -> Any:
    wide = np.complex128 if np.iscomplexobj(x) or np.iscomplexobj(y) else np.float64
    x, y = x.astype(wide), y.astype(wide)
    largest = np.abs(y[np.isfinite(y)]).max(initial=0.0)
    return np.isclose(x, y, rtol=tolerance, atol=min(tolerance, SHARE * largest or tolerance), equal_nan=True)


def _holds_arrays(value: Any) -> bool:
    """Return whether a tuple or list holds tensors or ndarrays, and not only numbers."""
    return isinstance(value, (tuple, list)) and any(isinstance(each, (torch.Tensor, np.ndarray)) or _holds_arrays(each) for each in value)


def _name(value: Any) -> str:
    return f"a {type(value).__name__}{f' of {len(value)}' if isinstance(value, (tuple, list)) else ''}"


def _dtype(value: Any, array: Any) -> str:
    return str(value.dtype).rpartition(".")[2] if isinstance(value, torch.Tensor) else str(array.dtype.name)
