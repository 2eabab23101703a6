"""Function profiles as values, and their files.

A profile lies beside its result, as RESULT.functions.json.xz: asv reads every *.json of the folder. functions.schema.json describes it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from math import isfinite
from operator import sub
from pathlib import Path
from typing import Any

from tensorcopy.errors import TensorcopyError
from tensorcopy.results import files, related, suite_specs, writing
from tensorcopy.results.passes import Case
from tensorcopy.results.reader import Result

SCHEMA = Path(__file__).with_name("functions.schema.json")
ENDING = ".functions.json.xz"
VERSION = 1
LARGEST = 20_000_000  # bytes of JSON: ten times what a release has
MEMORY = 128 * 2**20  # bytes that decompressing may take: twice what our files need
DEEPEST = 100  # callers of a function: callgrind separates chains of so many

Function = tuple[str, str]  # library and name, such as ("libc10", "c10::TensorImpl::TensorImpl")


@dataclass(frozen=True)
class Node:
    """A function as called from one chain of callers, in one call of a case.

    own : exclusive instructions
    calls : how often it is called
    """

    function: Function
    own: float
    calls: float
    callees: tuple[Node, ...] = ()

    @cached_property
    def inclusive(self) -> float:
        """Its instructions with those of its callees."""
        return self.own + sum(callee.inclusive for callee in self.callees)


@dataclass(frozen=True)
class FunctionCost:
    """The cost of a function in one call of a case.

    own, inclusive : instructions, without and with those of its callees
    calls : how often it is called
    """

    own: float
    inclusive: float
    calls: float


@dataclass(frozen=True, eq=False)  # what is computed from one is kept for it
class Profile:
    """The functions of one case.

    instructions : of one call
    roots : the functions that the call starts with
    """

    instructions: float
    roots: tuple[Node, ...]

    @cached_property
    def smallest(self) -> float:
        """The exclusive instructions of its cheapest function: one that it leaves out has fewer."""
        return min((cost.own for cost in self.functions.values()), default=0.0)

    @cached_property
    def functions(self) -> dict[Function, FunctionCost]:
        """The cost of each function; within itself, a function's inclusive instructions count once."""
        costs: dict[Function, list[float]] = {}
        above: set[Function] = set()

        def visit(node: Node) -> float:
            cost = costs.setdefault(node.function, [0.0, 0.0, 0.0])
            is_outermost = node.function not in above
            cost[0] += node.own
            cost[2] += node.calls
            above.add(node.function)
            inclusive = node.own + sum(map(visit, node.callees))
            if is_outermost:
                above.remove(node.function)
                cost[1] += inclusive
            return inclusive

        for root in self.roots:
            visit(root)
        return {function: FunctionCost(*cost) for function, cost in costs.items()}


@dataclass(frozen=True, eq=False)
class Profiles:
    """The profiles of a release on one machine and Python.

    provenance : the file's keys except "functions" and "cases"
    cases : the rows of each case, by name
    """

    provenance: Mapping[str, Any]
    functions: tuple[Function, ...]
    cases: Mapping[str, Any] = field(repr=False)

    @property
    def empty_call(self) -> float | None:
        """The instructions of calling an empty Python function; None where they were not counted."""
        return self.provenance.get("empty_call")

    def instructions(self, name: str) -> float:
        """Return the instructions of a profiled case, without its functions."""
        return float(self.cases[name]["instructions"])

    def of(self, name: str) -> Profile | None:
        """Return the profile of a case by its name; None where it is not profiled."""
        return _profile(self, name)


@lru_cache(maxsize=64)  # the newest release is compared with every other one
def _profile(profiles: Profiles, name: str) -> Profile | None:
    row = profiles.cases.get(name)
    return Profile(row["instructions"], _nodes(row["tree"], profiles.functions)) if row else None


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
    """Return the path of the profile beside a result file."""
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

    try:
        return of_document(files.parsed(_decompressed(files.content(path))))
    except (ValueError, OverflowError, RecursionError, MemoryError, lzma.LZMAError) as error:
        raise files.damaged(path, str(error) or type(error).__name__) from error


