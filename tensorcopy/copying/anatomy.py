"""The anatomy of a method's call: its instructions by component over the releases, from the functions that were counted. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from tensorcopy.judge import function_changes
from tensorcopy.judge.function_changes import COMPONENTS
from tensorcopy.numbers import duration, percent, signed, unbroken, whole
from tensorcopy.results import function_profiles
from tensorcopy.results.cases import Case
from tensorcopy.results.result import Result
from tensorcopy.site import addresses, plots
from tensorcopy.site.changes import CaseChange
from tensorcopy.site.machine import Machine

NAMED_SHARE = 0.05  # of the instructions; the text names no smaller component
LISTED_FUNCTIONS = 10  # of each component
LISTED_SHARE = 0.005  # of the instructions; only the heaviest function of a component may have less
NAMED_CHANGES = 3  # components that the text names with their change


@dataclass(frozen=True)
class Bar:
    """The instructions of a call with a release, as counted on one Python.

    parts : by component, from Python down
    """

    release: str
    result: Result
    parts: Mapping[str, float]

    @property
    def total(self) -> float:
        """All instructions of the call."""
        return sum(self.parts.values())


@dataclass(frozen=True)
class Part:
    """A component with the newest release.

    colour : its number in the stylesheet
    change : in instructions since the oldest release, each Python for itself
    functions : the heaviest ones, with their exclusive instructions
    """

    name: str
    colour: int
    instructions: float
    share: float
    change: float
    functions: Sequence[tuple[str, float]]


@dataclass(frozen=True)
class Anatomy:
    """The instructions of a case, as a page shows them.

    case : the timed one, or the counted one where none was timed
    bars : of every release whose functions were counted, in order
    since : the oldest of them
    parts : every component of any bar, from Python down
    """

    machine: Machine
    case: Case
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
        return Part("whole call", 0, self.newest.total, 1.0, sum(part.change for part in self.parts), ())

    def values(self, part: Part) -> str:
        """Return the instructions of a component, or of the whole call, in each bar: "1 642, 1 650"."""
        return ", ".join(unbroken(whole(bar.parts.get(part.name, 0) if part.colour else bar.total)) for bar in self.bars)

    @property
    def address(self) -> str:
        """The address of the case's history."""
        return self.machine.case_address(self.case)

    @property
    def title(self) -> str:
        """The question: "Where do 1.35 µs go?"; of a case that was not timed, about its instructions."""
        timing = self.newest.result.timings.get(self.case)
        amount = duration(timing.seconds) if timing else f"{whole(self.newest.total)} instructions"
        return f"Where do {amount} go{' if x requires grad' if function_profiles.name_of(self.case).endswith(' grad') else ''}?"

    @property
    def text(self) -> str:
        """The answer: "Of 5 512 instructions with torch 2.15.0: dispatcher 31 %, …. Since torch 2.5.1, 700 fewer: …"."""
        named = [part for part in sorted(self.parts, key=lambda part: -part.share) if part.share >= NAMED_SHARE]
        others = 1 - sum(part.share for part in named)
        shares = [f"{part.name} {percent(part.share, 0)}" for part in named] + [f"all others {percent(others, 0)}"] * (others >= 0.005)
        text = f"Of {whole(self.newest.total)} instructions with torch {self.newest.release}: {', '.join(shares)}."
        total = self.total.change
        largest = sorted(self.parts, key=lambda part: -abs(part.change))[:NAMED_CHANGES]
        changes = ", ".join(f"{part.name} {signed(part.change)}" for part in largest if signed(part.change) != "0")
        return f"{text} Since torch {self.since}, {whole(abs(total))} {'fewer' if total < 0 else 'more'}: {changes}." if changes else text

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
            f"{self.machine.case_code(self.case)}, instructions per call by component over torch releases",
            self.machine.releases,
            {bar.release: bar.parts for bar in self.bars},
            {part.name: part.colour for part in self.parts},
            {bar.release: before.result.python for before, bar in pairwise(self.bars) if before.result.python != bar.result.python},
            self.machine.case_changes.get(self.machine.count_of(self.case) or self.case, ()),
            change_link,
        )
        return Markup(drawing)  # noqa: S704 - our own SVG


def of_case(machine: Machine, case: Case) -> Anatomy | None:
    """Return the anatomy of a timed or counted case; None where its functions were not counted."""
    name = function_profiles.name_of(case)
    by_series = [bars for series in machine.joined_series if (bars := _bars(machine, series.results, name))]
    if not by_series:
        return None
    by_release = {bar.release: bar for bars in reversed(by_series) for bar in bars}  # of several Pythons the newest
    ordered = [by_release[release] for release in machine.releases if release in by_release]
    newest, since, changes = ordered[-1], ordered[-1].release, dict.fromkeys(COMPONENTS, 0.0)
    for bars in by_series:
        shared = next((bar for bar in bars if bar.release == since), None)
        if shared:
            before, since = bars[0].parts, bars[0].release
            changes = {part: change + shared.parts.get(part, 0) - before.get(part, 0) for part, change in changes.items()}
    heaviest = function_changes.heaviest(machine.profiles[newest.result.place].of(name), LISTED_FUNCTIONS, LISTED_SHARE)
    parts = [
        Part(
            name=component,
            colour=colour,
            instructions=newest.parts.get(component, 0),
            share=newest.parts.get(component, 0) / newest.total,
            change=changes[component],
            functions=heaviest.get(component, ()),
        )
        for colour, component in enumerate(COMPONENTS, 1)
        if any(component in bar.parts for bar in by_release.values())
    ]
    return Anatomy(machine, case, ordered, since, parts)


def _bars(machine: Machine, results: Sequence[Result], name: str) -> list[Bar]:
    """Return the bar of each result whose functions of a profiled case were counted."""
    profiles = [(result, machine.profiles.get(result.place)) for result in results]
    parts = [(result, function_changes.by_component(each, name)) for result, each in profiles if each and name in each.cases]
    return [Bar(result.version, result, by_component) for result, by_component in parts if by_component]
