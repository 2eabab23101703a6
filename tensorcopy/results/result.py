"""A release as measured in one history, and the differences of two releases.

A result has times, counts, failures and observations. Pure.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tensorcopy.releases.release_table import Release
from tensorcopy.results import effects
from tensorcopy.results.cases import Case, counted_case
from tensorcopy.results.effects import ABSENT, ALONE, PAIRED, Difference, Effects, Numbers, Timing
from tensorcopy.results.launches import Place


@dataclass(frozen=True, eq=False)  # what is computed from several results is cached by them
class Result:
    """A release in one history, from all launches that had it as a side; or a git revision of a project with it."""

    folder: Path  # of the history
    sha: str
    environment: str  # such as "py3.11-cuda"
    release: Release  # the row of its torch in the table
    effects: Effects  # the times of all launches of its history, where it is a column
    revision: str = ""  # of the project; "" for what is checked out
    count_repeats: dict[Case, tuple[float, ...]] = field(default_factory=dict)  # also of tracked values, in the unit of the suite
    failures: dict[Case, str] = field(default_factory=dict)  # what cases raised in their last launch
    skips: dict[Case, str] = field(default_factory=dict)  # why others did not apply in theirs
    provenance: dict[str, Any] = field(default_factory=dict)  # of the newest launch that timed anything, else of the newest
    methods: dict[str, Any] = field(default_factory=dict)
    article: dict[str, Any] = field(default_factory=dict)
    launches: tuple[str, ...] = ()  # the starts of those that have it

    @property
    def place(self) -> Place:
        """What tells it from the other results of its history: SHA, environment and revision."""
        return self.sha, self.environment, self.revision

    @cached_property
    def number(self) -> int:
        """Its column in the effects of the history."""
        return self.effects.columns[self.place]

    @property
    def history(self) -> str:
        """The name of its history."""
        return self.folder.name

    @property
    def python(self) -> str:
        """Its Python, such as "3.11"."""
        return self.environment.partition("-")[0].removeprefix("py")

    @property
    def build(self) -> str:
        """The kind of its wheel, such as "cuda"; "cuda-interpreter" for the torch that an interpreter has."""
        return self.environment.partition("-")[2]

    @property
    def version(self) -> str:
        """Its release, "2.15.0"."""
        return self.release.version

    @property
    def logs(self) -> Numbers:
        """Its log seconds by launch and case; NaN where it was not measured."""
        return self.effects.logs[:, self.number]

    def logs_of(self, case: Case) -> Numbers:
        """Return its log seconds of a case by launch."""
        return self.effects.logs[:, self.number, self.effects.cases[case]]

    @cached_property
    def timings(self) -> dict[Case, Timing]:
        """The time of every case that was timed."""
        seconds, errors, freedom = (each[self.number].tolist() for each in self.effects.fitted[:3])
        launches = (~np.isnan(self.logs)).sum(axis=0).tolist()
        return {  # six digits: further ones would be rounded twice, and shown as another duration
            case: Timing(float(f"{seconds[number]:.6g}"), errors[number], launches[number], freedom[number])
            for case, number in self.effects.cases.items()
            if launches[number]
        }

    def group(self, case: Case) -> int:
        """Return which sides it met in launches with a case; `ABSENT` of a case that is not timed."""
        return self.effects.fitted.groups[self.number][self.effects.cases[case]] if case in self.effects.cases else ABSENT

    def has_met(self, other: Result, case: Case) -> bool:
        """Return whether launches lead from it to another result: else nothing compares a timed case of both."""
        return self.effects is other.effects and self.group(case) == other.group(case) != ALONE

    def launch_logs(self, case: Case) -> Numbers:
        """Return its log seconds of a case by launch, without the launch's part; alone, that part is in no other and stays."""
        if self.group(case) == ALONE:
            return self.logs_of(case)
        fitted, number = self.effects.fitted, self.effects.cases[case]
        return np.log(fitted.seconds[self.number, number]) + fitted.residuals[:, self.number, number]

    def launch_times(self, case: Case) -> list[float]:
        """Return its time of a case in each launch that measured it, as `launch_logs`; none of a case that has always failed."""
        if case not in self.effects.cases:
            return []
        logs = self.launch_logs(case)
        return np.exp(logs[~np.isnan(logs)]).tolist()  # type: ignore[no-any-return]

    @cached_property
    def counts(self) -> dict[Case, float]:
        """The value of each case that is counted or tracked, from those of all launches."""
        return {case: case.kind.combine(values) for case, values in self.count_repeats.items()}

    @property
    def processors(self) -> str:
        """The processor and the accelerators that its times are of: "AMD EPYC, NVIDIA H200"; only the GPU where nothing else was timed."""
        timed = {case.device for case in self.timings} or {"cpu"}
        return ", ".join(map(self.hardware, sorted(timed, key=lambda device: (device != "cpu", device))))

    @cached_property
    def devices(self) -> dict[str, set[str]]:
        """The devices that it has counts of, by unit; under "" those of times and tracked values, or else of all counts."""
        units = {case.spec.unit for case in self.counts}
        by_unit = {unit: {case.device for case in self.counts if case.spec.unit == unit} for unit in units}
        cases = (*self.timings, *self.failures, *self.count_repeats)
        measured = {case.device for case in cases if case.spec.compared and not case.spec.stands_beside}
        return {**by_unit, "": measured or set().union(*by_unit.values())}

    def days(self, cases: Iterable[Case]) -> tuple[str, str]:
        """Return the first and the last day, "2026-11-21", of the launches that timed any of some cases; where none did, of all."""
        measured = ~np.isnan(self.logs[:, [self.effects.cases[case] for case in cases if case in self.effects.cases]])
        started = [start for start, is_one in zip(self.effects.started, measured.any(axis=1)) if is_one] or self.launches
        return min(started)[:10], max(started)[:10]

    def hardware(self, device: str) -> str:
        """Return the vendor's name of a device."""
        return str(self.provenance["cpu"] if device == "cpu" else self.provenance["accelerators"].get(device, device))

    def outcome(self, method: str, kind: str, device: str = "cpu") -> dict[str, Any] | None:
        """Return what a method was observed to do with a kind of tensor on a device; None when it was not observed."""
        outcomes = (self.methods.get(method, {}).get("observed") or {}).get(device)
        return outcomes[kind] if outcomes else None

    def failed(self, suites: Container[str] | None = None) -> list[str]:
        """Return a line for each case that failed in its last launch, with its own error; suites : whose cases are meant, None for all."""
        return [f"{case.name}: {text}" for case, text in self.failures.items() if suites is None or case.suite in suites]

    def count_of(self, case: Case) -> float | None:
        """Return the count of a timed or counted case; None where nothing was counted."""
        counted = case if case in self.counts else counted_case(case)
        return self.counts.get(counted) if counted else None

    def value_of(self, case: Case) -> float | None:
        """Return the time, count or tracked value of a case, in the unit of its suite; None where it was not measured."""
        timing = self.timings.get(case)
        return timing.seconds if timing else self.counts.get(case)


def differences(before: Result, after: Result) -> dict[Case, Difference | None]:
    """Return the difference of every case that both sides have; None of those that never met."""
    if before.effects is not after.effects:
        return {}
    by_number = effects.within(before.effects.logs, before.number, after.number)
    return {case: by_number[number] for case, number in before.effects.cases.items() if number in by_number}


def points(before: Result, after: Result, case: Case) -> list[tuple[str, str, float]]:
    """Return what each launch says of a timed case, as `differences` uses it: its start, a side, and a size, in order.

    The side is "" for the difference of both within the launch; else "A" or "B", before or after, and the size how far its time lies above
    the mean of A. Nothing where the case has no difference.
    """
    difference = differences(before, after).get(case)
    if difference is None:
        return []
    by_side = {"": after.logs_of(case) - before.logs_of(case)}
    if difference.way != PAIRED:
        by_side = {"A": before.launch_logs(case), "B": after.launch_logs(case)}
        by_side = {name: logs - np.nanmean(by_side["A"]) for name, logs in by_side.items()}
    rows = ((start, name, float(size)) for name, sizes in by_side.items() for start, size in zip(before.effects.started, sizes))
    return sorted(row for row in rows if not np.isnan(row[2]))
