"""Times as CSV. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from tensorcopy.analysis.comparisons import case_name, version
from tensorcopy.report.tables import csv_text
from tensorcopy.results import related
from tensorcopy.results.passes import Case
from tensorcopy.results.reader import Result
from tensorcopy.site.model.machine import Machine

MEASURED = (
    *("median", "low", "high", "passes", "baseline", "change", "only", "status"),
    *("instructions", "instructions_change", "instructions_only"),
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
            if measured := _measured(machine, result, case):
                rows.append([result.machine, result.environment, version(result), case_name(case), case.device, *measured])
    return csv_text(("machine", "environment", "torch", "case", "device", *MEASURED), rows)


def case_csv(machine: Machine, case: Case) -> str:
    """Return the rows of one case, without what is the same in all of them."""
    rows = [
        [result.environment, version(result), *measured] for result in machine.results if (measured := _measured(machine, result, case))
    ]
    return csv_text(("environment", "torch", *MEASURED), rows)


def _measured(machine: Machine, result: Result, case: Case) -> list[object]:
    """Return the numbers of a case in one result; empty where it was not measured."""
    timing = related.measured(result, case)
    if not timing:
        return []
    memcpy, counted = related.baseline_timing(result, case), machine.count_of(case)
    count = related.measured(result, counted) if counted else None
    return [
        six_digits(timing.median),
        six_digits(timing.low),
        six_digits(timing.high),
        related.passes(result, case),
        six_digits(memcpy.median) if memcpy else "",
        *_change(machine, result, case),
        six_digits(count.median) if count else "",
        *_change(machine, result, counted)[:2],
    ]


def _change(machine: Machine, result: Result, case: Case | None) -> tuple[object, str, str]:
    """Return ratio, Python if it is that one's only, and status of the change of a case with a result; all empty without one.

    The ratio has the digits that the pages show, so that both round alike.
    """
    for change in machine.case_changes.get(case, ()) if case else ():
        if (change.release, change.environment) == (version(result), result.environment):
            return round(change.step.ratio, 3), change.only, change.status.value
    return "", "", ""


def six_digits(number: float) -> float:
    """Round to six significant digits, further ones differ between processors; a whole number has no point."""
    return int(number) if number >= 1 and number == int(number) else float(f"{number:.6g}")
