"""The functions behind the changes between neighbouring releases: a page and a script for each change whose functions were counted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from tensorcopy.analysis.profiles.difference import Difference
from tensorcopy.report.why import cause, cause_text, difference_text, reproduction
from tensorcopy.results.passes import Case
from tensorcopy.results.profiles import profile_file
from tensorcopy.site import addresses
from tensorcopy.site.model.content import Content
from tensorcopy.site.model.machine import Machine
from tensorcopy.site.page import File, Page


@dataclass(frozen=True)
class FunctionRow:
    """A group or a named function."""

    name: str
    is_group: bool
    before: str
    after: str
    change: str
    calls: str


def pages(content: Content) -> Iterator[Page]:
    """Yield nothing: each page is about a machine."""
    yield from ()


def machine_pages(content: Content, machine: Machine) -> Iterator[Page | File]:
    """Yield a page and a script for each change of a machine whose functions were counted; in a project, for its own operations only."""
    cases: dict[str, Case] = {}
    for listed in machine.cases:
        cases.setdefault(profile_file.name_of(listed), listed)
    for change in machine.causes.values():
        case = cases.get(change.name)
        if content.project and not case:
            continue
        comparison = content.comparison_address(change.before, change.after)
        time = content.comparisons[comparison].changes.get(case) if comparison and case else None
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
            "history": machine.case_address(case) if case else "",
            "comparison": comparison,
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
