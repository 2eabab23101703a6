"""The loop that is timed, and turns of several loops in one process.

The loop is compiled from the code as a reader would type it: a call of a function around it would cost as much as a small copy. The
processes of a launch take turns with it (`worker.turns`); `take_turns` is for methods within one process.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import repeat
from os import environ
from random import Random
from time import monotonic, perf_counter, thread_time
from typing import Any, TypeVar

import torch

from tensorcopy.copying.inside.methods import NAMES
from tensorcopy.errors import line_of
from tensorcopy.worker import devices
from tensorcopy.worker.turns import TURN_SECONDS, WINDOWS, fastest, waiting

# On a device a window ends with a wait, which takes some microseconds: 1.25 ms are long enough that it is less than 1 %
DEVICE_SECONDS, DEVICE_WINDOWS = 0.005, 4
FIRST, FIRST_HERE = 10, 3  # calls that may cause page faults: first in a process, and after a new tensor was made
WARM_UP_SECONDS = 0.02  # of these calls at most: a copy of 64 MiB gets new pages in every call
EXTRA = "TENSORCOPY_EXTRA"  # the environment variable with a share of calls to make or wait for without counting them: an injected slowdown
MOVED = 2**20  # elements; larger tensors get varying addresses anyway
HELD = 6  # earlier inputs that are kept, so that a new one lies elsewhere
FILLER = 4096  # bytes, at most, that a filler has beside twice the bytes of the input
STEADY, PARTS = 0.98, 10  # a device's clocks are up when the last of ten parts is not faster
CLOCKS_SECONDS = 1.0  # the longest wait for that
FEWEST_TURNS = 5  # of each loop, however long they take
SPLITS = 8  # windows that tell where a call's time goes, of which the fastest counts
FEWEST_EMPTY = 16  # calls of a tensor without elements in a window: the first ones have cold caches
QUEUED, EVENTS = 8, 5  # calls between two events of CUDA, and how often
# A kernel that takes a millisecond or two holds the device's queue while calls enter it; on a slow host several of them
HOLDING_CYCLES, HOLDING = 2_000_000, (1, 16)

Key = TypeVar("Key")

LOOP = """
def seconds(calls, {names}):
    wait()
    start = clock()
    for _ in repeat(None, calls):
        {code}
    wait()
    return clock() - start
"""
SPLIT = """
def split(calls, {names}):
    wait()
    inside, start = 0.0, clock()
    for _ in repeat(None, calls):
        before = clock()
        {code}
        inside += clock() - before
        {wait}
    return inside / calls, (clock() - start) / calls

def queue(calls, {names}):
    for _ in repeat(None, calls):
        {code}
"""


class Loop:
    """A loop over code, which has warmed it up.

    calls : of a turn; 0 until it is calibrated
    windows : into which a turn is divided
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
        """Compile the loop of `code`, an expression or statement.

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
        self._code, self._globals = code, {**namespace, "repeat": repeat, "clock": perf_counter, "wait": devices.waiter(device)}
        text = LOOP.format(names=", ".join(self.names), code=f"{code}; wait()" if each_waited_for else code)
        exec(text, self._globals)  # noqa: S102 - a method's code
        self._seconds: Callable[..., float] = self._globals["seconds"]
        self.calls, self.windows, self._waits = 0, WINDOWS if device == "cpu" else DEVICE_WINDOWS, True
        self._warm_up(FIRST)
        for _ in range(HELD):  # the heap grows until then, and a call in it gets new pages, which at 2^20 takes 15 to 30 times as long
            self.move()

    def seconds(self, calls: int) -> float:
        """Return the seconds that `calls` calls take."""
        extra = calls * self._extra
        seconds = self._seconds(calls + int(extra), **self.names)
        if not self._extra:
            return seconds
        clock: Callable[[], float] = self._globals["clock"]
        start, rest = clock(), seconds / (calls + int(extra)) * (extra % 1)
        while (waited := clock() - start) < rest:  # a part of a call
            pass
        return seconds + waited

    def calibrate(self, calls: int = 0) -> None:
        """Make so many calls a turn; 0 for as many as fill one. A device is used until its clocks are up, unless others have used it."""
        self.calls = calls or self._filling()
        if self.device != "cpu" and not calls:
            self._wait_for_clocks()
            self.calls = self._filling()  # again, because a turn is shorter now
        if self.device == "cpu" and self.calls == 1 and not self._waits:
            self._globals["clock"] = thread_time  # a call that is longer than a time slice is interrupted on any busy core

    def _filling(self) -> int:
        """Double the calls of a turn until it is long enough, and return them."""
        minimum, calls = TURN_SECONDS if self.device == "cpu" else DEVICE_SECONDS, 1
        # the minimum of two, so that a process that was suspended during one of them does not get a turn that is too short
        while min(self._seconds(calls, **self.names), self._seconds(calls, **self.names)) < minimum:
            calls *= 2
        return calls

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

    def parts(self) -> list[float | None]:
        """Return where the seconds of a call on a device go, as `results.launches.Parts` has them."""
        text = SPLIT.format(names=", ".join(self.names), code=self._code, wait="wait()" if self.each_waited_for else "pass")
        exec(text, self._globals)  # noqa: S102 - a method's code
        split, calls = self._globals["split"], max(1, self.calls // self.windows)
        without_elements = {
            name: value[:0] if isinstance(value, torch.Tensor) and value.dim() else value for name, value in self.names.items()
        }
        windows: list[tuple[float, float]] = []
        empty: list[float] = []
        for _ in range(SPLITS):  # in turns, so that the processor has the same speed for both
            windows.append(split(calls, **self.names))
            with suppress(Exception):  # an own operation may need elements
                empty.append(split(max(calls, FEWEST_EMPTY), **without_elements)[0])
        returned, whole = min(windows, key=lambda window: window[1])
        on_device = self._seconds_on_device() if self.each_waited_for else None  # others wait themselves, and so cannot be queued
        return [min(empty, default=None), returned, whole, on_device]

    def _seconds_on_device(self) -> float | None:
        """Return the seconds that the device works on a call, by CUDA's events around queued calls; None where these cannot tell it.

        The device is held by another kernel until all calls are in its queue: otherwise it would wait for the host between them.
        """
        if self.device != "cuda":
            return None
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        wait, seconds = self._globals["wait"], list[float]()
        for _ in range(EVENTS):
            for kernels in HOLDING:
                wait()
                for _ in range(kernels):
                    torch.cuda._sleep(HOLDING_CYCLES)
                start.record()
                self._globals["queue"](QUEUED, **self.names)
                end.record()
                is_queued = not start.query()
                wait()
                if is_queued:
                    seconds.append(start.elapsed_time(end) / 1000 / QUEUED)
                    break
        return min(seconds, default=None)

    def close(self) -> None:
        """Free what the device's allocator keeps: other processes need it for their cases."""
        devices.empty_cache(self.device)

    def _filler(self) -> torch.Tensor:
        return torch.empty(self._random.randrange(1, 2 * self.nbytes + FILLER), dtype=torch.uint8)

    def _warm_up(self, calls: int) -> None:
        """Run calls with cache misses and page faults, which are not timed; see whether the last one gives up the core."""
        end = monotonic() + WARM_UP_SECONDS
        for _ in range(calls):
            self._waits = waiting(lambda: self._seconds(1, **self.names))
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
                        seconds[key].append(fastest(loops[key]))
                    except Exception as error:  # whatever an own operation raises
                        failed[key] = line_of(error)
                        del seconds[key]
    finally:
        if was_enabled:
            gc.enable()
    return seconds
