"""A history: the results of one experiment, in a folder whose history.toml says what was asked for.

    results/epyc-2core/history.toml
    results/epyc-2core/20261125T091500-1a2b3c4d.json

Its launches can be compared with each other, as far as their suites have one version, and with those of no other history. What was
installed, and driver, governor and clocks, are recorded in each launch; they may differ, because what disturbs all sides of a launch
cancels.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from tensorcopy import files
from tensorcopy.errors import TensorcopyError
from tensorcopy.releases.release_table import minor
from tensorcopy.results.cases import Cases
from tensorcopy.results.launches import FileProblem, Launch, Name
from tensorcopy.results.result import Result
from tensorcopy.worker import hardware
from tensorcopy.worker.devices import DEVICES

FILE = "history.toml"


class Conditions(Struct, frozen=True, forbid_unknown_fields=True):
    """What was asked for in a history."""

    processor: Name  # its model, see `hardware.processor`
    python: Annotated[str, Meta(pattern=r"^3\.\d{1,2}$")]
    wheel: Annotated[str, Meta(pattern=r"^[a-z]+(-interpreter)?$")]  # kind of torch's; "-interpreter" for its own torch
    threads: Annotated[int, Meta(ge=0, le=100_000)]  # of torch
    accelerators: dict[Name, Name] = {}  # models by device, such as {"cuda": "NVIDIA H200"}
    requires: list[Name] = []  # what the campaign requires, as it is written there

    @property
    def environment(self) -> str:
        """The name of the environments whose sides have a place in the history; a side of any other is a link between launches."""
        return f"py{self.python}-{self.wheel}"

    def takes(self, other: Conditions) -> bool:
        """Return whether launches under other conditions belong to a history of these; they may lack an accelerator."""
        alike = all(getattr(self, name) == getattr(other, name) for name in ("processor", "python", "wheel", "threads", "requires"))
        return alike and other.accelerators.items() <= self.accelerators.items()

    def __str__(self) -> str:
        models = ", ".join([self.processor, *self.accelerators.values()])
        requires = f", with {', '.join(self.requires)}" if self.requires else ""
        return f"{models}, Python {self.python}, {self.wheel} wheel, threads: {self.threads}{requires}"


@dataclass(frozen=True, eq=False)
class History:
    """The results of one experiment."""

    folder: Path
    conditions: Conditions
    results: tuple[Result, ...]  # in order of release
    launches: tuple[Launch, ...]  # in order of their starts, also those that are links only
    cases: Cases  # of each suite in its newest form

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.name

    def on(self, device: str, unit: str = "") -> list[Result]:
        """Return the results on a device, in order of release; unit : of counts, see `Result.devices`."""
        return [result for result in self.results if device in result.devices.get(unit, ())]


def ranked(histories: Iterable[History], device: str, unit: str = "", versions: Collection[str] = ()) -> list[History]:
    """Return the histories that have some releases on a device, the first one first.

    Of that one the site draws the charts, and every command speaks.

    Of those with the newest release that was measured anywhere on the device, it is the one with most releases: a few releases that were
    just measured must not replace a history, and a history that has ended must not hide a newer release.

    unit : of counts that are meant, such as "bytes"; "" for times
    """
    measured = {history: {result.release for result in history.on(device, unit)} for history in histories}
    able = [each for each, releases in measured.items() if releases and {*versions} <= {release.version for release in releases}]
    newest = max((release for releases in measured.values() for release in releases), default=None)
    return sorted(able, key=lambda each: (newest not in measured[each], -len(measured[each]), each.name))


def first_by_device(histories: Sequence[History], unit: str = "", versions: Collection[str] = ()) -> dict[str, History]:
    """Return the first history of each device that has one, as `ranked`; the CPU comes first."""
    return {device: able[0] for device in DEVICES if (able := ranked(histories, device, unit, versions))}


def conditions_of(launch: Launch, environment: str = "", requires: Iterable[str] = ()) -> Conditions:
    """Return the conditions of the sides of a launch in an environment, of which it has one.

    environment : "" for that of most sides, to whose history a new launch belongs; of equally many that of the newest Python. The reference
        counts only where it is alone: it is a side of the launches of other Pythons too
    """
    if not environment:
        others = [side for number, side in enumerate(launch.sides) if number != launch.reference]
        environments = [side.environment for side in others or launch.sides]
        pythons = {each: minor(each.partition("-")[0].removeprefix("py")) for each in environments}
        environment = max(environments, key=lambda each: (environments.count(each), pythons[each], each))
    provenances = [launch.provenance_of(number) for number, side in enumerate(launch.sides) if side.environment == environment]
    python, _, wheel = environment.removeprefix("py").partition("-")
    first = provenances[0]
    accelerators = {device: str(model) for each in provenances for device, model in each.get("accelerators", {}).items()}
    model = hardware.processor(str(first["cpu"]), first["hardware"])
    return Conditions(model, python, wheel, int(first.get("threads", 1)), accelerators, list(requires))


def read(folder: Path) -> Conditions:
    """Return what the history.toml of a folder says. Raises TensorcopyError, naming it, where it is missing or damaged."""
    path = folder / FILE
    try:
        return msgspec.convert(files.read_toml(path), Conditions)
    except (OSError, ValueError) as error:
        got = f"no {FILE}" if isinstance(error, FileNotFoundError) else f"{FILE}: {getattr(error, 'strerror', None) or error}"
        what, allowed = "the history {0.parent} cannot be read", f"launches beside a {FILE}"
        raise FileProblem(path, what, got=got, allowed=allowed, next=files.from_git(path)) from error


def write(folder: Path, conditions: Conditions) -> None:
    """Begin a history in a folder. Raises DiskError, OSError, and FileExistsError where there is one."""
    values = msgspec.structs.asdict(conditions)
    values |= {f"accelerators.{device}": model for device, model in values.pop("accelerators").items()}
    lines = [f"{name} = {msgspec.json.encode(value).decode()}" for name, value in values.items()]
    heading = "# What was asked for. Launches under other conditions belong to another history."
    files.replace(folder / FILE, "\n".join([heading, *lines, ""]), new=True)


def folder_of(results: Path, conditions: Conditions, name: str, *, is_named: bool = False) -> tuple[Path, bool]:
    """Return the folder of the history to which launches under some conditions belong, and whether it is a new one.

    results : the folder of all histories
    name : of this machine, or with `is_named` of a history that a user asks for

    Without a name it is the history of these conditions; else a new one, called like this machine: "host", "host-py3.9", "host-2".
    Raises TensorcopyError for a named history of other conditions.
    """
    known = {path.parent.name: read(path.parent) for path in sorted(results.glob(f"*/{FILE}"))}
    able = [each for each, of_history in known.items() if of_history.takes(conditions)]
    if is_named and name in known and name not in able:
        what, following = f"the history {name} is of another experiment", f"leave --history out, or name {able[0] if able else 'a new one'}"
        raise TensorcopyError(what, got=str(conditions), allowed=str(known[name]), next=following)
    if name in able or (able and not is_named):
        return results / (name if name in able else able[0]), False
    is_of_other_python = name in known and known[name].python != conditions.python
    names = [name, *([f"{name}-py{conditions.python}"] if is_of_other_python else [])]
    free = (each for each in chain(names, (f"{name}-{number}" for number in count(2))) if each not in known)
    folder = results / next(free)
    try:
        write(folder, conditions)
    except FileExistsError:  # another run has begun it
        return folder_of(results, conditions, name, is_named=is_named)
    return folder, True
