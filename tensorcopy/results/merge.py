"""Folders of results put together: every sample and every pass of all of them, once.

It does not matter in which order folders are merged, how often, or by way of which others: what is the same release, machine and
environment becomes one file with the union of the passes, in order of their start. A pass is known by its id; the samples of a case are its
passes' samples, one after the other, and what asv says of them is computed anew. Where two files say different things of what can be said
once, the one that was measured last is believed; of a suite's two versions the higher. Of two counts of one case (bytes, instructions) the
smaller stands: what disturbs a count only adds to it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from pathlib import Path
from typing import Any

from tensorcopy.errors import TensorcopyError
from tensorcopy.results import files

Document = dict[str, Any]
Row = dict[str, Any]  # of a suite: a value for each of asv's columns
Summary = Callable[[list[float]], tuple[float, dict[str, Any]]]  # asv's result and statistics columns of a case's samples

IDENTITY = ("commit_hash", "env_name", "python", "requirements", "env_vars")
HARDWARE = ("arch", "cpu", "num_cpu", "os")  # of machine.json: what makes two machines two


@dataclass(frozen=True)
class Merged:
    """What became of the files: how many are new, how many got passes or counts, and how many are as they were."""

    new: int
    grown: int
    unchanged: int


def merge(folders: Sequence[Path], into: Path, summary: Summary) -> Merged:
    """Put every result of `folders` into the folder `into`, beside what it has.

    summary : computes asv's own statistics of samples, see `asv_plugin.statistics`

    Everything is read and merged before anything is written. Raises TensorcopyError for a folder without results, a damaged file, and files
    that cannot be of one machine.
    """
    for folder in folders:
        if not (folder / "benchmarks.json").is_file():
            raise TensorcopyError(
                "no folder of results",
                got=f"{folder}, without benchmarks.json",
                allowed="a folder as tensorcopy measure and asv write it",
                next="check the path: it is the folder that holds the machines' folders",
            )
    there = (into / "benchmarks.json").exists() or any(into.glob("*/*.json"))
    sources = [*([into] if there else []), *folders]
    names = sorted({path.relative_to(source) for source in sources for path in source.glob("*/*.json")})
    known = _known(sources)
    machines = {name: reduce(_one_machine, _versions(name, sources)) for name in names if name.name == "machine.json"}
    drafts = {name: _merged_at(name, sources, summary) for name in names if name not in machines}
    before = {
        name: _merged_at(name, [into], summary) for name in drafts if (into / name).exists()
    }  # as we would write it: asv does so in two ways
    for name, document in {Path("benchmarks.json"): known, **machines}.items():
        _put(into / name, document)
    grown = [name for name in before if not same(drafts[name], before[name])]
    new = [name for name in drafts if name not in before]
    for name in (*grown, *new):
        files.write(into / name, drafts[name])
    return Merged(len(new), len(grown), len(drafts) - len(new) - len(grown))


def _known(sources: Sequence[Path]) -> Document:
    try:
        return reduce(suites, (files.read(source / "benchmarks.json") for source in sources))
    except (KeyError, TypeError, AttributeError) as error:
        raise files.damaged(sources[-1] / "benchmarks.json", f"{type(error).__name__}: {error}") from error


def _versions(name: Path, sources: Sequence[Path]) -> list[Document]:
    return [files.read(source / name) for source in sources if (source / name).exists()]


def _merged_at(name: Path, sources: Sequence[Path], summary: Summary) -> Document:
    paths, versions = [source / name for source in sources if (source / name).exists()], _versions(name, sources)
    for path, document in zip(paths, versions):
        wrong = files.fault(document)
        if wrong:
            raise files.damaged(path, wrong)
    try:
        first = merged(versions[0], versions[0], summary)
        return reduce(lambda one, other: merged(one, other, summary), versions[1:], first)
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise files.damaged(paths[-1], f"{type(error).__name__}: {error}") from error


def _put(path: Path, document: Document) -> None:
    """Write what asv writes for people to read, unless it is there."""
    if not path.exists() or not same(files.read(path), document):
        files.put(path, json.dumps(document, indent=4, sort_keys=True) + "\n")


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are alike; NaN is like NaN."""
    return _canonical(one) == _canonical(other)


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def suites(one: Document, other: Document) -> Document:
    """Two benchmarks.json: of a suite that both have, the higher version; of one version, the one with more parameters."""
    both = {**one, **other}
    for name in one.keys() & other.keys() - {"version"}:
        both[name] = max(one[name], other[name], key=lambda suite: (_rank(suite["version"]), _size(suite["params"]), _canonical(suite)))
    return both


