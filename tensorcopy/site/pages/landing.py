"""The landing page: what to use, the history of its time, what an upgrade changes, and how reliable this is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from math import log, log1p, log2
from posixpath import commonpath
from statistics import median
from typing import Any

from markupsafe import Markup

from tensorcopy.analysis import recommend
from tensorcopy.analysis.series import DISPATCHER, CaseSeries, ReleaseChange, releases_of
from tensorcopy.analysis.two_sample import MARGIN, Change, Verdict
from tensorcopy.report.numbers import count, duration, percent
from tensorcopy.report.words import LANGUAGES, texts
from tensorcopy.results import suite_specs
from tensorcopy.results.passes import Case
from tensorcopy.results.reader import Result
from tensorcopy.site import addresses, plots
from tensorcopy.site.content import Content, MachineChange, time_changes
from tensorcopy.site.machine import GROUPS, CostTable, Machine, case_of
from tensorcopy.site.page import Page, Translate, code_markup, translator
from tensorcopy.site.pages import explorer
from tensorcopy.site.plots import Sparkline, sparkline, whole_percent
from tensorcopy.worker.devices import DEVICES

RECENT_CHANGES = 6  # so that the page stays short
SLOWDOWN = 0.1  # the size of slowdown whose detection rate is shown
UPGRADED = 10  # releases back, some two years: the upgrade that is shown first
SOME_TIMES = "some times"  # what the data of the chart has, in contrast to the "times" of the explorer
NUMEL = 2**14  # of the article's largest tensor, and of the chart on the landing page
COPIES, CONVERSIONS = "copies", "conversions"  # the modules of suites that are counted, each apart


@dataclass(frozen=True)
class DeviceAnswer:
    """What to use on a device, in the language of the page.

    answer, source : the sentence, and where it was measured; "" for a device that was not measured
    """

    device: str
    answer: str = ""
    source: str = ""


@dataclass(frozen=True)
class GridCell:
    """A method at one size.

    rank : "fastest", "tied" with the fastest, or ""
    address : of the case's history
    """

    numel: int
    rank: str
    address: str
    line: Sparkline


@dataclass(frozen=True)
class RecentChange:
    """A change, in the language of the page."""

    date: str
    release: str
    address: str
    text: Markup


@dataclass(frozen=True)
class OwnMachine:
    """The machine that measured last, with its recommended copy at one size.

    code, time : of the recommended copy, in seconds
    ratio : of that time to the shown machine's, of the same method with the same release; None where that was not measured
    """

    machine: Machine
    numel: int
    code: str
    time: float
    ratio: float | None


@dataclass(frozen=True)
class Tally:
    """How many cases of one kind became slower and faster, of how many."""

    slower: int
    faster: int
    cases: int


@dataclass(frozen=True)
class Upgrade:
    """An upgrade from one release to a newer one.

    address : of the comparison page that has judged it; "" where the histories are counted
    """

    before: str
    after: str
    copies: Tally
    conversions: Tally
    address: str


def pages(content: Content) -> Iterator[Page]:
    """Yield the landing page in every language."""
    languages = {language: addresses.translated(addresses.LANDING, language) for language in LANGUAGES}
    shared = _shared(content, content.machine) if content.machine else {}
    for language, address in languages.items():
        translate = translator(language)
        values: dict[str, Any] = {"machine": content.machine, "machines": content.machines, **shared}
        if content.machine:
            values |= {
                "answers": _answers(content, content.machine, translate),
                "chart_data": _chart_data(shared["chart_documents"], translate) if shared["chart_documents"] else "",
                "own_text": _own_text(content.machine, shared["own"], translate),
                "news": _news(content, content.machine, translate),
                "changes": _changes(content, content.machine, translate),
                "tiles": _tiles(content, content.machine, translate),
                "card_note": _card_note(content, translate),
                "upgrade_data": explorer.json_text(_upgrade_data(shared["upgrades"], address, language)),
            }
        yield Page(address, "landing.html", str(translate("question")), values, language, languages)


def _shared(content: Content, machine: Machine) -> dict[str, Any]:
    """Return the values that do not depend on the language."""
    axis, own = axis_of(machine), own_machine(content)
    cases, every = _charted(machine), upgrades(content, machine)
    shown = _shown(machine, cases)
    first = (axis[-min(len(axis), UPGRADED + 1)], axis[-1]) if axis else ()  # none where no copies by size were measured
    return {
        "own": own,
        "chart_documents": _chart_documents(content, machine, cases, own) if shown else [],
        "chart_svg": Markup(plots.of_methods(machine, shown, axis, own.machine if own else None)) if shown else "",  # noqa: S704 - our own SVG
        "chart_numel": shown[0]["numel"] if shown else "",
        "chart_codes": [machine.code(case["method"], case.device) for case in shown],
        "counted": (suite_specs.INSTRUCTIONS,) if machine.counts_instructions else (),
        "csv": f"data/{addresses.slug(machine.name)}.csv",
        "explorer": explorer.link(machine, *shown),
        "own_explorer": explorer.link(own.machine) if own else "",
        "upgrades": every,
        "to_newest": [upgrade for upgrade in every if upgrade.after == axis[-1]][::-1],
        "first_upgrade": next((upgrade for upgrade in every if (upgrade.before, upgrade.after) == first), None),
        "grids": [(table, _grid_rows(machine, table, axis)) for table in machine.costs],
    }


def _charted(machine: Machine) -> list[Case]:
    """Return the cases of the chart: copies and conversions of each size without grad, on one device.

    Those with grad are loaded when they are chosen, so that the page stays small.
    """
    suites = {suite_specs.timed_by_size(group, machine.device) for group in GROUPS}
    return [case for case in machine.history if case.suite in suites and case.device == machine.device]


def _chart_documents(content: Content, machine: Machine, cases: Sequence[Case], own: OwnMachine | None) -> list[dict[str, Any]]:
    """Return what the script draws: the history of the shown machine, and that of the own one."""
    documents = [_joined_data(content, machine, cases)]
    if own:
        documents.append(_joined_data(content, own.machine, _charted(own.machine)))
    return documents


def _joined_data(content: Content, machine: Machine, cases: Sequence[Case]) -> dict[str, Any]:
    """Return the history of cases as in `explorer.chart_data`, without the values that are not on the joined axis.

    Of an older Python these are the values from the joint on. The script loads the machine's other times when they are asked for.
    """

    def until(rows: Sequence[Any], release: int) -> list[Any]:
        first, *columns = rows
        return [first, *(column[: max(0, release - first)] for column in columns)]

    document = {**explorer.chart_data(machine, cases, content.comparison_address), "quantity": SOME_TIMES}
    newest, last = document["pythons"][0], 0
    for entry in document["cases"]:
        joints = {python: release for release, python, _ in entry.get("joints", ())}
        columns, last = entry["values"], max([last, *joints.values()])
        first = newest if newest in columns else next(iter(columns))
        entry["values"] = {python: until(rows, joints.get(python, 0)) if python != first else rows for python, rows in columns.items()}
        entry["values"] = {python: rows for python, rows in entry["values"].items() if rows[1]}
    document["memcpy"] = [
        {python: rows if python == newest else until(rows, last) for python, rows in columns.items()} for columns in document["memcpy"]
    ]
    return document


def _chart_data(documents: Sequence[dict[str, Any]], translate: Translate) -> Markup:
    """Return the documents as text, the own machine labelled in the language of the page."""
    shown, *own = documents
    return explorer.json_text([shown, *({**document, "label": translate("own_machine")} for document in own)])


def _shown(machine: Machine, cases: Sequence[Case]) -> list[Case]:
    """Return the cases that the chart shows first: all copies, or else conversions, at the size nearest to `NUMEL` where any has changed.

    A chart with a labelled change shows what the page is about.
    """
    copies = [case for case in cases if case.suite == suite_specs.timed_by_size("copy", machine.device)]
    by_size: dict[str, list[Case]] = {}
    for case in copies or cases:
        by_size.setdefault(case["numel"], []).append(case)
    changed = [numel for numel, row in by_size.items() if any(machine.history[case].steps for case in row)]
    nearest = min(changed or by_size, key=lambda numel: abs(log2(int(numel) / NUMEL)), default="")
    return by_size.get(nearest, [])


def _grid_rows(machine: Machine, table: CostTable, releases: Sequence[str]) -> list[tuple[str, str, list[GridCell | None]]]:
    """Return each method of a table with its code and its cells by size; None where it was not measured.

    releases : the horizontal axis of every sparkline
    """
    rows = []
    for method, costs in zip(table.methods, table.costs):
        cells: list[GridCell | None] = []
        for numel, cost in zip(table.numels, costs):
            case = case_of(table.group, method, numel, table.device)
            series = machine.history.get(case)
            rank = "fastest" if cost.fastest else "tied" if cost.among_fastest else ""
            if series is None or not any(series.values):
                cells.append(None)
            else:
                cells.append(GridCell(numel, rank, addresses.of_case(machine.name, case), sparkline(series, releases)))
        rows.append((method, machine.code(method, table.device), cells))
    return rows


def _answers(content: Content, machine: Machine, translate: Translate) -> list[DeviceAnswer]:
    """Return the answer for every device, from the first machine that has it; the shown machine comes first."""
    machines = [machine, *(other for other in content.machines if other is not machine)]
    answers = []
    for device in DEVICES:
        measured = next((other for other in machines if any(table.device == device for table in other.costs)), None)
        answers.append(_answer(measured, device, translate) if measured else DeviceAnswer(device))
    return answers


def _answer(machine: Machine, device: str, translate: Translate) -> DeviceAnswer:
    """Return which copy and which conversion to use on a device of a machine."""
    options = {name: machine.recommended(to, device) for name, to in (("copy", "tensor"), ("conversion", "ndarray"))}
    codes = {name: code_markup(option.code) for name, option in options.items() if option}
    if "copy" not in codes:
        return DeviceAnswer(device)
    day = str(machine.provenance["started"])[:10]
    source = translate("answer_source", torch=machine.newest.version, hardware=machine.hardware(device), day=day)
    return DeviceAnswer(device, translate("answer" if "conversion" in codes else "answer_copy", **codes), source)


def _own_text(machine: Machine, own: OwnMachine | None, translate: Translate) -> Markup:
    """Return the recommended copy on the machine that measured last, beside the shown machine's; "" where they are the same."""
    if own is None:
        return Markup("")
    name = Markup("<b>{}</b> ({})").format(translate("own_machine"), own.machine.name)
    ratio = translate("own_ratio", ratio=f"{own.ratio:.2f}", shown=machine.name) if own.ratio else ""
    code, time = code_markup(own.code), duration(own.time)
    return translate("own_fastest", machine=name, numel=count(own.numel), code=code, time=time, ratio=ratio)


