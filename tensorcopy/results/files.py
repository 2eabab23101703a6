"""Read one file of results as JSON, within limits, check it, and name what is wrong with it.

A file is asv's own JSON, version 2, with four more keys at its top level, which asv ignores. result.schema.json describes them; a file that
does not match it is neither written nor read:

"ledger" : the provenance of the last pass, with asv's version and the start as ISO 8601 in UTC
"passes" : which samples came from which pass, and the control beside each (`passes`)
"methods" : every method's code, and what it was observed to do
"article" : how many of the article's statements held
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import stat
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cache, partial
from math import inf, isnan, prod
from pathlib import Path
from typing import Any

from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import release_table
from tensorcopy.results.series_key import of_provenance

Document = dict[str, Any]
NOT_RESULTS = ("machine.json", "benchmarks.json")
FOLDER = Path(__file__).parent
RESULT, ASV, MACHINE, BENCHMARKS, CONFIRMATION, FUNCTIONS = (
    FOLDER / f"{name}.schema.json" for name in ("result", "asv", "machine", "benchmarks", "confirmation", "functions")
)


def result(path: Path) -> Document:
    """Return a valid result file's document.

    Raises TensorcopyError for one that is damaged, or that disagrees with itself, its name, its folder or the table of releases.
    """
    document = read(path, inside=path.parents[1])
    if not document.get("ledger"):
        raise mislabelled(path, "no provenance, as after a run that was killed", "the provenance of every pass")
    with damage_named(path):
        if violation := fault(document):
            raise ValueError(violation)
    for difference in _differences(path, document):
        raise mislabelled(path, *difference)
    return document


def machine(directory: Path) -> Document:
    """Return a folder's machine.json.

    Raises TensorcopyError where it is damaged or another machine's.
    """
    path = directory / "machine.json"
    document = read(path, inside=directory.parent)
    if violation := schema_fault(document, MACHINE):
        raise damaged(path, violation)
    if document["machine"] != directory.name:
        raise damaged(path, f"machine {document['machine'][:60]!r}")
    return document


def benchmarks(directory: Path) -> Document:
    """Return a folder's benchmarks.json: every suite by name, and the version of the format.

    Raises TensorcopyError for a missing or damaged one.
    """
    path = directory / "benchmarks.json"
    document = read(path, inside=directory)
    if violation := schema_fault(document, BENCHMARKS):
        raise damaged(path, violation)
    for suite, row in document.items():
        if suite != "version" and row.get("name", suite) != suite:
            raise damaged(path, f"{suite[:100]} has the name {row['name'][:100]}")
        if suite != "version" and len(row["params"]) != len(row["param_names"]):
            raise damaged(path, f"{suite[:100]} has {len(row['param_names'])} names of {len(row['params'])} parameters")
    return document


def suites(directory: Path) -> dict[str, Any]:
    """Return every suite as benchmarks.json describes it, {} without that file.

    Raises TensorcopyError for a damaged one.
    """
    document = benchmarks(directory) if os.path.lexists(directory / "benchmarks.json") else {}
    return {suite: row for suite, row in document.items() if suite != "version"}


def records(path: Path) -> list[Document]:
    """Return the pass records of a result file, see `passes`. Raises TensorcopyError for a damaged one."""
    recorded: list[Document] = result(path)["passes"]
    return recorded


def deleted(directory: Path) -> list[TensorcopyError]:
    """Return an error for each deleted result that git tracks.

    Raw results are only ever added.
    """
    git = shutil.which("git")
    command = [git or "git", "ls-files", "--deleted", "-z", "--", "."]  # fails outside a checkout, where nothing is tracked
    try:
        done = subprocess.run(command, cwd=directory, capture_output=True, text=True, errors="replace", check=False)
    except OSError:  # without git, without the folder or without the right to enter it
        return []
    return [
        FileProblem(
            f"the result file {displayed(directory / name)} is gone",
            path=directory / name,
            got="a deleted file",
            allowed="results are only ever added",
            next=f"git checkout {displayed(directory / name)}",
        )
        for name in filter(None, done.stdout.split("\0"))
    ]


def rows_of(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return every suite's row by column; {} for an empty document."""
    return {suite: dict(zip(document["result_columns"], values)) for suite, values in document.get("results", {}).items()}


