"""The functions of the counted cases, and the file of them beside a result.

It is RESULT.functions.json.xz: asv reads every *.json of the folder. functions.schema.json describes it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from tensorcopy.errors import TensorcopyError
from tensorcopy.results import files, related, suite_specs, writing
from tensorcopy.results.passes import Case
from tensorcopy.results.reader import Result

ENDING = ".functions.json.xz"
VERSION = 2
MAX_JSON_BYTES = 20_000_000  # a release has a tenth of it
MAX_MEMORY = 128 * 2**20  # bytes that decompressing may take: twice what our files need

Function = tuple[str, str]  # library and name, such as ("libc10", "c10::TensorImpl::TensorImpl")


class FunctionCost(NamedTuple):
    """The cost of a function in one call of a case.

    own : exclusive instructions
    calls : how often it is called
    """

    own: float
    calls: float


@dataclass(frozen=True)
class Profile:
    """The functions of one case.

    instructions : of one call; the functions make 99 % of them
    """

    instructions: float
    functions: Mapping[Function, FunctionCost]

    @property
    def smallest(self) -> float:
        """The exclusive instructions of its cheapest function: one that it leaves out has fewer."""
        return min((cost.own for cost in self.functions.values()), default=0.0)


@dataclass(frozen=True, eq=False)
class Profiles:
    """The profiles of a release on one machine and Python.

    provenance : the file's keys except "functions" and "cases"
    cases : the file's object for each case, by name
    """

    provenance: Mapping[str, Any]
    functions: tuple[Function, ...]
    cases: Mapping[str, Any] = field(repr=False)

    def instructions(self, name: str) -> float:
        """Return the instructions of a profiled case, without its functions."""
        return float(self.cases[name]["instructions"])

    def of(self, name: str) -> Profile:
        """Return the profile of a profiled case."""
        rows = iter(self.cases[name]["functions"])
        functions = {self.functions[int(number)]: FunctionCost(own, calls) for number, own, calls in zip(rows, rows, rows)}
        return Profile(self.instructions(name), functions)


def name_of(case: Case) -> str:
    """Return the name under which a timed or counted case is profiled; "" for none."""
    counted = case if case.spec.metric == suite_specs.INSTRUCTIONS else related.counted_case(case)
    if counted is None:
        return ""
    values = {"dtype": "float32", "layout": "contiguous", "requires_grad": "False", **dict(counted.parameters)}
    values = {name: value.strip("'") for name, value in values.items()}
    grad = " grad" if values["requires_grad"] == "True" else ""
    return f"{values['method']} {values['numel']} {values['dtype']} {values['layout']}{grad}"


def path_of(result: Path) -> Path:
    """Return the path of the profiles beside a result file."""
    return result.with_name(result.name.removesuffix(".json") + ENDING)


def profiles_of(result: Result) -> Profiles | None:
    """Return the profiles beside a result; None where there are none.

    Raises TensorcopyError for a damaged file, or one of another torch or other hardware.
    """
    path = path_of(result.path)
    if not path.exists():
        return None
    profiles = read(path)
    expected = {"torch_sha": result.sha, "identity": result.provenance.get("identity", profiles.provenance["identity"])}
    for name, value in expected.items():
        if profiles.provenance[name] != value:
            raise files.damaged(path, f"{name} {profiles.provenance[name]}, not {value} as in its result")
    return profiles


def read(path: Path) -> Profiles:
    """Return the profiles in a file, read once until it changes. Raises TensorcopyError, naming the file, for a damaged one."""
    try:
        stat = path.stat()
    except OSError as error:  # such as a link to nothing
        raise files.damaged(path, error.strerror or str(error)) from error
    return _read(path, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=64)  # a site has some thirty
def _read(path: Path, size: int, modified: int) -> Profiles:
    import lzma

    with files.damage_named(path):
        decompressor = lzma.LZMADecompressor(memlimit=MAX_MEMORY)
        try:
            text = decompressor.decompress(files.content(path), max_length=MAX_JSON_BYTES)
        except lzma.LZMAError as error:
            raise ValueError(str(error)) from error
        if not decompressor.eof:
            raise ValueError(f"cut off, or more than {MAX_JSON_BYTES:,} bytes")
        return of_document(files.parsed(text))


def of_document(document: dict[str, Any]) -> Profiles:
    """Return the profiles in a document. Raises ValueError for one that violates the schema, or whose numbers are impossible."""
    if violation := _fault(document):
        raise ValueError(violation)
    provenance = {name: value for name, value in document.items() if name not in ("functions", "cases")}
    return Profiles(provenance, tuple((library, name) for library, name in document["functions"]), document["cases"])


def write(path: Path, document: dict[str, Any]) -> None:
    """Write a document of profiles as a whole. Raises TensorcopyError for one that violates the schema."""
    import lzma

    if violation := _fault(document):
        raise files.damaged(path, violation)
    text = json.dumps(document, separators=(",", ":")).encode()
    writing.replace(path, lzma.compress(text, preset=9 | lzma.PRESET_EXTREME))


def not_counted(result: Result) -> TensorcopyError:
    """Return the error for a result without profiles."""
    version = result.provenance["torch"].partition("+")[0]
    return TensorcopyError(
        f"the functions of torch {version} were not counted",
        got=f"no {files.displayed(path_of(result.path))}",
        allowed="a release whose functions were counted",
        next=f"tensorcopy measure {version}@{result.python} --machine {result.machine}, which needs valgrind",
    )


def _fault(document: Any) -> str:
    """Return where a document violates the schema, or which of its numbers is impossible; "" if it is valid.

    The numbers of the functions are checked without the schema: it takes a second for those of one release.
    """
    cases = document.get("cases") if isinstance(document, dict) else None
    rows = cases.items() if isinstance(cases, dict) else ()
    by_case = {name: row["functions"] for name, row in rows if isinstance(row, dict) and isinstance(row.get("functions"), list)}
    without = {name: {**document["cases"][name], "functions": []} for name in by_case}
    if violation := files.schema_fault({**document, "cases": {**document["cases"], **without}} if by_case else document, files.FUNCTIONS):
        return violation
    for name, values in by_case.items():
        if not (set(map(type, values)) <= {int, float} and min(values, default=0) >= 0 and isfinite(sum(values))):
            return f"{name} has a value that is not a number from 0 on"
        numbers = values[0::3]
        if len(values) % 3 or not all(map(float.is_integer, map(float, numbers))) or max(numbers, default=0) >= len(document["functions"]):
            return f"{name} has a function that the file does not list"
        if not isfinite(document["cases"][name]["instructions"]):
            return f"{name} has infinite instructions"
    return ""