def _news(content: Content, machine: Machine, translate: Translate) -> Markup:
    """Return the number of cases by verdict since the release before, as a sentence."""
    series = machine.series[0]
    if len(series.results) == 1:
        return translate("news_first")
    latest = content.comparisons[content.comparison_address(*series.results[-2:])]
    verdicts = [change.verdict for change in latest.changes.values()]
    counts = {verdict.value: verdicts.count(verdict) for verdict in Verdict}
    before = series.releases[-2].version
    return translate("news" if counts["slower"] else "news_none", before=before, cases=len(verdicts), **counts)


def _upgrade_data(every: Sequence[Upgrade], page: str, language: str) -> dict[str, Any]:
    """Return every upgrade for the script, in order of both releases.

    pairs : slower, faster and cases of copies and of conversions, and the link to the comparison without the part that all links share
    """
    versions = list(dict.fromkeys(version for upgrade in every for version in (upgrade.before, upgrade.after)))
    names = ("upgrade_copies", "upgrade_conversions", "evidence", "upgrade_counted", "upgrade_from", "upgrade_to")
    links = [addresses.relative(page, upgrade.address) if upgrade.address else "" for upgrade in every]
    folders = [link.rpartition("/")[0] for link in links if link]
    shared = f"{commonpath(folders)}/" if folders else ""
    return {
        "releases": versions,
        "folder": shared,
        "pairs": [[*_numbers(upgrade), *([link.removeprefix(shared)] if link else [])] for upgrade, link in zip(every, links)],
        "texts": {name: texts()[name][language] for name in names},
    }


