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
import os
import shutil
import subprocess
from collections.abc import Iterable
from itertools import zip_longest
from pathlib import Path
from typing import Any

from tensorcopy.errors import TensorcopyError
from tensorcopy.results import passes
from tensorcopy.results.reading import agreement, json_file, rows, schemas
from tensorcopy.results.reading.problems import NOT_RESULTS, FileProblem, damage_named, damaged, displayed, mislabelled
from tensorcopy.results.writing import whole_files

__all__ = ["NOT_RESULTS", "damage_named", "damaged", "displayed"]

SCHEMA = schemas.RESULT
SAMPLE_DIGITS = 5  # of a sample in seconds


def read(path: Path, inside: Path | None = None) -> dict[str, Any]:
    """Return a file's JSON object.

    inside : the folder of results, which a link must not leave
    Raises TensorcopyError, naming the file, for one that is cut off, too large, not a regular file or not a JSON object.
    """
    try:
        return json_file.read(path, inside)
    except ValueError as error:
        raise damaged(path, str(error)) from error


def result(path: Path) -> dict[str, Any]:
    """Return a valid result file's document.

    Raises TensorcopyError for one that is damaged, or that disagrees with itself, its name, its folder or the table of releases.
    """
    document = read(path, inside=path.parents[1])
    if not document.get("ledger"):
        raise mislabelled(path, "no provenance, as after a run that was killed", "the provenance of every pass")
    if violation := fault(document):
        raise damaged(path, violation)
    if difference := agreement.wrong_label(path, document):
        raise mislabelled(path, *difference)
    return document


def machine(directory: Path) -> dict[str, Any]:
    """Return a folder's machine.json.

    Raises TensorcopyError where it is damaged or another machine's.
    """
    path = directory / "machine.json"
    document = read(path, inside=directory.parent)
    if violation := schemas.fault(document, schemas.MACHINE):
        raise damaged(path, violation)
    if document["machine"] != directory.name:
        raise damaged(path, f"machine {document['machine'][:60]!r}")
    return document


def benchmarks(directory: Path) -> dict[str, Any]:
    """Return a folder's benchmarks.json: every suite by name, and the version of the format.

    Raises TensorcopyError for a missing or damaged one.
    """
    path = directory / "benchmarks.json"
    document = read(path, inside=directory)
    if violation := schemas.fault(document, schemas.BENCHMARKS) or rows.suites_fault(document):
        raise damaged(path, violation)
    return document


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


def stamped(
    document: dict[str, Any],
    report: dict[str, Any],
    earlier: dict[str, Any],
    record: dict[str, Any] | None = None,
    journal: Iterable[str] = (),
) -> dict[str, Any]:
    """Return asv's result file with provenance, observations and a pass's record.

    document : as asv has written it, which changes
    earlier : the file before this run, {} for none; asv has dropped the keys that are not its own
    record : the pass without its suites
    journal : the control's readings, see `passes.added`

    Cases that had numbers before and were skipped or failed now keep them: asv forgets a case's samples then.
    """
    document = {**document, **report}
    counts = _counts_added(rows_of(earlier), rows_of(document))
    if earlier:
        _keep_measured(document, earlier)
    if record is not None:
        old, new = samples_of(earlier), samples_of(document)
        records = passes.still_valid(earlier.get("passes", ()), old, new)
        versions = {suite: row["version"] for suite, row in rows_of(document).items()}
        record = {**record, "suites": passes.added(old, new, versions, journal), **({"counts": counts} if counts else {})}
        document["passes"] = [*records, record]
    document["version"] = document.pop("version")  # last, as asv writes it
    _round_samples(document)
    return document


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


def fault(document: dict[str, Any]) -> str:
    """Return where and how a document is not a valid result, "" if it is.

    Such as "passes[0].started must be integer: got 'two'".
    """
    return schemas.fault(document, schemas.RESULT, schemas.ASV) or rows.fault(document) or agreement.fault(document)


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


def cell(row: dict[str, Any], column: str, index: int) -> Any:
    """Return a case's value in a column; asv writes null for a column of nulls."""
    cells = row.get(column)
    return cells[index] if cells else None


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
    recorded = read(path).get("passes", [])
    if not isinstance(recorded, list) or not all(map(_is_record, recorded)):
        raise damaged(path, "passes that are not records")
    return recorded


def _is_record(record: object) -> bool:
    """Return whether a value has what tells which pass it records."""
    if not isinstance(record, dict) or not isinstance(record.get("selection"), str) or not isinstance(record.get("suites"), dict):
        return False
    return all(isinstance(row, dict) and "version" in row for row in record["suites"].values())


def suites(directory: Path) -> dict[str, Any]:
    """Return every suite as benchmarks.json describes it, {} without that file.

    Raises TensorcopyError for a damaged one.
    """
    document = benchmarks(directory) if os.path.lexists(directory / "benchmarks.json") else {}
    return {suite: row for suite, row in document.items() if suite != "version"}


def is_empty(path: Path) -> bool:
    """Return whether every case of a result file was skipped or failed."""
    return not any(number(value) is not None for row in read(path)["results"].values() for value in row[0] or ())


def number(value: Any) -> float | None:
    """Return a finite number, None for anything else.

    asv writes NaN for a skipped case, null for a failed one, and infinity for an interval of too few samples.
    """
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None


def write_readable(path: Path, document: dict[str, Any]) -> None:
    """Write benchmarks.json or machine.json, unless its values are unchanged.

    Indented, as asv writes them.
    """
    if not path.exists() or not same(read(path), document):
        whole_files.replace(path, json.dumps(document, indent=4, sort_keys=True) + "\n")


def fullest(machines: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the machine.json that describes a machine best: one as `asv machine --yes` writes it has only the name."""
    return max(machines, key=lambda machine: (sum(map(bool, machine.values())), canonical(machine)))


def same(first: Any, second: Any) -> bool:
    """Return whether two JSON values are equal; NaN equals NaN."""
    return canonical(first) == canonical(second)


def canonical(value: Any) -> str:
    """Return a JSON value as text that is equal for equal values, NaN included."""
    return json.dumps(value, sort_keys=True)
