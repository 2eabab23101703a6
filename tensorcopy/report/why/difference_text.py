"""A case, and a difference between two profiles of it, in words and rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tensorcopy.analysis.profiles.difference import Difference, FunctionChange, GroupChange
from tensorcopy.analysis.profiles.kernels import Kernel
from tensorcopy.analysis.two_sample import Change, Verdict
from tensorcopy.report.numbers import duration, percent, signed_percent
from tensorcopy.results.profiles.profile_file import Function

GROUPS_IN_A_SENTENCE = 4
LARGE = 0.05  # share of the difference; a smaller group is not in the sentence
CALLS_LISTED = 8
WIDTH = 62  # columns of a function's name


def sentence(difference: Difference) -> str:
    """Return the difference in one sentence.

    "−1 642 instructions (−29.0 %): TensorImpl and metadata −604 (TensorImpl::TensorImpl 2× instead of 4×), allocator −210."
    """
    total = f"{signed(difference.total)} instructions ({signed_percent(difference.ratio)})"
    if not difference.changed:
        return f"No change: {total}, less than two counts of the same release may differ."
    large = [group for group in difference.groups if abs(group.difference) >= LARGE * abs(difference.total)]
    parts = [_group_part(difference, group) for group in large[:GROUPS_IN_A_SENTENCE]]
    left = len(large) - len(parts)
    more = f", and {left} more group{'s' if left > 1 else ''}" if left else ""
    return f"{total}: {', '.join(parts)}{more}."


def _group_part(difference: Difference, group: GroupChange) -> str:
    """Return a group's difference, with its function whose calls changed and made most of it."""
    part = f"{group.group} {signed(group.difference)}"
    called = [
        change
        for change in difference.calls_changed
        if change.group == group.group and (change.difference > 0) == (group.difference > 0) and change.difference
    ]
    if not called:
        return part
    most = max(called, key=lambda change: abs(change.difference))
    return f"{part} ({short(most.function[1])} {_times(most)})"


def _times(change: FunctionChange) -> str:
    if change.status == "gained":
        return f"new, {number(change.after.calls)}×"
    return "gone" if change.status == "lost" else f"{number(change.after.calls)}× instead of {number(change.before.calls)}×"


def group_rows(difference: Difference) -> list[str]:
    """Return the groups with their named functions."""
    names = unique_names(difference.functions)
    lines = [f"{'exclusive instructions':<{WIDTH + 2}} {'before':>9} {'after':>9} {'change':>8}  calls"]
    for group in difference.groups:
        if abs(group.difference) < 0.5 and not group.named:
            continue
        lines.append(_row(group.group, group.before, group.after))
        lines += [_row(f"  {names[change.function]}", change.before.own, change.after.own, _calls_text(change)) for change in group.named]
    return lines


def unique_names(functions: Iterable[FunctionChange]) -> dict[Function, str]:
    """Return the name of each function, with its library where another library has one of the same name."""
    rows = [change.function for change in functions]
    several = Counter(name for _, name in rows)
    return {(library, name): f"{name} ({library})" if several[name] > 1 else name for library, name in rows}


def _row(name: str, before: float, after: float, calls: str = "") -> str:
    shown = name if len(name) <= WIDTH + 2 else f"{name[: WIDTH + 1]}…"
    return f"{shown:<{WIDTH + 2}} {number(before):>9} {number(after):>9} {signed(after - before):>8}  {calls}".rstrip()


def _calls_text(change: FunctionChange) -> str:
    before, after = number(change.before.calls), number(change.after.calls)
    return before if before == after else f"{before} → {after}"


def call_rows(difference: Difference) -> list[str]:
    """Return the functions that are called more or less often."""
    rows = difference.calls_changed[:CALLS_LISTED]
    if not rows:
        return []
    names = unique_names(difference.functions)
    lines = [f"{'called more or less often, with everything below them':<{WIDTH + 2}} {'before':>9} {'after':>9} {'change':>8}  calls"]
    return lines + [_row(f"  {names[row.function]}", row.before.inclusive, row.after.inclusive, _calls_text(row)) for row in rows]


def kernel_text(difference: Difference) -> str:
    """Return a sentence about the kernels of a large tensor."""
    kernel = difference.kernel
    per_element = f"{kernel.before.per_element:.3g} → {kernel.after.per_element:.3g} instructions per element"
    variants = list(dict.fromkeys(filter(None, (kernel.before.variant, kernel.after.variant))))
    variant = " → ".join(variants) or "its symbol names no instruction set"
    names = " → ".join(dict.fromkeys(kernel_name(side) for side in (kernel.before, kernel.after)))
    vectorised = ""
    if kernel.lost_vectorisation:
        vectorised = " The kernel lost its vectorisation."
    elif kernel.gained_vectorisation:
        vectorised = " The kernel became vectorised."
    return f"Kernel: {per_element} ({variant}; {names}).{vectorised}"


def kernel_name(kernel: Kernel) -> str:
    return kernel.function[1] if kernel.function else "no kernel"


def named_text(difference: Difference) -> str:
    """Return how much of a change is named, and how much is not; "" where nothing changed."""
    if not difference.changed:
        return ""
    functions, others = len(difference.named), len(difference.functions) - len(difference.named)
    named = "1 named function explains" if functions == 1 else f"{functions} named functions explain"
    left_out = "in the cheapest ones, together 1 % of a call, which a profile leaves out"
    where = f"in {others} further function{'s' if others > 1 else ''} and {left_out}" if others else left_out
    return (
        f"{named} {percent(difference.share_named, 0)} of the difference; the other {signed(difference.unnamed)} instructions are {where}."
    )


def short(name: str) -> str:
    """Return the last two parts of a function's name: "TensorImpl::TensorImpl"."""
    return "::".join(name.split("::")[-2:])


def number(value: float) -> str:
    """Return instructions or calls without needless digits: "1 642", "0.5"."""
    text = f"{value:,.0f}" if abs(value) >= 10 or abs(value - round(value)) < 0.05 else f"{value:.1f}"
    return text.replace(",", "\u2009")


def signed(value: float) -> str:
    """Return a difference with its sign: "−1 642", "+12", "0"."""
    text = number(abs(value))
    return text if text == "0" else f"{'+' if value > 0 else '−'}{text}"


def case_text(name: str) -> str:
    """Return what a profiled case is measured on: "numel=16, float32, contiguous, requires grad"."""
    _, numel, dtype, layout, *grad = name.split()
    return ", ".join([f"numel={numel}", dtype, layout, *(["requires grad"] if grad else [])])


def time_text(change: Change | None) -> str:
    """Return what the clock shows; "" where the case was not timed."""
    if change is None or change.ratio is None or not (change.before and change.after):
        return ""
    verdict = "" if change.verdict in (Verdict.SLOWER, Verdict.FASTER) else f", {change.verdict.value}"
    times = f"{duration(change.before)} → {duration(change.after)}"
    return f"The clock: {times} ({signed_percent(change.ratio)}{verdict})."
