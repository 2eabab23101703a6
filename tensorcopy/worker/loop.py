"""The loop that is timed, and turns of several loops in one process.

The loop is compiled from the code as a reader would type it: a call of a function around it would cost as much as a small copy. The
processes of a launch take turns with it (`worker.turns`); `take_turns` is for methods within one process.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from itertools import repeat
from os import environ
from random import Random
from time import monotonic, perf_counter
from typing import Any, TypeVar

import torch

from tensorcopy.worker import devices
from tensorcopy.worker.methods import NAMES
from tensorcopy.worker.semantics import line_of
from tensorcopy.worker.turns import TRIES, TURN_SECONDS, interruptions

DEVICE_SECONDS = 0.005  # on a device: two waits of 40 µs are less than 2 % of it
FIRST, FIRST_HERE = 10, 3  # calls that may cause page faults: first in a process, and after a new tensor was made
WARM_UP_SECONDS = 0.05  # of these calls at most: a copy of 64 MiB gets new pages in every call
EXTRA = "TENSORCOPY_EXTRA"  # the environment variable with a share of calls to make or wait for without counting them: an injected slowdown
MOVED = 2**20  # elements; larger tensors get varying addresses anyway
HELD = 6  # earlier inputs that are kept, so that a new one lies elsewhere
FILLER = 4096  # bytes, at most, that a filler has beside twice the bytes of the input
STEADY, PARTS = 0.98, 10  # a device's clocks are up when the last of ten parts is not faster
CLOCKS_SECONDS = 1.0  # the longest wait for that
FEWEST_TURNS = 5  # of each loop, however long they take

Key = TypeVar("Key")

LOOP = """
def seconds(calls, {names}):
    wait()
    start = perf_counter()
    for _ in repeat(None, calls):
        {code}
    wait()
    return perf_counter() - start
"""


class Loop:
    """A loop over code, ready to be timed. It has warmed up the code and the device.

    calls : of a turn
    names : the current values that the code uses, by name
    """

    def __init__(
        self,
        code: str,
        place: Callable[[], Mapping[str, Any]],
        *,
        device: str = "cpu",
        each_waited_for: bool = False,
        nbytes: int = 0,
        slowed: bool = True,
        namespace: Mapping[str, Any] = NAMES,
    ) -> None:
        """Compile the loop of `code`, an expression or statement, and calibrate it.

        place : returns the values that the code uses, by name, each time at another address
        each_waited_for : whether the device is waited for after each call (latency), not only after the loop (throughput)
        nbytes : of the input where `move` has an effect; 0 where it has none
        slowed : whether an injected slowdown applies: to torch's code, not to baselines
        namespace : other names that the code may use
        """
        torch.set_num_threads(1)
        self.device, self.nbytes, self.each_waited_for = device, nbytes, each_waited_for
        self._place, self.names, self._random = place, place(), Random()  # noqa: S311 - addresses are no secrets
        self._held: list[tuple[Any, ...]] = []
        self._extra = float(environ.get(EXTRA, "0")) if slowed else 0.0
        names = {**namespace, "repeat": repeat, "perf_counter": perf_counter, "wait": devices.waiter(device)}
        text = LOOP.format(names=", ".join(self.names), code=f"{code}; wait()" if each_waited_for else code)
        exec(text, names)  # noqa: S102 - a method's code
        self._seconds: Callable[..., float] = names["seconds"]
        self.calls = 1
        self._warm_up(FIRST)
        for _ in range(HELD):  # the heap grows until then, and a call in it gets new pages, which at 2^20 takes 15 to 30 times as long
            self.move()
        self.calibrate()
        if device != "cpu":
            self._wait_for_clocks()
            self.calibrate()  # again, because a turn is shorter now

    def seconds(self, calls: int) -> float:
        """Return the seconds that `calls` calls take."""
        extra = calls * self._extra
        seconds = self._seconds(calls + int(extra), **self.names)
        if not self._extra:
            return seconds
        start, rest = perf_counter(), seconds / (calls + int(extra)) * (extra % 1)
        while (waited := perf_counter() - start) < rest:  # a part of a call
            pass
        return seconds + waited

    def calibrate(self) -> None:
        """Double the calls of a turn until it is long enough."""
        minimum = TURN_SECONDS if self.device == "cpu" else DEVICE_SECONDS
        # the minimum of two, so that a process that was suspended during one of them does not get a turn that is too short
        while min(self._seconds(self.calls, **self.names), self._seconds(self.calls, **self.names)) < minimum:
            self.calls *= 2

    def move(self) -> None:
        """Make a new input at another address, among fillers of random size: the address decides by up to 10 % what a copy costs."""
        if not self.nbytes:
            return
        self._held.append((self._filler(), self.names))
        if len(self._held) > HELD:
            del self._held[self._random.randrange(HELD)]
        self._held[-1] += (self._filler(),)
        self.names = self._place()
        self._warm_up(FIRST_HERE)

    def close(self) -> None:
        """Do nothing: the process ends."""

    def _filler(self) -> torch.Tensor:
        return torch.empty(self._random.randrange(1, 2 * self.nbytes + FILLER), dtype=torch.uint8)

    def _warm_up(self, calls: int) -> None:
        """Run calls with cache misses and page faults, which are not timed."""
        end = monotonic() + WARM_UP_SECONDS
        for _ in range(calls):
            self._seconds(1, **self.names)
            if monotonic() > end:
                break

    def _wait_for_clocks(self) -> None:
        """Run the code until the device's clocks are up: they rise for some milliseconds after it was idle."""
        end = monotonic() + CLOCKS_SECONDS
        parts = [self._seconds(self.calls, **self.names)]
        while monotonic() < end:
            parts.append(self._seconds(self.calls, **self.names))
            if len(parts) >= PARTS and parts[-1] >= parts[-PARTS] * STEADY:
                return


def take_turns(
    loops: Mapping[Key, Loop],
    turns: int,
    *,
    longest: float = float("inf"),
    report_turn: Callable[[int], None] = lambda turn: None,
    failed: dict[Key, str],
) -> dict[Key, list[float]]:
    """Return the seconds per call of each loop by turn: all run in each, in random order, on new inputs, garbage collection off.

    longest : seconds after which no turn begins, unless there are fewer than `FEWEST_TURNS`
    failed : gets the reason of each loop that raises in a later turn than its first call; it has no seconds
    """
    seconds: dict[Key, list[float]] = {key: [] for key in loops}
    order, random, end, was_enabled = list(loops), Random(), monotonic() + longest, gc.isenabled()  # noqa: S311 - an order is no secret
    gc.disable()
    try:
        for turn in range(turns):
            if turn >= FEWEST_TURNS and monotonic() > end:
                break
            report_turn(turn)
            random.shuffle(order)
            for key in order:
                if key in seconds:
                    try:
                        loops[key].move()
                        seconds[key].append(_uninterrupted(loops[key]))
                    except Exception as error:  # whatever an own operation raises
                        failed[key] = line_of(error)
                        del seconds[key]
    finally:
        if was_enabled:
            gc.enable()
    return seconds


def _uninterrupted(loop: Loop) -> float:
    """Return the seconds per call of a turn during which no other program had the core, or of the fastest of `TRIES`."""
    tries = []
    for _ in range(TRIES):
        _, before = interruptions()
        tries.append(loop.seconds(loop.calls) / loop.calls)
        if interruptions()[1] == before:
            return tries[-1]
    return min(tries)
