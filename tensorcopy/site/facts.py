"""The judged results as the pages show them: the one module of the site that imports results and judge. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from itertools import pairwise
from typing import Any, NamedTuple

from tensorcopy.campaign import Campaign, VerdictRules
from tensorcopy.errors import TensorcopyError
from tensorcopy.judge import case_history, comparisons, function_changes, meaning, paired
from tensorcopy.judge.case_history import LAST, CaseHistory, Standing, standing
from tensorcopy.judge.comparisons import Comparison, Question
from tensorcopy.judge.function_changes import ProfileDifference
from tensorcopy.judge.meaning import OpenSince
from tensorcopy.judge.paired import Change, Reason, Verdict
from tensorcopy.numbers import count, duration, duration_range, percent, quantity, signed_interval, signed_percent
from tensorcopy.releases import release_table
from tensorcopy.results import function_profiles, suite_specs
from tensorcopy.results.cases import Case, counted_case
from tensorcopy.results.result import Result, answering_machine, by_history, shown_history
from tensorcopy.results.suite_specs import INSTRUCTIONS, SECONDS
from tensorcopy.worker.devices import DEVICES

__all__ = ["LAST", "Case", "Change", "Comparison", "OpenSince", "Verdict"]  # that other modules of the site name

SPEAKING = ("device", "dtype", "layout", "memory", "method", "nbytes", "quantity", "way")  # parameters whose values need no name
CHANGED = (Verdict.SLOWER, Verdict.FASTER)
LONGEST = 100  # characters of a name in an address: a disk takes 255 bytes
NOT_COUNTED, NOT_PROFILED = "not counted", "not profiled"
OPEN = (OpenSince.NEW, OpenSince.RECENT, OpenSince.OLDER)  # what the badge counts; the rest is back to an earlier level


class Row(NamedTuple):
    """A case with one release, as texts: a row of its page and of the CSV."""

    release: str
    python: str
    value: str
    change: str
    interval: str
    verdict: str  # "slower", "faster" or ""
    meaning: str  # "back to an earlier level", "taken back by 2.13.0" or ""
    detectable: str  # the smallest slowdown that would be called one 9 times in 10
    instructions: str
    instructions_change: str
    launches: str


@dataclass(frozen=True)
class History:
    """One machine with the results of its history.

    axes : for each Python, the newest first, its results in order of release
    """

    name: str
    axes: tuple[tuple[Result, ...], ...]
    rules: VerdictRules

    @cached_property
    def results(self) -> list[Result]:
        """All results, the newest Python's first."""
        return [result for axis in self.axes for result in axis]

    @cached_property
    def in_order(self) -> list[Result]:
        """All results, the oldest release's first."""
        return sorted(self.results, key=lambda result: self.releases.index(result.version))

    @cached_property
    def cases(self) -> dict[Case, CaseHistory]:
        """Each case over the releases."""
        return case_history.joined(self.axes, self.rules)

    @cached_property
    def releases(self) -> list[str]:
        """Every release, the oldest first."""
        return release_table.in_order({result.version for result in self.results})

    @cached_property
    def methods(self) -> dict[str, Any]:
        """The row of each method, as the newest result has it that has one."""
        return {name: row for result in reversed(self.results) for name, row in result.methods.items()} | self.results[0].methods

    @cached_property
    def devices(self) -> list[str]:
        """The devices with times, failures or tracked values, the CPU first."""
        return [device for device in DEVICES if any(case.device == device for case in self.shown)]

    @cached_property
    def shown(self) -> dict[Case, CaseHistory]:
        """The cases that pages list: timed and tracked ones; a count stands beside its time or in the text of its method."""
        return {case: history for case, history in self.cases.items() if case.spec.timed or case.tracked}

    @cached_property
    def standings(self) -> dict[Case, Standing]:
        """Where each timed case stands with the newest release."""
        return {case: each for case, history in self.cases.items() if (each := standing(history))}

    @cached_property
    def open(self) -> dict[Case, OpenSince]:
        """Since when each open case is slower than it was."""
        found = {case: each for case, each in self.standings.items() if each.is_open}
        return {case: meaning.open_since(each, self.instructions(case)) for case, each in found.items()}

    def releases_on(self, device: str) -> list[str]:
        """Return the releases with times on a device, the oldest first."""
        return release_table.in_order({row.version for row in self.results if any(case.device == device for case in row.timings)})

    def newest(self, device: str) -> Result:
        """Return the newest result with observed methods and timed copies on a device, or else the newest."""
        copied = (each for each in reversed(self.axes[0]) if any(case.device == device and case.spec.headline for case in each.timings))
        return next((result for result in copied if result.methods), self.axes[0][-1])

    def hardware(self, device: str) -> str:
        """Return the vendor's name of a device."""
        return self.newest(device).hardware(device)

    def day(self, device: str) -> str:
        """Return the day of the newest launch whose times on a device are shown: those of compared cases."""
        result = self.newest(device)
        return result.day_of(case for case in result.timings if case.device == device and case.spec.compared)

    def instructions(self, case: Case) -> CaseHistory | None:
        """Return the counts of a timed case over the releases; None without any."""
        counted = counted_case(case) if case.spec.timed else None
        return self.cases.get(counted) if counted else None

    def subject(self, case: Case) -> str:
        """Return what has the page of a case: its method, or else its suite."""
        return dict(case.parameters).get("method", "") if case.spec.shipped and "method" in dict(case.parameters) else case.spec.label

    def code(self, case: Case) -> str:
        """Return the code that a case times."""
        row = self.methods.get(self.subject(case), {})
        return str(row.get("code" if case.device == "cpu" else "code_on_accelerator", self.subject(case)))

    def address(self, case: Case) -> str:
        """Return the address of a case."""
        return f"{subject_address(self.subject(case), case.device)}#{self.anchor(case)}"

    def anchor(self, case: Case) -> str:
        """Return the anchor of a case on the page of its method and device."""
        return identifier(
            "-".join([self.name, case.spec.page, *(value for name, value in case.parameters if name not in ("method", "device"))])
        )

    def rows(self, case: Case) -> list[Row]:
        """Return a case with each release, the newest first: the Python that decides there, and an older one only where it changed."""
        history, counts = self.cases[case], self.instructions(case)
        changed, of_counts = _changes(history), _changes(counts) if counts else {}
        places = {result: index for index, result in enumerate(history.results)}
        rows = []
        for axis in self.axes:
            for before, result in pairwise((None, *axis)):
                assert result is not None
                value = result.measured(case)
                if case in result.failures:
                    rows.append(_failing(result, case))
                if not value or (result not in places and result not in changed):
                    continue
                change = comparisons.between(Question(before, result, self.rules)).changes.get(case) if before else None
                sized = change if change and change.interval and change.ratio else None
                instructions = result.count_of(case) if case.spec.timed else None
                verdict, size = changed.get(result, ("", ""))
                place = places.get(result)
                row = Row(
                    release=result.version,
                    python=result.python,
                    value=quantity(value.value, history.unit),
                    change=size or (signed_percent(sized.size) if sized else ""),
                    interval=signed_interval(sized.interval) if sized and sized.interval else "",
                    verdict=verdict,
                    meaning=self.meaning(case, place) if place and verdict else "",
                    detectable=percent(change.detectable, 1) if change and change.detectable is not None else "",
                    instructions=quantity(instructions.value, INSTRUCTIONS) if instructions else "",
                    instructions_change=of_counts.get(result, ("", ""))[1],
                    launches=_launches(result, case),
                )
                rows.append(row)
        order = {release: index for index, release in enumerate(self.releases)}
        return sorted(rows, key=lambda row: -order[row.release])

    def meaning(self, case: Case, index: int) -> str:
        """Return what became of a change with the release at an index; "" where it stays and is new."""
        history = self.cases[case]
        if meaning.is_back(history, index, self.instructions(case)):
            return OpenSince.BACK.value
        release = meaning.taken_back(history, index)
        return f"taken back by {release}" if release else ""

    def instructions_text(self, case: Case, before: str, after: str) -> str:
        """Return how the instructions of a case differ between two releases: "same instructions", "+2.4 % instructions", "not counted"."""
        ratio = meaning.count_ratio(self.instructions(case), before, after)
        return _instructions_text(ratio)

    def compare(self, before: Result, after: Result, device: str) -> Comparison:
        """Return the comparison of two results on a device."""
        return comparisons.between(Question(before, after, self.rules)).selected(device=device)

    @cached_property
    def profiled(self) -> list[list[tuple[Result, Any]]]:
        """The results of each Python whose functions were counted, in order of release, with their profiles."""
        return [[(each, profiles) for each in axis if (profiles := function_profiles.profiles_of(each))] for axis in self.axes]

    @cached_property
    def causes(self) -> dict[str, list[Cause]]:
        """The differences of each method's functions between neighbouring profiled releases, the newest first: of its smallest tensor."""
        found: dict[str, list[Cause]] = {}
        for axis in self.profiled:
            for (before, first), (after, second) in pairwise(axis):
                for method, name in _smallest(first.cases.keys() & second.cases.keys()).items():
                    cause = Cause(before, after, name, function_changes.between(first, second, name))
                    found.setdefault(method, []).insert(0, cause)
        return found

    def cause(self, case: Case, release: str) -> Cause | None:
        """Return the difference of a method's functions that covers a release; None where it was not profiled."""
        order = {version: index for index, version in enumerate(self.releases)}
        causes = self.causes.get(self.subject(case), []) if case.device == "cpu" and case.spec.timed else []
        covering = (each for each in causes if order[each.before.version] < order[release] <= order[each.after.version])
        return min(covering, key=lambda each: order[each.after.version] - order[each.before.version], default=None)

    def shares(self, method: str) -> tuple[str, str, list[tuple[str, float]]] | None:
        """Return where the instructions of a method's smallest tensor go: its case, the newest profiled release, and each part's number."""
        for axis in self.profiled:
            for result, profiles in reversed(axis):
                if name := _smallest(profiles.cases).get(method):
                    parts = function_changes.by_component(profiles, name)
                    return name, result.version, sorted(parts.items(), key=lambda part: -part[1])
        return None