def cell(row: dict[str, Any], column: str, index: int) -> Any:
    """Return a case's value in a column; asv writes null for a column of nulls."""
    cells = row.get(column)
    return cells[index] if cells else None


def number(value: Any) -> float | None:
    """Return a finite number, None for anything else.

    asv writes NaN for a skipped case, null for a failed one, and infinity for an interval of too few samples.
    """
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None


def fullest(machines: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the machine.json that describes a machine best: one as `asv machine --yes` writes it has only the name."""
    return max(machines, key=lambda machine: (sum(map(bool, machine.values())), canonical(machine)))


def same(first: Any, second: Any) -> bool:
    """Return whether two JSON values are equal; NaN equals NaN."""
    return canonical(first) == canonical(second)


def canonical(value: Any) -> str:
    """Return a JSON value as text that is equal for equal values, NaN included."""
    return json.dumps(value, sort_keys=True)


# The errors that name a file of results.

LONGEST_QUOTE = 600  # characters of what a problem quotes


class FileProblem(TensorcopyError):
    """An error that names a file of results: it is damaged, refused or gone."""

    def __init__(self, what: str, *, path: Path, got: str, allowed: str, next: str, repair: str = "") -> None:
        super().__init__(what, got=" ".join(got[:LONGEST_QUOTE].split()), allowed=allowed, next=next, repair=repair)
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how another process raises the error again."""
        parts = {"got": self.got, "allowed": self.allowed, "next": self.next, "repair": self.repair}
        return partial(type(self), self.what, path=self.path, **parts), ()


def displayed(path: Path) -> Path:
    """Return a file's path from the folder of results on, as errors show it."""
    depth = 2 if path.name == "benchmarks.json" else 3  # results/benchmarks.json, results/machine/file.json
    full = path if len(path.parts) >= depth and ".." not in path.parts else path.resolve()  # a link in a full path keeps its name
    return Path(*full.parts[-depth:])


def damaged(path: Path, got: str) -> FileProblem:
    """Return the error for a file that cannot be read."""
    return FileProblem(
        f"the result file {displayed(path)} cannot be read",
        path=path,
        got=got,
        allowed="a complete file as asv writes it",
        next=f"git checkout {displayed(path)}, or measure again",
        repair=f"git checkout {displayed(path)}",
    )


@contextmanager
def damage_named(path: Path) -> Iterator[None]:
    """Raise TensorcopyError, naming the file, for a ValueError, and where its values are not what the code expects of a valid one."""
    try:
        yield
    except ValueError as error:
        raise damaged(path, str(error)) from error
    except (LookupError, TypeError, AttributeError, OverflowError, RecursionError, MemoryError) as error:
        raise damaged(path, f"{type(error).__name__}: {error}") from error


def mislabelled(path: Path, got: str, allowed: str) -> FileProblem:
    """Return the error for a file whose name, folder, label or passes disagree."""
    return FileProblem(
        f"the result file {displayed(path)} is refused, its provenance does not match its label",
        path=path,
        got=got,
        allowed=allowed,
        next="remove the file and measure again",
    )


def in_no_row(path: Path, document: Document) -> FileProblem:
    """Return the error for a result of a torch that is not in the table of releases: it is in no history."""
    return FileProblem(
        f"the result file {displayed(path)} is in no history",
        path=path,
        got=f"torch {document['ledger']['torch'][:60]} of {document['commit_hash'][:8]}",
        allowed="a SHA with a row in the table of releases",
        next=f"tensorcopy list releases --add {document['ledger']['torch'].partition('+')[0][:60]}",
    )


# Read a JSON file that anybody may have written, within limits of size and depth.

LARGEST = 64 * 2**20  # bytes: hundreds of passes
MOST_CONTAINERS = 1_000_000  # lists and objects: each takes 60 bytes and more
MOST_VALUES = 8_000_000  # numbers and texts: each takes 32 bytes and more
LONGEST_NAME = 10_000  # characters of an object's key

# an escaped control character, a lone surrogate, or one of the control characters that JSON allows in a text
_SUSPECT = re.compile(rb"\\u(?:00[01]|007[fF]|00[89]|[dD][89a-fA-F])|\\[bf]|\x7f|\xc2[\x80-\x9f]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")  # others than tab and the ends of a line


def read(path: Path, inside: Path | None = None) -> dict[str, Any]:
    """Return a file's JSON object.

    inside : the folder of results, which a link must not leave
    Raises TensorcopyError, naming the file, for anything else than a regular file of JSON within the limits.
    """
    with damage_named(path):
        document = parsed(content(path, inside))
        if not isinstance(document, dict):
            raise ValueError(type(document).__name__)
    return document


def content(path: Path, inside: Path | None = None) -> bytes:
    """Return the content of a regular file; `inside` as for `read`. Raises ValueError, with the reason, for anything else."""
    try:
        if inside is not None and Path(os.path.realpath(inside)) not in Path(os.path.realpath(path)).parents:
            raise ValueError("a link that leaves the folder of results")
        with open(path, "rb", opener=_open) as file:  # Path.open takes no opener
            return file.read(LARGEST)  # a file that grows meanwhile is cut off, and so no JSON
    except OSError as error:
        raise ValueError(error.strerror or str(error)) from error


def _open(path: str, flags: int) -> int:
    """Open a regular file that is not too large. Raises ValueError for anything else, and OSError."""
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # to open a FIFO would wait for its writer
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode) and status.st_size <= LARGEST:
        return descriptor
    os.close(descriptor)
    if stat.S_ISREG(status.st_mode):
        raise ValueError(f"more than {LARGEST // 2**20} MiB")
    raise ValueError("a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file")


