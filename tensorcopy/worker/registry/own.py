"""The reader's own operations as methods, beside those of the registry.

They are read and compiled on first use: importing the registry reads no file.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from tensorcopy.errors import TensorcopyError
from tensorcopy.worker.registry import operations
from tensorcopy.worker.registry.method import NAMES, Method, Promise, make_method, make_table
from tensorcopy.worker.registry.methods import GROUPS, METHODS
from tensorcopy.worker.registry.semantics import Outcome, Semantics

BASELINE = "baseline"  # the memcpy baseline's name beside the methods in plots and rounds
RESERVED = (BASELINE, "floor")  # "floor" is the baseline's name in earlier output


@cache
def own_operations() -> Mapping[str, Method]:
    """Return the reader's own operations of a tensor x as methods, by name.

    They are declared in tensorcopy.toml and by installed packages. Raises TensorcopyError.
    """
    return make_table(*(_method(operation) for operation in operations.declared() if not operation.inputs))


@cache
def own_with_inputs() -> Mapping[str, Method]:
    """Return the reader's own operations that declare their inputs, by name.

    They are measured, and not called with a tensor x. Raises TensorcopyError.
    """
    return make_table(*(_method(operation) for operation in operations.declared() if operation.inputs))


def own_groups() -> Mapping[str, Mapping[str, Method]]:
    """Return own operations by group. Raises TensorcopyError."""
    own: dict[str, list[Method]] = {}
    for operation in operations.declared():
        if operation.inputs:
            continue
        own.setdefault(operation.group, []).append(own_operations()[operation.name])
    return MappingProxyType({group: make_table(*methods) for group, methods in own.items()})


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


def _method(operation: operations.Operation) -> Method:
    if operation.name in METHODS or operation.name in RESERVED:
        raise TensorcopyError(
            "an operation has the name of another", got=operation.name, allowed="a name that is not in use", next=operations.GUIDE
        )
    names = dict(NAMES)
    for module in operation.imports:
        names[module.partition(".")[0]] = _import(module, operation)
    try:
        promises = [Promise(operation.since, semantics, None) for semantics in _promised(operation)]
        return make_method(
            operation.name,
            operation.code,
            *promises,
            on_accelerator=operation.code_on_accelerator,
            since=operation.since,
            names=names,
        )
    except (SyntaxError, TypeError) as error:
        raise TensorcopyError(
            f"the operation {operation.name} is refused",
            got=f"{type(error).__name__}: {error}",
            allowed="an expression of x",
            next=operations.GUIDE,
        ) from error


def _promised(operation: operations.Operation) -> list[Semantics]:
    if not operation.promise:
        return []
    plain = Outcome(**operation.promise.get("plain", {}))
    with_grad = Outcome(**operation.promise["with_grad"]) if "with_grad" in operation.promise else plain
    return [Semantics(plain, with_grad)]


def _import(module: str, operation: operations.Operation) -> Any:
    """Return the module's topmost package, as the `import` statement binds it."""
    if operation.folder and operation.folder not in sys.path:
        sys.path.append(operation.folder)
    try:
        importlib.import_module(module)
        return importlib.import_module(module.partition(".")[0])
    except Exception as error:  # whatever a module raises: a torch may lack what it uses
        raise TensorcopyError(
            f"the operation {operation.name} cannot be imported",
            got=f"{module}: {'' if isinstance(error, ImportError) else f'{type(error).__name__}: '}{error}",
            allowed="a module beside tensorcopy.toml, or one that is installed where torch is",
            next="install it there, or name it in the operation's requires",
        ) from error
