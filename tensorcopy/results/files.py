"""asv's result files as JSON: read, validated, stamped, and replaced as a whole.

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
import shutil
import subprocess
from collections.abc import Callable, Iterable
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

from tensorcopy.errors import TensorcopyError
from tensorcopy.results import passes
from tensorcopy.results.writing import whole_files

SCHEMA = Path(__file__).with_name("result.schema.json")
NOT_RESULTS = ("machine.json", "benchmarks.json")
SAMPLE_DIGITS = 5  # of a sample in seconds
LONGEST = 300  # characters of a validator's message, which may list every key of the file


def read(path: Path) -> dict[str, Any]:
    """Return a file's JSON object.

    Raises TensorcopyError, naming the file, for one that is cut off or not a JSON object.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise damaged(path, str(error)) from error
    if not isinstance(document, dict):
        raise damaged(path, type(document).__name__)
    return document


def machine(directory: Path) -> dict[str, Any]:
    """Return a folder's machine.json.

    Raises TensorcopyError where it is damaged or another machine's.
    """
    path = directory / "machine.json"
    document = read(path)
    if document.get("machine") != directory.name:
        raise damaged(path, f"machine {document.get('machine')!r}")
    return document


def documents(directory: Path) -> tuple[dict[Path, dict[str, Any]], list[TensorcopyError], list[TensorcopyError]]:
    """Return every readable result file, the problems, and the unpublishable ones.

    Files of a machine without a valid machine.json are not read. asv cannot publish past an unpublishable problem.
    """
    problems: list[TensorcopyError] = []
    unpublishable: list[TensorcopyError] = []
    paths: list[Path] = []
    for folder in sorted({path.parent for path in directory.glob("*/*.json")}):
        try:
            machine(folder)
            paths += sorted(path for path in folder.glob("*.json") if path.name not in NOT_RESULTS)
        except TensorcopyError as error:
            problems.append(error)
            unpublishable += [error] if (folder / "machine.json").exists() else []  # asv skips a folder without one
    by_path = {}
    for path in paths:
        try:
            by_path[path] = read(path)
        except TensorcopyError as error:
            problems.append(error)
    return by_path, problems, unpublishable


def deleted(directory: Path) -> list[TensorcopyError]:
    """Return an error for each deleted result that git tracks.

    Raw results are only ever added.
    """
    git = shutil.which("git")
    if git is None or not directory.is_dir():
        return []
    done = subprocess.run(
        [git, "ls-files", "--deleted", "-z", "--", "."], cwd=directory, capture_output=True, text=True, check=False
    )  # fails outside a checkout, where nothing is tracked
    return [
        TensorcopyError(
            f"the result file {displayed(directory / name)} is gone",
            got="a deleted file",
            allowed="results are only ever added",
            next=f"git checkout {displayed(directory / name)}",
        )
        for name in filter(None, done.stdout.split("\0"))
    ]


def stamp(path: Path, report: dict[str, Any], before: str = "", record: dict[str, Any] | None = None, journal: Iterable[str] = ()) -> None:
    """Write provenance, observations and a pass's record into asv's result file.

    before : the file's text before this run; asv has dropped the keys that are not its own
    record : the pass without its suites
    journal : the control's readings, see `passes.added`

    Cases that had numbers before and were skipped or failed now keep them: asv forgets a case's samples then.
    """
    document, earlier = {**read(path), **report}, json.loads(before) if before else {}
    if earlier:
        _keep_measured(document, earlier)
    if record is not None:
        old, new = samples_of(earlier), samples_of(document)
        records = passes.still_valid(earlier.get("passes", ()), old, new)
        versions = {suite: row["version"] for suite, row in rows_of(document).items()}
        counts = _counts_added(rows_of(earlier), rows_of(document))
        record = {**record, "suites": passes.added(old, new, versions, journal), **({"counts": counts} if counts else {})}
        document["passes"] = [*records, record]
    document["version"] = document.pop("version")  # last, as asv writes it
    _round_samples(document)
    write(path, document)


def _round_samples(document: dict[str, Any]) -> None:
    """Round every sample and result to `SAMPLE_DIGITS`: a clock is no finer."""
    places = [document["result_columns"].index(column) for column in ("result", "samples")]
    for row in document["results"].values():
        for place in places:
            if place < len(row):
                row[place] = _rounded(row[place])


def _rounded(value: Any) -> Any:
    """Return a number, or each number of nested lists, rounded to `SAMPLE_DIGITS`."""
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(f"{value:.{SAMPLE_DIGITS}g}") if isinstance(value, float) and math.isfinite(value) else value


