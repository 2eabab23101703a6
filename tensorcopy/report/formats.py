"""A comparison as Markdown, as JSON and as CSV, and open regressions as JSON; `terminal` has the terminal.

The Markdown is a GitHub comment that is read in five seconds. All text in it that comes from results is escaped: on GitHub it stays text,
mentions no user, links nowhere and closes no issue.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from io import StringIO
from math import isfinite
from typing import Any

from tensorcopy.judge.case_history import Standing
from tensorcopy.judge.comparisons import Comparison, Mean, group_means
from tensorcopy.judge.groups import by_age, open_regressions
from tensorcopy.judge.paired import ALPHA, APART, FAILED, ONE_SIDED, Change, Reason, Verdict
from tensorcopy.numbers import multiple, quantity
from tensorcopy.report.sentences import (
    CHANGED,
    SYMBOLS,
    TIME,
    by_word,
    caption,
    headline,
    largest,
    margins,
    mean_lines,
    not_included,
    ordered,
    sentence,
)
from tensorcopy.results.cases import Case
from tensorcopy.results.result import Result
from tensorcopy.results.suite_specs import INSTRUCTIONS

LONGEST = 60_000  # characters; GitHub allows 65,536 in a comment
HEADER = (
    "case",
    "before_label",
    "after_label",
    "device",
    "metric",
    "time_verdict",
    "likely",
    "time_ratio",
    "time_low",
    "time_high",
    "level",
    "p",
    "before",
    "after",
    "work_verdict",
    "instructions_ratio",
    "launches",
    "way",
    "detectable",
    "factor",
    "reason",
    "text",
)

NamedChange = tuple[str, Change]


def markdown(comparison: Comparison) -> str:
    """Return the comparison as a GitHub comment."""
    notes = [*mean_lines(comparison), *caption(comparison), *(f"⚠ {line}" for line in not_included(comparison.problems))]
    rows = [(case.name, change) for case, change in comparison.changes.items()]
    return comparison_text(comparison.labels, comparison.on, rows, notes=notes)


def document(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison as a document; times in seconds."""
    changes = comparison.changes
    before_label, after_label = comparison.labels
    return {
        "before": _side(before_label, comparison.before),
        "after": _side(after_label, comparison.after),
        "device": comparison.device,
        "margin": comparison.question.smallest,
        "alpha": ALPHA,
        "counts": {**{verdict.value: 0 for verdict in TIME}, **by_word(changes.values())},
        "means": [_mean(mean) for mean in group_means(comparison)],
        "changes": [_row(case, change) for case, change in ordered(changes.items())],
        "problems": [problem.document() for problem in comparison.problems],
    }


def _mean(mean: Mean) -> dict[str, Any]:
    """Return the mean of a group of methods as a document."""
    change, (low, high) = mean.change, mean.change.interval or (None, None)
    verdict = {"verdict": change.verdict.value, "likely": change.likely.value if change.likely else None}
    sizes = {"ratio": _six(change.ratio), "low": _six(low), "high": _six(high), "level": _six(change.level)}
    return {"group": mean.module, "device": mean.device, "cases": len(mean.cases), **verdict, **sizes}


def _side(label: str, result: Result) -> dict[str, Any]:
    place = {"history": result.history, "python": result.python, "build": result.build}
    return {"label": label, **place, "provenance": result.provenance}


def as_csv(comparison: Comparison) -> str:
    """Return a row for each case; an empty field is unknown. Of the launches on both sides, the smaller number."""
    sides, lines = dict(zip(("before_label", "after_label"), comparison.labels)), []
    for case, change in ordered(comparison.changes.items()):
        row = _row(case, change)
        row |= {**sides, "launches": min(change.launches), "text": sentence(change)}
        lines.append([row[name] for name in HEADER])
    return csv_text(HEADER, lines)


FORMATS: dict[str, Callable[[Comparison], str]] = {
    "markdown": markdown,
    "json": lambda comparison: as_json(document(comparison)),
    "csv": as_csv,
}  # of `compare --format`, beside text


