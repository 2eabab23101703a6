"""Merge two result files of one release, machine and environment.

`merge` merges folders of them.

Merging is commutative, associative and idempotent. Passes are identified by their id and ordered by their start. The samples of a case are
those of its passes, one pass after another, and asv's statistics are computed from them anew. What a record has by case follows the
merged parameters. Where both files have a different value of which there can be only one, the file measured last wins. Of two versions of
a suite the higher wins. Of two counts of one case (bytes, instructions) the smaller wins: a disturbance only adds to a count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from statistics import median
from typing import Any

from tensorcopy.errors import TensorcopyError
from tensorcopy.results import files, passes
from tensorcopy.results.series_key import UNKNOWN, machine_names, of_provenance, two_machines

Document = dict[str, Any]
Row = dict[str, Any]  # of a suite: a value for each of asv's columns
BySuite = Mapping[str, Mapping[str, Document]]
Summary = Callable[[list[float]], tuple[float, dict[str, Any]]]  # asv's result and statistics columns of a case's samples


@dataclass(frozen=True, order=True)
class _Taken:
    """What one pass took of a case.

    control : in nanoseconds; interruptions : of each sample, see `passes`
    """

    samples: list[float]
    control: list[int]
    interruptions: list[list[float]]


ByPass = dict[str, _Taken]  # by pass id, "" for samples without a record

IDENTITY = ("commit_hash", "env_name", "python", "requirements", "env_vars")


class _File:
    """One of the two files: its suites' rows by column, and its pass records by id."""

    def __init__(self, document: Document) -> None:
        self.rows: dict[str, Row] = {suite: dict(zip(document["result_columns"], row)) for suite, row in document["results"].items()}
        self.records: dict[str, Document] = {record["id"]: record for record in document["passes"]}
        self.document = document

    def by_pass(self, suite: str, index: int, case: int) -> ByPass:
        """Return a case's samples and their control by pass.

        index : of the case in this file; case : its index in the merged file, for errors
        """
        samples = files.cell(self.rows[suite], "samples", index) or []
        try:
            parts = passes.split_by_pass(self.records.values(), suite, index, samples)
        except ValueError as error:
            raise _contradiction(self.document, f"samples of {suite}, case {case}", str(error)) from error
        by_pass = {}
        for name, taken, readings in parts:
            by_case = self.records[name]["suites"][suite].get("interruptions", {}) if name else {}
            by_pass[name] = _Taken(taken, readings, by_case.get(str(index), []))
        return by_pass

    def counts(self, name: str, suite: str) -> list[float | None]:
        """Return a pass's counts of a suite by case, [] if it has none of the row's version."""
        counts = self.records.get(name, {}).get("counts", {}).get(suite)
        row = self.rows[suite]
        current = counts and counts["version"] == row["version"] and len(counts["values"]) == case_count(row["params"])
        return list(counts["values"]) if current else []


@dataclass(frozen=True)
class _Case:
    """A merged case: asv's result, statistics by column, samples, and both by pass."""

    result: Any
    statistics: dict[str, Any]
    samples: list[float] | None
    by_pass: ByPass


def merged(first: Document, second: Document, summary: Summary) -> Document:
    """Return two result files as one.

    Raises TensorcopyError where they have different identities or contradict each other.
    """
    older, newer = sorted((first, second), key=lambda document: (document["ledger"]["started"], files.canonical(_single_values(document))))
    for name in IDENTITY:
        if first[name] != second[name]:
            raise _contradiction(newer, name, _both(first[name], second[name]))
    both = [_File(document) for document in (older, newer)]
    by_id = {record["id"]: record for record in (*older["passes"], *newer["passes"])}
    records = sorted(by_id.values(), key=lambda record: (record["started"], record["id"]))
    rows, record_parts, counts = {}, {}, {}
    for suite in sorted({*older["results"], *newer["results"]}):
        having = [file for file in both if suite in file.rows]
        rows[suite], record_parts[suite] = _suite(suite, having, [record["id"] for record in records], summary)
        counts[suite] = _counts(suite, having, rows[suite], [record["id"] for record in records])
    columns, durations = newer["result_columns"], sorted({*older["durations"], *newer["durations"]})
    return {
        **_single_values(newer),
        "results": {suite: _without_trailing_nulls([row.get(column) for column in columns]) for suite, row in rows.items()},
        "durations": {name: max(file["durations"].get(name, 0.0) for file in (older, newer)) for name in durations},
        "passes": [_record(record["id"], both, record_parts, counts) for record in records],
        "version": newer["version"],
    }