def parsed(data: bytes) -> Any:
    """Return the value that JSON text describes. Raises ValueError."""
    if data.count(b"[") + data.count(b"{") > MOST_CONTAINERS or data.count(b",") > MOST_VALUES:
        raise ValueError(f"more than {MOST_CONTAINERS:,} lists and objects, or {MOST_VALUES:,} values")
    document = json.loads(data.decode("utf-8"), object_pairs_hook=_object)
    if _SUSPECT.search(data):
        _check_texts(document)
    return document


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object. Raises ValueError for a key that is there twice."""
    document = dict(pairs)
    if len(document) != len(pairs):
        (name, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"{name[:60]!r} twice in one object")
    for name in document:
        if len(name) > LONGEST_NAME:
            raise ValueError(f"a name of {len(name):,} characters")
    return document


def _check_texts(value: Any) -> None:
    """Raise ValueError for a text with a lone surrogate or a control character."""
    if isinstance(value, str):
        value.encode("utf-8")
        if control := _CONTROL.search(value):
            raise ValueError(f"the control character {control[0]!r}")
    elif isinstance(value, dict):
        for name, item in value.items():
            _check_texts(name)
            _check_texts(item)
    elif isinstance(value, list):
        for item in value:
            _check_texts(item)


# Whether a document is a valid result.
#
# It matches its JSON schemas (asv's own keys and tensorcopy's), its rows and passes fit each other, and it agrees with its place and with
# the table of releases. Numbers and texts without a bound of their own get one: no result has a greater number or a longer text.

GREATEST = 2**62  # also of a count of bytes or instructions
LONGEST_TEXT = 100_000  # characters, such as those of a suite's code
LONGEST_MESSAGE = 300  # characters of a validator's message, which may list every key of the file


def fault(document: dict[str, Any]) -> str:
    """Return where and how a document is not a valid result, "" if it is.

    Such as "passes[0].started must be integer: got 'two'".
    """
    return schema_fault(document, RESULT, ASV) or rows_fault(document) or passes_fault(document)


def schema_fault(document: dict[str, Any], *schemas: Path) -> str:
    """Return where and how a document violates its schemas, "" if valid.

    Such as "passes[0].started must be integer: got 'two'".
    """
    from fastjsonschema import JsonSchemaValueException

    try:
        for schema in schemas:
            _validator(schema)(document)
    except JsonSchemaValueException as error:
        is_short = isinstance(error.value, (str, float, type(None))) or is_number(error.value)  # Python writes no number of 5,000 digits
        value = f": got {error.value!r:.60}" if is_short else ""
        return f"{error.message.removeprefix('data.').removeprefix('data ')[:LONGEST_MESSAGE]}{value}"
    return ""


def is_number(value: object) -> bool:
    """Return whether a JSON value is a finite number of a possible size; true and false are none."""
    return type(value) in (int, float) and abs(value) <= GREATEST  # type: ignore[arg-type]  # NaN is never less


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


# Whether the rows and the passes of a result file fit each other.
#
# Each case has one place in every column and in every pass, each sample belongs to a pass, and asv's result is the median of the samples.

MOST_CASES = 100_000  # of a file: a site with ten thousand takes minutes
MOST_AXES = 20
LONGEST_PARAMETER = 1_000  # characters
ROUNDING = 1e-3  # of a result against the median of its samples: both are rounded to five digits
FAR = 1e5  # of a sample against the median of its case: the program would have stood still for minutes
SHORTEST_SAMPLE, LONGEST_SAMPLE = 1e-12, 1e6  # seconds: a call takes more than a cycle, and less than eleven days


def rows_fault(document: Document) -> str:
    """Return where the rows of a document of asv do not fit, "" if they do.

    document : one that matches both schemas
    """
    cases = 0
    for suite, values in document["results"].items():
        row = dict(zip(document["result_columns"], values))
        counted = [record["suites"][suite] for record in document["passes"] if suite in record["suites"]]
        if reason := _row_fault(row, cases) or _samples_fault(row, counted, is_recorded=bool(document["passes"])):
            return f"results.{suite[:100]} {reason}"
        cases += _case_count(row)
    for number, record in enumerate(document["passes"]):
        for suite, of_suite in record["suites"].items():
            if suite not in document["results"] and any(of_suite["samples"]):  # a removed suite leaves its readings of the control
                return f"passes[{number}] has samples of {suite[:100]}, which has no results"
            for index, interruptions in of_suite.get("interruptions", {}).items():
                samples = of_suite["samples"]
                if not index.isdecimal() or len(index) > 9 or int(index) >= len(samples) or len(interruptions) != samples[int(index)]:
                    return f"passes[{number}] has interruptions of case {index[:20]} of {suite[:100]}, which do not fit its samples"
        for suite in record.get("counts", {}).keys() - document["results"].keys():
            return f"passes[{number}] has counts of {suite[:100]}, which has no results"
    return ""


def _case_count(row: Document) -> int:
    return prod(len(axis) for axis in row["params"])


def _row_fault(row: Document, before: int) -> str:
    """Return what is wrong with a suite's row by itself.

    before : how many cases the file has before it
    """
    if not isinstance(row.get("version"), str) or len(row["version"]) > 100:
        return "has no version"
    if "result" not in row:
        return "has no column result"
    params = row.get("params")
    if not isinstance(params, list) or len(params) > MOST_AXES or not all(map(_is_axis, params)):
        return "has params that are not a list of lists of strings"
    count = _case_count(row)
    if before + count > MOST_CASES:
        return f"has {count:,} cases after {before:,} of other suites: allowed are {MOST_CASES:,} in a file"
    for name, cells in row.items():
        if name in ("result", "samples") or name.startswith("stats_"):
            if cells is not None and (not isinstance(cells, list) or len(cells) != count):
                return f"does not have {count} cells in column {name}"
            if name != "samples" and not all(cell is None or _is_cell(cell, name) for cell in cells or ()):
                return f"has a value in the column {name} that is not a number"
    return ""


def _is_axis(axis: object) -> bool:
    """Return whether a value is a parameter's list of different texts."""
    return (
        isinstance(axis, list)
        and all(isinstance(text, str) and len(text) <= LONGEST_PARAMETER for text in axis)
        and len(set(axis)) == len(axis)
    )


