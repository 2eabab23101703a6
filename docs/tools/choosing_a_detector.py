"""Compare change-point detectors on series with known steps.

OMP_NUM_THREADS=1 uv run --no-project --with numpy --with scipy --with ruptures==1.1.10 --with apache-otava==0.8.0 --with asv==0.6.6 \
    docs/tools/choosing_a_detector.py SAP_SMALL_2021.JSON

The data set is not part of this repository. Its format is {"series": [{"kind", "median", "first_slow_index", …}]}, made from
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

sys.path.insert(0, str(Path(__file__).parents[2]))
from tensorcopy.analysis import change_points
from tensorcopy.numbers import percent

SIGMA = 0.016
POINTS = 27
QUIET = 300
EACH = 4  # stepped series for each index


def noise_of(y):
    """Return the noise of a series, estimated from successive differences."""
    return max(1e-4, np.median(np.abs(np.diff(y))) / 0.6745 / 2**0.5)


def asv(values, least=0.0):
    """Return the steps of at least `least` that asv detects."""
    levels = step_detect.detect_steps(list(values))
    return [after[0] for before, after in zip(levels, levels[1:]) if abs(after[2] / before[2] - 1) >= least]


def otava(values, p=0.001, least=0.0):
    """Return the steps that Otava detects with its default window."""
    return [point.index for point in compute_change_points(list(values), max_pvalue=p, min_magnitude=least)[0]]


def pelt(values):
    """Return the steps of a least-squares fit of logarithms: at least two points, penalty 6 ln n."""
    y = np.log(values)
    return ruptures.Pelt("l2", min_size=2, jump=1).fit(y / noise_of(y)).predict(pen=6 * log(len(y)))[:-1]


def kernel(values):
    """Return the steps of a Gaussian kernel; its cost is at most one for each point, so the penalty is ln n."""
    y = np.log(values)
    return ruptures.KernelCPD("rbf", min_size=2).fit(y / noise_of(y)).predict(pen=log(len(y)))[:-1]


def winsorised(values):
    """Return steps of clipped values that pass a rank test.

    Clipped to three times the noise around a median of seven; penalty 15 ln n, Mann-Whitney p < 1e-4, at least 1 % and one deviation.
    """
    y = np.log(values)
    around = np.array([np.median(y[max(0, i - 3) : i + 4]) for i in range(len(y))])
    clipped = np.clip(y, around - 3 * noise_of(y), around + 3 * noise_of(y))
    cuts = ruptures.Pelt("l2", min_size=3, jump=1).fit(clipped / noise_of(y)).predict(pen=15 * log(len(y)))
    steps = []
    for begin, cut, end in zip([0, *cuts], cuts, cuts[1:]):
        left, right = y[begin:cut], y[cut:end]
        size = abs(np.median(left) - np.median(right))
        deviation = max(np.median(np.abs(side - np.median(side))) for side in (left, right))
        if mannwhitneyu(left, right).pvalue < 1e-4 and size >= max(deviation, log(1.01)):
            steps.append(cut)
    return steps


DETECTORS = {
    "`tensorcopy.analysis.change_points`": lambda values: [step.index for step in change_points.steps(list(values))],
    "asv, every step": asv,
    "asv, ≥ 5 %": lambda values: asv(values, 0.05),
    "Otava, default settings": otava,
    "Otava, p < 1e-5, ≥ 2 %": lambda values: otava(values, 1e-5, 0.02),
    "ruptures Pelt, l2": pelt,
    "ruptures KernelCPD, rbf": kernel,
    "winsorised partition, rank test": winsorised,
}


def gaussian(chance, n=POINTS):
    """Return normal noise."""
    return chance.normal(0, SIGMA, n)


def spiked(chance, n=POINTS):
    """Return normal noise with one outlier of +30 % in fifty points, except at the ends, where it would look like a step."""
    return gaussian(chance, n) + log(1.3) * ((chance.random(n) < 0.02) & (np.arange(n) % (n - 1) > 0))


def student(chance, n=POINTS):
    """Return Student's t noise with three degrees of freedom and the same interquartile range."""
    return chance.standard_t(3, n) * SIGMA * 0.6745 / 0.7649


def detected(detect, noise, indices):
    """Return the share of +10 % steps that are detected once, at most one point away."""
    chance = np.random.default_rng(1)
    detected_once = []
    for index in indices:
        for _ in range(EACH):
            values = np.exp(noise(chance) + log(1.1) * (np.arange(POINTS) >= index))
            detected_once.append(sum(abs(step - index) <= 1 for step in detect(values)) == 1)
    return percent(float(np.mean(detected_once)), 0)


def false_steps(detect, noise):
    """Return the number of steps detected per series without a step."""
    chance = np.random.default_rng(2)
    return f"{np.mean([len(detect(np.exp(noise(chance)))) for _ in range(QUIET)]):.3f}"


def labelled(detect, series):
    """Return the slowdowns detected within five points, and the other series with at least one step."""
    slow = [record for record in series if record["kind"] == "regression"]
    hits = sum(any(abs(index - record["first_slow_index"]) <= 5 for index in detect(record["median"])) for record in slow)
    alarms = sum(bool(detect(record["median"])) for record in series if record["kind"] != "regression")
    return f"{hits} of {len(slow)} | {alarms} of {len(series) - len(slow)}"


def seconds(detect, times=3):
    """Return the processor time for 100 series of 800 points with a step."""
    chance = np.random.default_rng(3)
    series = [np.exp(gaussian(chance, 800) + 0.1 * (np.arange(800) >= 300)) for _ in range(times)]
    begin = time.process_time()
    for values in series:
        detect(values)
    return f"{(time.process_time() - begin) * 100 / times:.1f}"


def main(path):
    """Print the table."""
    series = json.loads(Path(path).read_text())["series"]
    write = sys.stdout.write
    write("| detector | +10 % at 3 to 24 | at 1, 2, 25, 26 | false: quiet | outliers | Student's t | SAP found | SAP alarms | seconds |\n")
    write("|---|--:|--:|--:|--:|--:|--:|--:|--:|\n")
    for name, detect in DETECTORS.items():
        steps = f"{detected(detect, gaussian, range(3, 25))} | {detected(detect, gaussian, [1, 2, 25, 26] * 5)}"
        quiet = " | ".join(false_steps(detect, noise) for noise in (gaussian, spiked, student))
        write(f"| {name} | {steps} | {quiet} | {labelled(detect, series)} | {seconds(detect)} |\n")


if __name__ == "__main__":
    main(sys.argv[1])
