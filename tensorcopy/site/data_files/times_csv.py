"""Times as CSV. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from tensorcopy.analysis.comparisons import case_name, version
from tensorcopy.report.tables import csv_text
from tensorcopy.results import baseline, counts
from tensorcopy.results.load import Case, Result

COLUMNS = ("machine", "environment", "torch", "case", "device", "median", "low", "high", "passes", "baseline")


def times_csv(results: Sequence[Result], cases: Sequence[Case] | None = None) -> str:
    """Return a row for each time in seconds, or count; an empty field is unknown.

    cases : all cases of each result by default
    """
    rows: list[list[object]] = []
    for result in results:
        for case in cases if cases is not None else result.timings:
            timing = counts.measured(result, case)
            if timing:
                memcpy = baseline.timing_of(result, case)
                numbers: list[object] = [
                    six_digits(timing.median),
                    six_digits(timing.low),
                    six_digits(timing.high),
                    counts.passes(result, case),
                    six_digits(memcpy.median) if memcpy else "",
                ]
                rows.append([result.machine, result.environment, version(result), case_name(case), case.device, *numbers])
    return csv_text(COLUMNS, rows)


def six_digits(number: float) -> float:
    """Round to six significant digits; further ones differ between processors."""
    return float(f"{number:.6g}")
