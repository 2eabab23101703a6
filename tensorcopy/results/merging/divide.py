"""Divide a result file into the parts of its machines, where its passes have several identities. Pure."""

from __future__ import annotations

from statistics import median
from typing import Any

from tensorcopy.results import files, passes
from tensorcopy.results.identity import UNKNOWN, of_provenance

Document = dict[str, Any]


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
    parts = {identity: _part(document, identity) for identity in sorted({UNKNOWN, *mine})}
    filled = {identity: part for identity, part in parts.items() if part["passes"] or _has_numbers(part)}
    return filled or {of_provenance(document["ledger"]): document}


def renamed(document: Document, machine: str) -> Document:
    """Return a result file as one of the machine `machine`."""
    return {**document, "params": {**document["params"], "machine": machine}}


def _part(document: Document, identity: str) -> Document:
    """Return what the passes of one identity contributed to a result file."""
    records = [record for record in document["passes"] if of_provenance(record["ledger"]) == identity]
    names = {record["id"] for record in records} | ({""} if identity == UNKNOWN else set())
    unknown = {name: value for name, value in document["ledger"].items() if name not in ("hardware", "identity")}
    rows = {suite: _row(document, suite, row, names) for suite, row in files.rows_of(document).items()}
    return {
        **document,
        "ledger": max((record["ledger"] for record in records), key=lambda provenance: str(provenance["started"]), default=unknown),
        "passes": records,
        "results": {suite: [row.get(column) for column in document["result_columns"]] for suite, row in rows.items()},
    }


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


def _has_numbers(document: Document) -> bool:
    return any(files.number(value) is not None for row in files.rows_of(document).values() for value in row["result"] or ())
