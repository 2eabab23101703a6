"""Data files: times as CSV, a machine's results as JSON, and the badge. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from tensorcopy.analysis.comparisons import case_name, version
from tensorcopy.report.formats import csv_text
from tensorcopy.results import related
from tensorcopy.results.cases import Case
from tensorcopy.results.reader import Result
from tensorcopy.site.machine import Machine

DATA_SCHEMA = Path(__file__).with_name("data.schema.json")  # of a machine's JSON
UNIT = "seconds per call"
MEASURED = (
    *("median", "low", "high", "passes", "baseline", "change", "only", "status"),
    *("instructions", "instructions_change", "instructions_only"),
)
BADGE_LABEL = "tensorcopy"
CHARACTER = 6.6  # width of a letter of the badge
NOT_MEASURED = "nothing measured yet"


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


def badge(message: str) -> str:
    """Return a badge with the label and a message."""
    left, right = (round(len(text) * CHARACTER + 12) for text in (BADGE_LABEL, message))
    size = {"width": str(left + right), "height": "20", "role": "img", "aria-label": f"{BADGE_LABEL}: {message}"}
    root = ElementTree.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", **size})
    for begin, width, colour in ((0, left, "#44484f"), (left, right, "#0b6e4f")):
        ElementTree.SubElement(root, "rect", {"x": str(begin), "width": str(width), "height": "20", "fill": colour})
    letters = {"y": "14", "fill": "#fff", "font-family": "Verdana,sans-serif", "font-size": "11", "text-anchor": "middle"}
    for middle, text in ((left / 2, BADGE_LABEL), (left + right / 2, message)):
        ElementTree.SubElement(root, "text", {"x": f"{middle:g}", **letters}).text = text
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def badge_message(machine: Machine | None) -> str:
    """Return the recommended copy's code with its release."""
    if machine is None:
        return NOT_MEASURED
    option = machine.recommended("tensor", machine.device)
    return f"{option.code} on torch {machine.newest.version}" if option else NOT_MEASURED
