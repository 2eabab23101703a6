"""Times as CSV. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from tensorcopy.analysis.comparisons import case_name, version
from tensorcopy.report.tables import csv_text
from tensorcopy.results import baseline, counts
from tensorcopy.results.load import Case, Result
from tensorcopy.site.model.machine import Machine

COLUMNS = (
    *("machine", "environment", "torch", "case", "device", "median", "low", "high", "passes", "baseline"),
    *("change", "only", "status", "instructions", "instructions_change", "instructions_only"),
)


def times_csv(machine: Machine, cases: Sequence[Case] | None = None, results: Sequence[Result] = ()) -> str:
    """Return a row for each time in seconds, or count; an empty field is unknown.

    A change is the new level over the old one, in the row of its release.

    cases : all timed cases of each result by default
    results : all of the machine's by default
    """
    rows: list[list[object]] = []
    for result in results or machine.results:
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
                counted = machine.count_of(case)
                count = counts.measured(result, counted) if counted else None
                columns = [*_change(machine, result, case), six_digits(count.median) if count else "", *_change(machine, result, counted)[:2]]
                rows.append([result.machine, result.environment, version(result), case_name(case), case.device, *numbers, *columns])
    return csv_text(COLUMNS, rows)


def _change(machine: Machine, result: Result, case: Case | None) -> tuple[object, str, str]:
    """Return ratio, Python if it is that one's only, and status of the change of a case with a result; all empty without one."""
    for change in machine.case_changes.get(case, ()) if case else ():
        if (change.release, change.environment) == (version(result), result.environment):
            return six_digits(change.step.ratio), change.only, change.status.value
    return "", "", ""


def six_digits(number: float) -> float:
    """Round to six significant digits; further ones differ between processors."""
    return float(f"{number:.6g}")
