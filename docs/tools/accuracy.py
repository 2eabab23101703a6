"""Measure how often verdicts are right.

    uv run python -m docs.tools.accuracy take [quiet | now]
    uv run python -m docs.tools.accuracy report

`take` measures one of `EXPERIMENTS`: a release beside a twin, and beside sides that make more calls than they count. `report` judges these
launches and those in results/ with the functions that print verdicts, and writes docs/accuracy.json.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from random import Random
from statistics import fmean, median
from typing import Any, NamedTuple

import numpy as np

from tensorcopy import configuration, files
from tensorcopy.copying.shipped import shipped
from tensorcopy.errors import TensorcopyError
from tensorcopy.judge import comparisons, paired
from tensorcopy.judge.comparisons import SIZES, Comparison, Question
from tensorcopy.judge.paired import MARGIN, Change, Verdict
from tensorcopy.measure import launch, sides
from tensorcopy.measure.process import Program
from tensorcopy.numbers import counted, percent, unbroken
from tensorcopy.report.table import escaped
from tensorcopy.results import histories, launches, reader
from tensorcopy.results.cases import Case
from tensorcopy.results.effects import Difference
from tensorcopy.results.histories import History
from tensorcopy.results.result import Result

FILE = Path("docs/accuracy.json")
RESULTS, FOLDER = Path("results"), Path(".asv/accuracy")  # which has a history for each experiment
PYTHON, RELEASE = "3.11", "2.15.0"
EXTRA = "TENSORCOPY_EXTRA"  # as tensorcopy/copying/inside/loop.py reads it
BASE, TWIN = "", "twin"  # sides of an experiment: the release, and the same again
FINER = 0.01  # the margin with which a slowdown up to the usual margin is asked for
SMALL = r", (1|16|128|1024|16384)(,|\))"  # cases that get as many launches again in a quiet experiment, as in the history
BY_SIZE = [re.escape(spec.label) for spec in shipped().specs.rows.values() if spec.headline and spec.rank == 0]  # copies, conversions
HALVES = 4  # ways in which the launches of a release are divided
PAIRS = 5  # of releases, measured on two occasions
SEED = 1

WIDTHS = (0.011, 0.008, 0.008, 0.02)  # by size, that half of an interval of the newest pair shall have at most
UNKNOWN = 0.18  # share of the cases that are neither changed nor unchanged, at most
COVERED = 0.93, 0.97  # share of the intervals that have the true ratio
ALARMS = 0.05  # share of the comparisons of a release with itself that call any case slower or faster, at most
SEEN = {"+5%": 0.95, "+2%": 0.9}  # share of the slowdowns of a size that shall be called slower

Goal = tuple[str, bool]  # as text, and whether it is missed


class Row(NamedTuple):
    """One figure as text, and what it should be; "" for no goal."""

    name: str
    value: str
    goal: str = ""
    missed: bool = False


def at_most(figures: Sequence[float], goals: Sequence[float]) -> Goal:
    """Return the goal of some shares, each of which should be no larger than its own."""
    return f"≤ {' / '.join(f'{100 * goal:g}' for goal in goals)} %", any(figure > goal for figure, goal in zip(figures, goals))


def at_least(figure: float, goal: float) -> Goal:
    """Return the goal of a share that should not be smaller."""
    return f"≥ {percent(goal)}", figure < goal


@dataclass(frozen=True)
class Experiment:
    """Sides of one release that are measured beside each other."""

    sides: Mapping[str, float]  # by name, the share of calls that one makes, or waits for, without counting them
    launches: int
    select: str = f"^({'|'.join(BY_SIZE)})"


EXPERIMENTS = {
    "quiet": Experiment({BASE: 0.0, TWIN: 0.0, "+3%": 0.03, "+5%": 0.05}, 12),
    # as `compare --now`, with as many launches as a minute for each case has
    "now": Experiment({BASE: 0.0, "+2%": 0.02}, 78, rf"^{BY_SIZE[0]}.*'(tensor|clone_detach|detach_clone)', (1|1024)\)"),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Take launches, or write docs/accuracy.json and print it. Raises TensorcopyError."""
    parser = argparse.ArgumentParser(prog="python -m docs.tools.accuracy", description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    taking = commands.add_parser("take", help="measure the missing launches")
    taking.add_argument("experiment", nargs="?", choices=EXPERIMENTS, default="quiet", help="default: quiet")
    commands.add_parser("report", help="write docs/accuracy.json")
    options = parser.parse_args(arguments)
    if options.command == "take":
        take(options.experiment)
        return
    report = document(_read(RESULTS), _read(FOLDER))
    files.replace(FILE, json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    title = f"{report['machine']}, {report['launches']} launches, {report['day']}"
    lines = [f"{row['value']:<40} {row['goal']:<20} {'missed' if row['missed'] else '':<8} {row['name']}" for row in report["rows"]]
    sys.stdout.writelines(f"{line}\n" for line in (title, *lines))


def take(name: str) -> None:
    """Take the launches of an experiment that are missing. Raises TensorcopyError."""
    experiment, campaign = EXPERIMENTS[name], shipped()
    release = sides.of_release(campaign.releases.find(RELEASE), [PYTHON])
    opened = sides.opened(release, campaign, configuration.paths())
    programs = [_program(opened, side, share) for side, share in experiment.sides.items()]
    names = {text for suite in launch.merged([opened])[0].values() for text in suite.names}
    total = experiment.launches * (2 if name == "quiet" else 1)
    for number in range(len([*(FOLDER / name).glob("*.json")]), total):
        chosen = experiment.select if number < experiment.launches else f"(?=.*{SMALL}){experiment.select}"
        taken = launch.take(programs, name, {text for text in names if re.search(chosen, text)})
        conditions = histories.conditions_of(taken, programs[0].place[1])
        folder, _ = histories.folder_of(FOLDER, conditions, name, is_named=True)
        sys.stdout.write(f"launch {number + 1} of {total}: {launches.write(folder, taken)}\n")
        sys.stdout.flush()


def _program(release: Program, name: str, extra: float) -> Program:
    """Return what runs as one of several sides with the same release; extra : share of calls that it makes without counting them."""
    variables = {**release.variables, **({EXTRA: f"{extra:g}"} if extra else {})}
    return replace(release, place=(*release.place[:2], name), variables=variables)


def _read(folder: Path) -> tuple[History, ...]:
    """Return the histories in a folder. Raises TensorcopyError: a report of only some launches would be wrong."""
    loaded = reader.load_results(folder, shipped())
    if loaded.problems:
        raise loaded.problems[0]
    return loaded.histories


def document(measured: Iterable[History], taken: Iterable[History]) -> dict[str, Any]:
    """Return docs/accuracy.json; measured : in results/, taken : by `take`."""
    first, *others = histories.ranked(measured, "cpu")
    experiments = {each.name: each for each in taken}
    processor = first.conditions.processor
    if elsewhere := {each.conditions.processor for each in experiments.values()} - {processor}:
        raise TensorcopyError(
            "the launches of `take` are of another processor than the history",
            got=", ".join(sorted(elsewhere)),
            allowed=f"{processor}, {first.name}",
            next=f"remove {FOLDER}, and take them where the history was measured",
        )
    releases = first.on("cpu")
    newest = releases[-1]
    alike = [first, *(each for each in others if each.conditions.processor == processor)]
    rows = [*_of_newest(*releases[-2:]), *_against_itself(result for history in alike for result in history.on("cpu"))]
    joint = [covers(change) for pair in [*pairwise(releases)][-PAIRS:] for change in occasions(*pair).values()]
    if joint:
        name = f"two releases on two occasions: differences within the joint 95 % interval ({PAIRS} pairs)"
        rows.append(Row(name, f"{percent(fmean(joint), 1)} of {len(joint):,}", *at_least(fmean(joint), COVERED[0])))
    rows += _planted(experiments)
    return {
        "machine": f"{newest.hardware('cpu')} ({newest.history}), {counted(newest.provenance['cores'], 'core')}",
        "sizes": " / ".join(SIZES),
        "launches": _launches(newest),
        "day": newest.days(case for case in newest.timings if case.spec.compared)[1],
        "rows": [row._asdict() for row in rows],
    }


def _launches(result: Result) -> int:
    return max((timing.launches for timing in result.timings.values()), default=0)


def timed(before: Result, after: Result, margin: float | None = None) -> dict[Case, Change]:
    """Return the changes of times that were judged."""
    comparison = comparisons.between(Question(before, after, margin=margin))
    return {case: change for case, change in comparison.changes.items() if change.interval and case.device == "cpu"}


def by_size(values: Mapping[Case, float], summarize: Callable[[list[float]], float]) -> list[float]:
    """Return a summary of the values of each of `SIZES` that has any."""
    of_sizes = ([value for case, value in values.items() if comparisons.kind(case)[1] == size] for size in range(len(SIZES)))
    return [summarize(each) for each in of_sizes if each]


def shares(values: Iterable[float], digits: int = 1) -> str:
    """Return shares as one text: "1.2 / 2.0 %"."""
    return f"{' / '.join(f'{100 * value:.{digits}f}' for value in values)} %"


def half_widths(changes: Mapping[Case, Change]) -> dict[Case, float]:
    """Return half of each interval, relative."""
    return {case: (each.interval[1] / each.interval[0]) ** 0.5 - 1 for case, each in changes.items() if each.interval}


def covers(change: Change, ratio: float = 1.0) -> bool:
    """Return whether an interval has the true ratio."""
    assert change.interval
    return change.interval[0] <= ratio <= change.interval[1]


def coverage(name: str, covered: Sequence[bool]) -> Row:
    """Return how many of some intervals have the true ratio; goal: neither too few nor too many."""
    share, (low, high) = fmean(covered), COVERED
    return Row(name, f"{percent(share, 1)} of {len(covered):,}", f"{100 * low:g} to {percent(high)}", not low <= share <= high)


def _of_newest(before: Result, after: Result) -> Iterator[Row]:
    """Yield how exact the newest pair is."""
    changes = timed(before, after)
    widths = by_size(half_widths(changes), median)
    yield Row("newest pair: half width of the 95 % interval", shares(widths), *at_most(widths, WIDTHS))
    unknown = {case: float(each.verdict is Verdict.UNKNOWN) for case, each in changes.items()}
    every = fmean(unknown.values())
    name = f"newest pair: neither changed nor unchanged within {percent(MARGIN)}"
    yield Row(name, f"{percent(every, 0)} ({shares(by_size(unknown, fmean), 0)})", *at_most([every], [UNKNOWN]))
    seen = comparisons.sensitivity(changes)
    yield Row("newest pair: smallest slowdown seen 9 times in 10, as printed", shares(seen[size] for size in SIZES if size in seen))


def _against_itself(results: Iterable[Result]) -> Iterator[Row]:
    """Yield what comparisons of a release in half of its launches with itself in the others say: nothing has changed."""
    random = Random(SEED)
    divided = [_in_halves(result, random if way else None) for result in results for way in range(HALVES)]
    changes = [[change for change in each.changes.values() if change.interval] for each in divided if each]
    if changes:
        alarms = [any(each.changed for each in of_pair) for of_pair in changes]
        name = "one release against itself, in other launches: comparisons with a false alarm"
        yield Row(name, f"{percent(fmean(alarms), 1)} of {len(alarms)}", *at_most([fmean(alarms)], [ALARMS]))
        yield coverage("the same: 95 % intervals that cover 0", [covers(each) for of_pair in changes for each in of_pair])


def _in_halves(result: Result, random: Random | None) -> Comparison | None:
    """Return the comparison of a release in half of its launches with itself in the others; None where another is never beside it.

    random : divides at random; otherwise odd and even launches
    """
    whole, column = result.effects, result.number
    there = ~np.isnan(whole.logs).all(axis=2)
    numbers = [int(number) for number in np.flatnonzero(there[:, column])]
    if not numbers or not (there[numbers] == there[numbers[0]]).all():
        return None  # it joins groups of sides that never met otherwise, and could not do so in both halves
    if random:
        random.shuffle(numbers)
    if len(numbers) < 2 * paired.FEWEST:
        return None
    logs = np.concatenate([whole.logs, np.full_like(whole.logs[:, :1], np.nan)], axis=1)
    logs[numbers[1::2], -1] = logs[numbers[1::2], column]
    logs[numbers[1::2], column] = np.nan
    halves = {(result.sha, result.environment, BASE): column, (result.sha, result.environment, TWIN): logs.shape[1] - 1}
    divided = replace(whole, logs=logs, columns={**whole.columns, **halves})
    first, second = (replace(result, revision=revision, effects=divided) for revision in (BASE, TWIN))
    return comparisons.between(Question(first, second))


def occasions(before: Result, after: Result) -> dict[Case, Change]:
    """Return by how much the difference of two releases differs between the first and the second half of their launches."""
    apart = {}
    for case in before.effects.cases:
        within = after.logs_of(case) - before.logs_of(case)
        within = within[~np.isnan(within)]
        half = len(within) // 2
        if case.spec.compared and half >= paired.FEWEST:
            first, second = within[:half], within[-half:]
            size, variance = float(second.mean() - first.mean()), float(first.var(ddof=1) + second.var(ddof=1))
            apart[case] = Difference(size, variance, half, 2 * half - 2, (half, half))
    return paired.judge(apart, kind=comparisons.kind)


def _planted(experiments: Mapping[str, History]) -> Iterator[Row]:
    """Yield how often slowdowns that were really measured are called slower, and their size covered."""
    covered = []
    for name in [name for name in ("quiet", "now") if name in experiments]:
        sides = {each.revision: each for each in experiments[name].results}
        n = _launches(sides[BASE])
        if TWIN in sides:
            twin = timed(sides[BASE], sides[TWIN])
            alarms = sum(each.changed for each in twin.values())
            covered += [covers(each) for each in twin.values()]
            yield Row(f"twin in the same {n} launches: false alarms", f"{alarms} of {len(twin)}", "0", alarms > 0)
        for side, share in EXPERIMENTS[name].sides.items():
            if not share:
                continue
            margin = MARGIN if share > MARGIN else FINER
            changes = timed(sides[BASE], sides[side], margin)
            slower = {case: float(each.verdict is Verdict.SLOWER) for case, each in changes.items()}
            told = fmean(slower.values())
            goal = at_least(told, SEEN[side]) if side in SEEN else ()
            text = f"{percent(told, 0)} of {len(changes)} ({shares(by_size(slower, fmean), 0)})"
            alone = ", a minute for each case" if name == "now" else ""
            yield Row(f"planted +{percent(share)}, margin {percent(margin)}: detected in {n} launches{alone}", text, *goal)
            covered += [covers(each, 1 + share) for each in changes.values()] if TWIN in sides else []
    if covered:
        yield coverage("twin and planted: 95 % intervals that cover the truth", covered)


def shown() -> str:
    """Return the table of docs/measurement.md: the figures of docs/accuracy.json, with the goals that are missed."""
    report = json.loads(FILE.read_text(encoding="utf-8"))
    title = f"{report['machine']}, {report['launches']} launches, {report['day']}; by size: {report['sizes']} elements"
    lines = [f"{escaped(title)}:\n", "| | measured | goal |", "|---|--:|--:|"]
    for row in report["rows"]:
        goal = f"{row['goal']}, **missed**" if row["missed"] else escaped(row["goal"])
        lines.append(unbroken(f"| {escaped(row['name'])} | {escaped(row['value'])} | {goal} |"))
    return "\n".join(lines)


if __name__ == "__main__":
    try:
        main()
    except TensorcopyError as error:
        sys.exit(str(error))