def _one_machine(one: Document, other: Document) -> Document:
    """Two machine.json. Raises TensorcopyError where they are of different machines."""
    for name in HARDWARE:
        if one.get(name, other.get(name)) != other.get(name, one.get(name)):
            raise TensorcopyError(
                f"the machine {one.get('machine')} is two machines",
                got=f"{name} {one[name]!r} and {other[name]!r}",
                allowed="one kind of machine for one name: times of different ones do not compare",
                next="measure the other with --machine and a name of its own",
            )
    return max(one, other, key=_canonical)


def merged(one: Document, other: Document, summary: Summary) -> Document:
    """Two result files of one release, machine and environment. Raises TensorcopyError where they are not, or contradict each other."""
    older, newer = sorted((one, other), key=lambda document: (document["ledger"]["started"], _canonical(_once(document))))
    for name in IDENTITY:
        if one[name] != other[name]:
            raise _contradiction(newer, name, one[name], other[name])
    order = sorted({record["id"]: record for record in (*older["passes"], *newer["passes"])}.values(), key=_start)
    sides = [_Side(document) for document in (older, newer)]
    rows, counted = {}, {}
    for suite in sorted({*older["results"], *newer["results"]}):
        rows[suite], counted[suite] = _suite(
            suite, [side for side in sides if suite in side.rows], [record["id"] for record in order], summary
        )
    passes = []
    for record in order:
        versions = [side.records[record["id"]] for side in sides if record["id"] in side.records]
        suites = {suite: by_pass[record["id"]] for suite, by_pass in counted.items() if record["id"] in by_pass}
        passes.append({**max(versions, key=lambda version: _canonical({**version, "suites": {}})), "suites": suites})
    columns = newer["result_columns"]
    return {
        **_once(newer),
        "results": {suite: _trimmed([row.get(column) for column in columns]) for suite, row in rows.items()},
        "durations": _greater(older["durations"], newer["durations"]),
        "passes": passes,
        "version": newer["version"],
    }


def _once(document: Document) -> Document:
    """What a file says once: the identity, the ledger, what was observed; without what is united."""
    return {name: value for name, value in document.items() if name not in ("results", "durations", "passes", "version")}


def _start(record: Mapping[str, Any]) -> tuple[str, str]:
    return record["started"], record["id"]


class _Side:
    """One of two files: its suites' rows by column, and its passes by id."""

    def __init__(self, document: Document) -> None:
        self.rows: dict[str, Row] = {suite: dict(zip(document["result_columns"], row)) for suite, row in document["results"].items()}
        self.records: dict[str, Document] = {record["id"]: record for record in document["passes"]}
        self.document = document

    def by_pass(self, suite: str, index: int, case: int) -> dict[str, tuple[list[float], list[int]]]:
        """By pass, the samples of a case and the control beside them; by "" those that no pass tells of.

        index : of the case in this file; case : in the merged one, for an error
        """
        samples = _cell(self.rows[suite], "samples", index) or []
        parts = [
            (name, row["samples"][index], row["control_ns"][index])
            for name, record in self.records.items()
            if (row := record["suites"].get(suite)) and index < len(row["samples"]) and row["samples"][index]
        ]
        begin = len(samples) - sum(count for _, count, _ in parts)
        if begin < 0:
            raise _contradiction(self.document, f"samples of {suite}, case {case}", f"{len(samples)}", f"{len(samples) - begin} in passes")
        found: dict[str, tuple[list[float], list[int]]] = {"": (samples[:begin], [])} if begin else {}
        for name, count, readings in parts:
            found[name] = (samples[begin : begin + count], readings)
            begin += count
        return found


