"""The judged results as the pages show them: the one module of the site that asks the judge. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from hashlib import sha256
from itertools import groupby, pairwise, zip_longest
from math import inf
from typing import Any, NamedTuple

from tensorcopy.campaign import Campaign, VerdictRules
from tensorcopy.errors import TensorcopyError
from tensorcopy.judge import case_history, comparisons, function_changes, groups
from tensorcopy.judge.case_history import CaseHistory, OpenSince, Standing, Step
from tensorcopy.judge.comparisons import Comparison, Question, texts
from tensorcopy.judge.function_changes import ProfileDifference
from tensorcopy.judge.groups import OpenMethod, gained, subject
from tensorcopy.judge.paired import MARGIN, Change, Reason, Verdict
from tensorcopy.numbers import count, counted, extent, signed, signed_percent, size_range, slowdown
from tensorcopy.results import function_profiles
from tensorcopy.results.cases import Case, counted_case
from tensorcopy.results.function_profiles import Profiles
from tensorcopy.results.histories import History, first_by_device
from tensorcopy.results.result import Result
from tensorcopy.worker.devices import DEVICES

# that other modules of the site name
__all__ = ["Case", "OpenMethod", "OpenSince", "Step", "Verdict", "gained", "subject", "texts"]

SPEAKING = ("device", "dtype", "layout", "memory", "method", "nbytes", "quantity", "way")  # parameters whose values need no name
CHANGED = (Verdict.SLOWER, Verdict.FASTER)
GROUPS, LARGE = 4, 0.05  # groups that a sentence names at most, and the share of the difference from which on it does
LONGEST = 100  # characters of a name in an address: a disk takes 255 bytes
EXPLAINS = 1e9  # instructions for each second of a change from which on they explain it: torch executes some 2 to 7 in a nanosecond
NOT_COUNTED, SAME = "not counted", "same instructions"
Pair = tuple[str, str, str]  # a device and two releases, the one that is compared with first


@dataclass(frozen=True)
class ShownHistory:
    """A history as the pages show it."""

    history: History
    rules: VerdictRules
    answers_for: frozenset[str]  # devices whose first history it is

    @cached_property
    def name(self) -> str:
        """The name of its folder."""
        return self.history.name

    @cached_property
    def results(self) -> list[Result]:
        """Its results in order of release."""
        return [result for result in self.history.results if not result.revision]

    @cached_property
    def releases(self) -> list[str]:
        """Every release, the oldest first."""
        return [result.version for result in self.results]

    @cached_property
    def cases(self) -> dict[Case, CaseHistory]:
        """Each case over the releases."""
        return case_history.over(self.results, self.rules) if self.results else {}

    @cached_property
    def methods(self) -> dict[str, Any]:
        """The row of each method, as the newest result has it that has one."""
        return {name: row for result in self.results for name, row in result.methods.items()}

    @cached_property
    def shown(self) -> dict[Case, CaseHistory]:
        """The cases that pages list: timed and tracked ones; a count stands beside its time or in the text of its method."""
        return {case: of_case for case, of_case in self.cases.items() if not case.spec.stands_beside}

    @cached_property
    def devices(self) -> list[str]:
        """The devices with times, failures or tracked values, the CPU first."""
        return [device for device in DEVICES if any(case.device == device for case in self.shown)]

    @cached_property
    def standings(self) -> dict[Case, Standing]:
        """Where each timed case stands with the newest release."""
        return case_history.standings(self.cases)

    @cached_property
    def open(self) -> dict[Case, Standing]:
        """The cases that are slower than they were, on the devices whose first history it is."""
        return {case: each for case, each in self.standings.items() if each.since and case.device in self.answers_for}

    def is_open(self, case: Case) -> bool:
        """Return whether a case is slower than it was, and not back to an earlier level."""
        return case in self.open and self.open[case].since is not OpenSince.BACK

    def open_methods(self, device: str) -> list[OpenMethod]:
        """Return the open cases of a device by method: the newest first, and then those with the largest cost."""
        return groups.open_methods(each for case, each in self.open.items() if case.device == device)

    def undecided(self, device: str) -> int:
        """Return how many cases of a device may be slower than with their fastest release."""
        return sum(
            bool(each.cost and each.cost.verdict is Verdict.UNKNOWN) for case, each in self.standings.items() if case.device == device
        )

    def on(self, device: str) -> list[Result]:
        """Return the results with times on a device, in order of release."""
        return [each for each in self.results if any(case.device == device for case in each.timings)]

    def newest(self, device: str) -> Result:
        """Return the newest result with observed methods and timed copies on a device, or else the newest."""
        copied = (each for each in reversed(self.results) if any(case.device == device and case.spec.headline for case in each.timings))
        return next((result for result in copied if result.methods), self.results[-1])

    def span(self, device: str) -> str:
        """Return the releases with times on a device, and the Python: "1.9.0 to 2.8.0, Python 3.9"."""
        results = self.on(device) or self.results
        return f"{' to '.join(dict.fromkeys(result.version for result in (results[0], results[-1])))}, Python {results[-1].python}"

    def hardware(self, device: str) -> str:
        """Return the vendor's name of a device."""
        return self.newest(device).hardware(device)

    def day(self, device: str) -> str:
        """Return the day of the newest launch whose times on a device are shown: those of compared cases."""
        result = self.newest(device)
        return result.days(case for case in result.timings if case.device == device and case.spec.compared)[1]

    def code(self, case: Case) -> str:
        """Return the code that a case times; of a suite without methods its title, or its name as asv has it."""
        name = subject(case)
        row = self.methods.get(name, {})
        return str(row.get("code" if case.device == "cpu" else "code_on_accelerator", heading(case) if name == case.spec.label else name))

    def address(self, case: Case) -> str:
        """Return the address of a case."""
        return f"{self.page_of(subject(case), case.device)}#{self.anchor(case)}"

    def page_of(self, name: str, device: str) -> str:
        """Return the address of the page of a method or suite; those of the first history of a device are in the folder of the device."""
        folder = device if device in self.answers_for else f"{device}-{self.name}"
        return f"methods/{slug(folder)}/{identifier(name, ignores_case=True)}.html"

    def anchor(self, case: Case) -> str:
        """Return the anchor of a case on the page of its method and device."""
        return identifier("-".join([case.spec.page, *(value for name, value in case.parameters if name not in ("method", "device"))]))

    @cached_property
    def rows(self) -> dict[Case, list[dict[str, Any]]]:
        """Each shown case with each release, the oldest first, as numbers: its value, the change from the release before, its launches."""
        return {case: [*self._rows(case, of_case)] for case, of_case in self.shown.items()}

    def _rows(self, case: Case, of_case: CaseHistory) -> Iterator[dict[str, Any]]:
        count = counted_case(case) if case.spec.timed else None
        counts = self.cases.get(count) if count else None
        steps = {step.index: step for step in of_case.steps}
        of_counts = {counts.releases[step.index]: step for step in counts.steps} if counts else {}
        for index, result in enumerate(of_case.results):
            value, change, step = result.value_of(case), of_case.neighbours.get(index), steps.get(index)
            if value is None and case not in result.failures:
                continue
            instructions, work = result.count_of(case) if case.spec.timed else None, of_counts.get(result.version)
            times = result.launch_times(case) if case.spec.timed else result.count_repeats.get(case, ())
            low, high = change.interval if change and change.interval else (None, None)
            yield {
                "torch": result.version,
                "value": value,
                "unit": of_case.unit,
                "ratio": change.ratio if change and change.interval else None,
                "low": low,
                "high": high,
                "difference": step.after - step.before if step and case.kind.by_difference else None,
                "verdict": change.verdict.value if change else "",
                "against": step.against if step else "",
                "meaning": self.meaning(case, step) if step and case.spec.timed else "",
                "detectable": change.detectable if change else None,
                "instructions": None if instructions is None else round(instructions),
                "instructions_ratio": work.ratio if work else None,
                "instructions_against": work.against if work else "",
                "launches": [*times],
                "failure": result.failures.get(case, ""),
            }

    @cached_property
    def ends(self) -> dict[Case, dict[int, int]]:
        """The index of the release that takes a change of a time back, by that of the change; of those that are taken back."""
        found: dict[Case, dict[int, int]] = {}
        for case, of_case in self.cases.items():
            for step, after in zip_longest(of_case.steps, of_case.steps[1:]) if case.kind.decides else ():
                end = after.index if after and _undoes(after, step) else of_case.taken_back(step)
                found.setdefault(case, {}).update({} if end is None else {step.index: end})
        return found

    def sides(self, case: Case, step: Step) -> tuple[Result, Result]:
        """Return the results between which a case changed."""
        of_case = self.cases[case]
        return of_case.results[of_case.before(step.index)], of_case.results[step.index]

    def undone(self, case: Case, step: Step) -> str:
        """Return the release whose slowdown, the change before it, a gain takes back, and little more; "" for none."""
        of_case = self.cases[case]
        earlier = [each for each in of_case.steps if each.index < step.index][-1:]
        return of_case.releases[earlier[0].index] if earlier and case.kind.decides and _undoes(step, earlier[0]) else ""

    def meaning(self, case: Case, step: Step) -> str:
        """Return what a change of a time undoes, or what became of it; "" where it stays and is new."""
        of_case = self.cases[case]
        if of_case.is_back(step.index):
            return OpenSince.BACK.value
        if undone := self.undone(case, step):
            return f"takes back the slowdown of {undone}"
        index = self.ends[case].get(step.index)
        return f"{'gone' if step.rises else 'lost'} again by {of_case.releases[index]}" if index is not None else ""

    def style(self, case: Case, step: Step) -> str:
        """Return what a change is, for its colour and its sign."""
        if step.rises:
            return "back" if self.cases[case].is_back(step.index) else "slower"
        return "undone" if self.undone(case, step) else "faster"

    def slowdowns(self, of: Standing) -> list[Step]:
        """Return the slowdowns after its fastest release that an open case still has, the newest first; of one that is back that one."""
        since = of.best or 0
        lasting = [step for step in self.cases[of.case].steps if step.index > since and step.rises and not self.meaning(of.case, step)]
        return lasting[::-1] or ([of.step] if of.step else [])

    def explained(self, case: Case, step: Step) -> tuple[str, Cause | None]:
        """Return how the instructions of a case changed with its time, and the functions behind that for the smallest tensor, if known."""
        sides, order, seconds = self.sides(case, step), self.releases.index, step.after - step.before
        first, second = (side.count_of(case) for side in sides)
        text, more = f"instructions {NOT_COUNTED}", 0.0
        if first and second:
            text, more = instructions_text(second / first), second - first
            if case_history.are_same(second / first) or more / seconds < EXPLAINS:
                unlike = "" if case_history.are_same(second / first) else ", which do not explain it"
                return f"{text}{unlike}: probably the layout of the binary", None
        causes = self.causes.get(subject(case), []) if case.device == "cpu" and case.spec.timed else []
        after = order(sides[1].version)
        cause = next((each for each in causes if order(each.before.version) < after <= order(each.after.version)), None)
        if cause is None:
            return f"{text}; not profiled", None
        own = cause.difference.total  # of a tensor without grad
        return text, cause if cause.difference.changed and own / seconds >= EXPLAINS and own / (more or own) >= 0.5 else None

    @cached_property
    def compared(self) -> dict[Pair, Comparison]:
        """The comparisons of each release with the one before it, and on the devices whose first history it is with the newest one."""
        found = {}
        for device in self.devices:
            results = self.on(device) or self.results
            newest = [(before, results[-1]) for before in results[:-2]] if device in self.answers_for else []
            for before, after in (*pairwise(results), *newest):
                comparison = comparisons.between(Question(before, after, self.rules)).selected(device=device)
                if comparison.changes:
                    found[device, before.version, after.version] = case_history.with_back(comparison, self.cases)
        return found

    @cached_property
    def tallies(self) -> dict[Pair, dict[str, Any]]:
        """How each of them came out."""
        return {pair: tally(self, pair[0], comparison) for pair, comparison in self.compared.items()}

    @cached_property
    def profiled(self) -> list[tuple[Result, Profiles]]:
        """The results whose functions were counted, in order of release, with their profiles."""
        return [*function_profiles.readable(self.results)[0].items()]

    @cached_property
    def causes(self) -> dict[str, list[Cause]]:
        """The differences of each method's functions between neighbouring profiled releases, the newest first: of its smallest tensor."""
        found: dict[str, list[Cause]] = {}
        for (before, first), (after, second) in pairwise(self.profiled):
            for method, name in function_profiles.smallest(first.cases.keys() & second.cases.keys()).items():
                cause = Cause(before, after, method, name, function_changes.between(first.of(name), second.of(name)))
                found.setdefault(method, []).insert(0, cause)
        return found

    def shares(self, method: str) -> tuple[str, str, list[tuple[str, float]]] | None:
        """Return where the instructions of a method's smallest tensor go: its case, the newest profiled release, and each part's number."""
        for result, profiles in reversed(self.profiled):
            if name := function_profiles.smallest(profiles.cases).get(method):
                parts = function_changes.by_component(profiles.of(name))
                return name, result.version, sorted(parts.items(), key=lambda part: (-part[1], part[0]))
        return None


class Cause(NamedTuple):
    """The difference of a method's functions between two profiled releases."""

    before: Result
    after: Result
    method: str
    case: str
    difference: ProfileDifference

    @property
    def anchor(self) -> str:
        """Where it stands on the page of its method."""
        return f"why-{self.before.version}-{self.after.version}"

    @property
    def sentence(self) -> str:
        """The difference with its largest groups: "−1 642 instructions (−29.0 %): allocator −604, dispatcher −240."."""
        difference = self.difference
        total = f"{signed(difference.total)} instructions ({signed_percent(difference.ratio)})"
        if not difference.changed:
            return f"No change: {total}, less than two counts of the same release may differ."
        groups = difference.groups
        large = [group for group in groups if abs(group.difference) >= LARGE * abs(difference.total)][:GROUPS]
        more = f", and {counted(len(groups) - len(large), 'more group')}" if groups[len(large) :] else ""
        return f"{total}: {', '.join(f'{group.group} {signed(group.difference)}' for group in large)}{more}."


def _undoes(gain: Step, slowdown: Step) -> bool:
    """Return whether a gain takes the slowdown before it back: to a time at most `MARGIN` longer, and rather that than a gain beside it."""
    return slowdown.rises and 1 / slowdown.ratio**2 < gain.ratio <= (1 + MARGIN) / slowdown.ratio


