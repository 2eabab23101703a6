"""Compare two results case by case.

One case has one verdict, however it is asked for: all cases of two results are judged together, and `Comparison.selected` chooses which of
them are shown. The verdict on a time comes from the time alone; an exact count, such as of instructions, stands beside it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from os.path import relpath

from tensorcopy import numbers
from tensorcopy.campaign import NO_RULES, VerdictRules
from tensorcopy.errors import TensorcopyError
from tensorcopy.judge import paired
from tensorcopy.judge.paired import ALPHA, LEAST_COUNT, MARGIN, Change, CountPair, Reason, Verdict
from tensorcopy.results import conditions, effects, suite_specs
from tensorcopy.results.cases import Case, counted_case
from tensorcopy.results.conditions import FieldDifference
from tensorcopy.results.effects import UNPAIRED, Difference
from tensorcopy.results.launches import OTHER_VERSION
from tensorcopy.results.result import Result

KINDS = (2**14, 2**17, 2**20)  # elements, of the largest tensor of each kind but the last
SIZES = (*(f"≤ {numbers.count(limit)}" for limit in KINDS), f"> {numbers.count(KINDS[-1])}")  # of the kinds
REPEATS = 2  # times the repeatability, at least, is a change of a count


@dataclass(frozen=True)
class Question:
    """What a comparison asks. Each answer is judged by it, and shown with it.

    rules : margins of cases, and what is acknowledged
    margin : the smallest change to report, as a share of the time, of cases for which `rules` have none
    everywhere : whether it is that of all cases
    planned_looks : how many looks at the launches the caller plans, each of which may end the measurement
    """

    before: Result
    after: Result
    rules: VerdictRules = NO_RULES
    margin: float = MARGIN
    everywhere: bool = False
    planned_looks: int = 1

    @property
    def looks(self) -> int:
        """How many looks share the chance of a false alarm: those that are planned, or more that the stored launches had."""
        return max(self.planned_looks, effects.looks(self.before.column, self.after.column))

    @property
    def alpha(self) -> float:
        """The chance of a false alarm among all cases, and one minus the level of each case's own interval."""
        return ALPHA / self.looks

    @property
    def is_of_torch(self) -> bool:
        """Whether the sides differ in the release of torch alone: not in the machine, the Python, numpy or a revision."""
        before, after = self.before, self.after
        return before.sha != after.sha and (before.series_key, before.revision) == (after.series_key, after.revision)

    def margin_of(self, case: Case) -> float:
        """Return the margin of a case."""
        declares = self.rules.margins and not self.everywhere
        return (self.rules.margin(case.name) if declares else None) or self.margin

    def acknowledged(self, case: Case) -> str:
        """Return why a slowdown of a case is known and stays; "" where it is not, and where torch is not all that differs."""
        return self.rules.why(case.name, self.after.version) if self.is_of_torch else ""


@dataclass(frozen=True)
class Comparison:
    """A question, and the change of each case: every output shows these, and decides nothing.

    labels : a few words for each side, such as "torch 2.14.1" and "torch 2.15.0"
    compared : the number of cases that could be tested; the p-values are adjusted for those of one device
    problems : of files that could have taken part, and could not be read
    machine : its name, where that of the processor does not suffice; "" for two machines
    device : of the cases; "" for several devices
    other_devices : that have cases which are not shown
    """

    question: Question
    labels: tuple[str, str]
    changes: dict[Case, Change]
    compared: int = 0
    problems: tuple[TensorcopyError, ...] = ()
    machine: str = ""
    device: str = ""
    other_devices: tuple[str, ...] = ()

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
        regex = re.compile(pattern)
        of_device = {case: each for case, each in self.changes.items() if device in ("", case.device)}
        others = tuple(dict.fromkeys(case.device for case in self.changes if case not in of_device)) or self.other_devices
        shown = {case: each for case, each in of_device.items() if regex.search(case.name)}
        compared = sum(change.interval is not None for change in of_device.values())
        return replace(self, changes=shown, compared=compared, device=device or self.device, other_devices=others)

    @property
    def on(self) -> str:
        """The processors of the times, and the Pythons, that both sides were measured on."""
        sides = self.before, self.after
        processors = dict.fromkeys(side.hardware(self.device) if self.device else side.processors for side in sides)
        pythons = dict.fromkeys(side.python for side in sides)
        place = ", ".join(filter(None, [self.machine, self.device]))
        return f"{' / '.join(processors)}{f' ({place})' if place else ''}, Python {' / '.join(pythons)}"

    @property
    def has_slower(self) -> bool:
        """Whether a case is slower, and not acknowledged."""
        return any(change.verdict is Verdict.SLOWER and not change.acknowledged for change in self.changes.values())

    @property
    def has_compared(self) -> bool:
        """Whether at least one case was compared."""
        return any(change.compared for change in self.changes.values())

    @property
    def environment(self) -> list[FieldDifference]:
        """The fields of the provenance that differ and can change a time; "" where a side has none."""
        return conditions.differing(self.before.provenance, self.after.provenance)


