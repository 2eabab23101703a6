"""Verdicts as a person or a program reads them: for the terminal, as Markdown, JSON and CSV. Pure."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable
from io import StringIO
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tensorcopy.compare import ALPHA, Change, Verdict
from tensorcopy.results import Case
from tensorcopy.sides import Comparison, device_of, named
from tensorcopy.units import duration

SYMBOLS = {Verdict.SLOWER: "🔴", Verdict.FASTER: "🟢", Verdict.SAME: "⚪", Verdict.UNDECIDED: "❓"}
SIGNS = {Verdict.SLOWER: "▲", Verdict.FASTER: "▼", Verdict.SAME: "=", Verdict.UNDECIDED: "?"}
LONGEST = 60_000  # characters of a comment; GitHub takes 65,536
CHANGED = (Verdict.SLOWER, Verdict.FASTER)

Row = tuple[Case, Change]


def headline(found: Comparison) -> str:
    """What was found, in one sentence."""
    number, rows = Counter(change.verdict for change in found.changes.values()), ordered(found)
    of = f"of {len(found.changes)} cases"
    if not number[Verdict.SLOWER] and not number[Verdict.FASTER]:
        if number[Verdict.SAME] == 0:
            return f"Nothing could be said of {len(found.changes)} cases"
        return f"No change is seen in {len(found.changes)} cases; {number[Verdict.SAME]} changed by less than {_percent(found.margin)}"
    said = [f"{number[verdict]} {verdict.value}" for verdict in CHANGED if number[verdict]]
    case, change = rows[0]
    return f"{' and '.join(said)} {of}; most of all {named(case)}, {change.sentence}"


def ordered(found: Comparison) -> list[Row]:
    """Slower, faster, undecided, same; within each the largest change first."""
    order = (Verdict.SLOWER, Verdict.FASTER, Verdict.UNDECIDED, Verdict.SAME)

    def place(row: Row) -> tuple[int, float]:
        ratio = row[1].ratio or 1.0
        return order.index(row[1].verdict), -max(ratio, 1 / ratio)

    return sorted(found.changes.items(), key=place)


def terminal(found: Comparison, *, every: bool = False) -> RenderableType:
    """What changed as a table, how many did not, and why the others are undecided.

    every : list all cases
    """
    table = Table(box=None, pad_edge=False)
    for title, justify in (("", "left"), ("case", "left"), ("before", "right"), ("after", "right"), ("ratio", "right"), ("", "left")):
        table.add_column(title, justify=justify, overflow="fold")  # type: ignore[arg-type]
    for case, change in ordered(found):
        if every or change.verdict in CHANGED:
            table.add_row(
                SIGNS[change.verdict], named(case), _time(change.before), _time(change.after), _ratio(change.ratio), change.sentence
            )
    parts: list[RenderableType] = [Text(f"{found.named[0]} → {found.named[1]}, on {found.on}"), Text(headline(found) + "\n")]
    if table.row_count:
        parts += [table, Text("")]
    undecided = any(change.verdict is Verdict.UNDECIDED for change in found.changes.values())
    lines = [*counted(found), *(["--all says how many more passes would tell"] if undecided else [])]
    return Group(*parts, Text("\n".join(lines)))


def markdown(found: Comparison) -> str:
    """A comment that is read in five seconds: the verdict, a summary, the changes; the rest is folded, and cut where it is too long."""
    rows = ordered(found)
    symbol = next((SYMBOLS[verdict] for verdict in CHANGED if any(change.verdict is verdict for _, change in rows)), SYMBOLS[Verdict.SAME])
    lines = [
        f"### {symbol} {_escaped(headline(found))}",
        "",
        f"{_escaped(found.named[0])} → {_escaped(found.named[1])} · {_escaped(found.on)}",
        "",
        "| | cases | median ratio | least … greatest |",
        "|---|--:|--:|--:|",
    ]
    for verdict in (*CHANGED, Verdict.SAME, Verdict.UNDECIDED):
        ratios = sorted(change.ratio for _, change in rows if change.verdict is verdict and change.ratio)
        count = sum(change.verdict is verdict for _, change in rows)
        spread = f"{ratios[0]:.2f} … {ratios[-1]:.2f}" if ratios else ""
        lines.append(f"| {SYMBOLS[verdict]} {verdict.value} | {count} | {_ratio(_middle(ratios))} | {spread} |")
    changed = [row for row in rows if row[1].verdict in CHANGED]
    lines += ["", *_table(changed)] if changed else []
    for verdict, title in ((Verdict.UNDECIDED, "undecided"), (Verdict.SAME, f"no change larger than {_percent(found.margin)}")):
        some = [row for row in rows if row[1].verdict is verdict]
        lines += ["", f"<details><summary>{len(some)} {title}</summary>", "", *_table(some), "", "</details>"] if some else []
    return _cut("\n".join(lines)) + "\n"


def document(found: Comparison) -> dict[str, Any]:
    """Everything, for a program; times in seconds."""
    return {
        "before": _side(found, 0),
        "after": _side(found, 1),
        "margin": found.margin,
        "alpha": ALPHA,
        "counts": {verdict.value: sum(change.verdict is verdict for change in found.changes.values()) for verdict in Verdict},
        "changes": [_row(case, change) for case, change in ordered(found)],
    }


def as_json(found: Comparison) -> str:
    return json.dumps(document(found), indent=1, ensure_ascii=False) + "\n"


def as_csv(found: Comparison) -> str:
    """A line for each case; an empty field is not known."""
    names = ["case", "device", "verdict", "ratio", "low", "high", "p", "before", "after", "held", "of", "reason"]
    text = StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    for case, change in ordered(found):
        row = _row(case, change)
        low, high = row.pop("interval") or ("", "")
        held, of = row.pop("confirmed") or ("", "")
        writer.writerow({**{name: row[name] for name in names if name in row}, "low": low, "high": high, "held": held, "of": of})
    return text.getvalue()


def _row(case: Case, change: Change) -> dict[str, Any]:
    return {
        "case": named(case),
        "suite": case.suite,
        "parameters": dict(case.parameters),
        "device": device_of(case),
        "verdict": change.verdict.value,
        "ratio": _six(change.ratio),
        "interval": [_six(end) for end in change.interval] if change.interval else None,
        "p": _six(change.p),
        "before": _six(change.before),
        "after": _six(change.after),
        "confirmed": change.confirmed,
        "reason": change.reason,
    }


def _side(found: Comparison, index: int) -> dict[str, Any]:
    result = (found.before, found.after)[index]
    return {"named": found.named[index], "machine": result.machine, "python": result.python, "build": result.build, "ledger": result.ledger}


def counted(found: Comparison) -> list[str]:
    """How many cases did not change, and what would decide the undecided ones."""
    rows = found.changes.values()
    same = sum(change.verdict is Verdict.SAME for change in rows)
    undecided = Counter(_why(change) for change in rows if change.verdict is Verdict.UNDECIDED)
    lines = [f"{same} same: no change larger than {_percent(found.margin)}"] if same else []
    lines += [f"{count} undecided: {why}" for why, count in undecided.most_common()]
    return lines


def _why(change: Change) -> str:
    """An undecided change's reason, as far as it is shared with others."""
    return change.reason.partition(",")[0] if not change.interval else "the interval holds both a change and none"