class Cause(NamedTuple):
    """The difference of a method's functions between two profiled releases."""

    before: Result
    after: Result
    case: str
    difference: ProfileDifference


def _smallest(names: Iterable[str]) -> dict[str, str]:
    """Return the profiled case of each method's smallest contiguous tensor of float32, without grad where there is one."""
    smallest: dict[str, str] = {}
    for name in sorted(names, key=lambda name: (name.endswith(" grad"), int(name.split()[1]))):
        if " float32 contiguous" in name:
            smallest.setdefault(name.split()[0], name)
    return smallest


def _changes(history: CaseHistory) -> dict[Result, tuple[str, str]]:
    """Return the verdict and the size of each change by the result that shows it."""
    found = {}
    for step in history.all_steps:
        verdict = case_history.direction(history.unit, rises=step.rises).value
        size = quantity(step.after - step.before, history.unit) if history.case.tracked else signed_percent(step.ratio)
        than = (f" against {step.against}" if step.against else "") + (f" on Python {step.only_on} only" if step.only_on else "")
        found[history.sides_of(step)[1]] = (verdict if history.unit == SECONDS else "", size + than)
    return found


def _failing(result: Result, case: Case) -> Row:
    return Row(result.version, result.python, "fails", "", "", "", "", "", "", "", result.failures[case])