def _is_cell(value: object, name: str) -> bool:
    """Return whether a value is a number; asv writes NaN for a skipped case, and infinity for an interval of too few samples."""
    return is_number(value) or (isinstance(value, float) and (isnan(value) or (name.startswith("stats_ci") and abs(value) == inf)))


def _samples_fault(row: Document, counted: Sequence[Document], *, is_recorded: bool) -> str:
    """Return what is wrong with a suite's samples, and how its passes count them.

    counted : of each pass that has the suite
    is_recorded : whether the file has any pass; one without has samples of before passes were recorded
    """
    count, all_samples = _case_count(row), row.get("samples") or ()
    results = row["result"] or [None] * count
    in_passes = [0] * count
    for of_pass in counted:
        if len(of_pass["samples"]) > count or len(of_pass["control_ns"]) != len(of_pass["samples"]):
            return f"has {count} cases, and not as many in a pass"
        for index, (number, readings) in enumerate(zip(of_pass["samples"], of_pass["control_ns"])):
            in_passes[index] += number
            if readings and len(readings) != number:
                return f"has {number} samples of case {index} in a pass, with {len(readings)} readings of the control"
    for index in range(count):
        samples = all_samples[index] if all_samples else None
        if samples is not None and not isinstance(samples, list):
            return f"has samples of case {index} that are not a list"
        if len(samples or ()) != in_passes[index] and is_recorded:
            return f"has {len(samples or ())} samples of case {index}, {in_passes[index]} in passes"
        if samples and (reason := _of_case(samples, results[index])):
            return f"{reason} in case {index}"
    return ""


