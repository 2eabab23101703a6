"""The size sweep of this machine: measured in a process of its own, drawn where matplotlib is installed."""

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
    interpreter: str = "same",
    tell: Callable[[float, str], None] = lambda share, doing: None,
) -> dict[str, Any]:
    """Time every copy or every conversion at numel = 1, 2, 4, … `most`; plain values, as `size_sweep` prints them.

    what : "copies" or "conversions"
    interpreter : whose torch is measured; "same" for the running one's
    tell : called with the share that is done (0 to 1) and what is being done

    Raises TensorcopyError for a device, size or interpreter that is not there.
    """
    request = {"what": what, "device": device, "most": most, "requires_grad": requires_grad}
    return interpreters.asked(interpreters.executable(interpreter), "tensorcopy.worker.probes.size_sweep", json.dumps(request), tell=tell)


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
) -> Any:
    """Measure, and draw on a matplotlib axes, which is returned; on the current figure's where none is given.

    what : "copies" or "conversions"
    most : elements of the largest tensor
    relative_to : a method's name or "floor": times as multiples of its

    Raises TensorcopyError where matplotlib is missing, and as `measure` does.
    """
    from tensorcopy.report.local import sweep_plot

    if axes is None:
        from matplotlib import pyplot

        axes = pyplot.subplots(figsize=sweep_plot.SIZE, layout="constrained")[1]
    document = measure(what, device=device, most=most, requires_grad=requires_grad)
    return sweep_plot.drawn(document, axes, logx=logx, logy=logy, relative_to=relative_to)
