"""A comparison as a GitHub comment that is read in five seconds.

All text that comes from results is escaped: on GitHub it stays text, mentions no user, links nowhere and closes no issue.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from tensorcopy.analysis.two_sample import Change, Verdict
from tensorcopy.report.comparison.wording import CHANGED, SYMBOLS, amount, headline, ordered, percent, sentence, times
from tensorcopy.report.tables import markdown_table

LONGEST = 60_000  # characters; GitHub allows 65,536 in a comment

Row = tuple[str, Change]


def comparison_text(
    labels: tuple[str, str], on: str, margin: float, unordered: Iterable[Row], longest: int = LONGEST, notes: Sequence[str] = ()
) -> str:
    """Return headline, summary and changes.

    The other cases are folded, and the text is cut if it is too long.

    labels : of the two sides
    on : the processor and Python of both
    notes : lines below the summary, such as files that could not be read
    """
    rows = ordered(unordered)
    symbol = SYMBOLS[next((verdict for verdict in CHANGED if any(change.verdict is verdict for _, change in rows)), Verdict.UNCHANGED)]
    lines = [f"### {symbol} {escaped(headline(rows))}", "", f"{escaped(labels[0])} → {escaped(labels[1])} · {escaped(on)}", ""]
    lines.append(_summary(rows))
    lines += [line for note in notes for line in ("", f"⚠ {escaped(note)}")]
    changed = [row for row in rows if row[1].verdict in CHANGED]
    lines += ["", _table(changed)] if changed else []
    inconclusive = [row for row in rows if row[1].verdict is Verdict.INCONCLUSIVE]
    for folded, title in (
        ([row for row in inconclusive if not row[1].interval], "not compared"),
        ([row for row in inconclusive if row[1].interval], "inconclusive"),
        ([row for row in rows if row[1].verdict is Verdict.UNCHANGED], f"unchanged (within ±{percent(margin)})"),
    ):
        lines += ["", f"<details><summary>{len(folded)} {title}</summary>", "", _table(folded), "", "</details>"] if folded else []
    return cut("\n".join(lines), longest) + "\n"


def _summary(rows: Sequence[Row]) -> str:
    """Return the number of cases, the median ratio and its range for each verdict."""
    cells = []
    for verdict in (*CHANGED, Verdict.UNCHANGED, Verdict.INCONCLUSIVE):
        ratios = sorted(change.ratio for _, change in rows if change.verdict is verdict and change.ratio)
        count = sum(change.verdict is verdict for _, change in rows)
        spread = f"{ratios[0]:.2f} to {ratios[-1]:.2f}" if len(ratios) > 1 else ""
        cells.append((f"{SYMBOLS[verdict]} {verdict.value}", str(count), times(median(ratios) if ratios else None), spread))
    return markdown_table(("", "cases", "median ratio", "range"), cells, "lrrr")


def _table(rows: Sequence[Row]) -> str:
    cells = []
    for name, change in rows:
        before, after = (amount(value, change.unit).replace(" ", "&nbsp;") for value in (change.before, change.after))
        cells.append((f"{SYMBOLS[change.verdict]} {code(name)}", before, after, times(change.ratio), escaped(sentence(change))))
    return markdown_table(("case", "before", "after", "ratio", ""), cells, "lrrrl")


def cut(text: str, longest: int) -> str:
    """Cut a text to `longest` characters, after a whole line.

    Open folds are closed, and a note is added.
    """
    if len(text) <= longest:
        return text
    head = text[:longest].rpartition("\n")[0]
    open_folds = head.count("<details>") - head.count("</details>")
    note = f"Cut here: {len(text) - len(head):,} more characters; `--format json` has everything."
    return head + "\n" + "\n</details>" * open_folds + f"\n\n{note}"


# GitHub turns text into links, mentions and issue references even if the character is written as a character reference; a zero-width
# space after it prevents that
ZERO_WIDTH_SPACE = "&#8203;"
ESCAPES = str.maketrans(
    {
        **{character: "\\" + character for character in "\\*_[]|~"},
        **{character: f"&#{ord(character)};" for character in "<>`&"},  # `&commat;name` would be a mention, too
        "@": f"@{ZERO_WIDTH_SPACE}",
        "#": f"\\#{ZERO_WIDTH_SPACE}",
    }
)


def escaped(text: str) -> str:
    """Escape text so that GitHub renders it as plain text."""
    printable = "".join(character if character.isprintable() else " " for character in text)
    safe = " ".join(printable.translate(ESCAPES).split())
    return safe.replace("://", f":{ZERO_WIDTH_SPACE}//").replace("www.", f"www{ZERO_WIDTH_SPACE}.")


def code(text: str) -> str:
    """Return text as a code span in a table cell.

    Only the ends of the span and of the cell need escaping there.
    """
    printable = "".join(character if character.isprintable() else " " for character in text)
    return "`" + " ".join(printable.replace("`", "'").replace("|", "\\|").replace("<!--", "<! --").split()) + "`"
