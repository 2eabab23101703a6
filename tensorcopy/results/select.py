"""Two results of one history that the names of two releases select."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import release_table
from tensorcopy.releases.release_table import ReleaseIndex
from tensorcopy.results.histories import History, first_by_device, named, no_results, not_on, ranked
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
    shared, elsewhere = (first_by_device(of, unit, names) for of in (able, loaded.histories))
    chosen = device or next(iter(shared), "")
    if chosen in shared:
        results = {result.version: result for result in shared[chosen].results if not result.revision}
        return SelectedPair(results[names[0]], results[names[1]], shared[chosen], chosen, loaded.concerning(history))
    if device and elsewhere:
        what = f"no {unit} were counted on {device} on both sides" if unit else f"no result on {device}"
        raise not_on(device, history, elsewhere, what, command)
    raise next(iter(loaded.problems), None) or _no_history(names, loaded.histories, history, chosen or "cpu", unit)


def _no_history(names: Sequence[str], histories: Sequence[History], history: str, device: str, unit: str) -> TensorcopyError:
    """Return the error of two releases that no history has: with comparisons by way of a third release, where there is one."""

    def having(*wanted: str) -> list[str]:
        return [each.name for each in ranked(histories, device, unit, wanted)]

    of_each = {name: having(name) for name in names}
    if missing := [name for name in names if not of_each[name]]:
        versions = release_table.in_order({result.version for each in histories for result in each.results})
        following = f"name one of these, or tensorcopy measure {missing[0]}"
        return TensorcopyError(f"no result of torch {missing[0]}", got=missing[0], allowed=f"torch {', '.join(versions)}", next=following)
    where = "; ".join(f"{name} in {', '.join(of_name)}" for name, of_name in of_each.items())
    if history:
        following = next((f"--history {both}" for both in having(*names)), "leave --history out")
        return TensorcopyError("the history does not have both", got=f"--history {history}", allowed=where, next=following)
    third = release_table.in_order({result.version for each in histories for result in each.on(device, unit)})
    links = [each for each in third if each not in names and all(having(name, each) for name in names)]
    following = f"tensorcopy measure {' '.join(names)}"
    if links:
        usual, steps = ranked(histories, device, unit)[0].name, ((names[0], links[-1]), (links[-1], names[1]))
        own = [having(*step)[0] for step in steps]
        commands = (f"compare {' '.join(step)}{'' if name == usual else f' --history {name}'}" for step, name in zip(steps, own))
        following = ", ".join(commands)
    return TensorcopyError("no history has both", got=where, allowed="two releases of one history", next=following)