def _launches(result: Result, case: Case) -> str:
    if not case.spec.timed:
        return str(len(result.count_repeats.get(case, ())))
    return f"{result.timings[case].launches}: {duration_range(result.column.launch_times(case))}" if result.column else ""


def _instructions_text(ratio: float | None) -> str:
    if ratio is None:
        return NOT_COUNTED
    return "same instructions" if meaning.are_same(ratio) else f"{signed_percent(ratio)} instructions"


@dataclass(frozen=True)
class Site:
    """What is published.

    histories : the one that answers for the first device first
    answering : the history of each device whose open regressions, feed and badge are shown
    docs : Markdown by name
    source : the address of the repository, "" where it is unknown
    own : the name of the history of the machine that publishes, after `dashboard`; "" otherwise
    """

    campaign: Campaign
    histories: tuple[History, ...]
    answering: Mapping[str, History]
    docs: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    own: str = ""
    problems: Sequence[TensorcopyError] = ()

    @cached_property
    def day(self) -> str:
        """The day of the newest launch that is shown; "" without any."""
        return max((history.day(device) for history in self.histories for device in history.devices), default="")

    @cached_property
    def methods(self) -> dict[str, Any]:
        """The row of each method that any history observed."""
        return {name: row for history in reversed(self.histories) for name, row in history.methods.items()}

    @cached_property
    def pairs(self) -> dict[tuple[str, str], list[tuple[History, Comparison]]]:
        """The comparisons by their two releases, one for each device: each with the one before it, and each with the newest."""
        found: dict[tuple[str, str], list[tuple[History, Comparison]]] = {}
        for history in self.histories:
            for axis in history.axes:
                newest = [(before, axis[-1]) for before in axis[:-2]] if axis[-1].version == history.releases[-1] else []
                for before, after in (*pairwise(axis), *newest):
                    for device in history.devices:
                        if (each := history.compare(before, after, device)).changes:
                            found.setdefault((before.version, after.version), []).append((history, each))
        return found

    def subjects(self) -> Iterator[tuple[str, str, list[History]]]:
        """Yield each method or suite on each device, with the histories that have cases of it."""
        found: dict[tuple[str, str], list[History]] = {}
        for history in self.histories:
            for subject, device in dict.fromkeys((history.subject(case), case.device) for case in history.shown):
                found.setdefault((subject, device), []).append(history)
        for (subject, device), histories in found.items():
            yield subject, device, histories

    @cached_property
    def addresses(self) -> dict[tuple[str, str], str]:
        """The address of the page of each method or suite by device; a method that was only observed on a device has none there."""
        return {(subject, device): subject_address(subject, device) for subject, device, _ in self.subjects()}


