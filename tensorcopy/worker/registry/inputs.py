"""Inputs, set-up and reference of an own operation that takes more than one tensor x."""

from __future__ import annotations

from typing import Any

import torch

from tensorcopy.errors import TensorcopyError
from tensorcopy.worker.registry.declared_inputs import SIZE, Input
from tensorcopy.worker.registry.method import Method, code_on
from tensorcopy.worker.registry.operations import Operation

SEED = 2**20 + 7  # any: every release gets the same values
# relative and absolute
TOLERANCES = {
    torch.float16: 1e-2,
    torch.bfloat16: 1e-2,
    torch.float32: 1e-4,
    torch.float64: 1e-7,
    torch.complex64: 1e-4,
}  # others are exact


def device_of(operation: Operation) -> str:
    """Return the device on which an operation runs: the first of its inputs that is not the CPU."""
    return next((each.device for each in operation.inputs.values() if each.device != "cpu"), "cpu")


def numel(operation: Operation, n: int) -> int:
    """Return the number of elements of all inputs at one size."""
    return sum(int(torch.Size(_shape(each, n)).numel()) for each in operation.inputs.values())


def make_values(operation: Operation, method: Method, n: int) -> dict[str, Any]:
    """Return new inputs and what the set-up makes of them, by name.

    n : the size that stands for "n" in their shapes
    """
    generator = torch.Generator().manual_seed(SEED)
    values = {name: _tensor(each, n, generator) for name, each in operation.inputs.items()}
    if not operation.setup:
        return values
    namespace = {**method.names, **values}
    exec(operation.setup, namespace)  # noqa: S102 - the reader's own set-up
    return {name: value for name, value in namespace.items() if name not in method.names and name != "__builtins__"}


def check_reference(operation: Operation, method: Method, n: int) -> None:
    """Raise TensorcopyError where an operation's values differ from those of its reference."""
    if not operation.reference:
        return
    values = make_values(operation, method, n)
    result = eval(code_on(method, device_of(operation)), {**method.names, **values})  # noqa: S307 - the reader's own code
    values = make_values(operation, method, n)  # again: the operation may have written into them
    expected = eval(operation.reference, {**method.names, **values})  # noqa: S307
    difference = _difference(result, expected)
    if difference:
        raise TensorcopyError(
            f"the operation {operation.name} differs from its reference",
            got=f"{difference} at n = {n} with torch {torch.__version__}",
            allowed="equal shapes and values, to 1e-4 for float32 and 1e-2 for float16",
            next="correct its code or its reference in tensorcopy.toml",
        )


def _tensor(each: Input, n: int, generator: Any) -> Any:
    """Return an input: a leaf, with the strides of its layout."""
    shape = _shape(each, n)
    if each.layout == "transposed":
        shape[-2:] = shape[:-3:-1]
    elif each.layout == "strided":
        shape[-1] *= 2
    x = torch.rand(shape, generator=generator)
    dtype = getattr(torch, each.dtype)
    if not (dtype.is_floating_point or dtype.is_complex):
        x = x > 0.5 if dtype is torch.bool else 100 * x
    x = x.to(device=each.device, dtype=dtype)
    if each.layout == "transposed":
        x = x.transpose(-1, -2)
    elif each.layout == "strided":
        x = x[..., ::2]
    elif each.layout == "channels_last":
        x = x.contiguous(memory_format=torch.channels_last)
    return x.requires_grad_() if each.requires_grad else x


def _shape(each: Input, n: int) -> list[int]:
    return [n if size == SIZE else int(size) for size in each.shape]


def _difference(result: Any, expected: Any) -> str:
    """Return how a result differs from the expected one; "" for none."""
    if isinstance(expected, (tuple, list)):
        if not isinstance(result, (tuple, list)) or len(result) != len(expected):
            return f"{type(result).__name__} instead of {len(expected)} values"
        return next(filter(None, map(_difference, result, expected)), "")
    x, y = (torch.as_tensor(value).detach().cpu() for value in (result, expected))
    if x.shape != y.shape:
        return f"the shape {tuple(x.shape)} instead of {tuple(y.shape)}"
    tolerance = max(TOLERANCES.get(x.dtype, 0.0), TOLERANCES.get(y.dtype, 0.0))
    x, y = x.to(torch.complex128), y.to(torch.complex128)
    if torch.allclose(x, y, rtol=tolerance, atol=tolerance, equal_nan=True):
        return ""
    return f"a difference of {float((x - y).abs().max()):.3g}"
