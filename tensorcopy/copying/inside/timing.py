"""Time methods on this machine: those that suit one request, or copies or conversions over numel.

As a probe, its first argument is "request" for `tensorcopy advise` or "sizes" for `tensorcopy plot`, its second the arguments of
`time_request` or `time_sizes` as a JSON object. Methods take turns of a millisecond on one thread (`loop`), so that other load on the
machine affects all of them alike.
"""

from __future__ import annotations

import json
import platform
import warnings
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from statistics import quantiles
from typing import Any

import numpy as np
import torch

from tensorcopy.copying.inside import conformance, values
from tensorcopy.copying.inside.loop import MOVED, Loop, take_turns
from tensorcopy.copying.inside.methods import CONVERSIONS, COPIES, Method, code_on, make_tensor, why_not
from tensorcopy.copying.inside.own import find_method, groups, own_groups, own_operations
from tensorcopy.copying.inside.semantics import describe
from tensorcopy.errors import TensorcopyError, line_of
from tensorcopy.worker import devices, operations
from tensorcopy.worker.operations import BASELINE
from tensorcopy.worker.processes import ReportProgress, ignore_progress
from tensorcopy.worker.turns import usual

MakeTensors = Callable[[], Mapping[str, Any]]  # makes the tensors of a loop

MAX_NUMEL = 2**30  # elements of a tensor that is timed
REQUEST_TURNS, SIZES_TURNS = 60, 16
PARTS = 6  # of the turns of a request, which say how much a time varies as launches do: of each the fastest third counts
LONGEST = 5.0  # seconds of all turns of large tensors
SWEEPS: Mapping[str, Mapping[str, Method]] = {"copies": COPIES, "conversions": CONVERSIONS}
MOST = 2**14  # elements, as in the article
ON_DEVICE = "out.copy_(x)"  # the memcpy baseline there


def time_request(
    *,
    to: str,
    device: str,
    numel: int,
    requires_grad: bool,
    dtype: str = "float32",
    layout: str = "contiguous",
    report_progress: ReportProgress = ignore_progress,
) -> dict[str, Any]:
    """Observe every method on `device`, and time those that return `to`.

    to : "tensor" or "ndarray"
    dtype, layout : of the tensor, as `make_tensor` takes them
    report_progress : called with the share that is done (0 to 1) and the current step

    Returns plain values: "torch", "python", "on", "day", "methods" as `conformance.observed_on` returns them, "times" with each method's
    seconds per call in each of `PARTS` parts of the turns, "baseline" with those of the memcpy baseline, and "left_out" with the reason,
    by name, why another was not timed: it fails, or its result does not have the values of x. Raises TensorcopyError for a device or size
    that cannot be used.
    """
    devices.require(device)
    _check_numel(numel, "--numel 2**17")
    methods = conformance.observed_on([device], groups())
    kind = "with_grad" if requires_grad else "plain"
    observed = {name: row["observed"][device] for name, row in methods.items() if row["observed"]}
    names = [name for name, outcomes in observed.items() if outcomes[kind]["gives"] == to]
    undocumented = {name: outcomes[kind] for name, outcomes in observed.items() if name in own_operations() and not outcomes["as_promised"]}
    left_out = {name: describe(outcome, device) for name, outcome in undocumented.items() if outcome["raises"]}
    loops: dict[str, Loop] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # formatting a warning is not part of copying
        place = _place(numel, device, dtype, layout, requires_grad)
        for number, name in enumerate(names):
            report_progress(number / len(names) / 4, name)  # the first quarter of the work
            _add_loop(find_method(name), place, device, loops, left_out)
        loops[BASELINE] = _baseline_loop("x.copy()", place()["x"], device, to_host=to == "ndarray")
        turns = take_turns(
            loops,
            REQUEST_TURNS,
            longest=LONGEST,
            failed=left_out,
            report_turn=lambda turn: report_progress(0.25 + 0.75 * turn / REQUEST_TURNS, f"turn {turn + 1} of {REQUEST_TURNS}"),
        )
    timed = {name: row for name, row in methods.items() if name not in left_out}
    times = {name: _by_part(seconds) for name, seconds in turns.items()}
    return {**_measured_on(device), "methods": timed, "left_out": left_out, "baseline": times.pop(BASELINE), "times": times}