def site(campaign: Campaign, results: Iterable[Result], **options: Any) -> Site:
    """Return what the pages show of some results; those beside numpy 2 are in no history.

    options : the other fields of `Site`
    """
    shown = [
        result
        for result in results
        if result.release
        and not result.series_key.has_numpy_2
        and (result.timings or result.failures or any(case.tracked for case in result.counts))
    ]
    by_name: dict[str, list[Result]] = {}
    for result in shown:
        by_name.setdefault(result.machine, []).append(result)
    histories = {}
    for name, of_machine in by_name.items():
        axes = by_history(of_machine)
        histories[name] = History(name, tuple(map(tuple, axes[shown_history(axes)])), campaign.rules)
    answers = {device: answering_machine(shown, device) for device in DEVICES}
    answering = {device: histories[name] for device, name in answers.items() if name and device in histories[name].devices}
    order = dict.fromkeys([*answering.values(), *histories.values()])
    return Site(campaign, tuple(order), answering, **options)


class OpenMethod(NamedTuple):
    """The open cases of one method or suite on a device that became slower at the same time; the largest cost first."""

    since: OpenSince
    cases: tuple[Case, ...]


def open_methods(history: History, device: str) -> list[OpenMethod]:
    """Return the open cases of a device by method: the newest first, and then those with the largest cost."""
    found: dict[tuple[OpenSince, str], list[Case]] = {}
    for case, since in history.open.items():
        if case.device == device:
            found.setdefault((since, history.subject(case)), []).append(case)
    by_cost = [
        OpenMethod(since, tuple(sorted(cases, key=lambda case: -history.standings[case].ratio))) for (since, _), cases in found.items()
    ]
    return sorted(by_cost, key=lambda each: ([*OpenSince].index(each.since), -history.standings[each.cases[0]].ratio))


