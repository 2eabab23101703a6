"""Profile the functions of every counted case under callgrind: the exclusive instructions of each, and how often it is called.

`python -m tensorcopy.worker.processes tensorcopy.copying.inside.profiler REGEX` prints the profile as JSON, for `tensorcopy measure`. The
cases are those of `instruction_count`, and their instructions are counted in the same way. The regular expression selects sections by name;
"" selects all.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from tensorcopy.copying.inside import instruction_count
from tensorcopy.copying.inside.instruction_count import CALLS, EMPTY, EMPTY_SHORT, FEWEST_CALLS, Section
from tensorcopy.worker.processes import ReportProgress, ignore_progress

TIMES = 2  # the lower of two: malloc consolidates the heap now and then
SHARE = 0.99  # of a call's instructions that the named functions make
LONGEST_NAME = 300  # characters of a Python function's name
UNNAMED = "(unnamed)"  # code without a symbol
NO_LIBRARY = "???"  # callgrind's name for code that belongs to no file that it has read
INTERPRETER = ("libpython", "_PyEval_EvalFrameDefault")  # its loop over bytecode, in which counting is switched on

# parts of a name that differ between builds although the function is the same
DECORATIONS = re.compile(r"'\d+$|@@?[A-Z]+_[\d.]+|@plt|\[abi:\w+\]| \[clone [^\]]*\]|\.(constprop|isra|part|lto_priv|cold)(\.\d+)*")
OPERATOR = re.compile(r"operator *(<=>|<<=|>>=|->\*|<<|>>|<=|>=|->|<|>|\(\))")
OPERATOR_LETTERS = {"<": "\x01", ">": "\x02", "(": "\x03", ")": "\x04", "=": "=", "-": "-", "*": "*"}  # so that operators are not brackets
RETURN_TYPE = re.compile(r"^(?!operator\b)(?!.*::operator ).* (?=[\w~:{])(?!(?:new|delete)\b)")  # of a template's instance
POINTER = re.compile(r"&\(?([A-Za-z_][\w:]*)")

Function = tuple[str, str]  # library and name, such as ("libc10", "c10::TensorImpl::TensorImpl")


class Cost(NamedTuple):
    """The exclusive instructions of a function, and how often it is called."""

    own: float
    calls: float


def main(arguments: Sequence[str], report_progress: ReportProgress = ignore_progress) -> dict[str, Any]:
    """Return "valgrind", "functions" and "cases", as `results.function_profiles` reads them.

    The first argument is a regular expression on names of sections; "" for those that `instruction_count` counts. Raises TensorcopyError
    where valgrind is missing or fails.
    """
    (pattern,) = arguments
    report_progress(0.0, "counting")
    if pattern:
        os.environ[instruction_count.ONLY] = pattern
    with tempfile.TemporaryDirectory() as folder:
        by_section = {number: _lowest(paths) for number, paths in instruction_count.run_callgrind(Path(folder), times=TIMES).items()}
    printed = subprocess.run(["valgrind", "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S607 - on the PATH
    loops = by_section.pop(EMPTY), by_section.pop(EMPTY_SHORT)
    sections, numbers = instruction_count.all_of_them(), dict[Function, int]()
    cases = {str(sections[number]): _case(sections[number], costs, loops, numbers) for number, costs in by_section.items()}
    return {"valgrind": printed.strip().removeprefix("valgrind-"), "functions": [list(function) for function in numbers], "cases": cases}


def _lowest(paths: Sequence[Path]) -> dict[Function, Cost]:
    """Return the costs of the count with the fewest instructions, since a disturbance only adds some, with the calls of the last one.

    The first count has the calls of the warm-up, which callgrind counts although it collects no instructions.
    """
    counts = [read(path.read_text(encoding="utf-8")) for path in paths]
    lowest = min(counts, key=lambda costs: sum(cost.own for cost in costs.values()))
    return {function: Cost(cost.own, counts[-1].get(function, Cost(0, 0)).calls) for function, cost in lowest.items()}


def _case(
    section: Section,
    costs: Mapping[Function, Cost],
    loops: tuple[Mapping[Function, Cost], Mapping[Function, Cost]],
    numbers: dict[Function, int],
) -> dict[str, Any]:
    """Return a case as `results.function_profiles` reads it, and number its functions: the most expensive ones.

    loops : the empty loop of many and of few turns
    """
    of_call = per_call(costs, *loops, section.calls)
    of_call[INTERPRETER] = Cost(of_call[INTERPRETER].own, 1)
    total = left = sum(cost.own for cost in of_call.values())
    named = []
    for function in sorted(of_call, key=lambda function: (-of_call[function].own, function)):
        if left <= (1 - SHARE) * total:
            break
        left -= of_call[function].own
        named.append(numbers.setdefault(function, len(numbers)))
    by_number = {numbers[function]: cost for function, cost in of_call.items() if function in numbers}
    rows = []
    for number in sorted(named):
        own, calls = by_number[number]
        # a whole number of calls where it is near, since the loop's last turn may differ
        rows.append((number, round(own), round(calls) if abs(calls - round(calls)) < 0.1 else round(calls, 1)))
    return {"instructions": round(total, 1), "functions": [value for row in rows for value in row], "python": python_calls(section)}


def python_calls(section: Section) -> dict[str, int]:
    """Return the Python functions that one call of a section calls, by module and name, and how often: counted without valgrind."""
    loop, calls, tensor = instruction_count.warmed_up(section), Counter[str](), section.tensor(section.numel)

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code is not loop.__code__:  # type: ignore[union-attr]
            calls[f"{frame.f_globals.get('__name__', UNNAMED)}.{frame.f_code.co_name}"[:LONGEST_NAME]] += 1

    if loop:
        sys.setprofile(count)
        try:
            loop(tensor, 1)
        finally:
            sys.setprofile(None)
    return dict(calls)


def per_call(
    costs: Mapping[Function, Cost], many: Mapping[Function, Cost], few: Mapping[Function, Cost], calls: int
) -> dict[Function, Cost]:
    """Return the costs of one call of a loop of so many, without the loop and what switches counting on and off.

    many, few : an empty loop of `CALLS` and of `FEWEST_CALLS` turns, between which each cost is a straight line
    """

    def without_loop(value: float, many: float, few: float) -> float:
        return max(0.0, value - few - (many - few) * (calls - FEWEST_CALLS) / (CALLS - FEWEST_CALLS)) / calls

    nothing = Cost(0, 0)
    return {
        function: Cost(*map(without_loop, cost, many.get(function, nothing), few.get(function, nothing)))
        for function, cost in costs.items()
    }


def read(text: str) -> dict[Function, Cost]:
    """Return the cost of each function in a callgrind output file.

    In the file, "(5) name" defines a name and "(5)" repeats it. The instructions of jumps without a symbol, such as the entries of a
    procedure linkage table, belong to the functions that use them. A function without a caller is the interpreter's loop, whatever
    callgrind calls it.
    """
    own: dict[str, float] = defaultdict(float)
    calls: dict[tuple[str, str], float] = defaultdict(float)  # by caller and callee
    libraries: dict[str, str] = {}
    defined: dict[str, dict[str, str]] = {"ob": {}, "fn": {}}

    def lookup(kind: str, value: str) -> str:
        number, _, name = value.partition(" ")
        if name:
            defined[kind][number] = name
        return defined[kind][number]

    library = callee_library = caller = callee = ""
    number: float | None = None  # of calls, whose instructions are in the next line of costs
    for line in text.splitlines():
        if line[:1].isdigit() or line[:1] in ("+", "-", "*"):
            cost = float([*line.split(), "0"][1])
            if number is None:
                own[caller] += cost
            else:
                calls[caller, callee] += number if cost >= number else 0  # a call that costs nothing was not made while counting
            number = None
            continue
        key, _, value = line.partition("=")
        if key == "ob":
            library = callee_library = lookup("ob", value)
        elif key == "cob":
            callee_library = lookup("ob", value)
        elif key == "fn":
            caller = lookup("fn", value)
            libraries.setdefault(caller, library)
        elif key == "cfn":
            callee = lookup("fn", value)
            libraries.setdefault(callee, callee_library)
        elif key == "calls":
            callee_library, number = library, float(value.split()[0])

    jumps = {raw for raw, library in libraries.items() if library == NO_LIBRARY and function_name(raw) == UNNAMED}
    for jump in jumps & own.keys():
        callers = {caller: number for (caller, callee), number in calls.items() if callee == jump and caller not in jumps}
        for caller, number in callers.items():
            own[caller] += own[jump] * (number / sum(callers.values()) if any(callers.values()) else 1 / len(callers))
    called: dict[str, float] = defaultdict(float)
    for (_, callee), number in calls.items():
        called[callee] += number
    costs: dict[Function, Cost] = {}
    for raw in (own.keys() | called.keys()) - jumps:
        is_loop = raw.partition("'")[0] not in called
        function = INTERPRETER if is_loop else (library_name(libraries[raw]), function_name(raw))
        before = costs.get(function, Cost(0, 0))
        costs[function] = Cost(before.own + own.get(raw, 0), before.calls + called.get(raw, 0))
    return costs


def library_name(path: str) -> str:
    """Return a library's name without folder and version: "libtorch_cpu", "libc"."""
    name = path.rpartition("/")[2]
    if name.startswith(("ld-linux", "ld64")):
        return "ld"
    name = re.sub(r"\.cpython-[^.]*", "", name)
    name = re.sub(r"-[0-9a-f]{8}(?=\.)", "", name)  # the digest in a wheel's own copy of a library
    name = re.sub(r"(-\d+\.\d+)?\.so[.\d]*$", "", name)
    return "libpython" if re.match(r"(lib)?python[\d.]*$", name) else name


