"""Measure how often `compare` and `history` are right, next to asv's detection.

Comparisons: passes of one release against other passes of the same release, and against passes with a known share of work added, all really
measured (`measure.injected_slowdowns`). Histories: simulated series with and without a step, with the noise of the shipped passes.
Annotated: series from another project in which people have marked the changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, log
from random import Random
from statistics import median
from typing import Any, Protocol

from tensorcopy.analysis import change_points, comparisons
from tensorcopy.analysis.two_sample import MARGIN, judge
from tensorcopy.analysis.verdict import Samples, Verdict
from tensorcopy.errors import TensorcopyError
from tensorcopy.results.load import Case, Result, Results
from tensorcopy.results.noise import machine_drift
from tensorcopy.results.noise.spread import scaled_deviations

SPLITS = 20  # of the passes of one release into two halves, at random; the first keeps the order of measurement
SERIES = 500  # simulated for each size of step
POINTS = 27  # releases in a simulated series
STEPS = (0.05, 0.10, 0.25)
WITHIN = 5  # points from the annotated one that count as found
SEED = 1
UNCHANGED = ("as-it-is", "again")  # the two measurements without added work

ReportShare = Callable[[float], None]


class Detector(Protocol):
    """The detection that ours is compared with."""

    def compared(self, before: Sequence[float], after: Sequence[float], /) -> str:
        """Return "slower", "faster" or "" for two sets of samples."""

    def steps(self, values: Sequence[float], /) -> list[int]:
        """Return the indices at which a series changes."""


@dataclass(frozen=True)
class Comparisons:
    """The verdicts, ours and those of `asv compare`, for one share of added work."""

    change: float
    comparisons: int
    verdicts: Mapping[Verdict, int]
    asv_slower: int
    asv_faster: int


@dataclass
class Score:
    """Counts of the true changes that were detected, and of false ones.

    delays : points from the true change to the detected one
    """

    changes: int = 0
    detected: int = 0
    false: int = 0
    delays: list[int] = field(default_factory=list)

    def add(self, steps: Sequence[int], truth: int | None, *, within: int) -> None:
        """Count the steps of a series that changes at `truth`; None for no change."""
        near = [step for step in steps if truth is not None and abs(step - truth) <= within]
        self.changes += truth is not None
        self.detected += bool(near)
        self.false += len(steps) - len(near)
        if truth is not None and near:
            self.delays.append(min((step - truth for step in near), key=abs))

    @property
    def recall(self) -> float | None:
        return self.detected / self.changes if self.changes else None

    @property
    def precision(self) -> float | None:
        return self.detected / (self.detected + self.false) if self.detected + self.false else None

    @property
    def delay(self) -> float | None:
        """The median delay."""
        return median(self.delays) if self.delays else None


@dataclass(frozen=True)
class Histories:
    """The score on simulated series with a step of one size; 0 for no step."""

    step: float
    series: int
    score: Score
    asv: Score


@dataclass(frozen=True)
class Annotated:
    """The score on annotated series."""

    source: str
    licence: str
    series: int
    points: int
    score: Score
    asv: Score


@dataclass(frozen=True)
class Card:
    """The whole report card.

    passes : on each side; quiet : of them, in the median case
    releases : points in a simulated series
    """

    torch: str
    python: str
    cpu: str
    day: str
    passes: int
    quiet: int
    releases: int
    margin: float
    comparisons: tuple[Comparisons, ...]
    histories: tuple[Histories, ...]
    annotated: Annotated | None


def card(
    slowdowns: Results,
    shipped: Results,
    annotated_series: Annotated | None,
    report_progress: Callable[[float, str], None],
    *,
    shares: Mapping[str, float],
    asv: Detector,
) -> Card:
    """Return the report card.

    Raises TensorcopyError if the injected slowdowns were not measured.

    slowdowns : the results with and without added work; shipped : the results whose noise is simulated
    shares : the share of work that each of the slowdowns adds, by name
    """
    variants = {result.machine: result for result in slowdowns.results}
    missing = [name for name in shares if name not in variants]
    if missing:
        raise TensorcopyError(
            "the injected slowdowns were not measured",
            got=f"no {', '.join(missing)}",
            allowed=", ".join(shares),
            next="tensorcopy report-card --measure",
        )
    unchanged = variants[UNCHANGED[0]]
    others = [result for result in shipped.results if machine_drift.same_kind(result, unchanged)]
    return Card(
        torch=unchanged.provenance["torch"],
        python=unchanged.provenance["python"],
        cpu=unchanged.provenance["cpu"],
        day=unchanged.provenance["started"][:10],
        passes=min(len(result.passes) for result in variants.values()),
        quiet=min(int(median(len(result.timings[case].usable) for case in _cases(result))) for result in variants.values()),
        releases=POINTS,
        margin=MARGIN,
        comparisons=tuple(compare_variants(variants, others, lambda share: report_progress(share / 2, "comparisons"), shares, asv)),
        histories=tuple(simulate(others, lambda share: report_progress((1 + share) / 2, "histories"), asv)),
        annotated=annotated_series,
    )


def _cases(result: Result) -> list[Case]:
    """Return the cases of a result that torch can change."""
    return [case for case in result.timings if not case.suite.startswith(comparisons.WITHOUT_TORCH)]


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


def compare_variants(
    variants: Mapping[str, Result], others: Sequence[Result], report_share: ReportShare, shares: Mapping[str, float], asv: Detector
) -> Iterator[Comparisons]:
    """Yield the verdicts for each share of added work.

    variants : by name, as `injected_slowdowns` measures them; others : results of the same machine, which show the noise
    """
    cases = _cases(variants[UNCHANGED[0]])
    drift = machine_drift.fit_drift([*variants.values(), *others], cases)  # one machine, although each variant has its own folder
    noise = drift.noise(others, cases)
    passes: dict[str, dict[Case, _Passes]] = {}
    for name, result in variants.items():
        passes[name] = {}
        for case in cases:
            timing = result.timings[case]
            measured = tuple(pass_samples.quiet for pass_samples in timing.usable)
            passes[name][case] = _Passes(measured, drift.passes(case, timing))
    rounds = [(0.0, pairs) for pairs in _splits(passes, cases)]
    for name, share in shares.items():
        for baseline in UNCHANGED if share else ():
            rounds.append((share, {case: (passes[baseline][case], passes[name][case]) for case in cases}))
    verdicts: dict[float, Counter[Verdict]] = {}
    asv_verdicts: dict[float, Counter[str]] = {}
    for number, (share, pairs) in enumerate(rounds):
        report_share(number / len(rounds))
        changes = judge(
            {case: (Samples(before.corrected), Samples(after.corrected)) for case, (before, after) in pairs.items()}, noise=noise
        )
        verdicts.setdefault(share, Counter()).update(change.verdict for change in changes.values())
        asv_verdicts.setdefault(share, Counter()).update(asv.compared(before.samples, after.samples) for before, after in pairs.values())
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


def simulate(results: Sequence[Result], report_share: ReportShare, asv: Detector) -> Iterator[Histories]:
    """Yield the score for each size of step. A step counts as found within one point.

    A point is the median of four passes, which deviate from the level as passes of a random case deviate from their release's median.
    """
    random = Random(SEED)
    pools = list(_pools(results))
    for number, size in enumerate((0.0, *STEPS)):
        ours, theirs = Score(), Score()
        for series in range(SERIES):
            report_share((number + series / SERIES) / (1 + len(STEPS)))
            pool = random.choice(pools)
            truth = random.randrange(1, POINTS) if size else None
            level = [0.0] * POINTS if truth is None else [0.0] * truth + [log(1 + size)] * (POINTS - truth)
            drawn = [[middle + random.choice(pool) * random.choice((-1, 1)) for _ in range(4)] for middle in level]
            values = [exp(median(point)) for point in drawn]
            ours.add([step.index for step in change_points.steps(values)], truth, within=1)
            theirs.add(asv.steps(values), truth, within=1)
        yield Histories(size, SERIES, ours, theirs)


def annotated(document: Mapping[str, Any], asv: Detector) -> Annotated:
    """Return the score on series with `median` and `first_slow_index` or null."""
    series = document.get("series") if isinstance(document, dict) else None
    if not isinstance(series, list) or not all({"median", "first_slow_index"} <= set(row) for row in series):
        raise TensorcopyError(
            "not an annotated data set",
            got=f"{document!r:.60}",
            allowed='{"series": [{"median": [...], "first_slow_index": 14 or null}, ...]}',
            next="a file of that form",
        )
    ours, theirs = Score(), Score()
    for row in series:
        ours.add([step.index for step in change_points.steps(row["median"])], row["first_slow_index"], within=WITHIN)
        theirs.add(asv.steps(row["median"]), row["first_slow_index"], within=WITHIN)
    points = sum(len(row["median"]) for row in series)
    return Annotated(document.get("source", ""), document.get("licence", ""), len(series), points, ours, theirs)


def _pools(results: Sequence[Result]) -> Iterator[list[float]]:
    """Yield by case the deviations of passes from their release's median, in logs."""
    groups: dict[Case, list[tuple[float, ...]]] = {}
    for result in results:
        for case in _cases(result):
            if len(result.timings[case].logs) >= 3:
                groups.setdefault(case, []).append(result.timings[case].logs)
    pools = (scaled_deviations(logs)[0] for logs in groups.values())
    yield from (pool for pool in pools if len(pool) >= 20)
