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
from tensorcopy.judge import case_history, comparisons
from tensorcopy.judge.comparisons import Question
from tensorcopy.judge.paired import MARGIN, Verdict
from tensorcopy.numbers import percent
from tensorcopy.results.cases import Case
from tensorcopy.results.effects import Column, Effects, fit
from tensorcopy.results.result import Result

DRAWS = 200  # histories
STEPS = (0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.10, 0.15, 0.20)
PLANTED = 0.1  # share of the cases that change in a drawn history: Holm's step-down is more lenient where many change
OFTEN = 0.9
LARGE = 0.08  # the smallest step beyond 2^20 that shall be detected so often: its error is three times that of 2^20
DETECTED, ALL_DETECTED, EACH_DETECTED = (0.03, 0.05), 0.95, 0.80  # slowdowns, and shares of those beyond the margin, of all and of a size
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
        histories = case_history.joined([results])
        for case, (index, size) in planted.items():
            kind, name = size_of(case), next(name for name, place in places.items() if place == index)
            told[name, kind, size].append(any(step.index == index and step.ratio > 1 for step in histories[case].steps))
        newest = comparisons.between(Question(results[-2], results[-1])).changes
        for case, (index, size) in planted.items():
            if index == places["newest"]:
                verdicts[size_of(case), size].append(newest[case].verdict == Verdict.SLOWER)
        false += sum(len(histories[case].steps) for case in cases if case not in planted)
        quiet += len(cases) - len(planted)
        for before, after in pairwise(results):
            changes = comparisons.between(Question(before, after)).changes
            alarms.append(any(changes[case].verdict in (Verdict.SLOWER, Verdict.FASTER) for case in cases if case not in planted))
    kinds = range(len(comparisons.SIZES))
    for name, most in (("middle", 0.03), ("newest", 0.04)):
        sizes = [smallest({size: told[name, kind, size] for size in STEPS}) for kind in kinds]
        title = f"planted: smallest step at the {name} release that the history detects 9 times in 10"
        yield Row(title, steps_text(sizes), *at_most(sizes, [most, most, most, LARGE]))
    sizes = [smallest({size: verdicts[kind, size] for size in STEPS}) for kind in kinds]
    printed = comparisons.sensitivity(comparisons.between(Question(axis[-2], axis[-1])).changes)
    as_printed = " / ".join(percent(size, 1) for size in printed.values())
    name = f"smallest slowdown seen 9 times in 10 with the newest release, planted (as printed: {as_printed})"
    yield Row(name, steps_text(sizes))
    for planted_size in DETECTED:
        of_sizes = [verdicts[kind, planted_size] for kind in kinds]
        shares = [fmean(each) if each else 1.0 for each in of_sizes]
        every = [verdict for each in of_sizes for verdict in each]
        share = fmean(every) if every else 1.0
        text = f"{percent(share, 0)} of {len(every)} ({' / '.join(f'{100 * each:.0f}' for each in shares)} %)"
        goal, missed = at_least(share, ALL_DETECTED)
        name = f"planted: slowdowns of the newest release by {percent(planted_size)} that compare detects"
        if planted_size > MARGIN:
            yield Row(name, text, f"{goal}, each size {at_least(1.0, EACH_DETECTED)[0]}", missed or min(shares) < EACH_DETECTED)
        else:
            yield Row(name, text)
    share = fmean(alarms)
    name = "neighbours that do not differ: comparisons with a false alarm"
    yield Row(name, f"{percent(share, 1)} of {len(alarms)}", *at_most([share], [0.05]))
    yield Row("false steps in histories that do not change", f"{false} in {quiet:,}")


def errors(axis: Sequence[Result]) -> tuple[list[Case], Numbers]:
    """Return the cases that launches have of every release of an axis, and their errors by launch, release and case; NaN where absent."""
    columns = [result.column for result in axis if result.column]
    if len(columns) < len(axis):
        return [], np.empty((0, 0, 0))
    whole = columns[-1].effects
    logs = whole.logs[:, [column.number for column in columns]]
    used = (~np.isnan(logs).all(axis=2)).all(axis=1)  # launches that have every release
    logs = logs[used]
    absent = np.isnan(logs)
    by_number = {number: case for case, number in whole.cases.items() if case.spec.compared}
    # some launches have some of the cases only, of all releases
    numbers = [number for number in by_number if (absent[:, :, number].any(axis=1) == absent[:, :, number].all(axis=1)).all()]
    residuals = np.full((*logs.shape[:2], len(numbers)), np.nan)
    for pattern in {tuple(absent[:, 0, number]) for number in numbers}:
        there = ~np.array(pattern)
        places = [place for place, number in enumerate(numbers) if tuple(absent[:, 0, number]) == pattern]
        if (launches := int(there.sum())) > 1:
            chosen = logs[np.ix_(there, range(logs.shape[1]), [numbers[place] for place in places])]
            fitted = fit(chosen, np.ones(chosen.shape[:2])).residuals * (launches / (launches - 1)) ** 0.5
            residuals[np.ix_(there, range(logs.shape[1]), places)] = fitted
    kept = [place for place in range(len(numbers)) if not np.isnan(residuals[:, 0, place]).all()]
    return [by_number[numbers[place]] for place in kept], residuals[:, :, kept]


def drawn(axis: Sequence[Result], cases: Sequence[Case], residuals: Numbers, planted: Planted, random: Numbers) -> tuple[Result, ...]:
    """Return results with the same number of launches, in which only the planted cases change."""
    logs = residuals * random.choice((-1.0, 1.0), (len(residuals), 1, 1)) - 12.0  # some microseconds
    for number, case in enumerate(cases):
        if case in planted:
            index, size = planted[case]
            logs[:, index:, number] += log(1 + size)
    columns = {(result.sha, result.environment, result.revision): number for number, result in enumerate(axis)}
    names = tuple(f"{number}" for number in range(len(residuals)))
    effects = Effects(names, columns, {case: number for number, case in enumerate(cases)}, logs)
    return tuple(
        replace(result, column=column, timings=column.timings(), count_repeats={})
        for column, result in zip((Column(effects, number) for number in range(len(axis))), axis)
    )


def size_of(case: Case) -> int:
    """Return the place in `comparisons.SIZES`: how large a case's tensor is."""
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
