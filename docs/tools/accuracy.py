"""Measure how often verdicts and histories are right.

    uv run python -m docs.tools.accuracy take [--busy | --now] [--launches N] [--select REGEX]
    uv run python -m docs.tools.accuracy report [--dataset FILE]

`take` measures, in launches as history has them, two neighbouring releases, a twin of the newer one, and two that make 3 and 5 % more
calls than they count; with `--now` only the newer one and +2 %, for as many launches as a minute for each of six cases has. `report`
computes from these launches, from those in results/ and from histories with the errors of results/ (`simulated_histories`), with the
functions that print verdicts, and writes docs/accuracy.json.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from itertools import pairwise
from math import exp, log
from pathlib import Path
from random import Random
from statistics import fmean, median
from typing import Any

import numpy as np

from docs.tools import simulated_histories
from docs.tools.goals import Row, at_least, at_most, between
from tensorcopy import configuration, files
from tensorcopy.copying.shipped import shipped
from tensorcopy.errors import TensorcopyError
from tensorcopy.judge import case_history, change_points, comparisons, paired
from tensorcopy.judge.comparisons import Comparison, Question
from tensorcopy.judge.paired import MARGIN, Change, Verdict
from tensorcopy.measure import launch
from tensorcopy.measure.plan import Measurement
from tensorcopy.measure.side_process import LocalSide
from tensorcopy.numbers import counted, percent
from tensorcopy.releases import environments, release_table, uv
from tensorcopy.releases.environments import Environment
from tensorcopy.results import effects, launches, reader, select, suite_specs
from tensorcopy.results.cases import Case
from tensorcopy.results.effects import Column
from tensorcopy.results.result import Result

FILE = Path("docs/accuracy.json")
RESULTS = Path("results")
FOLDER = Path(".asv/accuracy")
QUIET, BUSY, NOW = "quiet", "busy", "now"  # have the places of machines
PYTHON, OLDER, NEWER = "3.11", "2.14.1", "2.15.0"
TWIN = "twin"
EXTRA = "TENSORCOPY_EXTRA"  # as tensorcopy/copying/inside/loop.py reads it
PLANTED, TOLD_NOW = {"+3%": 0.03, "+5%": 0.05}, {"+2%": 0.02}
GOALS, GOAL_NOW = {0.05: 0.95}, 0.9  # share of the slowdowns of a size that compare calls slower, and of +2 % with `--now`
WIDTHS = (0.011, 0.011, 0.011, 0.02)  # by size, that half of an interval of the newest pair shall have at most
SMALL_UNKNOWN, UNKNOWN = 0.20, 0.25  # share of the cases up to 2^14, and of all, that are neither changed nor unchanged, at most
WIDER = 1.5  # times the width of an interval, at most, beside busy processes
LAUNCHES = {QUIET: 12, BUSY: 12, NOW: 78}
SMALL = r", (1|16|128|1024|16384)(,|\))"  # cases that get as many launches again, as in the history
BY_SIZE = [re.escape(spec.label) for spec in suite_specs.table().values() if spec.headline and spec.rank == 0]  # copies, conversions
CASES, CASES_NOW = f"^({'|'.join(BY_SIZE)})", rf"^{BY_SIZE[0]}.*'(tensor|clone_detach|detach_clone)', (1|1024)\)"
SIZES = ("≤ 2¹⁴", "2¹⁷", "2²⁰", "2²⁴")  # of `comparisons.kind`
HALVES = 4  # ways in which the launches of a release are divided
PAIRS = 5  # of releases, measured on two occasions
LARGE = 0.20  # a change that history must tell
FINER = 0.01  # the margin with which +2 % is asked for
WITHIN = 5  # points from the annotated one that count as found
SEED = 1

Numbers = Any  # an array of floats; numpy's types differ from release to release


def main(arguments: Sequence[str] | None = None) -> None:
    """Take launches, or write docs/accuracy.json and print it. Raises TensorcopyError."""
    parser = argparse.ArgumentParser(prog="python -m docs.tools.accuracy", description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    taking = commands.add_parser("take", help="measure the missing launches")
    kinds = taking.add_mutually_exclusive_group()
    kinds.add_argument("--busy", action="store_const", const=BUSY, default=QUIET, dest="kind", help="beside a busy process on each core")
    kinds.add_argument("--now", action="store_const", const=NOW, dest="kind", help="the newer release and +2 %%, a minute for each case")
    taking.add_argument("--launches", type=int, metavar="N", help=f"in all; default: {LAUNCHES}")
    taking.add_argument("--select", metavar="REGEX", help=f"cases; default: {CASES}; with --now {CASES_NOW}")
    reporting = commands.add_parser("report", help="write docs/accuracy.json")
    reporting.add_argument("--dataset", type=Path, metavar="FILE", help="also grade on these annotated series, such as sap_small_2021.json")
    options = parser.parse_args(arguments)
    if options.command == "take":
        take(options.kind, options.launches or LAUNCHES[options.kind], options.select or (CASES_NOW if options.kind == NOW else CASES))
        return
    annotated_series = json.loads(options.dataset.read_text(encoding="utf-8")) if options.dataset else None
    report = document(_read(RESULTS), _read(FOLDER), annotated_series)
    files.replace(FILE, json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    title = f"{report['machine']}, {report['launches']} launches, {report['day']}"
    lines = [f"{row['value']:<40} {row['goal']:<20} {'missed' if row['missed'] else '':<8} {row['name']}" for row in report["rows"]]
    sys.stdout.writelines(f"{line}\n" for line in (title, *lines))


def take(machine: str, count: int, selection: str) -> None:
    """Take the launches that are missing. Raises TensorcopyError."""
    planted = {name: _side(NEWER, name, share) for name, share in (TOLD_NOW if machine == NOW else PLANTED).items()}
    sides = [_side(NEWER), *planted.values(), *([] if machine == NOW else [_side(OLDER), _side(NEWER, TWIN)])]
    there = len(list((FOLDER / machine).glob("*.json")))
    total = 2 * count if machine == QUIET else count
    for number in range(there, total):
        chosen = selection if number < count else f"(?=.*{SMALL}){selection}"
        with _busy(machine == BUSY):
            path = launches.write(FOLDER, launch.take(sides, machine, selection=chosen))
        sys.stdout.write(f"launch {number + 1} of {total}: {path}\n")
        sys.stdout.flush()


def _side(version: str, revision: str = "", extra: float = 0.0) -> LocalSide:
    """Return a side with an installed release; extra : share of calls that it makes without counting them."""
    paths, measurement = configuration.paths(), Measurement(shipped().releases.find(version), PYTHON)
    side = measurement.side(_inspected(measurement.path(paths)), shipped(), paths)
    return replace(side, revision=revision, variables={**side.variables, **({EXTRA: f"{extra:g}"} if extra else {})})


@cache
def _inspected(folder: Path) -> Environment:
    return environments.inspected(uv.interpreter(folder), shipped(), environments.bytecode_in(folder))


@contextmanager
def _busy(on: bool) -> Iterator[None]:
    """Keep a process busy for each processor."""
    command = [sys.executable, "-c", "while True: pass"]
    processes = [subprocess.Popen(command) for _ in range(os.cpu_count() or 1)] if on else []
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _read(folder: Path) -> tuple[Result, ...]:
    """Return the results of a folder. Raises TensorcopyError: a report of only some of them would be wrong."""
    loaded = reader.load_results(folder)
    if loaded.problems:
        raise loaded.problems[0]
    return loaded.results


def document(shipped: Sequence[Result], taken: Sequence[Result], annotated_series: Any = None) -> dict[str, Any]:
    """Return docs/accuracy.json.

    shipped : of results/; taken : of `take`
    """
    axes = select.history(shipped)
    newest = axes[0][-1]
    rows = [*_of_newest(axes[0][-2], newest), *_repeated(axes), *_neighbours(axes)]
    if other := {each.provenance["identity"] for each in taken} - {newest.provenance["identity"]}:
        raise TensorcopyError(
            "the launches of `take` are of another machine than the history",
            got=", ".join(sorted(other)),
            allowed=f"{newest.provenance['identity']}, {newest.machine}",
            next=f"remove {FOLDER}, and take them where the history was measured",
        )
    by_machine = {machine: [each for each in taken if each.machine == machine] for machine in LAUNCHES}
    rows += [*_planted(by_machine[QUIET]), *_now(by_machine[NOW]), *_beside_others(taken)]
    rows += simulated_histories.rows(axes[0])
    if annotated_series is not None:
        rows.append(annotated(annotated_series))
    return {
        "machine": f"{newest.provenance['cpu']} ({newest.machine}), {counted(newest.provenance['cores'], 'core')}",
        "sizes": " / ".join(SIZES),
        "launches": len(newest.launches),
        "day": str(newest.provenance["started"])[:10],
        "rows": [row._asdict() for row in rows],
    }


def by_size(values: Mapping[Case, float]) -> list[list[float]]:
    """Return values of cases on the CPU by size, see `SIZES`."""
    kinds: dict[int, list[float]] = {}
    for case, value in values.items():
        kinds.setdefault(simulated_histories.size_of(case), []).append(value)
    return [kinds.get(kind, []) for kind in range(len(SIZES))]


def half_widths(changes: Mapping[Case, Change]) -> dict[Case, float]:
    """Return half of each interval, relative."""
    return {case: exp(log(each.interval[1] / each.interval[0]) / 2) - 1 for case, each in changes.items() if each.interval}


def _of_newest(before: Result, after: Result) -> Iterator[Row]:
    """Yield how exact the newest pair is, by time alone."""
    changes = comparisons.between(Question(before, after)).changes
    widths = [median(each) if each else 0.0 for each in by_size(half_widths(changes))]
    yield Row("newest pair: half width of the 95 % interval", shares(widths), *at_most(widths, WIDTHS))
    unknown = _unknown(changes)
    small = fmean(by_size(unknown)[0])
    name = f"newest pair: neither changed nor unchanged within {percent(MARGIN)}"
    yield Row(f"{name}, ≤ 2¹⁴", percent(small, 0), *at_most([small], [SMALL_UNKNOWN]))
    of_sizes = [fmean(each) if each else 0.0 for each in by_size(unknown)]
    every = fmean(unknown.values())
    yield Row(f"{name}, all", f"{percent(every, 0)} ({shares(of_sizes, 0)})", *at_most([every], [UNKNOWN]))


def _unknown(changes: Mapping[Case, Change]) -> dict[Case, float]:
    """Return 1 for each case whose interval leaves it unknown, and 0 for the others."""
    return {case: float(each.verdict == Verdict.UNKNOWN) for case, each in changes.items() if each.interval}


def _repeated(axes: Sequence[Sequence[Result]]) -> Iterator[Row]:
    """Yield how launches repeat: those of one release, and two releases on two occasions."""
    random = Random(SEED)
    alarms, covered, halves = [], [], {}
    for axis in axes:
        for result in axis:
            for way in range(HALVES):
                comparison = _in_halves(result, random if way else None)
                if comparison is None:
                    continue
                changes = [change for change in comparison.changes.values() if change.interval and change.way != effects.UNPAIRED]
                alarms.append(any(change.verdict in (Verdict.SLOWER, Verdict.FASTER) for change in changes))
                covered += [covers(change) for change in changes]
                if not way:
                    halves[f"torch {result.version}, Python {result.python}"] = [abs(log(change.ratio or 1.0)) for change in changes]
    typical = {name: median(sizes) for name, sizes in halves.items() if sizes}
    if typical:
        worst = max(typical, key=lambda name: typical[name])
        yield Row(
            "two halves of one release: median difference of its cases",
            f"{percent(typical[worst], 1)} ({worst}; median of {len(typical)} releases: {percent(median(typical.values()), 1)})",
            *at_most([typical[worst]], [0.025]),
        )
        yield Row(
            "one release against itself, in other launches: comparisons with a false alarm",
            f"{percent(fmean(alarms), 1)} of {len(alarms)}",
            *at_most([fmean(alarms)], [0.05]),
        )
        yield _coverage("the same: 95 % intervals that cover 0", covered)
    for axis in axes[:1]:
        joint = [covers(change) for pair in [*pairwise(axis)][-PAIRS:] for change in occasions(*pair).values()]
        yield Row(
            f"two releases on two occasions: differences within the joint 95 % interval ({PAIRS} pairs)",
            f"{percent(fmean(joint), 1)} of {len(joint)}" if joint else "–",
            *at_least(fmean(joint) if joint else 1.0, 0.93),
        )


def _coverage(name: str, covered: Sequence[bool]) -> Row:
    """Return the row of the share of intervals that cover the truth."""
    return Row(name, f"{percent(fmean(covered), 1)} of {len(covered)}", *between(fmean(covered), 0.93, 0.97))


def _in_halves(result: Result, random: Random | None) -> Comparison | None:
    """Return the comparison of a release in half of its launches with itself in the others; None where another is never beside it.

    random : divides at random; otherwise odd and even launches
    """
    if result.column is None:
        return None
    whole, column = result.column.effects, result.column.number
    there = ~np.isnan(whole.logs).all(axis=2)
    numbers = [int(number) for number in np.flatnonzero(there[:, column])]
    if not (there[numbers] == there[numbers[0]]).all():
        return None  # it joins groups of sides that never met otherwise, and could not do so in both halves
    if random:
        random.shuffle(numbers)
    if len(numbers) < 2 * paired.FEWEST:
        return None
    logs = np.concatenate([whole.logs, np.full_like(whole.logs[:, :1], np.nan)], axis=1)
    logs[numbers[1::2], -1] = logs[numbers[1::2], column]
    logs[numbers[1::2], column] = np.nan
    extra = (result.sha, result.environment, TWIN)
    divided = replace(whole, logs=logs, columns={**whole.columns, extra: logs.shape[1] - 1})
    first, second = (
        replace(result, revision=revision, column=half, timings=half.timings())
        for revision, half in (("", Column(divided, column)), (TWIN, Column(divided, logs.shape[1] - 1)))
    )
    return comparisons.between(Question(first, second))


def covers(change: Change, ratio: float = 1.0) -> bool:
    """Return whether an interval has the true ratio."""
    assert change.interval is not None
    return change.interval[0] <= ratio <= change.interval[1]


def occasions(before: Result, after: Result) -> dict[Case, Change]:
    """Return by how much the difference of two releases differs between the first and the second half of their launches."""
    if before.column is None or after.column is None:
        return {}
    apart = {}
    for case in before.column.effects.cases:
        within = after.column.logs_of(case) - before.column.logs_of(case)
        within = within[~np.isnan(within)]
        half = len(within) // 2
        if case.spec.compared and half >= paired.FEWEST:
            apart[case] = effects.unpaired(within[:half], within[-half:])
    return paired.judge(apart, kind=comparisons.kind)


def _neighbours(axes: Sequence[Sequence[Result]]) -> Iterator[Row]:
    """Yield how many changes between neighbours the history does not tell."""
    large = missed = 0
    for axis in axes:
        histories = case_history.joined([axis])
        for index, (before, after) in enumerate(pairwise(axis), 1):
            for case, change in comparisons.between(Question(before, after)).changes.items():
                if change.verdict in (Verdict.SLOWER, Verdict.FASTER) and abs(log(change.ratio or 1.0)) >= log(1 + LARGE):
                    large += 1
                    missed += index not in [step.index for step in histories[case].steps]
    unknown = [each for axis in axes for pair in pairwise(axis) for each in _unknown(comparisons.between(Question(*pair)).changes).values()]
    share = fmean(unknown)
    name = f"all neighbours: neither changed nor unchanged within {percent(MARGIN)}"
    yield Row(name, f"{percent(share, 0)} of {len(unknown):,}", *at_most([share], [UNKNOWN]))
    yield Row(f"neighbours that differ by ≥ {percent(LARGE)} and no step of the history", f"{missed} of {large}", "0", missed > 0)


def _planted(taken: Sequence[Result]) -> Iterator[Row]:
    """Yield how often slowdowns that were really measured are detected, and their size covered."""
    by_name = _by_name(taken)
    if TWIN not in by_name or len(by_name[TWIN].launches) < paired.FEWEST:
        return
    n = len(by_name[""].launches)
    twin = comparisons.between(Question(by_name[""], by_name[TWIN])).changes
    alarms = sum(change.verdict in (Verdict.SLOWER, Verdict.FASTER) for change in twin.values())
    yield Row(f"twin in the same {n} launches: false alarms", f"{alarms} of {len(twin)}", "0", alarms > 0)
    yield from _detected(by_name)
    covered = [covers(change) for change in twin.values() if change.interval]
    for name, share in PLANTED.items():
        changes = comparisons.between(Question(by_name[""], by_name[name])).changes
        covered += [covers(change, 1 + share) for change in changes.values() if change.interval]
    yield _coverage("twin and planted: 95 % intervals that cover the truth", covered)


def _by_name(taken: Sequence[Result]) -> dict[str, Result]:
    """Return the newer release, "", and what is compared with it."""
    return {each.revision: each for each in taken if release_table.load().version(each.sha) == NEWER}


def _detected(by_name: Mapping[str, Result]) -> Iterator[Row]:
    """Yield how often each planted slowdown that is larger than the finest margin is detected."""
    n = len(by_name[""].launches)
    for name, share in PLANTED.items():
        margin = MARGIN if share > MARGIN else FINER
        changes = comparisons.between(Question(by_name[""], by_name[name], margin=margin)).changes
        slower = fmean(change.verdict == Verdict.SLOWER for change in changes.values())
        goal = at_least(slower, GOALS[share]) if share in GOALS else ()
        sizes = [
            fmean(each) if each else 0.0 for each in by_size({case: float(c.verdict == Verdict.SLOWER) for case, c in changes.items()})
        ]
        detected = f"{percent(slower, 0)} of {len(changes)} ({shares(sizes, 0)})"
        yield Row(f"planted +{percent(share)}, margin {percent(margin)}: detected in {n} launches", detected, *goal)


def _now(taken: Sequence[Result]) -> Iterator[Row]:
    """Yield how often a minute for each case detects the planted slowdown."""
    by_name = {each.revision: each for each in taken}
    if by_name:
        ((revision, share),) = TOLD_NOW.items()
        changes = comparisons.between(Question(by_name[""], by_name[revision], margin=FINER)).changes
        told = sum(change.verdict == Verdict.SLOWER for change in changes.values())
        n = len(by_name[""].launches)
        name = f"planted +{percent(share)}, margin {percent(FINER)}: detected in {n} launches of two sides"
        yield Row(f"{name}, a minute for each case", f"{told} of {len(changes)}", *at_least(told / len(changes), GOAL_NOW))


def _beside_others(taken: Sequence[Result]) -> Iterator[Row]:
    """Yield how much wider intervals are beside a busy process on each core."""
    widths = {}
    for machine in (QUIET, BUSY):
        by_version = {release_table.load().version(each.sha): each for each in taken if (each.machine, each.revision) == (machine, "")}
        if {OLDER, NEWER} <= by_version.keys() and len(by_version[NEWER].launches) >= paired.FEWEST:
            widths[machine] = half_widths(comparisons.between(Question(by_version[OLDER], by_version[NEWER])).changes)
    if len(widths) == 2:
        ratios = by_size({case: widths[BUSY][case] / width for case, width in widths[QUIET].items() if case in widths[BUSY]})
        times = [median(each) for each in ratios if each]
        text = f"{' / '.join(f'{each:.2f}' for each in times)} times"
        yield Row("busy processes on all cores: width of the intervals", text, f"≤ {WIDER:g} times", max(times) > WIDER)


def shares(values: Sequence[float], digits: int = 1) -> str:
    """Return shares as one text: "1.2 / 2.0 %"."""
    return f"{' / '.join(f'{100 * value:.{digits}f}' for value in values)} %"


def _is_annotated(row: object) -> bool:
    """Return whether a series has positive times, and the index of the first slow one or null."""
    if not isinstance(row, dict) or not {"median", "first_slow_index"} <= set(row):
        return False
    times, index = row["median"], row["first_slow_index"]
    valid = isinstance(times, list) and all(isinstance(time, (int, float)) and time > 0 for time in times)
    return valid and (index is None or (isinstance(index, int) and 0 <= index < len(times)))


def annotated(data: Any) -> Row:
    """Return how well steps are found in series with `median` and `first_slow_index` or null. Raises TensorcopyError."""
    all_series = data.get("series") if isinstance(data, dict) else None
    if not isinstance(all_series, list) or not all_series or not all(map(_is_annotated, all_series)):
        raise TensorcopyError(
            "not an annotated data set",
            got=f"{data!r:.60}",
            allowed='{"series": [{"median": [...], "first_slow_index": 14 or null}, ...]}',
            next="a file of that form",
        )
    slow = detected = false = 0
    for row in all_series:
        truth, steps = row["first_slow_index"], [step.index for step in change_points.steps(row["median"])]
        near = [step for step in steps if truth is not None and abs(step - truth) <= WITHIN]
        slow, detected, false = slow + (truth is not None), detected + bool(near), false + len(steps) - len(near)
    points = sum(len(row["median"]) for row in all_series)
    name = f"series annotated by people ({data.get('source') or 'without a source'}): slowdowns found; other steps in {points:,} points"
    return Row(name, f"{detected} of {slow}; {false}")


if __name__ == "__main__":
    try:
        main()
    except TensorcopyError as error:
        sys.exit(str(error))
