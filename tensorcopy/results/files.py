"""asv's result files as JSON: read, checked, stamped and put in their place as a whole.

A file is asv's own JSON, version 2, with four keys more at its top level, which asv ignores; result.schema.json describes them, and what
it does not describe is neither written nor read:

provenance : what was there when it was last measured (`provenance`), with asv's version and the start as ISO 8601 in UTC
passes : which samples came from which pass, and what the control read beside each (`passes`)
methods : every method's code, and what it was observed to do there
article : how many of the article's statements held there
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensorcopy.errors import TensorcopyError
from tensorcopy.results import passes

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

SCHEMA = Path(__file__).with_name("result.schema.json")
NOT_RESULTS = ("machine.json", "benchmarks.json")


def read(path: Path) -> dict[str, Any]:
    """A JSON object. Raises TensorcopyError, naming the file, for one that is cut off or something else."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise damaged(path, str(error)) from error
    if not isinstance(document, dict):
        raise damaged(path, type(document).__name__)
    return document


def machine(directory: Path) -> dict[str, Any]:
    """A machine's own file. Raises TensorcopyError where it is damaged or another machine's."""
    path = directory / "machine.json"
    document = read(path)
    if document.get("machine") != directory.name:
        raise damaged(path, f"machine {document.get('machine')!r}")
    return document


def stamp(path: Path, report: dict[str, Any], before: str = "", record: dict[str, Any] | None = None, journal: Iterable[str] = ()) -> None:
    """Write the ledger, the observations and a pass's record into a result file that asv has written.

    before : the file's text before this run; asv has dropped what it does not know
    record : the pass without its suites
    journal : what the control read, see `passes.added`

    Cases that had numbers before and were skipped or failed now keep them: asv forgets a case's samples then.
    """
    document, earlier = {**read(path), **report}, json.loads(before) if before else {}
    if earlier:
        _keep_measured(document, earlier)
    if record is not None:
        then, now = samples_of(earlier), samples_of(document)
        records = passes.kept(earlier.get("passes", ()), then, now)
        versions = {suite: dict(zip(document["result_columns"], values))["version"] for suite, values in document["results"].items()}
        document["passes"] = [*records, {**record, "suites": passes.added(then, now, versions, journal)}]
    document["version"] = document.pop("version")  # last, as asv writes it
    write(path, document)


@cache
def _validator() -> Draft202012Validator:
    from jsonschema import Draft202012Validator  # who reads no results needs none

    return Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))


def fault(document: dict[str, Any]) -> str:
    """Where a document is not as result.schema.json describes it, and what is wrong there; "" where it is."""
    from jsonschema.exceptions import best_match

    error = best_match(_validator().iter_errors(document))
    return "" if error is None else f"{'/'.join(str(part) for part in error.absolute_path) or 'top level'}: {error.message}"


def write(path: Path, document: dict[str, Any]) -> None:
    """Put a result file in its place as a whole: it is there as it was, or as it will be. Raises TensorcopyError for what is not one."""
    wrong = fault(document)
    if wrong:
        raise damaged(path, wrong)
    put(path, json.dumps(document, separators=(",", ":")))


def put(path: Path, text: str) -> None:
    """Write a file as a whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.new")  # on the same file system, so that the rename is one act
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)


def samples_of(document: dict[str, Any]) -> dict[str, list[list[float] | None]]:
    """Every suite's samples by case, of the suite's version that the document has."""
    rows = {suite: dict(zip(document["result_columns"], values)) for suite, values in document.get("results", {}).items()}
    return {suite: row["samples"] for suite, row in rows.items() if row.get("samples")}


def _keep_measured(document: dict[str, Any], before: dict[str, Any]) -> None:
    columns = document["result_columns"]
    by_case = [column for column in columns if column in ("result", "samples") or column.startswith("stats_")]
    for suite, values in document["results"].items():
        now = dict(zip_longest(columns, values))
        then = dict(zip_longest(before["result_columns"], before["results"].get(suite, ())))
        if not then["result"] or (now["params"], now["version"]) != (then["params"], then["version"]):
            continue
        count = len(then["result"])
        results = now["result"] or [None] * count
        lost = [index for index in range(count) if number(results[index]) is None and number(then["result"][index]) is not None]
        for column in by_case if lost else ():
            cells = now[column] or [None] * count
            now[column] = [(then[column] or [None] * count)[i] if i in lost else cells[i] for i in range(count)]
        document["results"][suite] = [now[column] for column in columns]


def records(path: Path) -> list[dict[str, Any]]:
    """The passes of a result file, see `passes`. Raises TensorcopyError for a damaged one."""
    found = read(path).get("passes", [])
    return list(found)


def suites(directory: Path) -> dict[str, Any]:
    """Every suite as asv describes it in benchmarks.json. Raises TensorcopyError for a damaged one; none where there is none."""
    path = directory / "benchmarks.json"
    return {suite: row for suite, row in read(path).items() if suite != "version"} if path.exists() else {}


def holds_nothing(path: Path) -> bool:
    """Whether a result file has no number in it: everything was skipped."""
    return not any(number(value) is not None for row in read(path)["results"].values() for value in row[0] or ())


def number(value: Any) -> float | None:
    """asv's NaN is a skipped case, its null a failed one, its infinity an interval that too few samples give."""
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None


def name(path: Path) -> Path:
    """A file's path as a person finds it: from the folder of results on."""
    return path.relative_to(path.parents[1] if path.name == "benchmarks.json" else path.parents[2])


def damaged(path: Path, got: str) -> TensorcopyError:
    """What is said of a file that cannot be read."""
    called = name(path)
    return TensorcopyError(
        f"the result file {called} cannot be read",
        got=got,
        allowed="what asv has written, whole",
        next=f"git checkout {called}, or measure again",
    )
