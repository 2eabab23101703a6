"""Time methods on this machine, for `tensorcopy advise` and `tensorcopy plot`.

As a probe, its argument is that of `time_methods` as a JSON object. Methods take turns of a millisecond on one thread, with the loop of the
launches (`loop`), so that other load on the machine affects all of them alike.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

import torch

from tensorcopy.copying import BASELINE
from tensorcopy.copying.inside import conformance, loop, semantics
from tensorcopy.copying.inside.methods import METHODS, Method, make_tensor
from tensorcopy.errors import TensorcopyError, line_of
from tensorcopy.worker import devices
from tensorcopy.worker.processes import ReportProgress, ignore_progress


def time_methods(
    *,
    to: str,
    device: str,
    numels: Sequence[int],
    turns: int,
    groups: Sequence[str] = (),
    requires_grad: bool = False,
    dtype: str = "float32",
    layout: str = "contiguous",
    needed: str = "",
    report_progress: ReportProgress = ignore_progress,
) -> dict[str, Any]:
    """Observe the methods of some groups, or of all, on `device`, and time those that return `to`, "tensor" or "ndarray", at each size.

    dtype, layout : of the tensor, as `make_tensor` takes them
    needed : a method without which the times of the others mean nothing; "" for none
    report_progress : called with the share that is done (0 to 1) and the current step

    Returns plain values: "torch", "on" and "day"; "methods" as `conformance.observed_on` returns them; "times": by size and name
    the seconds per call of each turn, with those of the memcpy baseline, whose code is "baseline"; and "left_out" with the reason, by name,
    why one was not timed: it fails, or its result does not have the values of x. Raises TensorcopyError for a device that cannot be used,
    and where the needed method cannot be timed.
    """
    devices.require(device)
    of_groups = [method for method in METHODS.values() if not groups or method.group in groups]
    methods = conformance.observed_on([device], of_groups)
    kind = "with_grad" if requires_grad else "plain"
    timed = [name for name, row in methods.items() if row["observed"] and row["observed"][device][kind]["gives"] == to]
    times, left_out, tensor = {}, dict[str, str](), (device, dtype, layout, requires_grad)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # formatting a warning is not part of copying
        if needed not in ("", BASELINE):
            reasons = (_why_no_copy(METHODS[needed], numel, *tensor) for numel in numels)
            reason = next(filter(None, reasons), "") if needed in timed else f"it makes no {to} on {device}"
            if reason:
                allowed = ", ".join([*(name for name in timed if name != needed), BASELINE])
                raise TensorcopyError("the method is not drawn", got=f"{needed}: {reason}", allowed=allowed, next="name another")
        for place, numel in enumerate(numels):
            report_progress(place / len(numels), f"measuring: {numel} elements")
            loops = {}
            for name in timed:
                if reason := left_out.get(name) or _why_no_copy(METHODS[name], numel, *tensor):
                    left_out[name] = reason
                    continue
                loops[name] = loop.of_method(METHODS[name], numel, *tensor)
            step = 2 if layout == "strided" else 1  # a tensor with gaps is gathered
            if device == "cpu":
                loops[BASELINE] = loop.memcpy(numel, torch.empty(0, dtype=getattr(torch, dtype)).element_size(), step=step)
            else:
                loops[BASELINE] = loop.transfer(numel, device, dtype, step=step, to_host=to == "ndarray", each_waited_for=False)
            for number, each in enumerate(loops.values()):
                report_progress((place + number / len(loops) / 4) / len(numels), f"measuring: {numel} elements")
                each.calibrate()
            times[numel] = loop.take_turns(loops, turns)
    return {
        "torch": torch.__version__,
        "on": devices.model(device),
        "day": datetime.now(timezone.utc).date().isoformat(),
        "methods": methods,
        "baseline": "x.copy()" if device == "cpu" else "out.copy_(x)",
        "times": times,
        "left_out": left_out,
    }


def _why_no_copy(method: Method, numel: int, device: str, dtype: str, layout: str, requires_grad: bool) -> str:
    """Return why a method is not timed on such a tensor; "" for one whose result has its values."""
    x = make_tensor(numel, device, dtype, layout)
    x.copy_(torch.linspace(-2, 3, numel).reshape(x.shape))  # ones are also the values of many functions of them
    try:
        y = method.on[device](x.requires_grad_(requires_grad))
        return "" if semantics.equal(y, x) else f"does not copy {numel} elements"
    except Exception as error:  # such as of numpy for bfloat16
        return f"{line_of(error)}, with {numel} elements"


def main(arguments: Sequence[str], report_progress: ReportProgress = ignore_progress) -> dict[str, Any]:
    """Time what the argument says."""
    (argument,) = arguments
    return time_methods(**json.loads(argument), report_progress=report_progress)
