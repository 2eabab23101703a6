"""Every method that can be had for one tensor, seen and timed here and now: what advice for this machine is made of. Needs torch and numpy.

`python -m tensorcopy.worker.probes.quick_bench '{"to": "ndarray", "device": "cpu", "numel": 131072, "requires_grad": true}'` prints it as JSON, after a line
of JSON for each round. The clock is `torch.utils.benchmark.Timer`, on one thread; it waits for the device. Rounds are interleaved, each in
random order and on a tensor that lies elsewhere.
"""

from __future__ import annotations

import json
import platform
import sys
import warnings
from collections.abc import Callable
from datetime import datetime, timezone
from random import SystemRandom
from typing import Any

import torch

from tensorcopy.errors import TensorcopyError
from tensorcopy.worker import devices, provenance, timers
from tensorcopy.worker.registry.methods import METHODS, OWN, Method
from tensorcopy.worker.timers import Timer

ROUNDS = 9
SAMPLE = 0.006  # seconds at least
FLOOR = "floor"


def tried(
    *, to: str, device: str, numel: int, requires_grad: bool, tell: Callable[[float, str], None] = lambda share, doing: None
) -> dict[str, Any]:
    """What every method is observed to do on `device`, and the seconds per call of those that give what is wanted, round by round.

    to : "tensor" or "ndarray"
    tell : hears the share that is done (0 to 1) and what is being done

    Returns plain values: "torch", "python", "on", "day", "methods" as `provenance` has them, "rounds" and "floor" in seconds.
    Raises TensorcopyError for what is not to be had.
    """
    devices.demand(device)
    timers.allow(numel, "--numel 2**17")
    rows = provenance.observed_on([device])
    kind = "with_grad" if requires_grad else "plain"
    fit = [name for name, row in rows.items() if row["observed"] and row["observed"][device][kind]["gives"] == to]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # formatting a warning is not copying
        rounds = _rounds(fit, to, device, numel, requires_grad, tell)
    return {
        "torch": torch.__version__,
        "python": platform.python_version(),
        "on": devices.model(device),
        "day": datetime.now(timezone.utc).date().isoformat(),
        "methods": rows,
        "floor": rounds.pop(FLOOR),
        "rounds": rounds,
    }


def _rounds(
    fit: list[str], to: str, device: str, numel: int, requires_grad: bool, tell: Callable[[float, str], None]
) -> dict[str, list[float]]:
    methods = {name: METHODS[name] if name in METHODS else OWN[name] for name in fit}
    rounds: dict[str, list[float]] = {name: [] for name in (*methods, FLOOR)}
    numbers: dict[str, int] = {}
    random, left = SystemRandom(), []
    for turn in range(ROUNDS):
        tell(turn / ROUNDS, f"round {turn + 1} of {ROUNDS}")
        x = torch.ones(numel, device=device).requires_grad_(requires_grad)
        left.append(x if numel <= 2**20 else None)  # what is larger lies everywhere
        order = list(rounds)
        random.shuffle(order)
        for name in order:
            timer = _floor(x.detach(), to, device) if name == FLOOR else _act(methods[name], x, device)
            if name not in numbers:
                numbers[name] = timers.calls(timer, SAMPLE)
            timer.timeit(1 + numbers[name] // 10)  # here nothing is in the caches
            rounds[name].append(timer.timeit(numbers[name]).median)
    return rounds


def _act(method: Method, x: torch.Tensor, device: str) -> Timer:
    return timers.of(method.code if device == "cpu" else method.code_on_accelerator, {**method.names, "x": x})


def _floor(x: torch.Tensor, to: str, device: str) -> Timer:
    """The same bytes, copied by the machine alone: by numpy into fresh memory on the CPU, by the device itself elsewhere."""
    if device == "cpu":
        return timers.of("x.copy()", {"x": x.numpy()})
    out = torch.empty_like(x) if to == "tensor" else torch.empty(len(x))  # an ndarray lies on the host
    return timers.of("out.copy_(x)", {"x": x, "out": out})


if __name__ == "__main__":

    def told(share: float, doing: str) -> None:
        print(json.dumps({"share": share, "doing": doing}), flush=True)

    try:
        asked: dict[str, Any] = json.loads(sys.argv[1])
        print(json.dumps(tried(**asked, tell=told)))
    except TensorcopyError as error:
        sys.exit(str(error))
