"""The landing page: what to use, what changed, what is fastest, how sure that is; in every language."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from markupsafe import Markup

from tensorcopy.analysis.series import DISPATCHER, ReleaseChange
from tensorcopy.analysis.two_sample import Verdict
from tensorcopy.report.case_history import sentence
from tensorcopy.report.units import count
from tensorcopy.site import addresses
from tensorcopy.site.filters import coded, percent
from tensorcopy.site.model.content import Content
from tensorcopy.site.model.costs import CostTable
from tensorcopy.site.model.machine import Machine
from tensorcopy.site.model.result_series import Series
from tensorcopy.site.model.summary import by_method
from tensorcopy.site.page import Page
from tensorcopy.site.translate import LANGUAGES, Speaker, speaker

CHANGES = 6  # of the last, so that the page stays short
FOUND = 0.1  # the slowdown that most people would want to be told of


def pages(content: Content) -> Iterator[Page]:
    languages = {language: addresses.translated(addresses.LANDING, language) for language in LANGUAGES}
    for language, address in languages.items():
        say = speaker(language)
        values: dict[str, Any] = {"machine": content.machine, "machines": content.machines}
        if content.machine:
            values |= {
                "answer": _answer(content.machine, say),
                "news": _news(content.machine, say),
                "latest": _latest(content.machine.series[0]),
                "changes": _changes(content, content.machine, say),
                "tiles": _tiles(content, content.machine, say),
                "card": _card(content, say),
                "codes": partial(_codes, content.machine, say("and")),
            }
        yield Page(address, "landing.html", str(say("question")), values, language, languages)


def _answer(machine: Machine, say: Speaker) -> Markup:
    """The sentence that a reader came for."""
    device = machine.device
    codes = {table.group: coded(machine.code(table.methods[row], device)) for table, row in machine.winners(device)}
    if not codes.get("copy"):
        return Markup("")
    name = "answer" if "conversion" in codes else "answer_copy"
    return say(name, torch=machine.newest.version, where=machine.hardware(device), **codes)


def _news(machine: Machine, say: Speaker) -> Markup:
    latest = machine.series[0].latest
    if latest is None:
        return say("news_first")
    verdicts = [change.verdict for change in latest.changes.values()]
    counts = {verdict.value: verdicts.count(verdict) for verdict in Verdict}
    before = machine.series[0].releases[-2].version
    return say("news" if counts["slower"] else "news_none", before=before, cases=len(verdicts), **counts)


def _latest(one: Series) -> dict[str, Any] | None:
    """The newest release against the one before it, by method and device."""
    if one.latest is None or one.before is None:
        return None
    told = by_method(one.latest)
    asked = {dict(case.parameters).get("method") for case in one.latest.changes if case.suite.startswith(("copies.", "conversions."))}
    devices = list(dict.fromkeys(device for _, device in told))
    methods = [method for method in dict.fromkeys(method for method, _ in told) if method in asked]
    rows = [(method, [told.get((method, device)) for device in devices]) for method in methods]
    versions = (one.releases[-2].version, one.releases[-1].version)
    return {"versions": versions, "devices": devices, "rows": rows, "address": addresses.of_pair(one.before, one.newest)}


def _changes(content: Content, machine: Machine, say: Speaker) -> list[dict[str, Any]]:
    """The last moves of the machine's first series that are torch's."""
    told = [
        {
            "date": release_change["date"],
            "release": release_change["release"],
            "address": release_change["address"],
            "text": say(
                "moved_slower" if release_change["slower"] else "moved_faster",
                some=release_change["cases"],
                of=release_change["of"],
                kind=say(
                    "cases_small" if release_change["small"] else "cases_large", device=release_change["device"], numel=count(DISPATCHER)
                ),
                ratio=percent(release_change["ratio"]),
            ),
        }
        for release_change in changes_by_release(content, machine.series[0])
        if not release_change["machine_changes"]
    ]
    return told[:CHANGES]


def changes_by_release(content: Content, one: Series) -> list[dict[str, Any]]:
    """What moved together in a series, the newest first, with where its evidence lies."""
    place = {release.version: index for index, release in enumerate(one.releases)}
    found = []
    for release_change in one.changes_by_release:
        index = place[release_change.release]
        case, step = release_change.most
        found.append(
            {
                "date": one.releases[index].date.isoformat(),
                "release": release_change.release,
                "environment": one.environment,
                "address": content.linked(one.results[index - 1], one.results[index]) or addresses.HISTORIES,
                "slower": release_change.verdict == "slower",
                "cases": len(release_change.cases),
                "of": release_change.of,
                "device": release_change.device,
                "small": release_change.small,
                "ratio": release_change.ratio,
                "text": sentence(release_change),
                "most": case,
                "most_ratio": step.ratio,
                "most_address": addresses.of_case(one.machine, case),
                "machine_changes": one.machine_changes.get(release_change.release, []),
                "confirmed": index < len(one.releases) - 1 or _confirmed(one, release_change),
            }
        )
    return found


def _confirmed(one: Series, release_change: ReleaseChange) -> bool:
    """Whether the judge sees with the newest release, for any of the cases, what the history sees: no later one could contradict it yet."""
    return one.latest is not None and any(
        one.latest.changes[case].verdict.value == release_change.verdict for case in release_change.cases if case in one.latest.changes
    )


def _tiles(content: Content, machine: Machine, say: Speaker) -> list[tuple[Markup, object]]:
    few, many = machine.passes_of(machine.result)
    tiles: list[tuple[Markup, object]] = [
        (say("measured"), str(machine.provenance["started"])[:10]),
        (say("releases"), len({release.version for one in machine.series for release in one.releases})),
        (say("passes"), few if few == many else f"{few}–{many}"),
    ]
    for row in (content.card or {}).get("two_sides", ()):
        if not row["change"]:
            tiles.append((say("false_alarms"), say("of_many", some=row["slower"] + row["faster"], of=f"{row['comparisons']:,}")))
        elif row["change"] == FOUND:
            tiles.append((say("found", share=f"{100 * FOUND:g}"), f"{100 * row['slower'] / row['comparisons']:.0f} %"))
    article = machine.result.article.get("cpu")
    if article:
        tiles.append((say("article_holds"), say("of_many", some=article["hold"], of=article["statements"])))
    return tiles


def _card(content: Content, say: Speaker) -> Markup:
    """On what the card's two tiles stand."""
    return say("card_note", **{name: content.card[name] for name in ("passes", "torch", "cpu")}) if content.card else Markup("")


def _codes(machine: Machine, joint: Markup, table: CostTable, rows: list[int]) -> Markup:
    return joint.join(coded(machine.code(table.methods[row], table.device)) for row in rows)
