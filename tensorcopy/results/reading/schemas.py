"""Whether a JSON document matches its schema: asv's own keys, tensorcopy's, machine.json and benchmarks.json.

Numbers and texts without a bound of their own get one: no result has a greater number or a longer text.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent
RESULT, ASV, MACHINE, BENCHMARKS = (FOLDER / f"{name}.schema.json" for name in ("result", "asv", "machine", "benchmarks"))
GREATEST = 2**62  # also of a count of bytes or instructions
LONGEST_TEXT = 100_000  # characters, such as those of a suite's code
LONGEST = 300  # characters of a validator's message, which may list every key of the file


def fault(document: dict[str, Any], *schemas: Path) -> str:
    """Return where and how a document violates its schemas, "" if valid.

    Such as "passes[0].started must be integer: got 'two'".
    """
    from fastjsonschema import JsonSchemaValueException

    try:
        for schema in schemas:
            _validator(schema)(document)
    except JsonSchemaValueException as error:
        value = f": got {error.value!r:.60}" if isinstance(error.value, (str, float, type(None))) or _is_short(error.value) else ""
        return f"{error.message.removeprefix('data.').removeprefix('data ')[:LONGEST]}{value}"
    return ""


def is_number(value: object) -> bool:
    """Return whether a JSON value is a finite number of a possible size; true and false are none."""
    return type(value) in (int, float) and abs(value) <= GREATEST  # type: ignore[arg-type]  # NaN is never less


def _is_short(value: object) -> bool:
    """Return whether a whole number can be written: Python refuses to write one of thousands of digits."""
    return isinstance(value, int) and abs(value) <= GREATEST


@cache
def _validator(schema: Path) -> Callable[[dict[str, Any]], object]:
    from fastjsonschema import compile  # imported only where results are read

    document = _bounded(json.loads(schema.read_text(encoding="utf-8")))
    validate: Callable[[dict[str, Any]], object] = compile(document, use_formats=False, use_default=False)
    return validate


def _bounded(schema: Any) -> Any:
    """Return a schema in which every number and every text has a bound."""
    if isinstance(schema, list):
        return [_bounded(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kinds = schema.get("type", ())
    kinds = [kinds] if isinstance(kinds, str) else kinds
    bounds: dict[str, Any] = {}
    if isinstance(kinds, (list, tuple)) and {"number", "integer"} & set(kinds):
        bounds = {"minimum": -GREATEST, "maximum": GREATEST}
    if isinstance(kinds, (list, tuple)) and "string" in kinds and "pattern" not in schema:
        bounds["maxLength"] = LONGEST_TEXT
    return {**bounds, **{name: _bounded(value) for name, value in schema.items()}}
