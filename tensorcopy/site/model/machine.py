"""Everything the pages show of one machine. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tensorcopy.analysis import comparisons
from tensorcopy.releases.release_table import Release
from tensorcopy.results.load import Case, Result
from tensorcopy.site.model import result_series
from tensorcopy.site.model.costs import GROUPS, CostTable, costs, numels_of
from tensorcopy.site.model.history import History, history
from tensorcopy.site.model.result_series import Series
from tensorcopy.worker.devices import ACCELERATORS

PICTURED = (2**10, 2**20)  # the dispatcher's share, and the memory's


@dataclass(frozen=True)
class Machine:
    """What one machine has to say, its newest release first in mind.

    series : its series, of which the first has the newest release on the newest Python
    """

    series: tuple[Series, ...]
    costs: tuple[CostTable, ...]
    histories: tuple[History, ...]
    not_measured: tuple[str, ...]  # accelerators without a number
    quiet: float | None  # the share of its samples that were taken while it was quiet; None where no control was noted

    @property
    def name(self) -> str:
        return self.series[0].machine

    @cached_property
    def result(self) -> Result:
        """Of the newest release of which more than a part was measured."""
        return _whole(self.series[0])

    @property
    def newest(self) -> Release:
        """The release of that result."""
        return next(release for release in self.series[0].releases if release.sha == self.result.sha)

    @cached_property
    def methods(self) -> dict[str, Any]:
        """Every method's row, as the newest result that knows it has it; those of the newest result first."""
        found = dict(self.result.methods)
        for result in reversed(self.results):
            found.update({name: row for name, row in result.methods.items() if name not in found})
        return found

    @property
    def results(self) -> tuple[Result, ...]:
        return tuple(result for one in self.series for result in one.results)

    @property
    def provenance(self) -> dict[str, Any]:
        return self.result.provenance

    @property
    def devices(self) -> list[str]:
        return list(dict.fromkeys(table.device for table in self.costs))

    @property
    def device(self) -> str:
        """The one that is spoken of first: the CPU, where that was measured."""
        return "cpu" if "cpu" in self.devices or not self.devices else self.devices[0]

    def hardware(self, device: str) -> str:
        """Where a tensor on `device` lies, as its maker calls it."""
        return str(self.provenance["cpu"] if device == "cpu" else self.provenance["accelerators"].get(device, device))

    @property
    def cases(self) -> list[Case]:
        """Every case that torch can change, in any of the results, those of the newest first."""
        return list(dict.fromkeys(case for one in self.series for case in one.series_by_case))

    def answer(self) -> list[tuple[str, str]]:
        """For copies and for conversions on the CPU: the winner's code, and what is true of it."""
        return [(self.code(table.methods[row]), table.truth(row)) for table, row in self.winners()]

    def winners(self, device: str = "cpu") -> list[tuple[CostTable, int]]:
        """For copies and for conversions on a device: their table, and the winner's row."""
        return [(table, table.winner()) for table in self.costs if table.device == device]

    def code(self, method: str, device: str = "cpu") -> str:
        """The method's code as the registry had it when this machine measured."""
        row = self.methods.get(method, {})
        return str(row.get("code" if device == "cpu" else "code_on_accelerator", method))

    def passes_of(self, result: Result) -> tuple[int, int]:
        """The fewest and the most passes that say something of torch, of the cases of one result."""
        counts = [len(timing.judged) for case, timing in result.timings.items() if not case.suite.startswith(comparisons.NOT_TORCHS)] or [0]
        return min(counts), max(counts)


def machines(found: Sequence[Result], releases: Sequence[Release]) -> list[Machine]:
    """One entry a machine, the one that measured last first. Results of an unknown SHA are not shown."""
    groups: dict[str, list[Series]] = {}
    for one in result_series.of_results(found, releases):
        groups.setdefault(one.machine, []).append(one)
    return [_machine(tuple(group)) for group in groups.values()]


def _machine(mine: tuple[Series, ...]) -> Machine:
    result, results = _whole(mine[0]), [result for one in mine for result in one.results]
    devices = ["cpu", *(device for device in ACCELERATORS if numels_of(result, "copy", device))]
    timings = [timing for result in results for timing in result.timings.values()]
    quiet = [reading <= pass_samples.limit for timing in timings for pass_samples in timing.by_pass for reading in pass_samples.control]
    return Machine(
        series=mine,
        costs=tuple(table for device in devices for group in GROUPS if (table := _costs(mine[0], group, device)).methods),
        histories=tuple(found for group in GROUPS for numel in PICTURED if (found := history(mine, group, numel)).points),
        not_measured=tuple(device for device in ACCELERATORS if device not in devices),
        quiet=sum(quiet) / len(quiet) if quiet else None,
    )


def _whole(one: Series) -> Result:
    """The newest result of a series that knows its methods and has copies; the newest of all where none does."""
    whole = [result for result in one.results if result.methods and any(case.suite.startswith("copies.") for case in result.timings)]
    return whole[-1] if whole else one.newest


def _costs(mine: Series, group: str, device: str) -> CostTable:
    return costs(_whole(mine), group, device, mine.results)
