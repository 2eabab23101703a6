"""The content of all pages, gathered once. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tensorcopy.errors import TensorcopyError
from tensorcopy.releases.release_table import Release
from tensorcopy.results.confirmations import Confirmation, Key
from tensorcopy.results.reader import Result
from tensorcopy.site import addresses
from tensorcopy.site.model import result_series
from tensorcopy.site.model.comparison_table import ComparisonTable
from tensorcopy.site.model.machine import NO_CONFIRMATIONS, Machine, longest_history, machines
from tensorcopy.site.model.result_series import Series
from tensorcopy.site.web_addresses import NOWHERE, WebAddresses
from tensorcopy.worker.project import Project


@dataclass(frozen=True)
class Content:
    """Everything that the pages show.

    machines : the machine that measured last first
    card : the accuracy report (`accuracy_report`); None when there is none
    docs : the Markdown of docs/ by file name: "guide", "guide.ja"
    day : the day of writing, "2026-11-21"
    web : where the repository and the site are published
    problems : of files of results that could not be read
    project : whose own operations and suites the results are of; None for those of the registry
    """

    machines: tuple[Machine, ...]
    card: Mapping[str, Any] | None
    docs: Mapping[str, str]
    day: str
    web: WebAddresses = NOWHERE
    problems: tuple[TensorcopyError, ...] = ()
    project: Project | None = None

    @classmethod
    def of_results(
        cls,
        results: Sequence[Result],
        releases: Sequence[Release],
        card: Mapping[str, Any] | None,
        docs: Mapping[str, str],
        day: str,
        confirmations: Mapping[Key, Confirmation] = NO_CONFIRMATIONS,
    ) -> Content:
        """Return the content of results and documentation."""
        return cls(tuple(machines(results, releases, confirmations)), card, docs, day)

    @property
    def site_name(self) -> str:
        """The name in the head of every page."""
        return self.project.name if self.project else "tensorcopy"

    @property
    def machine(self) -> Machine | None:
        """The machine of the landing page and the chooser."""
        return longest_history(self.machines)

    @property
    def series(self) -> list[Series]:
        """The series of all machines."""
        return [series for machine in self.machines for series in machine.series]

    @cached_property
    def comparisons(self) -> ComparisonTable:
        """The judged comparison of every pair of results that has a page, by address."""
        return ComparisonTable(result_series.pairs(self.series))

    def comparison_address(self, before: Result, after: Result) -> str:
        """Return the address of the comparison of two results; "" when they have no page."""
        address = addresses.of_comparison(before, after)
        return address if address in self.comparisons else ""

    @cached_property
    def methods(self) -> dict[str, Any]:
        """The methods of all machines, those of the first machine first."""
        rows: dict[str, Any] = {}
        for machine in self.machines:
            rows = {**rows, **{name: row for name, row in machine.methods.items() if name not in rows}}
        return rows

    @property
    def builds(self) -> set[str]:
        """The builds of all results."""
        return {result.series_key.build for machine in self.machines for result in machine.results}

    def machine_of(self, result: Result) -> Machine:
        """Return the machine on which a result was measured."""
        return self._by_name[result.machine]

    @cached_property
    def _by_name(self) -> dict[str, Machine]:
        return {machine.name: machine for machine in self.machines}
