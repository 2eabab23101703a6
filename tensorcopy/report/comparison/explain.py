"""The evidence behind one verdict: passes, interval, test and environments."""

from __future__ import annotations

from math import exp
from statistics import median

from tensorcopy.analysis.comparisons import Comparison, case_name
from tensorcopy.analysis.two_sample import ALPHA, Change
from tensorcopy.report.comparison.wording import amount, cases, count_text, not_included, percent, sentence
from tensorcopy.report.units import duration
from tensorcopy.results.load import Case, Result
from tensorcopy.results.passes import PassSamples

WIDTH = 56  # columns of the axis: a line is about 80 columns with its labels
SAMPLE, MEDIAN = "·", "●"
NOT_EVIDENCE = ("started", "asv", "tensorcopy")  # fields of the provenance that cannot change a time


def evidence(comparison: Comparison, case: Case) -> str:
    """Return all evidence on one case of a comparison, in lines of up to 100 columns."""
    change = comparison.changes[case]
    before, after = comparison.labels
    sections = [
        [case_name(case), f"{before} → {after}, on {comparison.on}", sentence(change)],
        _picture(comparison, case),
        _statistics(comparison, case, change),
        ["environments", *(_differences(comparison.before, comparison.after) or ["  identical"])],
        not_included(comparison.problems),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _picture(comparison: Comparison, case: Case) -> list[str]:
    """Return a line for each pass with its samples on a common axis.

    No lines if nothing was measured.
    """
    sides = [
        (label, result.timings[case].by_pass)
        for label, result in zip(comparison.labels, (comparison.before, comparison.after))
        if case in result.timings
    ]
    samples = [sample for _, by_pass in sides for pass_samples in by_pass for sample in pass_samples.speed_corrected]
    if not samples:
        return []
    low, high = min(samples), max(samples)
    lines = [" " * 12 + duration(low) + duration(high).rjust(WIDTH - len(duration(low)))]
    for label, by_pass in sides:
        lines.append(f"{label}, {len(by_pass)} passes ({SAMPLE} sample, {MEDIAN} median)")
        for number, pass_samples in enumerate(by_pass, 1):
            note = _note(pass_samples, comparison.drift.pass_drift(case, pass_samples))
            lines.append(f"  pass {number}".ljust(12) + f"{_axis(pass_samples, low, high)}  {note}")
    return lines


def _statistics(comparison: Comparison, case: Case, change: Change) -> list[str]:
    """Return the ratio, its interval, the test and the repeats, if there are any."""
    lines = []
    if change.ratio is not None and change.before and change.after:
        corrected = ", drift-corrected" if case in comparison.drift.exponents else ""
        lines.append(f"ratio      {change.ratio:.3f} ({duration(change.before)} → {duration(change.after)}{corrected})")
    if change.interval and change.p is not None:
        low, high = change.interval
        lines.append(f"interval   {low:.3f} to {high:.3f} ({100 * (1 - ALPHA):g} %), bootstrapped over passes")
        p = f"p {'≤' if change.p_is_bound else '='} {change.p:.2g}"  # at the resolution of the draws it is only a bound
        lines.append(f"test       {p}, adjusted for {cases(comparison.compared)} (Holm); significant if p ≤ {ALPHA:g}")
        lines.append(f"margin     {percent(comparison.margin)}; smaller changes are not reported")
    if change.count:
        before, after = (amount(value, change.count.unit) for value in (change.count.before, change.count.after))
        repeats = f"repeated counts differ by {percent(round(change.count.repeatability, 4))}"
        lines.append(f"count      {count_text(change.count)} ({before} → {after}); {repeats}")
    if change.confirmed:
        lines.append(f"confirmed  in {change.confirmed[0]} of {change.confirmed[1]} repeat measurements")
    return lines


def _axis(pass_samples: PassSamples, low: float, high: float) -> str:
    cells = [" "] * WIDTH
    for sample in pass_samples.speed_corrected:
        cells[_column(sample, low, high)] = SAMPLE
    cells[_column(median(pass_samples.speed_corrected), low, high)] = MEDIAN
    return "".join(cells)


def _column(sample: float, low: float, high: float) -> int:
    return round((WIDTH - 1) * (sample - low) / (high - low)) if high > low else 0


def _note(pass_samples: PassSamples, pass_drift: float | None) -> str:
    """Return the median of a pass, its quiet samples and its machine drift.

    For an excluded pass, return the reason.
    """
    if pass_samples.excluded:
        return f"excluded: {pass_samples.excluded}"
    parts = [duration(median(pass_samples.quiet or pass_samples.speed_corrected))]
    if pass_samples.pairs:
        parts.append(f"{len(pass_samples.quiet)} of {len(pass_samples.samples)} quiet")
    if pass_drift is not None and pass_samples.quiet:
        parts.append(f"machine drift {round(100 * (exp(pass_drift) - 1), 1) + 0:+.1f} %")  # + 0 turns -0.0 into 0.0
    return ", ".join(parts)


def _differences(before: Result, after: Result) -> list[str]:
    names = [name for name in {**before.provenance, **after.provenance} if name not in NOT_EVIDENCE]
    return [
        f"  {name}: {before.provenance.get(name)} → {after.provenance.get(name)}"
        for name in names
        if before.provenance.get(name) != after.provenance.get(name)
    ]