def version_order(version: str) -> tuple[int, str]:
    """Return a sort key of suite versions.

    Ours are numbers; asv's own are hashes of the code, which have no order in time.
    """
    return (int(version), "") if version.isdecimal() else (-1, version)


def case_count(params: Sequence[Sequence[str]]) -> int:
    """Return how many cases a suite with these parameters has."""
    return prod(len(axis) for axis in params)


def _single_values(document: Document) -> Document:
    """Return the keys whose values are taken from one file, not merged.

    Identity, provenance and observations.
    """
    return {name: value for name, value in document.items() if name not in ("results", "durations", "passes", "version")}


def _record(name: str, both: Sequence[_File], parts: BySuite, counts: BySuite) -> Document:
    """Return the merged record of one pass.

    parts, counts : of the record, by suite and pass id
    """
    suites, counted = ({suite: by_pass[name] for suite, by_pass in by_suite.items() if name in by_pass} for by_suite in (parts, counts))
    versions = [{**file.records[name], "suites": suites, "counts": counted} for file in both if name in file.records]
    record = max(versions, key=files.canonical)
    return {key: value for key, value in record.items() if key != "counts" or value}


def _suite(suite: str, having: Sequence[_File], order: Sequence[str], summary: Summary) -> tuple[Row, dict[str, Document]]:
    """Return a suite's merged row, and by pass id its part of the record.

    having : the files that have the suite; order : of the passes, by id
    """
    version = max((file.rows[suite]["version"] for file in having), key=version_order)
    having = [file for file in having if file.rows[suite]["version"] == version]
    params = max((file.rows[suite]["params"] for file in having), key=lambda axes: (case_count(axes), files.canonical(axes)))
    row: Row = {"params": params, "version": version}
    for column in ("started_at", "duration"):
        row[column] = max((file.rows[suite][column] for file in having if file.rows[suite].get(column) is not None), default=None)
    row["profile"] = max((file.rows[suite]["profile"] for file in having if file.rows[suite].get("profile")), default=None)
    indices = [(file, _indices(suite, file, params)) for file in having]
    cases = [
        _case(suite, case, [(file, index[case]) for file, index in indices if case in index], order, summary)
        for case in range(case_count(params))
    ]
    row["result"] = _unless_empty([case.result for case in cases])
    row["samples"] = _unless_empty([case.samples for case in cases])
    for column in sorted({column for case in cases for column in case.statistics}):
        row[column] = _unless_empty([case.statistics.get(column) for case in cases])
    return row, _record_parts(version, cases)


def _case(suite: str, case: int, having: Sequence[tuple[_File, int]], order: Sequence[str], summary: Summary) -> _Case:
    """Return one merged case from the files that have it, each with its index there."""
    by_pass = _united(suite, case, [(file, file.by_pass(suite, index, case)) for file, index in having])
    samples = [sample for name in ("", *order) if name in by_pass for sample in by_pass[name].samples]
    if samples:
        result, statistics = summary(samples)
        return _Case(result, statistics, samples, by_pass)
    return _Case(min((files.cell(file.rows[suite], "result", index) for file, index in having), key=_preference), {}, None, by_pass)


def _preference(result: Any) -> tuple[int, float]:
    """Return a sort key of results: numbers, then skipped cases, then failed ones.

    The smaller number comes first.
    """
    number = files.number(result)
    return (0, number) if number is not None else (1 if result is not None else 2, 0.0)


def _united(suite: str, case: int, having: Iterable[tuple[_File, ByPass]]) -> ByPass:
    """Return a case's samples by pass, from all files.

    Raises TensorcopyError where two files differ about one pass.
    """
    united: ByPass = {}
    for file, by_pass in having:
        for name, taken in by_pass.items():
            earlier = united.get(name, taken)
            if earlier.samples != taken.samples:
                what = f"samples of {suite}, case {case}, " + (f"pass {name}" if name else "of no pass")
                raise _contradiction(file.document, what, f"{len(earlier.samples)} of them and {len(taken.samples)} others")
            united[name] = max(earlier, taken)
    return united


