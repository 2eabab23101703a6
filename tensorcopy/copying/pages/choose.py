"""The chooser: for each wish and kind of tensor, a table of the methods that fulfil it, by size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tensorcopy.copying import recommend
from tensorcopy.copying.recommend import CopyRequest, Evidence, Table
from tensorcopy.numbers import count, duration, ratio_text
from tensorcopy.site.facts import Site
from tensorcopy.site.views import Page, Values

CSS = {"as fast": "best", "slower": "", "faster": "best", "not told apart": "unknown", "too few launches": "unknown"}


def page(site: Site) -> Page:
    """Return the page with a table for each request on each device."""
    blocks = [
        block
        for device, history in site.answering.items()
        for block in _requests(site, recommend.of_result(history.newest(device), device), device)
    ]
    description = "Which code copies a tensor for your wish: by device, dtype, layout and size, with times and their intervals."
    return Page("choose.html", "choose.html", "Which method do I need?", description, {"blocks": blocks})


def _requests(site: Site, evidence: Evidence, device: str) -> Iterator[Values]:
    """Yield each request on a device with its table, and one for each other dtype and layout that was timed."""
    tensors = dict.fromkeys((each.dtype, each.layout) for each in evidence.timed)
    for request in recommend.requests(device):
        table = recommend.table(evidence, request)
        others = [recommend.table(evidence, replace(request, dtype=dtype, layout=layout)) for dtype, layout in tensors]
        timed = [other for other in others if other.timed == other.request and other.request != request and other.columns]
        yield {
            "part": "; ".join([device.upper(), *_asked(request)]),
            "anchor": "-".join([device, *("".join(filter(str.isalnum, word)) for word in _asked(request))]),
            "title": ", ".join(_asked(request)),
            "is_first": request == recommend.common_request("tensor", device),
            "evidence": evidence,
            "table": _table(site, table),
            "others": [(f"{other.request.dtype}, {other.request.layout}", _table(site, other)) for other in timed],
        }


def _asked(request: CopyRequest) -> list[str]:
    """Return a request in words: what is made, its memory, whether x requires grad, and whether gradients flow."""
    flows = {None: [], True: ["gradients flow back"], False: ["out of the graph"]}[request.keeps_graph]
    made, own = "a tensor" if request.to == "tensor" else "an ndarray", "own memory" if request.own else "memory shared with x"
    return [made, own, "x requires grad" if request.requires_grad else "x requires no grad", *flows]


def _table(site: Site, table: Table) -> Values:
    """Return a row for each method with a cell for each size: its time, and how it compares with the recommended one."""
    rows = []
    for row in table.rows:
        cells = []
        for column in table.columns:
            cell = column.cells.get(row.method)
            against, is_first = cell.against if cell else None, column.recommended == row.method
            word = against.word.value if against else ""
            cells.append(
                {
                    "css": " ".join(filter(None, ["use best" if is_first else CSS.get(word, "")])),
                    "time": duration(cell.seconds) if cell else "",
                    "word": word,
                    "ratio": "–".join(map(ratio_text, against.interval)) if against and against.interval else "",
                    "seen": ratio_text(against.seen) if against and against.seen and word == "not told apart" else "",
                    "is_first": is_first,
                }
            )
        address = site.addresses.get((row.method, table.request.device), "")
        rows.append(
            {"code": row.code, "address": address, "caveats": [caveat.partition(": ")[0] for caveat in row.caveats], "cells": cells}
        )
    return {
        "code": table.code,
        "sizes": [count(column.numel) for column in table.columns],
        "rows": rows,
        "why": table.why,
        "notes": table.notes,
        "reasons": _by_reason(table),
    }


def _by_reason(table: Table) -> list[tuple[str, str]]:
    """Return each reason for the recommendation with the sizes that have it, in order."""
    sizes: dict[str, list[str]] = {}
    for column in table.columns:
        sizes.setdefault(column.why, []).append(count(column.numel))
    return [(", ".join(of), why) for why, of in sizes.items()]