def _of_case(samples: list[Any], result: Any) -> str:
    """Return what is wrong with the samples of a case."""
    for sample in samples:
        if type(sample) not in (int, float) or not SHORTEST_SAMPLE < sample < LONGEST_SAMPLE:
            return f"has a sample of {str(sample)[:40]} seconds"
    ordered = sorted(samples)
    middle = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
    if ordered[-1] > FAR * middle or middle > FAR * ordered[0]:
        return f"has samples from {ordered[0]:.3g} to {ordered[-1]:.3g} seconds"
    if not is_number(result) or abs(result - middle) > ROUNDING * middle:
        return f"has a result of {result}, and samples with a median of {middle:.5g} seconds,"
    return ""


# Whether a result file agrees with itself, with its place and with the table of releases.

SAME_IN_PASSES = ("torch", "torch_sha", "build", "numpy")  # of all passes of a file


def passes_fault(document: Document) -> str:
    """Return how the passes of a file differ from each other, "" if they agree.

    document : one that matches its schemas
    """
    ids: set[str] = set()
    processors: dict[str, str] = {}
    for number, record in enumerate(document["passes"]):
        if record["id"] in ids:
            return f"two passes have the id {record['id'][:60]!r}"
        ids.add(record["id"])
        of_pass, whole = record["ledger"], document["ledger"]
        for name in SAME_IN_PASSES:
            if of_pass[name] != whole[name]:
                return f"{name} of passes[{number}] is {of_pass[name]!r:.60}, and that of the file is {whole[name]!r:.60}"
        if processors.setdefault(of_provenance(of_pass), of_pass["cpu"]) != of_pass["cpu"]:
            return f"cpu of passes[{number}] is {of_pass['cpu']!r:.60}, and that of an earlier pass of the same machine is another"
    for each in (document["ledger"], *document["passes"], *(record["ledger"] for record in document["passes"])):
        if not _is_time(each["started"]):
            return f"{each['started']!r:.60} is not a time"
    try:
        json.dumps({name: value for name, value in document.items() if name != "results"}, allow_nan=False)
    except ValueError as error:  # a schema's bounds let NaN pass
        return f"outside of the results, {str(error)[:60]}"
    return ""


@cache
def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def release_of(document: Document) -> str:
    """Return the version of the release that a file's SHA has in the table; "" without a row."""
    return release_table.load().version(document["commit_hash"])


def _differences(path: Path, document: Document) -> Iterator[tuple[str, str]]:
    """Yield what disagrees among a file's place, its label and its provenance: what the file has, and what is allowed."""
    sha, environment, params = document["commit_hash"], document["env_name"], document["params"]
    provenance, python, build = document["ledger"], document["python"], params["build"]
    if provenance["torch_sha"] != sha:
        yield provenance["torch_sha"], f"the provenance of torch {sha[:8]}"
    release = release_of(document)
    if release and provenance["torch"].partition("+")[0] != release:
        yield f"torch {provenance['torch'][:60]!r} in the provenance", f"torch {release}, which has this SHA"
    if path.name != f"{sha[:8]}-{environment}.json":
        yield f"the file name {path.name[:60]}", f"{sha[:8]}-{environment}.json"
    if params["machine"] != path.parent.name:
        yield f"params.machine {params['machine'][:60]!r}", f"the folder's name, {path.parent.name}"
    if params["python"] != python:
        yield f"params.python {params['python']!r}", f"python {python}"
    if not provenance["python"].startswith(f"{python}."):
        yield f"python {provenance['python'][:60]!r} in the provenance", f"python {python}"
    for place, other in (("the provenance", provenance["build"]), ("requirements", document["requirements"].get("build"))):
        if other is not None and other != build:
            yield f"build {other[:60]!r} in {place}", f"params.build {build}"
    if environment.removesuffix("-interpreter") != f"py{python}-{provenance['build']}":
        yield f"env_name {environment[:60]!r}", f"py{python}-{provenance['build']}"
