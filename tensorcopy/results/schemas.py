"""Whether a document is a valid result, machine.json or benchmarks.json.

It matches its JSON schemas (asv's own keys and tensorcopy's), its rows and passes fit each other, and it agrees with its place and with the
table of releases. Numbers and texts without a bound of their own get one: no result has a greater number or a longer text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import cache
from math import inf, isnan, prod
from pathlib import Path
from typing import Any

from tensorcopy.releases import release_table
from tensorcopy.results.series_key import of_provenance

FOLDER = Path(__file__).parent
RESULT, ASV, MACHINE, BENCHMARKS = (FOLDER / f"{name}.schema.json" for name in ("result", "asv", "machine", "benchmarks"))
GREATEST = 2**62  # also of a count of bytes or instructions
LONGEST_TEXT = 100_000  # characters, such as those of a suite's code
LONGEST_MESSAGE = 300  # characters of a validator's message, which may list every key of the file


def schema_fault(document: dict[str, Any], *schemas: Path) -> str:
    """Return where and how a document violates its schemas, "" if valid.

    Such as "passes[0].started must be integer: got 'two'".
    """
    from fastjsonschema import JsonSchemaValueException

    try:
        for schema in schemas:
            _validator(schema)(document)
    except JsonSchemaValueException as error:
        value = f": got {error.value!r:.60}" if isinstance(error.value, (str, float, type(None))) or _is_short(error.value) else ""
        return f"{error.message.removeprefix('data.').removeprefix('data ')[:LONGEST_MESSAGE]}{value}"
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


# Whether the rows and the passes of a result file fit each other.
#
# Each case has one place in every column and in every pass, each sample belongs to a pass, and asv's result is the median of the samples.

MOST_CASES = 100_000  # of a file: a site with ten thousand takes minutes
MOST_AXES = 20
LONGEST_PARAMETER = 1_000  # characters
ROUNDING = 1e-3  # of a result against the median of its samples: both are rounded to five digits
FAR = 1e5  # of a sample against the median of its case: the program would have stood still for minutes
SHORTEST_SAMPLE, LONGEST_SAMPLE = 1e-12, 1e6  # seconds: a call takes more than a cycle, and less than eleven days

Document = dict[str, Any]


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
    return _records_fault(document)


def suites_fault(document: Document) -> str:
    """Return which suite of a benchmarks.json does not fit itself, "" if all do."""
    for suite, row in document.items():
        if suite != "version" and row.get("name", suite) != suite:
            return f"{suite[:100]} has the name {row['name'][:100]}"
        if suite != "version" and len(row["params"]) != len(row["param_names"]):
            return f"{suite[:100]} has {len(row['param_names'])} names of {len(row['params'])} parameters"
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
        elif name in ("started_at", "duration") and cells is not None and not is_number(cells):
            return f"has a value in the column {name} that is not a number"
        elif name == "profile" and cells is not None and not isinstance(cells, str):
            return "has a profile that is not a string"
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


def _records_fault(document: Document) -> str:
    """Return what is wrong with the passes beside the rows."""
    for number, record in enumerate(document["passes"]):
        for suite, of_suite in record["suites"].items():
            if suite not in document["results"] and any(of_suite["samples"]):  # a removed suite leaves its readings of the control
                return f"passes[{number}] has samples of {suite[:100]}, which has no results"
            for index, interruptions in of_suite.get("interruptions", {}).items():
                samples = of_suite["samples"]
                if not index.isdecimal() or len(index) > 9 or int(index) >= len(samples) or len(interruptions) != samples[int(index)]:
                    return f"passes[{number}] has interruptions of case {index[:20]} of {suite[:100]}, which do not fit its samples"
                if not all(len(reading) == 3 and all(map(is_number, reading)) for reading in interruptions):
                    return f"passes[{number}] has interruptions of {suite[:100]} that are not three numbers"
        for suite, of_suite in record.get("counts", {}).items():
            if suite not in document["results"]:
                return f"passes[{number}] has counts of {suite[:100]}, which has no results"
            if not all(value is None or is_number(value) for value in of_suite["values"]):
                return f"passes[{number}] has a count of {suite[:100]} that is not a number"
    return ""


# Whether a result file agrees with itself, with its place and with the table of releases.

SAME_IN_PASSES = ("torch", "torch_sha", "build", "numpy")  # of all passes of a file

Difference = tuple[str, str]  # what the file has, and what is allowed


def passes_fault(document: Document) -> str:
    """Return how the passes of a file differ from each other, "" if they agree.

    document : one that matches its schemas
    """
    ids: set[str] = set()
    processors: dict[str, str] = {}
    for number, record in enumerate(document["passes"]):
        if record["id"] in ids or not record["id"]:
            return f"two passes have the id {record['id'][:60]!r}" if record["id"] else "a pass has no id"
        ids.add(record["id"])
        of_pass, whole = record["ledger"], document["ledger"]
        for name in SAME_IN_PASSES:
            if of_pass[name] != whole[name]:
                return f"{name} of passes[{number}] is {of_pass[name]!r:.60}, and that of the file is {whole[name]!r:.60}"
        if processors.setdefault(of_provenance(of_pass), of_pass["cpu"]) != of_pass["cpu"]:
            return f"cpu of passes[{number}] is {of_pass['cpu']!r:.60}, and that of an earlier pass of the same machine is another"
    return next(_impossible(document), "")


def _impossible(document: Document) -> Iterator[str]:
    """Yield the times and numbers that cannot be."""
    starts = [record["started"] for record in document["passes"]]
    provenances = [document["ledger"], *(record["ledger"] for record in document["passes"])]
    for started in (*starts, *(provenance["started"] for provenance in provenances)):
        if not _is_time(started):
            yield f"{started!r:.60} is not a time"
    for value in _numbers(provenances):
        if not is_number(value):
            yield f"{value!r:.60} in the provenance is not a number"
    if not all(map(is_number, document.get("durations", {}).values())):
        yield "durations has a value that is not a number"


def _numbers(value: object) -> Iterator[float]:
    """Yield every number in a JSON value that is not a whole one: a schema's bounds let NaN pass."""
    if isinstance(value, float):
        yield value
    elif isinstance(value, (list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _numbers(item)


@cache
def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def wrong_label(path: Path, document: Document) -> Difference | None:
    """Return what disagrees among a file's place, its label and its provenance.

    document : one that matches its schemas
    """
    return next(_differences(path, document), None)


def release_of(document: Document) -> str:
    """Return the version of the release that a file's SHA has in the table; "" without a row."""
    return release_table.load().version(document["commit_hash"])


def _differences(path: Path, document: Document) -> Iterator[Difference]:
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


def fault(document: dict[str, Any]) -> str:
    """Return where and how a document is not a valid result, "" if it is.

    Such as "passes[0].started must be integer: got 'two'".
    """
    return schema_fault(document, RESULT, ASV) or rows_fault(document) or passes_fault(document)
