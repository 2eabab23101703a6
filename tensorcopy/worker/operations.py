"""The operations of a campaign, as a process in a release's environment receives them: in the environment variable `VARIABLE`.

The program reads them from tensorcopy.toml (`campaign`); an old Python has no reader of TOML.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any

VARIABLE = "TENSORCOPY_OPERATIONS"  # the environment variable with all operations as JSON
FILE = "tensorcopy.toml"  # that declares them
GUIDE = "tensorcopy init writes an example into an empty folder, and docs/own-operation.md explains it"
OF_THE_LOOP = ("calls", "clock", "repeat", "seconds", "start", "wait")  # names that the timed loop uses itself
OWN_ONLY = "--own-only"  # an argument of the probe: only these operations are observed, not the registry's methods
BASELINE = "baseline"  # the memcpy baseline's name beside the methods in plots and rounds
SIZE = "n"  # stands for the size of a case
SIZES = (2**4, 2**7, 2**10)  # of an operation with inputs, which may have several dimensions


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


@dataclass(frozen=True)
class Operation:
    """A row of tensorcopy.toml.

    name : the key in results; append rows, never rename or reorder them
    code : the expression, of a tensor `x`
    imports : the modules that the code uses; found beside tensorcopy.toml, or installed
    group : a label for operations that belong together, such as their author's
    beside : the plot that includes it: "copies" or "conversions"
    code_on_accelerator : the expression where `x` is on an accelerator, if it differs
    since : the first torch release that the code runs with
    requires : packages to install into the environments of releases
    inputs : the tensors that it takes by name, where that is not x alone
    sizes : the values of "n" in their shapes
    setup : statements before the timed code, whose names it may use
    reference : an expression whose values it must have
    promise : its semantics, "plain" and "with_grad" with fields of `semantics.Outcome`; optional
    folder : the folder of tensorcopy.toml
    """

    name: str
    code: str
    imports: tuple[str, ...] = ()
    group: str = "own"
    beside: str = "copies"
    code_on_accelerator: str = ""
    since: str = "1.9.0"
    requires: tuple[str, ...] = ()
    inputs: Mapping[str, Input] = field(default_factory=dict)
    sizes: tuple[int, ...] = SIZES
    setup: str = ""
    reference: str = ""
    promise: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    folder: str = ""


@cache
def operations() -> tuple[Operation, ...]:
    """Return the operations that this process was started with."""
    return tuple(of_values(row) for row in json.loads(os.environ.get(VARIABLE, "[]")))


def variables(operations: Iterable[Operation]) -> dict[str, str]:
    """Return the environment variables that hand operations to a process; none without operations."""
    rows = [asdict(operation) for operation in operations]
    return {VARIABLE: json.dumps(rows)} if rows else {}


def of_values(row: Mapping[str, Any]) -> Operation:
    """Return an operation from the values of its fields in TOML or JSON."""
    values: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
    values["inputs"] = {name: Input(**{**of, "shape": tuple(of.get("shape", (SIZE,)))}) for name, of in row.get("inputs", {}).items()}
    return Operation(**values)
