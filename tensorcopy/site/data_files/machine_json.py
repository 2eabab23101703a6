"""A machine's results as JSON, described by data.schema.json. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tensorcopy.analysis.comparisons import version
from tensorcopy.results.passes import Case
from tensorcopy.results.reader import Result
from tensorcopy.site.data_files.times_csv import six_digits

UNIT = "seconds per call"


def machine_json(results: Sequence[Result]) -> str:
    """Return times, counts, provenance and observations of every result.

    Times and counts are columns. Cases and methods are listed once and referred to by number: most of the file would be copies of them.
    """
    numbers = {case: number for number, case in enumerate(dict.fromkeys(case for result in results for case in _cases(result)))}
    methods = _Distinct()
    document = {
        "unit": UNIT,
        "cases": [{"suite": case.suite, "parameters": dict(case.parameters)} for case in numbers],
        "methods": methods.values,
        "results": [_result(result, numbers, methods) for result in results],
    }
    return json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


class _Distinct:
    """Values that are written once, each with a number."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._numbers: dict[str, int] = {}

    def number(self, value: Any) -> int:
        """Return the number of a value, a new one at its first occurrence."""
        number = self._numbers.setdefault(json.dumps(value, sort_keys=True), len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number


def _cases(result: Result) -> list[Case]:
    return [*result.timings, *result.counts]


def _result(result: Result, numbers: Mapping[Case, int], methods: _Distinct) -> dict[str, Any]:
    timings = result.timings.values()
    return {
        "machine": result.machine,
        "environment": result.environment,
        "torch": version(result),
        "ledger": result.provenance,
        "methods": {name: methods.number(method) for name, method in result.methods.items()},
        "article": result.article,
        "times": {
            "case": [numbers[case] for case in result.timings],
            "median": [six_digits(timing.median) for timing in timings],
            "low": [six_digits(timing.low) for timing in timings],
            "high": [six_digits(timing.high) for timing in timings],
            "passes": [len(timing.usable) for timing in timings],
        },
        "counts": {"case": [numbers[case] for case in result.counts], "count": [_whole(count) for count in result.counts.values()]},
    }


def _whole(count: float) -> float:
    """Return a count as an integer where it is one: an average over calls may not be."""
    return int(count) if count == int(count) else count