def time_sizes(
    *,
    what: str,
    device: str = "cpu",
    most: int = MOST,
    requires_grad: bool = False,
    relative_to: str = "",
    report_progress: ReportProgress = ignore_progress,
) -> dict[str, Any]:
    """Time copies or conversions at numel = 1, 2, 4, … `most`.

    what : "copies" or "conversions"; own operations declared to be drawn beside them are included
    relative_to : a method's name or "baseline", of which the caller will show multiples; "" for none

    Returns plain values: these arguments, "torch", "python", "on" and "day", "curves" with each method's "name", "code", "group" ("" for
    those of the registry) and "points", which are seconds per call by "numel": "usual", "low" of the fastest turn, and "high" of the third
    quartile. "baseline" is the curve of a copy of the same bytes into existing memory, by numpy on the CPU and by the device itself
    elsewhere. The methods take turns at each size. "left_out" has the reason, by name, why a method has no curve: it fails, or its result
    does not have the values of x.

    Raises TensorcopyError for a device or size that cannot be used, a `relative_to` without a curve, and where no method can be plotted.
    """
    if what not in SWEEPS:
        raise TensorcopyError("there is no such plot", got=repr(what), allowed=" or ".join(SWEEPS), next="tensorcopy plot copies")
    devices.require(device)
    _check_numel(most, "--max 2**14")
    numels = [2**power for power in range(most.bit_length())]
    beside = {operation.name for operation in operations.operations() if operation.beside == what}
    group_of = {name: group for group, members in own_groups().items() for name in members if name in beside}
    own = [own_operations()[name] for name in group_of]
    methods = [method for method in (*SWEEPS[what].values(), *own) if not why_not(method, device)]  # own operations last
    names = [*(method.name for method in methods), BASELINE]
    if relative_to and relative_to not in names:
        raise TensorcopyError("no such method is measured", got=repr(relative_to), allowed=", ".join(names), next="one of these names")
    points: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    left_out: dict[str, str] = {}
    on_cpu = "np.copyto(out, x)"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # formatting a warning is not part of copying
        for place, numel in enumerate(numels):
            report_progress(place / len(numels), f"numel {numel}")
            of_size = _place(numel, device, "float32", "contiguous", requires_grad)
            loops: dict[str, Loop] = {}
            for method in methods:
                if method.name not in left_out:
                    _add_loop(method, of_size, device, loops, left_out)
            loops[BASELINE] = _baseline_loop(on_cpu, of_size()["x"], device, to_host=what == "conversions")
            for name, seconds in take_turns(loops, SIZES_TURNS, longest=LONGEST, failed=left_out).items():
                high = quantiles(seconds, n=4, method="inclusive")[2]
                points[name].append({"numel": numel, "usual": usual(seconds), "low": min(seconds), "high": high})
            if relative_to in left_out or len(left_out) == len(methods):
                name = relative_to if relative_to in left_out else next(iter(left_out))
                raise TensorcopyError(
                    f"{name} cannot be plotted", got=left_out[name], allowed="a copy of x at every size", next="tensorcopy check"
                )
    return {
        "what": what,
        "device": device,
        "requires_grad": requires_grad,
        **_measured_on(device),
        "curves": [
            {"name": method.name, "code": code_on(method, device), "group": group_of.get(method.name, ""), "points": points[method.name]}
            for method in methods
            if method.name not in left_out
        ],
        "left_out": left_out,
        "baseline": {"name": BASELINE, "code": on_cpu if device == "cpu" else ON_DEVICE, "points": points[BASELINE]},
    }