class Tally(NamedTuple):
    """How the timed cases of a comparison came out; the slower ones without those that are back to an earlier level."""

    slower: list[Case]
    back: list[Case]
    faster: list[Case]
    unchanged: int
    unknown: int
    failing: list[Case]
    cases: int


def tally(history: History, comparison: Comparison) -> Tally:
    """Return how the timed cases of a comparison came out. A slowdown is back where its sides are neighbours in the case's history."""
    timed = {case: change for case, change in comparison.changes.items() if change.timed}
    slower = [case for case, change in timed.items() if change.verdict is Verdict.SLOWER]
    back = [case for case in slower if is_back(history, case, comparison)]
    return Tally(
        [case for case in slower if case not in back],
        back,
        [case for case, change in timed.items() if change.verdict is Verdict.FASTER],
        sum(change.verdict is Verdict.UNCHANGED for change in timed.values()),
        sum(change.verdict is Verdict.UNKNOWN for change in timed.values()),
        [case for case, change in comparison.changes.items() if change.reason is Reason.FAILED_AFTER],
        len(timed),
    )


def is_back(history: History, case: Case, comparison: Comparison) -> bool:
    """Return whether a comparison of neighbouring releases shows a case back at an earlier level."""
    of_case = history.cases.get(case)
    if not of_case or comparison.after not in of_case.results:
        return False
    index = of_case.results.index(comparison.after)
    return index > 0 and of_case.sides(index) == comparison.sides and meaning.is_back(of_case, index, history.instructions(case))


def earlier(history: History, back: Iterable[Case], comparison: Comparison) -> str:
    """Return the release at whose level the slower cases of a comparison are again; "" without one, or where they differ."""
    found = set()
    for case in back:
        of_case = history.cases[case]
        index = of_case.results.index(comparison.after)
        found.add(max((place for place in of_case.neighbours if place < index), default=0))
    releases = {history.cases[case].sides(place)[0].version for case in back for place in found if place}
    return releases.pop() if len(releases) == 1 else ""


def are_not_more(history: History, cases: Iterable[Case], before: str, after: str) -> bool:
    """Return whether the instructions of some cases were counted with two releases, and are the same or fewer with the later one."""
    ratios = [meaning.count_ratio(history.instructions(case), before, after) for case in cases]
    counted = [ratio for ratio in ratios if ratio]
    return bool(counted) and all(ratio < 1 or meaning.are_same(ratio) for ratio in counted)


class ChangedCase(NamedTuple):
    """A case of a comparison that is slower, faster or likely so, as texts."""

    case: Case
    verdict: str
    css: str
    size: str
    interval: str
    factor: float | None  # of the size over the smallest detectable change
    before: str
    after: str
    instructions: str
    meaning: str
    accepted: str


def changed(history: History, comparison: Comparison) -> list[ChangedCase]:
    """Return the slower, faster and likely changed cases of a comparison: slower first, and each by its size over what is detectable."""
    rows = []
    order = {Verdict.SLOWER: 0, Verdict.FASTER: 2}
    shown = {case: change for case, change in comparison.changes.items() if change.timed and (change.verdict in CHANGED or change.likely)}
    for case, change in sorted(shown.items(), key=lambda each: (order.get(each[1].verdict, 1), -(each[1].factor or 0))):
        rows.append(
            ChangedCase(
                case,
                comparisons.word(change),
                "likely" if change.likely else change.verdict.value,
                signed_percent(change.size),
                signed_interval(change.interval) if change.interval else "",
                change.factor,
                duration(change.before) if change.before else "",
                duration(change.after) if change.after else "",
                _instructions_text(change.count.ratio if change.count else None),
                OpenSince.BACK.value if is_back(history, case, comparison) else "",
                change.acknowledged,
            )
        )
    return rows


def compact(change: Change) -> dict[str, str]:
    """Return a change as the cell of a table: its size with half of its interval, or why there is none, and its instructions."""
    half = (change.interval[1] - change.interval[0]) / 2 if change.interval else 0.0
    text = f"{signed_percent(change.size).removesuffix(' %')} ± {100 * half:.1f}" if change.interval else REASONS[change.reason]
    work = signed_percent(change.count.ratio) if change.count and change.count.changed else ""
    return {"text": text, "css": "likely" if change.likely else change.verdict.value, "count": work}