def _numbers(upgrade: Upgrade) -> list[int]:
    return [number for tally in (upgrade.copies, upgrade.conversions) for number in (tally.slower, tally.faster, tally.cases)]


def _changes(content: Content, machine: Machine, translate: Translate) -> list[RecentChange]:
    """Return recent confirmed changes that the machine does not explain, copies and conversions of a release first."""
    changes = [change for change in time_changes(content, machine) if change.confirmed and not change.machine_changes]
    shown: list[MachineChange] = []
    modules = [spec.module for spec in suite_specs.table().values() if spec.landing]
    for _, group in groupby(changes, key=lambda change: change.release):
        of_methods = [change for change in group if change.change.group.module in modules]
        shown += sorted(of_methods, key=lambda change: modules.index(change.change.group.module))
    return [
        RecentChange(change.date, change.release, change.comparison_address, _change_text(machine, change, translate))
        for change in shown[:RECENT_CHANGES]
    ]


def _change_text(machine: Machine, machine_change: MachineChange, translate: Translate) -> Markup:
    change = machine_change.change
    device = "" if change.group.device == "cpu" else f" ({change.group.device})"
    name = translate(f"kind_{change.group.module}") + device
    kind = translate("cases_small" if change.group.small else "cases_large", group=name, numel=count(DISPATCHER))
    methods = translate("and").join(_method_text(code, ratios, translate) for code, ratios in _ratios_by_method(machine, change).items())
    form = f"changed_{change.verdict}"
    if change.as_group:
        form = f"group_{change.verdict}" if methods else f"group_only_{change.verdict}"
    return translate(form, kind=kind, ratio=whole_percent(change.ratio), methods=methods)