def of_document(document: dict[str, Any]) -> Profiles:
    """Return the profiles in a document. Raises ValueError for one that violates the schema, or has a tree that is none."""
    _check(document)
    provenance = {name: value for name, value in document.items() if name not in ("functions", "cases")}
    functions = tuple((library, name) for library, name in document["functions"])
    if not all(isfinite(row["instructions"]) and _fits(row["tree"], len(functions)) for row in document["cases"].values()):
        raise ValueError("a tree that is no tree")
    return Profiles(provenance, functions, document["cases"])


def _decompressed(data: bytes) -> bytes:
    """Return the content of an xz file. Raises ValueError for one that is cut off or too large, and LZMAError."""
    import lzma

    decompressor = lzma.LZMADecompressor(memlimit=MEMORY)
    text = decompressor.decompress(data, max_length=LARGEST)
    if not decompressor.eof:
        raise ValueError(f"cut off, or more than {LARGEST:,} bytes")
    return text


def write(path: Path, document: dict[str, Any]) -> None:
    """Write a profile's document as a whole. Raises TensorcopyError for one that violates the schema."""
    import lzma

    try:
        _check(document)
    except ValueError as error:
        raise files.damaged(path, str(error)) from error
    text = json.dumps(document, separators=(",", ":")).encode()
    writing.replace(path, lzma.compress(text, preset=9 | lzma.PRESET_EXTREME))


def none_taken(result: Result) -> TensorcopyError:
    """Return the error for a result without profiles."""
    version = result.provenance["torch"].partition("+")[0]
    return TensorcopyError(
        f"the functions of torch {version} were not counted",
        got=f"no {files.displayed(path_of(result.path))}",
        allowed="a release with a function profile",
        next=f"tensorcopy measure {version}@{result.python} --machine {result.machine}, which needs valgrind",
    )


def _nodes(rows: list[float], functions: tuple[Function, ...]) -> tuple[Node, ...]:
    """Return the roots of a tree, from its rows."""
    waiting: list[tuple[int, Node]] = []  # nodes whose caller is not known yet, in reverse order
    for start in range(len(rows) - 4, -1, -4):
        depth, number, own, calls = rows[start : start + 4]
        callees = []
        while waiting and waiting[-1][0] > depth:
            callees.append(waiting.pop()[1])
        waiting.append((int(depth), Node(functions[int(number)], own, calls, tuple(callees))))
    return tuple(node for _, node in reversed(waiting))


def _fits(rows: list[float], functions: int) -> bool:
    """Return whether rows of numbers form a tree: each is at most one level below the row before, and names a function.

    A release has some 180,000 rows, too many for a loop in Python.
    """
    if len(rows) % 4 or not isfinite(sum(rows)):
        return False
    depths, numbers = rows[0::4], rows[1::4]
    if not (_are_whole(depths) and _are_whole(numbers)) or max(depths, default=0) > DEEPEST or max(numbers, default=-1) >= functions:
        return False
    return max(map(sub, depths, [-1, *depths]), default=1) <= 1


def _are_whole(values: list[float]) -> bool:
    """Return whether no number has a fraction; those of our files are integers."""
    return set(map(type, values)) <= {int} or all(map(float.is_integer, map(float, values)))


@cache
def _validator() -> Any:
    import fastjsonschema

    return fastjsonschema.compile(json.loads(SCHEMA.read_text(encoding="utf-8")))


def _check(document: Any) -> None:
    """Raise ValueError for a document that violates the schema. fastjsonschema's exception is one.

    The numbers in the trees are checked without it: it takes a second for those of one release.
    """
    trees = _trees(document)
    without = {name: {**document["cases"][name], "tree": []} for name in trees}
    _validator()({**document, "cases": {**document["cases"], **without}} if trees else document)
    for name, tree in trees.items():
        if not (set(map(type, tree)) <= {int, float} and min(tree, default=0) >= 0):
            raise ValueError(f"the tree of {name} has a value that is not a number from 0 on")


def _trees(document: Any) -> dict[str, list[Any]]:
    """Return the tree of each case that has a list."""
    cases = document.get("cases") if isinstance(document, dict) else None
    rows = cases.items() if isinstance(cases, dict) else ()
    return {name: row["tree"] for name, row in rows if isinstance(row, dict) and isinstance(row.get("tree"), list)}
