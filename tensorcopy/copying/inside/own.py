"""The reader's own operations as methods, beside those of the registry.

They are read and compiled on first use: importing the registry reads no file.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from types import MappingProxyType
from typing import Any

import torch

from tensorcopy.copying.inside import values
from tensorcopy.copying.inside.methods import GROUPS, METHODS, NAMES, Method, Methods, Promise, code_on, make_method
from tensorcopy.copying.inside.semantics import Outcome, Semantics
from tensorcopy.errors import TensorcopyError, line_of
from tensorcopy.worker import operations
from tensorcopy.worker.operations import GUIDE, OF_THE_LOOP, SIZE, Input, Operation


@cache
def own_operations() -> Mapping[str, Method]:
    """Return the reader's own operations of a tensor x as methods, by name.

    They are declared in tensorcopy.toml. Raises TensorcopyError.
    """
    return Methods(*(_method(operation) for operation in operations.operations() if not operation.inputs))


@cache
def own_with_inputs() -> Mapping[str, Method]:
    """Return the reader's own operations that declare their inputs, by name.

    They are measured, and not called with a tensor x. Raises TensorcopyError.
    """
    return Methods(*(_method(operation) for operation in operations.operations() if operation.inputs))


def own_groups() -> Mapping[str, Mapping[str, Method]]:
    """Return own operations of a tensor x by group. Raises TensorcopyError."""
    rows = [operation for operation in operations.operations() if not operation.inputs]
    names = {group: [row.name for row in rows if row.group == group] for group in dict.fromkeys(row.group for row in rows)}
    return {group: Methods(*(own_operations()[name] for name in members)) for group, members in names.items()}


@cache
def groups() -> Mapping[str, Mapping[str, Method]]:
    """Return all methods by group: the registry's, then those of own operations.

    Raises TensorcopyError.
    """
    return MappingProxyType({**GROUPS, **own_groups()})


def find_method(name: str) -> Method:
    """Return the registry's method or the own operation called `name`.

    Raises TensorcopyError.
    """
    return METHODS[name] if name in METHODS else own_operations()[name]


def _method(operation: Operation) -> Method:
    names = dict(NAMES)
    if operation.folder and operation.folder not in sys.path:
        sys.path.append(operation.folder)
    for module in operation.imports:
        topmost = module.partition(".")[0]  # as the `import` statement binds it
        if isinstance(names.get(topmost), _NotImported):
            continue
        try:
            importlib.import_module(module)
            names[topmost] = importlib.import_module(topmost)
        except (Exception, SystemExit) as error:  # whatever a module raises: a torch may lack what it uses
            names[topmost] = _NotImported(operation, module, error)
    try:
        promises = []
        if operation.promise:
            plain = Outcome(**operation.promise.get("plain", {}))
            with_grad = Outcome(**operation.promise["with_grad"]) if "with_grad" in operation.promise else plain
            promises.append(Promise(operation.since, Semantics(plain, with_grad), None))
        code_on_accelerator, since = operation.code_on_accelerator, operation.since
        return make_method(operation.name, operation.code, *promises, on_accelerator=code_on_accelerator, since=since, names=names)
    except (SyntaxError, TypeError) as error:
        raise TensorcopyError(
            f"the operation {operation.name} is refused", got=line_of(error), allowed="an expression of x", next=GUIDE
        ) from error


class _NotImported:
    """Stands for a module that cannot be imported: using it raises the reason, so that only operations that use it fail."""

    def __init__(self, operation: Operation, module: str, error: BaseException) -> None:
        self._reason = TensorcopyError(
            f"the operation {operation.name} cannot be imported",
            got=f"{module}: {error if isinstance(error, ImportError) else line_of(error)}",
            allowed="a module beside tensorcopy.toml, or of a package that `requires` names",
            next='requires = ["PACKAGE"], or for the package in this folder ["."], below [project]',
        )

    def __getattr__(self, name: str) -> Any:
        raise self._reason


SEED = 2**20 + 7  # any: every release gets the same values


def device_of(operation: Operation) -> str:
    """Return the device of an operation's first input that is not on the CPU; "cpu" if all are."""
    return next((each.device for each in operation.inputs.values() if each.device != "cpu"), "cpu")


