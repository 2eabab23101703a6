"""How detectors of steps do on series whose truth is known: the table of choosing_a_detector.md.

OMP_NUM_THREADS=1 uv run --no-project --with numpy --with scipy --with ruptures==1.1.10 --with apache-otava==0.8.0 --with asv==0.6.6 \
    docs/choosing_a_detector.py SAP_SMALL_2021.JSON

The data set is not part of this repository: {"series": [{"kind", "median", "first_slow_index", …}]}, made from
https://github.com/SAP/performance-regression-data-set (hana/small_2021, CC-BY-4.0).
"""

from __future__ import annotations

import json
import sys
import time
from math import log
from pathlib import Path

import numpy as np
import ruptures
from asv import step_detect
from otava.analysis import compute_change_points
from scipy.stats import mannwhitneyu

sys.path.insert(0, str(Path(__file__).parents[1]))
from tensorcopy.analysis import change_points

SIGMA = 0.016
POINTS = 27
QUIET = 300
EACH = 4  # stepped series for each index


def noise_of(y):
    """From successive differences."""
    return max(1e-4, np.median(np.abs(np.diff(y))) / 0.6745 / 2**0.5)


def asv(values, least=0.0):
    """asv's own, the steps of at least `least`."""
    found = step_detect.detect_steps(list(values))
    return [after[0] for before, after in zip(found, found[1:]) if abs(after[2] / before[2] - 1) >= least]


def otava(values, p=0.001, least=0.0):
    """Otava, with its default window."""
    return [point.index for point in compute_change_points(list(values), max_pvalue=p, min_magnitude=least)[0]]


def pelt(values):
    """Least squares in logarithms, two points at least, the penalty of history.py."""
    y = np.log(values)
    return ruptures.Pelt("l2", min_size=2, jump=1).fit(y / noise_of(y)).predict(pen=change_points.PENALTY * log(len(y)))[:-1]


def kernel(values):
    """A Gaussian kernel, whose cost is at most one for each point: a penalty of ln n."""
    y = np.log(values)
    return ruptures.KernelCPD("rbf", min_size=2).fit(y / noise_of(y)).predict(pen=log(len(y)))[:-1]


def winsorised(values):
    """Clipped to three times the noise about a median of seven, penalty 15 ln n, Mann-Whitney p < 1e-4, at least 1 % and one deviation."""
    y = np.log(values)
    around = np.array([np.median(y[max(0, i - 3) : i + 4]) for i in range(len(y))])
    clipped = np.clip(y, around - 3 * noise_of(y), around + 3 * noise_of(y))
    cuts = ruptures.Pelt("l2", min_size=3, jump=1).fit(clipped / noise_of(y)).predict(pen=15 * log(len(y)))
    found = []
    for begin, cut, end in zip([0, *cuts], cuts, cuts[1:]):
        left, right = y[begin:cut], y[cut:end]
        size = abs(np.median(left) - np.median(right))
        deviation = max(np.median(np.abs(side - np.median(side))) for side in (left, right))
        if mannwhitneyu(left, right).pvalue < 1e-4 and size >= max(deviation, log(1.01)):
            found.append(cut)
    return found


DETECTORS = {
    "`change_points`": lambda values: [step.index for step in change_points.steps(list(values))],
    "asv, every step": asv,
    "asv, ≥ 5 %": lambda values: asv(values, 0.05),
    "Otava, as it comes": otava,
    "Otava, p < 1e-5, ≥ 2 %": lambda values: otava(values, 1e-5, 0.02),
    "ruptures Pelt, l2": pelt,
    "ruptures KernelCPD, rbf": kernel,
    "winsorised partition, rank test": winsorised,
}


def gaussian(chance, n=POINTS):
    """Quiet noise."""
    return chance.normal(0, SIGMA, n)


def spiked(chance, n=POINTS):
    """The same, and one point in fifty is an outlier of +30 %; those at the very ends would be steps as far as anybody can tell."""
    return gaussian(chance, n) + log(1.3) * ((chance.random(n) < 0.02) & (np.arange(n) % (n - 1) > 0))


def student(chance, n=POINTS):
    """Student's t with three degrees of freedom, and the same middle half."""
    return chance.standard_t(3, n) * SIGMA * 0.6745 / 0.7649


def found(detect, noise, indices):
    """The share of +10 % steps seen once, within a point."""
    chance = np.random.default_rng(1)
    seen = []
    for index in indices:
        for _ in range(EACH):
            values = np.exp(noise(chance) + log(1.1) * (np.arange(POINTS) >= index))
            seen.append(sum(abs(one - index) <= 1 for one in detect(values)) == 1)
    return f"{100 * np.mean(seen):.0f} %"


def false(detect, noise):
    """Steps per series that has none."""
    chance = np.random.default_rng(2)
    return f"{np.mean([len(detect(np.exp(noise(chance)))) for _ in range(QUIET)]):.3f}"


def real(detect, series):
    """Slowdowns found within five points; series without one that have a step."""
    slow = [one for one in series if one["kind"] == "regression"]
    hits = sum(any(abs(index - one["first_slow_index"]) <= 5 for index in detect(one["median"])) for one in slow)
    alarms = sum(bool(detect(one["median"])) for one in series if one["kind"] != "regression")
    return f"{hits} of {len(slow)} | {alarms} of {len(series) - len(slow)}"


def seconds(detect, times=3):
    """For a hundred series of 800 points with a step."""
    chance = np.random.default_rng(3)
    series = [np.exp(gaussian(chance, 800) + 0.1 * (np.arange(800) >= 300)) for _ in range(times)]
    begin = time.process_time()
    for values in series:
        detect(values)
    return f"{(time.process_time() - begin) * 100 / times:.1f}"


def main(path):
    """The table."""
    series = json.loads(Path(path).read_text())["series"]
    write = sys.stdout.write
    write("| detector | +10 % at 3 to 24 | at 1, 2, 25, 26 | false: quiet | outliers | Student's t | SAP found | SAP alarms | seconds |\n")
    write("|---|--:|--:|--:|--:|--:|--:|--:|--:|\n")
    for name, detect in DETECTORS.items():
        steps = f"{found(detect, gaussian, range(3, 25))} | {found(detect, gaussian, [1, 2, 25, 26] * 5)}"
        quiet = " | ".join(false(detect, noise) for noise in (gaussian, spiked, student))
        write(f"| {name} | {steps} | {quiet} | {real(detect, series)} | {seconds(detect)} |\n")


if __name__ == "__main__":
    main(sys.argv[1])
