"""The report card: how often the judge is right, and how often wrong, on what is known. Prints nothing.

Three questions, each with the answer that asv's own judgment gives on the same data. Two sides: passes of one release against themselves,
and against the same with a known share of work added, really measured (`injected_slowdowns`). Histories: series with and without a step, with
the noise of the shipped passes. Somebody else's data: series that people have annotated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import exp, log
from random import Random
from statistics import median
from typing import Any, Protocol

from tensorcopy.analysis import change_points, comparisons
from tensorcopy.analysis.two_sample import MARGIN, Samples, Verdict, judge
from tensorcopy.errors import TensorcopyError
from tensorcopy.results import noise
from tensorcopy.results.load import Case, Result, Results
from tensorcopy.results.passes import Timing

SPLITS = 20  # of the passes of one release into two halves, at random, the first all but as they were measured
SERIES = 500  # simulated, of each kind
POINTS = 27  # releases on an axis
STEPS = (0.05, 0.10, 0.25)
WITHIN = 5  # points from the annotated one, as a hit
SEED = 1

Passes = list[tuple[tuple[float, ...], tuple[float, ...]]]  # of a case: each one's samples as measured, and as our judge takes them


class Detector(Protocol):
    """Another judge, to compare ours with: "slower", "faster" or "" of two sets of samples; where a series steps."""

    def compared(self, before: Sequence[float], after: Sequence[float], /) -> str: ...

    def steps(self, values: Sequence[float], /) -> list[int]: ...


def card(
    of: Results,
    shipped: Results,
    annotated: Mapping[str, Any] | None,
    told: Callable[[float, str], None],
    *,
    shares: Mapping[str, float],
    asv: Detector,
) -> dict[str, Any]:
    """The whole card, as plain values. Raises TensorcopyError where the known changes were not measured.

    of : the known changes; shipped : the results whose noise is simulated
    shares : by known change, the share of work that it adds
    asv : asv's own judgment
    """
    variants = {one.machine: one for one in of.results}
    missing = [name for name in shares if name not in variants]
    if missing:
        raise TensorcopyError(
            "no known changes were measured",
            got=f"no {', '.join(missing)}",
            allowed=", ".join(shares),
            next="tensorcopy report-card --measure",
        )
    same = variants["as-it-is"]
    beside = [one for one in shipped.results if noise.same_kind(one, same)]
    judged = list(two_sides(variants, beside, lambda share: told(share / 2, "two sides"), shares, asv))
    return {
        "torch": same.provenance["torch"],
        "python": same.provenance["python"],
        "cpu": same.provenance["cpu"],
        "day": same.provenance["started"][:10],
        "passes": min(len(one.passes) for one in variants.values()),
        "quiet": min(int(median(_judged(one))) for one in variants.values()),
        "releases": POINTS,
        "margin": MARGIN,
        "two_sides": judged,
        "histories": list(histories(beside, lambda share: told((1 + share) / 2, "histories"), asv)),
        "annotated": annotated,
    }


def _judged(one: Result) -> list[int]:
    """Of each case that torch can change, in how many passes the machine was quiet."""
    return [len(timing.judged) for case, timing in one.timings.items() if not case.suite.startswith(comparisons.NOT_TORCHS)]


def two_sides(
    variants: Mapping[str, Result], beside: Sequence[Result], told: Callable[[float], None], shares: Mapping[str, float], asv: Detector
) -> Iterator[dict[str, Any]]:
    """For each known change, how many cases got which verdict, from the judge and from `asv compare`.

    variants : by name, as `injected_slowdowns` measures them; beside : other results of that machine, which tell how passes stray
    """
    cases = [case for case in variants["as-it-is"].timings if not case.suite.startswith(comparisons.NOT_TORCHS)]
    drift = noise.fit_drift([*variants.values(), *beside], cases)  # each variant has a folder of its own, and yet they are one machine's
    others = drift.noise(beside, cases)
    timings = {name: result.timings for name, result in variants.items()}
    plain = {name: {case: _passes(timings[name][case], drift.passes(case, timings[name][case])) for case in cases} for name in variants}
    questions: list[tuple[float, dict[Case, tuple[Passes, Passes]]]] = []
    random = Random(SEED)
    for split in range(SPLITS):
        pairs = {}
        for case in cases:
            both = [*plain["as-it-is"][case], *plain["again"][case]]
            if split:
                random.shuffle(both)
            half = len(both) // 2
            pairs[case] = both[:half], both[half:]
        questions.append((0.0, pairs))
    for name, share in shares.items():
        for other in ("as-it-is", "again") if share else ():
            questions.append((share, {case: (plain[other][case], plain[name][case]) for case in cases}))
    found: dict[float, list[dict[str, int]]] = {}
    for number, (share, pairs) in enumerate(questions):
        told(number / len(questions))
        changes = judge({case: (_side(before), _side(after)) for case, (before, after) in pairs.items()}, noise=others)
        row = {verdict.value: sum(change.verdict is verdict for change in changes.values()) for verdict in Verdict}
        theirs = [asv.compared(_all(before), _all(after)) for before, after in pairs.values()]
        found.setdefault(share, []).append({**row, "asv slower": theirs.count("slower"), "asv faster": theirs.count("faster")})
    for share, rows in found.items():
        yield {"change": share, "comparisons": len(rows) * len(cases), **{name: sum(row[name] for row in rows) for name in rows[0]}}


def histories(results: Sequence[Result], told: Callable[[float], None], asv: Detector) -> Iterator[dict[str, Any]]:
    """For each size of step, in how many simulated series it is seen, within a point, and how many steps are seen where there is none.

    A point is the median of four passes, each as far from the level as a pass of a random case was from its release's.
    """
    random = Random(SEED)
    pools = list(_pools(results))
    for number, size in enumerate((0.0, *STEPS)):
        ours = _Score()
        theirs = _Score()
        for one in range(SERIES):
            told((number + one / SERIES) / (1 + len(STEPS)))
            pool = random.choice(pools)
            at = random.randrange(1, POINTS) if size else None
            level = [0.0] * POINTS if at is None else [0.0] * at + [log(1 + size)] * (POINTS - at)
            drawn = [[middle + random.choice(pool) * random.choice((-1, 1)) for _ in range(4)] for middle in level]
            values = [exp(median(point)) for point in drawn]
            ours.add([step.index for step in change_points.steps(values)], at, within=1)
            theirs.add(asv.steps(values), at, within=1)
        yield {"step": size, "series": SERIES, **ours.row(), "asv": theirs.row()}


def annotated(document: Mapping[str, Any], asv: Detector) -> dict[str, Any]:
    """Hits and false alarms on series with `median` and `first_slow_index`, null where nothing changed. Raises TensorcopyError."""
    series = document.get("series") if isinstance(document, dict) else None
    if not isinstance(series, list) or not all({"median", "first_slow_index"} <= set(one) for one in series):
        raise TensorcopyError(
            "not an annotated data set",
            got=f"{document!r:.60}",
            allowed='{"series": [{"median": [...], "first_slow_index": 14 or null}, ...]}',
            next="a file of that form",
        )
    ours, theirs = _Score(), _Score()
    for one in series:
        ours.add([step.index for step in change_points.steps(one["median"])], one["first_slow_index"], within=WITHIN)
        theirs.add(asv.steps(one["median"]), one["first_slow_index"], within=WITHIN)
    points = sum(len(one["median"]) for one in series)
    return {
        "source": document.get("source", ""),
        "licence": document.get("licence", ""),
        "series": len(series),
        "points": points,
        **ours.row(points),
        "asv": theirs.row(points),
    }


class _Score:
    """Counts what was found of what was there."""

    def __init__(self) -> None:
        self.there = self.found = self.false = 0
        self.delays: list[int] = []

    def add(self, steps: Sequence[int], at: int | None, *, within: int) -> None:
        near = [step for step in steps if at is not None and abs(step - at) <= within]
        self.there += at is not None
        self.found += bool(near)
        self.false += len(steps) - len(near)
        if at is not None and near:
            self.delays.append(min((step - at for step in near), key=abs))

    def row(self, points: int | None = None) -> dict[str, Any]:
        """Counts and, where they can be had, shares; a delay in points."""
        told = self.found + self.false
        row: dict[str, Any] = {"there": self.there, "found": self.found, "false": self.false}
        row["recall"] = self.found / self.there if self.there else None
        row["precision"] = self.found / told if told else None
        row["delay"] = median(self.delays) if self.delays else None
        if points:
            row["false per 1,000 points"] = 1000 * self.false / points
        return row


def _pools(results: Sequence[Result]) -> Iterator[list[float]]:
    """By case, how far each pass strayed from its release's level."""
    strays: dict[Case, list[float]] = {}
    for result in results:
        for case in result.timings:
            logs = result.timings[case].logs
            if len(logs) >= 3 and not case.suite.startswith(comparisons.NOT_TORCHS):
                middle = median(logs)
                strays.setdefault(case, []).extend(abs(value - middle) * (len(logs) / (len(logs) - 1)) ** 0.5 for value in logs)
    yield from (pool for pool in strays.values() if len(pool) >= 20)


def _passes(timing: Timing, steadied: Sequence[tuple[float, ...]]) -> Passes:
    return list(zip([pass_samples.quiet for pass_samples in timing.judged], steadied))


def _side(passes: Passes) -> Samples:
    return Samples(tuple(steadied for _, steadied in passes))


def _all(passes: Passes) -> list[float]:
    """Every sample as asv has it."""
    return [sample for samples, _ in passes for sample in samples]
