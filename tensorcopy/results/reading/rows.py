"""Whether the rows and the passes of a result file fit each other. Pure.

Each case has one place in every column and in every pass, each sample belongs to a pass, and asv's result is the median of the samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isnan, prod
from typing import Any

from tensorcopy.results.reading.schemas import is_number

MOST_CASES = 100_000  # of a file: a site with ten thousand takes minutes
MOST_AXES = 20
LONGEST_PARAMETER = 1_000  # characters
ROUNDING = 1e-3  # of a result against the median of its samples: both are rounded to five digits
FAR = 1e5  # of a sample against the median of its case: the program would have stood still for minutes
SHORTEST, LONGEST = 1e-12, 1e6  # seconds: a call takes more than a cycle, and less than eleven days

Document = dict[str, Any]


def fault(document: Document) -> str:
    """Return where the rows of a document of asv do not fit, "" if they do.

    document : one that matches both schemas
    """
    cases = 0
    for suite, values in document["results"].items():
        row = dict(zip(document["result_columns"], values))
        counted = [record["suites"][suite] for record in document["passes"] if suite in record["suites"]]
        if reason := _row_fault(row, cases) or _samples_fault(row, counted, is_recorded=bool(document["passes"])):
            return f"results.{suite[:100]} {reason}"
        cases += _case_count(row)
    return _records_fault(document)


def suites_fault(document: Document) -> str:
    """Return which suite of a benchmarks.json does not fit itself, "" if all do."""
    for suite, row in document.items():
        if suite != "version" and row.get("name", suite) != suite:
            return f"{suite[:100]} has the name {row['name'][:100]}"
        if suite != "version" and len(row["params"]) != len(row["param_names"]):
            return f"{suite[:100]} has {len(row['param_names'])} names of {len(row['params'])} parameters"
    return ""


def _case_count(row: Document) -> int:
    return prod(len(axis) for axis in row["params"])


def _row_fault(row: Document, before: int) -> str:
    """Return what is wrong with a suite's row by itself.

    before : how many cases the file has before it
    """
    if not isinstance(row.get("version"), str) or len(row["version"]) > 100:
        return "has no version"
    if "result" not in row:
        return "has no column result"
    params = row.get("params")
    if not isinstance(params, list) or len(params) > MOST_AXES or not all(map(_is_axis, params)):
        return "has params that are not a list of lists of strings"
    count = _case_count(row)
    if before + count > MOST_CASES:
        return f"has {count:,} cases after {before:,} of other suites: allowed are {MOST_CASES:,} in a file"
    for name, cells in row.items():
        if name in ("result", "samples") or name.startswith("stats_"):
            if cells is not None and (not isinstance(cells, list) or len(cells) != count):
                return f"does not have {count} cells in column {name}"
            if name != "samples" and not all(cell is None or _is_cell(cell, name) for cell in cells or ()):
                return f"has a value in the column {name} that is not a number"
        elif name in ("started_at", "duration") and cells is not None and not is_number(cells):
            return f"has a value in the column {name} that is not a number"
        elif name == "profile" and cells is not None and not isinstance(cells, str):
            return "has a profile that is not a string"
    return ""


def _is_axis(axis: object) -> bool:
    """Return whether a value is a parameter's list of different texts."""
    return (
        isinstance(axis, list)
        and all(isinstance(text, str) and len(text) <= LONGEST_PARAMETER for text in axis)
        and len(set(axis)) == len(axis)
    )


def _is_cell(value: object, name: str) -> bool:
    """Return whether a value is a number; asv writes NaN for a skipped case, and infinity for an interval of too few samples."""
    return is_number(value) or (isinstance(value, float) and (isnan(value) or (name.startswith("stats_ci") and abs(value) == inf)))


def _samples_fault(row: Document, counted: Sequence[Document], *, is_recorded: bool) -> str:
    """Return what is wrong with a suite's samples, and how its passes count them.

    counted : of each pass that has the suite
    is_recorded : whether the file has any pass; one without has samples of before passes were recorded
    """
    count, all_samples = _case_count(row), row.get("samples") or ()
    results = row["result"] or [None] * count
    in_passes = [0] * count
    for of_pass in counted:
        if len(of_pass["samples"]) > count or len(of_pass["control_ns"]) != len(of_pass["samples"]):
            return f"has {count} cases, and not as many in a pass"
        for index, (number, readings) in enumerate(zip(of_pass["samples"], of_pass["control_ns"])):
            in_passes[index] += number
            if readings and len(readings) != number:
                return f"has {number} samples of case {index} in a pass, with {len(readings)} readings of the control"
    for index in range(count):
        samples = all_samples[index] if all_samples else None
        if samples is not None and not isinstance(samples, list):
            return f"has samples of case {index} that are not a list"
        if len(samples or ()) != in_passes[index] and is_recorded:
            return f"has {len(samples or ())} samples of case {index}, {in_passes[index]} in passes"
        if samples and (reason := _of_case(samples, results[index])):
            return f"{reason} in case {index}"
    return ""


def _of_case(samples: list[Any], result: Any) -> str:
    """Return what is wrong with the samples of a case."""
    for sample in samples:
        if type(sample) not in (int, float) or not SHORTEST < sample < LONGEST:
            return f"has a sample of {str(sample)[:40]} seconds"
    ordered = sorted(samples)
    middle = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
    if ordered[-1] > FAR * middle or middle > FAR * ordered[0]:
        return f"has samples from {ordered[0]:.3g} to {ordered[-1]:.3g} seconds"
    if not is_number(result) or abs(result - middle) > ROUNDING * middle:
        return f"has a result of {result}, and samples with a median of {middle:.5g} seconds,"
    return ""


def _records_fault(document: Document) -> str:
    """Return what is wrong with the passes beside the rows."""
    for number, record in enumerate(document["passes"]):
        for suite, of_suite in record["suites"].items():
            if suite not in document["results"]:
                return f"passes[{number}] has samples of {suite[:100]}, which has no results"
            for index, interruptions in of_suite.get("interruptions", {}).items():
                samples = of_suite["samples"]
                if not index.isdecimal() or len(index) > 9 or int(index) >= len(samples) or len(interruptions) != samples[int(index)]:
                    return f"passes[{number}] has interruptions of case {index[:20]} of {suite[:100]}, which do not fit its samples"
                if not all(len(reading) == 3 and all(map(is_number, reading)) for reading in interruptions):
                    return f"passes[{number}] has interruptions of {suite[:100]} that are not three numbers"
        for suite, of_suite in record.get("counts", {}).items():
            if suite not in document["results"]:
                return f"passes[{number}] has counts of {suite[:100]}, which has no results"
            if not all(value is None or is_number(value) for value in of_suite["values"]):
                return f"passes[{number}] has a count of {suite[:100]} that is not a number"
    return ""
