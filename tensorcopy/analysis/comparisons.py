"""Compare two results case by case.

One case has one verdict, however it is asked for: all cases of two results are judged together, and `Comparison.selected` chooses which of
them are shown.

An exact count, of instructions, bytes or allocations, does not depend on when it is taken, so it is evidence before the clock is. Where a
count changed, the case changed, unless the clock shows the opposite direction significantly. Where it did not and the interval of the time
contains no change, the case is unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf, log
from os.path import relpath
from statistics import median

from tensorcopy.analysis.two_sample import MARGIN, Change, CountPair, Failure, Reason, Samples, Verdict, judge
from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import release_table
from tensorcopy.results import noise, related
from tensorcopy.results.noise import AS_MEASURED, DriftModel
from tensorcopy.results.passes import Case
from tensorcopy.results.reader import Result
from tensorcopy.results.series_key import UNKNOWN_NAME

SAME_MACHINE = (
    "cpu",
    "cores",
    "governor",
    "cpu_quota",
    "hugepages",
    "cpu_capability",
    "threads",
    "arch",
    "os",
    "driver",
    "accelerators",
    "settings",
)
SAME_GPU = "gpu"  # for cases on CUDA: each of its values that both sides have
FREE_SETTINGS = ("CUDA_DEVICE_ORDER", "CUDA_VISIBLE_DEVICES")  # choose one of several equal GPUs
FREE_OF_GPU = ("index", "clock_mhz")  # a number, and a reading that varies from pass to pass
SAME_TIMER = ("asv_runner",)  # it takes the samples

LEAST_COUNT = 0.01  # relative, the smallest change of a count; repeated counts of instructions differ by less
REPEATS = 2  # a change of a count is at least so many times the repeatability
UNREPEATED = 0.005  # repeatability where a case was counted once in every result: of half of the cases it is better, of all 1.2 %
ROUNDED = 1e-4  # counts are stored with five digits
WIDEST = 0.25  # half width of a time's interval, above which a count is no evidence that it is unchanged


@dataclass(frozen=True)
class Comparison:
    """Two results and the change of each case between them.

    labels : a few words for each side, such as "torch 2.14.1" and "torch 2.15.0"
    margin : the smallest change to report, as a share of the time
    compared : the number of cases that could be tested, for which the p-values are adjusted
    drift : the machine drift that was taken off the passes
    problems : of files that could have taken part, and could not be read
    """

    before: Result
    after: Result
    labels: tuple[str, str]
    changes: dict[Case, Change]
    margin: float
    compared: int = 0
    drift: DriftModel = AS_MEASURED
    problems: tuple[TensorcopyError, ...] = ()

    def selected(self, pattern: str = "", device: str = "") -> Comparison:
        """Return the comparison with only the cases whose name matches `pattern`, on `device`; "" for any device. No verdict changes."""
        regex = re.compile(pattern)
        shown = {case: each for case, each in self.changes.items() if regex.search(case_name(case)) and device in ("", case.device)}
        return replace(self, changes=shown)

    @property
    def on(self) -> str:
        """The processor and Python that both sides were measured on."""
        processors = dict.fromkeys(str(result.provenance["cpu"]) for result in (self.before, self.after))
        pythons = dict.fromkeys(result.python for result in (self.before, self.after))
        return f"{' / '.join(processors)}, Python {' / '.join(pythons)}"


def between(before: Result, after: Result, others: Iterable[Result], *, margin: float = MARGIN) -> Comparison:
    """Compare two results: every case of either that torch can change, all judged together.

    others : results that may show the noise: those of the same environment do
    """
    cases = [case for case in dict.fromkeys([*before.timings, *after.timings]) if case.spec.torch]
    neighbours = {result.path: result for result in others if result.series_key == before.series_key}
    around = [result for path, result in neighbours.items() if path not in (before.path, after.path)]
    related = [before, after, *around] if noise.same_machine(before, after) else []
    fit = noise.fit(result for result in related if noise.same_machine(result, before))
    drift = noise.drift_between(fit.model(cases), before, after)
    pairs = {case: (samples_of(before, case, after, drift), samples_of(after, case, before, drift)) for case in cases}
    least = _least(margin)
    changes = {
        case: with_count(change, count_change(before, after, case, around, least))
        for case, change in judge(pairs, margin=margin, noise=fit.noise(around, cases)).items()
    }
    compared = sum(change.p is not None for change in changes.values())
    return Comparison(before, after, labels(before, after), changes, margin, compared, drift)


def _least(margin: float) -> float:
    """Return the smallest change of a count: a margin above that of times is the reader's, and holds for counts too."""
    return LEAST_COUNT if margin <= MARGIN else margin