def _table(rows: Iterable[Row]) -> list[str]:
    lines = ["| case | before | after | ratio | |", "|---|--:|--:|--:|---|"]
    for case, change in rows:
        cells = [_code(named(case)), _time(change.before), _time(change.after), _ratio(change.ratio), _escaped(change.sentence)]
        lines.append(f"| {SYMBOLS[change.verdict]} {' | '.join(cells)} |")
    return lines


def _cut(text: str) -> str:
    """No longer than a comment may be: whole lines, folds closed, and a line that says so."""
    if len(text) <= LONGEST:
        return text
    kept = text[:LONGEST].rpartition("\n")[0]
    open_folds = kept.count("<details>") - kept.count("</details>")
    return kept + "\n" + "\n</details>" * open_folds + f"\n\nCut here: {len(text) - len(kept):,} characters more; --format json has all."


ESCAPES = str.maketrans(
    {**{character: "\\" + character for character in "\\*_[]|#"}, **{character: f"&#{ord(character)};" for character in "<>`@"}}
)


def _escaped(text: str) -> str:
    """Text that Markdown takes for text: results may come from somebody else."""
    return " ".join(text.translate(ESCAPES).split())


def _code(text: str) -> str:
    """Text as code in a table's cell, where nothing but the span's end and the cell's end can be escaped."""
    return "`" + " ".join(text.replace("`", "'").replace("|", "\\|").split()) + "`"


def _middle(ratios: list[float]) -> float | None:
    return ratios[len(ratios) // 2] if ratios else None


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


def _six(number: float | None) -> float | None:
    """Six figures: further ones differ from one processor to the next."""
    return None if number is None else float(f"{number:.6g}")


def _time(seconds: float | None) -> str:
    return duration(seconds) if seconds is not None else ""


def _ratio(ratio: float | None) -> str:
    return f"{ratio:.2f}×" if ratio is not None else ""
