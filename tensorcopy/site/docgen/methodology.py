"""The generated parts of docs/methodology.md. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import combinations
from math import exp, log
from statistics import mean, median, quantiles
from typing import Any

from tensorcopy.analysis.comparisons import WITHOUT_TORCH
from tensorcopy.releases.release_table import Release
from tensorcopy.report.formats import code, escaped
from tensorcopy.report.numbers import duration
from tensorcopy.report.tables import markdown_table
from tensorcopy.results import counts, noise
from tensorcopy.results.noise import DriftModel
from tensorcopy.results.passes import Case, PassSamples, Timing, excluded_passes, timing
from tensorcopy.results.reader import Result
from tensorcopy.site.pages import accuracy_report

UNCHANGED = ("as-it-is", "again")  # of the known changes: without a slowdown
FEWEST = 3  # passes of a release whose earlier half is compared with the later one
CONVERSION = Case("conversions.BySize.time_conversion", (("method", "detach_numpy_copy"), ("numel", "1")))
COPY = Case("copies.ByGrad.time_copy", (("method", "empty_like_copy"), ("numel", "16"), ("requires_grad", "True")))
CONVERSION_TEXT = "`x.detach().numpy().copy()`, numel 1"
COPY_TEXT = "`torch.empty_like(x).copy_(x)` with requires_grad, numel 16"
SHOWN = (
    (CONVERSION_TEXT, CONVERSION, ("1.9.0", "3.9"), ("2.0.1", "3.9")),
    (CONVERSION_TEXT, CONVERSION, ("1.13.1", "3.11"), ("2.0.1", "3.11")),
    (CONVERSION_TEXT, CONVERSION, ("2.0.1", "3.11"), ("2.15.0", "3.11")),
    (COPY_TEXT, COPY, ("1.13.1", "3.11"), ("2.0.1", "3.11")),
    (COPY_TEXT, COPY, ("2.0.1", "3.11"), ("2.15.0", "3.11")),
)  # text, case, and the release and Python before and after


def card(report: Mapping[str, Any]) -> str:
    """Return the tables of the accuracy report."""
    parts = []
    measured_on = {name: escaped(report[name]) for name in ("torch", "cpu")}
    for title, (header, *rows) in accuracy_report.tables({**report, **measured_on}):
        parts += [f"{title}:", markdown_table(header, rows, "l" + "r" * (len(header) - 1))]
    return "\n\n".join(parts)


def agreement(crosschecked: Mapping[str, Any]) -> str:
    """Return the ratio of asv's time to that of torch's Timer, by suite."""
    rows = [
        [name, str(row["cases"]), f"{row['median']:.3f}", f"{row['min']:.3f}", f"{row['max']:.3f}"]
        for name, row in crosschecked["suites"].items()
    ]
    source = escaped(f"torch {crosschecked['torch']} on {crosschecked['on']}, {crosschecked['day']}")
    table = markdown_table(["asv / reference", "cases", "median", "min", "max"], rows, "lrrrr")
    return f"{table}\n\n{source}: the median over all cases is {crosschecked['median']:.3f}."


def quiet(results: Sequence[Result]) -> str:
    """Return how quiet the machine was and how many passes are excluded."""
    timings = [timing for result in results for timing in result.timings.values()]
    by_pass = [pass_samples for timing in timings for pass_samples in timing.by_pass]
    readings = [reading <= pass_samples.limit for pass_samples in by_pass for reading in pass_samples.control]
    share = sum(readings) / max(len(readings), 1)
    exponents = {(result.python, case): timing.by_pass[0].control_exponent for result in results for case, timing in result.timings.items()}
    known = [exponent for exponent in exponents.values() if exponent is not None]
    low, middle, high = quantiles(known, n=4) if len(known) > 1 else (0.0, 0.0, 0.0)
    passes = {record["id"] for result in results for record in result.passes if _timed(record)}
    disturbed = sum(timing.disturbed for timing in timings)
    return "\n".join(
        [
            f"{len(readings):,} samples in {len(passes)} passes of {len(results)} results; {share:.0%} of the samples were taken while the "
            f"machine was quiet, and {disturbed:,} of {len(timings):,} times have no quiet sample. {len(known)} of {len(exponents)} cases "
            f"follow the control to a known exponent: {middle:.2f} in the median, {low:.2f} to {high:.2f} for the middle half.",
            *_excluded_passes(results),
        ]
    )


def _excluded_passes(results: Sequence[Result]) -> list[str]:
    """Return list items about the excluded passes."""
    reasons, far = [], 0
    for python in sorted({result.python for result in results}):
        records = [record for result in results if result.python == python for record in result.passes if _timed(record)]
        recorded = [record["left_out"] for record in records if record.get("left_out")]
        reasons += recorded
        far += len(excluded_passes(records)) - len(recorded)
    lines = [f"- {len(reasons)} passes are excluded by their records: {escaped('; '.join(sorted(set(reasons))))}."] if reasons else []
    return lines + ([f"- {far} passes are excluded because their control is far from that of the others."] if far else [])


def drift(results: Sequence[Result]) -> str:
    """Return the machine drift between passes, and how the cases follow it."""
    models = [_drift_model(results, result) for result in {result.python: result for result in results}.values()]
    drifts = [100 * (exp(value) - 1) for model in models for value in model.drifts.values()]
    exponents = [exponent for model in models for exponent in model.exponents.values()]
    if len(drifts) < 2 or len(exponents) < 2:
        return "The drift of every pass is unknown."
    lowest, *_, highest = quantiles(drifts, n=20)
    low, middle, high = quantiles(exponents, n=4)
    return (
        f"The drift is known for {len(drifts)} passes in {len(results)} results; nine in ten are between {lowest:+.1f} % and "
        f"{highest:+.1f} %. {len(exponents)} cases follow it to a known exponent: {middle:.2f} in the median, {low:.2f} to {high:.2f} for "
        "the middle half."
    )


def _drift_model(results: Sequence[Result], like: Result) -> DriftModel:
    """Fit the drift to all results of one machine and all cases that torch can change."""
    group = [result for result in results if noise.same_machine(result, like)]
    return noise.fit_drift(group, _torch_cases({case for result in group for case in result.timings}))


def _torch_cases(cases: Iterable[Case]) -> list[Case]:
    return [case for case in cases if not case.suite.startswith(WITHOUT_TORCH)]


def repeated(results: Sequence[Result], releases: Mapping[str, Release]) -> str:
    """Compare the earlier half of each release's passes with the later half.

    The figures are medians over cases, as sampled and after control.
    """
    rows = []
    for result in results:
        # Python 3.12.1 would mix up a variable `timing` with the function below
        halves = [pair for of_case in result.timings.values() if (pair := _halves(of_case))]
        if not halves:
            continue
        sampled = [log(_as_sampled(later) / _as_sampled(earlier)) for earlier, later in halves]
        controlled = [log(timing(later).median / timing(earlier).median) for earlier, later in halves]
        passes = max(len(earlier) + len(later) for earlier, later in halves)
        rows.append(
            [
                *(releases[result.sha].version, result.python, str(passes), f"{_hours(result):.1f}", str(len(halves))),
                *(_percent(median(map(abs, sampled))), _percent(median(map(abs, controlled))), _signed(median(controlled))),
            ]
        )
    header = ["torch", "Python", "passes", "hours apart", "cases", "as sampled", "after control", "common part"]
    return markdown_table(header, rows, "llrrrrrr")


def sets(results: Sequence[Result], variants: Sequence[Result]) -> str:
    """Compare whole sets of passes of one release.

    They are those of the history and the two variants without a slowdown.
    """
    unchanged = [result for result in variants if result.machine in UNCHANGED]
    history = [result for result in results if unchanged and noise.same_kind(result, unchanged[0])]
    named = [("`results/`", result) for result in history if result.sha == unchanged[0].sha]
    named += [(code(result.machine), result) for result in unchanged]
    rows = []
    for (before_name, before), (after_name, after) in combinations(named, 2):
        usable = {case for case, timing in after.timings.items() if timing.usable}
        cases = _torch_cases(case for case, timing in before.timings.items() if timing.usable and case in usable)
        hours = abs(mean(_starts(after)) - mean(_starts(before))) / 3600
        row = [before_name, after_name, f"{len(_starts(before))} and {len(_starts(after))}", f"{hours:.1f}", str(len(cases))]
        for model in (noise.AS_MEASURED, noise.fit_drift([*history, *variants], cases)):
            levels = [[median(model.logs(case, result.timings[case])) for case in cases] for result in (before, after)]
            differences = [second - first for first, second in zip(*levels)]
            row += [_percent(median(map(abs, differences))), _signed(median(differences))]
        rows.append(row)
    measures = ["difference", "common part", "drift-corrected", "common part"]
    table = markdown_table(["set", "compared with", "passes", "hours apart", "cases", *measures], rows, "llrrrrrrr")
    on = escaped(f"torch {unchanged[0].provenance['torch']}, Python {unchanged[0].python}")
    return f"{table}\n\n{on}."


def seen(results: Sequence[Result], releases: Mapping[str, Release]) -> str:
    """Return some changes in the history, with ranges and ratios of instructions."""
    by_release = {(releases[result.sha].version, result.python): result for result in results}
    rows = []
    for text, case, (version, python), (version_after, python_after) in SHOWN:
        before, after = by_release.get((version, python)), by_release.get((version_after, python_after))
        if before and after and case in before.timings and case in after.timings:
            change = _change(before.timings[case], after.timings[case])
            rows.append([text, f"{version}, Python {python}", version_after, change, _instructions(before, after, case, case)])
    newest = results[-1]
    first, second = (Case(COPY.suite, (("method", name), *COPY.parameters[1:])) for name in ("clone_detach", "detach_clone"))
    if first in newest.timings and second in newest.timings:
        change = _change(newest.timings[first], newest.timings[second])
        codes = ("`x.clone().detach()`", f"`x.detach().clone()`, torch {releases[newest.sha].version}")
        rows.append(["with requires_grad, numel 16", *codes, change, _instructions(newest, newest, first, second)])
    return markdown_table(["", "from", "to", "time", "instructions"], rows, "lllrr")


def provenance(schema: Mapping[str, Any]) -> str:
    """Return the fields of the provenance, from result.schema.json."""
    fields = schema["$defs"]["ledger"]["properties"]
    return markdown_table(["field", ""], [[f"`{name}`", field["description"]] for name, field in fields.items()], "ll")


def _timed(record: Mapping[str, Any]) -> bool:
    return any(row["control_ns"] and any(row["control_ns"]) for row in record["suites"].values())


def _halves(timing: Timing) -> tuple[tuple[PassSamples, ...], tuple[PassSamples, ...]] | None:
    """Return both halves of a case's passes; None when there are too few."""
    passes = [pass_samples for pass_samples in timing.by_pass if not pass_samples.excluded]
    half = len(passes) // 2
    return (tuple(passes[:half]), tuple(passes[-half:])) if len(passes) >= FEWEST else None


