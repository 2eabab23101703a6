"""Take off as much drift between two results as their cases confirm. Pure.

Within a result, `machine_drift` fits how each case follows the memcpy baselines: torch is the same in all of its passes. Between two
results it is not, and baselines may differ where no case does, such as after an update of numpy's memcpy or on a host with another
neighbour. So each result's drift is first taken from its own median, and the difference between the medians is taken off only as far as
all cases together show it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from statistics import median

import numpy as np

from tensorcopy.results.load import Result
from tensorcopy.results.noise.machine_drift import DriftModel

STEPS = 20  # of the shares that are tried: a twentieth of a drift of 5 % is far below the smallest change that is reported


def between(drift: DriftModel, before: Result, after: Result) -> DriftModel:
    """Return the drift with only the confirmed part of the sides' difference.

    drift : fitted to both sides among others
    A case is corrected by (equal + following × exponent) times the difference of the baselines, where `equal` and `following` are the
    same for all cases, at least 0 and together at most 1: with the smallest absolute deviations of all cases' own shifts.
    """
    centres = [_centre(drift, result) for result in (before, after)]
    drifts, common = dict(drift.drifts), dict(drift.common)
    for result, centre in zip((before, after), centres):
        drifts.update({name: drift.drifts[name] - centre for name in _passes(drift, result)})
    within = replace(drift, drifts=drifts)
    if not all(_passes(drift, result) for result in (before, after)):
        return within
    difference = centres[1] - centres[0]
    equal, following = _shares(_shifts(within, before, after), difference)
    for result, half in ((before, -difference / 2), (after, difference / 2)):  # half on each side: swapped sides invert the ratio
        for name in _passes(drift, result):
            drifts[name] += following * half
            common[name] = equal * half
    return replace(drift, drifts=drifts, common=common)


def _passes(drift: DriftModel, result: Result) -> list[str]:
    """Return the passes of a result whose drift is known."""
    return [name for name in _names(result) if name in drift.drifts]


@lru_cache(maxsize=64)  # results: more than a machine has
def _names(result: Result) -> tuple[str, ...]:
    """Return the passes of a result, in order."""
    return tuple(dict.fromkeys([pass_samples.name for timing in result.timings.values() for pass_samples in timing.by_pass]))


def _centre(drift: DriftModel, result: Result) -> float:
    drifts = [drift.drifts[name] for name in _passes(drift, result)]
    return median(drifts) if drifts else 0.0


def _shifts(within: DriftModel, before: Result, after: Result) -> list[tuple[float, float]]:
    """Return each case's exponent and its log ratio, corrected within the sides."""
    shifts = []
    for case, exponent in within.exponents.items():
        if case in before.timings and case in after.timings:
            sides = [within.logs(case, result.timings[case]) for result in (before, after)]
            if all(sides):
                shifts.append((exponent, median(sides[1]) - median(sides[0])))
    return shifts


def _shares(shifts: Sequence[tuple[float, float]], difference: float) -> tuple[float, float]:
    """Return `equal` and `following`, the shares that fit the cases' shifts best.

    Of equally good ones the smallest: what no case confirms is not taken off.
    """
    if not shifts:
        return 0.0, 0.0
    tried = sorted(((equal, following) for equal in range(STEPS + 1) for following in range(STEPS + 1 - equal)), key=sum)
    shares = np.array(tried) / STEPS
    exponents, shift = np.array(shifts).T
    expected = (shares[:, :1] + shares[:, 1:] * exponents) * difference
    best = shares[int(np.argmin(np.abs(shift - expected).sum(axis=1)))]
    return float(best[0]), float(best[1])
