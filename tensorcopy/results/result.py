"""A release as measured in one history: its times, counts, failures and observations. Pure."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from tensorcopy.releases.release_table import Release
from tensorcopy.results.cases import Case, counted_case
from tensorcopy.results.effects import Column, Timing
from tensorcopy.worker.devices import DEVICES


@dataclass(frozen=True, eq=False)  # what is computed from several results is cached by them
class Result:
    """A release in one history, from all launches that had it as a side; or a git revision of a project with it."""

    folder: Path  # of the history
    sha: str
    environment: str  # such as "py3.11-cuda"
    release: Release  # the row of its torch in the table
    column: Column  # its place in the effects of the history
    revision: str = ""  # of the project; "" for what is checked out
    count_repeats: dict[Case, tuple[float, ...]] = field(default_factory=dict)  # also of tracked values, in the unit of the suite
    failures: dict[Case, str] = field(default_factory=dict)  # what cases raised in their last launch
    skips: dict[Case, str] = field(default_factory=dict)  # why others did not apply in theirs
    provenance: dict[str, Any] = field(default_factory=dict)  # of the newest launch that timed anything, else of the newest
    methods: dict[str, Any] = field(default_factory=dict)
    article: dict[str, Any] = field(default_factory=dict)
    launches: tuple[str, ...] = ()  # the starts of those that have it

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

    @cached_property
    def timings(self) -> dict[Case, Timing]:
        """The time of every case that was timed."""
        return self.column.timings()

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
    def devices(self) -> tuple[str, ...]:
        """The devices that it has results of: of cases that torch can change, or else of counts."""
        cases = (*self.timings, *self.failures, *self.count_repeats)
        measured = {case.device for case in cases if case.spec.compared and not case.spec.stands_beside}
        return tuple(device for device in DEVICES if device in measured) or self.counted_devices()

    def counted_devices(self, unit: str = "") -> tuple[str, ...]:
        """Return the devices that it has counts of, in a unit such as "bytes"; in any unit for ""."""
        counted = {case.device for case in self.counts if unit in ("", case.spec.unit)}
        return tuple(device for device in DEVICES if device in counted)

    def devices_of(self, unit: str = "") -> tuple[str, ...]:
        """Return the devices that it has counts of in a unit; those that it has results of for ""."""
        return self.counted_devices(unit) if unit else self.devices

    def day_of(self, cases: Iterable[Case]) -> str:
        """Return the day of the newest launch that timed any of some cases, "2026-11-21"; where none did, of the newest of all."""
        return max(self.column.started({*cases}), default=str(self.provenance["started"]))[:10]

    def first_day_of(self, cases: Iterable[Case]) -> str:
        """Return the day of the first of these launches, which stays when more is measured; where none did, of the first of all."""
        return min(self.column.started({*cases}) or self.launches)[:10]

    def has_met(self, other: Result, case: Case) -> bool:
        """Return whether launches lead from a case of this result to that of another: else nothing compares them."""
        return self.column.has_met(other.column, case)

    def hardware(self, device: str) -> str:
        """Return the vendor's name of a device."""
        return str(self.provenance["cpu"] if device == "cpu" else self.provenance["accelerators"].get(device, device))

    def outcome(self, method: str, kind: str, device: str = "cpu") -> dict[str, Any] | None:
        """Return what a method was observed to do with a kind of tensor on a device; None when it was not observed."""
        outcomes = (self.methods.get(method, {}).get("observed") or {}).get(device)
        return outcomes[kind] if outcomes else None

    @property
    def place(self) -> tuple[str, str, str]:
        """What tells it from the other results of its machine: SHA, environment and revision."""
        return self.sha, self.environment, self.revision

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
