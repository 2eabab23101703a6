"""Sum up a comparison by cause: which methods at which sizes changed, and how far."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median_low

from tensorcopy.analysis.comparisons import Comparison
from tensorcopy.analysis.series import DISPATCHER
from tensorcopy.analysis.two_sample import Verdict
from tensorcopy.report.comparison.wording import CHANGED
from tensorcopy.report.units import count
from tensorcopy.results.counts import SECONDS
from tensorcopy.results.load import Case

MAIN = ("copies", "conversions")
MOST_METHODS = 6  # of one direction and kind on a line
MULTIPLE = 2.0  # from which a ratio is written as a multiple


def causes(comparison: Comparison) -> list[str]:
    """Return a line for each kind of timed case that changed, the main ones first.

    For example "faster: 56 of 165 copies and conversions at numel ≤ 2¹⁴, −12 % to −27 %".
    """
    if any(change.unit != SECONDS for change in comparison.changes.values()):
        return []
    return [*_main_lines(comparison), *_method_lines(comparison)]


def _main_lines(comparison: Comparison) -> Iterator[str]:
    for small in (True, False):
        rows = [(case, change) for case, change in comparison.changes.items() if _module(case) in MAIN and _is_small(case) is small]
        for verdict in CHANGED:
            sizes = sorted(change.size for _, change in rows if change.verdict is verdict)
            if sizes:
                relation = "≤" if small else ">"
                where = f"copies and conversions at numel {relation} {count(DISPATCHER)}"
                yield f"{verdict.value}: {len(sizes)} of {len(rows)} {where}, {_range(sizes, verdict)}"


def _method_lines(comparison: Comparison) -> Iterator[str]:
    modules = dict.fromkeys(_module(case) for case in comparison.changes)
    for module in modules:
        if module in MAIN:
            continue
        for verdict in CHANGED:
            by_method: dict[str, list[float]] = {}
            for case, change in comparison.changes.items():
                if _module(case) == module and change.verdict is verdict:
                    by_method.setdefault(dict(case.parameters).get("method", case.suite), []).append(change.size)
            if by_method:
                largest = {method: _largest(sizes, verdict) for method, sizes in by_method.items()}
                ordered = sorted(largest, key=lambda method: largest[method], reverse=verdict is Verdict.SLOWER)
                shown = ", ".join(f"{method} {signed(largest[method])}" for method in ordered[:MOST_METHODS])
                more = f" and {len(ordered) - MOST_METHODS} more" if len(ordered) > MOST_METHODS else ""
                yield f"{verdict.value}: {module}: {shown}{more}"


def left_out(comparison: Comparison) -> list[str]:
    """Return lines with the passes that count, and with what was left out and why."""
    timed = [change for change in comparison.changes.values() if change.interval]
    if not timed:
        return []
    counted = [median_low([change.passes[side] for change in timed]) for side in (0, 1)]
    lines = [f"passes that count, in the median case: {counted[0]} before, {counted[1]} after"]
    for name, result in zip(("before", "after"), (comparison.before, comparison.after)):
        by_pass = [pass_samples for case in comparison.changes if case in result.timings for pass_samples in result.timings[case].by_pass]
        passes = {pass_samples.name for pass_samples in by_pass}
        used = {pass_samples.name for pass_samples in by_pass if not pass_samples.excluded}
        alone = sum(1 for pass_samples in by_pass if pass_samples.excluded and pass_samples.name in used)
        texts = [f"{len(passes - used)} of {len(passes)} passes (the control shows another speed)"] if passes - used else []
        texts += [f"{alone} of {len(by_pass)} times of a case in a pass (page faults)"] if alone else []
        lines += [f"left out {name}: {', '.join(texts)}"] if texts else []
    return lines


def signed(ratio: float) -> str:
    """Return a ratio as a change: "+57 %", "−12 %", "×2.1" from a doubling on."""
    if ratio >= MULTIPLE:
        return f"×{ratio:.1f}"
    return f"{100 * (ratio - 1):+.0f} %".replace("-", "−")


def _range(sizes: Sequence[float], verdict: Verdict) -> str:
    """Return the smallest and the largest change of sorted ratios."""
    near, far = (sizes[0], sizes[-1]) if verdict is Verdict.SLOWER else (sizes[-1], sizes[0])
    return signed(near) if signed(near) == signed(far) else f"{signed(near)} to {signed(far)}"


def _largest(sizes: Sequence[float], verdict: Verdict) -> float:
    return max(sizes) if verdict is Verdict.SLOWER else min(sizes)


def _module(case: Case) -> str:
    return case.suite.partition(".")[0]


def _is_small(case: Case) -> bool:
    return int(dict(case.parameters).get("numel", "0")) <= DISPATCHER
