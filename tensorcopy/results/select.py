"""Which result a name stands for: RELEASE, RELEASE@WORD, FOLDER:RELEASE or FOLDER.

WORD is a Python ("3.9"), a machine or a build of which there are results; there may be several. A folder alone stands for its newest release.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import release_table
from tensorcopy.results.load import Result, Results, load_results


@dataclass(frozen=True)
class Pair:
    """Two results to compare, and every result of the folders they come from."""

    before: Result
    after: Result
    beside: tuple[Result, ...]


@dataclass(frozen=True)
class _Name:
    """A parsed name: the folder, the release ("" for the newest) and the words after "@"."""

    folder: Path
    release: str
    words: tuple[str, ...]


def newest(results: Sequence[Result], release: str = "", machine: str = "", python: str = "") -> Result:
    """Return the result of the newest release on the machine that measured last, on its newest Python.

    release, machine, python : restrict the choice where given
    Raises TensorcopyError where no result matches.
    """
    order = {row.sha: index for index, row in enumerate(release_table.load())}
    sha = release_table.find(release).sha if release else ""
    known = [result for result in results if result.sha in order]
    matching = [r for r in known if sha in ("", r.sha) and machine in ("", r.machine) and python in ("", r.python)]
    if not matching:
        raise _no_such_result(known, " ".join(filter(None, [release, machine, python])))
    machine = max(matching, key=lambda result: str(result.provenance["started"])).machine
    on_machine = [result for result in matching if result.machine == machine]
    return max(on_machine, key=lambda result: (order[result.sha], release_table.minor(result.python)))


def pair(before: str, after: str, folder: Path, machine: str = "") -> Pair:
    """Return the two results that `before` and `after` name, on one machine wherever both were measured on one.

    folder : of the results, where a name has none
    machine : measure of both, where given
    Raises TensorcopyError for a name that matches nothing, and where no machine has measured both.
    """
    names = _parse(before, folder), _parse(after, folder)
    loaded = {name.folder: _loaded(name.folder) for name in names}
    first, second = (_matching(name, loaded[name.folder], machine) for name in names)
    shared = {result.machine for result in first} & {result.machine for result in second}
    if shared:
        first = [result for result in first if result.machine in shared]
    elif names[0].folder == names[1].folder and not (_names_machine(names[0], loaded) or _names_machine(names[1], loaded)):
        raise TensorcopyError(
            "no machine has measured both sides",
            got=f"{before} on {_machines(first)}; {after} on {_machines(second)}",
            allowed="two results of one machine, or machines that are named",
            next=f"{before}@{first[0].machine} {after}@{second[0].machine}",
        )
    one = newest(first)
    other = newest([result for result in second if result.machine == one.machine] if shared else second)
    return Pair(one, other, tuple(result for results in loaded.values() for result in results.results))


def _parse(text: str, folder: Path) -> _Name:
    place, colon, rest = text.rpartition(":")
    if colon or Path(text).is_dir():
        folder, text = Path(place if colon else text), rest if colon else ""
        if not folder.is_dir():
            raise TensorcopyError("no such folder of results", got=str(folder), allowed="a folder as asv writes it", next="check the path")
    release, *words = text.split("@")
    return _Name(folder, release.removeprefix("v"), tuple(words))


def _loaded(folder: Path) -> Results:
    results = load_results(folder)
    if results.unpublishable or not results.results:
        if results.problems:
            raise results.problems[0]
        raise TensorcopyError(
            "nothing to compare", got=f"no results in {folder}", allowed="a folder as asv writes it", next="tensorcopy measure"
        )
    return results


def _matching(name: _Name, results: Results, machine: str) -> list[Result]:
    """The results of known releases that a name allows. Raises TensorcopyError where there is none."""
    known = {row.sha for row in release_table.load()}
    matching = [result for result in results.results if result.sha in known and machine in ("", result.machine)]
    for word in name.words:
        there = sorted({value for result in matching for value in (result.python, result.build, result.machine)})
        if not re.fullmatch(r"3\.\d+", word) and word not in there:
            allowed = sorted({value for result in results.results for value in (result.python, result.build, result.machine)})
            raise TensorcopyError(
                "unknown side",
                got=repr("@".join([name.release, *name.words])),
                allowed=f"@ and one of {', '.join(allowed)}",
                next=f"{name.release}@{allowed[0]}",
            )
        matching = [result for result in matching if word in (result.python, result.build, result.machine)]
    sha = release_table.find(name.release).sha if name.release else ""
    matching = [result for result in matching if sha in ("", result.sha)]
    if not matching:
        raise _no_such_result([r for r in results.results if r.sha in known], " ".join(filter(None, [name.release, *name.words, machine])))
    return matching


def _names_machine(name: _Name, loaded: dict[Path, Results]) -> bool:
    return any(result.machine in name.words for result in loaded[name.folder].results)


def _machines(results: Sequence[Result]) -> str:
    return ", ".join(sorted({result.machine for result in results}))


def _no_such_result(known: Sequence[Result], got: str) -> TensorcopyError:
    there = sorted({f"torch {result.provenance['torch']} on {result.machine}, Python {result.python}" for result in known})
    return TensorcopyError(
        "no such result",
        got=got or "no results",
        allowed="; ".join(there) or "results/ of a checkout",
        next="tensorcopy releases lists what was measured",
    )