def _as_sampled(by_pass: Sequence[PassSamples]) -> float:
    return median(median(pass_samples.samples) for pass_samples in by_pass)


def _hours(result: Result) -> float:
    starts = _starts(result)
    half = len(starts) // 2
    return (mean(starts[-half:]) - mean(starts[:half])) / 3600


def _starts(result: Result) -> list[float]:
    """Return the start of each timed pass that is not excluded, in seconds."""
    records = [record for record in result.passes if _timed(record) and not record.get("left_out")]
    return [datetime.fromisoformat(record["started"]).timestamp() for record in records]


def _percent(logarithm: float) -> str:
    return f"{exp(logarithm) - 1:.1%}"


def _signed(logarithm: float) -> str:
    return f"{exp(logarithm) - 1:+.1%}"


def _change(before: Timing, after: Timing) -> str:
    """Return the ratio with its range: the extremes of the passes on both sides."""
    return (
        f"×{after.median / before.median:.2f} ({after.low / before.high:.2f} … {after.high / before.low:.2f}): "
        f"{duration(before.median)} → {duration(after.median)}"
    )


def _instructions(before: Result, after: Result, before_case: Case, after_case: Case) -> str:
    """Return the ratio of the instructions of two timed cases."""
    first, second = counts.count_of(before, before_case), counts.count_of(after, after_case)
    return f"×{second.value / first.value:.2f}" if first and second else "–"
