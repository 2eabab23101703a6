"""Comparisons: a page for each pair, and one that leads to them all."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from io import StringIO
from itertools import pairwise
from typing import Any

from markupsafe import Markup

from tensorcopy.analysis.comparisons import Comparison, named, version
from tensorcopy.analysis.two_sample import Change, Verdict
from tensorcopy.report.comparison import formats as comparison_formats
from tensorcopy.report.comparison.wording import CHANGED, headline, ordered
from tensorcopy.results.load import Case, Result
from tensorcopy.site import addresses, filters
from tensorcopy.site.charts import charts
from tensorcopy.site.model import result_series
from tensorcopy.site.model.content import Content
from tensorcopy.site.model.machine import Machine
from tensorcopy.site.model.result_series import Series
from tensorcopy.site.page import File, Page

ORDER = (Verdict.SLOWER, Verdict.FASTER, Verdict.UNCHANGED, Verdict.INCONCLUSIVE)


def pages(content: Content) -> Iterator[Page | File]:
    within = {
        address: found
        for address, found in content.comparisons.items()
        if found.before.environment == found.after.environment and found.before.machine == found.after.machine
    }
    across = [_counted(address, found) for address, found in content.comparisons.items() if address not in within]
    grids = [{"series": one, "rows": _grid(content, one)} for one in content.series]
    yield Page(addresses.COMPARISONS, "comparisons.html", "Compare any two", {"grids": grids, "across": across})
    its = {result.path: one for one in content.series for result in one.results}
    for address, found in content.comparisons.items():
        yield from _pair(content, address, found, its[found.after.path])


def _pair(content: Content, address: str, found: Comparison, one: Series) -> Iterator[Page | File]:
    data = addresses.data(address, "csv")
    verdicts = [change.verdict for change in found.changes.values()]
    rows, machine, widest = ordered(found.changes.items()), content.machine_of(found.after), filters.widest(list(found.changes.values()))
    values = {
        "found": found,
        "machine": machine,
        "headline": headline(comparison_formats.rows(found)),
        "counts": [(verdict.value, verdicts.count(verdict)) for verdict in ORDER],
        "changed": sorted((row for row in rows if row[1].verdict in CHANGED), key=_how_sure),
        "quiet": _quiet(machine, [row for row in found.changes.items() if row[1].verdict not in CHANGED]),
        "why": comparison_formats.counted(found),
        "widest": widest,
        "svg": Markup(charts.of_changes(found, widest)),  # noqa: S704 - our own SVG
        "case_page": lambda case: addresses.of_case(found.after.machine, case),
        "neighbours": _neighbours(content, found, one),
        "machine_changes": result_series.machine_differences(found.before, found.after)
        if found.before.machine == found.after.machine
        else [],
        "notes": [release for release in one.releases if release.sha == found.after.sha],
        "ledgers": _provenances(found.before, found.after),
        "spoken": [_spoken(content, result) for result in (found.before, found.after)],
        "csv": data,
    }
    yield Page(address, "compare.html", f"{found.named[0]} → {found.named[1]}", values)
    yield File(data, _csv(found))


def _how_sure(row: tuple[Case, Change]) -> tuple[int, float, float]:
    """Slower first; of each the surest, then the largest."""
    change = row[1]
    ratio = change.ratio or 1.0
    return CHANGED.index(change.verdict), round(change.p or 1.0, 6), -max(ratio, 1 / ratio)


def _spoken(content: Content, result: Result) -> str:
    """A side as `tensorcopy explain` takes it."""
    words = [version(result), result.python, result.machine, *([result.build] if len(content.builds) > 1 else [])]
    return "@".join(words)


def _quiet(machine: Machine, rows: Sequence[tuple[Case, Change]]) -> list[tuple[str, str, str, list[tuple[Case, Change]]]]:
    """Cases by suite and method: the suite, the method and its code, and each case with its change."""
    groups: dict[tuple[str, str, str], list[tuple[Case, Change]]] = {}
    for case, change in rows:
        method = dict(case.parameters).get("method", case.suite)
        groups.setdefault((case.suite.rpartition(".")[0], method, machine.code(method, case.device)), []).append((case, change))
    return [(*names, cells) for names, cells in groups.items()]


def _csv(found: Comparison) -> str:
    """A line for each case; times in seconds; an empty field is not known. `tensorcopy compare --format csv` also has the reasons."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["case", "verdict", "ratio", "low", "high", "p", "before", "after"])
    for case, change in ordered(found.changes.items()):
        numbers = (change.ratio, *(change.interval or (None, None)), change.p, change.before, change.after)
        writer.writerow([named(case), change.verdict.value, *("" if number is None else f"{number:.4g}" for number in numbers)])
    return text.getvalue()


def _grid(content: Content, one: Series) -> list[tuple[str, list[dict[str, Any] | None]]]:
    """A row for each release but the last, a cell for each but the first."""
    rows = []
    for before, release in zip(one.results, one.releases[:-1]):
        cells: list[dict[str, Any] | None] = []
        for after in one.results[1:]:
            address = content.linked(before, after)
            cells.append(_counted(address, content.comparisons[address]) if address and _earlier(one, before, after) else None)
        rows.append((release.version, cells))
    return rows


def _earlier(one: Series, before: Result, after: Result) -> bool:
    return one.results.index(before) < one.results.index(after)


def _counted(address: str, found: Comparison) -> dict[str, Any]:
    changes: list[Change] = list(found.changes.values())
    return {
        "address": address,
        "named": found.named,
        "to": version(found.after),
        "cases": len(changes),
        "slower": sum(change.verdict is Verdict.SLOWER for change in changes),
        "faster": sum(change.verdict is Verdict.FASTER for change in changes),
        "judged": 2 * sum(change.interval is not None for change in changes) >= len(changes) > 0,
    }


def _neighbours(content: Content, found: Comparison, one: Series) -> list[tuple[str, str]]:
    """The same comparison a release earlier and later, where there is one."""
    steps = {after.path: (before, after) for before, after in pairwise(one.results)}
    links = []
    if found.before.path in steps:
        links.append((f"from {version(steps[found.before.path][0])}", content.linked(steps[found.before.path][0], found.after)))
    later = next((after for before, after in pairwise(one.results) if before.path == found.after.path), None)
    if later is not None:
        links.append((f"to {version(later)}", content.linked(found.before, later)))
    return [(label, address) for label, address in links if address]


def _provenances(one: Result, other: Result) -> list[tuple[str, str, str]]:
    """What differs, by name."""
    names = dict.fromkeys([*one.provenance, *other.provenance])
    rows = [(name, _text(one.provenance.get(name)), _text(other.provenance.get(name))) for name in names]
    return [row for row in rows if row[1] != row[2]]


def _text(value: Any) -> str:
    return "" if value in (None, {}, "") else str(value)