@lru_cache(maxsize=1024)  # pairs: a site asks for the neighbours in each case's history, and on their page
def between(question: Question) -> Comparison:
    """Compare two results: every case of either that torch can change, and every tracked value.

    Times of one device are judged together, as are values.
    """
    before, after = question.before, question.after
    cases = _cases(before, after)
    measured = effects.between(before.column, after.column)
    unknown = {case: change for case in cases if (change := _incomparable(before, after, case, measured.get(case)))}
    comparable = {*cases} - unknown.keys()
    testable = {case: difference for case, difference in measured.items() if difference and case in comparable}
    judged = _judged(testable, question, question.alpha)
    tracked = [case for case in cases if case.tracked and case not in unknown]
    repeats = {case: (case.spec.unit, before.count_repeats[case], after.count_repeats[case]) for case in tracked}
    judged |= paired.tracked(repeats, alpha=question.alpha)
    changes: dict[Case, Change] = {}
    for case in cases:
        first, second = before.measured(case), after.measured(case)
        values = first.value if first else None, second.value if second else None
        if case.tracked:
            changes[case] = judged.get(case) or replace(unknown[case], before=values[0], after=values[1], unit=case.spec.unit)
        else:
            change = unknown.get(case) or judged[case]
            asked = question.margin if question.everywhere or question.margin > MARGIN else None
            count = count_pair(before, after, case, margin=asked)
            why = question.acknowledged(case) if change.verdict is Verdict.SLOWER else ""
            changes[case] = replace(change, before=values[0], after=values[1], count=count, acknowledged=why)
    compared = sum(change.interval is not None for change in changes.values())
    return Comparison(question, labels(before, after), changes, compared)


def _cases(before: Result, after: Result) -> list[Case]:
    """Return the timed and tracked cases of either side that are compared between releases, those with a time first."""
    tracked = [case for result in (before, after) for case in result.counts if case.tracked]
    failing = [case for result in (before, after) for case in result.failures if case.spec.timed or case.tracked]
    return [case for case in dict.fromkeys([*before.timings, *after.timings, *tracked, *failing]) if case.spec.compared]


def _incomparable(before: Result, after: Result, case: Case, difference: Difference | None) -> Change | None:
    """Return the unknown change of a case that cannot be compared; None of one that can.

    difference : as it was measured; None for sides that never met
    """
    if missing := _missing(after, case, Reason.FAILED_AFTER, Reason.NOT_MEASURED_AFTER, Reason.ONLY_BEFORE):
        return missing
    if missing := _missing(before, case, Reason.FAILED_BEFORE, Reason.NOT_MEASURED_BEFORE, Reason.ONLY_AFTER):
        return missing
    first, second = before.measured(case), after.measured(case)
    launches = first.launches if first else 0, second.launches if second else 0
    fields = conditions.unequal(before, after, case)
    if fields:
        ratio = after.timings[case].seconds / before.timings[case].seconds if case.spec.timed else None
        return Change(Verdict.UNKNOWN, Reason.PROVENANCE_DIFFERS, ratio, launches=launches, differences=fields, way=UNPAIRED)
    if case.spec.timed and difference is None:
        return Change(Verdict.UNKNOWN, Reason.NEVER_MET, launches=launches, way=UNPAIRED)
    return None


def _missing(result: Result, case: Case, failed: Reason, skipped: Reason, absent: Reason) -> Change | None:
    """Return the unknown change of a case that one side lacks, with one of these reasons; None of one that it has."""
    if case in result.timings or case in result.counts:
        return None
    if case in result.failures:
        return Change(Verdict.UNKNOWN, failed, failure=result.failures[case])
    if result.skips.get(case) == OTHER_VERSION:
        return Change(Verdict.UNKNOWN, Reason.OTHER_VERSION)
    if case in result.skips:
        return Change(Verdict.UNKNOWN, skipped, failure=result.skips[case])
    return Change(Verdict.UNKNOWN, absent)


