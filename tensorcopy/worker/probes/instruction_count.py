"""How many instructions a call takes: counted by valgrind's callgrind, the same on a noisy machine as on a quiet one.

`python -m tensorcopy.worker.probes.instruction_count` is the worker: under callgrind it runs every method on a small tensor, and has the counter on only
around its loops, by torch's own toggles. Nothing is counted while torch is imported, which takes half a minute there. Two runs differ by
about 1 % at most, since finding memory takes more instructions in one place than in another; of several counts of a loop the median
counts. The process has but one thread that runs meanwhile.
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

WARM_UP, CALLS = 100, 100  # Python 3.11 specializes its bytecode within some dozens of calls
TIMES = 3  # of which one may go wrong: malloc tidies up now and then
NUMEL = 16  # dispatch, not memory
CALLGRIND = ("valgrind", "--tool=callgrind", "--instr-atstart=no", "--collect-atstart=no")
TOTALS = re.compile(r"^totals: (\d+)$", re.MULTILINE)

EMPTY = ("pass", "False")  # the section of the loop alone

LOOP = """
def loop(x, calls):
    for _ in range(calls):
        {code}
"""


def missing() -> str:
    """Why nothing can be counted here; "" where it can."""
    if not sys.platform.startswith("linux"):
        return "valgrind counts on Linux only"
    if shutil.which("valgrind") is None or shutil.which("callgrind_control") is None:
        return "no valgrind here: apt install valgrind, or as your system has it"
    return ""


def count() -> dict[tuple[str, bool], float]:
    """Instructions per call by method and requires_grad, on the CPU, for `NUMEL` float32; without the loop around it.

    Takes about a minute. Raises TensorcopyError where valgrind is missing or fails.
    """
    reason = missing()
    if reason:
        raise TensorcopyError("instructions cannot be counted", got=reason, allowed="valgrind 3.13 or newer", next="apt install valgrind")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "counts"
        done = subprocess.run(
            [*CALLGRIND, f"--callgrind-out-file={out}", sys.executable, "-m", "tensorcopy.worker.probes.instruction_count"],
            # the same order of every dict and set in every run, and no GPU whose driver valgrind would step through
            env={**os.environ, "PYTHONHASHSEED": "0", "CUDA_VISIBLE_DEVICES": ""},
            capture_output=True,
            text=True,
            check=False,
        )
        names = [line.split() for line in done.stdout.splitlines()]
        # one file for each section, numbered from 1; the last is what was left at the end: nothing
        totals = [int(found[1]) for number in range(1, len(names) + 1) if (found := _total(out, number))]
    if done.returncode != 0 or not names or len(totals) != len(names):
        raise TensorcopyError(
            "instructions were not counted",
            got=(done.stderr.strip().splitlines() or ["nothing"])[-1],
            allowed="a count for each method",
            next=f"{' '.join(CALLGRIND)} python -m tensorcopy.worker.probes.instruction_count shows it whole",
        )
    sections: dict[tuple[str, str], list[int]] = {}
    for (name, grad), total in zip(names, totals):
        sections.setdefault((name, grad), []).append(total)
    empty = median(sections.pop(EMPTY))
    return {(name, grad == "True"): (median(counted) - empty) / CALLS for (name, grad), counted in sections.items()}


def _total(out: Path, number: int) -> re.Match[str] | None:
    path = out.with_name(f"{out.name}.{number}")
    return TOTALS.search(path.read_text(encoding="utf-8")) if path.exists() else None


def _work() -> None:
    """Every method's loop, each a section of its own for callgrind; prints what each section was, the empty loop first."""
    import torch

    from tensorcopy.worker.registry.methods import METHODS, NAMES, exists

    warnings.simplefilter("ignore")  # formatting one would be counted
    torch.set_num_threads(1)
    gc.disable()
    control = ["callgrind_control", "--instr=on", str(os.getpid())]
    subprocess.run(control, check=True, stdout=subprocess.DEVNULL)
    _section(EMPTY, EMPTY[0], {}, None)
    for name, method in METHODS.items():
        for requires_grad in (False, True):
            x = torch.ones(NUMEL).requires_grad_(requires_grad)
            try:
                method(x)
            except (NotImplementedError, RuntimeError, TypeError, BufferError, AttributeError):
                continue  # not with a gradient, or not in this torch
            if exists(method):
                _section((name, str(requires_grad)), method.code, NAMES, x)
    sys.stdout.flush()
    os._exit(0)  # what happens at exit is nobody's cost


def _section(name: tuple[str, str], code: str, names: Any, x: Any) -> None:
    """Count a loop `TIMES` times, and print whose each count is."""
    import torch

    world = dict(names)
    exec(LOOP.format(code=code), world)  # noqa: S102 - a method's own text
    world["loop"](x, WARM_UP)
    for _ in range(TIMES):
        torch._C._valgrind_toggle()
        world["loop"](x, CALLS)
        torch._C._valgrind_toggle_and_dump_stats()
        print(*name)


if __name__ == "__main__":
    _work()
