"""Declarations of an operation's inputs: `inputs.q = { shape = ["n", 64], dtype = "float16" }`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from keyword import iskeyword
from typing import Any

from tensorcopy.worker.devices import DEVICES

SIZE = "n"  # stands for the size of a case
DTYPES = ("float32", "float16", "bfloat16", "float64", "complex64", "int64", "int32", "uint8", "bool")
LAYOUTS = {"contiguous": 0, "transposed": 2, "strided": 1, "channels_last": 4}  # with the fewest dimensions that each needs
MOST = 2**24  # of a size, and of a dimension
OF_THE_LOOP = ("calls", "perf_counter", "repeat", "start", "wait")  # names that the timed loop uses itself


@dataclass(frozen=True)
class Input:
    """A tensor that an operation takes.

    shape : of numbers, and "n" for the size of the case
    layout : "transposed" are the last two dimensions, "strided" is every second element of the last one
    """

    shape: tuple[int | str, ...] = (SIZE,)
    dtype: str = "float32"
    layout: str = "contiguous"
    device: str = "cpu"
    requires_grad: bool = False


def faults(inputs: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a table of inputs: what it has, and what is allowed."""
    names = [field.name for field in fields(Input)]
    for name, row in inputs.items():
        if not name.isidentifier() or iskeyword(name) or name in OF_THE_LOOP:
            yield f"the input {name!r}", f"names of Python, none of {', '.join(OF_THE_LOOP)}"
        elif not isinstance(row, dict):
            yield f"inputs.{name} = {row!r}", '{ shape = ["n", 64] }'
        elif set(row) - set(names):
            yield f"{', '.join(sorted(set(row) - set(names)))} in inputs.{name}", ", ".join(names)
        else:
            yield from _row_faults(name, row)


def _row_faults(name: str, row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    shape = row.get("shape", [SIZE])
    if not isinstance(shape, list) or not all(size == SIZE or is_size(size) for size in shape):
        yield f"shape = {shape!r} in inputs.{name}", f'an array of "n" and of numbers from 1 to {MOST}'
        return
    for field, allowed in (("dtype", DTYPES), ("layout", tuple(LAYOUTS)), ("device", DEVICES)):
        if row.get(field, allowed[0]) not in allowed:
            yield f"{field} = {row[field]!r} in inputs.{name}", ", ".join(allowed)
    layout = row.get("layout", "contiguous")
    if len(shape) < LAYOUTS.get(layout, 0) or (layout == "channels_last" and len(shape) != LAYOUTS[layout]):
        yield f"layout = {layout!r} of {len(shape)} dimensions in inputs.{name}", f"{LAYOUTS[layout]} dimensions"
    if not isinstance(row.get("requires_grad", False), bool):
        yield f"requires_grad = {row['requires_grad']!r} in inputs.{name}", "true or false"


def is_size(value: object) -> bool:
    """Return whether a value is a size of a tensor's dimension."""
    return type(value) is int and 0 < value <= MOST


def of_table(inputs: Mapping[str, Mapping[str, Any]]) -> dict[str, Input]:
    """Return the inputs of a valid table."""
    return {name: Input(**{**row, "shape": tuple(row.get("shape", (SIZE,)))}) for name, row in inputs.items()}
