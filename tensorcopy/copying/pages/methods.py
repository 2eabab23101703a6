"""What each method does: a table of all of them, and what is added to the page of each on a device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from markupsafe import Markup

from tensorcopy.copying import memory, recommend
from tensorcopy.copying.drawings import draw_methods
from tensorcopy.copying.inside.semantics import describe, error_of
from tensorcopy.copying.recommend import SizeColumn, Table
from tensorcopy.judge.methods import Word
from tensorcopy.numbers import count, ratio_text
from tensorcopy.results.launches import method_code
from tensorcopy.site.facts import ShownHistory, Site, spans
from tensorcopy.site.views import Page, Values

KINDS = {"with_grad": "x requires grad", "plain": "x requires no grad"}


def pages(site: Site, engine: Mapping[str, Page]) -> Iterator[Page]:
    """Yield the table of all methods; and the engine's pages of methods and comparisons with what methods were observed to do."""
    description = "What each way of copying a PyTorch tensor shares, keeps and warns about, as observed with the newest release."
    yield Page("methods/index.html", "methods.html", "What each method does", description, {"blocks": [*_observed(site)]})
    drawings = draw_methods(site.methods)
    tables = {}
    for device, history in site.answering.items():
        evidence = recommend.of_result(history.newest(device), device)
        tables[device] = [recommend.table(evidence, request) for request in recommend.requests(device)]
    for page in engine.values():
        if page.template == "subject.html" and page.values["subject"] in site.methods:
            history, device = page.values["history"], page.values["device"]
            about = _about(history, page.values["subject"], device, drawings, tables[device] if device in history.answers_for else [])
            yield page._replace(template="method.html", values={**page.values, **about})
        elif page.template == "compare.html":
            blocks = [{**block, "behaviour": [*_behaviour(block)]} for block in page.values["blocks"]]
            yield page._replace(values={"blocks": blocks})


def _observed(site: Site) -> Iterator[Values]:
    """Yield what each method does with the newest release, by device and kind of tensor."""
    for device, history in site.answering.items():
        result = history.newest(device)
        for kind, title in KINDS.items():
            rows = [
                {
                    "code": method_code(row, device),
                    "address": site.addresses.get((name, device), ""),
                    "seen": row["observed"][device][kind],
                    "problem": error_of(row["observed"][device][kind], device) or row["observed"][device][kind]["warns"] or "",
                    "promised": row["observed"][device].get("as_promised"),
                }
                for name, row in result.methods.items()
                if device in (row.get("observed") or {})
            ]
            yield {"title": f"{device.upper()}, {title}", "release": result.version, "hardware": result.hardware(device), "rows": rows}


def _about(history: ShownHistory, method: str, device: str, drawings: Mapping[str, str], tables: Sequence[Table]) -> Values:
    """Return what a method was observed to do with each release on a device, its memory, and what is recommended in its place."""
    seen = {
        title: spans(
            (result.version, describe(outcome, device)) for result in history.results if (outcome := result.outcome(method, kind, device))
        )
        for kind, title in KINDS.items()
    }
    used = memory.use(history.results, method, device)
    return {
        "drawing": Markup(drawings.get(method, "")),  # noqa: S704 - our own SVG
        "seen": {title: runs for title, runs in seen.items() if runs},
        "memory": used and {"peaks": used.peaks, "more": used.more, "than": used.than},
        "compared": [*_compared(tables, method)],
    }


def _compared(tables: Sequence[Table], method: str) -> Iterator[Values]:
    """Yield how a method compares with the one that is recommended for what it does, for x with and without grad."""
    for table in tables:
        request = table.request
        if table.timed != request or not any(method in column.cells for column in table.columns):
            continue
        timed = [column for column in table.columns if method in column.cells]
        runs = [
            (table.row(first).code if first != method else "", word, _range(of_run, method), _sizes(of_run))
            for (first, word), columns in groupby(timed, key=lambda column: (column.recommended, _word(column, method)))
            if (of_run := [*columns]) and (first == method or word)
        ]
        yield {"to": request.to, "own": request.own, "grad": request.requires_grad, "runs": runs}


def _word(column: SizeColumn, method: str) -> str:
    """Return how a method compares with the recommended one at a size; "" for that itself, and where no launch has both."""
    against = column.cells[method].against
    return against.word.value if against else ""


def _range(columns: Sequence[SizeColumn], method: str) -> str:
    """Return the smallest and the largest ratio of the sizes of a run at which a method is slower or faster; "" for other words."""
    compared = [against for column in columns if (against := column.cells[method].against)]
    ratios = sorted(each.ratio for each in compared if each.word in (Word.SLOWER, Word.FASTER))
    return " to ".join(dict.fromkeys(map(ratio_text, (ratios[0], ratios[-1])))) if ratios else ""


def _sizes(columns: Sequence[SizeColumn]) -> str:
    return " to ".join(dict.fromkeys(count(columns[place].numel) for place in (0, -1)))


def _behaviour(block: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """Yield what methods do differently with the later release: the code, for which tensor, before and after."""
    before, after, device = block["before"], block["after"], block["device"]
    for method, row in after.methods.items():
        for kind, title in KINDS.items():
            first, second = (side.outcome(method, kind, device) for side in (before, after))
            if first and second and (texts := (describe(first, device), describe(second, device)))[0] != texts[1]:
                yield str(row.get("code", method)), title, *texts
