"""A case: a method, a tensor, and the loop that is timed.

asv times one call at a time as soon as a suite has a `setup`, which reads a quarter too much for a call of a microsecond. So there is
no `setup`: a suite's body asks for its case, which is made on the first call, and the case repeats the act in a loop of its own.
`clock` is what asv reads around the body: the seconds per act that were spent in loops so far. Whatever the body does besides, such as
making the tensor or a CUDA context, takes no time on it, and a sample's two device waits lie around thousands of acts.
"""

from functools import cache
from itertools import repeat
from os import environ
from time import perf_counter

import torch
from asv_runner.benchmarks.mark import SkipNotImplemented

from tensorcopy import devices
from tensorcopy.methods import exists

LOOP_SECONDS = 0.005  # two device waits of 40 µs are then under 2 %
NUMELS = [2**k for k in (0, 4, 7, 10, 14, 17, 20, 24)]  # dispatcher below 2^14, memcpy at 2^20, page faults at 2^24
DTYPES = ["float32", "float16", "bfloat16", "int64", "bool"]
LAYOUTS = ["contiguous", "transposed", "strided", "channels_last"]

_spent = [0.0]  # seconds per act, summed over the loops of this process, which times one case


def clock() -> float:
    """Seconds per act spent in loops so far."""
    return _spent[0]


class Suite:
    """How every suite is timed: a loop is a sample, five of them in each of two processes."""

    version = "1"  # by hand: raised when the numbers cease to be comparable
    timer = staticmethod(clock)
    number = 1
    rounds = 2
    repeat = 5
    warmup_time = 0.01


def skip(reason):
    """Leave this parameter set out, by name: asv records it as not applicable."""
    raise SkipNotImplemented(reason)


def _skip_if_absent():
    """asv asks for every release on every Python; the plugin answers for those that cannot be with a reason in the environment."""
    if "TENSORCOPY_ABSENT" in environ:
        skip(environ["TENSORCOPY_ABSENT"])


@cache
def case(method, numel, device="cpu", dtype="float32", layout="contiguous", requires_grad=False, threads=1):
    """The loop over `method` on one tensor, ready to be timed; skips what this machine or this torch does not have."""
    _skip_if_absent()
    if not devices.is_available(device):
        skip(f"no {device} here")
    if not exists(method):
        skip(f"{method.code} exists from torch {method.since} on")
    if threads > devices.cores():
        skip(f"{threads} threads on {devices.cores()} cores")
    torch.set_num_threads(threads)
    return loop(method.on[device], tensor(numel, device, dtype, layout, requires_grad), device)


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


def loop(act, x, device="cpu"):
    """A callable that runs act(x) often enough to fill `LOOP_SECONDS` and adds its time to the clock's, per act.

    The act has run before, warm-up of the device included.
    """
    _skip_if_absent()

    def seconds(acts):
        devices.wait(device)
        start = perf_counter()
        for _ in repeat(None, acts):
            act(x)
        devices.wait(device)
        return perf_counter() - start

    acts = 1
    act(x)
    # twice: a process that is put aside for a moment must not end up with a short loop
    while seconds(acts) < LOOP_SECONDS or seconds(acts) < LOOP_SECONDS:
        acts *= 2

    def run():
        _spent[0] += seconds(acts) / acts

    return run
