"""What a command asks for, and which launches that means. Pure: from a request, what sides have told and stored launches, to tasks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Any, Literal

from tensorcopy.campaign import Campaign
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure.launch import Benchmark, Suites
from tensorcopy.measure.sides import Side
from tensorcopy.numbers import counted
from tensorcopy.results.cases import names_of, some
from tensorcopy.results.launches import Launch, Place, builds
from tensorcopy.worker.devices import ACCELERATORS

OF_VALUES = 3  # launches that tell how much a tracked value varies; its benchmark may take minutes
# What a side takes in a launch, on an AMD EPYC of 2023: to start, and for a case of usual size
START_SECONDS, CASE_SECONDS = 3.0, {"times": 0.05, "counts": 0.3}

OBSERVED = ""  # in place of a case: what the methods of a side do, which a launch of counts tells


@dataclass(frozen=True)
class Request:
    """What a command asks for."""

    sides: tuple[Side, ...]
    reference: Side | None = None  # a side of every launch
    selection: str = ""  # a regular expression on asv's names; "" for every case
    case: str = ""  # the same on names as comparisons have them
    device: str = ""  # of the cases; "" for all
    needs: str = ""  # the device that every side must be able to use; "" for none
    launches: int = 12  # of each case and side, in the first stage
    most: int = 0  # of a case that is not exact enough; 0 for twice as many
    half: float | None = None  # of an interval, as a share, above which a case is not exact enough; None for the limits of a history
    again: bool = False  # whether launches are added to those that are there
    together: bool = False  # whether no launch is taken without one of the sides, and none of the newest alone: for a comparison
    counts: str = ""  # a regular expression on the names of suites whose exact values are counted, once, and in no comparison
    functions: bool = False  # whether the functions of cases are counted, where Valgrind is installed
    history: str = ""  # the name of the history; "" for that of the conditions, which has the name of this machine if it is new
    machine: str = ""  # that name; "" for the host's
    folder: Path | None = None  # of histories; None for that of asv.conf.json
    until: float = inf  # when no further launch begins, on the clock of time.monotonic


@dataclass(frozen=True)
class Task:
    """Launches that are missing: of sides that take turns, or of one that counts."""

    kind: Literal["times", "counts"]
    sides: tuple[Side, ...]  # the reference is the last, if it is not measured for itself
    left: Mapping[tuple[Place, str], int]  # launches that are missing, by side and case

    def __str__(self) -> str:
        return " and ".join(map(str, self.sides)) if len(self.sides) <= 2 else counted(len(self.sides), "side")

    @property
    def launches(self) -> int:
        """How many launches it needs."""
        return max(self.left.values(), default=0)

    @property
    def cases(self) -> set[str]:
        """The cases of the next launch: those that any side lacks."""
        return {text for (_, text), number in self.left.items() if number > 0}

    def after_one(self) -> Task:
        """Return what is left after a launch, whatever it has brought: what no launch can give is not tried for ever."""
        return replace(self, left={key: max(0, number - 1) for key, number in self.left.items()})

    def without(self, sides: Collection[Side]) -> Task:
        """Return what is left where sides cannot be measured."""
        places = {side.place for side in sides}
        kept = tuple(side for side in self.sides if side not in sides)
        return replace(self, sides=kept, left={key: number for key, number in self.left.items() if key[0] not in places})


def wanted(request: Request, suites: Suites, devices: Collection[str]) -> dict[str, Benchmark]:
    """Return the benchmarks with cases that a request selects, each with these; devices : the accelerators that are there.

    Cases on others are left out. Raises TensorcopyError where there is none.
    """
    absent = {device for device in ACCELERATORS if device not in devices}
    named = re.compile(rf"'({'|'.join(absent)})'" if absent else "(?!)")  # by any parameter
    pattern, chosen = re.compile(request.selection), dict[str, Benchmark]()
    for name, suite in suites.items():
        is_counted = not request.together and bool(re.search(request.counts, name))
        own = {
            text: index
            for index, (text, case) in enumerate(zip(suite.names, suite.cases))
            if (suite.timed or is_counted or not suite.spec.shipped)
            and case.device not in absent
            and not named.search(text)
            and request.device in ("", case.device)
            and pattern.search(text)
            and (not request.case or re.search(request.case, case.name))
        }
        if own:
            chosen[name] = replace(suite, selected=own)
    if not chosen:
        names = sorted(name for name, suite in suites.items() if not suite.spec.newest)
        got = f"no case that matches {request.case or request.selection!r}{request.device and f' on {request.device}'}"
        allowed = f"a regular expression on names such as {some(names)}"
        raise TensorcopyError("nothing to measure", got=got, allowed=allowed, next="name one of these")
    return chosen


def timed(suites: Suites, *, newest: bool) -> dict[str, Benchmark]:
    """Return the suites that are timed with every release, or those with the newest one only."""
    return {name: suite for name, suite in suites.items() if suite.timed and suite.spec.newest == newest}


def tasks(
    request: Request,
    failed: Collection[Side],
    suites: Suites,
    stored: Sequence[Launch],
    opened: Mapping[Place, Mapping[str, Any]],
    campaign: Campaign,
) -> list[Task]:
    """Return what sides lack: turns of those of each Python, or in interpreters, those of the newest release alone, and counts.

    opened : the provenance of sides that are known, see `counts`
    """
    of_history, alone, there = timed(suites, newest=False), timed(suites, newest=True), counts(stored, suites, opened)
    able = [side for side in request.sides if side not in failed]
    reference = tuple(side for side in [request.reference] if side and side not in failed)  # of every launch, the last
    before = min(fewest(there, side, of_history) for side in request.sides) if request.again else 0
    groups, found = dict[str, list[Side]](), list[Task]()
    for side in sorted([side for side in able if side not in reference] or able, key=lambda side: side.release):
        groups.setdefault("" if side.interpreter or request.together else side.python, []).append(side)
    for own in groups.values():  # the reference is measured with the others, or alone
        together = tuple(dict.fromkeys((*own, *reference)))
        left = missing([side for side in together if side in able], of_history, there, before + request.launches)
        found.append(Task("times", together, left))
    last = max(reversed(request.sides), key=lambda side: side.release)
    newer = {release.sha for release in campaign.releases if release > last.release}
    is_last = not any(side.sha in newer for launch in stored if launch.kind == "times" for side in launch.sides)
    if alone and is_last and not request.together:
        found.append(Task("times", tuple(dict.fromkeys([last, *reference])), missing([last], alone, there, request.launches)))
    for side in able:
        left = dict[tuple[Place, str], int]()
        for name, suite in suites.items():
            of_counts = 1 if suite.spec.shipped else min(request.launches, OF_VALUES)
            left |= missing([side], {name: suite}, there, 0 if suite.timed else of_counts)
        if campaign.observers and not request.together:
            left[side.place, OBSERVED] = int(not there[side.place, OBSERVED])
        found.append(Task("counts", (side,), left))
    return found


def counts(launches: Iterable[Launch], suites: Suites, opened: Mapping[Place, Mapping[str, Any]]) -> Counter[tuple[Place, str]]:
    """Return in how many launches each side has each case: a time or a value, or why there is none.

    A git revision may lack a case: a launch tells it where any side has the case.

    suites : with the selected cases; a suite in another form has none of them
    opened : the provenance of sides that are known: with another build of a user's package, a launch tells nothing
    """
    found = Counter[tuple[Place, str]]()
    for launch in launches:
        found.update((side.place, OBSERVED) for side in launch.sides if launch.methods)
        for name in [name for name in suites if name in launch.suites and launch.suites[name].form == suites[name].stored().form]:
            stored = launch.suites[name]
            there = {text: str(index) for index, text in enumerate(names_of(name, stored.params)) if text in suites[name].selected}
            for number, side in enumerate(launch.sides):
                if side.place not in opened or builds(opened[side.place]) == builds(launch.provenance_of(number)):
                    numbers = range(len(launch.sides)) if side.revision else [number]
                    found.update((side.place, text) for text, index in there.items() if any(stored.tells(index, each) for each in numbers))
    return found


def fewest(there: Counter[tuple[Place, str]], side: Side, suites: Suites) -> int:
    """Return in how many launches a side has every case of these suites."""
    return min((there[side.place, text] for suite in suites.values() for text in suite.selected), default=0)


def missing(sides: Iterable[Side], suites: Suites, there: Counter[tuple[Place, str]], launches: int) -> dict[tuple[Place, str], int]:
    """Return how many of these launches each side lacks of each case of these suites; there : as `counts` returns it."""
    texts = [text for suite in suites.values() for text in suite.selected]
    return {(side.place, text): max(0, launches - there[side.place, text]) for side in sides for text in texts}


def outlook(tasks: Sequence[Task]) -> str:
    """Return what tasks will take: launches, counts and minutes; "" where none is missing."""
    of_times, of_counts = ([task for task in tasks if task.kind == kind and task.launches] for kind in ("times", "counts"))
    parts = []
    if of_times:
        sizes = sorted({len(task.sides) for task in of_times})
        of = counted(sizes[0], "side") if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]} sides"
        parts.append(f"{counted(sum(task.launches for task in of_times), 'launch')} of {of}")
    if of_counts:
        parts.append(f"counts of {counted(len(of_counts), 'release')}")
    seconds = sum(START_SECONDS * task.launches * len(task.sides) for task in tasks)
    seconds += sum(CASE_SECONDS[task.kind] * sum(task.left.values()) for task in tasks)
    more = "more where a call or its setup is slow, or a case not exact enough"  # which nothing tells before
    return f"{', and '.join(parts)}: about {max(1, round(seconds / 60))} min, {more}" if parts else ""


def failures(launches: Iterable[Launch], suites: Suites) -> str:
    """Return in one line how many selected cases fail in launches, the most frequent reason, and what to do; "" for none."""
    reasons: dict[str, str] = {}  # by case, of the first side that has one
    for launch in launches:
        for name, suite in launch.suites.items():
            names = names_of(name, suite.params)
            reasons.update((names[int(index)], next(iter(by_side.values()))) for index, by_side in suite.failed.items())
    if not reasons:
        return ""
    of = sum(len(suite.selected) for suite in suites.values())
    frequent = Counter(reasons.values()).most_common(1)[0][0]
    missing_module = re.search(r"No module named '(\w+)", frequent)
    following = f'requires = ["{missing_module[1]}"] in [project] of tensorcopy.toml' if missing_module else "--bench leaves cases out"
    return f"{len(reasons)} of {counted(of, 'case')} {'fails' if len(reasons) == 1 else 'fail'}: {frequent}; next: {following}"
