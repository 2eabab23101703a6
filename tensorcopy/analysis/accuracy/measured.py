"""Score `compare` on passes of one release, with and without a known share of work added.

All are really measured (`measure.injected_slowdowns`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from tensorcopy.analysis import comparisons
from tensorcopy.analysis.accuracy.detector import Detector
from tensorcopy.analysis.two_sample import Samples, Verdict, judge
from tensorcopy.results import noise
from tensorcopy.results.passes import Case
from tensorcopy.results.reader import Result

SPLITS = 20  # of the passes of one release into two halves, at random; the first keeps the order of measurement
SEED = 1
UNCHANGED = ("as-it-is", "again")  # the two measurements without added work

ReportShare = Callable[[float], None]


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
    cases = torch_cases(variants[UNCHANGED[0]])
    drift = noise.fit_drift([*variants.values(), *others], cases)  # one machine, although each variant has its own folder
    around = drift.noise(others, cases)
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
            {case: (Samples(before.corrected), Samples(after.corrected)) for case, (before, after) in pairs.items()}, noise=around
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
