"""The first page: what to type for each wish on each device, what it costs, whether an upgrade is safe, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tensorcopy.copying import memory, recommend
from tensorcopy.copying.recommend import CopyRequest, Evidence, Table
from tensorcopy.judge.methods import AS_FAST_WITHIN, Word
from tensorcopy.numbers import count, duration, extent, two_digits
from tensorcopy.numbers import size as bytes_text
from tensorcopy.site import facts, views
from tensorcopy.site.facts import History, Site
from tensorcopy.site.views import Page, Values

SMALL, LARGE = 2**7, 2**17  # elements, of the two costs beside an answer
FLOAT32 = 4  # bytes of an element
# what people type instead: by the kind of answer, the methods that are compared with it there
INSTEAD = {"tensor": ("clone_detach", "tensor"), "ndarray": ("detach_clone_numpy", "numpy_force")}
DESCRIPTION = (
    "x.detach().clone() or x.clone().detach()? Which copy of a PyTorch tensor is independent, what it costs, and what torch changed."
)
LANGUAGES = {"en": "index.html", "ja": "ja/index.html"}


def pages(site: Site, overview: Page) -> Iterator[Page]:
    """Yield the first page in each language; overview : of the engine, whose blocks it shows below the answers."""
    blocks = [{**block, **_answers(site, block["history"], block["device"])} for block in overview.values["blocks"]]
    for language, address in LANGUAGES.items():
        yield Page(
            address,
            "landing.html",
            "How do I copy a tensor?",
            DESCRIPTION,
            {"blocks": blocks, "translations": LANGUAGES},
            language,
        )


def _answers(site: Site, history: History, device: str) -> Values:
    """Return the answers of a device, with its times by size for x with and without grad, and the memory of a clone before `.cpu()`."""
    evidence = recommend.of_result(history.newest(device), device)
    common = recommend.common_request
    wishes = {
        "a tensor of its own": common("tensor", device),
        "… that gradients reach": CopyRequest("tensor", True, True, True, device),
        "an ndarray of its own": common("ndarray", device),
    }
    others = [each for each in site.histories if each.name == site.own and each is not history and device in each.devices]
    own = recommend.of_result(others[0].newest(device), device) if others else None
    tables = {wish: recommend.table(evidence, request) for wish, request in wishes.items()}
    asked = [common(to, device) for to in ("tensor", "ndarray")]
    by_grad = {grad: [recommend.table(evidence, replace(request, requires_grad=grad)) for request in asked] for grad in (True, False)}
    timed = {grad: of for grad, of in by_grad.items() if any(table.columns and table.timed.requires_grad is grad for table in of)}
    return {
        "answers": [_answer(wish, table, own) for wish, table in tables.items() if table.rows],
        "own": others[0] if others else None,
        "tables": [(grad, _times(history, device, grad, of)) for grad, of in timed.items()],
        "launches": extent(each.launches for table in tables.values() for each in _ratios(table)),
        "cannot": _cannot(tables.values()),
        "memory": _memory(history, device),
    }


def _answer(wish: str, table: Table, own: Evidence | None) -> Values:
    """Return what to type for a wish: its code, what it was observed to do, its cost, and how others compare.

    own : of the machine that publishes, where the cost is another machine's
    """
    row = table.rows[0]
    observed = table.evidence.methods[row.method]["observed"][table.request.device]["with_grad"]
    nearest = [column for numel in (SMALL, LARGE) if (column := table.nearest(numel))]
    columns = {column.numel: column for column in nearest if row.method in column.cells}
    return {
        "wish": wish,
        "code": row.code,
        "own": not observed["shares_storage"],
        "graph": observed["keeps_graph"],
        "is_tensor": table.request.to == "tensor",
        "quiet": not observed["warns"],
        "costs": [
            (duration(column.cells[row.method].seconds), count(column.numel), bytes_text(column.numel * FLOAT32))
            for column in columns.values()
        ],
        "own_costs": [
            (duration(timed.seconds[row.method]), count(timed.numel))
            for timed in (own.timed if own else ())
            if timed.numel in columns and timed.requires_grad is table.timed.requires_grad and row.method in timed.seconds
        ],
        "grad": table.timed.requires_grad,
        "instead": [
            {"code": table.row(name).code, **_compared(table, name)}
            for name in INSTEAD[table.request.to]
            if any(other.method == name for other in table.rows[1:]) and not table.request.keeps_graph
        ],
    }


def _compared(table: Table, method: str) -> Values:
    """Return how a method's time compares with the recommended one's over the sizes, and the warning that it gives."""
    ratios = {column.numel: against for column in table.columns if (cell := column.cells.get(method)) and (against := cell.against)}
    slower = {numel: each.ratio for numel, each in ratios.items() if each.word is Word.SLOWER}
    notably = {numel: each for numel, each in slower.items() if each >= AS_FAST_WITHIN} or slower
    judged = [each for each in ratios.values() if each.word is not Word.TOO_FEW_LAUNCHES]
    kind = "slower" if slower else "as fast" if judged and all(each.word is Word.AS_FAST for each in judged) else "not told apart"
    warns = any(caveat.startswith("warns: ") for caveat in table.row(method).caveats)
    caveat = next((caveat for caveat in table.row(method).caveats if caveat.startswith("shares")), "")
    return {
        "kind": kind,
        "ratio": " to ".join(dict.fromkeys(f"{ratio:.2g}" for ratio in (min(notably.values()), max(notably.values())))) if slower else "",
        "up_to": count(max(notably)) if slower and max(notably) < max(ratios) else "",
        "warns": warns,
        "caveat": caveat,
    }


def _ratios(table: Table) -> list[Any]:
    return [cell.against for column in table.columns for cell in column.cells.values() if cell.against and cell.against.interval]


def _cannot(tables: Sequence[Table] | Any) -> str:
    """Return the factor below which methods cannot be told apart from the recommended ones, "" where that is less than 1.2."""
    seen = sorted(each.seen for table in tables for each in _ratios(table) if each.seen)
    middle = seen[len(seen) // 2] if seen else 1.0
    return two_digits(middle) if middle >= 1.2 else ""


def _times(history: History, device: str, grad: bool, tables: Sequence[Table]) -> list[facts.Grid]:
    """Return the newest time of each method at each size, with what changed it, for x with or without grad."""
    cells, words, first = {}, dict[tuple[str, str], str](), {table.rows[0].method for table in tables if table.rows}
    for table in tables:
        for column in table.columns if table.timed.requires_grad is grad else ():
            for name, cell in column.cells.items():
                is_best = name == column.recommended or (cell.against and cell.against.word is Word.AS_FAST)
                words[name, str(column.numel)] = "best" if is_best else ""
    for case in history.cases:
        values, spec = dict(case.parameters), case.spec
        is_of_x = values.get("requires_grad", "False") == str(grad) and {*values} <= _AXES
        is_shown = spec.timed and spec.methods and not spec.latency and (spec.headline or values["method"] in first)
        if case.device == device and is_shown and is_of_x:
            cells[case] = {**views.cell(history, case), "css": words.get((values["method"], values["numel"]), ""), "line": ""}
    return facts.grids(cells)


_AXES = {"method", "numel", "device", "requires_grad"}


def _memory(history: History, device: str) -> Mapping[str, str] | None:
    """Return what `x.detach().clone().cpu().numpy()` takes on the device that the recommended conversion does not; None on the CPU."""
    use = memory.use(history.in_order, "detach_clone_numpy", device) if device != "cpu" else None
    return {"more": use.more["device"], "than": use.than} if use and "device" in use.more else None
