"""What a copy of one element spends its time on: its instructions by group of functions, over the releases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tensorcopy.analysis.profiles import difference
from tensorcopy.analysis.profiles.function_groups import KERNEL
from tensorcopy.report.units import duration
from tensorcopy.report.why import difference_text
from tensorcopy.results.load import Result
from tensorcopy.results.profiles import profile_file
from tensorcopy.site import addresses
from tensorcopy.site.model.cases import spent
from tensorcopy.site.model.cases.spent import Spent
from tensorcopy.site.model.content import Content
from tensorcopy.site.model.machine import Machine
from tensorcopy.site.page import Page

METHOD = "detach_clone"
CASE = f"{METHOD} 1 float32 contiguous"  # the recommended copy, of one element: nothing but overhead
FUNCTIONS = 12  # the most expensive ones that are listed
WHAT = {
    "Python binding": "finds the method, parses arguments, wraps the result as a Python object",
    "dispatcher": "selects the operator's kernel by device, dtype and mode",
    "autograd": "tells which results belong to a graph",
    "TensorImpl and metadata": "makes tensors: sizes, strides, storage, reference counts",
    "allocator": "allocates and frees memory, for the data and for the tensor itself",
    "kernel": "copies the element",
    "interpreter": "runs Python's bytecode, and takes and releases the GIL",
    "operator": "checks and prepares what the kernel needs",
    "thread-local lookups": "look up each thread's modes and guards",
}


@dataclass(frozen=True)
class GroupRow:
    """A group of functions, over the releases.

    share : length of the bar, in percent of the most expensive group's
    """

    name: str
    what: str
    share: str
    values: Sequence[str]


@dataclass(frozen=True)
class FunctionRow:
    """One of the most expensive functions of the newest release."""

    name: str
    group: str
    own: str
    calls: str
    share: str


def pages(content: Content) -> Iterator[Page]:
    """Yield the page, of the first machine whose functions were counted; none without one, and none in a project."""
    for machine in () if content.project else content.machines:
        releases = spent.over_releases(machine.results, CASE)
        if releases:
            yield Page(addresses.NANOSECONDS, "nanoseconds.html", "The most expensive nanoseconds", _values(content, machine, releases))
            return


def address(content: Content) -> str:
    """Return the page's address; "" where there is none."""
    return (
        addresses.NANOSECONDS
        if not content.project and any(spent.is_profiled(machine.results, CASE) for machine in content.machines)
        else ""
    )


def _values(content: Content, machine: Machine, releases: Sequence[Spent]) -> dict[str, object]:
    newest, newest_first = releases[-1], releases[::-1]
    case = next((case for case in machine.cases if case in newest.result.timings and profile_file.name_of(case) == CASE), None)
    before = _before(machine, newest)
    return {
        "code": machine.code(METHOD),
        "lead": _lead(releases, duration(newest.result.timings[case].median) if case else ""),
        "circumstances": f"numel=1, float32, contiguous, Python {newest.result.python}.",
        "columns": [(each.release, each.result.python) for each in newest_first],
        "rows": list(_group_rows(newest_first)),
        "totals": [difference_text.number(each.profile.instructions) for each in newest_first],
        "empty": [difference_text.number(each.empty_call) if each.empty_call else "" for each in newest_first],
        "functions": list(_function_rows(newest)),
        "newest": newest,
        "history": machine.case_address(case) if case else "",
        "comparison": content.comparison_address(before, newest.result) if before else "",
    }


def _before(machine: Machine, newest: Spent) -> Result | None:
    """Return the result of the release before, in the same series; None without one."""
    for series in machine.series:
        for before, after in pairwise(series.results):
            if after is newest.result:
                return before
    return None


def _lead(releases: Sequence[Spent], time: str) -> str:
    """Return the answer in sentences: the whole call and its kernel, the oldest release, and an empty call."""
    newest, first = releases[-1], releases[0]
    total = newest.profile.instructions
    takes = f"With torch {newest.release} a call takes {difference_text.number(total)} instructions{f', {time}' if time else ''}"
    older = f"With torch {first.release} (Python {first.result.python}) it took {difference_text.number(first.profile.instructions)}."
    share = f"{100 * newest.by_group.get(KERNEL, 0.0) / total:.1f} % of them are the kernel that copies the element"
    sentences = [f"{takes}; {share}."]
    if first is not newest:
        sentences.append(older)
    if newest.empty_call:
        sentences.append(f"A call of an empty Python function takes {difference_text.number(newest.empty_call)}.")
    return " ".join(sentences)


def _group_rows(releases: Sequence[Spent]) -> Iterator[GroupRow]:
    """Yield a row for each group, the most expensive of the first release first, then what is not named."""
    newest = releases[0]
    most = max(newest.by_group.values())
    for group in dict.fromkeys([*newest.by_group, *(group for each in releases for group in each.by_group)]):
        values = [each.by_group.get(group, 0.0) for each in releases]
        yield GroupRow(group, WHAT.get(group, ""), f"{100 * values[0] / most:.0f}", [difference_text.number(value) for value in values])
    unnamed = [each.unnamed for each in releases]
    what, share = "functions that are too cheap for the profile", f"{100 * unnamed[0] / most:.0f}"
    yield GroupRow("all others", what, share, [*map(difference_text.number, unnamed)])


def _function_rows(newest: Spent) -> Iterator[FunctionRow]:
    """Yield the most expensive functions."""
    groups = difference.groups_of(newest.profile)
    costs = sorted(newest.profile.functions.items(), key=lambda item: -item[1].own)
    for function, cost in costs[:FUNCTIONS]:
        share = f"{100 * cost.own / newest.profile.instructions:.1f} %"
        yield FunctionRow(function[1], groups[function], difference_text.number(cost.own), difference_text.number(cost.calls), share)