REASONS = {
    Reason.FAILED_BEFORE: "failed before",
    Reason.FAILED_AFTER: "fails",
    Reason.NOT_MEASURED_BEFORE: "not measured before",
    Reason.NOT_MEASURED_AFTER: "not measured",
    Reason.ONLY_BEFORE: "only before",
    Reason.ONLY_AFTER: "new",
    Reason.OTHER_VERSION: "benchmark changed",
    Reason.PROVENANCE_DIFFERS: "other conditions",
    Reason.TOO_FEW_LAUNCHES: "too few launches",
    Reason.NEVER_MET: "never in turns",
} | dict.fromkeys((Reason.CHANGED, Reason.WITHIN_MARGIN, Reason.INTERVAL_TOO_WIDE, Reason.COUNT_CHANGED, Reason.COUNT_UNCHANGED), "")


def sensitivity(comparison: Comparison) -> dict[str, float]:
    """Return the smallest slowdown that would be called one 9 times in 10, by size of the tensors."""
    return comparisons.sensitivity(comparison.changes)


def launches_of(comparison: Comparison) -> list[int]:
    """Return the numbers of launches of the compared times, the smallest first."""
    return sorted({number for change in comparison.changes.values() if change.interval for number in change.launches})


def not_judged(comparison: Comparison) -> int:
    """Return how many cases have too few launches for a verdict."""
    return sum(change.timed and change.reason is Reason.TOO_FEW_LAUNCHES for change in comparison.changes.values())


FEWEST, MARGIN = paired.FEWEST, paired.MARGIN  # launches of a verdict, and the smallest change of a time that has one


def tracked(comparison: Comparison) -> list[tuple[Case, str, str, str]]:
    """Return the tracked values of a comparison: case, verdict, before and after."""
    return [
        (case, change.verdict.value, quantity(change.before, change.unit), quantity(change.after, change.unit))
        for case, change in comparison.changes.items()
        if not change.timed
    ]


def over(history: CaseHistory) -> Change | None:
    """Return the change of a case from its first release to its newest; None with fewer than two."""
    measured = [index for index, value in enumerate(history.values) if value is not None]
    return history.change(measured[0], measured[-1]) if len(measured) > 1 else None


