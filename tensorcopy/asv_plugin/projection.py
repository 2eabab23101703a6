"""asv's JSON as a projection of launch files, made when asv prints results: launches hold many releases, and are never changed."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, time, timezone
from math import isfinite, nan
from pathlib import Path
from typing import Any

from asv.benchmarks import Benchmarks
from asv.machine import Machine
from asv.results import Results as AsvResults
from asv.results import get_filename

from tensorcopy.results.cases import Case, names_of
from tensorcopy.results.histories import History
from tensorcopy.results.launches import Launch, Suite, newest_suites
from tensorcopy.results.result import Result

STATISTICS = ("stats_ci_99_a", "stats_ci_99_b", "stats_q_25", "stats_q_75", "stats_repeat")
COLUMNS = ("result", "params", "version", "started_at", "duration", *STATISTICS)
LEVELS = 0.99, 0.5  # of asv's two intervals


def write(histories: Iterable[History], folder: Path) -> None:
    """Write asv's files into a folder: benchmarks.json, and of each history machine.json and a file for each release and environment."""
    every = [*histories]
    suites = newest([launch for history in every for launch in history.launches])
    copied = ("param_names", "params", "type", "unit", "version")
    described = {
        name: {"name": name, "code": "", "timeout": 60.0, **{key: getattr(suite, key) for key in copied}}
        for name, suite in sorted(suites.items())
    }
    documents: dict[str, Any] = {"benchmarks.json": {**described, "version": Benchmarks.api_version}}
    for history, result in ((each, result) for each in every for result in each.results):
        commit = result.revision or result.sha
        released = datetime.combine(result.release.date, time(), timezone.utc)
        documents[f"{history.name}/machine.json"] = {"machine": history.name, "version": Machine.api_version}
        documents[get_filename(history.name, commit, result.environment)] = {
            "commit_hash": commit,
            "env_name": result.environment,
            "date": int(released.timestamp() * 1000),
            "params": {"machine": history.name, "python": result.python, "build": result.build},
            "python": result.python,
            "requirements": {"build": result.build},
            "env_vars": {},
            "result_columns": COLUMNS,
            "results": _rows(result, history),
            "durations": {},
            "version": AsvResults.api_version,
        }
    for path, document in documents.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(json.dumps(document), encoding="utf-8")


def newest(launches: Collection[Launch]) -> dict[str, Suite]:
    """Return every suite in its newest version."""
    return newest_suites(sorted(launches, key=lambda each: each.id))


def names(history: History) -> dict[Case, str]:
    """Return asv's name of every case: "copies.BySize.time_copy('tensor', 16)"."""
    suites = newest(history.launches).items()
    return {case: text for name, suite in suites for case, text in zip(history.cases[name], names_of(name, suite.params))}


def _rows(result: Result, history: History) -> dict[str, list[Any]]:
    """Return the row of every benchmark that a result has: of each case the time at the machine's usual speed, with its interval."""
    started = int(datetime.fromisoformat(max(result.launches)).timestamp() * 1000)
    rows: dict[str, list[Any]] = {}
    for name, suite in newest(history.launches).items():
        cases = history.cases[name]
        if any(case in values for values in (result.timings, result.counts, result.failures) for case in cases):
            values, *stats = [list(column) for column in zip(*(_value(result, case) for case in cases))]
            rows[name] = [values, suite.params, suite.version, started, None, *(each if any(each) else None for each in stats)]
    return rows


def _value(result: Result, case: Case) -> Sequence[float | None]:
    """Return a case's value as asv stores it, its 99 % interval, its quartiles and its launches.

    A failed case is None, a skipped one NaN. Where launches cannot tell the error, there are no statistics.
    """
    timing = result.timings.get(case)
    if timing is None:
        return result.counts.get(case, None if case in result.failures else nan), *(None,) * 5
    if not isfinite(timing.error) or timing.launches < 2:
        return timing.seconds, *(None,) * 5
    half, quarter = map(timing.factor, LEVELS)
    return timing.seconds, *(float(f"{timing.seconds * factor:.6g}") for factor in (1 / half, half, 1 / quarter, quarter)), timing.launches
