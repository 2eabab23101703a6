"""Count the instructions of a call with valgrind's callgrind.

The count is the same on a busy machine as on a quiet one. `count` starts `python -m tensorcopy.copying.inside.instruction_count` under
callgrind. That process runs every method on every tensor of `sections`, in one thread, and counts only inside its loops, switched by
torch's callgrind toggles; importing torch, which takes half a minute under callgrind, is not counted. The median of several counts of each
loop is used, because the number of instructions in malloc depends on the state of the heap.
"""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from secrets import randbelow
from statistics import median
from time import perf_counter
from typing import Any

from tensorcopy.copying.inside.methods import (
    ALTERNATIVES,
    CONVERSIONS,
    COPIES,
    DTYPES,
    LAYOUTS,
    PRIMITIVES,
    make_tensor,
    why_not,
)
from tensorcopy.copying.inside.own import device_of, find_method, make_values, own_operations, own_with_inputs
from tensorcopy.errors import TensorcopyError
from tensorcopy.worker import hardware, operations

# Calls on a small tensor before anything is counted. From Python 3.11 on, bytecode that cannot be specialized is tried again after 16, 48,
# 112, … 2,032 and 4,080 executions, at 3 to 4 % of a call each time: no count lies near one of these. They run before instrumentation is
# switched on, which makes them 20 times as fast.
WARM_UP = 2500
TIMES = 3  # one count may be an outlier: malloc consolidates the heap now and then
SMALL = 16  # elements of the tensor of the warm-up
CALLS, ELEMENTS = 50, 2**18  # calls of a count, at most so many elements together, and at least `FEWEST_CALLS`
FEWEST_CALLS = 2
NUMELS = tuple(2**k for k in (0, 4, 7, 10, 14, 17, 20))  # as they are timed, except 2^24: there the kernel's page faults take the time
LAYOUT_NUMELS = tuple(2**k for k in (4, 10, 14, 17))
DTYPE_NUMELS = tuple(2**k for k in (4, 10, 17))
OTHER_NUMELS = tuple(2**k for k in (0, 10, 20))
COPIED = (*COPIES, *CONVERSIONS)
OTHERS = (*PRIMITIVES, *ALTERNATIVES)
CALLGRIND = ("valgrind", "--tool=callgrind", "--instr-atstart=no", "--collect-atstart=no")
TOTALS = re.compile(r"^totals: (\d+)$", re.MULTILINE)

# An environment variable of random length moves the stack and the heap. Without it, repeated counts agree by having the same addresses,
# and look more repeatable than counts of two releases are
PADDING, PAGE = "TENSORCOPY_PADDING", 4096

REPEAT = "TENSORCOPY_TIMES"  # the environment variable with how often each section is counted
LONGEST_CALL = 0.5  # seconds under valgrind, before it counts: counting takes ten times as long
INPUTS = "inputs"  # in place of the dtype, of an operation that declares its inputs
ONLY = "TENSORCOPY_SECTIONS"  # the environment variable with a regular expression of the sections to count; default: all

LoopFunction = Callable[[Any, int], None]

EMPTY, EMPTY_SHORT = -1, -2  # the numbers of the empty loop of `CALLS` turns, and of one with `FEWEST_CALLS`

LOOP = """
def loop(x, calls):
    for _ in range(calls):
        {code}
"""