@cache
def _validator() -> Callable[[dict[str, Any]], object]:
    from fastjsonschema import compile  # imported only where results are read

    validate: Callable[[dict[str, Any]], object] = compile(
        json.loads(SCHEMA.read_text(encoding="utf-8")), use_formats=False, use_default=False
    )
    return validate


def fault(document: dict[str, Any]) -> str:
    """Return where and how a document violates result.schema.json, "" if valid.

    Such as "passes[0].started must be integer: got 'two'".
    """
    from fastjsonschema import JsonSchemaValueException

    try:
        _validator()(document)
    except JsonSchemaValueException as error:
        value = f": got {error.value!r:.60}" if isinstance(error.value, (str, int, float, type(None))) else ""
        return f"{error.message.removeprefix('data.').removeprefix('data ')[:LONGEST]}{value}"
    return ""


def write(path: Path, document: dict[str, Any]) -> None:
    """Replace a result file as a whole: an interrupted write leaves the old one.

    Raises TensorcopyError for a document that violates the schema.
    """
    violation = fault(document)
    if violation:
        raise damaged(path, violation)
    whole_files.replace(path, json.dumps(document, separators=(",", ":")))


def samples_of(document: dict[str, Any]) -> dict[str, list[list[float] | None]]:
    """Return every suite's samples by case."""
    return {suite: row["samples"] for suite, row in rows_of(document).items() if row.get("samples")}


def rows_of(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return every suite's row by column; {} for an empty document."""
    return {suite: dict(zip(document["result_columns"], values)) for suite, values in document.get("results", {}).items()}


def _counts_added(before: dict[str, dict[str, Any]], after: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the counts of this run, by suite; null for a case that was skipped.

    asv keeps the last count of a case only.
    """
    counts = {}
    for suite, row in after.items():
        ran = row.get("started_at") != before.get(suite, {}).get("started_at")
        values = [number(value) for value in row["result"] or ()] if ran and not row.get("samples") else []
        if any(value is not None for value in values):
            counts[suite] = {"version": row["version"], "values": _rounded(values)}
    return counts


def _keep_measured(document: dict[str, Any], before: dict[str, Any]) -> None:
    """Restore the cases that `document` lost since `before`.

    Where the suite's version or parameters have changed, its old numbers are dropped.
    """
    columns = document["result_columns"]
    by_case = [column for column in columns if column in ("result", "samples") or column.startswith("stats_")]
    for suite, values in document["results"].items():
        new = dict(zip_longest(columns, values))
        old = dict(zip_longest(before["result_columns"], before["results"].get(suite, ())))
        if not old["result"] or (new["params"], new["version"]) != (old["params"], old["version"]):
            continue
        count = len(old["result"])
        results = new["result"] or [None] * count
        lost = [index for index in range(count) if number(results[index]) is None and number(old["result"][index]) is not None]
        for column in by_case if lost else ():
            cells = new[column] or [None] * count
            new[column] = [(old[column] or [None] * count)[i] if i in lost else cells[i] for i in range(count)]
        document["results"][suite] = [new[column] for column in columns]


def records(path: Path) -> list[dict[str, Any]]:
    """Return the pass records of a result file, see `passes`.

    Raises TensorcopyError for a damaged one.
    """
    return list(read(path).get("passes", []))


def suites(directory: Path) -> dict[str, Any]:
    """Return every suite as benchmarks.json describes it, {} without that file.

    Raises TensorcopyError for a damaged one.
    """
    path = directory / "benchmarks.json"
    return {suite: row for suite, row in read(path).items() if suite != "version"} if path.exists() else {}


def is_empty(path: Path) -> bool:
    """Return whether every case of a result file was skipped or failed."""
    return not any(number(value) is not None for row in read(path)["results"].values() for value in row[0] or ())


def number(value: Any) -> float | None:
    """Return a finite number, None for anything else.

    asv writes NaN for a skipped case, null for a failed one, and infinity for an interval of too few samples.
    """
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None


def displayed(path: Path) -> Path:
    """Return a file's path from the folder of results on, as errors show it."""
    depth = 2 if path.name == "benchmarks.json" else 3  # results/benchmarks.json, results/machine/file.json
    full = path if len(path.parts) >= depth and ".." not in path.parts else path.resolve()  # a link in a full path keeps its name
    return Path(*full.parts[-depth:])


def damaged(path: Path, got: str) -> TensorcopyError:
    """Return the error for a file that cannot be read."""
    return TensorcopyError(
        f"the result file {displayed(path)} cannot be read",
        got=got,
        allowed="a complete file as asv writes it",
        next=f"git checkout {displayed(path)}, or measure again",
    )
