"""The landing page: what to use, what changed, what is fastest, how reliable."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from markupsafe import Markup

from tensorcopy.analysis.series import DISPATCHER
from tensorcopy.analysis.verdict import Verdict
from tensorcopy.report.units import count
from tensorcopy.site import addresses
from tensorcopy.site.filters import code_markup, percent
from tensorcopy.site.model.changes import MachineChange, machine_changes
from tensorcopy.site.model.content import Content
from tensorcopy.site.model.costs import CostTable
from tensorcopy.site.model.machine import Machine
from tensorcopy.site.model.result_series import Series
from tensorcopy.site.model.summary import Summary, by_method
from tensorcopy.site.page import Page
from tensorcopy.site.translate import LANGUAGES, Translate, translator

RECENT_CHANGES = 6  # so that the page stays short
SLOWDOWN = 0.1  # the size of slowdown whose detection rate is shown


@dataclass(frozen=True)
class NewestComparison:
    """The newest release against the one before, by method and device.

    rows : a method with its summary on each device; None where it was not measured
    """

    before: str
    after: str
    devices: list[str]
    rows: list[tuple[str, list[Summary | None]]]
    address: str


@dataclass(frozen=True)
class RecentChange:
    """A change of the first series, in the language of the page."""

    date: str
    release: str
    address: str
    text: Markup


def pages(content: Content) -> Iterator[Page]:
    """Yield the landing page in every language."""
    languages = {language: addresses.translated(addresses.LANDING, language) for language in LANGUAGES}
    for language, address in languages.items():
        translate = translator(language)
        values: dict[str, Any] = {"machine": content.machine, "machines": content.machines}
        if content.machine:
            values |= {
                "answer": _answer(content.machine, translate),
                "news": _news(content.machine, translate),
                "newest": _newest(content.machine.series[0]),
                "changes": _changes(content, content.machine, translate),
                "tiles": _tiles(content, content.machine, translate),
                "card_note": _card_note(content, translate),
                "codes": partial(_codes, content.machine, translate("and")),
            }
        yield Page(address, "landing.html", str(translate("question")), values, language, languages)


def _answer(machine: Machine, translate: Translate) -> Markup:
    """Return which copy and which conversion to use, as a sentence.

    It is empty when no copy was measured.
    """
    device = machine.device
    codes = {table.group: code_markup(machine.code(table.methods[row], device)) for table, row in machine.winners(device)}
    if not codes.get("copy"):
        return Markup("")
    name = "answer" if "conversion" in codes else "answer_copy"
    return translate(name, torch=machine.newest.version, hardware=machine.hardware(device), **codes)


def _news(machine: Machine, translate: Translate) -> Markup:
    """Return the number of cases by verdict since the release before, as a sentence."""
    latest = machine.series[0].latest
    if latest is None:
        return translate("news_first")
    verdicts = [change.verdict for change in latest.changes.values()]
    counts = {verdict.value: verdicts.count(verdict) for verdict in Verdict}
    before = machine.series[0].releases[-2].version
    return translate("news" if counts["slower"] else "news_none", before=before, cases=len(verdicts), **counts)


def _newest(series: Series) -> NewestComparison | None:
    """Return the comparison of the newest two releases; None for a single release.

    Primitives and alternatives are omitted.
    """
    if series.latest is None or series.previous is None:
        return None
    summaries = by_method(series.latest)
    shown = {dict(case.parameters).get("method") for case in series.latest.changes if case.suite.startswith(("copies.", "conversions."))}
    devices = list(dict.fromkeys(device for _, device in summaries))
    methods = [method for method in dict.fromkeys(method for method, _ in summaries) if method in shown]
    return NewestComparison(
        before=series.releases[-2].version,
        after=series.releases[-1].version,
        devices=devices,
        rows=[(method, [summaries.get((method, device)) for device in devices]) for method in methods],
        address=addresses.of_comparison(series.previous, series.newest),
    )


def _changes(content: Content, machine: Machine, translate: Translate) -> list[RecentChange]:
    """Return recent confirmed changes that the machine does not explain."""
    changes = [change for change in machine_changes(content, machine) if change.confirmed and not change.machine_changes]
    return [
        RecentChange(change.date, change.release, change.comparison_address, _change_text(change, translate))
        for change in changes[:RECENT_CHANGES]
    ]


def _change_text(machine_change: MachineChange, translate: Translate) -> Markup:
    change = machine_change.change
    device = "" if change.group.device == "cpu" else f" ({change.group.device})"
    kind = translate(
        "cases_small" if change.group.small else "cases_large", group=f"{change.group.module}{device}", numel=count(DISPATCHER)
    )
    if change.as_group:
        return translate(f"group_{change.verdict}", kind=kind, ratio=percent(change.ratio))
    return translate(f"changed_{change.verdict}", changed=len(change.cases), cases=change.of, kind=kind, ratio=percent(change.ratio))


def _tiles(content: Content, machine: Machine, translate: Translate) -> list[tuple[Markup, object]]:
    """Return the figures about freshness and reliability, each with its name."""
    fewest, most = machine.passes_of(machine.result)
    tiles: list[tuple[Markup, object]] = [
        (translate("measured"), str(machine.provenance["started"])[:10]),
        (translate("releases"), len({release.version for series in machine.series for release in series.releases})),
        (translate("passes"), fewest if fewest == most else f"{fewest}–{most}"),
    ]
    for row in (content.card or {}).get("two_sides", ()):
        if not row["change"]:
            alarms = translate("part_of", part=row["slower"] + row["faster"], total=f"{row['comparisons']:,}")
            tiles.append((translate("false_alarms"), alarms))
        elif row["change"] == SLOWDOWN:
            share = f"{100 * row['slower'] / row['comparisons']:.0f} %"
            tiles.append((translate("detected", size=f"{100 * SLOWDOWN:g}"), share))
    article = machine.result.article.get("cpu")
    if article:
        tiles.append((translate("article_holds"), translate("part_of", part=article["hold"], total=article["statements"])))
    return tiles


def _card_note(content: Content, translate: Translate) -> Markup:
    """Return how the accuracy report's figures were obtained."""
    return translate("card_note", **{name: content.card[name] for name in ("passes", "torch", "cpu")}) if content.card else Markup("")


def _codes(machine: Machine, separator: Markup, table: CostTable, rows: list[int]) -> Markup:
    return separator.join(code_markup(machine.code(table.methods[row], table.device)) for row in rows)
