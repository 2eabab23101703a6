"""The changes whose functions were counted on both sides: each has a page.

Neighbouring releases of a series are compared. A method has a page for its smallest tensor, where the dispatcher dominates. It has another
for one that requires grad, and for one where the kernel dominates, if these changed in another way. Other sizes, layouts and dtypes of the
method lead to these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from tensorcopy.analysis.profiles import difference
from tensorcopy.analysis.profiles.difference import Difference
from tensorcopy.errors import TensorcopyError
from tensorcopy.results.passes import Case
from tensorcopy.results.profiles import profile_file
from tensorcopy.results.profiles.profile_file import Profiles
from tensorcopy.results.reader import Result
from tensorcopy.site import addresses

LARGE = 2**17  # elements from which on the kernel dominates
PLAIN = "float32 contiguous"

Key = tuple[Path, str]  # the later result, and the name of a profiled case


@dataclass(frozen=True)
class CountedChange:
    """A case between two neighbouring releases, with its functions.

    name : of the profiled case
    """

    before: Result
    after: Result
    name: str

    @cached_property
    def difference(self) -> Difference:
        """The functions of both sides; reading them takes long."""
        sides = [_profiles(result) for result in (self.before, self.after)]
        left, right = (side.of(self.name) if side else None for side in sides)
        assert left is not None  # the case was counted on both sides
        assert right is not None
        return difference.between(int(self.name.split()[1]), left, right)

    @property
    def address(self) -> str:
        """The address of its page."""
        return addresses.of_cause(self.before, self.after, self.name)


def of_series(all_series: Iterable[tuple[Result, ...]]) -> dict[Key, CountedChange]:
    """Return the changes of the instructions between neighbouring results, by result and case.

    Results without a profile, or with a damaged one, have none.
    """
    changes = {}
    for results in all_series:
        for before, after in pairwise(results):
            changes.update({(after.path, name): CountedChange(before, after, name) for name in _changed_names(before, after)})
    return changes


@dataclass(frozen=True)
class CauseLink:
    """A link to the functions behind a change.

    of : how the page's case differs from the one with the link: "numel=1, without grad"
    """

    address: str
    of: str

    @property
    def text(self) -> str:
        """The text of the link: "why (numel=1, without grad)"."""
        return f"why ({self.of})" if self.of else "why"


def link_of(changes: dict[Key, CountedChange], result: Result, case: Case) -> CauseLink | None:
    """Return the link to the page about a case's change at a result, or about the most similar case of its method; None for none."""
    name = profile_file.name_of(case)
    if not name:
        return None
    method, numel, *_ = name.split()
    grad = name.endswith(" grad")
    of_method = [listed for path, listed in changes if listed.startswith(f"{method} ") and path == result.path]
    if not of_method:
        return None

    def distance(listed: str) -> tuple[bool, bool, bool]:
        """Return how a page's case differs from this one, the most important first."""
        return listed != name, (int(listed.split()[1]) >= LARGE) != (int(numel) >= LARGE), listed.endswith(" grad") != grad

    nearest = min(of_method, key=distance)
    return CauseLink(changes[result.path, nearest].address, _other(name, nearest))


def _other(name: str, listed: str) -> str:
    """Return how a page's case differs from the case with a link to it."""
    _, numel, *kind = name.split()
    _, listed_numel, *listed_kind = listed.split()
    differences = [f"numel={listed_numel}"] if numel != listed_numel else []
    if kind[:2] != listed_kind[:2]:
        differences.append(", ".join(listed_kind[:2]))
    if kind[2:] != listed_kind[2:]:
        differences.append("requires grad" if listed_kind[2:] else "without grad")
    return ", ".join(differences)


def _changed_names(before: Result, after: Result) -> list[str]:
    """Return the names of the profiled cases that have a page."""
    first, second = _profiles(before), _profiles(after)
    return list(_changed(first, second)) if first and second else []


def _changed(first: Profiles, second: Profiles) -> Iterator[str]:
    explained: dict[str, float] = {}  # by method, the difference of the first case that has a page
    for name in _shown(set(first.cases) & set(second.cases)):
        method, counts = name.split()[0], (first.instructions(name), second.instructions(name))
        expected = counts[0] + explained.get(method, 0.0)
        if not difference.is_changed(*counts) or not difference.is_changed(expected, counts[1]):
            continue
        explained.setdefault(method, counts[1] - counts[0])
        yield name


def _shown(names: set[str]) -> list[str]:
    """Return the cases that have pages: of each method the smallest, with and without grad, and the first large one."""
    shown: dict[tuple[str, str, bool], str] = {}
    for name in sorted(names, key=lambda name: (int(name.split()[1]), name)):
        method, numel, *rest = name.split()
        large = int(numel) >= LARGE
        if " ".join(rest[:2]) == PLAIN and not (large and rest[2:]):
            shown.setdefault((method, " ".join(rest[2:]), large), name)
    return list(shown.values())


def _profiles(result: Result) -> Profiles | None:
    try:
        return profile_file.profiles_of(result)
    except TensorcopyError:
        return None  # `tensorcopy why` reports it
