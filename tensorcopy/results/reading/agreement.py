"""Whether a result file agrees with itself, with its place and with the table of releases."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from tensorcopy.releases import release_table
from tensorcopy.results.identity import of_provenance
from tensorcopy.results.reading.schemas import is_number

SAME_IN_PASSES = ("torch", "torch_sha", "build", "numpy")  # of all passes of a file

Document = dict[str, Any]
Difference = tuple[str, str]  # what the file has, and what is allowed


def fault(document: Document) -> str:
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
    return {row.sha: row.version for row in release_table.load()}.get(document["commit_hash"], "")


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