def instructions_text(ratio: float | None) -> str:
    """Return how instructions changed: "same instructions", "+2.4 % instructions", "not counted"."""
    if ratio is None:
        return NOT_COUNTED
    return SAME if case_history.are_same(ratio) else f"{signed_percent(ratio)} instructions"


@dataclass(frozen=True)
class Site:
    """What is published."""

    campaign: Campaign
    histories: tuple[ShownHistory, ...]  # the one that answers for the first device first
    answering: Mapping[str, ShownHistory]  # the history of each device whose open regressions, feed and badge are shown
    docs: Mapping[str, str] = field(default_factory=dict)  # Markdown by name
    source: str = ""  # the address of the repository, "" where it is unknown
    own: str = ""  # the name of the history of the machine that publishes, after `dashboard`; "" otherwise
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
    def pairs(self) -> dict[tuple[str, str], list[tuple[ShownHistory, Pair]]]:
        """The comparisons of all histories by their two releases."""
        found: dict[tuple[str, str], list[tuple[ShownHistory, Pair]]] = {}
        for history in self.histories:
            for pair in history.compared:
                found.setdefault(pair[1:], []).append((history, pair))
        return found

    def subjects(self) -> Iterator[tuple[ShownHistory, str, str]]:
        """Yield each history with each method or suite that it has cases of, and the device."""
        for history in self.histories:
            for name, device in dict.fromkeys((subject(case), case.device) for case in history.shown):
                yield history, name, device

    @cached_property
    def addresses(self) -> dict[tuple[str, str], str]:
        """The address of the page of each method or suite by device; a method that was only observed on a device has none there."""
        return {(name, device): history.page_of(name, device) for history, name, device in reversed([*self.subjects()])}


