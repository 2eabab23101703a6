"""Operations of the reader's own, beside the registry's: what tensorcopy.toml and installed packages declare. Knows neither torch nor asv.

    [[operation]]
    name = "through_numpy"
    code = "mine.through_numpy(x)"
    imports = ["mine"]

A package declares one by an entry point of the group "tensorcopy.operations": `through_numpy = "mine:through_numpy"`. A process that is
started for an environment is told them by `VARIABLE`, since an old Python cannot read TOML.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from tensorcopy.errors import TensorcopyError

FILE = "tensorcopy.toml"
ENTRY_POINTS = "tensorcopy.operations"
VARIABLE = "TENSORCOPY_OPERATIONS"  # the environment's variable with all of them as JSON
CHECKOUT = Path(__file__).resolve().parents[3]
BESIDE = ("copies", "conversions")
TAKEN = ("copy", "conversion", "primitive", "alternative")
NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
GUIDE = "docs/own-operation.md has an example"


@dataclass(frozen=True)
class Operation:
    """A row of tensorcopy.toml.

    name : the key in results; rows are appended, never renamed or reordered
    code : the expression, of a tensor `x`
    imports : the modules that it names; found beside tensorcopy.toml, or installed
    group : whose it is, where several people have some
    beside : in which picture of `tensorcopy plot` it is drawn
    code_on_accelerator : the expression where `x` lies on another device than the CPU, if it is another
    since : the first torch release that has what it needs
    requires : packages that are installed into the environments of releases
    promise : what it does, "plain" and "with_grad" as fields of `semantics.Outcome`; nothing is promised where it is left out
    folder : where the file lies
    """

    name: str
    code: str
    imports: tuple[str, ...] = ()
    group: str = "own"
    beside: str = "copies"
    code_on_accelerator: str = ""
    since: str = "1.9.0"
    requires: tuple[str, ...] = ()
    promise: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    folder: str = ""


@cache
def declared() -> tuple[Operation, ...]:
    """Those of tensorcopy.toml in this folder, or else in the checkout, then those of installed packages. Raises TensorcopyError."""
    if VARIABLE in os.environ:
        return tuple(Operation(**row) for row in json.loads(os.environ[VARIABLE]))
    paths = [path for path in (Path.cwd() / FILE, CHECKOUT / FILE) if path.is_file()]
    found = [*(_of_file(paths[0]) if paths else ()), *_of_packages()]
    names = [one.name for one in found]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise TensorcopyError("two operations have one name", got=twice[0], allowed="a name for each", next=GUIDE)
    return tuple(found)


def variables() -> dict[str, str]:
    """What a process is told of them; nothing where there are none."""
    return {VARIABLE: json.dumps([asdict(one) for one in declared()])} if declared() else {}


def _of_file(path: Path) -> Iterator[Operation]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise _refused(path, str(error), "TOML") from error
    rows = document.get("operation", [])
    if set(document) - {"operation"} or not isinstance(rows, list):
        raise _refused(path, ", ".join(document), "[[operation]] and nothing else")
    for row in rows:
        yield _checked(row, path)


def _checked(row: Mapping[str, Any], path: Path) -> Operation:
    allowed = {one.name: one for one in fields(Operation) if one.name != "folder"}
    for name, value in row.items():
        lists = name in ("imports", "requires")
        kinds = dict if name == "promise" else list if lists else str
        if name not in allowed:
            raise _refused(path, name, ", ".join(allowed))
        if not isinstance(value, kinds) or (lists and not all(isinstance(one, str) for one in value)):
            raise _refused(path, f"{name} = {value!r}", {dict: "a table", list: "an array of text", str: "text"}[kinds])
    for name in ("name", "code"):
        if not row.get(name):
            raise _refused(path, f"an operation without {name}", "a name and code")
    for name in ("name", "group"):
        if name in row and not NAME.fullmatch(row[name]):
            raise _refused(path, f"{name} = {row[name]!r}", "small letters, digits and _, at most 40")
    if row.get("group") in TAKEN:
        raise _refused(path, f"group = {row['group']!r}", "a group of your own")
    if row.get("beside", BESIDE[0]) not in BESIDE:
        raise _refused(path, f"beside = {row['beside']!r}", " or ".join(BESIDE))
    made: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
    return Operation(**made, folder=str(path.parent.resolve()))


def _of_packages() -> Iterator[Operation]:
    every: Any = entry_points()
    some = every.select(group=ENTRY_POINTS) if hasattr(every, "select") else every.get(ENTRY_POINTS, [])  # Python 3.9 has a dict
    for one in sorted(some, key=lambda point: point.name):
        module, _, function = one.value.partition(":")
        whose = one.dist.name.lower() if getattr(one, "dist", None) else "own"
        if not NAME.fullmatch(one.name) or not function:
            raise TensorcopyError(
                f"an entry point of {ENTRY_POINTS} is no operation",
                got=f"{one.name} = {one.value!r}",
                allowed='a name of small letters, digits and _, and "module:function"',
                next=GUIDE,
            )
        yield Operation(one.name, f"{module}.{function}(x)", (module,), group=re.sub(r"\W", "_", whose))


def _refused(path: Path, got: str, allowed: str) -> TensorcopyError:
    return TensorcopyError(f"{path.name} is refused", got=got, allowed=allowed, next=GUIDE)
