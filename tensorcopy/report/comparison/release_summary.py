"""What a release changed for copies, in two or three sentences: what and how far, why if it was counted, and for which sizes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import fmean, median

from tensorcopy.analysis import exact_counts
from tensorcopy.analysis.comparisons import Comparison
from tensorcopy.analysis.profiles import difference
from tensorcopy.analysis.profiles.difference import Difference
from tensorcopy.analysis.two_sample import Change, Verdict
from tensorcopy.errors import TensorcopyError
from tensorcopy.report.comparison.causes import MAIN, signed
from tensorcopy.report.comparison.wording import BY_COUNT, CHANGED, percent
from tensorcopy.report.units import count
from tensorcopy.report.why.difference_text import signed as signed_number
from tensorcopy.results.load import Case
from tensorcopy.results.profiles import profile_file

CONCERNS = 0.05  # share of the time from which on a change concerns a reader
LARGE = 0.1  # share of the instructions' difference; a smaller group of functions is not named
GROUPS = 4  # of functions that are named
PROFILED = "{} 1 float32 contiguous"  # the tensor on which the functions decide the time

Rows = Sequence[tuple[Case, Change]]


def sentences(comparison: Comparison) -> list[str]:
    """Return two or three sentences about the copies and conversions; none where nothing was compared.

    A machine with several devices has them for each.
    """
    by_device: dict[str, list[tuple[Case, Change]]] = {}
    for case, change in comparison.changes.items():
        if case.suite.partition(".")[0] in MAIN and change.ratio and {"method", "numel"} <= set(dict(case.parameters)):
            by_device.setdefault(case.device, []).append((case, change))
    texts = []
    for device, rows in by_device.items():
        why = [_why(comparison, rows)] if device == "cpu" else []
        where = f" on {device}" if len(by_device) > 1 else ""
        texts += [_what(rows, where), *filter(None, why), _whom(rows, where)]
    return texts


def _what(rows: Rows, where: str) -> str:
    """Return how many cases became slower and faster, and by how much."""
    of = f"{len(rows)} copies and conversions{where}"
    parts = [part for verdict in CHANGED if (part := _direction([change.size for _, change in rows if change.verdict is verdict], verdict))]
    if not parts:
        return f"None of {of} became slower or faster."
    return f"Of {of}, {' and '.join(parts)}."


def _direction(sizes: list[float], verdict: Verdict) -> str:
    """Return the cases of one direction: "97 became slower (+3 % to +21 %, median +9 %)"."""
    if not sizes:
        return ""
    extremes = _extremes(sizes, falling=verdict is Verdict.FASTER)
    middle = f", median {signed(median(sizes))}" if len(extremes) > 1 else ""
    return f"{len(sizes)} became {verdict.value} ({' to '.join(extremes)}{middle})"


def _extremes(ratios: Sequence[float], *, falling: bool) -> tuple[str, ...]:
    """Return the smallest and the largest change, once if they look the same; of falling ratios, the smallest change is the highest."""
    return tuple(dict.fromkeys(map(signed, sorted((min(ratios), max(ratios)), reverse=falling))))


def _why(comparison: Comparison, rows: Rows) -> str:
    """Return what their instructions show: by function, or else in total; "" where they were not counted."""
    counted = [change.count for _, change in rows if change.count]
    if not counted:
        return ""
    changed = [each.ratio for each in counted if each.changed]
    if not changed:
        return f"None of the {len(counted)} counted ones runs {percent(exact_counts.LEAST)} more or fewer instructions."
    more = "more" if min(changed) > 1 else "fewer" if max(changed) < 1 else "more or fewer"
    extent = " to ".join(_extremes(changed, falling=more == "fewer"))
    counts = f"Of the {len(counted)} counted ones, {len(changed)} {'run' if len(changed) > 1 else 'runs'} {more}"
    methods = dict.fromkeys(case["method"] for case, _ in rows)
    differences = list(_differences(comparison, list(methods)))
    return f"{counts} instructions ({extent}){_by_function(differences)}."


def _by_function(differences: Sequence[Difference]) -> str:
    """Return the groups of functions behind the mean difference: "; on one element +510 in the mean of 5 methods: …"."""
    if not differences:
        return ""
    total = fmean(each.total for each in differences)
    by_group: dict[str, float] = defaultdict(float)
    for each in differences:
        for group in each.groups:
            by_group[group.group] += group.difference / len(differences)
    named = [group for group in sorted(by_group, key=lambda group: -abs(by_group[group])) if abs(by_group[group]) >= LARGE * abs(total)]
    parts = ", ".join(f"{group} {signed_number(by_group[group])}" for group in named[:GROUPS])
    smaller = sum(abs(value) >= 1 for value in by_group.values()) - len(named[:GROUPS])
    mean = f"in the mean of {len(differences)} methods" if len(differences) > 1 else "in one method"
    return f"; on one element {signed_number(total)} {mean}: {parts}{f', and smaller parts of {smaller} groups' if smaller > 1 else ''}"


def _differences(comparison: Comparison, methods: Sequence[str]) -> Iterator[Difference]:
    """Yield the functions of each method whose instructions on one element changed; none where they were not counted on both sides."""
    try:
        sides = [profile_file.profiles_of(result) for result in (comparison.before, comparison.after)]
    except TensorcopyError:
        return  # `tensorcopy why` reports a damaged file
    for method in methods:
        before, after = (side.of(PROFILED.format(method)) if side else None for side in sides)
        if before and after and difference.is_changed(before.instructions, after.instructions):
            yield difference.between(1, before, after)


def _whom(rows: Rows, where: str) -> str:
    """Return the sizes at which the change is a notable share of the time."""
    by_numel: dict[int, list[float]] = {}
    for case, change in rows:
        by_numel.setdefault(int(case["numel"]), []).append(_by_the_clock(change))
    notable = {numel: sum(abs(ratio - 1) >= CONCERNS for ratio in ratios) for numel, ratios in sorted(by_numel.items())}
    sizes = [numel for numel, cases in notable.items() if cases]
    if not sizes:
        return f"The clock alone shows no change of {percent(CONCERNS)} or more at any size{where}."
    cases, of = sum(notable.values()), sum(len(by_numel[numel]) for numel in by_numel if sizes[0] <= numel <= sizes[-1])
    several = f"{_elements(sizes[0])} to {_elements(sizes[-1])} elements" if len(sizes) > 1 else f"numel={sizes[0]}"
    most = max(sizes, key=lambda numel: notable[numel] / len(by_numel[numel]))
    often = f", most often at {_elements(most)} (in {notable[most]} of {len(by_numel[most])})" if len(sizes) > 1 else ""
    return f"The clock alone shows {percent(CONCERNS)} or more in {cases} of {of} cases at {several}{where}{often}."


def _elements(numel: int) -> str:
    return "1" if numel == 1 else count(numel)


def _by_the_clock(change: Change) -> float:
    """Return the ratio of the times; 1 where the clock alone shows no change."""
    return change.ratio or 1.0 if change.verdict in CHANGED and change.reason not in BY_COUNT else 1.0
