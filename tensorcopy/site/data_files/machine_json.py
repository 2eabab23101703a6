"""A machine's results as JSON, described by data.schema.json. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tensorcopy.analysis.comparisons import version
from tensorcopy.results.load import Case, Result
from tensorcopy.site.data_files.times_csv import six_digits

UNIT = "seconds per call"


def machine_json(results: Sequence[Result]) -> str:
    """Return times, counts, provenance and observations of every result.

    Times and counts are columns, whose numbers of cases refer to one list: the names would be five sixths of the file.
    """
    numbers = {case: number for number, case in enumerate(dict.fromkeys(case for result in results for case in _cases(result)))}
    document = {
        "unit": UNIT,
        "cases": [{"suite": case.suite, "parameters": dict(case.parameters)} for case in numbers],
        "results": [_result(result, numbers) for result in results],
    }
    return json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


def _cases(result: Result) -> list[Case]:
    return [*result.timings, *result.counts]


def _result(result: Result, numbers: Mapping[Case, int]) -> dict[str, Any]:
    timings = result.timings.values()
    return {
        "machine": result.machine,
        "environment": result.environment,
        "torch": version(result),
        "ledger": result.provenance,
        "methods": result.methods,
        "article": result.article,
        "times": {
            "case": [numbers[case] for case in result.timings],
            "median": [six_digits(timing.median) for timing in timings],
            "low": [six_digits(timing.low) for timing in timings],
            "high": [six_digits(timing.high) for timing in timings],
            "passes": [len(timing.usable) for timing in timings],
        },
        "counts": {"case": [numbers[case] for case in result.counts], "count": list(result.counts.values())},
    }
