"""The changes of one case, and those whose functions were counted. Pure.

The changes of a case are what headline, chart, table, CSV and index show. They are the steps of the history over all Pythons
(`Machine.history`). A newer Python decides from its first release on; what only an older one shows is in its own row.

A change whose functions were counted on both sides has a page. Neighbouring releases of a series are compared. A method has a page for its
smallest tensor, where the dispatcher dominates. It has another for one that requires grad, and for one where the kernel dominates, if these
changed in another way. Other sizes, layouts and dtypes of the method lead to these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from tensorcopy.errors import TensorcopyError
from tensorcopy.judge import function_changes
from tensorcopy.judge.case_history import CaseHistory, direction
from tensorcopy.judge.change_points import Step
from tensorcopy.judge.comparisons import labels
from tensorcopy.judge.function_changes import ProfileDifference
from tensorcopy.judge.paired import has_changed
from tensorcopy.report.sentences import against_text, step_size, step_text
from tensorcopy.results import function_profiles
from tensorcopy.results.cases import Case
from tensorcopy.results.function_profiles import Profiles
from tensorcopy.results.result import Result
from tensorcopy.site import addresses
from tensorcopy.worker.devices import with_device


@dataclass(frozen=True)
class CaseChange:
    """A change of a case.

    release : the first with the new level; before : the one that it changed from
    environment : of the Python whose values show it
    text : its direction, size and interval, as `step_text` returns them
    """

    step: Step
    release: str
    before: str
    environment: str
    unit: str
    text: str

    @property
    def verdict(self) -> str:
        """The direction of a time: "slower" or "faster"; of a count "more" or "fewer", of a tracked value "higher" or "lower"."""
        return direction(self.unit, rises=self.step.rises).value

    @property
    def size(self) -> str:
        """The size with its sign: "−17.3 %", "+0.05 GB/s", "+5.3 % against 2.10.0"."""
        return f"{step_size(self.step, self.unit)}{against_text(self.step)}"


def changes_of_case(history: CaseHistory) -> tuple[CaseChange, ...]:
    """Return the changes of a case in order of release."""
    return tuple(
        CaseChange(
            step,
            history.releases[step.index],
            step.against or history.sides_of(step)[0].version,
            history.sides_of(step)[1].environment,
            history.unit,
            step_text(step, history.releases, history.unit),
        )
        for step in history.all_steps
    )


GIVEN = {"plain": "without grad", "with_grad": "that requires grad"}  # what methods are observed on
LARGE = 2**17  # elements from which on the kernel dominates
PLAIN = "float32 contiguous"

ProfileKey = tuple[tuple[Any, ...], str]  # the place of the later result, and the name of a profiled case


@dataclass(frozen=True)
class CountedChange:
    """A case between two neighbouring releases, with its functions.

    name : of the profiled case
    """

    before: Result
    after: Result
    name: str

    @cached_property
    def difference(self) -> ProfileDifference:
        """The functions of both sides; reading them takes long."""
        before, after = (profiles_of(result) for result in (self.before, self.after))
        assert before is not None  # the case was counted on both sides
        assert after is not None
        return function_changes.between(before, after, self.name)

    @property
    def address(self) -> str:
        """The address of its page."""
        return addresses.of_cause(self.before, self.after, self.name)


def counted_changes(all_series: Iterable[tuple[Result, ...]]) -> dict[ProfileKey, CountedChange]:
    """Return the changes of the instructions between neighbouring results, by result and case.

    Results without a profile, or with a damaged one, have none.
    """
    changes = {}
    for results in all_series:
        for before, after in pairwise(results):
            first, second = profiles_of(before), profiles_of(after)
            for name in _changed_cases(first, second) if first and second else ():
                changes[after.place, name] = CountedChange(before, after, name)
    return changes


@dataclass(frozen=True)
class CauseLink:
    """A link to the functions behind a change.

    of : how the page's case differs from the one with the link: "numel=1, no grad"
    """

    change: CountedChange
    of: str

    @property
    def labels(self) -> tuple[str, str]:
        """The two releases: "torch 2.9.1" and "torch 2.10.0"."""
        return labels(self.change.before, self.change.after)


def cause_link(changes: dict[ProfileKey, CountedChange], result: Result, case: Case) -> CauseLink | None:
    """Return the link to the page about a case's change at a result, or about the most similar case of its method; None for none."""
    name = function_profiles.name_of(case)
    if not name:
        return None
    method, numel, *kind = name.split()
    grad = name.endswith(" grad")
    of_method = [listed for place, listed in changes if listed.startswith(f"{method} ") and place == result.place]
    if not of_method:
        return None

    def distance(listed: str) -> tuple[bool, bool, bool]:
        """Return how a page's case differs from this one, the most important first."""
        return listed != name, (int(listed.split()[1]) >= LARGE) != (int(numel) >= LARGE), listed.endswith(" grad") != grad

    nearest = min(of_method, key=distance)
    _, nearest_numel, *nearest_kind = nearest.split()
    differences = [f"numel={nearest_numel}"] if numel != nearest_numel else []
    if kind[:2] != nearest_kind[:2]:
        differences.append(", ".join(nearest_kind[:2]))
    if kind[2:] != nearest_kind[2:]:
        differences.append("requires grad" if nearest_kind[2:] else "no grad")
    return CauseLink(changes[result.place, nearest], ", ".join(differences))


