"""Drawings of what a method gives: who lies on which storage, whether a gradient comes back, what is a leaf. From what was observed; pure.

x ◄╌╌╌╌╌╌╌ x.detach()     a filled dot is a leaf, a ring is none; an arrow is the way of a gradient, a broken line has none
│              │
▐█▐█▐█         │          boxes are storage; a tensor is joined to its own
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

WIDTH, HEIGHT = 420, 132
X, Y = 78, 322  # of the two tensors
NAMES, MARKS, BOXES = 34, 48, 92
CELL = 22
CELLS = 3


def of_outcome(code: str, seen: Mapping[str, Any]) -> str:
    """`x`, a leaf, beside what `code` gives: `seen` is the outcome (`semantics.Outcome`) as plain values, and no error."""
    parts = [_named("x", X, leaf=True), _boxes(X)]
    shares, tensor = bool(seen["shares_storage"]), seen["gives"] == "tensor"
    parts.append(_named(code, Y, leaf=bool(seen["is_leaf"]) if tensor else None))
    parts.append(_joined(X, X))
    top = MARKS if tensor else NAMES
    parts += [_joined(Y, X, top)] if shares else [_boxes(Y), _joined(Y, Y, top)]
    if tensor:
        parts.append(_arrow(kept=bool(seen["keeps_graph"])))
    return _drawn(parts, code)


def of_methods(methods: Mapping[str, Any], device: str = "cpu") -> dict[str, str]:
    """Every drawing by its name: of each method what was observed of a leaf that requires grad, or of a plain tensor where that fails."""
    found = {"two_networks": two_networks()}
    for name, row in methods.items():
        seen = (row.get("observed") or {}).get(device)
        outcomes = [seen[kind] for kind in ("with_grad", "plain") if not seen[kind]["raises"]] if seen else []
        if outcomes:
            found[name] = of_outcome(row["code"], outcomes[0])
    return found


def two_networks() -> str:
    """Two networks, of which the second's parameters lie on the first's storage."""
    parts = [_named("first.weight", X, leaf=True), _named("second.weight", Y, leaf=True), _boxes(X), _joined(X, X), _joined(Y, X)]
    return _drawn([*parts, _arrow(kept=False)], "two networks")


def _named(code: str, x: int, *, leaf: bool | None) -> str:
    """A tensor by its code, with the mark of a leaf before it; an ndarray has none."""
    mark = "" if leaf is None else f'<circle class="leaf{"" if leaf else " none"}" cx="{x}" cy="{MARKS}" r="4.5"/>'
    return f"{_text(code, x, NAMES, 'code')}{mark}"


def _text(text: str, x: int, y: int, kind: str) -> str:
    anchor = "" if len(text) < 22 else f' textLength="{min(196, 7 * len(text))}" lengthAdjust="spacingAndGlyphs"'
    return f'<text class="{kind}" x="{x}" y="{y}"{anchor}>{escape(text)}</text>'


def _boxes(x: int) -> str:
    left = x - CELLS * CELL / 2
    cells = (f'<rect class="cell" x="{left + index * CELL:g}" y="{BOXES}" width="{CELL}" height="{CELL}"/>' for index in range(CELLS))
    return "".join(cells)


def _joined(x: int, storage: int, top: int = MARKS) -> str:
    """From a tensor, whose name or mark is at `top`, to the storage it lies on."""
    if x == storage:
        return f'<path class="lies" d="M{x} {top + 8}V{BOXES}"/>'
    return f'<path class="lies" d="M{x} {top + 8}V{BOXES + CELL / 2:g}H{storage + CELLS * CELL / 2:g}"/>'


def _arrow(*, kept: bool) -> str:
    """The way of a gradient from the result to x, or where it ends."""
    y, right, left, middle = MARKS, Y - 12, X + 12, (X + Y) // 2
    if kept:
        return f'<path class="flows" d="M{right} {y}H{left}"/><path class="head" d="M{left - 2} {y}l9 -4.5v9z"/>'
    cut = f'<path class="cut" d="M{middle - 5} {y - 6}l10 12M{middle + 5} {y - 6}l-10 12"/>'
    return f'<path class="flows broken" d="M{right} {y}H{left}"/>{cut}'


def _drawn(parts: list[str], label: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="drawing" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )
