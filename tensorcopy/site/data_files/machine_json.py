"""A machine's results as JSON, described by data.schema.json. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tensorcopy.analysis.comparisons import version
from tensorcopy.results.load import Result
from tensorcopy.site.data_files.times_csv import six_digits

UNIT = "seconds per call"


def machine_json(results: Sequence[Result]) -> str:
    """Return times, counts, provenance and observations of every result."""
    document = {"unit": UNIT, "results": [_result(result) for result in results]}
    return json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


def _result(result: Result) -> dict[str, Any]:
    times = [
        {
            "suite": case.suite,
            "parameters": dict(case.parameters),
            "median": six_digits(timing.median),
            "low": six_digits(timing.low),
            "high": six_digits(timing.high),
            "passes": len(timing.usable),
        }
        for case, timing in result.timings.items()
    ]
    counts = [{"suite": case.suite, "parameters": dict(case.parameters), "count": value} for case, value in result.counts.items()]
    return {
        "machine": result.machine,
        "environment": result.environment,
        "torch": version(result),
        "ledger": result.provenance,
        "methods": result.methods,
        "article": result.article,
        "times": times,
        "counts": counts,
    }