def distance(before: Sequence[float], after: Sequence[float]) -> float:
    """Return the ratio of two counts, or of passes in seconds, as an unsigned logarithm; 0 where they do not differ significantly."""
    first, last = (Samples(tuple((value,) for value in values)) for values in (before, after))
    if len(before) > 1 and judge({"": (first, last)})[""].verdict not in (Verdict.SLOWER, Verdict.FASTER):
        return 0.0
    ratio = abs(log(median(after) / median(before)))
    return ratio if len(before) > 1 or ratio >= log(1 + LEAST_COUNT) else 0.0


def of_counts(before: Result, after: Result, others: Iterable[Result], unit: str, *, margin: float = MARGIN) -> Comparison:
    """Compare the exact counts of two results, in one unit such as "instructions".

    margin : the smallest change that counts, where it is larger than that of times
    """
    around = [result for result in others if result.series_key == before.series_key]
    least = _least(margin)
    changes = {}
    for case in before.counts:
        count = count_change(before, after, case, around, least) if case.spec.unit == unit else None
        if count:
            verdict = count.direction if count.changed else Verdict.UNCHANGED
            reason = Reason.COUNT_CHANGED if count.changed else Reason.COUNT_UNCHANGED
            changes[case] = Change(verdict, reason, count.ratio, before=count.before, after=count.after, count=count, unit=unit)
    return Comparison(before, after, labels(before, after), changes, least)


def repeatability(case: Case, results: Iterable[Result]) -> float:
    """Return by how much repeated counts of a case differ: the median over results.

    case : the counted case
    """
    spreads = [spreads[case] for result in results if case in (spreads := _spreads(result))]
    return max(median(spreads), ROUNDED) if spreads else UNREPEATED


@lru_cache(maxsize=64)  # results: more than a machine has
def _spreads(result: Result) -> dict[Case, float]:
    """Return by how much the counts of a result differ, of each case that was counted repeatedly."""
    by_case = {case: count.spread for case in result.counts if (count := related.count_of(result, case))}
    return {case: spread for case, spread in by_case.items() if spread is not None}


def count_change(before: Result, after: Result, case: Case, others: Sequence[Result] = (), least: float = LEAST_COUNT) -> CountPair | None:
    """Return the exact counts of a timed or counted case on both sides.

    None where it is not counted on both sides, or on two machines.

    others : results of the same machine, which show the repeatability
    """
    counted = case if case in before.counts else related.counted_case(case)
    first, second = related.count_of(before, case), related.count_of(after, case)
    if counted is None or first is None or second is None or before.series_key.host != after.series_key.host:
        return None
    own = [spread for spread in (first.spread, second.spread) if spread is not None]
    repeats = max([repeatability(counted, [before, after, *others]), *own])
    return CountPair(counted.spec.unit, first.value, second.value, repeats, max(least, REPEATS * repeats))


def with_count(change: Change, count: CountPair | None) -> Change:
    """Return a verdict on a time with the count beside it taken into account."""
    if count is None:
        return change
    change = replace(change, count=count)
    if change.verdict in (Verdict.SLOWER, Verdict.FASTER):
        return change
    low, high = change.interval or (0.0, inf)
    is_opposite = high < 1 if count.ratio > 1 else low > 1
    if count.changed and not is_opposite:
        return replace(change, verdict=count.direction, reason=Reason.COUNT_CHANGED, more_passes=None)
    is_around_one = low <= 1 <= high and low > 0 and log(high / low) / 2 <= log(1 + WIDEST)
    if not count.changed and change.verdict is Verdict.INCONCLUSIVE and is_around_one:
        return replace(change, verdict=Verdict.UNCHANGED, reason=Reason.COUNT_UNCHANGED, more_passes=None)
    return change


