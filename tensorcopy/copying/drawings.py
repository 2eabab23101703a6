"""Drawings of observed outcomes, storage, gradient and leaves, and of a graph with its gradients. Pure.

x ◄╌╌╌╌╌╌╌ x.detach()     a filled dot is a leaf, a ring is not; an arrow is a gradient's path, a broken line one without a gradient
│              │
▐█▐█▐█         │          boxes are storage, joined to the tensors that use it
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from math import hypot
from typing import Any

from tensorcopy.report.words import translate

WIDTH, HEIGHT = 420, 132
X, Y = 78, 322  # of the two tensors
NAMES, MARKS, BOXES = 34, 48, 92
CELL = 22
CELLS = 3


def _outcome(code: str, seen: Mapping[str, Any]) -> str:
    """Draw `x`, a leaf, beside the result of `code`.

    seen : an outcome whose storage was observed, as a dict of `semantics.Outcome`
    """
    parts = [_label("x", X, leaf=True), _boxes(X)]
    shares, tensor = bool(seen["shares_storage"]), seen["gives"] == "tensor"
    parts.append(_label(code, Y, leaf=bool(seen["is_leaf"]) if tensor else None))
    parts.append(_join(X, X))
    top = MARKS if tensor else NAMES
    parts += [_join(Y, X, top)] if shares else [_boxes(Y), _join(Y, Y, top)]
    if tensor:
        parts.append(_arrow(reaches_x=bool(seen["keeps_graph"])))
    return _svg(parts, code)


def draw_methods(methods: Mapping[str, Any], language: str = "en") -> dict[str, str]:
    """Return the drawing of each method by name: on the CPU, or on the device for which it is.

    It shows a leaf that requires grad, or a plain tensor when the leaf raises. Statements are drawn under the name that they assign.
    """
    networks = [_label("first.weight", X, leaf=True), _label("second.weight", Y, leaf=True), _boxes(X), _join(X, X), _join(Y, X)]
    shared = _svg([*networks, _arrow(reaches_x=False)], translate("two_networks", language))  # the storage of their parameters
    drawings = {"two_networks": shared}
    for name, row in methods.items():
        device = row.get("devices", ["cpu"])[0]
        seen = (row.get("observed") or {}).get(device)
        outcomes = [seen[kind] for kind in ("with_grad", "plain") if seen[kind]["shares_storage"] is not None] if seen else []
        if outcomes:
            drawings[name] = _outcome(row["code"] if device == "cpu" else row["code"].partition(" = ")[0], outcomes[0])
    return drawings


GRAPH_HEIGHT, ROW = 176, 56
TIMES, PLUS, RESULT = (212, 58), (272, 108), (344, 108)  # the places of the operations of y = x*w + b, and of y


def draw_graph(values: Mapping[str, Any]) -> str:
    """Draw y = x*w + b with the gradients that y.backward() leaves.

    values : of x, w, b and y, and their gradients, as "w.grad"; None is drawn as the place where no gradient stays
    """
    parts = [_edge(TIMES, PLUS), _edge(PLUS, RESULT)]
    for number, (name, to) in enumerate((("x", TIMES), ("w", TIMES), ("b", PLUS))):
        place = X, 30 + ROW * number
        parts.append(_edge(place, to, reached=values[f"{name}.grad"] is not None))
        parts.append(_node(name, place, values, leaf=True))
    parts.append(_node("y", RESULT, values, leaf=False))
    for sign, (x, y) in (("×", TIMES), ("+", PLUS)):
        parts.append(f'<circle class="operation" cx="{x}" cy="{y}" r="12"/><text class="code" x="{x}" y="{y + 4}">{sign}</text>')
    gradients = ", ".join(f"{name}.grad {_short(values[f'{name}.grad'])}" for name in ("x", "w", "b", "y"))
    return _svg(parts, f"y = x*w + b: {gradients}", GRAPH_HEIGHT)


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _node(name: str, place: tuple[int, int], values: Mapping[str, Any], *, leaf: bool) -> str:
    """Draw a tensor's mark, with its value and its gradient on the side where no edge leaves: above the first row, below the others."""
    x, y = place
    text_y = y - 12 if y < ROW else y + 25
    text = f"{name} = {_short(values[name])}, .grad {_short(values[f'{name}.grad'])}"
    mark = f'<circle class="leaf{"" if leaf else " none"}" cx="{x}" cy="{y}" r="4.5"/>'
    return f'{mark}<text class="code" x="{x}" y="{text_y}">{text}</text>'


