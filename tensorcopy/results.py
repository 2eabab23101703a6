"""asv's result files, read and stamped: the only code that knows their format.

A file is asv's own JSON, version 2, with three keys more at its top level, which asv ignores:

ledger : what was there when it was measured (`tensorcopy.ledger`), with asv's version and the start as ISO 8601 in UTC
methods : every method's code, and what it was observed to do there
article : how many of the article's statements held there
"""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from dataclasses import dataclass, field
from itertools import product, zip_longest
from pathlib import Path
from typing import Any

from tensorcopy.errors import TensorcopyError

NOT_RESULTS = ("machine.json", "benchmarks.json")


@dataclass(frozen=True)
class Timing:
    """One case as measured: seconds per call.

    median : of all samples
    low, high : asv's 99 % interval of the median, or the range of the samples where they are too few for one
    samples : where they were recorded
    """

    median: float
    low: float
    high: float
    samples: tuple[float, ...] = ()


@dataclass(frozen=True)
class Case:
    """What was timed: a suite such as "copies.BySize.time_copy" and its parameters by name, as text."""

    suite: str
    parameters: tuple[tuple[str, str], ...]

    def __getitem__(self, name: str) -> str:
        return dict(self.parameters)[name]


@dataclass(frozen=True)
class Result:
    """One file: a release on one machine, Python and build."""

    path: Path
    machine: str
    sha: str
    python: str
    build: str
    environment: str  # such as "py3.11-cuda"
    timings: dict[Case, Timing]
    ledger: dict[str, Any] = field(default_factory=dict)
    methods: dict[str, Any] = field(default_factory=dict)
    article: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Results:
    """Everything under a results folder that can be read, and what cannot, each as an error that names its file."""

    found: tuple[Result, ...]
    problems: tuple[TensorcopyError, ...]
    unpublishable: tuple[TensorcopyError, ...] = ()  # of the problems, those that asv cannot do without


def load(directory: Path) -> Results:
    """Every result under `directory`. Raises nothing: a damaged or deleted file, or a number whose ledger disagrees with its label, is a
    problem; the others are read.
    """
    found, problems = [], list(_deleted(directory))
    try:
        suites = _document(directory / "benchmarks.json")
    except TensorcopyError as error:
        return Results((), (error, *problems), (error,))
    machines, unpublishable = [], []
    for folder in sorted({path.parent for path in directory.glob("*/*.json")}):
        try:
            _machine(folder)
            machines.append(folder)
        except TensorcopyError as error:
            problems.append(error)
            unpublishable += [error] if (folder / "machine.json").exists() else []  # asv leaves a folder without one out
    for path in sorted(path for folder in machines for path in folder.glob("*.json")):
        if path.name in NOT_RESULTS:
            continue
        try:
            result = read(path, suites)
            if result.ledger.get("torch_sha") != result.sha:
                raise _without_ledger(result)
            found.append(result)
        except TensorcopyError as error:
            problems.append(error)
    return Results(tuple(found), tuple(problems), tuple(unpublishable))


def read(path: Path, suites: dict[str, Any]) -> Result:
    """One result file; `suites` is asv's benchmarks.json, which knows the parameters' names.

    Numbers of a suite that is no longer there, or of an earlier version of it, are left out. Raises TensorcopyError, naming the file,
    for one that is cut off or not asv's.
    """
    document = _document(path)
    try:
        columns = document["result_columns"]
        timings = {}
        for suite, values in document["results"].items():
            row = dict(zip(columns, values))
            if suite in suites and row["version"] == suites[suite]["version"]:
                timings.update(_timings(suite, suites[suite]["param_names"], row))
        return Result(
            path=path,
            machine=document["params"]["machine"],
            sha=document["commit_hash"],
            python=document["python"],
            build=document["params"].get("build", ""),
            environment=document["env_name"],
            timings=timings,
            ledger=document.get("ledger", {}),
            methods=document.get("methods", {}),
            article=document.get("article", {}),
        )
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise _damaged(path, f"{type(error).__name__}: {error}") from error