def site(campaign: Campaign, histories: Iterable[History], **options: Any) -> Site:
    """Return what the pages show of some histories; options : the other fields of `Site`."""
    every = [*histories]
    first = first_by_device(every)
    made = (ShownHistory(each, campaign.rules, frozenset(device for device in first if first[device] is each)) for each in every)
    shown = {each.history: each for each in made if each.devices}
    answering = {device: shown[each] for device, each in first.items() if each in shown}
    return Site(campaign, tuple(dict.fromkeys([*answering.values(), *shown.values()])), answering, **options)


def tally(history: ShownHistory, device: str, comparison: Comparison) -> dict[str, Any]:
    """Return how the timed cases of a comparison came out: numbers, sizes and methods, which are back at which level, and the evidence.

    A slowdown is back only where its sides are neighbours in the case's history; it is not among the slower ones.
    """
    changes = {case: change for case, change in comparison.changes.items() if change.timed}
    by_word: dict[str, list[Case]] = {word: [] for word in (*(verdict.value for verdict in Verdict), BACK)}
    for case, change in changes.items():
        by_word[BACK if case in comparison.back else change.verdict.value].append(case)
    back, (before, after) = by_word[BACK], (side.version for side in comparison.sides)
    levels = {(of_case := history.cases[case]).releases[of_case.before(of_case.results.index(comparison.before))] for case in back}
    level = levels.pop() if len(levels) == 1 else ""
    works = [ratio for case in back if (ratio := history.cases[case].count_ratio(level or before, after))]

    def of(word: str) -> dict[str, Any]:
        cases = by_word[word]
        sizes = size_range([changes[case].size for case in cases])
        works = [count.size for case in cases if (count := changes[case].count)]
        same = sum(map(case_history.are_same, works))
        return {"number": len(cases), "sizes": sizes, "methods": [*dict.fromkeys(map(history.code, cases))], "same": same}

    undone = {
        case
        for case in by_word[Verdict.FASTER.value]
        for step in history.cases[case].steps
        if history.undone(case, step) and history.sides(case, step) == comparison.sides
    }
    seen = sorted(comparisons.sensitivity(comparison.changes).items(), key=lambda each: not each[0])
    return {
        "before": before,
        "after": after,
        "slower": of(Verdict.SLOWER.value),
        "back": {**of(BACK), "level": level, "not_more": bool(works) and all(work < 1 or case_history.are_same(work) for work in works)},
        "faster": of(Verdict.FASTER.value),
        "undone": undone,
        "unchanged": len(by_word[Verdict.UNCHANGED.value]),
        "unknown": len(by_word[Verdict.UNKNOWN.value]),
        "likely": sum(change.likely is Verdict.SLOWER for change in changes.values()),
        "failing": [(case, change.failure) for case, change in changes.items() if change.reason is Reason.FAILED_AFTER],
        "cases": len(changes),
        "address": f"{pair_address(before, after)}#{device}-{slug(history.name)}-{comparison.after.python}",
        "launches": extent(number for change in changes.values() if change.interval for number in change.launches),
        "few": sum(change.reason is Reason.TOO_FEW_LAUNCHES for change in changes.values()),
        "noticed": size_range([1 + share for size, share in seen if size]),
        "most": slowdown(max((change.detectable or 0.0 for change in changes.values()), default=0.0)),
        "seen": [(slowdown(share), f"{size} elements" if size else "without a size") for size, share in seen],
    }