def _ratios_by_method(machine: Machine, change: ReleaseChange) -> dict[str, list[float]]:
    """Return the changes of each method's cases, by the method's code; the largest change comes first."""
    by_method: dict[str, list[float]] = {}
    for case in change.cases:
        code = machine.code(dict(case.parameters).get("method", case.suite), case.device)
        by_method.setdefault(code, []).append(change.steps[case].ratio)
    return by_method


def _method_text(code: str, ratios: Sequence[float], translate: Translate) -> Markup:
    name = "method_changed" if len(ratios) > 1 else "method_changed_once"
    return translate(name, code=code_markup(code), ratio=whole_percent(median(ratios)), cases=len(ratios))


def _tiles(content: Content, machine: Machine, translate: Translate) -> list[tuple[Markup, object]]:
    """Return the figures about freshness and reliability, each with its name; shares are exact fractions."""
    fewest, most = machine.passes_of(machine.result)
    tiles: list[tuple[Markup, object]] = [
        (translate("measured"), str(machine.provenance["started"])[:10]),
        (translate("releases"), len({release.version for series in machine.series for release in series.releases})),
        (translate("passes"), fewest if fewest == most else f"{fewest}–{most}"),
    ]
    for row in (content.card or {}).get("two_sides", ()):
        total = f"{row['comparisons']:,}"
        if not row["change"]:
            tiles.append((translate("false_alarms"), translate("part_of", part=row["slower"] + row["faster"], total=total)))
        elif row["change"] == SLOWDOWN:
            tiles.append((translate("detected", size=percent(SLOWDOWN)), translate("part_of", part=row["slower"], total=total)))
    article = machine.result.article.get("cpu")
    if article:
        tiles.append((translate("article_holds"), translate("part_of", part=article["hold"], total=article["statements"])))
    return tiles