def samples_of(result: Result, case: Case, compared_with: Result, drift: DriftModel = AS_MEASURED) -> Samples:
    """Return a case's side of a comparison."""
    timing = result.timings.get(case)
    if timing is None:
        return Samples(failure=Failure.NOT_MEASURED)
    passes = drift.passes(case, timing)
    with_numpy, with_gpu = case.spec.numpy, case.device == "cuda"
    provenance = _provenance(result, compared_with, with_numpy=with_numpy, with_gpu=with_gpu)
    return Samples(passes, provenance, failure=None if passes else Failure.NEVER_QUIET)


def case_name(case: Case) -> str:
    """Return the name of a case: "copies.BySize detach_clone numel=1024"."""
    return " ".join([case.spec.label, *(value if name == "method" else f"{name}={value}" for name, value in case.parameters)])


def version(result: Result) -> str:
    """Return a result's release, "2.15.0".

    One that is not in the table is named by torch's own version, without its build.
    """
    return release_table.load().version(result.sha) or str(result.provenance["torch"]).partition("+")[0]


def machine_fields(result: Result, *, with_gpu: bool) -> dict[str, str]:
    """Return the fields of the machine that must be equal in two results of it, by name.

    with_gpu : also those of its NVIDIA GPU; one that torch or the driver does not report is left out
    """
    provenance = result.provenance
    fields = {name: provenance[name] for name in SAME_MACHINE if provenance.get(name) not in (None, "")}
    if "cpu_quota" in provenance:
        fields["cpu_quota"] = provenance["cpu_quota"] or "none"
    if "settings" in fields:
        fields["settings"] = {name: value for name, value in fields["settings"].items() if name not in FREE_SETTINGS}
    if with_gpu:
        gpu = provenance.get(SAME_GPU) or {}
        fields.update({f"gpu {name}": value for name, value in gpu.items() if value is not None and name not in FREE_OF_GPU})
    return {name: str(value) for name, value in fields.items()}


@lru_cache(maxsize=16)  # two sides, with numpy and without, with a GPU and without
def _provenance(result: Result, compared_with: Result, *, with_numpy: bool, with_gpu: bool) -> dict[str, str]:
    """Return the fields that must be equal on both sides.

    A difference that is itself the subject of the comparison is allowed.
    """
    names: list[str] = list(SAME_TIMER)
    if with_numpy:
        names.append("numpy")
    if result.python == compared_with.python:
        names.append("python")
    fields = {name: str(result.provenance[name]) for name in names if result.provenance.get(name) not in (None, "")}
    if result.machine == compared_with.machine:
        fields.update(machine_fields(result, with_gpu=with_gpu))
    ours, theirs = result.series_key, compared_with.series_key
    if ours.machine == theirs.machine and ours.identity != theirs.identity:  # of two folders with a machine of this name each
        fields["identity"] = ours.identity or UNKNOWN_NAME
    return fields


def labels(before: Result, after: Result) -> tuple[str, str]:
    """Name each side by its release and by what else differs."""
    parts: list[tuple[str, str]] = [(f"torch {before.provenance['torch']}", f"torch {after.provenance['torch']}")]
    ours, theirs = before.series_key, after.series_key
    for pair in ((f"Python {ours.python}", f"Python {theirs.python}"), (ours.build, theirs.build), (ours.machine, theirs.machine)):
        parts += [pair] if pair[0] != pair[1] else []
    if before.provenance["torch"] == after.provenance["torch"] and len(parts) == 1:
        parts.append((relpath(before.path.parents[1]), relpath(after.path.parents[1])))
    first, second = (", ".join(texts) for texts in zip(*parts))
    return first, second
