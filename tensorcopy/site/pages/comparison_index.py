"""The entry to comparisons: two selects, and the permanent pairs as links; a page for each machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tensorcopy.analysis.comparisons import Comparison, version
from tensorcopy.analysis.two_sample import Verdict
from tensorcopy.results.reader import Result
from tensorcopy.site import addresses
from tensorcopy.site.model.content import Content
from tensorcopy.site.model.machine import Machine
from tensorcopy.site.model.result_series import Series
from tensorcopy.site.page import Page

Across = dict[Path, list[Comparison]]  # by the path of a result, its comparisons with other environments and machines


@dataclass(frozen=True)
class PairLink:
    """A comparison's page and its counts of cases.

    name : of the side that the column does not name: "2.14.1", or "Python 3.9"
    conclusive : at least half of the cases have an interval
    """

    name: str
    address: str
    slower: int
    faster: int
    conclusive: bool


@dataclass(frozen=True)
class PairRow:
    """The comparisons of one result: from earlier releases, to the newest, and with other environments and machines."""

    release: str
    earlier: Sequence[PairLink]
    newest: Sequence[PairLink]
    across: Sequence[PairLink]


def pages(content: Content) -> Iterator[Page]:
    """Yield an index for each machine; that of the machine with the longest history is the index of all, too."""
    across: Across = {}
    for comparison in content.comparisons.values():
        for result in () if _same_environment(comparison) else (comparison.before, comparison.after):
            across.setdefault(result.path, []).append(comparison)
    for machine in content.machines:
        yield _index(content, machine, addresses.of_comparisons(machine.name), across)
    if content.machine:
        yield _index(content, content.machine, addresses.COMPARISONS, across)
    else:
        yield Page(addresses.COMPARISONS, "comparisons.html", "Compare two releases", {"machine": None, "machines": (), "environments": []})


def _index(content: Content, machine: Machine, address: str, across: Across) -> Page:
    values = {
        "machine": machine,
        "machines": content.machines,
        "environments": [(series, _rows(content, series, across)) for series in machine.series],
    }
    return Page(address, "comparisons.html", "Compare two releases", values)


def _same_environment(comparison: Comparison) -> bool:
    before, after = comparison.before, comparison.after
    return before.series_key == after.series_key


def _rows(content: Content, series: Series, across: Across) -> list[PairRow]:
    """Return a row for each release, the newest first."""
    rows = []
    for index, result in enumerate(series.results):
        earlier = [_link(content, before, result, version(before)) for before in reversed(series.results[:index])]
        newest = _link(content, result, series.newest, series.releases[-1].version) if index < len(series.results) - 2 else None
        rows.append(
            PairRow(
                release=series.releases[index].version,
                earlier=[link for link in earlier if link] if result is not series.newest else [link for link in earlier[:1] if link],
                newest=[newest] if newest else [],
                across=[_across(comparison, result) for comparison in across.get(result.path, ())],
            )
        )
    return rows[::-1]


def _across(comparison: Comparison, result: Result) -> PairLink:
    """Return the link to a comparison of one release in two environments or on two machines, named by the other one."""
    after = comparison.after if comparison.before is result else comparison.before
    machine = f"{after.machine}, " if after.machine != result.machine else ""
    build = f" {after.series_key.build}" if after.series_key.build != result.series_key.build else ""
    return _counted(addresses.of_comparison(comparison.before, comparison.after), f"{machine}Python {after.python}{build}", comparison)


def _link(content: Content, before: Result, after: Result, name: str) -> PairLink | None:
    address = content.comparison_address(before, after)
    return _counted(address, name, content.comparisons[address]) if address else None


def _counted(address: str, name: str, comparison: Comparison) -> PairLink:
    changes = list(comparison.changes.values())
    return PairLink(
        name=name,
        address=address,
        slower=sum(change.verdict is Verdict.SLOWER for change in changes),
        faster=sum(change.verdict is Verdict.FASTER for change in changes),
        conclusive=2 * sum(change.interval is not None for change in changes) >= len(changes) > 0,
    )
