"""Compare two results case by case.

One case has one verdict, however it is asked for: all cases of two results are judged together, and `Comparison.selected` chooses which of
them are shown. The verdict on a time comes from the time alone; an exact count, such as of instructions, stands beside it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

from msgspec import structs

from tensorcopy import numbers
from tensorcopy.campaign import NO_RULES, VerdictRules
from tensorcopy.errors import TensorcopyError
from tensorcopy.judge import paired
from tensorcopy.judge.paired import MARGIN, Change, Reason, Verdict
from tensorcopy.results.cases import Case, counted_case
from tensorcopy.results.effects import Difference
from tensorcopy.results.kinds import Kind
from tensorcopy.results.launches import OTHER_VERSION
from tensorcopy.results.result import Result, differences

KINDS = (2**14, 2**17, 2**20)  # elements, of the largest tensor of each kind but the last
SIZES = (*(f"≤ {numbers.count(limit)}" for limit in KINDS), f"> {numbers.count(KINDS[-1])}")  # of the kinds
NOT_EVIDENCE = ("started", "tensorcopy")  # fields of the provenance that cannot change a time


@dataclass(frozen=True)
class Question:
    """What a comparison asks. Each answer is judged by it, and shown with it."""

    before: Result
    after: Result
    rules: VerdictRules = NO_RULES  # what is accepted
    margin: float | None = None  # the smallest change that counts, as a share, that is asked for; None for the usual one of each kind

    def accepted(self, case: Case) -> str:
        """Return why a slowdown of a case is accepted; "" where it is not, and where torch is not all that differs."""
        return self.rules.why(case.name, self.after.version) if self.before.sha != self.after.sha else ""


@dataclass(frozen=True)
class Comparison:
    """A question, and the change of each case: every output shows these, and decides nothing."""

    question: Question
    labels: tuple[str, str]  # a few words for each side, such as "torch 2.14.1" and "torch 2.15.0"
    changes: dict[Case, Change]
    problems: tuple[TensorcopyError, ...] = ()  # of files that could have taken part, and could not be read
    device: str = ""  # of the cases; "" for several devices
    other_devices: tuple[str, ...] = ()  # that have cases which are not shown
    back: frozenset[Case] = frozenset()  # slower cases that are back to an earlier level, see `case_history.with_back`

    @property
    def before(self) -> Result:
        """The side that is compared with."""
        return self.question.before

    @property
    def after(self) -> Result:
        """The side that is judged."""
        return self.question.after

    @property
    def sides(self) -> tuple[Result, Result]:
        """Both sides, the one that is compared with first."""
        return self.before, self.after

    def selected(self, pattern: str = "", device: str = "") -> Comparison:
        """Return the comparison with only the cases whose name matches `pattern`, on `device`; "" for any device. No verdict changes."""
        of_device = {case: each for case, each in self.changes.items() if device in ("", case.device)}
        others = tuple(dict.fromkeys(case.device for case in self.changes if case not in of_device)) or self.other_devices
        shown = {case: each for case, each in of_device.items() if re.search(pattern, case.name)}
        return replace(self, changes=shown, device=device or self.device, other_devices=others)

    @property
    def on(self) -> str:
        """The processors that both sides were measured on, the history and the Python."""
        processors = dict.fromkeys(side.hardware(self.device) if self.device else side.processors for side in self.sides)
        place = ", ".join(filter(None, [self.after.history, self.device]))
        return f"{' / '.join(processors)} ({place}), Python {self.after.python}"

    @property
    def has_slower(self) -> bool:
        """Whether a case is slower, not accepted, and not back to an earlier level, which is no news."""
        slower = [case for case, change in self.changes.items() if change.verdict is Verdict.SLOWER and not change.accepted]
        return not self.back.issuperset(slower)

    @property
    def has_compared(self) -> bool:
        """Whether at least one case was compared."""
        return any(change.compared for change in self.changes.values())

    @property
    def environment(self) -> list[tuple[str, str, str]]:
        """The fields of the provenance that differ and can change a time, before and after; "" where a side has none."""
        first, second = (texts(side.provenance) for side in self.sides)
        fields = ((name, first.get(name, ""), second.get(name, "")) for name in {**first, **second} if name not in NOT_EVIDENCE)
        return [(name, old, new) for name, old, new in fields if old != new]


def texts(provenance: Mapping[str, Any]) -> dict[str, str]:
    """Return the fields of a provenance as text, those of a group such as the hardware each under its name; "" for none."""
    texts = {}
    for name, value in provenance.items():
        parts = {f"{name} {key}": part for key, part in value.items()} if isinstance(value, dict) else {name: value}
        texts.update({key: ", ".join(map(str, part)) if isinstance(part, list) else str(part or "") for key, part in parts.items()})
    return texts


@lru_cache(maxsize=1024)  # pairs: a site asks for the neighbours in each case's history, and on their page
def judged(question: Question) -> dict[Case, Change]:
    """Return the change of every case that torch can change; of counts that stand beside times, of those that both sides have.

    The times of a device are judged together, so that no other device moves a verdict, and all tracked values.
    """
    before, after = question.before, question.after
    measured, by_device = differences(before, after), dict[str, dict[Case, Difference]]()
    changes, tracked = dict[Case, Change](), dict[Kind, dict[Case, tuple[str, Sequence[float], Sequence[float]]]]()
    others = [case for side in (before, after) for case in (*side.count_repeats, *side.failures) if not case.spec.stands_beside]
    beside = [case for case in before.count_repeats if case.spec.stands_beside and case in after.count_repeats]
    cases = [case for case in dict.fromkeys([*before.timings, *after.timings, *others, *beside]) if case.spec.compared]
    for case in cases:
        if difference := measured.get(case):
            by_device.setdefault(case.device, {})[case] = difference
        elif change := _incomparable(before, after, case):
            changes[case] = change
        elif case.kind.test == "tolerance":
            repeats = before.count_repeats[case], after.count_repeats[case]
            changes[case] = paired.exact(case.spec.unit, *repeats, margin=question.margin, kind=case.kind)
        elif case.kind.by_difference:
            tracked.setdefault(case.kind, {})[case] = case.spec.unit, before.count_repeats[case], after.count_repeats[case]
        else:
            launches = before.timings[case].launches, after.timings[case].launches
            changes[case] = Change(Verdict.UNKNOWN, Reason.NEVER_MET, launches=launches)
    for of_kind, values in tracked.items():
        changes |= paired.of_values(values, kind=of_kind)
    for of_device in by_device.values():
        changes |= paired.judge(of_device, margin=question.margin or MARGIN, kind=kind)
    for case in cases:
        accepted = question.accepted(case) if changes[case].verdict is Verdict.SLOWER else ""
        sides = {"before": before.value_of(case), "after": after.value_of(case)}
        changes[case] = structs.replace(changes[case], **sides, accepted=accepted, unit=case.spec.unit, kind=case.kind)
    return {case: changes[case] for case in sorted(cases, key=lambda case: not case.spec.timed)}


def between(question: Question, unit: str = "") -> Comparison:
    """Compare two results: every time and tracked value that torch can change, or the exact counts in a unit such as "instructions".

    A time has its exact count beside it.
    """
    every = judged(question)
    changes = {case: each for case, each in every.items() if case.spec.stands_beside is bool(unit) and unit in ("", case.spec.unit)}
    for case in [] if unit else changes:
        if (count := counted_case(case)) in every:
            changes[case] = structs.replace(changes[case], count=every[count])
    return Comparison(question, labels(question.before, question.after), changes)


def _incomparable(before: Result, after: Result, case: Case) -> Change | None:
    """Return the unknown change of a case that one side lacks; None of one that both have."""
    for result, failed, skipped, absent in (
        (after, Reason.FAILED_AFTER, Reason.NOT_MEASURED_AFTER, Reason.ONLY_BEFORE),
        (before, Reason.FAILED_BEFORE, Reason.NOT_MEASURED_BEFORE, Reason.ONLY_AFTER),
    ):
        if case not in result.timings and case not in result.counts:
            why = result.failures.get(case, result.skips.get(case, ""))
            if why == OTHER_VERSION:
                return Change(Verdict.UNKNOWN, Reason.OTHER_VERSION)
            reason = failed if case in result.failures else skipped if case in result.skips else absent
            return Change(Verdict.UNKNOWN, reason, failure=why)
    return None


@cache
def kind(case: Case) -> tuple[str, int]:
    """Return the kind of a case, whose variances are alike: its device, and whether dispatch, caches or memory decide its time.

    The latter as an index of `SIZES`; -1 for a case without a size.
    """
    numel = dict(case.parameters).get("numel", "")
    return case.device, bisect_left(KINDS, int(numel)) if numel.isdecimal() else -1


def sensitivity(changes: Mapping[Case, Change]) -> dict[str, float]:
    """Return the smallest slowdown seen 9 times in 10 (`paired.smallest_seen`) by size, with the device where there are several."""
    by_kind: dict[tuple[str, int], list[Change]] = {}
    for case, change in changes.items():
        by_kind.setdefault(kind(case), []).append(change)
    smallest = {key: size for key, of_kind in sorted(by_kind.items()) if (size := paired.smallest_seen(of_kind)) is not None}
    several = len({device for device, _ in smallest}) > 1
    return {f"{device if several else ''} {SIZES[size] if size >= 0 else ''}".strip(): each for (device, size), each in smallest.items()}


def word(change: Change) -> str:
    """Return the verdict of a case in a word or two: "slower", "unknown", or "likely slower"."""
    return f"likely {change.likely.value}" if change.likely else change.verdict.value


def labels(before: Result, after: Result) -> tuple[str, str]:
    """Name each side by its release, or a git revision by its commit, too."""
    first, second = (f"torch {side.provenance['torch']}{f', {side.revision[:8]}' if side.revision else ''}" for side in (before, after))
    return first, second
