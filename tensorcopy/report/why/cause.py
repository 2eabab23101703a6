"""The cause of a change between two results: the functions, and whether the clock moved too."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from tensorcopy.analysis import comparisons
from tensorcopy.analysis.profiles import difference
from tensorcopy.analysis.profiles.difference import Difference
from tensorcopy.analysis.two_sample import Change, Verdict
from tensorcopy.errors import TensorcopyError
from tensorcopy.results import select
from tensorcopy.results.passes import Case
from tensorcopy.results.profiles import profile_file
from tensorcopy.results.profiles.profile_file import Profiles
from tensorcopy.results.reader import Result
from tensorcopy.results.select import Pair

RESULTS = Path("results")


@dataclass(frozen=True)
class Cause:
    """What is behind the change of a case.

    name : of the profiled case, such as "detach 1 float32 contiguous"
    code : of the method
    labels : of both results, such as "torch 2.5.1"
    time : the verdict on the time; None where it was not timed
    case : the timed one; None where it was not timed
    """

    name: str
    code: str
    before: Result
    after: Result
    labels: tuple[str, str]
    difference: Difference
    time: Change | None
    case: Case | None = None

    @property
    def method(self) -> str:
        return self.name.split()[0]

    @property
    def only_the_clock(self) -> bool:
        """Whether the time changed and the instructions did not."""
        moved = self.time is not None and self.time.verdict in (Verdict.SLOWER, Verdict.FASTER)
        return moved and not self.difference.changed


def why(case: str, before: str, after: str, *, machine: str = "") -> Cause:
    """Return which functions make the difference of a case between two releases.

    case : a method such as "detach", a case as `tensorcopy compare` prints it, or a regular expression that matches only one
    before, after : releases as `tensorcopy compare` takes them, such as "2.5.1" or "1.13.1@3.9"
    machine : a machine's name in results; by default the one that measured last

    Reads results/ of the current folder. Raises TensorcopyError where the case is unknown, or the functions of a side were not counted.
    """
    _expression(case)  # before the results are read
    return of_pair(select.pair(before, after, RESULTS, machine), case)


def of_pair(pair: Pair, pattern: str) -> Cause:
    """Return the cause of the change of a case between two results. Raises TensorcopyError."""
    sides = tuple(_profiles(result) for result in (pair.before, pair.after))
    cases = _cases((pair.before, pair.after), [name for name in sides[0].cases if name in sides[1].cases])
    name = _selected(cases, pattern)
    before, after = (side.of(name) for side in sides)
    assert before is not None  # `_cases` has those of both sides
    assert after is not None
    timed = next((case for case in cases[name] if case in pair.before.timings and case in pair.after.timings), None)
    change = comparisons.between(pair.before, pair.after, pair.beside).changes[timed] if timed else None
    return of_results(pair.before, pair.after, name, difference.between(int(name.split()[1]), before, after), change, timed)


def of_results(before: Result, after: Result, name: str, functions: Difference, time: Change | None, case: Case | None = None) -> Cause:
    """Return the cause of the change of a profiled case; `time` is the verdict on the time of `case`."""
    method = name.split()[0]
    row = after.methods.get(method) or before.methods.get(method) or {}
    return Cause(name, row.get("code", method), before, after, comparisons.labels(before, after), functions, time, case)


def _profiles(result: Result) -> Profiles:
    profiles = profile_file.profiles_of(result)
    if profiles is None:
        raise profile_file.none_taken(result)
    return profiles


def selected(results: Sequence[Result], pattern: str) -> list[Case]:
    """Return the timed cases that a pattern selects, all with the same call and tensor. Raises TensorcopyError."""
    names = dict.fromkeys(profile_file.name_of(case) for result in results for case in result.timings)
    by_name = _cases(results, [name for name in names if name])
    return [case for case in by_name[_selected(by_name, pattern)] if case.spec.timed]


def _cases(results: Sequence[Result], names: Collection[str]) -> dict[str, list[Case]]:
    """Return the cases of each profiled name; of several, those of the own suites of a method first."""
    by_name: dict[str, list[Case]] = {name: [] for name in names}
    listed = dict.fromkeys(case for result in reversed(results) for case in (*result.timings, *result.counts))
    for case in listed:
        name = profile_file.name_of(case)
        if name in by_name:
            by_name[name].append(case)
    return by_name


def _selected(cases: dict[str, list[Case]], pattern: str) -> str:
    """Return the one profiled case that a pattern selects. Raises TensorcopyError.

    A method alone is its smallest tensor that does not require grad.
    """
    of_method = [name for name in cases if name.split()[0] == pattern and name.endswith("float32 contiguous")]
    if of_method:
        return min(of_method, key=lambda name: int(name.split()[1]))
    names = {name: {name, *(comparisons.case_name(case) for case in of_name)} for name, of_name in cases.items()}
    exact = [name for name, texts in names.items() if pattern in texts]
    matches = exact or _matching(names, pattern)
    if len(matches) != 1:
        raise _not_one(pattern, matches or list(cases), len(matches))
    return matches[0]


def _matching(names: dict[str, set[str]], pattern: str) -> list[str]:
    """Return the names of whose texts one matches a regular expression. Raises TensorcopyError for an invalid one."""
    expression = _expression(pattern)
    return [name for name, texts in names.items() if any(expression.search(text) for text in texts)]


def _expression(pattern: str) -> re.Pattern[str]:
    """Return a regular expression, compiled. Raises TensorcopyError for an invalid one."""
    try:
        return re.compile(pattern)
    except re.error as error:
        raise TensorcopyError(
            "no regular expression", got=f"{pattern!r}: {error}", allowed="a method, a case or a regular expression", next="escape it: \\["
        ) from error


def _not_one(pattern: str, names: Collection[str], matching: int) -> TensorcopyError:
    shown = list(names)[:6]
    return TensorcopyError(
        "more than one case matches" if matching else "no such case was profiled on both sides",
        got=f"{pattern!r}, which matches {matching}",
        allowed=", ".join(shown) + (", …" if len(names) > len(shown) else ""),
        next=f"tensorcopy why {shown[0].split()[0] if shown else 'detach'} A B, or a whole name",
    )