def _changed_cases(first: Profiles, second: Profiles) -> Iterator[str]:
    """Yield the cases that have pages: of each method the smallest, with and without grad, and the first large one, if these changed."""
    shown: dict[tuple[str, str, bool], str] = {}
    for name in sorted(set(first.cases) & set(second.cases), key=lambda name: (int(name.split()[1]), name)):
        method, numel, *rest = name.split()
        large = int(numel) >= LARGE
        if " ".join(rest[:2]) == PLAIN and not (large and rest[2:]):
            shown.setdefault((method, " ".join(rest[2:]), large), name)
    explained: dict[str, float] = {}  # by method, the difference of the first case that has a page
    for (method, _, _), name in shown.items():
        counts = (first.cases[name].instructions, second.cases[name].instructions)
        expected = counts[0] + explained.get(method, 0.0)
        if not has_changed(*counts) or not has_changed(expected, counts[1]):
            continue
        explained.setdefault(method, counts[1] - counts[0])
        yield name


@dataclass(frozen=True)
class OutcomeChange:
    """What a method does otherwise with a later release.

    given : the tensors that it was observed on: "without grad", "that requires grad", or both
    field : what differs, such as "warns"; before, after : as text, "none" for nothing
    """

    method: str
    code: str
    device: str
    given: str
    field: str
    before: str
    after: str


def outcome_changes(before: Result, after: Result) -> Iterator[OutcomeChange]:
    """Yield what methods were observed to do otherwise in the later of two results, a field at a time."""
    for method, row in after.methods.items():
        earlier = before.methods.get(method, {}).get("observed", {})
        for device, observed in row.get("observed", {}).items():
            differing: dict[tuple[str, ...], list[str]] = {}
            for kind, given in GIVEN.items():
                first, second = earlier.get(device, {}).get(kind) or {}, observed.get(kind) or {}
                for field in first.keys() & second.keys() - {"unobserved"}:
                    if first[field] != second[field]:
                        values = (first[field], second[field])
                        texts = tuple("none" if value in ("", None) else with_device(str(value), device) for value in values)
                        differing.setdefault((field.replace("_", " "), *texts), []).append(given)
            for (field, first_text, second_text), kinds in sorted(differing.items()):
                yield OutcomeChange(method, str(row.get("code", method)), device, " or ".join(kinds), field, first_text, second_text)


def profiles_of(result: Result) -> Profiles | None:
    """Return the functions of a result; None where they were not counted, or cannot be read."""
    try:
        return function_profiles.profiles_of(result)
    except TensorcopyError:
        return None  # the publisher reports it, as `tensorcopy why` does
