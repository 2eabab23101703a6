"""A history and a device, and two results of a history, that a command asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import release_table
from tensorcopy.releases.release_table import ReleaseIndex
from tensorcopy.results.histories import History, first_by_device, ranked
from tensorcopy.results.reader import Results
from tensorcopy.results.result import Result


@dataclass(frozen=True)
class SelectedPair:
    """Two results to compare."""

    before: Result
    after: Result
    history: History
    device: str  # whose cases are compared
    problems: tuple[TensorcopyError, ...]  # of files that could have taken part


def chosen(
    loaded: Results, name: str = "", device: str = "", versions: Sequence[str] = (), unit: str = "", *, command: str
) -> tuple[History, str]:
    """Return a history that has some releases on a device, and the device: the first one, see `histories.ranked`.

    name : of the history; "" for any
    device : "" for the CPU, or where no history has the releases on it the first one on which one has
    unit : of the counts that are meant, such as "bytes"; "" for times, and without versions for any, if a device is named
    command : that asks, for an error

    Raises TensorcopyError where there is none.
    """
    if not loaded.results:
        following = "tensorcopy measure, in a clone or a project"
        nothing = TensorcopyError("there are no results yet", got="no launch", allowed="results/ with launches", next=following)
        raise next(iter(loaded.problems), nothing)
    able = [history for history in loaded.histories if name in ("", history.name)]
    if not able:
        names = [history.name for history in loaded.histories]
        raise TensorcopyError("no such history", got=f"--history {name}", allowed=", ".join(names), next=f"{command} --history {names[0]}")
    by_device, elsewhere = (first_by_device(of, unit, versions) for of in (able, loaded.histories))
    device = device or next(iter(by_device), "")
    counted = (each for each in able if not versions and any(device in of for result in each.results for of in result.devices.values()))
    if found := by_device.get(device) or next(counted, None):
        return found, device
    if versions and not (device and elsewhere):
        raise next(iter(loaded.problems), None) or _no_history(versions, loaded.histories, name, device or "cpu", unit)
    raise TensorcopyError(
        f"no {unit} were counted on {device} on both sides" if unit else f"no result on {device}",
        got=f"--device {device}{f' --history {name}' if name else ''}",
        allowed=", ".join(f"{each} ({history.name})" for each, history in elsewhere.items()) or "none",
        next=f"{command} --device {device if device in elsewhere else next(iter(elsewhere), 'cpu')}",
    )


def pair(
    before: str, after: str, loaded: Results, releases: ReleaseIndex, history: str = "", device: str = "", *, command: str, unit: str = ""
) -> SelectedPair:
    """Return the results of two releases, such as "2.14.1" and "v2.15.0", in the history that is `chosen`.

    Raises TensorcopyError for a name that is no release, for one release twice, and where no history has both.
    """
    names = [releases.find(name.removeprefix("v")).version for name in (before, after)]
    if names[0] == names[1]:
        raise TensorcopyError("both sides are the same result", got=f"torch {names[0]}", allowed="two releases", next="name another")
    of_both, device = chosen(loaded, history, device, names, unit, command=command)
    results = {result.version: result for result in of_both.results if not result.revision}
    return SelectedPair(results[names[0]], results[names[1]], of_both, device, loaded.concerning(history))


def _no_history(names: Sequence[str], histories: Sequence[History], history: str, device: str, unit: str) -> TensorcopyError:
    """Return the error of two releases that no history has: with comparisons by way of a third release, where there is one."""

    def having(*wanted: str) -> list[str]:
        return [each.name for each in ranked(histories, device, unit, wanted)]

    known = release_table.in_order({result.version for each in histories for result in each.on(device, unit)})
    of_each = {name: having(name) for name in names}
    if missing := [name for name in names if not of_each[name]]:
        following = f"name one of these, or tensorcopy measure {missing[0]}" if known else "leave --metric out, which compares times"
        allowed = f"torch {', '.join(known)}" if known else f"a release whose {unit} were counted: none is"
        return TensorcopyError(f"no {unit or 'result'} of torch {missing[0]}", got=missing[0], allowed=allowed, next=following)
    where = "; ".join(f"{name} in {', '.join(of_name)}" for name, of_name in of_each.items())
    links = [each for each in known if each not in names and all(having(name, each) for name in names)]
    following = next((f"--history {both}" for both in having(*names)), f"tensorcopy measure {' '.join(names)}")
    if links and not having(*names):
        usual, steps = having()[0], ((names[0], links[-1]), (links[-1], names[1]))
        following = ", ".join(
            f"compare {' '.join(step)}" + f" --history {first}" * (first != usual) for step in steps for first in having(*step)[:1]
        )
    what = "the history does not have both" if history else "no history has both"
    return TensorcopyError(what, got=where, allowed="two releases of one history", next=following)
