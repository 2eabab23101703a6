"""asv's JSON as a projection of launch files, made when asv prints results.

asv stores one file for each release and environment, and rewrites it with each run. Launches hold many releases and are never changed. So
what asv reads is computed from all of them: of each case the time at the machine's usual speed, with the interval that follows from its
error over launches.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timezone
from math import isfinite, nan
from pathlib import Path
from typing import Any

from asv.benchmarks import Benchmarks
from asv.machine import Machine
from asv.results import Results as AsvResults
from asv.results import get_filename

from tensorcopy.results.cases import Case, names_of, stored_cases
from tensorcopy.results.histories import History
from tensorcopy.results.launches import Launch, Suite, newest_suites
from tensorcopy.results.result import Result

COLUMNS = (
    *("result", "params", "version", "started_at", "duration"),
    *("stats_ci_99_a", "stats_ci_99_b", "stats_q_25", "stats_q_75", "stats_number", "stats_repeat"),
)
LEVELS = 0.99, 0.5  # of asv's two intervals

Columns = list[Any]  # the columns of a benchmark


def write(files: Mapping[str, Any], folder: Path) -> None:
    """Write asv's files into a folder."""
    for path, document in files.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(json.dumps(document), encoding="utf-8")


def documents(histories: Iterable[History]) -> dict[str, dict[str, Any]]:
    """Return asv's files by path: benchmarks.json, and of each history machine.json and a file for each release and environment.

    Of a git revision that several releases have measured, the newest one's results count.
    """
    every = [*histories]
    suites = newest([launch for history in every for launch in history.launches])
    files: dict[str, dict[str, Any]] = {"benchmarks.json": {**_benchmarks(suites), "version": Benchmarks.api_version}}
    for history, result in ((each, result) for each in every for result in each.results):
        assert result.release
        release = result.release
        commit = result.revision or result.sha
        midnight = datetime(release.date.year, release.date.month, release.date.day, tzinfo=timezone.utc)
        files[f"{history.name}/machine.json"] = {"machine": history.name, "version": Machine.api_version}
        files[get_filename(history.name, commit, result.environment)] = {
            "commit_hash": commit,
            "env_name": result.environment,
            "date": int(midnight.timestamp() * 1000),
            "params": {"machine": history.name, "python": result.python, "build": result.build},
            "python": result.python,
            "requirements": {"build": result.build},
            "env_vars": {},
            "result_columns": COLUMNS,
            "results": _rows(result, history.launches),
            "durations": {},
            "version": AsvResults.api_version,
        }
    return files


def newest(launches: Collection[Launch]) -> dict[str, Suite]:
    """Return every suite in its newest version."""
    return newest_suites(sorted(launches, key=lambda each: each.id))


def names(launches: Collection[Launch]) -> dict[Case, str]:
    """Return asv's name of every case: "copies.BySize.time_copy('tensor', 16)"."""
    suites = newest(launches).items()
    return {case: text for name, suite in suites for case, text in zip(stored_cases(name, suite), names_of(name, suite.params))}


def _benchmarks(suites: Mapping[str, Suite]) -> dict[str, dict[str, Any]]:
    return {
        name: {
            "name": name,
            "code": "",
            "param_names": suite.param_names,
            "params": suite.params,
            "type": suite.type,
            "unit": suite.unit,
            "version": suite.version,
            "timeout": 60.0,
        }
        for name, suite in sorted(suites.items())
    }


def _rows(result: Result, launches: Sequence[Launch]) -> dict[str, Columns]:
    """Return the row of every benchmark that a result has; launches : of its history."""
    started = int(datetime.fromisoformat(max(result.launches)).timestamp() * 1000)
    rows: dict[str, Columns] = {}
    for name, suite in newest(launches).items():
        cases = stored_cases(name, suite)
        if not any(case in values for values in (result.timings, result.counts, result.failures) for case in cases):
            continue
        values: list[float | None] = []
        stats: list[tuple[float | None, ...]] = []
        for index, case in enumerate(cases):
            value, of_value = _value(result, case)
            values.append(value)
            calls = suite.rows[str(index)].calls if of_value[0] is not None and str(index) in suite.rows else None
            stats.append((*of_value[:4], calls, of_value[4]))
        columns = [None if all(each is None for each in column) else list(column) for column in zip(*stats)]
        rows[name] = [values, suite.params, suite.version, started, None, *columns]
    return rows


def _value(result: Result, case: Case) -> tuple[float | None, tuple[float | None, ...]]:
    """Return a case's value as asv stores it, its 99 % interval, its quartiles and its repeats.

    A failed case is None, a skipped one NaN. Where launches cannot tell the error, there are no statistics: asv then compares values alone.
    """
    timing = result.timings.get(case)
    if timing is None:
        value = result.counts.get(case, None if case in result.failures else nan)
        return value, (None,) * 5
    if not isfinite(timing.error) or timing.launches < 2:
        return timing.seconds, (None,) * 5
    half, quarter = map(timing.factor, LEVELS)
    return timing.seconds, (
        *(float(f"{timing.seconds * factor:.6g}") for factor in (1 / half, half, 1 / quarter, quarter)),
        timing.launches,
    )
