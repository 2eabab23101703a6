"""What each method does: a table of all of them, and what is added to the page of each on a device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from markupsafe import Markup

from tensorcopy.copying import memory, recommend
from tensorcopy.copying.drawings import draw_methods
from tensorcopy.copying.inside.semantics import describe, error_of
from tensorcopy.copying.pages.choose import Tables
from tensorcopy.copying.recommend import Table
from tensorcopy.judge.methods import Word
from tensorcopy.numbers import count, ratio_text
from tensorcopy.site.facts import ShownHistory, Site, spans
from tensorcopy.site.views import Page, Values

KINDS = {"with_grad": "x requires grad", "plain": "x requires no grad"}
PLAIN = {  # by the words of `describe`
    "independent": "has memory of its own",
    "shares storage": "shares the memory of x",
    "in the graph": "gradients flow back to x",
    "out of the graph": "no gradient flows back",
}


def pages(site: Site, engine: Mapping[str, Page], tables: Mapping[str, Tables]) -> Iterator[Page]:
    """Yield the table of all methods; and the engine's pages of methods and comparisons with what methods were observed to do."""
    description = "What each way of copying a PyTorch tensor shares, keeps and warns about, as observed with the newest release."
    observed = [(device, *kind, history.newest(device)) for device, history in site.answering.items() for kind in KINDS.items()]
    values = {"blocks": observed, "addresses": site.addresses, "error_of": error_of}
    yield Page("methods/index.html", "methods.html", "What each method does", description, values)
    for page in engine.values():
        if page.template == "subject.html" and page.values["subject"] in site.methods:
            history, device = page.values["history"], page.values["device"]
            answers = [*tables[device].values()] if device in history.answers_for else []
            about = _about(history, page.values["subject"], device, answers)
            yield page._replace(template="method.html", values={**page.values, **about})
        elif page.template == "compare.html":
            blocks = [{**block, "behaviour": [*_behaviour(block)]} for block in page.values["blocks"]]
            yield page._replace(values={"blocks": blocks})


def _about(history: ShownHistory, method: str, device: str, tables: Sequence[Table]) -> Values:
    """Return what a method was observed to do with each release on a device, its memory, and what is recommended in its place."""
    seen = {
        title: spans(
            (result.version, _told(outcome, device)) for result in history.results if (outcome := result.outcome(method, kind, device))
        )
        for kind, title in KINDS.items()
    }
    drawings = draw_methods({name: row for name, row in history.methods.items() if name == method}, device)
    return {
        "drawing": Markup(drawings.get(method, "")),  # noqa: S704 - our own SVG
        "seen": {title: runs for title, runs in seen.items() if runs},
        "memory": memory.use(history.results, method, device),
        "compared": [*_compared(tables, method)],
    }


def _compared(tables: Sequence[Table], method: str) -> Iterator[Values]:
    """Yield how a method compares with the one that is recommended for what it does, for x with and without grad, by runs of sizes."""
    for table in tables:
        timed = [(column, column.cells[method].against) for column in table.columns if method in column.cells]
        if table.timed != table.request or not timed:
            continue
        runs = []
        for (first, word), of_run in groupby(timed, key=lambda each: (each[0].recommended, each[1].word if each[1] else None)):
            run = [*of_run]
            ratios = sorted(against.ratio for _, against in run if against and word in (Word.SLOWER, Word.FASTER))
            ends = " to ".join(dict.fromkeys(map(ratio_text, (*ratios[:1], *ratios[-1:]))))
            sizes = " to ".join(dict.fromkeys(count(run[place][0].numel) for place in (0, -1)))
            if first == method or word:  # else no launch has both
                runs.append((table.row(first).code if first != method else "", word.value if word else "", ends, sizes))
        elsewhere = recommend.elsewhere(table) if table.rows[0].method == method and not table.request.requires_grad else {}
        yield {"elsewhere": elsewhere, "to": table.request.to, "own": table.request.own, "grad": table.request.requires_grad, "runs": runs}


def _told(outcome: Mapping[str, Any], device: str) -> str:
    """Return an outcome in words that need no glossary."""
    return ", ".join(PLAIN.get(word, word) for word in describe(outcome, device).split(", "))


def _behaviour(block: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """Yield what methods do differently with the later release: the code, for which tensor, before and after."""
    before, after, device = block["before"], block["after"], block["device"]
    for method, row in after.methods.items():
        for kind, title in KINDS.items():
            first, second = (side.outcome(method, kind, device) for side in (before, after))
            if first and second and (texts := (_told(first, device), _told(second, device)))[0] != texts[1]:
                yield str(row.get("code", method)), title, *texts
