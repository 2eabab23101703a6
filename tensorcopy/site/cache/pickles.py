"""Pickle values that refer to results: a result, which every process loads by itself, is stored as its path."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from functools import cache
from io import BytesIO
from typing import Any

from tensorcopy.results.load import Case, Result


def dumps(value: object) -> bytes:
    """Return a value as bytes."""
    file = BytesIO()
    _Pickler(file, pickle.HIGHEST_PROTOCOL).dump(value)
    return file.getvalue()


def loads(data: bytes, results: Mapping[str, Result]) -> Any:
    """Return the value in bytes that this program has written.

    results : by path
    """
    return _Unpickler(BytesIO(data), results).load()


class _Pickler(pickle.Pickler):
    def persistent_id(self, value: object) -> tuple[str, Any] | None:
        if isinstance(value, Result):
            return "result", str(value.path)
        return ("case", (value.suite, value.parameters)) if isinstance(value, Case) else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: BytesIO, results: Mapping[str, Result]) -> None:
        super().__init__(file)
        self.results = results

    def persistent_load(self, name: tuple[str, Any]) -> Any:
        kind, value = name
        return self.results[value] if kind == "result" else _case(*value)


@cache
def _case(suite: str, parameters: tuple[tuple[str, str], ...]) -> Case:
    """Return a case that all values share: there are hundreds, in each of many comparisons."""
    return Case(suite, parameters)
