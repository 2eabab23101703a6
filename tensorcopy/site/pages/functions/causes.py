"""The functions behind the changes between neighbouring releases: a page and a script for each change whose functions were counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from tensorcopy.analysis.profiles import call_pairs
from tensorcopy.analysis.profiles.call_pairs import NodePair
from tensorcopy.analysis.profiles.difference import Difference
from tensorcopy.report.why import cause, cause_text, difference_text, reproduction
from tensorcopy.results.load import Case
from tensorcopy.results.profiles import profile_file
from tensorcopy.site import addresses
from tensorcopy.site.model.cases.counted_changes import CountedChange
from tensorcopy.site.model.content import Content
from tensorcopy.site.model.machine import Machine
from tensorcopy.site.page import File, Page

SMALLEST = 0.03  # share of the call; a smaller difference is not in the tree, if any is as large
LEAST = 0.25  # share of the whole difference, which is in the tree where no difference is as large as SMALLEST
OPEN = 0.1  # share of the largest difference of the tree from which on a branch is open


@dataclass(frozen=True)
class FunctionRow:
    """A group or a named function."""

    name: str
    is_group: bool
    before: str
    after: str
    change: str
    calls: str


@dataclass(frozen=True)
class Branch:
    """A function of the two-sided tree, with those that it calls.

    names : of the function; before it, those of the callers that differ only by what it differs
    before, after, change, calls : of the first of them
    is_open : whether the branch is open at first
    """

    names: tuple[str, ...]
    before: str
    after: str
    change: str
    calls: str
    is_open: bool
    callees: tuple[Branch, ...]


def machine_pages(content: Content, machine: Machine) -> Iterator[Page | File]:
    """Yield a page and a script for each change of a machine whose functions were counted; in a project, for its own operations only."""
    by_name: dict[str, Case] = {}
    for case in machine.cases:
        by_name.setdefault(profile_file.name_of(case), case)
    for change in machine.causes.values():
        if not content.project or change.name in by_name:
            yield from _page(content, machine, change, by_name.get(change.name))


def _page(content: Content, machine: Machine, change: CountedChange, case: Case | None) -> Iterator[Page | File]:
    comparison_address = content.comparison_address(change.before, change.after)
    time = content.comparisons[comparison_address].changes.get(case) if comparison_address and case else None
    result = cause.of_results(change.before, change.after, change.name, change.difference, time, case)
    script = addresses.data(change.address, "py") if reproduction.is_possible(result) else ""
    file_name = PurePosixPath(script).name
    values = {
        "cause": result,
        "circumstances_text": difference_text.case_text(result.name),
        "sentence": difference_text.sentence(change.difference),
        "clock_only": cause_text.CLOCK_ONLY if result.only_the_clock else "",
        "kernel": difference_text.kernel_text(change.difference) if change.difference.kernel.shown else "",
        "named": difference_text.named_text(change.difference),
        "time": difference_text.time_text(result.time),
        "rows": list(_rows(change.difference)),
        "branches": _tree(change.difference),
        "history": machine.case_address(case) if case else "",
        "comparison": comparison_address,
        "script": script,
        "commands": [reproduction.command(side, file_name) for side in (change.before, change.after)] if script else [],
    }
    title = f"Why {result.code} changed with {result.labels[1]}, {values['circumstances_text']}"
    yield Page(change.address, "why.html", title, values)
    if script:
        yield File(script, reproduction.script(result, file_name))


def _rows(functions: Difference) -> Iterator[FunctionRow]:
    """Yield a row for each group, followed by those of its named functions."""
    names = difference_text.unique_names(functions.functions)
    for group in functions.groups:
        if group.named or abs(group.difference) >= 1:
            yield _row(group.group, group.before, group.after, is_group=True)
        for change in group.named:
            calls = " → ".join(dict.fromkeys(difference_text.number(side.calls) for side in (change.before, change.after)))
            yield _row(names[change.function], change.before.own, change.after.own, calls=calls)


def _row(name: str, before: float, after: float, *, calls: str = "", is_group: bool = False) -> FunctionRow:
    numbers = difference_text.number(before), difference_text.number(after), difference_text.signed(after - before)
    return FunctionRow(name, is_group, *numbers, calls)


def _tree(functions: Difference) -> tuple[Branch, ...]:
    """Return the call trees of both sides as one: the large differences, or those that matter where the whole is small."""
    for smallest in (SMALLEST * functions.before.instructions, LEAST * abs(functions.total)):
        pairs = call_pairs.paired(functions.before.roots, functions.after.roots, smallest)
        branches = _branches(pairs, smallest, OPEN * max((abs(pair.difference) for pair in pairs), default=0.0))
        if branches:
            return branches
    return ()


def _branches(pairs: Sequence[NodePair], smallest: float, opened: float) -> tuple[Branch, ...]:
    """Return the tree of the functions whose difference, or that of a callee, is at least `smallest`."""
    branches = []
    for pair in pairs:
        callees = _branches(pair.callees, smallest, opened)
        if abs(pair.difference) < smallest and not callees:
            continue
        before, after = ((side.inclusive if side else 0.0) for side in (pair.before, pair.after))
        calls = [difference_text.number(side.calls if side else 0.0) for side in (pair.before, pair.after)]
        numbers = difference_text.number(before), difference_text.number(after), difference_text.signed(after - before)
        branch = Branch((pair.function[1],), *numbers, " → ".join(dict.fromkeys(calls)), abs(pair.difference) >= opened, callees)
        branches.append(_in_one_line(branch))
    return tuple(branches)


def _in_one_line(branch: Branch) -> Branch:
    """Return a branch with its only callee in one line, if that has the whole difference and is called as often."""
    if len(branch.callees) != 1:
        return branch
    (callee,) = branch.callees
    if (callee.change, callee.calls) != (branch.change, branch.calls):
        return branch
    return replace(branch, names=branch.names + callee.names, callees=callee.callees)