def numel(operation: Operation, n: int) -> int:
    """Return the number of elements of all inputs at one size."""
    return sum(int(torch.Size(_shape_of(each, n)).numel()) for each in operation.inputs.values())


def make_values(operation: Operation, method: Method, n: int) -> dict[str, Any]:
    """Return new inputs and what the set-up makes of them, by name.

    n : the size that stands for "n" in their shapes
    """
    generator = torch.Generator().manual_seed(SEED)
    inputs = {name: _make_input(each, n, generator) for name, each in operation.inputs.items()}
    if not operation.setup:
        return inputs
    namespace = {**method.names, **inputs}
    with _part(operation, "setup"):
        exec(operation.setup, namespace)  # noqa: S102 - the reader's own set-up
    made = {name: value for name, value in namespace.items() if name not in method.names and name != "__builtins__"}
    if taken := made.keys() & {*OF_THE_LOOP}:
        raise TensorcopyError(
            f"the setup of the operation {operation.name} makes a name that the timed loop uses",
            got=min(taken),
            allowed=f"names of Python, none of {', '.join(OF_THE_LOOP)}",
            next="rename it in tensorcopy.toml",
        )
    return made


def check_reference(operation: Operation, method: Method, n: int) -> None:
    """Raise TensorcopyError where an operation's values differ from those of its reference, or cannot be compared with them."""
    if not operation.reference:
        return
    result = eval(code_on(method, device_of(operation)), {**method.names, **make_values(operation, method, n)})  # noqa: S307
    names = {**method.names, **make_values(operation, method, n)}  # again: the operation may have written into them
    with _part(operation, "reference"):
        difference = values.difference(result, eval(operation.reference, names))  # noqa: S307 - the reader's own code
    if difference:
        raise TensorcopyError(
            f"the operation {operation.name} differs from its reference",
            got=f"{difference} at n = {n} with torch {torch.__version__}",
            allowed="equal shapes and values, to 1e-7 for float64, 1e-4 for float32 and 1e-2 for float16",
            next="correct its code or its reference in tensorcopy.toml",
        )


@contextmanager
def _part(operation: Operation, part: str) -> Iterator[None]:
    """Let an error tell that a part of the declaration raises it, and not the operation itself."""
    try:
        yield
    except Exception as error:
        if isinstance(error, TensorcopyError) or (part == "setup" and isinstance(error, NotImplementedError)):  # skips, as in asv
            raise
        raise TensorcopyError(
            f"the {part} of the operation {operation.name} cannot be used",
            got=f"{line_of(error)} with torch {torch.__version__}",
            allowed="code that every measured release runs, and results with values: of tensors, ndarrays and numbers",
            next="correct it in tensorcopy.toml, or name the first release with `since`",
        ) from error


def _make_input(each: Input, n: int, generator: Any) -> Any:
    """Return an input: a leaf, with the strides of its layout."""
    shape = _shape_of(each, n)
    if each.layout == "transposed":
        shape[-2:] = shape[:-3:-1]
    elif each.layout == "strided":
        shape[-1] *= 2
    x, dtype = torch.rand(shape, generator=generator), getattr(torch, each.dtype)
    if dtype.is_complex:
        x = torch.complex(x, torch.rand(shape, generator=generator))
    elif not dtype.is_floating_point:
        x = x > 0.5 if dtype is torch.bool else 100 * x
    x = x.to(device=each.device, dtype=dtype)
    if each.layout == "transposed":
        x = x.transpose(-1, -2)
    elif each.layout == "strided":
        x = x[..., ::2]
    elif each.layout == "channels_last":
        x = x.contiguous(memory_format=torch.channels_last)
    return x.requires_grad_() if each.requires_grad else x


def _shape_of(each: Input, n: int) -> list[int]:
    return [n if size == SIZE else int(size) for size in each.shape]