BACK = OpenSince.BACK.value


def changed(comparison: Comparison) -> list[tuple[Case, Change]]:
    """Return the slower, faster and likely changed cases of a comparison: slower first, and each by its size over what is detectable."""
    order = {Verdict.SLOWER: 0, Verdict.FASTER: 2}
    shown = [each for each in comparison.changes.items() if each[1].timed and (each[1].verdict in CHANGED or each[1].likely)]
    return sorted(shown, key=lambda each: (order.get(each[1].verdict, 1), -(each[1].factor or 0)))


def word(comparison: Comparison, case: Case) -> tuple[str, str]:
    """Return a change as the headline counts it, for a style and in words."""
    change = comparison.changes[case]
    if case in comparison.back:
        return "back", BACK
    return "likely" if change.likely else change.verdict.value, comparisons.word(change)


@dataclass(frozen=True)
class Grid:
    """The cases of one suite on one device: a row for each method, a column for each value of the other parameters."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Case, tuple[Any, ...]], ...]


def grids(cells: Mapping[Case, Any]) -> list[Grid]:
    """Return cells by suite and device; None where there is no such case."""
    suites: dict[tuple[str, str], list[Case]] = {}
    for case in sorted(cells, key=_order):
        suites.setdefault((case.spec.label, case.device), []).append(case)
    found = []
    for of_suite in suites.values():
        first, by_name = of_suite[0], _values(of_suite)
        names = [name for name, values in by_name.items() if len(values) > 1 and name != "method"] or ["numel"]
        shapes = {case: tuple(each for each in case.parameters if each[0] in names) for case in of_suite}
        columns = sorted(
            dict.fromkeys(shapes.values()), key=lambda shape: [(int(value), "") if value.isdecimal() else (0, value) for _, value in shape]
        )
        rows: dict[str, dict[Any, Case]] = {}
        for case, shape in shapes.items():
            rows.setdefault(dict(case.parameters).get("method", ""), {})[shape] = case
        shared = [named(name, *values) for name, values in by_name.items() if name not in (*names, "method", "device")]
        by = [f"by {name}" for name in names if name in ("layout", "dtype")]
        found.append(
            Grid(
                ", ".join([f"{heading(first)}{waiting(first)}", *by, *shared]),
                tuple(
                    ", ".join(count(int(value)) if name == "numel" else named(name, value) for name, value in of) or "value"
                    for of in columns
                ),
                tuple((next(iter(row.values())), tuple(cells[row[of]] if of in row else None for of in columns)) for row in rows.values()),
            )
        )
    return found


def _order(case: Case) -> tuple[float, int, str]:
    """Return the place of a case among the tables: by section, and there by the rank of its suite."""
    spec = case.spec
    return spec.place if spec.title else inf, spec.rank, case.device


def _values(cases: Iterable[Case]) -> dict[str, list[str]]:
    """Return the values of each parameter of some cases."""
    values: dict[str, dict[str, None]] = {}
    for name, value in (each for case in cases for each in case.parameters):
        values.setdefault(name, {})[value] = None
    return {name: [*each] for name, each in values.items()}


def heading(case: Case) -> str:
    """Return what the cases of a suite are called: of one that is not shipped its name as asv has it, with its module."""
    return case.spec.title if case.spec.shipped and case.spec.title else case.spec.label


def numel(case: Case) -> int:
    """Return the number of elements of a case's tensor; 0 without one."""
    value = dict(case.parameters).get("numel", "")
    return int(value) if value.isdecimal() else 0