def _row(case: Case, change: Change) -> dict[str, Any]:
    """Return a case as a document. Of a count, what is about time is None."""
    count, (low, high) = change.count, change.interval or (None, None)
    timed = change.timed
    work_verdict = count.verdict if count else None
    if not timed:
        work_verdict = change.verdict
    return {
        "case": case.name,
        "suite": case.suite,
        "parameters": dict(case.parameters),
        "device": case.device,
        "metric": "time" if timed else change.unit,
        "time_verdict": change.verdict.value if timed else None,
        "likely": change.likely.value if change.likely else None,
        "reason": change.reason.value,
        "time_ratio": _six(change.ratio) if timed else None,
        "time_low": _six(low),
        "time_high": _six(high),
        "level": _six(change.level) if change.has_interval else None,
        "p": _six(change.p),
        "before": _six(change.before),
        "after": _six(change.after),
        "launches": change.launches,
        "more_launches": change.more_launches,
        "way": change.way if timed and change.ratio else None,
        "detectable": _six(change.detectable),
        "factor": _six(change.factor),
        "margin": change.margin,
        "accepted": change.accepted,
        "failure": change.failure,
        "work_verdict": work_verdict.value if work_verdict else None,
        "instructions_ratio": _six(count.ratio) if count and count.unit == INSTRUCTIONS else None,
        "count": count
        and {
            "unit": count.unit,
            "before": _six(count.before),
            "after": _six(count.after),
            "repeatability": _six(count.repeatability),
            **({"interval": [*map(_six, count.interval)]} if count.interval else {}),
            "verdict": count.verdict.value,
        },
    }


def open_document(standings: Iterable[Standing], device: str) -> dict[str, Any]:
    """Return the open regressions as a document: what is new first, each age in order of `Standing.rank`.

    compared : of the timed cases, those of which a change could be seen
    """
    every = [*standings]
    groups = by_age(open_regressions(every))
    return {
        "device": device,
        "cases": len(every),
        "compared": sum(each.history.is_compared for each in every),
        "regressions": [
            {"method": each.method, "age": age.value, "cases": [_open_case(standing) for standing in each.standings]}
            for age, of_age in groups.items()
            for each in of_age
        ],
    }


def _open_case(standing: Standing) -> dict[str, Any]:
    """Return an open case as a document; its costs are against its best release."""
    history, cost = standing.history, standing.cost
    low, high = (cost.interval if cost else None) or (None, None)
    since = standing.since and {
        "release": standing.since_release,
        "against": history.releases[history.before(standing.since.index)],
        "ratio": _six(standing.since.ratio),
    }
    return {
        "case": history.case.name,
        "history": history.results[-1].history,
        "release": history.releases[standing.newest],
        "best": standing.best_release,
        "ratio": _six(standing.ratio),
        "low": _six(low),
        "high": _six(high),
        "before": _six(standing.times[0]),
        "after": _six(standing.times[1]),
        "since": since,
        "state": "accepted" if standing.accepted else "open",
        "accepted": standing.accepted,
    }


def as_json(document: Mapping[str, Any]) -> str:
    """Return a document as JSON."""
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _six(number: float | None) -> float | None:
    """Round to six figures, further ones differ from one processor to another; None for what JSON has no number for."""
    return None if number is None or not isfinite(number) else float(f"{number:.6g}")


def comparison_text(labels: tuple[str, str], on: str, unordered: Iterable[NamedChange], notes: Sequence[str]) -> str:
    """Return headline, summary and changes.

    The other cases are folded, and the text is cut if it is too long.

    labels : of the two sides
    on : the processor and Python of both
    notes : lines below the summary, such as how many launches were compared
    """
    rows = ordered(unordered)
    signs = [_symbol(change) for _, change in rows]
    symbol = next((f"{sign} " for sign in SYMBOLS.values() if sign in signs), "")
    title, *more = headline([change for _, change in rows])
    lines = [f"### {symbol}{escaped(title)}", "", f"{escaped(labels[0])} → {escaped(labels[1])} · {escaped(on)}"]
    lines += [line for note in filter(None, [*more, largest(rows), *notes]) for line in ("", escaped(note))]
    changed = [row for row in rows if row[1].verdict in CHANGED]
    lines += ["", _table(changed)] if changed else []
    unchanged, likely = [row for row in rows if row[1].verdict is Verdict.UNCHANGED], [row for row in rows if row[1].likely]
    unknown = [row for row in rows if row[1].verdict is Verdict.UNKNOWN and not row[1].likely]
    for folded, title in (
        (likely, "likely slower or faster, not significant among all cases"),
        ([row for row in unknown if row[1].reason in FAILED], "failed"),
        ([row for row in unknown if row[1].reason is ONE_SIDED[0]], f"only in {escaped(labels[0])}"),
        ([row for row in unknown if row[1].reason is ONE_SIDED[1]], f"only in {escaped(labels[1])}"),
        ([row for row in unknown if row[1].reason is Reason.OTHER_VERSION], "in another version"),
        ([row for row in unknown if not row[1].compared and row[1].reason not in APART], "not compared"),
        ([row for row in unknown if row[1].compared], "unknown"),
        (unchanged, f"unchanged (within ±{margins(change for _, change in unchanged)})"),
        ([row for row in rows if row[1].verdict is Verdict.EQUAL], "equal"),
    ):
        lines += ["", f"<details><summary>{len(folded)} {title}</summary>", "", _table(folded), "", "</details>"] if folded else []
    return cut("\n".join(lines), LONGEST) + "\n"


