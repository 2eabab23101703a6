"""Data files: the times and counts of a machine as CSV, and the badges. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from xml.etree import ElementTree

from tensorcopy.numbers import counted
from tensorcopy.report.formats import csv_text
from tensorcopy.report.sentences import owner_noun
from tensorcopy.results.cases import Case
from tensorcopy.results.result import Result
from tensorcopy.results.suite_specs import INSTRUCTIONS, SECONDS, TIME
from tensorcopy.site.machine import DeviceResults, Machine
from tensorcopy.site.svg import colours

MEASURED = (
    *("value", "error", "launches", "baseline", "from", "time_verdict", "time_ratio", "time_low", "time_high", "support"),
    *("change", "instructions", "instructions_from", "instructions_ratio"),
)
OPEN_LABEL = "open regressions"
CHARACTER = 6.6  # width of a letter of the badge
NOT_MEASURED = "nothing measured yet"


def machine_csv(machine: Machine) -> str:
    """Return a row for each time in seconds, count or tracked value of each result; an empty field is unknown.

    An error is relative and standard; of a count, the difference of its repeats. A ratio is that of a detected change, in the row of its
    release over the one that it changed from, with its interval and `support`: the comparison of the two, only the "levels" around, or the
    comparison on an "older Python" only. The count of a timed case is in its row; `change` is of another count or value.
    """
    rows: list[list[object]] = []
    for result in (*machine.results, *machine.beside):
        for case in (*result.timings, *(case for case in result.counts if case not in machine.timed_by_count)):
            if measured := _measured(machine, result, case):
                rows.append([result.environment, result.version, case.name, case.spec.metric, *measured])
    return csv_text(("environment", "torch", "case", "metric", *MEASURED), rows)


def _measured(machine: Machine, result: Result, case: Case) -> list[object]:
    """Return the numbers of a case in one result; empty where it was not measured."""
    measured = result.measured(case)
    if not measured:
        return []
    memcpy, counted = result.baseline_timing(case), machine.count_of(case)
    count = result.measured(counted) if counted else None
    metric = case.spec.metric
    before, *change = _change(machine, result, case)
    of_count = _change(machine, result, case if metric == INSTRUCTIONS else counted)
    return [
        six_digits(measured.value),
        float(f"{measured.error:.2g}") if isfinite(measured.error) else None,
        measured.launches,
        six_digits(memcpy.seconds) if memcpy else "",
        before if metric != INSTRUCTIONS else "",
        *(change if metric == TIME else [""] * len(change)),
        change[1] if metric not in (TIME, INSTRUCTIONS) else "",
        *(six_digits(count.value) if count else "", of_count[0], of_count[2]),
    ]


def _change(machine: Machine, result: Result, case: Case | None) -> list[object]:
    """Return the release before, verdict, ratio, interval and support of the change of a case with a result; all empty without one.

    The ratio has the digits that the pages show, so that both round alike.
    """
    for change in machine.case_changes.get(case, ()) if case else ():
        if (change.release, change.environment) == (result.version, result.environment):
            interval = change.step.interval if change.unit == SECONDS else None  # a tracked value's is no ratio
            ratio = round(change.step.ratio, 3) if change.step.before > 0 else ""
            support = "older Python" if change.step.only_on else "levels" if change.step.by_levels else "comparison"
            return [change.before, change.verdict, ratio, *(round(end, 3) if end else "" for end in interval or (None, None)), support]
    return [""] * 6


def six_digits(number: float) -> float:
    """Round to six significant digits, further ones differ between processors; a whole number has no point."""
    return int(number) if number.is_integer() else float(f"{number:.6g}")


def badge(label: str, message: str) -> str:
    """Return a badge with a label and a message."""
    left, right = (round(len(text) * CHARACTER + 12) for text in (label, message))
    size = {"width": str(left + right), "height": "20", "role": "img", "aria-label": f"{label}: {message}"}
    root = ElementTree.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", **size})
    for begin, width, colour in ((0, left, "#44484f"), (left, right, colours()["accent"][0])):
        ElementTree.SubElement(root, "rect", {"x": str(begin), "width": str(width), "height": "20", "fill": colour})
    letters = {"y": "14", "fill": "#fff", "font-family": "Verdana,sans-serif", "font-size": "11", "text-anchor": "middle"}
    for middle, text in ((left / 2, label), (left + right / 2, message)):
        ElementTree.SubElement(root, "text", {"x": f"{middle:g}", **letters}).text = text
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def open_message(devices: Sequence[DeviceResults]) -> str:
    """Return by device how many methods or benchmarks have an open regression that is not acknowledged."""
    texts = []
    for each in devices:
        number = sum(not regression.acknowledged for regression in each.regressions)
        texts.append(f"{counted(number, owner_noun(each.standings))} on torch {each.newest.version} ({each.device})")
    return ", ".join(texts) or NOT_MEASURED