def _record_parts(version: str, cases: Sequence[_Case]) -> dict[str, Document]:
    """Return the suite's part of each pass record, by pass id."""
    parts: dict[str, Document] = {}
    for index, case in enumerate(cases):
        for name, taken in case.by_pass.items():
            if name:
                empty = {"version": version, "samples": [0] * len(cases), "control_ns": [[] for _ in cases]}
                part = parts.setdefault(name, empty)
                part["samples"][index], part["control_ns"][index] = len(taken.samples), taken.control
                if taken.interruptions:
                    part.setdefault("interruptions", {})[str(index)] = taken.interruptions
    return parts


def _counts(suite: str, having: Sequence[_File], row: Row, order: Sequence[str]) -> dict[str, Document]:
    """Return each pass's counts of a merged suite, by pass id.

    Counts of another version are dropped, as its samples are.
    """
    counts: dict[str, list[float | None]] = {}
    for file in having:
        if file.rows[suite]["version"] == row["version"]:
            indices = _indices(suite, file, row["params"])
            for name in order:
                values = file.counts(name, suite)
                if values:
                    merged_values = counts.setdefault(name, [None] * case_count(row["params"]))
                    for case, index in indices.items():
                        merged_values[case] = min((v for v in (merged_values[case], values[index]) if v is not None), default=None)
    return {name: {"version": row["version"], "values": values} for name, values in counts.items()}


def _indices(suite: str, file: _File, params: list[list[str]]) -> dict[int, int]:
    """Return each merged case's index in this file.

    Raises TensorcopyError where the file's parameters are not a subset of `params`.
    """
    mine = file.rows[suite]["params"]
    if len(mine) != len(params) or any(not set(fewer) <= set(more) for fewer, more in zip(mine, params)):
        raise _contradiction(file.document, f"parameters of {suite}, version {file.rows[suite]['version']}", _both(mine, params))
    merged_index = {case: index for index, case in enumerate(product(*params))}
    return {merged_index[case]: index for index, case in enumerate(product(*mine))}


def _unless_empty(cells: list[Any]) -> list[Any] | None:
    return cells if any(cell is not None for cell in cells) else None


def _without_trailing_nulls(row: list[Any]) -> list[Any]:
    """Return a row as asv writes it."""
    while row and row[-1] is None:
        row = row[:-1]
    return row


def _both(first: Any, second: Any) -> str:
    return f"{str(first)[:80]} and {str(second)[:80]}"


def _contradiction(document: Document, what: str, got: str) -> TensorcopyError:
    return TensorcopyError(
        f"results of {document['params']['machine']} contradict each other: {what} of {document['commit_hash'][:8]}",
        got=got,
        allowed="parts of one history: the same passes, or different ones",
        next="give a suite whose parameters change a higher version, or measure into another folder",
    )


# Divide a result file into the parts of its machines, where its passes have several identities.


def earliest(document: Document) -> str:
    """Return the start of the earliest pass of a result file."""
    return str(min((record["started"] for record in document["passes"]), default=document["ledger"]["started"]))


def identities(document: Document) -> set[str]:
    """Return the identities of a result file's passes and of its provenance."""
    return {of_provenance(document["ledger"]), *(of_provenance(record["ledger"]) for record in document["passes"])}


def divided(document: Document) -> dict[str, Document]:
    """Return a result file's part of each identity.

    Numbers without a pass record belong to an unknown machine where the file has several. asv's statistics of the parts are left out.
    """
    mine = identities(document)
    if len(mine) == 1:
        return dict.fromkeys(mine, document)
    parts = {}
    for identity in sorted({UNKNOWN, *mine}):
        records = [record for record in document["passes"] if of_provenance(record["ledger"]) == identity]
        part = of_passes(document, records, with_unrecorded=identity == UNKNOWN)
        numbers = (value for row in files.rows_of(part).values() for value in row["result"] or ())
        if records or any(files.number(value) is not None for value in numbers):
            parts[identity] = part
    return parts or {of_provenance(document["ledger"]): document}


