"""The Method type: one way to copy a tensor, with its code and its promises.

Its function is compiled from the code that a reader would type.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch

from tensorcopy.errors import TensorcopyError
from tensorcopy.worker import html_table
from tensorcopy.worker.devices import ACCELERATORS
from tensorcopy.worker.registry.semantics import Semantics

NAMES: Mapping[str, Any] = MappingProxyType({"torch": torch, "np": np, "copy": copy})  # names available to a method's code, besides x


class Promise(NamedTuple):
    """The semantics promised from a torch release on.

    accelerator : None where the method has not been observed on an accelerator yet
    """

    since: str
    cpu: Semantics
    accelerator: Semantics | None


class Method(Protocol):
    """A way to copy: a plain function of a tensor, described by its attributes.

    name : the key in results, such as "detach_clone"
    code : the expression, of a tensor `x`, that the function evaluates
    code_on_accelerator : the expression where `x` is on an accelerator; mostly the same
    on : by device, the function for a tensor on it; on["cpu"] is the method itself
    names : the names available to its code, besides x
    promises : its promised semantics, by the first release they hold for; empty where nothing is promised
    since : the first torch release that has the method
    """

    name: str
    code: str
    code_on_accelerator: str
    on: Mapping[str, Callable[[Any], Any]]
    names: Mapping[str, Any]
    promises: tuple[Promise, ...]
    since: str

    def __call__(self, x: Any, /) -> Any: ...


def exists(method: Method) -> bool:
    """Return whether the installed torch has `method`."""
    return _version(torch.__version__) >= _version(method.since)


def promised(method: Method, device: str, release: str = torch.__version__) -> Semantics | None:
    """Return the semantics that `method` promises on `device` with a torch release.

    None where that release lacks the method, or where nothing is promised on that device.
    """
    valid = [promise for promise in method.promises if _version(promise.since) <= _version(release)]
    if not valid:
        return None
    return valid[-1].cpu if device == "cpu" else valid[-1].accelerator


def code_on(method: Method, device: str) -> str:
    """Return the expression of `method` for a tensor on `device`."""
    return method.code if device == "cpu" else method.code_on_accelerator


def make_method(
    name: str, code: str, *promises: Promise, on_accelerator: str = "", since: str = "", names: Mapping[str, Any] = NAMES
) -> Method:
    """Return a method whose functions are compiled from its code."""
    function: Any = _compile(code, names)
    function.__name__ = function.__qualname__ = function.name = name
    function.code, function.code_on_accelerator, function.names = code, on_accelerator or code, names
    function.on = {"cpu": function, **dict.fromkeys(ACCELERATORS, _compile(function.code_on_accelerator, names))}
    function.promises, function.since = promises, since or promises[0].since
    method: Method = function
    return method


def _compile(code: str, names: Mapping[str, Any]) -> Any:
    return eval(f"lambda x: {code}", dict(names))  # noqa: S307 - code from this registry or from the reader's own tensorcopy.toml


def _version(text: str) -> tuple[int, ...]:
    """(2, 5, 1) of "2.5.1+cu124", "2.5.1.dev20261101" or "2.5.1a0+nv25"."""
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3])


class UnknownMethod(TensorcopyError, KeyError):
    """A name that no row of the table has."""


class Methods(Mapping[str, Method]):
    """Methods by name, read-only; a KeyError lists all names, and a notebook shows a table."""

    def __init__(self, methods: Sequence[Method]) -> None:
        self._by_name = {method.name: method for method in methods}

    def __getitem__(self, name: str) -> Method:
        try:
            return self._by_name[name]
        except KeyError:
            raise UnknownMethod("unknown method", got=repr(name), allowed=", ".join(self), next="tensorcopy methods lists them") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self)})"

    def _repr_html_(self) -> str:
        rows = [(name, html_table.code(method.code), f"torch {method.since}") for name, method in self.items()]
        return html_table.table(("name", "code", "since"), rows)


def make_table(*methods: Method) -> Mapping[str, Method]:
    """Return a read-only mapping by name, whose KeyError lists all names."""
    return Methods(methods)
