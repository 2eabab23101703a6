"""The comparisons: an index for each machine, and a page for each pair of releases, which of neighbours is what the later one changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from markupsafe import Markup

from tensorcopy.judge import comparisons
from tensorcopy.judge.comparisons import Comparison, Mean
from tensorcopy.judge.paired import APART, Change, Verdict
from tensorcopy.releases import release_table
from tensorcopy.report import explanation, sentences
from tensorcopy.report.sentences import (
    CHANGED,
    TIME,
    UNMEASURED,
    WORK,
    apart_text,
    by_word,
    headline,
    largest,
    margins,
    mean_text,
    ordered,
    reasons,
    sensitivity_text,
    words_of,
)
from tensorcopy.results.cases import Case
from tensorcopy.results.result import Result
from tensorcopy.results.suite_specs import sections
from tensorcopy.site import addresses, plots
from tensorcopy.site.case_tables import group_by_section, suite_tables
from tensorcopy.site.changes import outcome_changes
from tensorcopy.site.content import Content, MachineChange, changes_of
from tensorcopy.site.history_chart import place_of
from tensorcopy.site.machine import Machine, Series, groups_of, methods_of
from tensorcopy.site.page import Page, circumstances, environment_text
from tensorcopy.worker.devices import DEVICES


@dataclass(frozen=True)
class PairLink:
    """A comparison's page and its counts of cases.

    name : of the other release
    tallies : of each device
    """

    name: str
    address: str
    tallies: tuple[Tally, ...]


@dataclass(frozen=True)
class Tally:
    """How many cases on a device have changed.

    changed : the number of cases by verdict
    rest : where no time has, what they are instead: "7 unknown"; "no change" if all are unchanged or equal
    """

    device: str
    changed: tuple[tuple[Verdict, int], ...]
    rest: str


@dataclass(frozen=True)
class MeanRow:
    """The means of a release against the one before it on the same Python.

    cells : of each method; total : of all methods of the first group
    """

    before: str
    after: str
    address: str
    cells: tuple[Mean | None, ...]
    total: Mean | None


@dataclass(frozen=True)
class MeanTable:
    """The geometric mean of each method over its sizes, by release, on one device.

    hardware : of the device; codes : of the methods; total : the name of the last column
    """

    machine: Machine
    device: str
    hardware: str
    codes: tuple[str, ...]
    total: str
    rows: tuple[MeanRow, ...]


def pages(content: Content) -> Iterator[Page]:
    """Yield an index for each machine, and one with the machine of every device, the CPU's first; then a page for each release.

    An index has the means of each device.
    """
    means = {
        (machine.name, device): table
        for machine in content.machines
        for device in machine.devices
        if (table := _mean_table(content, machine, device))
    }
    of_devices = tuple({each.machine.name: each.machine for each in content.devices}.values())
    by_device = [means[place] for each in content.devices if (place := (each.machine.name, each.device)) in means]
    indices = [
        ((machine,), addresses.of_comparisons(machine.name), [table for (name, _), table in means.items() if name == machine.name])
        for machine in content.machines
    ]
    for shown, address, tables in [*indices, (of_devices, addresses.COMPARISONS, by_device)]:
        environments = [(machine, series, _pair_rows(content, series)) for machine in shown for series in machine.series]
        values = {
            "machine": shown[0] if shown else None,
            "shown": shown,
            "machines": content.machines,
            "environments": environments,
            "means": tables,
            "mean_text": mean_text,
        }
        on = f" on {shown[0].name}" if shown and address != addresses.COMPARISONS else ""
        description = f"Every two torch releases measured beside each other{on}, with the numbers of slower and faster cases."
        yield Page(address, "comparisons.html", f"Compare two releases{on}", values, description=description)
    yield from _release_pages(content)


@dataclass(frozen=True)
class ReleaseLink:
    """What a release changed on a device of a machine.

    hardware : of the device; on : the machine and its Python
    headline : the number of cases by verdict
    """

    device: str
    hardware: str
    on: str
    address: str
    headline: tuple[str, ...]


def _release_pages(content: Content) -> Iterator[Page]:
    """Yield a page for each release that was compared with the one before it: on which device what changed, with a link to it."""
    shown = [each.machine for each in content.devices]
    ordered_series = sorted(content.series, key=lambda series: content.machine_of(series.newest) not in shown)
    by_release: dict[str, list[ReleaseLink]] = {}
    for series in ordered_series:
        for before, after in pairwise(series.results):
            address = content.comparison_address(before, after)
            comparison = content.comparisons[address]
            for device in sorted({case.device for case in comparison.changes}, key=DEVICES.index):
                on = f"{after.machine}, {environment_text(after.environment)}, against torch {before.version}"
                of_device = [change for case, change in comparison.changes.items() if case.device == device]
                links = by_release.setdefault(after.version, [])
                links.append(ReleaseLink(device, after.hardware(device), on, address, tuple(headline(of_device))))
    versions = release_table.in_order(by_release)
    for earlier, version, later in zip(["", *versions], versions, [*versions[1:], ""]):
        links = sorted(by_release[version], key=lambda each: DEVICES.index(each.device))
        around = [(each, addresses.of_release(each)) for each in (earlier, later) if each]
        description = f"What torch {version} made slower and faster on each device, against the release before it."
        values = {"release": version, "links": links, "around": around}
        yield Page(addresses.of_release(version), "release.html", f"torch {version}: what changed", values, description=description)


def _mean_table(content: Content, machine: Machine, device: str) -> MeanTable | None:
    """Return the means of a device, the newest release first, each on the newest Python; None where nothing was compared."""
    pairs: dict[str, tuple[Result, Result]] = {}
    for series in machine.joined_series:
        for before, after in pairwise(series.results):
            pairs.setdefault(after.version, (before, after))
    newest_first = [pairs[version] for version in machine.releases[::-1] if version in pairs]
    compared = [content.comparisons[address] for pair in newest_first if (address := content.comparison_address(*pair))]
    by_method = [comparisons.method_means(each.question) for each in compared]
    methods = [method for group in groups_of(machine.result) for method in methods_of(machine.result, group, device)]
    shown = [method for method in methods if any((method, device) in row for row in by_method)]
    if not shown:
        return None
    first = next(row[shown[0], device] for row in by_method if (shown[0], device) in row)
    rows = []
    for comparison, of_methods in zip(compared, by_method):
        total = next((mean for mean in comparisons.group_means(comparison) if (mean.module, mean.device) == (first.module, device)), None)
        address = content.comparison_address(comparison.before, comparison.after)
        cells = tuple(of_methods.get((method, device)) for method in shown)
        rows.append(MeanRow(comparison.before.version, comparison.after.version, address, cells, total))
    codes = tuple(machine.code(method, device) for method in shown)
    return MeanTable(machine, device, machine.result.hardware(device), codes, f"all {sections()[first.module].lower()}", tuple(rows))


def _pair_rows(content: Content, series: Series) -> list[tuple[str, PairLink | None, PairLink | None]]:
    """Return each release, the newest first, with its comparison with the one before and with the newest."""

    def link(before: Result, after: Result, name: str) -> PairLink | None:
        address = content.comparison_address(before, after)
        return _pair_link(content.comparisons[address], name) if address else None

    results, rows = series.results, []
    for index, result in enumerate(results):
        from_before = link(results[index - 1], result, results[index - 1].version) if index else None
        to_newest = link(result, series.newest, series.newest.version) if index < len(results) - 2 else None
        rows.append((result.version, from_before, to_newest))
    return rows[::-1]


def _pair_link(comparison: Comparison, name: str) -> PairLink:
    by_device: dict[str, list[Change]] = {}
    for case, change in comparison.changes.items():
        by_device.setdefault(case.device, []).append(change)
    tallies = tuple(_tally(device, by_device[device]) for device in sorted(by_device, key=DEVICES.index))
    return PairLink(name, addresses.of_comparison(comparison.before, comparison.after), tallies)


def _tally(device: str, changes: Sequence[Change]) -> Tally:
    number = by_word(changes)
    changed = tuple((verdict, number[verdict.value]) for verdict in CHANGED if number[verdict.value])
    words = [word for word in words_of(TIME, number) if word not in (Verdict.UNCHANGED.value, *(verdict.value for verdict in CHANGED))]
    rest = ", ".join(f"{number[word]} {word}" for word in words if number[word]) or ("" if changed else "no change")
    return Tally(device, changed, "" if any(number[verdict.value] for verdict in TIME[:2]) else rest)


@dataclass(frozen=True)
class ComparedCase:
    """A case with its change."""

    case: Case
    change: Change

    @property
    def is_changed(self) -> bool:
        """Whether the time is slower or faster."""
        return self.change.timed and self.change.verdict in CHANGED

    @property
    def work(self) -> Verdict | None:
        """Whether the instructions are more, fewer or equal; None where they were not counted."""
        return self.change.count.verdict if self.change.count and self.change.timed else None


def machine_pages(content: Content, machine: Machine) -> Iterator[Page]:
    """Yield a page for each pair of a machine."""
    for address, each in content.comparisons.items():
        if each.after.machine == machine.name:
            yield _comparison_page(content, address)


def _comparison_page(content: Content, address: str) -> Page:
    comparison = content.comparisons[address]
    before, after, changes = comparison.before, comparison.after, comparison.changes
    machine = content.machine_of(after)
    series = next(series for series in machine.series if after in series.results)
    by_section = group_by_section(machine, [case for case, change in changes.items() if change.timed])
    is_release = (before, after) in pairwise(series.results)
    apart = [(case, change) for case, change in changes.items() if change.reason in APART]
    tracked = [(case, change) for case, change in ordered(changes.items()) if not change.timed and (case, change) not in apart]
    grids = _grids(content, comparison, by_section, is_release=is_release)
    rows = {case: ComparedCase(case, change) for case, change in changes.items() if change.timed}
    words = [word for word in words_of(TIME, by_word(row.change for row in rows.values())) if word not in UNMEASURED]
    shown = [_section(machine, name, [rows[case] for case in cases], words) for name, cases in by_section.items()]
    values = {
        "comparison": comparison,
        "margins": margins(change for change in changes.values() if change.interval).replace(" %", "\u202f%"),
        "least_changes": sentences.least_changes([change for change in changes.values() if change.interval]),
        "levels": sentences.levels(changes.values()),
        "machine": machine,
        "means": sentences.mean_lines(comparison),
        "headline": [
            *headline(changes.values()),
            largest([(f"{machine.case_code(case)}, {circumstances(case)}", change) for case, change in changes.items()]),
        ],
        "time_verdicts": words,
        "has_likely": any(change.likely for change in changes.values()),
        "work_verdicts": [verdict.value for verdict in WORK] if any(row.work for row in rows.values()) else [],
        "totals": [sum(numbers) for numbers in zip(*([*section["counts"], *section["work_counts"]] for section in shown))],
        "sections": shown,
        "repeated": sum(number > 1 for place, number in Counter(place_of(machine, case) for case in rows).items() if place),
        "tracked": tracked,
        "apart_text": lambda change: apart_text(change, comparison.labels),
        "apart": apart,
        "seen": sensitivity_text(comparisons.sensitivity(comparison.changes)),
        "reasons": reasons(comparison),
        "evidence": "; ".join(sentences.launch_lines(comparison)),
        "grids": grids,
        "neighbours": _neighbours(content, comparison, series),
        "releases": [release for release in series.releases if release.sha == after.sha],
        "release": after.version if is_release else "",
        "counted": [change for change in changes_of(content, machine, counted=True) if is_release and _is_of(change, series, after)],
        "behaviour": list(outcome_changes(before, after)),
        "arguments": [_argument(content, result) for result in (before, after)],
        "causes": [
            (machine.code(each.name.split()[0]), explanation.case_text(each.name), each.address)
            for each in machine.causes.values()
            if (each.before, each.after) == (before, after)
        ],
    }
    place = f"{after.machine}, {environment_text(after.environment)}"  # what differs stands in the labels
    title = f"{comparison.labels[0]} → {comparison.labels[1]}" if not is_release else f"torch {after.version}: what changed"
    title = f"{title} on {place}"
    description = f"{comparison.labels[0]} → {comparison.labels[1]} on {place}. {' '.join(headline(changes.values()))}"
    return Page(address, "compare.html", title, values, description=description)


def _grids(
    content: Content, comparison: Comparison, by_section: Mapping[str, Sequence[Case]], *, is_release: bool
) -> list[tuple[str, Markup, float]]:
    """Return the picture of each device whose methods were timed by size: the device's name, and the end of the axis of its cells.

    is_release : of a release against the one before it, whose changes lead to their cases
    """
    machine, grids = content.machine_of(comparison.after), []
    sized: dict[tuple[str, str], list[Change]] = {}
    for case, change in comparison.changes.items():
        if by := plots.size_parameter(case):
            sized.setdefault((case.device, by), []).append(change)
    for device, by in sorted(sized, key=lambda place: DEVICES.index(place[0])):
        limit = axis_limit(sized[device, by])
        if svg := plots.by_method(comparison, machine, by_section, device, by, limit, has_links=is_release):
            grids.append((f"{device.upper()}, {comparison.after.hardware(device)}", Markup(svg), limit))  # noqa: S704 - our own SVG
    return grids


def _is_of(change: MachineChange, series: Series, after: Result) -> bool:
    return change.release == after.version and change.series is series


def axis_limit(changes: list[Change]) -> float:
    """Return an axis limit that holds nine tenths of the intervals, as a share.

    It is at least 0.1.
    """
    ends = sorted(max(change.interval[1], 1 / change.interval[0]) - 1 for change in changes if change.interval)
    return max(0.1, ends[int(0.9 * (len(ends) - 1))]) if ends else 0.1


def _section(machine: Machine, name: str, rows: Sequence[ComparedCase], words: Sequence[str]) -> dict[str, Any]:
    """Return the copies, the conversions, or another kind of cases.

    words : the verdicts on a time
    counts : the number of cases by word; work_counts : by verdict on the instructions
    changed : the slower cases, the faster ones, and the likely ones, each with the largest factor first
    tables : every case, a table for each suite
    """
    by_case, number = {row.case: row for row in rows}, by_word(row.change for row in rows)
    ranked = [by_case[case] for case, _ in ordered(((row.case, row.change) for row in rows), by_factor=True)]
    return {
        "name": name,
        "counts": [number[word] for word in words],
        "sizes": [sentences.sizes_of((row.change for row in rows), verdict) for verdict in TIME[:2]],
        "work_counts": [sum(row.work is verdict for row in rows) for verdict in WORK],
        "changed": [row for row in ranked if row.is_changed or row.change.likely],
        "tables": suite_tables(machine, by_case),
    }


def _argument(content: Content, result: Result) -> str:
    """Return a result as `tensorcopy compare` takes it: "2.15.0@3.11@machine"."""
    parts = [result.version, result.python, result.machine, *([result.series_key.build] if len(content.builds) > 1 else [])]
    return "@".join(parts)


def _neighbours(content: Content, comparison: Comparison, series: Series) -> list[tuple[str, str]]:
    """Return links to the comparisons from one release earlier and to one later."""
    before, after, links = comparison.before, comparison.after, []
    for earlier, later in pairwise(series.results):
        if later is before:
            links.append((f"from {earlier.version}", content.comparison_address(earlier, after)))
        if earlier is after:
            links.append((f"to {later.version}", content.comparison_address(before, later)))
    return [(label, address) for label, address in links if address]
