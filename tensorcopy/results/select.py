"""The result that a name selects: RELEASE, RELEASE@WORD, FOLDER:RELEASE or FOLDER.

WORD is a Python ("3.9"), a machine or a build that has results; a name may have several. A folder alone selects its newest release.

Where no machine is named, the one that answers for a device is taken: see `result.answering_machine`. The site takes the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import release_table
from tensorcopy.releases.release_table import ReleaseIndex
from tensorcopy.results.reader import Results, concerning, load_results
from tensorcopy.results.result import Result, answering_machine, by_history, in_order, on_device, shown_history, standing_of
from tensorcopy.worker.devices import DEVICES


@dataclass(frozen=True)
class SelectedPair:
    """Two results to compare."""

    before: Result
    after: Result
    device: str = ""  # whose cases are compared; "" where they have none in common
    warnings: tuple[TensorcopyError, ...] = ()  # of the folders they come from
    problems: tuple[TensorcopyError, ...] = ()  # of files that could have taken part


def device_of(
    results: Sequence[Result], device: str = "", machine: str = "", *, command: str = "", option: str = "--device ", counts: bool = False
) -> str:
    """Return the device that is asked for, or else the CPU, or where that was not measured the first one that was.

    command : that asks, and option : that it takes the device with; for an error
    counts : whether counts alone suffice for a device that is asked for
    Raises TensorcopyError for a device that was not measured.
    """
    of_machine = [result for result in results if machine in ("", result.machine)]
    measured = _devices(of_machine)
    if device and device not in measured and not (counts and any(device in result.counted_devices() for result in of_machine)):
        raise _unmeasured(results, device, machine, _devices(results), command, option=option)
    return device or next(iter(measured), "")


def _devices(*sides: Iterable[Result], unit: str = "") -> list[str]:
    """Return the devices that each side has a result of, in order; unit : as of `on_device`."""
    measured = [{device for result in side for device in result.devices_of(unit)} for side in sides]
    return [device for device in DEVICES if all(device in of_side for of_side in measured)]


def _unmeasured(
    results: Sequence[Result], device: str, machine: str, measured: Sequence[str], command: str, unit: str = "", option: str = "--device "
) -> TensorcopyError:
    """Return the error for a device without a result; measured : the devices that have one on any machine."""
    if not results:
        return no_results()
    instead = device if device in measured else next(iter(measured), "")
    return TensorcopyError(
        f"no {unit} were counted on {device} on both sides" if unit else f"no result on {device}",
        got=f"--device {device}{f' --machine {machine}' if machine else ''}",
        allowed=", ".join(f"{each} ({answering_machine(results, each, unit)})" for each in measured) or "none",
        next=f"{command} {option}{instead}" if instead else command,
    )


def history(results: Sequence[Result], machine: str = "", python: str = "", device: str = "") -> list[list[Result]]:
    """Return the results of one machine and build: of each Python, the newest first, in order of release.

    It is the machine with the longest history of the device. Of its builds, one with two releases and the newest; an interpreter's only
    where there is no other. Raises TensorcopyError where no result matches.
    """
    matching = _restricted(in_order(results), machine=machine, python=python)
    measured = on_device(matching, device or device_of(matching)) or [each for each in matching if device in each.counted_devices()]
    answering = answering_machine(measured)
    histories = by_history(result for result in measured or matching if result.machine == answering)
    return histories[shown_history(histories)]


def newest(
    results: Sequence[Result],
    version: str = "",
    machine: str = "",
    python: str = "",
    having: Callable[[Result], object] = lambda result: True,
    device: str = "",
) -> Result:
    """Return the newest release's result on the machine with the longest history of a device, of the newest Python.

    having : what is preferred, where any result has it
    Raises TensorcopyError where no result matches.
    """
    every = in_order(results)
    device = device or device_of(every, machine=machine)
    matching = _restricted(on_device(every, device), machine=machine, version=version, python=python)
    matching = [result for result in matching if having(result)] or matching
    able = {result.machine for result in matching}
    answering = answering_machine((result for result in every if result.machine in able), device)
    return max((each for each in matching if each.machine == answering), key=lambda result: (result.release, result.series_key.order))


def pair(
    before: str, after: str, folder: Path, releases: ReleaseIndex, machine: str = "", device: str = "", *, command: str = "", unit: str = ""
) -> SelectedPair:
    """Return the results that `before` and `after` select: the best pair, in the order of `preference`.

    folder : of the results, for a name without a folder
    device : "" for the CPU, or where not both were measured on it the first one on which they were
    command : that asks; an error about the device says how it works
    unit : of the counts that are compared, such as "bytes"; "" for times
    Raises TensorcopyError for a name that matches nothing, for two names of one result, and where no machine has measured both and no name
    selects a machine.
    """
    names = [_parse(name, folder) for name in (before, after)]
    is_same_folder = names[0][0].resolve() == names[1][0].resolve()  # also where they are spelt differently
    loaded = [_loaded(names[0 if is_same_folder else side][0], releases, folder) for side in (0, 1)]
    every = [result for results in loaded[: 1 if is_same_folder else 2] for result in results.results]
    sides = [_matching(name, of_name, results, releases, machine) for name, (_, *of_name), results in zip((before, after), names, loaded)]
    shared = _devices(*sides, unit=unit)
    if device and device not in shared:
        anywhere = [_matching(name, of_name, results, releases) for name, (_, *of_name), results in zip((before, after), names, loaded)]
        raise _unmeasured(every, device, machine, _devices(*anywhere, unit=unit), command, unit)
    device = device or next(iter(shared), "")
    first, second = (on_device(side, device, unit) for side in sides)
    words = {word for _, _, of_name in names for word in of_name}
    is_build_named, is_machine_named = words & {each.series_key.build for each in every}, words & {each.machine for each in every}
    if is_same_folder and not is_machine_named and not {a.series_key.host for a in first} & {b.series_key.host for b in second}:
        on = [", ".join(sorted({result.machine for result in side})) for side in (first, second)]
        raise TensorcopyError(
            "no machine has measured both sides",
            got=f"{before} on {on[0]}; {after} on {on[1]}",
            allowed="two results of one machine, or machines that are named",
            next=f"{before}@{first[0].machine} {after}@{second[0].machine}",
        )
    order = standing_of(every, device, unit)

    def preference(both: tuple[Result, Result]) -> tuple[object, ...]:
        """Return what tells which of two pairs is meant: a change of machine, build or Python is none of torch."""
        ours, theirs = (each.series_key for each in both)
        alike, apart = ours.joined == theirs.joined, both[0] is not both[1] or not is_build_named  # which asks for another build
        place = ours.host == theirs.host, alike or bool(is_build_named), order[ours.machine], order[theirs.machine]
        newest, other = ((each.release, each.series_key.order) for each in both)
        return *place, ours.python == theirs.python, newest, apart, alike, other

    result, other = max(product(first, second), key=preference)
    if result is other:
        raise TensorcopyError(
            "both sides are the same result",
            got=f"torch {result.version}, Python {result.python}, {result.series_key.build} build on {result.machine}",
            allowed="two results",
            next="name both, such as A@PYTHON B@PYTHON or A@MACHINE B@MACHINE",
        )
    loaded = loaded[: 1 if is_same_folder else 2]
    machines, is_named = {result.machine, other.machine}, bool(machine or is_machine_named)
    problems = tuple(problem for results in loaded for problem in concerning(results, machines, named=is_named))
    return SelectedPair(result, other, device, tuple(warning for results in loaded for warning in results.warnings), problems)


def _parse(text: str, folder: Path) -> tuple[Path, str, list[str]]:
    """Return the folder, the release, "" for the newest, and the words of a name."""
    typed, (before_colon, colon, after_colon) = text, text.rpartition(":")
    if not (before_colon if colon else text).strip():  # as of an unset variable of a shell; it would be the current folder
        raise TensorcopyError("no result is named", got=repr(typed), allowed="RELEASE, FOLDER or FOLDER:RELEASE", next="name one")
    if colon or "/" in text or Path(text).is_dir():
        folder, text = (Path(before_colon), after_colon) if colon else (Path(text), "")
        if not folder.is_dir():
            raise TensorcopyError("no such folder of results", got=str(folder), allowed="a folder of launches", next="check the path")
    release, *words = text.split("@")
    return folder, release.removeprefix("v"), words


def _loaded(folder: Path, releases: ReleaseIndex, usual: Path) -> Results:
    results = load_results(folder, releases)
    if not results.results:
        if results.problems:
            raise results.problems[0]
        following = "name another folder" if folder != usual else "tensorcopy measure"
        raise TensorcopyError(
            "nothing to compare",
            got=f"no results in {folder}",
            allowed="a folder with a folder for each machine",
            next=f"{folder.parent}:RELEASE@{folder.name}" if any(folder.glob("*.json")) else following,
        )
    return results


def _matching(typed: str, name: Sequence[object], results: Results, releases: ReleaseIndex, machine: str = "") -> list[Result]:
    """Return the results of released versions that a name selects. Raises TensorcopyError where there is none."""
    release, words = name
    version = releases.find(str(release)).version if release else ""
    matching = _restricted(in_order(results.results), machine=machine)
    pythons = [word for word in words if re.fullmatch(r"3\.\d+", word)]  # type: ignore[attr-defined]
    for word in (word for word in words if word not in pythons):  # type: ignore[attr-defined]
        able = [result for result in matching if word in _words(result)]
        if not able:
            of_release = [result for result in matching if version in ("", result.version)] or matching
            raise TensorcopyError(
                "unknown side",
                got=repr(typed),
                allowed=f"@ and one of {', '.join(sorted({value for result in of_release for value in _words(result)}))}",
                next=typed.replace(f"@{word}", f"@{of_release[-1].python}"),
            )
        matching = able
    try:
        matching = _restricted(matching, typed, version=version)
        for python in pythons:
            matching = _restricted(matching, typed, python=python)
    except TensorcopyError as error:
        raise next(iter(results.problems), error) from None
    return matching


def _words(result: Result) -> tuple[str, str, str]:
    """Return the words that select a result after "@"."""
    return result.python, result.series_key.build, result.machine


def _restricted(results: Sequence[Result], typed: str = "", **wanted: str) -> list[Result]:
    """Return the results with these values of `machine`, `version` and `python`; "" for any.

    typed : shown in an error instead of the value
    Raises TensorcopyError with what there is of the first value that no result has.
    """
    if not results:
        raise no_results()
    for name, value in wanted.items():
        matching = [result for result in results if value in ("", getattr(result, name))]
        if not matching:
            values = {getattr(result, name) for result in results}
            on = ", ".join(sorted({result.machine for result in results}))
            label = {"version": "torch", "python": "Python"}.get(name)
            raise TensorcopyError(
                "no such result",
                got=typed or f"{label or name} {value}",
                allowed=f"{label} {', '.join(release_table.in_order(values))} on {on}" if label else on,
                next="name one of these" + (f", or tensorcopy measure {value}" if name == "version" else ""),
            )
        results = matching
    return list(results)


def no_results() -> TensorcopyError:
    """Return the error for a folder without a result."""
    return TensorcopyError("there are no results yet", got="no launch", allowed="results/ with launches", next="tensorcopy measure")
