"""Two results of one history that the names of two releases select."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import release_table
from tensorcopy.releases.release_table import ReleaseIndex
from tensorcopy.results.histories import History, named, no_results, ranked
from tensorcopy.results.reader import Results
from tensorcopy.results.result import Result
from tensorcopy.worker.devices import DEVICES


@dataclass(frozen=True)
class SelectedPair:
    """Two results to compare."""

    before: Result
    after: Result
    device: str = ""  # whose cases are compared; "" where they have none in common
    problems: tuple[TensorcopyError, ...] = ()  # of files that could have taken part


def pair(
    before: str, after: str, loaded: Results, releases: ReleaseIndex, history: str = "", device: str = "", *, command: str, unit: str = ""
) -> SelectedPair:
    """Return the results of two releases, such as "2.14.1" and "v2.15.0": of the first history that has both, see `histories.ranked`.

    history : its name; "" for any
    device : "" for the CPU, or where no history has both on it the first one on which one has
    command : that asks, for an error
    unit : of the counts that are compared, such as "bytes"; "" for times

    Raises TensorcopyError for a name that is no release, for one release twice, and where no history has both.
    """
    names = [releases.find(name.removeprefix("v")).version for name in (before, after)]
    if not loaded.results:
        raise next(iter(loaded.problems), no_results())
    able = named(loaded.histories, history, command)
    if names[0] == names[1]:
        raise TensorcopyError("both sides are the same result", got=f"torch {names[0]}", allowed="two releases", next="name another")
    shared = {each: of_both for each in DEVICES if (of_both := _having(names, able, each, unit))}
    chosen = device or next(iter(shared), "")
    if of_device := shared.get(chosen):
        results = {result.version: result for result in of_device[0].results if not result.revision}
        return SelectedPair(results[names[0]], results[names[1]], chosen, loaded.concerning(history))
    if device and (others := {each: of_both for each in DEVICES if (of_both := _having(names, loaded.histories, each, unit))}):
        instead = device if device in others else next(iter(others))
        raise TensorcopyError(
            f"no {unit} were counted on {device} on both sides" if unit else f"no result on {device}",
            got=f"--device {device}{f' --history {history}' if history else ''}",
            allowed=", ".join(f"{each} ({of_both[0].name})" for each, of_both in others.items()),
            next=f"{command} --device {instead}",
        )
    raise next(iter(loaded.problems), None) or _no_history(names, loaded.histories, history, chosen or "cpu", unit)


def _having(names: Sequence[str], histories: Sequence[History], device: str, unit: str = "") -> list[History]:
    """Return the histories that have some releases on a device, the first one first."""
    return [each for each in ranked(histories, device, unit) if {*names} <= {result.version for result in each.on(device, unit)}]


def _no_history(names: Sequence[str], histories: Sequence[History], history: str, device: str, unit: str) -> TensorcopyError:
    """Return the error of two releases that no history has: with comparisons by way of a third release, where there is one."""
    missing = [name for name in names if not _having([name], histories, device, unit)]
    if missing:
        versions = release_table.in_order({result.version for each in histories for result in each.results})
        following = f"name one of these, or tensorcopy measure {missing[0]}"
        return TensorcopyError(f"no result of torch {missing[0]}", got=missing[0], allowed=f"torch {', '.join(versions)}", next=following)
    of_each = {name: [each.name for each in _having([name], histories, device, unit)] for name in names}
    if history:
        both = [each.name for each in _having(names, histories, device, unit)]
        following = f"--history {both[0]}" if both else "leave --history out"
        allowed = "; ".join(f"{name} in {', '.join(of_name)}" for name, of_name in of_each.items())
        return TensorcopyError("the history does not have both", got=f"--history {history}", allowed=allowed, next=following)
    third = release_table.in_order({result.version for each in histories for result in each.on(device, unit)})
    links = [each for each in third if each not in names and all(_having([name, each], histories, device, unit) for name in names)]
    following = f"tensorcopy measure {' '.join(names)}"
    if links:
        steps = [(names[0], links[-1]), (links[-1], names[1])]
        usual, commands = ranked(histories, device, unit)[0], []
        for first, second in steps:
            of_step = _having([first, second], histories, device, unit)[0]
            commands.append(f"compare {first} {second}{'' if of_step is usual else f' --history {of_step.name}'}")
        following = ", ".join(commands)
    got = "; ".join(f"{name} in {', '.join(of_name)}" for name, of_name in of_each.items())
    return TensorcopyError("no history has both", got=got, allowed="two releases of one history", next=following)
