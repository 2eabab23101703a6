"""Draw histories in which nothing changes but a few planted cases, with the errors that launches really had, and count what is told.

An error is what a launch's difference of two releases differs by from the mean of all launches. A drawn history has the errors of whole
launches, with signs at random, so that cases and releases vary together as they did. Everything is seeded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import inf, log
from statistics import fmean
from typing import Any

import numpy as np

from docs.tools.goals import Row, at_least, at_most
from tensorcopy.analysis import comparisons, series
from tensorcopy.analysis.paired import Verdict
from tensorcopy.numbers import percent
from tensorcopy.results.cases import Case
from tensorcopy.results.effects import Effects, fit
from tensorcopy.results.reader import Result

DRAWS = 100  # histories
STEPS = (0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.10, 0.15, 0.20)
PLANTED = 0.1  # share of the cases that change in a drawn history: Holm's step-down is more lenient where many change
OFTEN = 0.9
SEED = 1

Numbers = Any  # an array of floats; numpy's types differ from release to release
Planted = Mapping[Case, tuple[int, float]]  # the release from which on a case is slower, and by how much


def rows(axis: Sequence[Result]) -> Iterator[Row]:
    """Yield the figures of drawn histories.

    axis : the results of one Python, in order of release
    """
    cases, residuals = errors(axis)
    if not cases:
        return
    random = np.random.default_rng(SEED)
    places = {"middle": len(axis) // 2, "newest": len(axis) - 1}
    told: dict[tuple[str, int, float], list[bool]] = defaultdict(list)  # by place, kind and size
    verdicts: dict[tuple[int, float], list[bool]] = defaultdict(list)  # of the comparison of the newest pair
    alarms, false, quiet = [], 0, 0
    for _ in range(DRAWS):
        chosen = random.choice(len(cases), max(1, round(PLANTED * len(cases))), replace=False)
        planted = {cases[number]: (places[str(random.choice([*places]))], float(random.choice(STEPS))) for number in chosen}
        results = drawn(axis, cases, residuals, planted, random)
        histories = series.joined([results])
        for case, (index, size) in planted.items():
            kind, name = size_of(case), next(name for name, place in places.items() if place == index)
            told[name, kind, size].append(any(step.index == index and step.ratio > 1 for step in histories[case].steps))
        newest = comparisons.between(results[-2], results[-1]).changes
        for case, (index, size) in planted.items():
            if index == places["newest"]:
                verdicts[size_of(case), size].append(newest[case].verdict == Verdict.SLOWER)
        false += sum(len(histories[case].steps) for case in cases if case not in planted)
        quiet += len(cases) - len(planted)
        for before, after in pairwise(results):
            changes = comparisons.between(before, after).changes
            alarms.append(any(changes[case].verdict in (Verdict.SLOWER, Verdict.FASTER) for case in cases if case not in planted))
    for name, most in (("middle", 0.04), ("newest", 0.05)):
        sizes = [smallest({size: told[name, kind, size] for size in STEPS}) for kind in range(3)]
        goal, missed = at_most(sizes, [most])  # of the smallest tensors
        title = f"planted: smallest step at the {name} release that the history detects 9 times in 10"
        yield Row(title, steps_text(sizes), f"{goal} (≤ 2¹⁴)", missed)
    sizes = [smallest({size: verdicts[kind, size] for size in STEPS}) for kind in range(3)]
    yield Row("planted: smallest slowdown of the newest release that compare detects 9 times in 10", steps_text(sizes))
    five = [verdict for kind in range(3) for verdict in verdicts[kind, 0.05]]
    yield Row(
        "planted: slowdowns of the newest release by 5 % that compare detects",
        f"{percent(fmean(five), 0)} of {len(five)}" if five else "–",
        *at_least(fmean(five) if five else 1.0, 0.95),
    )
    share = fmean(alarms)
    name = "neighbours that do not differ: comparisons with a false alarm"
    yield Row(name, f"{percent(share, 1)} of {len(alarms)}", *at_most([share], [0.05]))
    yield Row("false steps in histories that do not change", f"{false} in {quiet:,}")


def errors(axis: Sequence[Result]) -> tuple[list[Case], Numbers]:
    """Return the cases that every launch has of every release of an axis, and their errors by launch, release and case."""
    whole, columns = axis[-1].effects, [result.column for result in axis]
    if whole is None or None in columns:
        return [], np.empty((0, 0, 0))
    logs = whole.logs[:, columns]
    used = (~np.isnan(logs).all(axis=2)).all(axis=1)  # launches that have every release
    logs = logs[used]
    by_number = {number: case for case, number in whole.cases.items() if case.spec.torch}
    numbers = [number for number in by_number if not np.isnan(logs[:, :, number]).any()]
    launches = len(logs)
    if launches < 2 or not numbers:
        return [], logs
    fitted = fit(logs[:, :, numbers], np.ones(logs.shape[:2]))
    return [by_number[number] for number in numbers], fitted.residuals * (launches / (launches - 1)) ** 0.5


def drawn(axis: Sequence[Result], cases: Sequence[Case], residuals: Numbers, planted: Planted, random: Numbers) -> tuple[Result, ...]:
    """Return results with the same number of launches, in which only the planted cases change."""
    logs = residuals * random.choice((-1.0, 1.0), (len(residuals), 1, 1)) - 12.0  # some microseconds
    for number, case in enumerate(cases):
        if case in planted:
            index, size = planted[case]
            logs[:, index:, number] += log(1 + size)
    columns = {(result.sha, result.environment, result.revision): number for number, result in enumerate(axis)}
    names = tuple(f"{number}" for number in range(len(residuals)))
    effects = Effects(names, names, columns, {case: number for number, case in enumerate(cases)}, logs)
    return tuple(
        replace(result, effects=effects, column=number, timings=effects.timings(number), counts={}, count_repeats={})
        for number, result in enumerate(axis)
    )


def size_of(case: Case) -> int:
    """Return 0, 1 or 2: how large a case's tensor is."""
    return max(comparisons.kind(case)[1], 0)


def smallest(told: Mapping[float, Sequence[bool]]) -> float:
    """Return the smallest size from which on this size and all larger ones are told often enough; infinite where none is."""
    answer = inf
    for size in sorted(filter(told.get, told), reverse=True):
        if fmean(told[size]) < OFTEN:
            break
        answer = size
    return answer


def steps_text(sizes: Sequence[float]) -> str:
    """Return the smallest sizes that are told, of `STEPS`: "3 % / > 20 %"."""
    return " / ".join(f"> {percent(max(STEPS))}" if size == inf else percent(size) for size in sizes)