def waiting(case: Case) -> str:
    """Return when a device is waited for, of a case that a suite times after each call and another one after many."""
    spec = case.spec
    if case.device == "cpu" or not (spec.shipped and spec.timed) or spec.to_host or spec.wait:
        return ""
    return ", waited for after each call" if spec.latency else ", called in a row"


def named(name: str, value: str) -> str:
    """Return a parameter in words: "2¹⁷ elements", "float16", "requires grad"."""
    if name == "numel" and value.isdecimal():
        return "1 element" if value == "1" else f"{count(int(value))} elements"
    if name == "requires_grad":
        return "requires grad" if value == "True" else "no grad"
    return value if name in SPEAKING else f"{name}={value}"


def told(case: Case) -> str:
    """Return what a case measures besides its method and device: "2¹⁷ elements, float16"."""
    words = [named(name, value) for name, value in case.parameters if not case.spec.shipped or name not in ("method", "device")]
    counted = "" if case.spec.timed or not case.spec.shipped else f", {case.spec.metric}"
    return f"{', '.join(words)}{waiting(case)}{counted}".removeprefix(", ") or "default parameters"


def charted(history: ShownHistory, device: str) -> dict[tuple[str, str], list[Case]]:
    """Return the cases that are drawn together, by group and size: those of a suite that differ in the method alone."""
    found: dict[tuple[str, str], list[Case]] = {}
    shown = [case for case in history.cases if case.spec.timed and case.device == device and len(history.cases[case].releases) > 1]
    for case in sorted(shown, key=lambda case: (_order(case), numel(case) if case.spec.shipped else 0)):
        spec, values = case.spec, dict(case.parameters)
        if spec.rank < 2 or device != "cpu" or not spec.shipped:
            size = named("numel", values["numel"]) if "numel" in values else ""
            others = [named(name, value) for name, value in case.parameters if name not in ("method", "device", "numel")]
            found.setdefault((f"{heading(case)}{waiting(case)}", ", ".join(filter(None, [size, *others])) or "all"), []).append(case)
    return found


def spans(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return each value with the releases in a row that have it: ("4 MiB", "1.9.0 to 2.15.0"); pairs : release and value, if any."""
    runs = [(value, [release for release, _ in of]) for value, of in groupby((pair for pair in pairs if pair[1]), key=lambda pair: pair[1])]
    words = {1: "", 2: " and "}
    return [(value, words.get(len(of), " to ").join(dict.fromkeys((of[0], of[-1])))) for value, of in runs]


def pair_address(before: str, after: str) -> str:
    """Return the address of the comparison of two releases."""
    return f"compare/{before}..{after}.html"


@cache
def identifier(text: str, *, ignores_case: bool = False) -> str:
    """Return a text as the name of a file or an anchor that no other text has; ignores_case : as a disk may."""
    name = slug(text)[:LONGEST]
    is_plain = name == text and not (ignores_case and name != name.lower())
    return name if is_plain else f"{name}-{sha256(text.encode('utf-8', 'replace')).hexdigest()[:6]}"


@cache
def slug(text: str) -> str:
    """Return a text as a part of an address."""
    return "".join(each if each.isascii() and (each.isalnum() or each in "._-") else "-" for each in text)
