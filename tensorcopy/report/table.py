"""A report is a heading, a table of columns, and notes; it has four projections: terminal, Markdown, JSON and CSV.

A column says how a row is read: as a cell, as data, or as both. The projections know no subject.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from itertools import groupby
from math import isfinite
from operator import itemgetter
from textwrap import fill
from typing import Any

from rich.cells import cell_len
from rich.text import Text

from tensorcopy.numbers import INSIDE

KEPT = "\xa0"  # a space at which no line is folded
WIDE = 120  # columns from which a row has its whole name, and no group above it
PIPED = 1000  # columns from which no line is folded
LEAST = 14  # columns of a name
MOST = 24  # rows of a section in a terminal
LONGEST = 60_000  # characters; GitHub allows 65,536 in a comment
STYLES = {"▲": "red", "✗": "red", "▼": "green"}  # of a row, by its mark
EMOJI = {"▲": "🔴", "✗": "❌", "▼": "🟢"}
FORMULA = re.compile(r"\s*[=+@＝＋＠－-]|[\t\r\n]")  # a spreadsheet would compute it, also where its signs have full width
# what follows would be a link, of a host or a commit, or an emoji: a zero-width space prevents that, a character reference does not
ZERO_WIDTH_SPACE = "&#8203;"
LINKED = re.compile(r":(?=//)|www(?=\.)|\bGH-(?=\d)|:(?=[\w+-]+:)|\b[0-9a-f]{7}(?=[0-9a-f]{33}\b)", re.IGNORECASE)
ESCAPES = str.maketrans(
    {**{each: "\\" + each for each in "\\*_[]|~"}, **{each: f"&#{ord(each)};" for each in "<>`&"}}
    | {"@": f"@{ZERO_WIDTH_SPACE}", "#": f"\\#{ZERO_WIDTH_SPACE}", "$": "<span>$</span>"}
)


@dataclass(frozen=True)
class ReportColumn:
    """A column: `text` gives a row's cell, under `title`; `value` its data, under `key`. One of them may be missing."""

    title: str = ""
    text: Callable[[Any], str] | None = None
    key: str = ""
    value: Callable[[Any], Any] | None = None
    left: bool = False  # aligned; the last column, where it has no title, is a note that may have a line of its own


@dataclass(frozen=True)
class ReportSection:
    """Rows under a title."""

    title: str
    rows: Sequence[Any]
    folded: bool = False  # a terminal shows it where everything is asked for, Markdown unfolds it
    limited: bool = True  # a terminal shows up to `MOST` rows


@dataclass(frozen=True)
class Report:
    """What a command answers."""

    heading: str  # a sentence
    columns: Sequence[ReportColumn]
    sections: Sequence[ReportSection]
    alarm: str = ""  # the end of the heading, which is emphasised
    lines: Sequence[str] = ()  # below the heading: what the numbers are of
    notes: Sequence[str] = ()  # below the table
    title: str = "case"  # of the column of names
    name: Callable[[Any], str] = str  # of a row
    short: Callable[[Any], tuple[str, str]] | None = None  # the line above rows that share it, and the rest of a row's name
    mark: Callable[[Any], str] = lambda _: ""  # of a row, one character
    fields: Mapping[str, Any] = field(default_factory=dict)  # of the document, beside its rows
    data: Sequence[Any] | None = None  # the rows of the document, where they are not those of the sections

    @property
    def answer(self) -> str:
        """The heading with its alarm."""
        return ", ".join(filter(None, [self.heading, self.alarm]))

    @property
    def rows(self) -> list[Any]:
        """The rows of all sections."""
        return [row for section in self.sections for row in section.rows]

    def filled(self, rows: Iterable[Any]) -> list[ReportColumn]:
        """Return the columns that have a cell in any of some rows."""
        rows = [*rows]
        return [each for each in self.columns if each.text and any(map(each.text, rows))]


def of_cells(heading: str, titles: Sequence[str], rows: Sequence[Sequence[str]], align: str, **fields: Any) -> Report:
    """Return a report of cells that are texts already; align : a letter for each column, l for left or r for right."""
    columns = [ReportColumn(title, itemgetter(index), left=align[index] == "l") for index, title in enumerate(titles) if index]
    return Report(heading, columns, [ReportSection("", rows, limited=False)], title=titles[0], name=itemgetter(0), **fields)


def common(names: Iterable[tuple[Any, Sequence[str], Sequence[str]]]) -> dict[Any, tuple[str, str]]:
    """Return the line above each row, with all that the rows of its group share, and the rest of its name.

    names : of each row, the row, the words that make its group, and its other words
    """
    short = {}
    for head, members in groupby(names, key=itemgetter(1)):
        of_group = [(row, words) for row, _, words in members]
        varies = [len({*column}) > 1 for column in zip(*(words for _, words in of_group))]
        varies = varies if any(varies) else [index == 0 for index in range(len(varies))]
        for row, words in of_group:
            above = [*head, *(word for word, is_own in zip(words, varies) if not is_own)]
            own = " ".join(word for word, is_own in zip(words, varies) if is_own)
            short[row] = (" ".join(above), own) if own else ("", " ".join(above))
    return short


# The terminal


def terminal(report: Report, width: int, *, everything: bool = False) -> Iterator[Text]:
    """Yield the lines for a terminal, or for a pipe, which is `PIPED`."""
    if report.heading:
        first = Text(folded(report.answer, width), style="bold")
        if report.alarm:  # no words would be found at every character
            first.highlight_words([report.alarm], "red")
        yield first
    yield from (Text(folded(line, width)) for line in report.lines)
    sections = [each for each in report.sections if each.rows and (everything or not each.folded)]
    yield from _table(report, sections, width, everything=everything)
    hidden = ", ".join(each.title for each in report.sections if each.rows and each not in sections)
    notes = [*([f"--all also lists {hidden}."] if hidden else []), *report.notes]
    yield from (Text(folded(note, width)) for note in (["", *notes] if notes else []))


def _table(report: Report, sections: Sequence[ReportSection], width: int, *, everything: bool) -> Iterator[Text]:
    """Yield the titles, and the rows of each section below its own."""
    shown = [each.rows[: None if everything or not each.limited else MOST] for each in sections]
    rows = [row for of_section in shown for row in of_section]
    columns = report.filled(rows)
    named = {id(row): report.short(row) if report.short and width < WIDE else ("", report.name(row)) for row in rows}
    marked = 2 * any(map(report.mark, rows))
    beside = columns.pop() if columns and columns[-1].left and not columns[-1].title else None
    widths = [max(map(cell_len, [column.title, *(column.text(row) for row in rows if column.text)])) for column in columns]
    longest = max([cell_len(report.title), *(cell_len(name) + 2 * bool(group) for group, name in named.values())])
    room = max(min(longest, width - marked - sum(each + 2 for each in widths)), min(longest, LEAST))

    def line(mark: str, name: str, cells: Iterable[str]) -> str:
        padded = "".join(f"  {_aligned(cell, size, left=column.left)}" for cell, size, column in zip(cells, widths, columns))
        return f"{mark:<{marked}}{_aligned(name, room, left=True)}{padded}"

    if rows and (report.title or any(column.title for column in columns)):
        yield from [Text("")] * bool(report.heading)
        yield Text(line("", report.title, [column.title for column in columns]).rstrip(), style="bold")
    for section, of_section in zip(sections, shown):
        if section.title:
            yield from (Text(""), Text(folded(section.title, width), style="bold"))
        above = ""
        for row in of_section:
            (group, name), mark = named[id(row)], report.mark(row)
            style = STYLES.get(mark, "")
            if group and group != above:
                yield Text(folded(f"{' ' * marked}{group}", width))
            above, name = group, f"  {name}" if group else name
            if cell_len(name) > room:  # whole, on a line of its own
                yield Text(f"{mark:<{marked}}{name}", style=style)
                mark = name = ""
            text = line(mark, name, [column.text(row) for column in columns if column.text])
            note = beside.text(row) if beside and beside.text else ""
            both = next((each for each in (f"{text}  {note}", f"{text.rstrip()}  {note}") if cell_len(each) <= width), "") if note else ""
            if both or text.strip():
                yield Text(both or text.rstrip(), style=style)
            if note and not both:
                yield Text(folded(f"{' ' * (marked + 4)}{note}", width), style=style)
        if more := len(section.rows) - len(of_section):
            yield Text(f"{' ' * marked}and {more} more: --all")


def _aligned(cell: str, size: int, *, left: bool) -> str:
    space = " " * (size - cell_len(cell))
    return f"{cell}{space}" if left else f"{space}{cell}"


def folded(text: str, width: int) -> str:
    """Fold a line at spaces, and not within a number."""
    if width >= PIPED:
        return text
    indent = " " * (len(text) - len(text.lstrip()) + 2)
    return fill(INSIDE.sub(KEPT, text), width, subsequent_indent=indent, break_long_words=False).replace(KEPT, " ")


# Markdown


def markdown(report: Report) -> str:
    """Return the report as Markdown of GitHub: text from results stays text there, mentions no user and links nowhere."""
    marks = {*map(report.mark, report.rows)}
    sign = next((f"{sign} " for mark, sign in EMOJI.items() if mark in marks), "")
    alarm = f", **{escaped(report.alarm)}**" if report.alarm else ""
    lines = [f"### {sign}{escaped(report.heading)}{alarm}", *(f"\n{escaped(line)}" for line in report.lines)]
    shown = [each for each in report.sections if each.rows]
    for (title, is_folded), alike in groupby(shown, key=lambda each: (escaped(each.title), each.folded)):  # those without a title together
        of_title = [row for section in alike for row in section.rows]
        columns = report.filled(of_title)
        rows = [
            [
                f"{EMOJI.get(report.mark(row), '')} {code(report.name(row))}".strip(),
                *(INSIDE.sub("&nbsp;", escaped(each.text(row))) for each in columns if each.text),
            ]
            for row in of_title
        ]
        align = "".join("l" if each.left else "r" for each in columns)
        text = markdown_table([report.title, *(escaped(each.title) for each in columns)], rows, f"l{align}")
        if is_folded:
            lines.append(f"\n<details><summary>{title}</summary>\n\n{text}\n\n</details>")
        else:
            lines.append(f"\n**{title}**\n\n{text}" if title else f"\n{text}")
    return cut("\n".join([*lines, *(f"\n{escaped(note)}" for note in report.notes)]), LONGEST) + "\n"


def markdown_table(titles: Sequence[str], rows: Iterable[Sequence[str]], align: str) -> str:
    """Return a table of cells that are Markdown; align : a letter for each column, l for left or r for right."""
    lines = ["".join(f"| {cell} " if cell else "| " for cell in cells) + "|" for cells in (titles, *rows)]
    rule = "|".join("---" if letter == "l" else "--:" for letter in align)
    return "\n".join([lines[0], f"|{rule}|", *lines[1:]])


def cut(text: str, longest: int) -> str:
    """Cut a text after a whole line, and close its folds."""
    if len(text) <= longest:
        return text
    head = text[:longest].rpartition("\n")[0]
    folds = "\n</details>" * (head.count("<details>") - head.count("</details>"))
    return f"{head}\n{folds}\n\nCut here: {len(text) - len(head):,} more characters; the JSON has everything."


def escaped(text: str) -> str:
    """Escape text so that GitHub renders it as plain text."""
    return LINKED.sub(rf"\g<0>{ZERO_WIDTH_SPACE}", " ".join(printable(text).translate(ESCAPES).split()))


def code(text: str) -> str:
    """Return text as a code span in a table cell: only the ends of the span and of the cell need escaping there."""
    return f"`{' '.join(printable(text).replace('`', chr(39)).replace('|', chr(92) + '|').replace('<!--', '<! --').split())}`"


def printable(text: str) -> str:
    """Return text with a space for each character that cannot be printed."""
    return "".join(each if each.isprintable() else " " for each in text)


# JSON and CSV


def document(report: Report) -> Any:
    """Return the report as a document: the data of every column of every row."""
    rows = report.rows if report.data is None else report.data
    return six({"heading": report.answer, **report.fields, "rows": data(report.columns, rows), "notes": report.notes})


def data(columns: Sequence[ReportColumn], rows: Iterable[Any]) -> list[dict[str, Any]]:
    """Return the data of rows."""
    return [{each.key: each.value(row) for each in columns if each.value} for row in rows]


def as_json(report: Report) -> str:
    """Return the document as JSON."""
    return json.dumps(document(report), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def as_csv(report: Report) -> str:
    """Return the rows as CSV; an empty field is unknown."""
    return csv_text([each.key for each in report.columns if each.value], [[*row.values()] for row in document(report)["rows"]])


def _cell(value: Any) -> Any:
    """Return a value of JSON as a cell."""
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else value
    return f"'{text}" if isinstance(text, str) and FORMULA.match(text) else text


def csv_text(titles: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return rows as CSV. A text that a spreadsheet would take for a formula gets an apostrophe: it is then shown as it is."""
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows([titles, *(map(_cell, row) for row in rows)])
    return text.getvalue()


FORMATS: dict[str, Callable[[Report], str]] = {"markdown": markdown, "json": as_json, "csv": as_csv}  # beside text


def six(value: Any) -> Any:
    """Round numbers to six figures: further ones differ from one processor to another. None for what JSON has no number for."""
    if isinstance(value, float):
        return float(f"{value:.6g}") if isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: six(each) for key, each in value.items()}
    return [six(each) for each in value] if isinstance(value, (list, tuple)) else value
