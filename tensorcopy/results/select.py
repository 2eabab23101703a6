"""The result that a name selects: RELEASE, RELEASE@WORD, FOLDER:RELEASE or FOLDER.

WORD is a Python ("3.9"), a machine or a build that has results; a name may have several. A folder alone selects its newest release.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import release_table
from tensorcopy.releases.release_table import ReleaseIndex
from tensorcopy.results.reader import Result, Results, concerning, load_results
from tensorcopy.results.series_key import SeriesKey, by_history, in_order


@dataclass(frozen=True)
class SelectedPair:
    """Two results to compare.

    warnings : of the folders they come from
    problems : of files that could have taken part
    """

    before: Result
    after: Result
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


def history(results: Sequence[Result], machine: str = "", python: str = "") -> list[list[Result]]:
    """Return the results of one machine and build: of each Python, the newest first, in order of release.

    It is the machine that measured last of those that have two releases, since one release shows no change. Of its builds, one with two
    releases and the newest; an interpreter's only where there is no other.

    machine, python : restrict the choice where given
    Raises TensorcopyError where no result matches.
    """
    histories = by_history(_restricted(results, machine=machine, python=python))
    started = {key: max(str(result.provenance["started"]) for axis in axes for result in axis) for key, axes in histories.items()}
    able = [key for key in histories if _releases(histories[key]) > 1] or list(histories)
    host = max(able, key=lambda key: started[key]).host
    return histories[shown({key: axes for key, axes in histories.items() if key.host == host})]


def shown(histories: Mapping[SeriesKey, Sequence[Sequence[Result]]]) -> SeriesKey:
    """Return which history of one machine is shown, of those that `by_history` returns.

    One with two releases, since one release shows no change; of several builds that of the newest release, an interpreter's only where
    there is no other.
    """
    able = [key for key in histories if _releases(histories[key]) > 1] or list(histories)
    return max(able, key=lambda key: (not key.is_beside_history, in_order(axis[-1] for axis in histories[key])[-1].release))


def _releases(axes: Sequence[Sequence[Result]]) -> int:
    return len({result.sha for axis in axes for result in axis})


def newest(
    results: Sequence[Result],
    version: str = "",
    machine: str = "",
    python: str = "",
    having: Callable[[Result], object] = lambda result: True,
) -> Result:
    """Return the newest release's result on the machine that measured last.

    Of several Pythons the newest is taken, of an interpreter's torch and the wheel's the wheel's.

    version, machine, python : restrict the choice where given
    having : what is preferred, where any result has it
    Raises TensorcopyError where no result matches.
    """
    matching = _restricted(in_order(results), machine=machine, version=version, python=python)
    matching = [result for result in matching if having(result)] or matching
    machine = max(matching, key=lambda result: str(result.provenance["started"])).machine
    on_machine = [result for result in matching if result.machine == machine]
    return max(in_order(on_machine), key=lambda result: (result.release, result.series_key.order))


def pair(before: str, after: str, folder: Path, releases: ReleaseIndex, machine: str = "") -> SelectedPair:
    """Return the results that `before` and `after` select.

    Both are of one machine and one Python if any has measured both, and of one build of the machine unless a name selects one.

    folder : of the results, for a name without a folder
    machine : restricts both sides where given
    Raises TensorcopyError for a name that matches nothing, for two names of one result, and where no machine has measured both and no name
    selects a machine.
    """
    names = _parse(before, folder), _parse(after, folder)
    if names[0].folder.resolve() == names[1].folder.resolve():  # also where they are spelt differently
        names = names[0], replace(names[1], folder=names[0].folder)
    loaded = {name.folder: _loaded(name.folder, releases) for name in names}
    first, second = (_matching(name, loaded[name.folder], releases, machine) for name in names)
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
    first_result = newest(first)
    if of_shared_hosts:
        host = first_result.series_key.host
        first, second = ([result for result in side if result.series_key.host == host] for side in (first, second))
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
    machines = {first_result.machine, second_result.machine}
    warnings = tuple(warning for results in loaded.values() for warning in results.warnings)
    problems = tuple(problem for results in loaded.values() for problem in concerning(results.problems, machines))
    return SelectedPair(first_result, second_result, warnings, problems)


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
    if colon or "/" in text or Path(text).is_dir():
        folder, text = (Path(before_colon), after_colon) if colon else (Path(text), "")
        if not folder.is_dir():
            raise TensorcopyError("no such folder of results", got=str(folder), allowed="a folder of launches", next="check the path")
    release, *words = text.split("@")
    return _ResultName(typed, folder, release.removeprefix("v"), tuple(words))


def _loaded(folder: Path, releases: ReleaseIndex) -> Results:
    results = load_results(folder, releases)
    if not results.results:
        if results.problems:
            raise results.problems[0]
        raise TensorcopyError(
            "nothing to compare",
            got=f"no results in {folder}",
            allowed="a folder with a folder for each machine",
            next=f"{folder.parent}:RELEASE@{folder.name}" if any(folder.glob("*.json")) else "tensorcopy measure",
        )
    return results


def _matching(name: _ResultName, results: Results, releases: ReleaseIndex, machine: str) -> list[Result]:
    """Return the results of released versions that a name selects.

    Raises TensorcopyError where there is none.
    """
    matching = _restricted(in_order(results.results), machine=machine)
    pythons = [word for word in name.words if re.fullmatch(r"3\.\d+", word)]
    for word in name.words:
        if word in pythons:
            continue
        if not any(word in _words(result) for result in matching):
            allowed = sorted({value for result in results.results for value in _words(result)})
            raise TensorcopyError(
                "unknown side",
                got=repr(name.text),
                allowed=f"@ and one of {', '.join(allowed)}",
                next=f"{name.release}@{allowed[0]}",
            )
        matching = [result for result in matching if word in _words(result)]
    version = releases.find(name.release).version if name.release else ""
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
                next="tensorcopy list releases",
            )
        results = matching
    return list(results)


def no_results() -> TensorcopyError:
    """Return the error for a folder without a result."""
    return TensorcopyError("there are no results yet", got="no launch", allowed="results/ with launches", next="tensorcopy measure")
