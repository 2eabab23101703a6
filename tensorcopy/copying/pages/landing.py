"""The first page: what to type for each wish on each device, what it costs, whether an upgrade is safe, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import median

from tensorcopy.copying import memory, recommend
from tensorcopy.copying.pages import choose
from tensorcopy.copying.pages.choose import Tables
from tensorcopy.copying.recommend import Evidence, Table
from tensorcopy.judge.methods import AS_FAST_WITHIN, Word
from tensorcopy.numbers import count, duration, two_digits
from tensorcopy.numbers import size as bytes_text
from tensorcopy.site import facts, views
from tensorcopy.site.facts import Case, ShownHistory, Site
from tensorcopy.site.views import Page, Values

SMALL, LARGE = 2**7, 2**17  # elements, of the two costs beside an answer
FLOAT32 = 4  # bytes of an element
HUGE = 2**25  # bytes of a copy beyond which numpy asks for huge pages
# what people type instead: by the kind of answer, the methods that are compared with it there
INSTEAD = {"tensor": ("clone_detach", "tensor"), "ndarray": ("detach_clone_numpy", "detach_numpy_copy")}
DESCRIPTION = (
    "x.detach().clone() or x.clone().detach()? Which copy of a PyTorch tensor is independent, what it costs, and what torch changed."
)
LANGUAGES = {"en": "index.html", "ja": "ja/index.html"}
AXES = {"method", "numel", "device", "requires_grad"}  # parameters of the cases in the tables by size


def pages(site: Site, overview: Page, tables: Mapping[str, Tables]) -> Iterator[Page]:
    """Yield the first page in each language; overview : of the engine, whose blocks it shows below the answers."""
    blocks = [{**block, **_answers(site, block["history"], block["device"], tables)} for block in overview.values["blocks"]]
    for language, address in LANGUAGES.items():
        values = {"blocks": blocks, "translations": LANGUAGES}
        yield Page(address, "landing.html", "How do I copy a tensor?", DESCRIPTION, values, language)


def _answers(site: Site, history: ShownHistory, device: str, tables: Mapping[str, Tables]) -> Values:
    """Return the answers of a device, with its times by size for x with and without grad, and the memory of a clone before `.cpu()`."""
    of_device = tables[device]
    asked = {to: recommend.common_request(to, device) for to in ("tensor", "ndarray")}
    wishes = {
        "a tensor of its own": asked["tensor"],
        "a tensor in the graph": replace(asked["tensor"], keeps_graph=True),
        "an ndarray of its own": asked["ndarray"],
    }
    answered = {wish: of_device[request] for wish, request in wishes.items() if of_device[request].rows}
    others = [each for each in site.histories if each is not history and device in each.devices]
    of_own = next((each for each in others if each.name == site.own), None)
    own = recommend.of_result(of_own.newest(device), device) if of_own else None
    plain = {to: of_device[replace(request, keeps_graph=None, requires_grad=False)] for to, request in asked.items()}
    by_grad = {True: [of_device[request] for request in asked.values()], False: [*plain.values()]}
    timed = {grad: of for grad, of in by_grad.items() if any(table.columns and table.timed.requires_grad is grad for table in of)}
    kept, newest = answered.get("a tensor in the graph"), history.newest(device)
    shown = []
    for grad, of in timed.items():
        grids = _times(history, device, grad, of, kept)
        codes = {history.code(case) for grid in grids for case, _ in grid.rows}
        smaller = {why: [code for code in each if code in codes] for why, each in choose.smaller(of).items()}
        shown.append((grad, grids, smaller, choose.anchor(of[0].request)))
    return {
        "answers": [_answer(history, wish, table, plain[table.request.to], own) for wish, table in answered.items()],
        "own": of_own,
        "others": [each for each in others if each is not of_own],
        "tables": shown,
        "cannot": [(wish, factor) for wish, table in answered.items() if (factor := _cannot(table))],
        "memory": _memory(history, device),
        "no_copy": {case for case in history.open if (newest.outcome(facts.subject(case), "plain", device) or {}).get("shares_storage")},
    }


def _answer(history: ShownHistory, wish: str, table: Table, plain: Table, own: Evidence | None) -> Values:
    """Return what to type for a wish: its code, what it was observed to do, its cost, and how others compare.

    plain : the table for x without grad
    own : of the machine that publishes, where the cost is another machine's
    """
    row = table.rows[0]
    observed = table.evidence.methods[row.method]["observed"][table.request.device]["with_grad"]
    nearest = (table.nearest(numel) for numel in (SMALL, LARGE))
    columns = {column.numel: column for column in nearest if column and row.method in column.cells}
    waited = {
        int(values["numel"]): views.cell(history, case)["value"]
        for case in history.cases
        if case.spec.latency and case.device == table.request.device and (values := dict(case.parameters)).get("method") == row.method
    }
    return {
        "wish": wish,
        "observed": observed,
        "elsewhere": recommend.elsewhere(table),
        "anchor": choose.anchor,
        "table": table,
        "costs": [
            (duration(column.cells[row.method].seconds), count(column.numel), bytes_text(column.numel * FLOAT32), waited.get(column.numel))
            for column in columns.values()
        ],
        "own_costs": [
            (duration(timed.seconds[row.method]), count(timed.numel))
            for timed in (own.timed if own else ())
            if timed.numel in columns and timed.requires_grad is table.timed.requires_grad and row.method in timed.seconds
        ],
        "instead": [
            _compared(table, plain, other.method)
            for name in INSTEAD[table.request.to]
            for other in table.rows[1:]
            if other.method == name and not table.request.keeps_graph
        ],
    }


def _compared(table: Table, plain: Table, method: str) -> Values:
    """Return how a method's time compares with the recommended one's over the sizes, what it warns of, and how it does without grad."""
    ratios = {column.numel: cell.against for column in table.columns if (cell := column.cells.get(method)) and cell.against}
    slower = {numel: each.ratio for numel, each in ratios.items() if each.word is Word.SLOWER}
    measured = [column.numel for column in table.columns]
    notably = {numel: each for numel, each in slower.items() if each >= AS_FAST_WITHIN} or slower
    is_alike = plain.rows[:1] and plain.rows[0].method == table.rows[0].method
    return {
        "code": table.row(method).code,
        "kind": recommend.compared(table, method),
        "ratios": [*_bands(notably, measured)],
        "barely": choose.sizes_text([*slower.keys() - notably.keys()], measured),
        "huge": table.request.device == "cpu" and any(numel * FLOAT32 > HUGE for numel in slower),
        "warns": any(caveat.startswith("warns: ") for caveat in table.row(method).caveats),
        "as_fast_without": bool(slower and is_alike and recommend.compared(plain, method) == "as fast"),
    }


def _bands(ratios: Mapping[int, float], measured: Sequence[int]) -> Iterator[tuple[str, str]]:
    """Yield ratios by size in groups with their sizes, those within twice the smallest together: ("1.1–1.7", "2⁰–2¹⁷"), ("3", "2²⁴")."""
    while ratios:
        band = {numel: ratio for numel, ratio in ratios.items() if ratio <= 2 * min(ratios.values())}
        ends = (f"{end(band.values()):.2g}" for end in (min, max))
        yield "–".join(dict.fromkeys(ends)), choose.sizes_text([*band], measured)
        ratios = {numel: ratio for numel, ratio in ratios.items() if numel not in band}


def _cannot(table: Table) -> str:
    """Return the factor that half of the methods × sizes that are not told apart would have shown; "" below 1.2, or of fewer than two."""
    cells = [cell.against for column in table.columns for cell in column.cells.values()]
    seen = [against.seen for against in cells if against and against.word is Word.NOT_TOLD_APART and against.seen]
    return two_digits(median(seen)) if len(seen) > 1 and median(seen) >= 1.2 else ""


def _times(history: ShownHistory, device: str, grad: bool, tables: Sequence[Table], kept: Table | None) -> list[facts.Grid]:
    """Return the newest time of each method at each size, with what changed it, for x with or without grad.

    kept : the table of the methods that keep the graph, whose recommended one has a row among the tensors, timed or not
    """
    best = {
        (name, str(column.numel))
        for table in tables
        for column in table.columns
        for name, cell in column.cells.items()
        if table.timed.requires_grad is grad and (name == column.recommended or (cell.against and cell.against.word is Word.AS_FAST))
    }
    first, cells = {table.request.to: table.rows[0].method for table in tables if table.rows}, dict[Case, Values | None]()
    for case in history.cases:
        values, spec = dict(case.parameters), case.spec
        is_of_x = values.get("requires_grad", "False") == str(grad) and {*values} <= AXES
        is_shown = spec.timed and spec.methods and not spec.latency and (spec.headline or values["method"] in first.values())
        if case.device == device and is_shown and is_of_x:
            css = "best" if (values["method"], values["numel"]) in best else ""
            cells[case] = {**views.cell(history, case), "css": css, "line": ""}
            if kept and spec.headline and values["method"] == first.get("tensor"):
                parameters = tuple((name, kept.rows[0].method if name == "method" else value) for name, value in case.parameters)
                cells.setdefault(facts.Case(spec, parameters), None)
    return facts.grids(cells)


def _memory(history: ShownHistory, device: str) -> Mapping[str, str] | None:
    """Return what `x.detach().clone().cpu().numpy()` takes on the device that the recommended conversion does not; None on the CPU."""
    use = memory.use(history.results, "detach_clone_numpy", device) if device != "cpu" else None
    return {"more": use.more["device"], "than": use.than} if use and "device" in use.more else None