@lru_cache(maxsize=256)  # pairs of releases
def chained(pairs: tuple[tuple[Result, Result], ...], rules: VerdictRules = NO_RULES) -> Mapping[Case, Change]:
    """Return the change of each case over a chain of pairs of results.

    pairs : each of one Python, and each but the first begins with the release that the one before ends with
    """
    question = Question(pairs[0][0], pairs[-1][1], rules)
    if len(pairs) == 1:
        return between(question).changes
    links = [(before, after, effects.between(before.column, after.column)) for before, after in pairs]
    _, _, of_first = links[0]
    total = {}
    for case in of_first:
        measured = [difference for *_, of_link in links if (difference := of_link.get(case))]
        is_whole = len(measured) == len(links) and case.spec.compared
        if is_whole and not any(_incomparable(before, after, case, of_link[case]) for before, after, of_link in links):
            total[case] = effects.summed(measured)
    return _judged(total, question, min(Question(*pair).alpha for pair in pairs))


def _judged(differences: Mapping[Case, Difference], question: Question, alpha: float) -> dict[Case, Change]:
    """Return the change of each case; those of one device are judged together, so that no other device moves a verdict."""
    by_device: dict[str, dict[Case, Difference]] = {}
    for case, difference in differences.items():
        by_device.setdefault(case.device, {})[case] = difference
    changes: dict[Case, Change] = {}
    for of_device in by_device.values():
        changes |= paired.judge(of_device, margin=question.margin_of, kind=kind, alpha=alpha)
    return changes


@dataclass(frozen=True)
class Mean:
    """The geometric mean of the times of some cases, and its change.

    module : of their suites: "copies"
    method : that all of them have; "" for a group of methods
    """

    module: str
    device: str
    method: str
    cases: tuple[Case, ...]
    change: Change


def group_means(comparison: Comparison) -> list[Mean]:
    """Return the mean of all compared cases of each group of methods on each device, such as all copies.

    All are judged together. A group of which only some cases are shown has none.
    """
    if not any(change.timed for change in comparison.changes.values()):
        return []
    return [mean for mean in _group_means(comparison.question) if comparison.changes.keys() >= {*mean.cases}]


@lru_cache(maxsize=256)  # pairs: a site shows them in their comparison and in its index
def _group_means(question: Question) -> list[Mean]:
    groups: dict[MeanKey, list[Case]] = {}
    for case in _compared_methods(question):
        groups.setdefault((case.spec.module, case.device, ""), []).append(case)
    order = [*suite_specs.sections()]
    return sorted(_means(question, groups), key=lambda mean: order.index(mean.module))


def method_means(question: Question) -> dict[tuple[str, str], Mean]:
    """Return the mean over the sizes of each method, by method and device: of contiguous float32 tensors without grad.

    All are judged together.
    """
    groups: dict[MeanKey, list[Case]] = {}
    for case in _compared_methods(question):
        if case.suite == suite_specs.timed_by_size(case.spec.methods, case.device):
            groups.setdefault((case.spec.module, case.device, case["method"]), []).append(case)
    return {(mean.method, mean.device): mean for mean in _means(question, groups)}


MeanKey = tuple[str, str, str]  # the module, the device and the method


def _compared_methods(question: Question) -> list[Case]:
    """Return the timed cases of groups of methods whose change has an interval."""
    return [case for case, change in between(question).changes.items() if case.spec.timed and case.spec.methods and change.interval]


def _means(question: Question, groups: Mapping[MeanKey, Sequence[Case]]) -> list[Mean]:
    several = {key: cases for key, cases in groups.items() if len(cases) > 1}
    measured = effects.of_means(question.before.column, question.after.column, several)
    changes: dict[MeanKey, Change] = {}
    for device in dict.fromkeys(device for _, device, _ in measured):
        of_device = {key: difference for key, difference in measured.items() if key[1] == device}
        changes |= paired.judge(of_device, margin=lambda _: question.margin, alpha=question.alpha)
    return [Mean(*key, tuple(several[key]), change) for key, change in changes.items() if change.interval]


def kind(case: Case) -> tuple[str, int]:
    """Return the kind of a case, whose variances are alike: its device, and whether dispatch, caches or memory decide its time.

    The latter as an index of `SIZES`; -1 for a case without a size.
    """
    numel = dict(case.parameters).get("numel", "")
    return case.device, bisect_left(KINDS, int(numel)) if numel.isdecimal() else -1


def sensitivity(changes: Mapping[Case, Change]) -> dict[str, float]:
    """Return the smallest slowdown seen 9 times in 10, by size.

    It is `paired.smallest_seen` of the cases of each kind. Its keys are those of `SIZES`, with the device where there are several; ""
    stands for cases without a size.
    """
    by_kind: dict[tuple[str, int], list[Change]] = {}
    for case, change in changes.items():
        by_kind.setdefault(kind(case), []).append(change)
    smallest = {key: size for key, of_kind in by_kind.items() if (size := paired.smallest_seen(of_kind)) is not None}
    several = len({device for device, _ in smallest}) > 1
    by_name = {}
    for device, size in sorted(smallest):
        size_name = SIZES[size] if size >= 0 else ""
        by_name[f"{device} {size_name}".strip() if several else size_name] = smallest[device, size]
    return by_name


