"""A comparison for the terminal: the headline, the causes, and the changed cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from tensorcopy.analysis.comparisons import Comparison
from tensorcopy.analysis.two_sample import Change, Reason, Verdict
from tensorcopy.report.comparison.causes import causes, left_out
from tensorcopy.report.comparison.formats import rows
from tensorcopy.report.comparison.wording import (
    BY_COUNT,
    CHANGED,
    SIGNS,
    amount,
    count_text,
    headline,
    interval_text,
    not_included,
    ordered,
    percent,
    sentence,
    summary,
    times,
)
from tensorcopy.report.tables import terminal_table
from tensorcopy.report.units import count
from tensorcopy.results.counts import SECONDS
from tensorcopy.results.load import Case

WIDE = 120  # columns from which a row has its whole sentence

Row = tuple[Case, Change]


def terminal(comparison: Comparison, *, all_cases: bool = False, width: int = 80, how_to_list: str = "--all") -> RenderableType:
    """Return the headline, the causes, the changed cases by suite, and the counts of the others.

    how_to_list : the option or command that lists every case
    width : of the terminal; no row is longer than 80 columns in a narrower one than `WIDE`
    """
    shown = [row for row in ordered(comparison.changes.items()) if all_cases or row[1].verdict in CHANGED]
    before, after = comparison.labels
    parts: list[RenderableType] = [Text(f"{before} → {after}, on {comparison.on}"), Text(headline(rows(comparison)) + "\n")]
    lines = causes(comparison)
    parts += [Text("\n".join(lines) + "\n")] if lines else []
    if shown:
        parts += [_wide(shown) if width >= WIDE else _narrow(shown), Text("")]
    unit = next((change.unit for change in comparison.changes.values()), SECONDS)
    if unit != SECONDS:
        same = sum(change.verdict is Verdict.UNCHANGED for change in comparison.changes.values())
        lines = [f"{same} unchanged: less than {percent(comparison.margin)}, or than counts repeat", *not_included(comparison.problems)]
        return Group(*parts, Text("\n".join(lines)))
    inconclusive = any(change.verdict is Verdict.INCONCLUSIVE for change in comparison.changes.values())
    hint = [f"{how_to_list} lists every case, and how many more passes it needs"] if inconclusive and not all_cases else []
    return Group(*parts, Text("\n".join([*counts(comparison), *left_out(comparison), *hint, *not_included(comparison.problems)])))


def _wide(shown: Sequence[Row]) -> RenderableType:
    cells = [(*_start(case, change, f"{_suite(case)} {_name(case)}"), times(change.ratio), sentence(change)) for case, change in shown]
    return terminal_table(("", "case", "before", "after", "ratio", ""), cells, "llrrrl")


def _narrow(shown: Sequence[Row]) -> RenderableType:
    """Return a table with a heading for each suite, whose rows fit in 80 columns."""
    by_suite: dict[str, list[Row]] = {}
    for case, change in shown:
        by_suite.setdefault(_suite(case), []).append((case, change))
    cells = []
    for suite, suite_rows in by_suite.items():
        cells.append(("", suite, "", "", ""))
        cells += [(*_start(case, change, f" {_short_name(case)}"), _evidence(change)) for case, change in suite_rows]
    return terminal_table(("", "case", "before", "after", "change"), cells, "llrrl")


def _start(case: Case, change: Change, name: str) -> tuple[str, str, str, str]:
    return SIGNS[change.verdict], name, amount(change.before, change.unit), amount(change.after, change.unit)


def _evidence(change: Change) -> str:
    """Return what speaks for the verdict, in few words."""
    if change.unit != SECONDS:
        return f"{100 * (change.size - 1):+.1f} %".replace("-", "−")
    if change.reason in BY_COUNT and change.count:
        return count_text(change.count)
    return interval_text(change) if change.reason is Reason.CHANGED else times(change.ratio)


def _suite(case: Case) -> str:
    return case.suite_name


def _short_name(case: Case) -> str:
    """Return the method and its parameters in few columns: "clone_detach 2¹⁷ float16"."""
    return " ".join(_short_value(name, value) for name, value in case.parameters)


def _short_value(name: str, value: str) -> str:
    if name == "requires_grad":
        return "grad" if value == "True" else "no grad"
    return count(int(value)) if name == "numel" else value


def _name(case: Case) -> str:
    return " ".join(value if name == "method" else f"{name}={value}" for name, value in case.parameters)


def counts(comparison: Comparison) -> list[str]:
    """Return a line for each reason of the unchanged and the inconclusive cases."""
    changes = comparison.changes.values()
    unchanged = Counter(change.reason for change in changes if change.verdict is Verdict.UNCHANGED)
    inconclusive = Counter(summary(change) for change in changes if change.verdict is Verdict.INCONCLUSIVE)
    texts = {
        Reason.WITHIN_MARGIN: f"within ±{percent(comparison.margin)}",
        Reason.COUNT_UNCHANGED: "instructions unchanged, and the interval of the time includes 0 %",
    }
    lines = [f"{number} unchanged: {texts[reason]}" for reason, number in unchanged.most_common()]
    return lines + [f"{count} inconclusive: {reason}" for reason, count in inconclusive.most_common()]