def main(arguments: Sequence[str], report_progress: ReportProgress = ignore_progress) -> dict[str, Any]:
    """Time what the first argument says."""
    what, argument = arguments
    request: dict[str, Any] = json.loads(argument)
    if what == "sizes":
        return time_sizes(**request, report_progress=report_progress)
    return time_request(**request, report_progress=report_progress)


def _by_part(turns: Sequence[float]) -> list[float]:
    """Return the usual seconds per call in each of `PARTS` parts of the turns, or of as many as there are turns."""
    size = max(1, len(turns) // PARTS)
    return [usual(turns[first : first + size]) for first in range(0, len(turns) - size + 1, size)]


def _place(numel: int, device: str, dtype: str, layout: str, requires_grad: bool) -> MakeTensors:
    """Return a function that makes a leaf, "x"; a large one is made once, since it would move anyway."""
    if numel <= MOVED:
        return lambda: {"x": make_tensor(numel, device, dtype, layout, requires_grad)}
    made = {"x": make_tensor(numel, device, dtype, layout, requires_grad)}
    return lambda: made


def _add_loop(method: Method, place: MakeTensors, device: str, loops: dict[str, Loop], left_out: dict[str, str]) -> None:
    """Add a loop of a method on the tensors that `place` makes, or the reason why there is none."""
    x = place()["x"]
    numel, moves = x.numel(), x.numel() <= MOVED
    if moves:  # ones are also the values of many functions of them
        with torch.no_grad():
            x.copy_(torch.linspace(-2, 3, numel).reshape(x.shape))
    values_of_x = x.detach().clone() if moves else x  # the method may write into x
    try:
        y = method.on[device](x)
        if not isinstance(y, (torch.Tensor, np.ndarray)):
            left_out[method.name] = f"returns a {type(y).__name__}"
        elif not values.equal(y, values_of_x):
            left_out[method.name] = f"does not copy {numel} elements"
        else:
            nbytes = x.element_size() * numel if moves else 0
            loop = Loop(code_on(method, device), place, device=device, nbytes=nbytes, namespace=method.names)
            loop.calibrate()
            loops[method.name] = loop
    except (Exception, SystemExit) as error:  # such as of x.reshape(-1, 2) for an odd number of elements
        left_out[method.name] = f"{line_of(error)}, with {numel} elements"


def _baseline_loop(on_cpu: str, like: torch.Tensor, device: str, *, to_host: bool) -> Loop:
    """Return a loop of the memcpy baseline, which copies the same bytes: by numpy on the CPU, by the device itself elsewhere.

    on_cpu : the code there, into newly allocated or existing memory; an accelerator copies into existing memory
    """
    numel, itemsize = like.numel(), like.element_size()
    step = like.stride(-1) if like.dim() == 1 else 1  # a tensor with gaps is gathered

    def place() -> Mapping[str, Any]:
        if device == "cpu":
            return {"x": np.ones(step * numel, f"u{itemsize}")[::step], "out": np.empty(numel, f"u{itemsize}")}
        x = torch.ones(step * numel, device=device, dtype=like.dtype)[::step]
        return {"x": x, "out": torch.empty(numel, device="cpu" if to_host else device, dtype=like.dtype)}

    nbytes = itemsize * numel if numel <= MOVED else 0
    loop = Loop(on_cpu if device == "cpu" else ON_DEVICE, place, device=device, nbytes=nbytes, slowed=False)
    loop.calibrate()
    return loop


def _check_numel(numel: int, next: str) -> None:
    """Raise TensorcopyError unless `numel` is between 1 and `MAX_NUMEL`."""
    if not 1 <= numel <= MAX_NUMEL:
        raise TensorcopyError(
            "the number of elements is out of range", got=str(numel), allowed=f"1 to 2**{MAX_NUMEL.bit_length() - 1}", next=next
        )


def _measured_on(device: str) -> dict[str, str]:
    """Return the release of torch, the Python, the name of the device and the day."""
    return {
        "torch": torch.__version__,
        "python": platform.python_version(),
        "on": devices.model(device),
        "day": datetime.now(timezone.utc).date().isoformat(),
    }
