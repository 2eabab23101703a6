"""Flagged cases measured again, by themselves and interleaved, until they hold or fall. Prints nothing.

The samples of a confirmation lie beside the results, in a folder of their own that is removed at its start: they were taken because of what
the results said, and would bend the history if they joined it.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tensorcopy import sides
from tensorcopy.asv_plugin import configuration
from tensorcopy.asv_plugin.configuration import Places
from tensorcopy.compare import Change, Verdict, judge
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import plan, run_passes
from tensorcopy.measure.plan import Measurement
from tensorcopy.measure.progress import Progress, Step, progress
from tensorcopy.measure.run_passes import Job
from tensorcopy.results import files, load
from tensorcopy.results.load import Case, Result
from tensorcopy.sides import Comparison

TIMES = 2  # confirmations that a change must hold in: each squares the chance of a false alarm
PASSES = (4, 8, 16)  # of either side in one: as soon as it is decided, and at most so many

# Brings both sides of the confirmation with this number up to so many passes of these cases, interleaved, and returns their results
Again = Callable[[int, Sequence[Case], int], tuple[Result, Result]]


def flagged(found: Comparison) -> dict[Case, Verdict]:
    """The cases that are worth measuring again, and what is to be confirmed of each.

    Those that are slower or faster, and the suspects: undecided, but worth telling, and clear of no change as long as nobody asks how many
    cases there are. To promote a suspect is no weaker than Holm: it must be clear by itself, and again among the flagged every time.
    """
    expected = {case: _expected(change, found.margin) for case, change in found.changes.items()}
    return {case: verdict for case, verdict in expected.items() if verdict}


def _expected(change: Change, margin: float) -> Verdict | None:
    """What is to be confirmed of a change; None where nothing is."""
    if change.verdict is not Verdict.UNDECIDED or not change.ratio or not change.interval:
        return change.verdict if change.verdict in (Verdict.SLOWER, Verdict.FASTER) else None
    low, high = change.interval
    if max(change.ratio, 1 / change.ratio) < 1 + margin or low <= 1 <= high:
        return None
    return Verdict.SLOWER if change.ratio > 1 else Verdict.FASTER


def confirmed(found: Comparison, again: Again) -> Comparison:
    """`found`, with each flagged case measured again. What holds every time is slower or faster, what does not is undecided."""
    expected = flagged(found)
    if not expected:
        return found
    changes, last = dict(found.changes), dict(found.changes)
    held, tried = dict.fromkeys(expected, 0), dict.fromkeys(expected, 0)
    noise = {case: found.noise[case] for case in expected if case in found.noise}
    for time in range(1, TIMES + 1):
        standing = [case for case in expected if held[case] == time - 1]  # what has fallen once has fallen
        tried.update(dict.fromkeys(standing, time))
        for passes in PASSES:
            if not standing:
                break
            one, other = again(time, standing, passes)
            pairs = {case: (sides.side(one, case, other), sides.side(other, case, one)) for case in standing}
            judged = judge(pairs, margin=found.margin, noise=noise)
            for case in [case for case in standing if judged[case].verdict is not Verdict.UNDECIDED]:
                held[case] += judged[case].verdict is expected[case]
                last[case] = judged[case]
                standing.remove(case)
    for case, verdict in expected.items():
        change = replace(changes[case], confirmed=(held[case], tried[case]))
        changes[case] = _held(change, verdict, last[case]) if held[case] == TIMES else _fallen(change)
    return replace(found, changes=changes)


def _held(change: Change, verdict: Verdict, again: Change) -> Change:
    """What was clear already says what it said; a suspect says what was measured of it alone."""
    if change.verdict is verdict:
        return change
    return replace(again, p=change.p, confirmed=change.confirmed)


def _fallen(change: Change) -> Change:
    if change.verdict is Verdict.UNDECIDED:
        return change
    return replace(change, verdict=Verdict.UNDECIDED, reason=f"{change.verdict.value} {change.reason}, but not when measured again")


def releases_again(found: Comparison, places: Places, tell: Callable[[Progress], None]) -> Again:
    """How the two releases or Pythons of a comparison are measured again on this machine.

    Raises TensorcopyError where this machine is not the one of the results, or cannot install them.
    """
    pair, machine = _measurements(found), found.before.machine
    configuration.register(machine)
    aside = replace(places, results=places.environments.parent / "confirmation")
    begun: set[int] = set()

    def again(time: int, cases: Sequence[Case], passes: int) -> tuple[Result, Result]:
        if time not in begun:
            begun.add(time)
            shutil.rmtree(aside.results, ignore_errors=True)
        _measure(pair, Job(aside, machine, expression(cases)), passes, tell, f"confirmation {time} of {TIMES}")
        return _measured(pair, aside, found)

    return again


def _measurements(found: Comparison) -> tuple[Measurement, Measurement]:
    if found.before.machine != found.after.machine or (found.before.sha == found.after.sha and found.before.python == found.after.python):
        raise TensorcopyError(
            "this cannot be measured again",
            got=f"{found.named[0]} and {found.named[1]}",
            allowed="two releases or Pythons of this machine",
            next="leave --confirm out",
        )
    one, other = (
        plan.selected([f"{result.ledger['torch'].partition('+')[0]}@{result.python}"], (result.python,))[0][0]
        for result in (found.before, found.after)
    )
    return one, other


def _measure(pair: tuple[Measurement, Measurement], job: Job, passes: int, tell: Callable[[Progress], None], title: str) -> None:
    """Bring both sides up to so many passes, A B B A. Raises TensorcopyError."""
    there = [len(records) for records in (_records(one.file(job.places, job.machine)) for one in pair)]
    order = [pair[index] for index in alternating(there, passes)]
    steps = [Step(one.release.version, run_passes.PASS / 4) for one in order]
    for number, one in enumerate(order):

        def told(share: float, elapsed: float, detail: str, number: int = number) -> None:
            tell(progress(steps, number, share, elapsed, f", {title}"))

        run_passes.one_pass(one, job, told, told)


def _records(path: Path) -> list[dict[str, Any]]:
    return files.records(path) if path.exists() else []


def alternating(there: Sequence[int], passes: int) -> Iterator[int]:
    """Which of two sides is next, A B B A, until both have so many passes.

    there : how many each has
    """
    for number in range(passes):
        for index in ((0, 1), (1, 0))[number % 2]:
            if there[index] <= number:
                yield index


def expression(cases: Sequence[Case]) -> str:
    """A regular expression that finds these cases by asv's names for them, and no others."""
    names = []
    for case in cases:
        values = ", ".join(f"'?{re.escape(value)}'?" for _, value in case.parameters)
        names.append(re.escape(case.suite) + (rf"\({values}\)" if values else ""))
    return f"^({'|'.join(names)})$"


def _measured(pair: tuple[Measurement, Measurement], places: Places, found: Comparison) -> tuple[Result, Result]:
    read = load.load_results(places.results)
    if read.problems:
        raise read.problems[0]
    one, other = (next(r for r in read.found if r.path == Path(m.file(places, found.before.machine))) for m in pair)
    here = one.ledger["cpu"]
    if here != found.before.ledger["cpu"]:
        raise TensorcopyError(
            "this is not the machine of the results",
            got=str(here),
            allowed=f"{found.before.machine}, {found.before.ledger['cpu']}",
            next="leave --confirm out, or measure both sides here",
        )
    return one, other
