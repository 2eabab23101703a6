"""Advice for the user's own machine: with torch, every matching method is observed and timed here, in a separate process (`inside.timing`).

Without torch it is that of the shipped results, the launches of the newest release.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from tensorcopy import files
from tensorcopy.copying import recommend
from tensorcopy.copying.recommend import Answer, CopyRequest, Evidence
from tensorcopy.errors import TensorcopyError
from tensorcopy.judge.methods import Ratio
from tensorcopy.numbers import count, ratio_text
from tensorcopy.releases import interpreters
from tensorcopy.worker.processes import ReportProgress, ignore_progress

SHIPPED = Path(__file__).with_name("shipped.json")
TURNS = 60
MOST_SHIPPED, MOST_HERE = 62, 30  # log2 of the elements of x, where the nearest size is looked up and where x is made


def against_recommended(ratio: Ratio) -> str:
    """Return what is known of a method's time against the recommended one's: "slower × 1.46 (1.42 to 1.51)"."""
    interval = f" × {ratio_text(ratio.ratio)} ({' to '.join(map(ratio_text, ratio.interval))})" if ratio.interval else ""
    return f"{ratio.word.value}{interval}"


def origin(advice: Answer) -> str:
    """Return where an advice's times come from: release, machine, tensor and day."""
    timed, evidence = advice.table.timed, advice.table.evidence
    grad = "requires grad" if timed.requires_grad else "no grad"
    layout = "" if timed.layout == "contiguous" else f"{timed.layout} "
    tensor = f"{count(advice.numel)} {layout}{timed.dtype} on {timed.device}, {grad}, one thread"
    where = "measured here" if evidence.measured == "here" else "from the shipped results, not measured here"
    return f"{where}: torch {evidence.torch}, {evidence.on}, {tensor}, {evidence.day}"


def advise(
    to: str = "tensor",
    *,
    independent: bool = True,
    keep_graph: bool = False,
    requires_grad: bool = False,
    numel: float = recommend.NUMEL,
    device: str = "cpu",
    dtype: str = "float32",
    layout: str = "contiguous",
    shipped: bool = False,
    report_progress: ReportProgress = ignore_progress,
) -> Answer:
    """Return the code to type for a tensor `x`, measured here in some seconds.

    to : "tensor", or "numpy" for an ndarray
    independent : with its own storage; otherwise sharing the storage of x
    keep_graph : whether gradients shall flow back to x
    requires_grad : whether x requires grad
    numel : number of elements of x, 2 ** 17 by default
    device : device of x
    dtype : of x, such as "float16"
    layout : of x: "contiguous", "transposed", "strided" (x[::2]) or "channels_last"
    shipped : answer from the shipped results, even if torch is installed
    report_progress : called with the finished share (0 to 1) and the current step

    Raises TensorcopyError for a request that cannot be answered.
    """
    if to not in ("tensor", "numpy"):
        raise TensorcopyError("unknown target", got=repr(to), allowed="tensor or numpy", next="tensorcopy advise --to numpy")
    has_graph = to == "tensor" and requires_grad
    if keep_graph and not has_graph:
        what, got = "there is no graph to keep", "an x that requires no grad" if to == "tensor" else "an ndarray"
        raise TensorcopyError(what, got=got, allowed="a tensor, of an x that requires grad", next="leave out --keep-graph")
    made = "tensor" if to == "tensor" else "ndarray"
    request = CopyRequest(made, independent, keep_graph if has_graph else None, requires_grad, device, dtype, layout)
    request.check()
    here = not shipped and can_measure()
    most = MOST_HERE if here else MOST_SHIPPED
    if not 1 <= numel <= 2**most:
        raise TensorcopyError("not a number of elements", got=repr(numel), allowed=f"1 to 2**{most}", next="a size such as 2**17")
    if not here:
        return recommend.answer(shipped_evidence(device), request, int(numel))
    if layout in ("transposed", "channels_last") and numel != 16 and numel % 1024:
        what, following = f"a {layout} x of another size is not measured", f"--numel {max(1, round(numel / 1024)) * 1024}"
        raise TensorcopyError(what, got=f"{numel:g} elements", allowed="16, or a multiple of 1024", next=following)
    tensor = {"device": device, "requires_grad": requires_grad, "dtype": dtype, "layout": layout}
    document = timed({"to": request.to, "numels": [int(numel)], "turns": TURNS, **tensor}, report_progress)
    return recommend.answer(recommend.of_benchmark(document, request), request, int(numel))


def timed(request: Mapping[str, Any], report_progress: ReportProgress) -> dict[str, Any]:
    """Return what `timing.time_methods` returns for these arguments in a process of its own. Raises TensorcopyError."""
    python, module = Path(sys.executable), "tensorcopy.copying.inside.timing"
    return interpreters.run_probe(python, module, json.dumps(request), report_progress=report_progress)


def can_measure() -> bool:
    """Return whether torch is installed."""
    return find_spec("torch") is not None


@cache
def shipped_evidence(device: str, file: Path = SHIPPED) -> Evidence:
    """Return what was measured on a device for the package. Raises TensorcopyError where nothing was."""
    try:
        by_device = msgspec.json.decode(files.read_bytes(file), type=dict[str, Evidence])
    except (OSError, ValueError) as error:
        raise TensorcopyError(
            "the shipped results cannot be read",
            got=f"{file.name}: {type(error).__name__}: {error}",
            allowed="the file of the package",
            next="reinstall tensorcopy, or uv run python -m docs.tools.readme in a checkout",
        ) from error
    if device not in by_device:
        following = f"tensorcopy advise --shipped --device {next(iter(by_device))}"
        raise TensorcopyError(f"no results were shipped for {device}", got=device, allowed=", ".join(by_device), next=following)
    return by_device[device]
