"""The anatomy of a method's call over the releases. Pure.

On the CPU it is its instructions by component, from the functions that were counted; on a device its time by what the host does, what the
device does, and waits, from the parts that launches keep.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from tensorcopy.judge import function_changes
from tensorcopy.judge.function_changes import COMPONENTS
from tensorcopy.numbers import INSIDE, NARROW_SPACE, duration, quantity, signed, signed_duration, unbroken, whole
from tensorcopy.report.explanation import NAMED_CHANGES, part_changes_text, shares_text
from tensorcopy.results import call_parts, function_profiles
from tensorcopy.results.cases import Case
from tensorcopy.results.result import Result
from tensorcopy.results.suite_specs import INSTRUCTIONS, SECONDS
from tensorcopy.site import addresses, plots
from tensorcopy.site.changes import CaseChange
from tensorcopy.site.machine import Machine

LISTED_FUNCTIONS = 10  # of each component
LISTED_SHARE = 0.005  # of the instructions; only the heaviest function of a component may have less
# of the parts of a call on a device: neighbours differ in lightness, and the device's own time is apart from what the host does
COLOURS = dict(zip(call_parts.PARTS, (1, 2, 3, 4, 7, 11, 10)))

Functions = Mapping[str, Sequence[tuple[str, float]]]  # with their exclusive instructions, by component


@dataclass(frozen=True)
class Bar:
    """The instructions or seconds of a call with a release, as measured on one Python.

    parts : by component, from Python down
    """

    release: str
    result: Result
    parts: Mapping[str, float]

    @property
    def total(self) -> float:
        """All of the call."""
        return sum(self.parts.values())


@dataclass(frozen=True)
class Part:
    """A component with the newest release.

    colour : its number in the stylesheet
    amount : in the anatomy's unit
    change : of it since the oldest release, each Python for itself
    functions : the heaviest ones
    about : what it is; "" where its functions tell
    """

    name: str
    colour: int
    amount: float
    share: float
    change: float
    functions: Sequence[tuple[str, float]] = ()
    about: str = ""


@dataclass(frozen=True)
class Anatomy:
    """The instructions of a case, or its time on a device, as a page shows them.

    case : the timed one, or the counted one where none was timed
    unit : "instructions" or "seconds"
    releases : of the axis
    bars : of every release that has parts, in order
    since : the oldest of them
    parts : every component of any bar, from Python down
    """

    machine: Machine
    case: Case
    unit: str
    releases: Sequence[str]
    bars: Sequence[Bar]
    since: str
    parts: Sequence[Part]

    @property
    def newest(self) -> Bar:
        """The newest release."""
        return self.bars[-1]

    @property
    def total(self) -> Part:
        """The whole call as a part."""
        return Part("whole call", 0, self.newest.total, 1.0, sum(part.change for part in self.parts))

    def values(self, part: Part) -> str:
        """Return a component, or the whole call, in each bar: "1 642, 1 650"."""
        return ", ".join(unbroken(self.amount(bar.parts.get(part.name, 0.0) if part.colour else bar.total)) for bar in self.bars)

    def amount(self, value: float) -> str:
        """Return instructions or seconds as text: "1 642", "1.35 µs", "0"."""
        return quantity(value, self.unit).replace(" ", NARROW_SPACE) if value else "0"

    def difference(self, value: float) -> str:
        """Return a difference of them with its sign: "+12", "−0.4 µs", "0"; of seconds with the decimals that the whole call has."""
        if self.unit == INSTRUCTIONS:
            return signed(value)
        return signed_duration(value, self.newest.total).replace(" ", NARROW_SPACE)

    @property
    def address(self) -> str:
        """The address of the case's history."""
        return self.machine.case_address(self.case)

    @property
    def title(self) -> str:
        """The question: "Where do 1.35 µs go?"; of a case that was not timed, about its instructions."""
        timing = self.newest.result.timings.get(self.case)
        amount = duration(timing.seconds) if timing else f"{whole(self.newest.total)} instructions"
        grad = " if x requires grad" if function_profiles.name_of(self.case).endswith(" grad") else ""
        return f"Where do {amount} go{'' if self.case.device == 'cpu' else f' on {self.case.device}'}{grad}?"

    @property
    def code(self) -> str:
        """What is called, which on a device may be another code."""
        return self.machine.case_code(self.case)

    @property
    def what(self) -> str:
        """What the bars show."""
        return "Instructions per call, by component" if self.unit == INSTRUCTIONS else "Time per call, by part"

    @property
    def text(self) -> str:
        """The answer: "Of 5 512 instructions with torch 2.15.0: dispatcher 31 %, …. Since torch 2.5.1, 700 fewer: …".

        Of a time, it tells the parts of each change of the history: what is smaller may be noise.
        """
        shares = shares_text({part.name: part.amount for part in self.parts})
        noun = " instructions" if self.unit == INSTRUCTIONS else ""
        text = f"Of {self.amount(self.newest.total)}{noun} with torch {self.newest.release}: {shares}."
        if self.unit == SECONDS:
            return " ".join([text, *filter(None, map(self._cause, self._changes))])
        total = self.total.change
        largest = sorted(self.parts, key=lambda part: -abs(part.change))[:NAMED_CHANGES]
        changes = ", ".join(f"{part.name} {signed(part.change)}" for part in largest if signed(part.change) != "0")
        return f"{text} Since torch {self.since}, {whole(abs(total))} {'fewer' if total < 0 else 'more'}: {changes}." if changes else text

    @property
    def _changes(self) -> Sequence[CaseChange]:
        """The changes of the history: of the count where there is one."""
        return self.machine.case_changes.get(self.machine.count_of(self.case) or self.case, ())

    def _cause(self, change: CaseChange) -> str:
        """Return which parts of a time changed most: "With torch 2.10.0, +5.6 %: wait +0.9 µs, …."; "" where they are not known."""
        before, after = (next((bar for bar in self.bars if bar.release == release), None) for release in (change.before, change.release))
        if before is None or after is None or before.result.series_key != after.result.series_key:
            return ""
        named = INSIDE.sub(NARROW_SPACE, part_changes_text(before.parts, after.parts))
        return f"With torch {change.release}, {change.size}: {named}." if named else ""

    def cause_address(self, result: Result) -> str:
        """Return the address of the functions behind the change at a result; "" where they have no page."""
        cause = self.machine.causes.get((result.place, function_profiles.name_of(self.case)))
        return cause.address if cause else ""

    def svg(self, page: str) -> Markup:
        """Return the drawing for a page at an address: a change of the count leads to the functions behind it."""

        def change_link(change: CaseChange) -> str:
            results = [bar.result for bar in self.bars if (bar.release, bar.result.environment) == (change.release, change.environment)]
            address = self.cause_address(results[0]) if results else ""
            return addresses.relative(page, address) if address else ""

        drawing = plots.of_components(
            f"{self.code}, {self.what[0].lower()}{self.what[1:].replace(',', '')} over torch releases",
            self.releases,
            {bar.release: bar.parts for bar in self.bars},
            {part.name: part.colour for part in self.parts},
            {bar.release: before.result.python for before, bar in pairwise(self.bars) if before.result.python != bar.result.python},
            self._changes,
            change_link,
            self.unit,
        )
        return Markup(drawing)  # noqa: S704 - our own SVG


