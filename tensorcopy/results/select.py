"""The result that a name selects: RELEASE, RELEASE@WORD, FOLDER:RELEASE or FOLDER.

WORD is a Python ("3.9"), a machine or a build that has results; a name may have several. A folder alone selects its newest release.

Where no machine is named, the one that answers for a device is taken: see `result.answering_machine`. The site takes the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import release_table
from tensorcopy.releases.release_table import ReleaseIndex
from tensorcopy.results.reader import Results, concerning, load_results
from tensorcopy.results.result import Result, answering_machine, by_history, in_order, on_device, shown_history
from tensorcopy.worker.devices import DEVICES


@dataclass(frozen=True)
class SelectedPair:
    """Two results to compare.

    device : whose cases are compared; "" where they have none in common
    warnings : of the folders they come from
    problems : of files that could have taken part
    """

    before: Result
    after: Result
    device: str = ""
    warnings: tuple[TensorcopyError, ...] = ()
    problems: tuple[TensorcopyError, ...] = ()


@dataclass(frozen=True)
class _ResultName:
    """A parsed name.

    text : as it was typed
    release : "" for the newest; words : those after "@"
    """

    text: str
    folder: Path
    release: str
    words: tuple[str, ...]


def device_of(
    results: Sequence[Result], device: str = "", machine: str = "", *, command: str = "", option: str = "--device ", counts: bool = False
) -> str:
    """Return the device that is asked for, or else the CPU, or where that was not measured the first one that was.

    device : that is asked for; "" for none
    machine : restricts the results where given
    command : that asks; an error says how it works
    option : that it takes the device with
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
    """Return the error for a device without a result; measured : the devices that have one on any machine; unit : as of `on_device`."""
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
    where there is no other.

    machine, python : restrict the choice where given
    device : as `device_of` returns it
    Raises TensorcopyError where no result matches.
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
    """Return the newest release's result on the machine with the longest history of a device.

    Of several Pythons the newest is taken, of an interpreter's torch and the wheel's the wheel's.

    version, machine, python : restrict the choice where given
    having : what is preferred, where any result has it
    device : as `device_of` returns it
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
    """Return the results that `before` and `after` select.

    Both are of one machine and one Python if any has measured both, and of one build of the machine unless a name selects one. Of several
    machines it is the one with the longest history of the device.

    folder : of the results, for a name without a folder
    machine : restricts both sides where given
    device : likewise; "" for the CPU, or where not both were measured on it the first one on which they were
    command : that asks; an error about the device says how it works
    unit : of the counts that are compared, such as "bytes"; "" for times
    Raises TensorcopyError for a name that matches nothing, for two names of one result, and where no machine has measured both and no name
    selects a machine.
    """
    names = _parse(before, folder), _parse(after, folder)
    if names[0].folder.resolve() == names[1].folder.resolve():  # also where they are spelt differently
        names = names[0], replace(names[1], folder=names[0].folder)
    loaded = {name.folder: _loaded(name.folder, releases, is_named=name.folder != folder) for name in names}
    every = [result for results in loaded.values() for result in results.results]
    first, second = (_matching(name, loaded[name.folder], releases, machine) for name in names)
    shared_devices = _devices(first, second, unit=unit)
    if device and device not in shared_devices:
        anywhere = _devices(*(_matching(name, loaded[name.folder], releases, "") for name in names), unit=unit)
        raise _unmeasured(every, device, machine, anywhere, command, unit)
    device = device or next(iter(shared_devices), "")
    first, second = on_device(first, device, unit), on_device(second, device, unit)
    is_build_named = any(each.series_key.build in name.words for name in names for each in loaded[name.folder].results)
    is_machine_named = any(each.machine in name.words for name in names for each in loaded[name.folder].results)
    of_shared_hosts = _of_shared(first, second, lambda result: result.series_key.host)
    if of_shared_hosts:
        first, second = of_shared_hosts
        if not is_build_named:
            first, second = _of_shared(first, second, lambda result: result.series_key.joined) or (first, second)
    elif names[0].folder == names[1].folder and not is_machine_named:
        on = [", ".join(sorted({result.machine for result in side})) for side in (first, second)]
        raise TensorcopyError(
            "no machine has measured both sides",
            got=f"{before} on {on[0]}; {after} on {on[1]}",
            allowed="two results of one machine, or machines that are named",
            next=f"{before}@{first[0].machine} {after}@{second[0].machine}",
        )
    if of_shared_hosts:
        able = {result.series_key.host for result in first}
        answering = answering_machine((result for result in every if result.series_key.host in able), device, unit)
        first, second = ([result for result in side if result.machine == answering] for side in (first, second))
    first_result = newest(first)
    of_shared_pythons = _of_shared(first, second, lambda result: result.python)
    if of_shared_pythons:  # a change of Python is none of torch
        first, second = of_shared_pythons
        first_result = newest(first)
    alike = [each for each in second if each.series_key.joined == first_result.series_key.joined]
    if is_build_named:  # which asks for a comparison with another build
        alike = [each for each in alike if each is not first_result]
    second_result = newest(alike or second)
    if first_result is second_result:
        build = first_result.series_key.build
        place = f"torch {first_result.version}, Python {first_result.python}, {build} build on {first_result.machine}"
        raise TensorcopyError(
            "both sides are the same result",
            got=place,
            allowed="two results",
            next="name both, such as A@PYTHON B@PYTHON or A@MACHINE B@MACHINE",
        )
    is_named = bool(machine) or is_machine_named
    machines = {first_result.machine, second_result.machine}
    warnings = tuple(warning for results in loaded.values() for warning in results.warnings)
    problems = tuple(problem for results in loaded.values() for problem in concerning(results, machines, named=is_named))
    return SelectedPair(first_result, second_result, device, warnings, problems)


def _of_shared(
    first: Sequence[Result], second: Sequence[Result], value: Callable[[Result], Hashable]
) -> tuple[list[Result], list[Result]] | None:
    """Return the results of both sides that have a value of the other side too; None where they share none."""
    shared = {value(result) for result in first} & {value(result) for result in second}
    if not shared:
        return None
    return [result for result in first if value(result) in shared], [result for result in second if value(result) in shared]


def _parse(text: str, folder: Path) -> _ResultName:
    typed, (before_colon, colon, after_colon) = text, text.rpartition(":")
    if not (before_colon if colon else text).strip():  # as of an unset variable of a shell; it would be the current folder
        raise TensorcopyError("no result is named", got=repr(typed), allowed="RELEASE, FOLDER or FOLDER:RELEASE", next="name one")
    if colon or "/" in text or Path(text).is_dir():
        folder, text = (Path(before_colon), after_colon) if colon else (Path(text), "")
        if not folder.is_dir():
            raise TensorcopyError("no such folder of results", got=str(folder), allowed="a folder of launches", next="check the path")
    release, *words = text.split("@")
    return _ResultName(typed, folder, release.removeprefix("v"), tuple(words))


def _loaded(folder: Path, releases: ReleaseIndex, *, is_named: bool) -> Results:
    results = load_results(folder, releases)
    if not results.results:
        if results.problems:
            raise results.problems[0]
        following = "name another folder" if is_named else "tensorcopy measure"
        raise TensorcopyError(
            "nothing to compare",
            got=f"no results in {folder}",
            allowed="a folder with a folder for each machine",
            next=f"{folder.parent}:RELEASE@{folder.name}" if any(folder.glob("*.json")) else following,
        )
    return results


def _matching(name: _ResultName, results: Results, releases: ReleaseIndex, machine: str) -> list[Result]:
    """Return the results of released versions that a name selects.

    Raises TensorcopyError where there is none.
    """
    version = releases.find(name.release).version if name.release else ""
    matching = _restricted(in_order(results.results), machine=machine)
    pythons = [word for word in name.words if re.fullmatch(r"3\.\d+", word)]
    for word in name.words:
        if word in pythons:
            continue
        if not any(word in _words(result) for result in matching):
            of_release = [result for result in matching if version in ("", result.version)] or matching
            raise TensorcopyError(
                "unknown side",
                got=repr(name.text),
                allowed=f"@ and one of {', '.join(sorted({value for result in of_release for value in _words(result)}))}",
                next=name.text.replace(f"@{word}", f"@{of_release[-1].python}"),
            )
        matching = [result for result in matching if word in _words(result)]
    try:
        matching = _restricted(matching, name.text, version=version)
        for python in pythons:
            matching = _restricted(matching, name.text, python=python)
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