def _card_note(content: Content, translate: Translate) -> Markup:
    """Return how the accuracy report's figures were obtained."""
    return translate("card_note", **{name: content.card[name] for name in ("passes", "torch", "cpu")}) if content.card else Markup("")


def own_machine(content: Content) -> OwnMachine | None:
    """Return the machine that measured last; None where it is the one whose history is shown, or has no copies."""
    machine = content.machines[0] if content.machines else None
    shown = content.machine
    if machine is None or shown is None or machine is shown:
        return None
    request = recommend.common_request("tensor", machine.device)
    option = recommend.recommended(machine.result, request, machine.series[0].results, NUMEL)
    if option is None or option.timing is None:
        return None
    series, release = shown.history.get(option.case), machine.newest.version
    place = series.releases.index(release) if series and release in series.releases else None
    reference = series.measured[place] if series and place is not None else None
    time = option.timing.median
    return OwnMachine(machine, int(option.case["numel"]), option.code, time, time / reference if reference else None)


def axis_of(machine: Machine) -> tuple[str, ...]:
    """Return the releases of a machine's joined axis, the oldest first."""
    return tuple(releases_of(machine.history.values()))


def upgrades(content: Content, machine: Machine) -> list[Upgrade]:
    """Return every upgrade between two releases of a machine's joined axis, in order of both."""
    levels = [(case, _log_levels(series)) for case, series in machine.history.items() if case.spec.module in (COPIES, CONVERSIONS)]
    return [
        _judged_upgrade(content, machine, before, after) or _counted_upgrade(levels, before, after)
        for before, after in combinations(axis_of(machine), 2)
    ]


def _judged_upgrade(content: Content, machine: Machine, before: str, after: str) -> Upgrade | None:
    """Return an upgrade that has a comparison page; None for others."""
    for series in machine.series:
        results: dict[str, Result] = {release.version: result for release, result in zip(series.releases, series.results)}
        address = content.comparison_address(results[before], results[after]) if before in results and after in results else ""
        if address:
            changes = content.comparisons[address].changes
            return Upgrade(before, after, _verdicts(changes, COPIES), _verdicts(changes, CONVERSIONS), address)
    return None


def _verdicts(changes: Mapping[Case, Change], module: str) -> Tally:
    verdicts = [change.verdict for case, change in changes.items() if case.spec.module == module]
    return Tally(verdicts.count(Verdict.SLOWER), verdicts.count(Verdict.FASTER), len(verdicts))


def _counted_upgrade(levels: Iterable[tuple[Case, Mapping[str, float]]], before: str, after: str) -> Upgrade:
    """Return an upgrade by the histories of the cases that were measured with both releases."""
    changes = [(case, level[after] - level[before]) for case, level in levels if before in level and after in level]
    tallies = [_tally([change for case, change in changes if case.spec.module == module]) for module in (COPIES, CONVERSIONS)]
    return Upgrade(before, after, tallies[0], tallies[1], "")


def _tally(changes: list[float]) -> Tally:
    least = log1p(MARGIN) - 1e-9  # rounding must not decide
    return Tally(sum(change >= least for change in changes), sum(change <= -least for change in changes), len(changes))


def _log_levels(series: CaseSeries) -> dict[str, float]:
    """Return the level of a case at each measured release, in logarithms and against its first level."""
    return {
        release: sum(log(step.ratio) for step in series.steps if step.index <= index)
        for index, (release, value) in enumerate(zip(series.releases, series.values))
        if value is not None
    }