def _symbol(change: Change) -> str:
    """Return the symbol of a change that a reader has to look at; "" for others, and for a slowdown that is accepted."""
    return "" if change.accepted else SYMBOLS.get(change.verdict, "")


def _table(rows: Sequence[NamedChange]) -> str:
    cells = []
    for name, change in rows:
        before, after = (escaped(quantity(value, change.unit)).replace(" ", "&nbsp;") for value in (change.before, change.after))
        text = escaped(sentence(replace(change, accepted="")))
        text += f"; accepted: {code(change.accepted)}" if change.accepted else ""  # in the words of a pull request
        cells.append((f"{_symbol(change)} {code(name)}".strip(), before, after, multiple(change.ratio), text))
    return markdown_table(("case", "before", "after", "ratio", ""), cells, "lrrrl")


def cut(text: str, longest: int) -> str:
    """Cut a text to `longest` characters, after a whole line.

    Open folds are closed, and a note is added.
    """
    if len(text) <= longest:
        return text
    head = text[:longest].rpartition("\n")[0]
    open_folds = head.count("<details>") - head.count("</details>")
    note = f"Cut here: {len(text) - len(head):,} more characters; the JSON has everything."
    return head + "\n" + "\n</details>" * open_folds + f"\n\n{note}"


# GitHub turns text into links, mentions and issue references even if the character is written as a character reference; a zero-width
# space after it prevents that
ZERO_WIDTH_SPACE = "&#8203;"
# what follows would be a link, of a host or a commit, or an emoji
LINKED = re.compile(r":(?=//)|www(?=\.)|\bGH-(?=\d)|:(?=[\w+-]+:)|\b[0-9a-f]{7}(?=[0-9a-f]{33}\b)", re.IGNORECASE)
FORMULA = re.compile(r"\s*[=+@-]|[\t\r\n]")
ESCAPES = str.maketrans(
    {
        **{character: "\\" + character for character in "\\*_[]|~"},
        **{character: f"&#{ord(character)};" for character in "<>`&"},  # `&commat;name` would be a mention, too
        "@": f"@{ZERO_WIDTH_SPACE}",
        "#": f"\\#{ZERO_WIDTH_SPACE}",
        "$": "<span>$</span>",  # a formula may have links
    }
)


def escaped(text: str) -> str:
    """Escape text so that GitHub renders it as plain text."""
    printable = "".join(character if character.isprintable() else " " for character in text)
    safe = " ".join(printable.translate(ESCAPES).split())
    return LINKED.sub(rf"\g<0>{ZERO_WIDTH_SPACE}", safe)


def code(text: str) -> str:
    """Return text as a code span in a table cell.

    Only the ends of the span and of the cell need escaping there.
    """
    printable = "".join(character if character.isprintable() else " " for character in text)
    return "`" + " ".join(printable.replace("`", "'").replace("|", "\\|").replace("<!--", "<! --").split()) + "`"


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table as CSV with a header line; None is an empty field.

    A text that a spreadsheet would take for a formula, as a third party may name a suite, gets an apostrophe: it is then shown as it is.
    """
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([f"'{cell}" if isinstance(cell, str) and FORMULA.match(cell) else cell for cell in row] for row in rows)
    return text.getvalue()


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]], align: str) -> str:
    """Return a table as lines of GitHub Markdown.

    Cells are taken as they are: escape text that is not yours.

    align : a letter for each column: l for left, r for right
    """
    lines = ["".join(f"| {cell} " if cell else "| " for cell in cells) + "|" for cells in (header, *rows)]
    lines.insert(1, f"|{'|'.join({'l': '---', 'r': '--:'}[letter] for letter in align)}|")
    return "\n".join(lines)
