"""All that the pages are made of, gathered once; and what a page is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tensorcopy.analysis.comparisons import Comparison
from tensorcopy.releases.release_table import Release
from tensorcopy.results.load import Result
from tensorcopy.site import addresses
from tensorcopy.site.model import result_series
from tensorcopy.site.model.machine import Machine, machines
from tensorcopy.site.model.result_series import Series


@dataclass(frozen=True)
class Content:
    """What was measured, and what is known of it.

    card : the report card (`report_card`); None where there is none
    docs : the pages of docs/ as Markdown, by the names of their files: "guide", "guide.ja"
    day : of writing, "2026-11-21"
    """

    machines: tuple[Machine, ...]
    card: Mapping[str, Any] | None
    docs: Mapping[str, str]
    day: str

    @classmethod
    def of_results(
        cls, found: Sequence[Result], releases: Sequence[Release], card: Mapping[str, Any] | None, docs: Mapping[str, str], day: str
    ) -> Content:
        return cls(tuple(machines(found, releases)), card, docs, day)

    @property
    def machine(self) -> Machine | None:
        """The one that measured last, of which the landing page and the chooser speak."""
        return self.machines[0] if self.machines else None

    @property
    def series(self) -> list[Series]:
        return [one for machine in self.machines for one in machine.series]

    @cached_property
    def comparisons(self) -> dict[str, Comparison]:
        """Every pair that has a page, judged, by its address."""
        return {addresses.of_pair(one, other): mine.compared(one, other) for mine, one, other in result_series.pairs(self.series)}

    @cached_property
    def _paired(self) -> frozenset[str]:
        return frozenset(addresses.of_pair(one, other) for _, one, other in result_series.pairs(self.series))

    def linked(self, one: Result, other: Result) -> str:
        """Where two results are compared; "" where they are not."""
        address = addresses.of_pair(one, other)
        return address if address in self._paired else ""

    @cached_property
    def methods(self) -> dict[str, Any]:
        """Every method that any machine knows, those of the first machine first."""
        found: dict[str, Any] = {}
        for machine in self.machines:
            found = {**found, **{name: row for name, row in machine.methods.items() if name not in found}}
        return found

    @property
    def builds(self) -> set[str]:
        return {result.build for machine in self.machines for result in machine.results}

    def machine_of(self, result: Result) -> Machine:
        return self._by_name[result.machine]

    @cached_property
    def _by_name(self) -> dict[str, Machine]:
        return {machine.name: machine for machine in self.machines}