@cache  # a run has some thousand names
def function_name(name: str) -> str:
    """Return a function's name such that those of two releases compare.

    Dropped are template arguments, parameters, ABI tags, versions of glibc's symbols, clones, and callgrind's marks of recursion. `UNNAMED`
    for code without a symbol. Of the template that calls an operator's implementation, the implementation's name is kept.
    """
    previous = ""
    while previous != name:
        previous, name = name, DECORATIONS.sub("", name)
    if re.match(r"0x[0-9a-f]+$", name) or name in ("", "???"):
        return UNNAMED
    name = name.replace("(anonymous namespace)::", "")
    name = OPERATOR.sub(lambda match: f"operator{''.join(OPERATOR_LETTERS[letter] for letter in match[1])}", name)
    name = _without_brackets(_without_brackets(name, "<", ">", _pointer), "(", ")", lambda inside: "")
    name = re.sub(r"\s*(const|&|&&|volatile)$", "", name.strip()).strip()
    name = RETURN_TYPE.sub("", name)
    letters = {code: letter for letter, code in OPERATOR_LETTERS.items()}
    return "".join(letters.get(letter, letter) for letter in name) or UNNAMED


def _pointer(inside: str) -> str:
    """Return the last part of the function that template arguments point to, in brackets; "" for none."""
    match = POINTER.search(inside)
    return f"[{'::'.join(match[1].split('::')[-2:])}]" if match else ""


def _without_brackets(name: str, opening: str, closing: str, instead: Callable[[str], str]) -> str:
    """Return a name with `instead` of the outermost brackets' content, and without the brackets."""
    parts, depth, start = [], 0, 0
    for index, letter in enumerate(name):
        if letter == opening:
            if depth == 0:
                parts.append(name[start:index])
                start = index + 1
            depth += 1
        elif letter == closing and depth:
            depth -= 1
            if depth == 0:
                parts.append(instead(name[start:index]))
                start = index + 1
    return "".join([*parts, name[start:] if depth == 0 else ""])