def stamp(path: Path, report: dict[str, Any], before: str = "") -> None:
    """Write the ledger and the observations into a result file that asv has written; `before` is its text before this run.

    Cases that had numbers before and were skipped or failed now keep them: asv forgets a case's samples then.
    """
    document = {**_document(path), **report}
    if before:
        _keep_measured(document, json.loads(before))
    document["version"] = document.pop("version")  # last, as asv writes it
    draft = path.with_suffix(".json.new")
    draft.write_text(json.dumps(document, separators=(",", ":")), encoding="utf-8")
    draft.replace(path)


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
        lost = [index for index in range(count) if _number(results[index]) is None and _number(then["result"][index]) is not None]
        for column in by_case if lost else ():
            cells = now[column] or [None] * count
            now[column] = [(then[column] or [None] * count)[i] if i in lost else cells[i] for i in range(count)]
        document["results"][suite] = [now[column] for column in columns]


def holds_nothing(path: Path) -> bool:
    """Whether a result file has no number in it: everything was skipped."""
    return not any(_number(value) is not None for row in _document(path)["results"].values() for value in row[0] or ())


def _timings(suite: str, names: list[str], row: dict[str, Any]) -> dict[Case, Timing]:
    timings = {}
    for index, parameters in enumerate(product(*row["params"])):
        median = _number(_column(row, "result", index))
        if median is None:  # failed or skipped
            continue
        samples = tuple(_column(row, "samples", index) or ())
        low, high = _number(_column(row, "stats_ci_99_a", index)), _number(_column(row, "stats_ci_99_b", index))
        case = Case(suite, tuple(zip(names, (text.strip("'") for text in parameters), strict=True)))
        timings[case] = Timing(
            median,
            min(samples, default=median) if low is None else low,
            max(samples, default=median) if high is None else high,
            samples,
        )
    return timings


def _column(row: dict[str, Any], name: str, index: int) -> Any:
    values = row.get(name)
    return values[index] if values else None


def _number(value: Any) -> float | None:
    """asv's NaN is a skipped case, its null a failed one, its infinity an interval that too few samples give."""
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None


def _document(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _damaged(path, str(error)) from error
    if not isinstance(document, dict):
        raise _damaged(path, type(document).__name__)
    return document


def _machine(directory: Path) -> dict[str, Any]:
    path = directory / "machine.json"
    document = _document(path)
    if document.get("machine") != directory.name:
        raise _damaged(path, f"machine {document.get('machine')!r}")
    return document


def _without_ledger(result: Result) -> TensorcopyError:
    return TensorcopyError(
        f"the result file {_name(result.path)} is refused, its ledger is not its label's",
        got=result.ledger.get("torch_sha", "no ledger, as after a run that was killed"),
        allowed=f"the ledger of torch {result.sha[:8]}",
        next="remove the file and measure again",
    )


def _name(path: Path) -> Path:
    return path.relative_to(path.parents[1] if path.name == "benchmarks.json" else path.parents[2])


def _damaged(path: Path, got: str) -> TensorcopyError:
    name = _name(path)
    return TensorcopyError(
        f"the result file {name} cannot be read",
        got=got,
        allowed="what asv has written, whole",
        next=f"git checkout {name}, or measure again",
    )


def _deleted(directory: Path) -> list[TensorcopyError]:
    """Results that git knows and that are gone: raw results are only ever added."""
    git = shutil.which("git")
    if git is None or not directory.is_dir():
        return []
    done = subprocess.run(
        [git, "ls-files", "--deleted", "-z", "--", "."], cwd=directory, capture_output=True, text=True, check=False
    )  # outside a checkout it fails, and knows nothing
    return [
        TensorcopyError(
            f"the result file {directory.name}/{name} is gone",
            got="a deleted file",
            allowed="results are only ever added",
            next=f"git checkout {directory.name}/{name}",
        )
        for name in filter(None, done.stdout.split("\0"))
    ]
