"""Profile the functions of every counted case, under callgrind.

`python -m tensorcopy.worker.processes tensorcopy.worker.probes.functions.function_profile REGEX` prints the profile as JSON, for
`tensorcopy measure`. The cases are those of `instruction_count`, and their instructions are counted in the same way. The regular expression
selects sections by name; "" selects all.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tensorcopy.worker.probes import instruction_count
from tensorcopy.worker.probes.functions import call_tree
from tensorcopy.worker.probes.functions.call_tree import Function, Node
from tensorcopy.worker.probes.instruction_count import CALLS, EMPTY, EMPTY_CALL, EMPTY_SHORT, FEWEST_CALLS, Section
from tensorcopy.worker.processes import ReportProgress, ignore_progress

SEPARATE = ("--separate-callers=100", "--separate-recs=1")  # a chain of callers is shorter
TIMES = 2  # the lower of two: malloc consolidates the heap now and then
SHARE = 0.99  # of a call's instructions that the named functions make
INTERPRETER = ("libpython", "_PyEval_EvalFrameDefault")  # its loop over bytecode, in which counting is switched on


def profile(pattern: str = "") -> dict[str, Any]:
    """Return "valgrind", "empty_call", "functions" and "cases", as functions.schema.json describes them.

    pattern : a regular expression on names of sections; "" for those that `instruction_count` counts

    Raises TensorcopyError where valgrind is missing or fails.
    """
    if pattern:
        os.environ[instruction_count.ONLY] = pattern
    sys.setrecursionlimit(10_000)  # trees are as deep as the stack
    sections = instruction_count.all_of_them()
    numbers: dict[Function, int] = {}
    cases = {}
    with tempfile.TemporaryDirectory() as folder:
        by_section = instruction_count.run_callgrind(Path(folder), *SEPARATE, times=TIMES)
        loops = _lowest(by_section.pop(EMPTY)), _lowest(by_section.pop(EMPTY_SHORT))
        empty_call = _per_call(_lowest(by_section.pop(EMPTY_CALL)), loops, CALLS)
        for number, paths in by_section.items():
            tree = _lowest(paths)
            cases[str(sections[number])] = _case(sections[number], tree, loops, numbers)
    of_all = {"valgrind": _valgrind(), "empty_call": round(empty_call.inclusive(), 1)}
    return {**of_all, "functions": [list(function) for function in numbers], "cases": cases}


def _valgrind() -> str:
    """Return the version of valgrind, such as "3.19.0"."""
    printed = subprocess.run(["valgrind", "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S607 - on the PATH
    return printed.strip().removeprefix("valgrind-")


def _lowest(paths: Sequence[Path]) -> Node:
    """Return the tree with the fewest instructions, since a disturbance only adds some, with the calls of the last one.

    The first count has the calls of the warm-up, which callgrind counts although it collects no instructions.
    """
    trees = [call_tree.read(path.read_text(encoding="utf-8")) for path in paths]
    lowest = min(trees, key=Node.inclusive)
    call_tree.take_calls(lowest, trees[-1])
    return lowest


def _case(section: Section, tree: Node, loops: tuple[Node, Node], numbers: dict[Function, int]) -> dict[str, Any]:
    """Return a case's functions and calls, and number its functions.

    loops : the empty loop with many and with few turns
    """
    tree = _per_call(tree, loops, section.calls)
    tree.callees = {INTERPRETER: _bytecode(tree)}
    total, costs = tree.inclusive(), tree.own_by_function()
    named, sum_of_named = {INTERPRETER}, costs[INTERPRETER]
    for function in sorted(costs, key=lambda function: (-costs[function], function)):
        if sum_of_named >= SHARE * total:
            break
        if function not in named:
            named.add(function)
            sum_of_named += costs[function]
    call_tree.keep(tree, named)
    return {"instructions": round(total, 1), "tree": _rows(tree, numbers, 0)}


def _per_call(tree: Node, loops: tuple[Node, Node], calls: int) -> Node:
    """Return the tree of one call, without the loop around it."""
    call_tree.subtract(tree, *loops, (calls, CALLS, FEWEST_CALLS))
    call_tree.divide(tree, calls)
    return tree


def _bytecode(tree: Node) -> Node:
    """Return the interpreter's loop: the function that runs when counting starts, under whatever name callgrind has it."""
    callees: dict[Function, Node] = {}
    own = 0.0
    for node in tree.callees.values():
        own += node.own
        call_tree.merge(callees, node.callees)
    return Node(own, 1.0, callees)


def _rows(tree: Node, numbers: dict[Function, int], depth: int) -> list[float]:
    """Return four numbers for each node, callers before callees: depth, function, own instructions, calls."""
    rows: list[float] = []
    for function, node in sorted(tree.callees.items()):
        number = numbers.setdefault(function, len(numbers))
        rows += [depth, number, round(node.own), _rounded(node.calls), *_rows(node, numbers, depth + 1)]
    return rows


def _rounded(calls: float) -> float:
    """Return a number of calls: a whole one where it is near, since the loop's last turn may differ."""
    return round(calls) if abs(calls - round(calls)) < 0.1 else round(calls, 1)


def main(arguments: Sequence[str], report_progress: ReportProgress = ignore_progress) -> dict[str, Any]:
    """Profile the sections that the first argument selects."""
    report_progress(0.0, "counting")
    return profile(arguments[0])
