"""Tables of HTML without styles: what a notebook shows of a value, in its own colours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


class Html(str):
    """A text that is HTML already."""

    __slots__ = ()


def code(text: str) -> Html:
    """Return code as HTML."""
    return Html(f"<code>{escape(text)}</code>")


def unbroken(text: str) -> str:
    """Return a text that stays in one line of a cell."""
    return text.replace(" ", "\u00a0")


def paragraph(*texts: str) -> Html:
    """Return texts as one paragraph; those that are no `Html` are escaped."""
    return Html(f"<p>{''.join(map(_html, texts))}</p>")


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Html:
    """Return a table; cells that are no `Html` are escaped."""
    return Html(f"<table><thead>{_row('th', header)}</thead><tbody>{''.join(_row('td', row) for row in rows)}</tbody></table>")


def _row(tag: str, cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{_html(cell)}</{tag}>' for cell in cells)}</tr>"


def _html(text: str) -> str:
    return text if isinstance(text, Html) else escape(text)
