"""A comparison as Markdown, to be read in five seconds: a comment, whoever the results came from. Pure.

All text that came with results is escaped: it stays text on GitHub, and calls nobody, links nowhere and closes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from tensorcopy.analysis.two_sample import Change, Verdict
from tensorcopy.report.comparison.wording import CHANGED, SYMBOLS, headline, ordered, percent, seconds, times

LONGEST = 60_000  # characters of a comment; GitHub takes 65,536

Row = tuple[str, Change]


def comparison(named: tuple[str, str], on: str, margin: float, unordered: Iterable[Row], longest: int = LONGEST) -> str:
    """The verdict, a summary, the changes; the rest is folded, and cut where it is too long.

    named : the two sides
    on : what both were measured on
    """
    rows = ordered(unordered)
    symbol = next(
        (SYMBOLS[verdict] for verdict in CHANGED if any(change.verdict is verdict for _, change in rows)), SYMBOLS[Verdict.UNCHANGED]
    )
    lines = [
        f"### {symbol} {escaped(headline(rows))}",
        "",
        f"{escaped(named[0])} → {escaped(named[1])} · {escaped(on)}",
        "",
        "| | cases | median ratio | least … greatest |",
        "|---|--:|--:|--:|",
    ]
    for verdict in (*CHANGED, Verdict.UNCHANGED, Verdict.INCONCLUSIVE):
        ratios = sorted(change.ratio for _, change in rows if change.verdict is verdict and change.ratio)
        count = sum(change.verdict is verdict for _, change in rows)
        spread = f"{ratios[0]:.2f} … {ratios[-1]:.2f}" if ratios else ""
        lines.append(f"| {SYMBOLS[verdict]} {verdict.value} | {count} | {times(median(ratios) if ratios else None)} | {spread} |")
    changed = [row for row in rows if row[1].verdict in CHANGED]
    lines += ["", *_table(changed)] if changed else []
    inconclusive = [row for row in rows if row[1].verdict is Verdict.INCONCLUSIVE]
    for some, title in (
        ([row for row in inconclusive if not row[1].interval], "not compared"),
        ([row for row in inconclusive if row[1].interval], "inconclusive"),
        ([row for row in rows if row[1].verdict is Verdict.UNCHANGED], f"with no change larger than {percent(margin)}"),
    ):
        lines += ["", f"<details><summary>{len(some)} {title}</summary>", "", *_table(some), "", "</details>"] if some else []
    return cut("\n".join(lines), longest) + "\n"


def _table(rows: Sequence[Row]) -> list[str]:
    lines = ["| case | before | after | ratio | |", "|---|--:|--:|--:|---|"]
    for name, change in rows:
        before, after = (seconds(time).replace(" ", "&nbsp;") for time in (change.before, change.after))
        cells = [code(name), before, after, times(change.ratio), escaped(change.sentence)]
        lines.append(f"| {SYMBOLS[change.verdict]} {' | '.join(cells)} |")
    return lines


def cut(text: str, longest: int) -> str:
    """No longer than a comment may be: whole lines, folds closed, and a line that says so."""
    if len(text) <= longest:
        return text
    kept = text[:longest].rpartition("\n")[0]
    open_folds = kept.count("<details>") - kept.count("</details>")
    return kept + "\n" + "\n</details>" * open_folds + f"\n\nCut here: {len(text) - len(kept):,} characters more; --format json has all."


# GitHub makes links, names and numbers of other pages out of text also where the character is written as a reference to it; a space of no
# width after it prevents that
NOTHING = "&#8203;"
ESCAPES = str.maketrans(
    {
        **{character: "\\" + character for character in "\\*_[]|~"},
        **{character: f"&#{ord(character)};" for character in "<>`"},
        "@": f"@{NOTHING}",
        "#": f"\\#{NOTHING}",
    }
)


def escaped(text: str) -> str:
    """Text that Markdown, and GitHub, take for text: results may come from somebody else."""
    printable = "".join(character if character.isprintable() else " " for character in text)
    safe = " ".join(printable.translate(ESCAPES).split())
    return safe.replace("://", f":{NOTHING}//").replace("www.", f"www{NOTHING}.")


def code(text: str) -> str:
    """Text as code in a table's cell, where nothing but the span's end and the cell's end can be escaped."""
    printable = "".join(character if character.isprintable() else " " for character in text)
    return "`" + " ".join(printable.replace("`", "'").replace("|", "\\|").replace("<!--", "<! --").split()) + "`"
