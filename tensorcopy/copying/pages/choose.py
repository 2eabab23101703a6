"""The chooser: for each wish and kind of tensor, a table of the methods that fulfil it, by size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from tensorcopy.copying import recommend
from tensorcopy.copying.recommend import CopyRequest, Table
from tensorcopy.judge.methods import Word
from tensorcopy.numbers import count
from tensorcopy.results.cases import DEFAULTS
from tensorcopy.site.facts import Site
from tensorcopy.site.views import Page, Values

Tables = Mapping[CopyRequest, Table]  # of a device


def page(site: Site, tables: Mapping[str, Tables]) -> Page:
    """Return the page with a table for each request on each device."""
    blocks = [block for of_device in tables.values() for block in _requests(of_device)]
    description = "Which code copies a tensor for your wish: by device, dtype, layout and size, with times and their intervals."
    return Page("choose.html", "choose.html", "Which method do I need?", description, {"blocks": blocks, "addresses": site.addresses})


def _requests(tables: Tables) -> Iterator[Values]:
    """Yield each request on a device with its table, and one for each other dtype and layout that was timed."""
    for request, table in tables.items():
        plain = tables.get(replace(request, requires_grad=False, keeps_graph=None)) if request.requires_grad else None
        yield {
            "part": "; ".join([request.device.upper(), *_asked(request)]),
            "anchor": anchor(request),
            "title": ", ".join(_asked(request)),
            "is_first": request == recommend.common_request("tensor", request.device),
            "evidence": table.evidence,
            "table": table,
            "reasons": _by_reason(table),
            "smaller": smaller([table]),
            "plain": anchor(plain.request) if plain and recommend.others(plain) else "",
            "others": {tensor: (anchor(other.request), other) for tensor, other in recommend.others(table).items()},
        }


def anchor(request: CopyRequest) -> str:
    """Return the anchor of the table of a request."""
    tensor = [value for name, value in (("dtype", request.dtype), ("layout", request.layout)) if value != DEFAULTS[name]]
    return "-".join([request.device, *("".join(filter(str.isalnum, word)) for word in _asked(request)), *tensor])


def _asked(request: CopyRequest) -> list[str]:
    """Return a request in words: what is made, its memory, whether x requires grad, and whether gradients flow."""
    flows = {None: [], True: ["gradients flow back"], False: ["out of the graph"]}[request.keeps_graph]
    made, own = "a tensor" if request.to == "tensor" else "an ndarray", "own memory" if request.own else "memory shared with x"
    return [made, own, "x requires grad" if request.requires_grad else "x requires no grad", *flows]


def _by_reason(table: Table) -> list[tuple[str, str]]:
    """Return each reason for the recommendation with the sizes that have it, in order."""
    sizes: dict[str, list[str]] = {}
    for column in table.columns:
        sizes.setdefault(column.why, []).append(count(column.numel))
    return [(recommend.elements(", ".join(of)), why) for why, of in sizes.items()]


def smaller(tables: Sequence[Table]) -> dict[str, list[str]]:
    """Return the code of methods with a smaller time than the recommended one, that are no better, by the word of their ratios."""
    found: dict[str, dict[str, None]] = {word.name.lower(): {} for word in Word}
    for table in tables:
        for column in table.columns:
            least = column.cells[column.recommended].seconds if column.recommended in column.cells else 0.0
            for name, cell in column.cells.items():
                if cell.seconds < least and cell.against:
                    found[cell.against.word.name.lower()][table.row(name).code] = None
    return {why: [*codes] for why, codes in found.items()}


def sizes_text(numels: Sequence[int], measured: Sequence[int]) -> str:
    """Return sizes by their runs among those that were measured: "2⁰–2¹⁷, 2²⁴"."""
    runs = [[*run] for is_one, run in groupby(measured, key=lambda numel: numel in numels) if is_one]
    return ", ".join("–".join(dict.fromkeys(count(run[place]) for place in (0, -1))) for run in runs)
