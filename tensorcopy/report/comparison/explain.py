"""Why a verdict is what it is: every pass of either side drawn on one axis, the interval, the test, and how the ledgers differ. Pure."""

from __future__ import annotations

from math import exp
from statistics import median

from tensorcopy.analysis.comparisons import Comparison, named
from tensorcopy.analysis.two_sample import ALPHA
from tensorcopy.report.units import duration
from tensorcopy.results.load import Case, Result
from tensorcopy.results.passes import PassSamples

WIDTH = 56  # columns of the axis: a line of 80 beside its labels
SAMPLE, MIDDLE = "·", "●"
NOT_EVIDENCE = ("started", "asv", "tensorcopy")  # of a ledger: they move no time


def evidence(found: Comparison, case: Case) -> str:
    """All that is known of one case of a comparison, as lines of some 100 columns."""
    change = found.changes[case]
    drawn = [(name, result, _visits(result, case)) for name, result in zip(found.named, (found.before, found.after))]
    samples = [sample for _, _, by_pass in drawn for pass_samples in by_pass for sample in pass_samples.quieted]
    lines = [named(case), f"{found.named[0]} → {found.named[1]}, on {found.on}", change.sentence, ""]
    if samples:
        low, high = min(samples), max(samples)
        left, right = duration(low), duration(high)
        lines.append(" " * 12 + left + right.rjust(WIDTH - len(left)))
        for name, _, by_pass in drawn:
            lines.append(f"{name}, {len(by_pass)} passes, {SAMPLE} a sample, {MIDDLE} their median")
            for number, pass_samples in enumerate(by_pass, 1):
                lines.append(
                    f"{_when(number)}{_line(pass_samples, low, high)}  {_said(pass_samples, found.drift.pass_drift(case, pass_samples))}"
                )
        lines.append("")
    if change.ratio is not None and change.before and change.after:
        pass_drift = ", in the usual mood" if case in found.drift.powers else ""
        lines.append(f"ratio      {change.ratio:.3f} ({duration(change.before)} → {duration(change.after)}{pass_drift})")
    if change.interval and change.p is not None:
        lines.append(f"interval   {change.interval[0]:.3f} … {change.interval[1]:.3f} at {100 * (1 - ALPHA):g} %, bootstrapped over passes")
        lines.append(f"test       p = {change.p:.2g}, adjusted for {found.compared} cases (Holm); a change has p ≤ {ALPHA:g}")
        lines.append(f"margin     {100 * found.margin:g} %: a smaller change is not told")
    if change.confirmed:
        lines.append(f"confirmed  held in {change.confirmed[0]} of {change.confirmed[1]} measurements of its own")
    lines += ["", "ledgers"] + (_differences(found.before, found.after) or ["  alike"])
    return "\n".join(lines) + "\n"


def _visits(result: Result, case: Case) -> tuple[PassSamples, ...]:
    return result.timings[case].by_pass if case in result.timings else ()


def _when(number: int) -> str:
    return f"  pass {number}".ljust(12)


def _line(pass_samples: PassSamples, low: float, high: float) -> str:
    cells = [" "] * WIDTH
    for sample in pass_samples.quieted:
        cells[_column(sample, low, high)] = SAMPLE
    cells[_column(median(pass_samples.quieted), low, high)] = MIDDLE
    return "".join(cells)


def _column(sample: float, low: float, high: float) -> int:
    return round((WIDTH - 1) * (sample - low) / (high - low)) if high > low else 0


def _said(pass_samples: PassSamples, pass_drift: float | None) -> str:
    """Whether the pass counts, and what was done to its samples: the judge takes its mood off."""
    if pass_samples.left_out:
        return f"left out: {pass_samples.left_out}"
    said = [duration(median(pass_samples.quiet or pass_samples.quieted))]
    if pass_samples.pairs:
        said.append(f"{len(pass_samples.quiet)} of {len(pass_samples.samples)} quiet")
    if pass_drift is not None and pass_samples.quiet:
        said.append(f"mood {round(100 * (exp(pass_drift) - 1), 1) + 0:+.1f} %")  # no -0.0
    return ", ".join(said)


def _differences(one: Result, other: Result) -> list[str]:
    names = [name for name in {**one.provenance, **other.provenance} if name not in NOT_EVIDENCE]
    return [
        f"  {name}: {one.provenance.get(name)} → {other.provenance.get(name)}"
        for name in names
        if one.provenance.get(name) != other.provenance.get(name)
    ]
