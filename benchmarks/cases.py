"""A case: a method, a tensor, and the loop that is timed.

asv times one call at a time as soon as a suite has a `setup`, which reads a quarter too much for a call of a microsecond. So there is
no `setup`: a suite's body asks for its case, which is made on the first call, and the case repeats the act in a loop of its own, compiled
from the method's code as a reader would type it, on a tensor that is made anew for every sample: where it happens to lie moves a copy of
512 KiB by a tenth. `clock` is what asv reads around the body: the seconds per act that were sampled so far.
Whatever the body does besides, such as making the tensor, a CUDA context or waiting for a quiet core, takes no time on it.
"""

from functools import cache
from itertools import product, repeat
from math import ceil
from os import environ
from statistics import median
from time import perf_counter

import torch
from asv_runner.benchmarks.mark import SkipNotImplemented

from tensorcopy.worker import devices
from tensorcopy.worker.registry.methods import NAMES, exists

from .control import Watch

LOOP_SECONDS = 0.005  # of a sample; two device waits of 40 µs are then under 2 %
STRETCH_SECONDS = 0.0005  # of a part of it; a neighbour's bursts last a millisecond or two
STRETCHES = 10
FIRST, FIRST_HERE = 10, 3  # acts that may find memory nobody has touched: of a process, and after a tensor has been made anew
EXTRA = "TENSORCOPY_EXTRA"  # the environment's variable with a share of acts to do and not to count: a slowdown that is known
MOVED = 2**20  # elements at most of a tensor that is made anew; what is larger lies everywhere
NUMELS = [2**k for k in (0, 4, 7, 10, 14, 17, 20, 24)]  # dispatcher below 2^14, memcpy at 2^20, page faults at 2^24
ON_DEVICE = [2**k for k in (0, 10, 14, 17, 20, 24)]
DTYPES = ["float32", "float16", "bfloat16", "int64", "bool"]
LAYOUTS = ["contiguous", "transposed", "strided", "channels_last"]

_spent = [0.0]  # seconds per act, summed over the samples of this process, which times one case
timed = []  # that case


def clock() -> float:
    """Seconds per act sampled so far."""
    return _spent[0]


class Suite:
    """How every suite is timed: five samples in each of two processes."""

    version = "3"  # by hand: raised when the numbers cease to be comparable
    timer = staticmethod(clock)
    number = 1
    rounds = 2
    repeat = 5
    warmup_time = 0  # the loop has warmed up

    def time(self, case, *parameters):
        """Take a sample of `case`, noted with its control as that of these parameters; they are the body's own."""
        index = list(product(*self.params)).index(parameters) if parameters else 0
        suite = f"{type(self).__module__.rpartition('.')[2]}.{type(self).__name__}"
        timed[:] = [case]
        case.move()
        _spent[0] += _watch().sample(case, suite, index, alone=case.device == "cpu" and case.threads == 1)


@cache
def _watch():
    return Watch()


def skip(reason):
    """Leave this parameter set out, by name: asv records it as not applicable."""
    raise SkipNotImplemented(reason)


def skip_if_absent():
    """asv asks for every release on every Python; the plugin answers for those that cannot be with a reason in the environment."""
    if "TENSORCOPY_ABSENT" in environ:
        skip(environ["TENSORCOPY_ABSENT"])


@cache
def case(method, numel, device="cpu", dtype="float32", layout="contiguous", requires_grad=False, threads=1, each_waited_for=False):
    """The loop over `method` on one tensor, ready to be timed; skips what this machine or this torch does not have."""
    skip_if_absent()
    if not devices.is_available(device):
        skip(f"no {device} here")
    if not exists(method):
        skip(f"{method.code} exists from torch {method.since} on")
    if threads > devices.cores():
        skip(f"{threads} threads on {devices.cores()} cores")
    code = method.code if device == "cpu" else method.code_on_accelerator
    return Loop(
        code,
        lambda: {"x": tensor(numel, device, dtype, layout, requires_grad)},
        device=device,
        each_waited_for=each_waited_for,
        threads=threads,
        moves=numel <= MOVED,
        world=method.names,
    )


def tensor(numel, device="cpu", dtype="float32", layout="contiguous", requires_grad=False):
    """A leaf of `numel` elements. Layouts other than "contiguous" need a multiple of 2^10."""
    if layout == "contiguous":
        x = torch.ones(numel)
    else:
        batch, channels, side = numel // 1024, 4, 16
        x = torch.ones(batch, channels, side, side)
        if layout == "transposed":
            x = x.transpose(-1, -2)
        elif layout == "channels_last":
            x = x.contiguous(memory_format=torch.channels_last)
    x = x.to(device=device, dtype=getattr(torch, dtype))  # keeps the strides of a dense tensor, and only of such
    if layout == "strided":
        x = x.repeat_interleave(2, dim=-1)[..., ::2]
    return x.requires_grad_() if requires_grad else x


LOOP = """
def seconds(acts, {names}):
    wait()
    start = perf_counter()
    for _ in repeat(None, acts):
        {code}
    wait()
    return perf_counter() - start
"""


class Loop:
    """An act that is ready to be timed: a call does it for `LOOP_SECONDS` and returns its seconds per act.

    On the CPU that is the median of ten stretches, so that a burst of somebody else's work which slows down a few of them does not count.
    An act longer than a stretch has fewer, one longer than a loop has one. On a device it is one stretch: it has a queue to fill, and
    two waits to pay. The act has run for a loop before, warm-up of the device included.

    names : what the act is done with, where it lies now
    """

    def __init__(self, code, place, *, device="cpu", each_waited_for=False, threads=1, moves=True, slowed=True, world=NAMES):
        """`place` makes what `code`, an expression or statement, is done with: values by name, each time elsewhere in memory.

        each_waited_for : whether the device is waited for after each act (latency), not only after the loop (throughput)
        moves : whether `move` does anything
        slowed : whether a slowdown that is known is torch's, and so slows this act
        world : what the code may name besides
        """
        skip_if_absent()
        torch.set_num_threads(threads)
        self.device, self.threads, self.moves = device, threads, moves
        self._place, self._left, self.names = place, [], place()
        world = {**world, "repeat": repeat, "perf_counter": perf_counter, "wait": devices.waiter(device)}
        text = LOOP.format(names=", ".join(self.names), code=f"{code}; wait()" if each_waited_for else code)
        exec(text, world)  # noqa: S102 - a method's own text
        self._seconds = world["seconds"]

        least = STRETCH_SECONDS if device == "cpu" else LOOP_SECONDS
        self._acts = 1
        self._first(FIRST)
        # twice: a process that is put aside for a moment must not end up with a short stretch
        while (taken := min(self._stretch(), self._stretch())) < least:
            self._acts *= 2
        self._stretches = max(1, min(STRETCHES, round(LOOP_SECONDS / taken)))
        self._counted = self._acts
        if slowed and EXTRA in environ:
            self._counted = 20 * ceil(self._acts / 20)  # so that a twentieth is a whole number
            self._acts = round(self._counted * (1 + float(environ[EXTRA])))
        self()

    def __call__(self):
        return median(self._stretch() for _ in range(self._stretches)) / self._counted

    def move(self):
        """Have the next samples elsewhere in memory; what lay here stays, so that this place is not found again."""
        if self.moves:
            self._left.append(self.names)
            self.names = self._place()
            self._first(FIRST_HERE)

    def _first(self, acts):
        """Acts that find nothing in the caches, and pages that the kernel has yet to give; none of them is timed."""
        for _ in range(ceil(acts / self._acts)):
            self._stretch()

    def _stretch(self):
        return self._seconds(self._acts, **self.names)