@dataclass(frozen=True)
class Section:
    """A loop that is counted: a method and its tensor.

    numel : its elements; of an operation that declares its inputs, the value of "n" in their shapes
    """

    method: str
    numel: int
    dtype: str = "float32"
    layout: str = "contiguous"
    requires_grad: bool = False

    def __str__(self) -> str:
        return f"{self.method} {self.numel} {self.dtype} {self.layout}{' grad' if self.requires_grad else ''}"

    @property
    def calls(self) -> int:
        """The calls of one count."""
        return max(FEWEST_CALLS, min(CALLS, ELEMENTS // self.numel ** (2 if self.dtype == INPUTS else 1)))

    def tensor(self, numel: int) -> Any:
        """Return a tensor of the section's kind; None where the operation declares its inputs."""
        if self.dtype == INPUTS:
            return None
        return make_tensor(numel, dtype=self.dtype, layout=self.layout, requires_grad=self.requires_grad)


def sections() -> Iterator[Section]:
    """Yield the sections, whether or not this torch can run them."""
    for methods, numels in ((COPIED, NUMELS), (OTHERS, OTHER_NUMELS)):
        for method, numel, requires_grad in product(methods, numels, (False, True)):
            yield Section(method, numel, requires_grad=requires_grad)
    for method, numel, layout in product(COPIED, LAYOUT_NUMELS, LAYOUTS[1:]):
        yield Section(method, numel, layout=layout)
    for method, numel, dtype in product(COPIED, DTYPE_NUMELS, DTYPES[1:]):
        yield Section(method, numel, dtype=dtype)


def all_of_them() -> list[Section]:
    """Return the sections of the registry's methods, then those of the reader's own operations."""
    own = [Section(method, numel, requires_grad=grad) for method, numel, grad in product(own_operations(), OTHER_NUMELS, (False, True))]
    inputs = [
        Section(operation.name, n, INPUTS, "n")
        for operation in operations.operations()
        for n in (operation.sizes if operation.inputs and device_of(operation) == "cpu" else ())
    ]
    return [*sections(), *own, *inputs]


def count() -> dict[Section, float]:
    """Return instructions per call on the CPU; the cost of the loop is subtracted.

    A section that raises in this torch is absent. Takes a minute or two. Raises TensorcopyError where valgrind is missing or fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        files = run_callgrind(Path(folder))
        totals = {number: [int(TOTALS.findall(path.read_text("utf-8"))[0]) for path in paths] for number, paths in files.items()}
    return per_call(totals, all_of_them())


def per_call(totals: Mapping[int, Sequence[int]], counted: Sequence[Section]) -> dict[Section, float]:
    """Return the instructions of a call of each section, from those of its loops by its number, and those of both empty loops."""
    long, short = min(totals[EMPTY]), min(totals[EMPTY_SHORT])
    turn = (long - short) / (CALLS - FEWEST_CALLS)
    once = short - FEWEST_CALLS * turn  # switching the count on and off, which a loop of few calls must not divide by its calls
    return {section: (median(totals[number]) - once) / section.calls - turn for number, section in enumerate(counted) if number in totals}


def run_callgrind(folder: Path, times: int = TIMES) -> dict[int, list[Path]]:
    """Count every section in a new process, and return callgrind's files by the section's number.

    times : counts of each section

    Raises TensorcopyError where valgrind is missing or fails.
    """
    if reason := hardware.missing_valgrind():
        raise TensorcopyError("instructions cannot be counted", got=reason, allowed="valgrind 3.13 or newer", next="apt install valgrind")
    out = folder / "counts"
    command = [*CALLGRIND, f"--callgrind-out-file={out}", sys.executable, "-m", "tensorcopy.copying.inside.instruction_count"]
    # the same order of sets in every run, and no GPU driver for valgrind to run
    own = {"PYTHONHASHSEED": "0", "CUDA_VISIBLE_DEVICES": "", PADDING: "x" * randbelow(PAGE), REPEAT: str(times)}
    completed = subprocess.run(command, env={**os.environ, **own}, capture_output=True, text=True, check=False)
    # callgrind writes one file per section, numbered from 1, and an empty one at exit
    numbers = [int(line) for line in completed.stdout.split()]
    paths = [path for index in range(1, len(numbers) + 1) if (path := out.with_name(f"{out.name}.{index}")).exists()]
    if completed.returncode != 0 or not numbers or len(paths) != len(numbers):
        raise TensorcopyError(
            "instructions were not counted",
            got=(completed.stderr.strip().splitlines() or ["nothing"])[-1],
            allowed="a count for each method",
            next=f"{' '.join(CALLGRIND)} python -m tensorcopy.copying.inside.instruction_count shows the full error",
        )
    by_section: dict[int, list[Path]] = {}
    for number, path in zip(numbers, paths):
        by_section.setdefault(number, []).append(path)
    return by_section


def _work() -> None:
    """Run every section's loop, the empty loop first.

    Prints the number of each section that is counted. This function runs under callgrind.
    """
    import torch

    sys.stdout = sys.stderr  # an own operation may print; the numbers go to the real one
    warnings.simplefilter("ignore")  # formatting a warning would be counted
    torch.set_num_threads(1)
    gc.disable()
    only, all_sections = re.compile(os.environ.get(ONLY, "")), all_of_them()
    loops: dict[int, LoopFunction] = {}
    for number, section in enumerate(all_sections):
        if only.search(str(section)) and (loop := warmed_up(section)):
            loops[number] = loop
    switch_on = ["callgrind_control", "--instr=on", str(os.getpid())]
    subprocess.run(switch_on, check=True, stdout=subprocess.DEVNULL)
    empty = _loop("pass", {})
    empty(None, WARM_UP)
    _count(EMPTY, empty, None, CALLS)
    _count(EMPTY_SHORT, empty, None, FEWEST_CALLS)
    for number, loop in loops.items():
        section = all_sections[number]
        _count(number, loop, section.tensor(section.numel), section.calls)
    os._exit(0)  # skips the interpreter's clean-up, which is not to be counted


def warmed_up(section: Section) -> LoopFunction | None:
    """Return the loop of a section; None where its code raises for such a tensor, takes too long, or is not in this torch."""
    has_inputs = section.dtype == INPUTS
    method = own_with_inputs()[section.method] if has_inputs else find_method(section.method)
    if why_not(method, "cpu"):
        return None
    try:
        if has_inputs:
            operation = next(each for each in operations.operations() if each.name == section.method)
            loop = _loop(method.code, {**method.names, **make_values(operation, method, min(operation.sizes))})
            loop(None, WARM_UP)
            loop.__globals__.update(make_values(operation, method, section.numel))
            return loop if _is_short(lambda: loop(None, 1)) else None
        tensor = section.tensor(section.numel)
        if not _is_short(lambda: method(tensor)):
            return None
        loop, small = _loop(method.code, method.names), section.tensor(SMALL)
        loop(small, WARM_UP)
    except Exception:  # an own operation may raise anything
        return None
    return loop


def _is_short(call: Callable[[], object]) -> bool:
    """Return whether one of two calls is short enough to be counted."""
    for _ in range(2):  # the first one may initialise something
        start = perf_counter()
        call()
        if perf_counter() - start < LONGEST_CALL:
            return True
    return False


def _loop(code: str, names: Mapping[str, Any]) -> LoopFunction:
    namespace = {**names}
    exec(LOOP.format(code=code), namespace)  # noqa: S102 - a method's code
    loop: LoopFunction = namespace["loop"]
    return loop


def _count(number: int, loop: LoopFunction, x: Any, calls: int) -> None:
    """Count a loop repeatedly, and print the section's number for each count."""
    import torch

    loop(x, calls)
    times = int(os.environ.get(REPEAT, TIMES))
    print(*[number] * times, sep="\n", file=sys.__stdout__, flush=True)  # not in between: callgrind counts its calls, too
    for _ in range(times):
        torch._C._valgrind_toggle()
        loop(x, calls)
        torch._C._valgrind_toggle_and_dump_stats()


if __name__ == "__main__":
    _work()