@dataclass(frozen=True)
class Grid:
    """The cases of one suite on one device: a row for each method, a column for each value of the other parameters."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Case, tuple[Any, ...]], ...]


def grids(cells: Mapping[Case, Any]) -> list[Grid]:
    """Return cells by suite and device; None where there is no such case."""
    suites: dict[tuple[str, str], dict[Case, Any]] = {}
    for case, cell in sorted(cells.items(), key=_order):
        suites.setdefault((case.spec.label, case.device), {})[case] = cell
    found = []
    for (label, _), of_suite in suites.items():
        names = [name for name, values in _values(of_suite).items() if len(values) > 1 and name != "method"] or ["numel"]
        by_case = {case: tuple(each for each in case.parameters if each[0] in names) for case in of_suite}
        columns = sorted(
            dict.fromkeys(by_case.values()), key=lambda shape: [(int(value), "") if value.isdecimal() else (0, value) for _, value in shape]
        )
        rows: dict[str, dict[Any, Case]] = {}
        for case, shape in by_case.items():
            rows.setdefault(dict(case.parameters).get("method", ""), {})[shape] = case
        of_rows = tuple(
            (next(iter(row.values())), tuple(of_suite[row[column]] if column in row else None for column in columns))
            for row in rows.values()
        )
        shared = [named(name, *values) for name, values in _values(of_suite).items() if name not in (*names, "method", "device")]
        first = next(iter(of_suite))
        title = ", ".join([f"{first.spec.title or label}{waiting(first)}", *shared])
        heads = [", ".join(count(int(value)) if name == "numel" else named(name, value) for name, value in column) for column in columns]
        found.append(Grid(title, tuple(head or "value" for head in heads), of_rows))
    return found


def _order(cell: tuple[Case, Any]) -> tuple[int, int, str]:
    """Return the place of a case among the tables: by section, and there by the rank of its suite."""
    spec, modules = cell[0].spec, [*suite_specs.sections()]
    return modules.index(spec.module) if spec.module in modules else len(modules), spec.rank, cell[0].device


def _values(cases: Iterable[Case]) -> dict[str, list[str]]:
    """Return the values of each parameter of some cases."""
    values: dict[str, dict[str, None]] = {}
    for name, value in (each for case in cases for each in case.parameters):
        values.setdefault(name, {})[value] = None
    return {name: [*each] for name, each in values.items()}


def waiting(case: Case) -> str:
    """Return when a device is waited for, of a case that a suite times after each call and another one after many."""
    spec = case.spec
    if case.device == "cpu" or not (spec.shipped and spec.timed) or spec.to_host or spec.wait:
        return ""
    return ", waited for after each call" if spec.latency else ", in a row"


def named(name: str, value: str) -> str:
    """Return a parameter in words: "2¹⁷ elements", "float16", "requires grad"."""
    if name == "numel" and value.isdecimal():
        return f"{count(int(value))} element{'s' * (value != '1')}"
    if name == "requires_grad":
        return "requires grad" if value == "True" else "no grad"
    return value if name in SPEAKING else f"{name}={value}"


def told(case: Case) -> str:
    """Return what a case measures besides its method: "2¹⁷ elements, float16"."""
    words = [named(name, value) for name, value in case.parameters if name != "method" or not case.spec.shipped]
    counted = "" if case.spec.timed or not case.spec.shipped else f", {case.spec.metric}"
    return (", ".join(words) or "default parameters") + waiting(case) + counted


def charted(history: History, device: str) -> dict[tuple[str, str], list[Case]]:
    """Return the cases that are drawn together, by group and size: those of a suite that differ in the method alone."""
    found: dict[tuple[str, str], list[Case]] = {}
    shown = [case for case in history.cases if case.spec.timed and case.device == device and len(history.cases[case].releases) > 1]
    for case in sorted(
        shown, key=lambda case: (_order((case, None)), int(dict(case.parameters).get("numel", 0)) if case.spec.shipped else 0)
    ):
        spec, values = case.spec, dict(case.parameters)
        if spec.rank < 2 or device != "cpu" or not spec.shipped:
            size = named("numel", values["numel"]) if "numel" in values else ""
            others = [named(name, value) for name, value in case.parameters if name not in ("method", "device", "numel")]
            group = f"{spec.title or spec.label}{waiting(case)}"
            found.setdefault((group, ", ".join(filter(None, [size, *others])) or "all"), []).append(case)
    return found


def spans(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return each value with the releases in a row that have it: ("4 MiB", "1.9.0 to 2.15.0"); pairs : release and value."""
    runs: list[tuple[str, list[str]]] = []
    for release, value in pairs:
        if runs and runs[-1][0] == value:
            runs[-1][1].append(release)
        else:
            runs.append((value, [release]))
    return [(value, " to ".join(dict.fromkeys((releases[0], releases[-1])))) for value, releases in runs]


def subject_address(subject: str, device: str) -> str:
    """Return the address of the page of a method or suite on a device."""
    return f"methods/{slug(device)}/{identifier(subject, ignores_case=True)}.html"


def pair_address(before: str, after: str) -> str:
    """Return the address of the comparison of two releases."""
    return f"compare/{before}..{after}.html"


def identifier(text: str, *, ignores_case: bool = False) -> str:
    """Return a text as the name of a file or an anchor that no other text has; ignores_case : as a disk may."""
    name = slug(text)[:LONGEST]
    is_plain = name == text and not (ignores_case and name != name.lower())
    return name if is_plain else f"{name}-{sha256(text.encode('utf-8', 'replace')).hexdigest()[:6]}"


def slug(text: str) -> str:
    """Return a text as a part of an address."""
    return "".join(each if each.isascii() and (each.isalnum() or each in "._-") else "-" for each in text)