def least_change(repeatability: float | None, *, margin: float | None = None) -> float:
    """Return the smallest relative change of a count that counts as one.

    repeatability : by how much repeated counts of the case differ; None where it was counted once
    margin : the smallest change that the reader asks for; None for the usual one of counts
    """
    return max(LEAST_COUNT if margin is None else margin, LEAST_COUNT if repeatability is None else REPEATS * repeatability)


def count_pair(before: Result, after: Result, case: Case, *, margin: float | None = None) -> CountPair | None:
    """Return the exact counts of a timed or counted case on both sides.

    None where a side has no count, or where the sides are of two machines.

    margin : see `least_change`
    """
    counted = case if case in before.counts else counted_case(case)
    first, second = before.count_of(case), after.count_of(case)
    if counted is None or first is None or second is None or before.series_key.host != after.series_key.host:
        return None
    repeats = max((count.error for count in (first, second) if count.launches > 1), default=None)
    return CountPair(counted.spec.unit, first.value, second.value, repeats, least_change(repeats, margin=margin))


def of_counts(before: Result, after: Result, unit: str, *, margin: float | None) -> Comparison:
    """Compare the exact counts of two results, in one unit such as "instructions".

    margin : the smallest change that the reader asks for; None for the usual one of counts
    """
    changes = {}
    for case in before.counts:
        count = count_pair(before, after, case, margin=margin) if case.spec.unit == unit else None
        if count:
            reason = Reason.COUNT_CHANGED if count.changed else Reason.COUNT_UNCHANGED
            changes[case] = Change(count.verdict, reason, count.ratio, before=count.before, after=count.after, count=count, unit=unit)
    return Comparison(Question(before, after, margin=LEAST_COUNT if margin is None else margin), labels(before, after), changes)


def against_fastest(result: Result, cases: Sequence[Case]) -> dict[Case, Change | None]:
    """Return the change from the fastest of the cases to each; None for the fastest. Nothing where there are too few launches to tell.

    Only measured cases are judged, all together: by their differences within each launch of the result.
    """
    measured = [case for case in cases if case in result.timings]
    if not measured or result.column is None:
        return {}
    fastest = min(measured, key=lambda case: result.timings[case].seconds)
    judged = of_pairs(result, [(fastest, case) for case in measured if case != fastest])
    changes = {case: change for (_, case), change in judged.items() if change.interval}
    return {fastest: None, **changes} if changes or len(measured) == 1 else {}


def of_pairs(result: Result, pairs: Iterable[tuple[Case, Case]]) -> dict[tuple[Case, Case], Change]:
    """Return the change from the first case of each pair to the second, within one result; pairs that no launch has together are left out.

    All are judged together: by their differences within each launch.
    """
    column = result.column
    if column is None:
        return {}
    within: dict[tuple[Case, Case], Difference] = {}
    for first, second in pairs:
        if difference := column.between_cases(first, second):
            within[first, second] = difference
    return paired.judge(within, kind=lambda pair: kind(pair[1]))


NOT_COMPARED = "not compared"


def rank(change: Change | None) -> str:
    """Return "fastest", "tied" with it, "likely slower" or "slower", by the change from the fastest of several cases, as `word` has it.

    Or "not compared", where launches of one side alone leave it unknown: their times vary as the processor's speed does.
    """
    if change is None:
        return "fastest"
    if change.way == UNPAIRED and change.verdict is Verdict.UNKNOWN and not change.likely:
        return NOT_COMPARED
    return word(change) if Verdict.SLOWER in (change.verdict, change.likely) else "tied"


def word(change: Change) -> str:
    """Return the verdict of a case in a word or two: "slower", "unknown", or "likely slower"."""
    return f"likely {change.likely.value}" if change.likely else change.verdict.value


def labels(before: Result, after: Result) -> tuple[str, str]:
    """Name each side by its release and by what else differs."""
    parts: list[tuple[str, str]] = [(f"torch {before.provenance['torch']}", f"torch {after.provenance['torch']}")]
    ours, theirs = before.series_key, after.series_key
    builds = ours.build, theirs.build
    if ours.differs_by_numpy(theirs):
        builds = f"numpy {before.provenance['numpy']}", f"numpy {after.provenance['numpy']}"
    for pair in ((f"Python {ours.python}", f"Python {theirs.python}"), builds, (ours.machine, theirs.machine)):
        parts += [pair] if pair[0] != pair[1] else []
    if before.provenance["torch"] == after.provenance["torch"] and len(parts) == 1:
        parts.append((relpath(before.folder), relpath(after.folder)))
    return ", ".join(first for first, _ in parts), ", ".join(second for _, second in parts)