def of_case(machine: Machine, case: Case) -> Anatomy | None:
    """Return the anatomy of a timed or counted case; None where its functions were not counted."""
    name = function_profiles.name_of(case)

    def by_component(result: Result) -> Mapping[str, float]:
        profiles = machine.profiles.get(result.place)
        return function_changes.by_component(profiles, name) if profiles and name in profiles.cases else {}

    def functions(newest: Result) -> Functions:
        return function_changes.heaviest(machine.profiles[newest.place].of(name), LISTED_FUNCTIONS, LISTED_SHARE)

    colours = {component: number for number, component in enumerate(COMPONENTS, 1)}
    return _anatomy(machine, case, INSTRUCTIONS, machine.releases, by_component, colours, functions)


def of_device(machine: Machine, case: Case) -> Anatomy | None:
    """Return the anatomy of a case on a device; None where no launch tells its parts."""
    releases = machine.devices[case.device].releases
    return _anatomy(machine, case, SECONDS, releases, lambda result: result.parts.get(case, {}), COLOURS, lambda newest: {})


def _anatomy(
    machine: Machine,
    case: Case,
    unit: str,
    releases: Sequence[str],
    parts_of: Callable[[Result], Mapping[str, float]],
    colours: Mapping[str, int],
    functions_of: Callable[[Result], Functions],
) -> Anatomy | None:
    """Return the anatomy of a case; None where no result has parts.

    parts_of : returns the parts of the case with a result, by name; none where they are unknown
    colours : of every part, from Python down
    functions_of : returns the heaviest functions of each part with the newest result
    """
    bars_of = [
        [Bar(result.version, result, own) for result in series.results if (own := parts_of(result))] for series in machine.joined_series
    ]
    by_series = [bars for bars in bars_of if bars]
    if not by_series:
        return None
    by_release = {bar.release: bar for bars in reversed(by_series) for bar in bars}  # of several Pythons the newest
    ordered = [by_release[release] for release in releases if release in by_release]
    newest, since, changes = ordered[-1], ordered[-1].release, dict.fromkeys(colours, 0.0)
    for bars in by_series:
        shared = next((bar for bar in bars if bar.release == since), None)
        if shared:
            before, since = bars[0].parts, bars[0].release
            changes = {part: change + shared.parts.get(part, 0) - before.get(part, 0) for part, change in changes.items()}
    functions, total = functions_of(newest.result), newest.total
    parts = [
        Part(
            name=name,
            colour=colour,
            amount=newest.parts.get(name, 0.0),
            share=newest.parts.get(name, 0.0) / total,
            change=changes[name],
            functions=functions.get(name, ()),
            about="" if unit == INSTRUCTIONS else call_parts.PARTS[name],
        )
        for name, colour in colours.items()
        if any(name in bar.parts for bar in by_release.values())
    ]
    return Anatomy(machine, case, unit, releases, ordered, since, parts)
