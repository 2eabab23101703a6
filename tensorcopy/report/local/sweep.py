"""The size sweep on the user's machine, measured in a separate process."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tensorcopy.releases import interpreters


def measure(
    what: str = "copies",
    *,
    device: str = "cpu",
    most: int = 2**14,
    requires_grad: bool = False,
    relative_to: str = "",
    interpreter: str = "same",
    report_progress: Callable[[float, str], None] = lambda share, doing: None,
) -> dict[str, Any]:
    """Time every copy or every conversion at numel = 1, 2, 4, … `most`.

    Return plain values, as `size_sweep` prints them.

    what : "copies" or "conversions"
    most : number of elements of the largest tensor
    relative_to : a method's name or "baseline", to be shown as the divisor; refused here rather than after the measurement
    interpreter : the Python whose torch is measured; "same" for the running one
    report_progress : called with the finished share (0 to 1) and the current step

    Raises TensorcopyError for an unavailable device, size, method or interpreter.
    """
    request = {"what": what, "device": device, "most": most, "requires_grad": requires_grad, "relative_to": relative_to}
    document = interpreters.run_probe(
        interpreters.executable(interpreter), "tensorcopy.worker.probes.size_sweep", json.dumps(request), report_progress=report_progress
    )
    report_progress(1.0, "finished")
    return document


def plot(
    what: str = "copies",
    *,
    device: str = "cpu",
    most: int = 2**14,
    requires_grad: bool = False,
    logx: bool = True,
    logy: bool = True,
    relative_to: str = "",
    axes: Any = None,
    report_progress: Callable[[float, str], None] = lambda share, doing: None,
) -> Any:
    """Measure, plot on matplotlib axes and return them; by default on new ones.

    what : "copies" or "conversions"
    most : number of elements of the largest tensor
    relative_to : a method's name or "baseline", to plot multiples of its time
    report_progress : called with the finished share (0 to 1) and the current step; `show_progress` prints them

    Raises TensorcopyError if matplotlib is missing, and like `measure`.
    """
    from tensorcopy.report.local import sweep_plot

    if axes is None:
        from matplotlib import pyplot

        axes = pyplot.subplots(figsize=sweep_plot.SIZE, layout="constrained")[1]
    document = measure(
        what, device=device, most=most, requires_grad=requires_grad, relative_to=relative_to, report_progress=report_progress
    )
    return sweep_plot.draw(document, axes, logx=logx, logy=logy, relative_to=relative_to)
