"""Measure slowdowns of known size, and score `compare` on them.

Every case of one release is measured twice without a change, and with 5 % and 10 % more operations than are counted, so that it takes that
much longer. The variants are measured in rounds, each in random order. Their results have asv's format and lie in a separate folder.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random

from docs.tools import asv_detection
from tensorcopy.analysis.paired import Samples, Verdict, judge
from tensorcopy import configuration
from tensorcopy.configuration import Paths
from tensorcopy.measure import plan, run_passes
from tensorcopy.measure.plan import Measurement
from tensorcopy.measure.progress import Progress, Reporter
from tensorcopy.measure.run_passes import Job
from tensorcopy.results import noise
from tensorcopy.results.cases import Case
from tensorcopy.results.reader import Result

FOLDER = Path("docs/known_changes")
EXTRA = "TENSORCOPY_EXTRA"  # as benchmarks/cases.py reads it
SUITES = "^(?!article|memory|instructions|threads)(?!.*16777216)"  # without 64 MiB: its twenty operations would double the time of a pass
VARIANTS = {"as-it-is": 0.0, "again": 0.0, "5-percent": 0.05, "10-percent": 0.10}  # share of operations that are not counted, by name
SPLITS = 20  # of the passes of one release into two halves, at random; the first keeps the order of measurement
SEED = 1
UNCHANGED = ("as-it-is", "again")  # the two measurements without added work

ReportShare = Callable[[float], None]


def measure(measurement: Measurement, paths: Paths, passes: int, random: Random, report_progress: Callable[[Progress], None]) -> None:
    """Measure the missing passes of every variant.

    In the results each variant has the place of a machine. Raises TensorcopyError where a pass fails; finished passes are stored, and the
    same call measures the missing ones.
    """
    paths = replace(paths, results=paths.results.parent / FOLDER)
    for name in VARIANTS:
        configuration.register_machine(name)
    missing = {name: plan.missing_passes(measurement.file(paths, name), SUITES, passes) for name in VARIANTS}
    order = plan.pass_order(missing, random)
    titles = [f"torch {measurement.release.version}, {name}, pass {number} of {len(order)}" for number, name in enumerate(order, 1)]
    reporter = Reporter([(title, run_passes.PASS) for title in titles], report_progress)
    for number, name in enumerate(order):
        report = partial(reporter.at, number)
        with _extra(VARIANTS[name]):
            run_passes.measure_pass(measurement, Job(paths, name, SUITES), report, report)


@contextmanager
def _extra(share: float) -> Iterator[None]:
    """Set the share of uncounted operations for the suites."""
    if share:
        os.environ[EXTRA] = f"{share:g}"
    try:
        yield
    finally:
        os.environ.pop(EXTRA, None)


@dataclass(frozen=True)
class Comparisons:
    """The verdicts, ours and those of `asv compare`, for one share of added work."""

    change: float
    comparisons: int
    verdicts: Mapping[Verdict, int]
    asv_slower: int
    asv_faster: int


def torch_cases(result: Result) -> list[Case]:
    """Return the cases of a result that torch can change."""
    return [case for case in result.timings if case.spec.torch]


@dataclass(frozen=True)
class _Passes:
    """The quiet samples of a case by pass, as measured and corrected for drift."""

    measured: tuple[tuple[float, ...], ...]
    corrected: tuple[tuple[float, ...], ...]

    def take(self, indices: Sequence[int]) -> _Passes:
        return _Passes(tuple(self.measured[index] for index in indices), tuple(self.corrected[index] for index in indices))

    @property
    def samples(self) -> list[float]:
        return [sample for samples in self.measured for sample in samples]


_Pairs = Mapping[Case, tuple[_Passes, _Passes]]


def compare_variants(variants: Mapping[str, Result], others: Sequence[Result], report_share: ReportShare) -> Iterator[Comparisons]:
    """Yield the verdicts for each share of added work.

    variants : by name, as `measure` takes them; others : results of the same machine, which show the noise
    """
    cases = torch_cases(variants[UNCHANGED[0]])
    drift = noise.fit([*variants.values(), *others]).model(cases)  # one machine, although each variant has its own folder
    around = drift.noise(others, cases)
    passes: dict[str, dict[Case, _Passes]] = {}
    for name, result in variants.items():
        passes[name] = {}
        for case in cases:
            timing = result.timings[case]
            measured = tuple(pass_samples.quiet for pass_samples in timing.usable)
            passes[name][case] = _Passes(measured, drift.passes(case, timing))
    rounds = [(0.0, pairs) for pairs in _splits(passes, cases)]
    for name, share in VARIANTS.items():
        for baseline in UNCHANGED if share else ():
            rounds.append((share, {case: (passes[baseline][case], passes[name][case]) for case in cases}))
    verdicts: dict[float, Counter[Verdict]] = {}
    asv_verdicts: dict[float, Counter[str]] = {}
    for number, (share, pairs) in enumerate(rounds):
        report_share(number / len(rounds))
        changes = judge(
            {case: (Samples(before.corrected), Samples(after.corrected)) for case, (before, after) in pairs.items()}, noise=around
        )
        verdicts.setdefault(share, Counter()).update(change.verdict for change in changes.values())
        asv_verdicts.setdefault(share, Counter()).update(
            asv_detection.compared(before.samples, after.samples) for before, after in pairs.values()
        )
    for share, counts in verdicts.items():
        yield Comparisons(share, counts.total(), counts, asv_verdicts[share]["slower"], asv_verdicts[share]["faster"])


def _splits(passes: Mapping[str, Mapping[Case, _Passes]], cases: Sequence[Case]) -> Iterator[_Pairs]:
    """Yield the passes of both unchanged variants, divided into random halves."""
    random = Random(SEED)
    for split in range(SPLITS):
        pairs = {}
        for case in cases:
            first, second = (passes[name][case] for name in UNCHANGED)
            joined = _Passes(first.measured + second.measured, first.corrected + second.corrected)
            order = list(range(len(joined.measured)))
            if split:
                random.shuffle(order)
            half = len(order) // 2
            pairs[case] = joined.take(order[:half]), joined.take(order[half:])
        yield pairs
