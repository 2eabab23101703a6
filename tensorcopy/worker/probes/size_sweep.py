"""Time over numel, measured here and now: methods that do the same, beside the floor. Needs torch and numpy, and nothing of asv.

`python -m tensorcopy.worker.probes.size_sweep` prints them as JSON, after a line of JSON for each step. The clock is `torch.utils.benchmark.Timer`, on one
thread; it waits for the device. Rounds are interleaved, each in random order, so that whatever the machine does besides hits all alike.
"""

from __future__ import annotations

import json
import platform
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from random import SystemRandom
from statistics import quantiles
from typing import Any

import numpy as np
import torch

from tensorcopy.errors import TensorcopyError
from tensorcopy.worker import devices, timers
from tensorcopy.worker.registry import operations
from tensorcopy.worker.registry.methods import CONVERSIONS, COPIES, OWN, Method, exists
from tensorcopy.worker.timers import Timer

GROUPS: Mapping[str, Mapping[str, Method]] = {"copies": COPIES, "conversions": CONVERSIONS}
MOST = 2**14  # elements, as in the article
ROUNDS = 7
SAMPLE = 0.008  # seconds at least
FLOOR = "floor"


@dataclass(frozen=True)
class Point:
    """Seconds per call at one size: the median of the rounds, and what the middle half of them lies between."""

    numel: int
    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Curve:
    """One method, or the floor: the same bytes copied into memory that was there, by numpy on the CPU, by the device itself elsewhere."""

    name: str
    code: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Curves:
    """What was measured, on what."""

    what: str
    device: str
    requires_grad: bool
    torch: str
    python: str
    on: str
    day: str
    curves: tuple[Curve, ...]
    floor: Curve


def measured(
    what: str,
    *,
    device: str = "cpu",
    most: int = MOST,
    requires_grad: bool = False,
    tell: Callable[[float, str], None] = lambda share, doing: None,
) -> Curves:
    """Time every copy or every conversion at numel = 1, 2, 4, … `most`, and operations that are declared to stand beside them.

    Before that each result is compared with what it is a copy of.

    tell : hears the share that is done (0 to 1) and what is being done

    Raises TensorcopyError for what is not to be had, and for a copy that is none.
    """
    if what not in GROUPS:
        raise TensorcopyError("there is no such picture", got=repr(what), allowed=" or ".join(GROUPS), next="tensorcopy plot copies")
    devices.demand(device)
    timers.allow(most, "--max 2**14")
    numels = [2**power for power in range(most.bit_length())]
    own = [OWN[row.name] for row in operations.declared() if row.beside == what]
    methods = [method for method in (*GROUPS[what].values(), *own) if exists(method)]
    acts: dict[tuple[str, int], Timer] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # formatting a warning is not copying
        for numel in numels:
            x = torch.ones(numel, device=device).requires_grad_(requires_grad)
            for method in methods:
                _equal(method, x, device)
                acts[method.name, numel] = timers.of(_code(method, device), {**method.names, "x": x})
            acts[FLOOR, numel] = _floor(x.detach(), what, device)
        times = _times(acts, tell)
    return Curves(
        what=what,
        device=device,
        requires_grad=requires_grad,
        torch=torch.__version__,
        python=platform.python_version(),
        on=devices.model(device),
        day=datetime.now(timezone.utc).date().isoformat(),
        curves=tuple(Curve(method.name, _code(method, device), _points(times, method.name, numels)) for method in methods),
        floor=Curve(FLOOR, acts[FLOOR, 1]._task_spec.stmt, _points(times, FLOOR, numels)),
    )


def _times(acts: Mapping[tuple[str, int], Timer], tell: Callable[[float, str], None]) -> dict[tuple[str, int], list[float]]:
    numbers: dict[tuple[str, int], int] = {}
    times: dict[tuple[str, int], list[float]] = {key: [] for key in acts}
    for done, (key, timer) in enumerate(acts.items()):
        tell(done / len(acts) / 4, f"{key[0]}, numel {key[1]}")
        numbers[key] = timers.calls(timer, SAMPLE)
    order, random = list(acts), SystemRandom()
    for turn in range(ROUNDS):
        tell(0.25 + 0.75 * turn / ROUNDS, f"round {turn + 1} of {ROUNDS}")
        random.shuffle(order)
        for key in order:
            times[key].append(acts[key].timeit(numbers[key]).median)
    return times


def _points(times: Mapping[tuple[str, int], Sequence[float]], name: str, numels: Sequence[int]) -> tuple[Point, ...]:
    found = []
    for numel in numels:
        low, middle, high = quantiles(times[name, numel], n=4, method="inclusive")
        found.append(Point(numel, middle, low, high))
    return tuple(found)


def _code(method: Method, device: str) -> str:
    return method.code if device == "cpu" else method.code_on_accelerator


def _floor(x: torch.Tensor, what: str, device: str) -> Timer:
    if device == "cpu":
        return timers.of("np.copyto(out, x)", {"np": np, "x": x.numpy(), "out": np.empty(len(x), "float32")})
    out = torch.empty_like(x) if what == "copies" else torch.empty(len(x))  # a conversion ends on the host
    return timers.of("out.copy_(x)", {"x": x, "out": out})


def _equal(method: Method, x: torch.Tensor, device: str) -> None:
    y = method.on[device](x)
    values = y if isinstance(y, np.ndarray) else y.detach().cpu().numpy()
    if not np.array_equal(values, x.detach().cpu().numpy()):
        raise TensorcopyError(
            f"{_code(method, device)} gives no copy of numel {len(x)}", got="other values", allowed="x's own", next="tensorcopy check"
        )


if __name__ == "__main__":

    def told(share: float, doing: str) -> None:
        print(json.dumps({"share": share, "doing": doing}), flush=True)

    try:
        asked: dict[str, Any] = json.loads(sys.argv[1])
        print(json.dumps(asdict(measured(**asked, tell=told))))
    except TensorcopyError as error:
        sys.exit(str(error))