def _suite(suite: str, sides: Sequence[_Side], order: Sequence[str], summary: Summary) -> tuple[Row, dict[str, Document]]:
    """A suite's row of what the sides have, and by pass its part of the record.

    order : of the passes, by id
    """
    version = max((side.rows[suite]["version"] for side in sides), key=_rank)
    sides = [side for side in sides if side.rows[suite]["version"] == version]
    params = max((side.rows[suite]["params"] for side in sides), key=lambda axes: (_size(axes), _canonical(axes)))
    places = [_places(suite, side, params) for side in sides]
    row: Row = {"params": params, "version": version}
    for name in ("started_at", "duration"):
        row[name] = max((side.rows[suite][name] for side in sides if side.rows[suite].get(name) is not None), default=None)
    profiles = [side.rows[suite]["profile"] for side in sides if side.rows[suite].get("profile")]
    row["profile"] = max(profiles, default=None)
    by_pass: dict[str, Document] = {}
    count = _size(params)
    cells: list[tuple[Any, dict[str, Any], list[float] | None]] = []
    for case in range(count):
        there = [(side, at[case]) for side, at in zip(sides, places) if case in at]
        united = _united(suite, case, [(side, side.by_pass(suite, index, case)) for side, index in there])
        samples = [sample for name in ("", *order) for sample in united.get(name, ((), ()))[0]]
        for name, (some, readings) in united.items():
            if name:
                record = by_pass.setdefault(name, {"version": version, "samples": [0] * count, "control_ns": [[] for _ in range(count)]})
                record["samples"][case], record["control_ns"][case] = len(some), readings
        cells.append(_said(samples, [_cell(side.rows[suite], "result", index) for side, index in there], summary))
    row["result"] = _filled([value for value, _, _ in cells])
    row["samples"] = _filled([samples for _, _, samples in cells])
    for column in sorted({column for _, stats, _ in cells for column in stats}):
        row[column] = _filled([stats.get(column) for _, stats, _ in cells])
    return row, by_pass


def _said(samples: list[float], results: Sequence[Any], summary: Summary) -> tuple[Any, dict[str, Any], list[float] | None]:
    """What asv's file has of a case: its result, its statistics by column, its samples."""
    if samples:
        return (*summary(samples), samples)
    return min(results, key=_preference), {}, None


def _preference(result: Any) -> tuple[int, float]:
    """A number before what was skipped before what failed; of numbers the smaller."""
    number = files.number(result)
    return (0, number) if number is not None else (1 if result is not None else 2, 0.0)


def _united(
    suite: str, case: int, found: Iterable[tuple[_Side, dict[str, tuple[list[float], list[int]]]]]
) -> dict[str, tuple[list[float], list[int]]]:
    """A case's samples by pass, of all sides. Raises TensorcopyError where two say different things of one pass."""
    united: dict[str, tuple[list[float], list[int]]] = {}
    for side, by_pass in found:
        for name, (samples, readings) in by_pass.items():
            known, also = united.get(name, (samples, readings))
            if known != samples:
                what = f"samples of {suite}, case {case}, " + (f"pass {name}" if name else "of no pass")
                raise _contradiction(side.document, what, f"{len(known)} of them", f"{len(samples)} others")
            united[name] = (samples, max(also, readings))
    return united


def _places(suite: str, side: _Side, params: list[list[str]]) -> dict[int, int]:
    """By case of the merged row, where this side has it. Raises TensorcopyError where its parameters are no part of `params`."""
    mine = side.rows[suite]["params"]
    if len(mine) != len(params) or any(not set(few) <= set(many) for few, many in zip(mine, params)):
        raise _contradiction(side.document, f"parameters of {suite}, version {side.rows[suite]['version']}", str(mine), str(params))
    where = {case: index for index, case in enumerate(product(*params))}
    return {where[case]: index for index, case in enumerate(product(*mine))}


def _cell(row: Row, column: str, index: int) -> Any:
    """asv writes null for a list of nulls."""
    cells = row.get(column)
    return cells[index] if cells else None


def _filled(cells: list[Any]) -> list[Any] | None:
    return cells if any(cell is not None for cell in cells) else None


def _trimmed(row: list[Any]) -> list[Any]:
    """As asv writes a row: without nulls at its end."""
    while row and row[-1] is None:
        row = row[:-1]
    return row


def _greater(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    return {name: max(one.get(name, 0.0), other.get(name, 0.0)) for name in sorted({*one, *other})}


def _rank(version: str) -> tuple[int, str]:
    """Ours are numbers; asv's own are a hash of the code, which has no order but some."""
    return (int(version), "") if version.isdecimal() else (-1, version)


def _size(params: Sequence[Sequence[str]]) -> int:
    size = 1
    for axis in params:
        size *= len(axis)
    return size


def _contradiction(document: Document, what: str, one: Any, other: Any) -> TensorcopyError:
    return TensorcopyError(
        f"results of {document['params']['machine']} that contradict each other: {what} of {document['commit_hash'][:8]}",
        got=f"{str(one)[:80]} and {str(other)[:80]}",
        allowed="parts of one history: the same passes, or different ones",
        next="a suite whose parameters change gets a higher version; else measure into a folder of its own",
    )