def of_passes(document: Document, records: Sequence[Document], *, with_unrecorded: bool = False) -> Document:
    """Return what some of its passes contributed to a result file.

    with_unrecorded : also the numbers without a pass record, and without records the provenance, except that of the hardware
    """
    names = {record["id"] for record in records} | ({""} if with_unrecorded else set())
    unknown = {name: value for name, value in document["ledger"].items() if name not in ("hardware", "identity")}
    rows = {suite: _row(document, suite, row, names) for suite, row in files.rows_of(document).items()}
    return {
        **document,
        "ledger": max((record["ledger"] for record in records), key=lambda provenance: str(provenance["started"]), default=unknown),
        "passes": list(records),
        "results": {suite: [row.get(column) for column in document["result_columns"]] for suite, row in rows.items()},
    }


def renamed(document: Document, machine: str) -> Document:
    """Return a result file as one of the machine `machine`."""
    return {**document, "params": {**document["params"], "machine": machine}}


def _row(document: Document, suite: str, row: Document, names: set[str]) -> Document:
    """Return a suite's row with the numbers of these passes only."""
    results, samples = [], []
    for index, value in enumerate(row["result"] or ()):
        by_case = (row.get("samples") or [])[index : index + 1]
        if by_case and by_case[0]:
            parts = passes.split_by_pass(document["passes"], suite, index, by_case[0])
            samples.append([sample for name, taken, _ in parts if name in names for sample in taken] or None)
            results.append(median(samples[-1]) if samples[-1] else None)
        else:
            samples.append(None)
            results.append(_count(document, suite, row, index, names) if files.number(value) is not None else value)
    shared = {name: row.get(name) for name in ("params", "version", "started_at", "duration", "profile")}
    return {**shared, "result": results, "samples": samples if any(samples) else None}


def _count(document: Document, suite: str, row: Document, index: int, names: set[str]) -> float | None:
    """Return the smallest count of a case in these passes.

    A count that no pass has recorded belongs to "".
    """
    counts: dict[str, float] = {}
    for record in document["passes"]:
        recorded = record.get("counts", {}).get(suite)
        if recorded and recorded["version"] == row["version"] and len(recorded["values"]) == len(row["result"]):
            value = recorded["values"][index]
            counts.update({} if value is None else {record["id"]: value})
    counts = counts or {"": row["result"][index]}
    return min((value for name, value in counts.items() if name in names), default=None)


# Give every machine its own folder, where one folder has results of several.


@dataclass(frozen=True)
class Separated:
    """Result files by path, no two identities in one folder.

    problems : files that cannot be divided; warnings : a sentence for each machine that got another name
    """

    documents: dict[Path, Document]
    problems: tuple[TensorcopyError, ...] = ()
    warnings: tuple[TensorcopyError, ...] = ()


def separated(documents: Mapping[Path, Document]) -> Separated:
    """Return result files with a folder for each machine.

    documents : valid ones by path. Those of a folder with one identity keep their path; of other folders, `machine_names` decides.
    """
    in_folder: dict[Path, set[str]] = {}
    for path, document in documents.items():
        in_folder.setdefault(path.parent, set()).update(identities(document))
    if all(len(group) == 1 for group in in_folder.values()):
        return Separated(dict(documents))
    parts: list[tuple[Path, str, Document]] = []
    problems: list[TensorcopyError] = []
    for path, document in documents.items():
        try:
            with files.damage_named(path):
                parts += [(path, identity, part) for identity, part in divided(document).items()]
        except TensorcopyError as error:
            problems.append(error)
    starts: dict[tuple[str, str], str] = {}
    for path, identity, part in parts:
        key = path.parent.name, identity
        starts[key] = min(earliest(part), starts.get(key, earliest(part)))
    names = machine_names(starts)
    by_path: dict[Path, Document] = {}
    for path, identity, part in parts:
        new = path.parents[1] / names[path.parent.name, identity] / path.name
        try:
            with files.damage_named(path):
                part = part if new == path else renamed(part, new.parent.name)
                if new in by_path:
                    part = merged(by_path[new], part, lambda samples: (median(samples), {}))  # without asv's statistics
                by_path[new] = part
        except TensorcopyError as error:
            problems.append(error)
    holders = {machine: identity for (machine, identity), name in names.items() if name == machine}
    next_step = "tensorcopy merge FOLDER, with that folder of results, divides its files"
    warnings = [
        two_machines(machine, holders[machine], identity, name, next_step)
        for (machine, identity), name in sorted(names.items())
        if name != machine
    ]
    return Separated(by_path, tuple(problems), tuple(warnings))
