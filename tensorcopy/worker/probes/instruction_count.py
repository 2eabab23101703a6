"""Count the instructions of a call with valgrind's callgrind.

The count is the same on a busy machine as on a quiet one. `count` starts `python -m tensorcopy.worker.probes.instruction_count` under
callgrind. That process runs every method on a small tensor, in one thread, and counts only inside its loops, switched by torch's callgrind
toggles; importing torch, which takes half a minute under callgrind, is not counted. Two runs differ by at most about 1 %, because the
number of instructions in malloc depends on the state of the heap; the median of several counts of each loop is used.
"""

from __future__ import annotations

import gc
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from statistics import median
from typing import Any

from tensorcopy.errors import TensorcopyError

WARM_UP, CALLS = 100, 100  # Python 3.11 specializes bytecode within some dozens of calls
TIMES = 3  # one count may be an outlier: malloc consolidates the heap now and then
NUMEL = 16  # small: dispatch is counted, not memory traffic
CALLGRIND = ("valgrind", "--tool=callgrind", "--instr-atstart=no", "--collect-atstart=no")
TOTALS = re.compile(r"^totals: (\d+)$", re.MULTILINE)

EMPTY = ("pass", "False")  # the section of the empty loop

LOOP = """
def loop(x, calls):
    for _ in range(calls):
        {code}
"""


def missing() -> str:
    """Return why counting is not possible here; "" where it is."""
    if not sys.platform.startswith("linux"):
        return "valgrind counts on Linux only"
    if shutil.which("valgrind") is None or shutil.which("callgrind_control") is None:
        return "no valgrind here: apt install valgrind, or your system's package"
    return ""


def count() -> dict[tuple[str, bool], float]:
    """Return instructions per call on the CPU, by method and requires_grad.

    The tensor has `NUMEL` float32; the cost of the loop is subtracted. Takes about a minute. Raises TensorcopyError where valgrind is
    missing or fails.
    """
    reason = missing()
    if reason:
        raise TensorcopyError("instructions cannot be counted", got=reason, allowed="valgrind 3.13 or newer", next="apt install valgrind")
    names, totals = _run_callgrind()
    sections: dict[tuple[str, str], list[int]] = {}
    for name, total in zip(names, totals):
        sections.setdefault(name, []).append(total)
    empty = median(sections.pop(EMPTY))
    return {(name, grad == "True"): (median(counts) - empty) / CALLS for (name, grad), counts in sections.items()}


def _run_callgrind() -> tuple[list[tuple[str, str]], list[int]]:
    """Return the name and the instructions of each section. Raises TensorcopyError."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "counts"
        completed = subprocess.run(
            [*CALLGRIND, f"--callgrind-out-file={out}", sys.executable, "-m", "tensorcopy.worker.probes.instruction_count"],
            # the same order of sets in every run, and no GPU driver for valgrind to run
            env={**os.environ, "PYTHONHASHSEED": "0", "CUDA_VISIBLE_DEVICES": ""},
            capture_output=True,
            text=True,
            check=False,
        )
        names = [(words[0], words[-1]) for line in completed.stdout.splitlines() if (words := line.split())]
        # callgrind writes one file per section, numbered from 1, and an empty one at exit
        totals = [int(match[1]) for number in range(1, len(names) + 1) if (match := _total(out, number))]
    if completed.returncode != 0 or not names or len(totals) != len(names):
        raise TensorcopyError(
            "instructions were not counted",
            got=(completed.stderr.strip().splitlines() or ["nothing"])[-1],
            allowed="a count for each method",
            next=f"{' '.join(CALLGRIND)} python -m tensorcopy.worker.probes.instruction_count shows the full error",
        )
    return names, totals


def _total(out: Path, number: int) -> re.Match[str] | None:
    path = out.with_name(f"{out.name}.{number}")
    return TOTALS.search(path.read_text(encoding="utf-8")) if path.exists() else None


def _work() -> None:
    """Run every method's loop in a separate section, the empty loop first.

    Prints the name of each section. This function runs under callgrind.
    """
    import torch

    from tensorcopy.worker.registry.methods import METHODS, NAMES, exists

    warnings.simplefilter("ignore")  # formatting a warning would be counted
    torch.set_num_threads(1)
    gc.disable()
    switch_on = ["callgrind_control", "--instr=on", str(os.getpid())]
    subprocess.run(switch_on, check=True, stdout=subprocess.DEVNULL)
    _section(EMPTY, EMPTY[0], {}, None)
    for name, method in METHODS.items():
        for requires_grad in (False, True):
            x = torch.ones(NUMEL).requires_grad_(requires_grad)
            try:
                method(x)
            except (NotImplementedError, RuntimeError, TypeError, BufferError, AttributeError):
                continue  # raises for a tensor that requires grad, or is not in this torch
            if exists(method):
                _section((name, str(requires_grad)), method.code, NAMES, x)
    sys.stdout.flush()
    os._exit(0)  # skips the interpreter's clean-up, which is not to be counted


def _section(name: tuple[str, str], code: str, names: Any, x: Any) -> None:
    """Count a loop `TIMES` times, and print the section's name for each count."""
    import torch

    namespace = dict(names)
    exec(LOOP.format(code=code), namespace)  # noqa: S102 - a method's code
    namespace["loop"](x, WARM_UP)
    for _ in range(TIMES):
        torch._C._valgrind_toggle()
        namespace["loop"](x, CALLS)
        torch._C._valgrind_toggle_and_dump_stats()
        print(*name)


if __name__ == "__main__":
    _work()