def _edge(start: tuple[int, int], end: tuple[int, int], *, reached: bool | None = None) -> str:
    """Draw the way of a gradient back from `end` to `start`, with a head where it reaches a leaf, and cut where it does not."""
    (x, y), (to_x, to_y) = start, end
    line = f'<path class="flows{" broken" if reached is False else ""}" d="M{to_x} {to_y}L{x} {y}"/>'
    if reached is None:
        return line
    length = hypot(to_x - x, to_y - y)
    across, down = (to_x - x) / length, (to_y - y) / length
    if reached:
        tip_x, tip_y = x + 8 * across, y + 8 * down
        ends = [(tip_x + 10 * across + side * 4.5 * down, tip_y + 10 * down - side * 4.5 * across) for side in (1, -1)]
        corners = "L".join(f"{corner_x:.1f} {corner_y:.1f}" for corner_x, corner_y in [(tip_x, tip_y), *ends])
        return f'{line}<path class="head" d="M{corners}z"/>'
    middle_x, middle_y = (x + to_x) / 2, (y + to_y) / 2
    return f'{line}<path class="cut" d="M{middle_x - 5:g} {middle_y - 6:g}l10 12M{middle_x + 5:g} {middle_y - 6:g}l-10 12"/>'


def _label(code: str, x: int, *, leaf: bool | None) -> str:
    """Draw a tensor's code with a mark for leaf or non-leaf; an ndarray has none."""
    mark = "" if leaf is None else f'<circle class="leaf{"" if leaf else " none"}" cx="{x}" cy="{MARKS}" r="4.5"/>'
    fit = "" if len(code) < 22 else f' textLength="{min(196, 7 * len(code))}" lengthAdjust="spacingAndGlyphs"'
    return f'<text class="code" x="{x}" y="{NAMES}"{fit}>{escape(code)}</text>{mark}'


def _boxes(x: int) -> str:
    left = x - CELLS * CELL / 2
    cells = (f'<rect class="cell" x="{left + index * CELL:g}" y="{BOXES}" width="{CELL}" height="{CELL}"/>' for index in range(CELLS))
    return "".join(cells)


def _join(x: int, storage: int, top: int = MARKS) -> str:
    """Draw the line from a tensor, whose name or mark is at `top`, to its storage."""
    if x == storage:
        return f'<path class="storage" d="M{x} {top + 8}V{BOXES}"/>'
    return f'<path class="storage" d="M{x} {top + 8}V{BOXES + CELL / 2:g}H{storage + CELLS * CELL / 2:g}"/>'


def _arrow(*, reaches_x: bool) -> str:
    """Draw the gradient's path from the result to x, or the place where it is cut."""
    y, right, left, middle = MARKS, Y - 12, X + 12, (X + Y) // 2
    if reaches_x:
        return f'<path class="flows" d="M{right} {y}H{left}"/><path class="head" d="M{left - 2} {y}l9 -4.5v9z"/>'
    cut = f'<path class="cut" d="M{middle - 5} {y - 6}l10 12M{middle + 5} {y - 6}l-10 12"/>'
    return f'<path class="flows broken" d="M{right} {y}H{left}"/>{cut}'


def _svg(parts: list[str], label: str, height: int = HEIGHT) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="drawing" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )
