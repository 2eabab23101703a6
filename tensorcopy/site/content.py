"""The content of all pages, gathered once: machines, judged comparisons, and the changes at each release. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from itertools import groupby, pairwise
from pkgutil import iter_modules
from typing import Any

from tensorcopy.campaign import Campaign
from tensorcopy.errors import TensorcopyError
from tensorcopy.judge import comparisons
from tensorcopy.judge.comparisons import Comparison, Question
from tensorcopy.judge.groups import OpenRegression, ReleaseChange
from tensorcopy.report import explanation
from tensorcopy.report.explanation import Cause
from tensorcopy.report.sentences import change_text, step_size
from tensorcopy.results.cases import Case
from tensorcopy.results.result import Result
from tensorcopy.results.suite_specs import SECONDS, TIME, TRACKED, is_tracked
from tensorcopy.site import addresses
from tensorcopy.site.addresses import NOWHERE, WebAddresses
from tensorcopy.site.changes import CountedChange
from tensorcopy.site.machine import DeviceResults, Machine, Series, longest_history
from tensorcopy.worker.devices import DEVICES


def compared_pairs(all_series: Sequence[Series]) -> list[tuple[Result, Result]]:
    """Return the pairs of results that have a comparison page, the earlier first.

    In each series every release with the one before it and, where its newest release is the machine's, with that. The pages grow in
    proportion to the results. The explorer compares any other releases, `tensorcopy compare` also those of two Pythons or machines.
    """
    by_machine: dict[str, list[Series]] = {}
    for series in all_series:
        by_machine.setdefault(series.machine, []).append(series)
    pairs: list[tuple[Result, Result]] = []
    for of_machine in by_machine.values():
        for series in of_machine:
            pairs += pairwise(series.results)
            pairs += [(before, series.newest) for before in series.results[:-2] if series.newest.sha == of_machine[0].newest.sha]
    return pairs


@dataclass(frozen=True)
class Content:
    """Everything that the pages show.

    campaign : whose results they are
    machines : the machine that measured last first
    docs : the Markdown of docs/ by file name: "guide", "guide.ja"
    day : of the newest launch, "2026-11-21"; of writing where nothing was measured
    web : where the repository and the site are published
    problems : of results that could not be read, or do not count
    """

    campaign: Campaign
    machines: tuple[Machine, ...]
    docs: Mapping[str, str]
    day: str
    web: WebAddresses = NOWHERE
    problems: tuple[TensorcopyError, ...] = ()

    def own_pages(self) -> list[Any]:
        """Return the modules with the pages that only this campaign has, as `site.pages` has those of all."""
        package = import_module(self.campaign.pages) if self.campaign.pages else None
        return [import_module(module.name) for module in iter_modules(package.__path__, f"{package.__name__}.")] if package else []

    @property
    def site_name(self) -> str:
        """The name in the head of every page."""
        return self.campaign.name

    @cached_property
    def devices(self) -> tuple[DeviceResults, ...]:
        """The results on each device, the CPU first, of the machine that answers for it: `result.answering_machine`.

        Where nothing has a time, those are on the CPU that were counted.
        """
        having = {device: [machine for machine in self.machines if device in machine.devices] for device in DEVICES}
        answering = {device: longest_history(machines, device) for device, machines in having.items()}
        found = tuple(machine.devices[device] for device, machine in answering.items() if machine)
        counted = longest_history(self.machines)
        return found or ((DeviceResults(counted, "cpu"),) if counted else ())

    @property
    def machine(self) -> Machine | None:
        """The machine of the first device: its pages are the main ones."""
        return next((each.machine for each in self.devices), None)

    @cached_property
    def by_device(self) -> dict[str, Machine]:
        """The machine of each device on which copies were timed."""
        return {each.device: each.machine for each in self.devices if each.has_copies}

    @property
    def series(self) -> list[Series]:
        """The series of all machines."""
        return [series for machine in self.machines for series in machine.series]

    @cached_property
    def comparisons(self) -> dict[str, Comparison]:
        """The comparison of every pair of results that has a page, by address."""
        questions = [Question(*pair, self.campaign.rules) for pair in compared_pairs(self.series)]
        return {addresses.of_comparison(each.before, each.after): comparisons.between(each) for each in questions}

    def comparison_address(self, before: Result, after: Result) -> str:
        """Return the address of the comparison of two results; "" when they have no page."""
        address = addresses.of_comparison(before, after)
        return address if address in self.comparisons else ""

    def cause_of(self, machine: Machine, change: CountedChange) -> Cause:
        """Return the cause of a change whose functions were counted, with the verdict on its case's time where that was compared."""
        case = machine.profiled[change.name]
        comparison = self.comparison_address(change.before, change.after)
        time = self.comparisons[comparison].changes.get(case) if comparison else None
        return explanation.of_results(change.before, change.after, change.name, change.difference, time, case)

    @cached_property
    def changed_releases(self) -> frozenset[str]:
        """The releases that were compared with the one before them: each has a page of what it changed."""
        return frozenset(after.version for series in self.series for after in series.results[1:])

    def histories_address(self, machine: Machine) -> str:
        """Return the address of the index of a machine's histories; that of the machine with the longest history is the main one."""
        return addresses.HISTORIES if machine is self.machine else addresses.of_index(machine.name, "cases")

    def counts_address(self, machine: Machine) -> str:
        """Return the address of the index of a machine's counts, likewise; "" where nothing was counted."""
        address = addresses.COUNTS if machine is self.machine else addresses.of_index(machine.name, "counts")
        return address if any(case.spec.metric not in (TIME, TRACKED) for case in machine.cases) else ""

    def regressions_address(self, machine: Machine, device: str) -> str:
        """Return the address of the page with the open regressions of a machine on a device."""
        is_main = any(each.machine is machine and each.device == device for each in self.devices)
        return addresses.REGRESSIONS if is_main else addresses.of_regressions(machine.name)

    def regression_address(self, results: DeviceResults, regression: OpenRegression) -> str:
        """Return the address of a method's open cases of one age."""
        return f"{self.regressions_address(results.machine, results.device)}#{results.regression_anchor(regression)}"

    @cached_property
    def methods(self) -> dict[str, Any]:
        """The methods of all machines: each as the first machine has it that observed it on any device."""
        rows: dict[str, Any] = {}
        for machine in self.machines:
            rows |= {
                name: row for name, row in machine.methods.items() if name not in rows or (row["observed"] and not rows[name]["observed"])
            }
        return rows

    @property
    def builds(self) -> set[str]:
        """The builds of all results."""
        return {build for machine in self.machines for build in machine.builds}

    def machine_of(self, result: Result) -> Machine:
        """Return the machine on which a result was measured."""
        return self._by_name[result.machine]

    @cached_property
    def _by_name(self) -> dict[str, Machine]:
        return {machine.name: machine for machine in self.machines}


LARGEST = 3  # changes of single cases that are shown with their group


@dataclass(frozen=True)
class MachineChange:
    """Cases of one group that changed in the same direction at one release.

    series : the series that has the release and the one before it
    date : the release's, "2026-01-21"
    found : the day of the newest launch of either release
    comparison_address : of the comparison with the release that it changed from, or else of what the release changed
    """

    machine: Machine
    series: Series
    change: ReleaseChange
    date: str
    found: str
    comparison_address: str

    @property
    def release(self) -> str:
        """The release's version."""
        return self.change.release

    @property
    def text(self) -> str:
        """The change as a sentence."""
        return change_text(self.change)

    @property
    def text_without_device(self) -> str:
        """The same, where the device is named beside it."""
        return change_text(self.change, names_device=False)

    @property
    def largest(self) -> Sequence[tuple[Case, str, str]]:
        """The cases with the largest changes, their sizes, and the addresses of their histories."""
        return [
            (case, step_size(self.change.steps[case], self.change.group.unit, within=True), self.machine.case_address(case))
            for case in self.change.cases[:LARGEST]
        ]


def changes_of(content: Content, machine: Machine, *, counted: bool = False) -> list[MachineChange]:
    """Return the changes of the times and tracked values on a machine, or of its exact counts, the newest release first."""
    changes = machine.changes_by_release
    shown = [each for each in changes if (each.group.unit != SECONDS and not is_tracked(each.group.unit)) is counted]
    with_series = [_machine_change(content, machine, change) for change in shown]
    return [change for change in reversed(with_series) if change]


def recent(changes: Iterable[MachineChange], most: int) -> list[tuple[Sequence[MachineChange], Sequence[MachineChange]]]:
    """Return at most so many changes by release, the newest first; with those of each release the others of it, which have no room."""
    releases = list[tuple[Sequence[MachineChange], Sequence[MachineChange]]]()
    for _, group in groupby(changes, key=lambda change: change.release):
        of_release = [*group]
        if most > 0:
            releases.append((of_release[:most], of_release[most:]))
        most -= len(of_release)
    return releases


def found(before: Result, after: Result) -> str:
    """Return the day on which a change between two results was found: that of their newest launch."""
    return max(*before.launches, *after.launches)[:10]


def _machine_change(content: Content, machine: Machine, change: ReleaseChange) -> MachineChange | None:
    """Return a change with its series: the newest Python's with the release and the one before, or that of the Python which shows it."""
    for series in machine.series:
        if change.only_on not in ("", series.newest.python):
            continue
        index = next((index for index, release in enumerate(series.releases) if release.version == change.release), 0)
        if index:
            before = next((result for result in series.results if result.version == change.against), series.results[index - 1])
            after = series.results[index]
            return MachineChange(
                machine=machine,
                series=series,
                change=change,
                date=series.releases[index].date.isoformat(),
                found=found(before, after),
                comparison_address=content.comparison_address(before, after) or addresses.of_release(change.release),
            )
    return None
