"""Cases: a method, a tensor, and the loop that is timed.

With a `setup`, asv times single calls, which adds 25 % to a call of a microsecond. Therefore suites have no `setup`: a suite's body looks
up its case, which is made on the first call, and the case repeats the method's code in its own loop. The loop is compiled from the code as
a reader would type it.

The processes of a launch take turns with this loop (`tensorcopy.worker.turns`). asv itself, which knows nothing of turns, reads `clock`
before and after the body: the seconds per call. Making the tensor, or a CUDA context, takes no time on this clock.
"""

from functools import cache
from itertools import repeat
from os import environ
from random import Random
from time import monotonic, perf_counter

import torch
from asv_runner.benchmarks.mark import SkipNotImplemented

from tensorcopy.worker import devices, own
from tensorcopy.worker.declarations import operations
from tensorcopy.worker.devices import Usability
from tensorcopy.worker.methods import NAMES, code_on, exists, make_tensor

TURN_SECONDS = 0.001  # of a turn on the CPU: what disturbs a machine lasts longer, and so meets the turns of all releases
DEVICE_SECONDS = 0.005  # on a device: two waits of 40 µs are less than 2 % of it
FIRST, FIRST_HERE = 10, 3  # calls that may cause page faults: first in a process, and after a new tensor was made
WARM_UP_SECONDS = 0.05  # of these calls at most: a copy of 64 MiB gets new pages in every call
EXTRA = "TENSORCOPY_EXTRA"  # the environment variable with a share of calls to make without counting them: an injected slowdown
MOVED = 2**20  # elements; larger tensors get varying addresses anyway
HELD = 6  # earlier inputs that are kept, so that a new one lies elsewhere
FILLER = 4096  # bytes, at most, that a filler has beside twice the bytes of the input
NUMELS = [2**k for k in (0, 4, 7, 10, 14, 17, 20, 24)]  # dispatch dominates below 2^14, memcpy at 2^20, page faults at 2^24
ON_DEVICE = [2**k for k in (0, 10, 14, 17, 20, 24, 28)]  # 2^20 fits into the caches of a large GPU, 2^28 into none

COPIES_HELD = 4  # of a tensor on a device at once: the input, the copy, its predecessor, and one that a method makes in between
STEADY, PARTS, CLOCKS_SECONDS = (
    0.98,
    10,
    1.0,
)  # a device's clocks are up when the last of ten parts is not faster; the longest wait for that

_spent = [0.0]  # seconds per call, summed over the samples that asv has taken in this process


def clock() -> float:
    """Return the sum of the seconds per call of all samples so far."""
    return _spent[0]


class Suite:
    """The attributes that asv reads."""

    version = "4"  # set by hand: raised when new numbers are not comparable to old ones
    timer = staticmethod(clock)
    number = 1
    rounds = 1
    repeat = 5
    warmup_time = 0  # the loop warms up itself
    loop = None  # of the case whose body was called last

    def time(self, loop):
        """Time one turn of `loop`, and keep it for those who take turns."""
        self.loop = loop
        loop.move()
        _spent[0] += loop.seconds(loop.calls) / loop.calls


def skip(reason):
    """Skip this case with a reason: asv records it as not applicable."""
    raise SkipNotImplemented(reason)


def skip_without(device):
    """Skip where the device is absent, or not supported by this build of torch.

    Raises TensorcopyError for a device that is there and fails: that is a failure, not a skipped case.
    """
    if devices.state(device).usability is Usability.FAILING:
        devices.require(device)
    if not devices.is_available(device):
        skip(f"no {device} here: {devices.state(device).reason}")


def skip_without_memory(numel, device):
    """Skip a tensor of which the device cannot hold `COPIES_HELD`."""
    total = devices.memory(device)
    if total is not None and 4 * numel * COPIES_HELD > total:
        skip(f"{COPIES_HELD} tensors of {numel * 4 / 2**30:g} GiB, and the device has {total / 2**30:.1f} GiB")


@cache
def case(method, numel, device="cpu", dtype="float32", layout="contiguous", requires_grad=False, threads=1, each_waited_for=False):
    """Return the loop of `method` on one tensor, ready to be timed.

    Skips methods and devices that this torch or this machine does not have.
    """
    skip_without(device)
    skip_without_memory(numel, device)
    if not exists(method):
        skip(f"{method.code} exists from torch {method.since} on")
    if threads > devices.cores():
        skip(f"{threads} threads on {devices.cores()} cores")
    code = method.code if device == "cpu" else method.code_on_accelerator
    return Loop(
        code,
        lambda: {"x": make_tensor(numel, device, dtype, layout, requires_grad)},
        device=device,
        each_waited_for=each_waited_for,
        threads=threads,
        nbytes=4 * numel if numel <= MOVED else 0,
        namespace=method.names,
    )


@cache
def case_of_inputs(method, n):
    """Return the loop of an own operation that declares its inputs, at one size.

    Raises TensorcopyError where its values differ from those of its reference.
    """
    operation = next(operation for operation in operations() if operation.name == method.name)
    device = own.device_of(operation)
    skip_without(device)
    if not exists(method):
        skip(f"{method.code} exists from torch {method.since} on")
    if n not in operation.sizes:
        skip(f"the sizes of {method.name} are {', '.join(map(str, operation.sizes))}")
    own.check_reference(operation, method, n)
    numel = own.numel(operation, n)
    return Loop(
        code_on(method, device),
        lambda: own.make_values(operation, method, n),
        device=device,
        nbytes=4 * numel if numel <= MOVED else 0,
        namespace=method.names,
    )


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

    def __init__(self, code, place, *, device="cpu", each_waited_for=False, threads=1, nbytes=0, slowed=True, namespace=NAMES):
        """Compile the loop of `code`, an expression or statement, and calibrate it.

        place : returns the values that the code uses, by name, each time at another address
        each_waited_for : whether the device is waited for after each call (latency), not only after the loop (throughput)
        nbytes : of the input where `move` has an effect; 0 where it has none
        slowed : whether an injected slowdown applies: to torch's code, not to baselines
        namespace : other names that the code may use
        """
        torch.set_num_threads(threads)
        self.device, self.threads, self.nbytes, self.each_waited_for = device, threads, nbytes, each_waited_for
        self._place, self._held, self.names, self._random = place, [], place(), Random()
        self._extra = float(environ.get(EXTRA, "0")) if slowed else 0.0
        namespace = {**namespace, "repeat": repeat, "perf_counter": perf_counter, "wait": devices.waiter(device)}
        text = LOOP.format(names=", ".join(self.names), code=f"{code}; wait()" if each_waited_for else code)
        exec(text, namespace)  # noqa: S102 - a method's code
        self._seconds = namespace["seconds"]
        self.calls = 1
        self._warm_up(FIRST)
        self.calibrate()
        if device != "cpu":
            self._wait_for_clocks()
            self.calibrate()  # again, because a turn is shorter now

    def seconds(self, calls):
        """Return the seconds that `calls` calls take."""
        if self._extra:
            share = calls * self._extra
            calls += int(share) + (self._random.random() < share % 1)
        return self._seconds(calls, **self.names)

    def calibrate(self):
        """Double the calls of a turn until it is long enough."""
        minimum = TURN_SECONDS if self.device == "cpu" else DEVICE_SECONDS
        # the minimum of two, so that a process that was suspended during one of them does not get a turn that is too short
        while min(self._seconds(self.calls, **self.names), self._seconds(self.calls, **self.names)) < minimum:
            self.calls *= 2

    def move(self):
        """Make a new input at another address, among fillers of random size: the address decides by up to 10 % what a copy costs."""
        if not self.nbytes:
            return
        self._held.append((self._filler(), self.names))
        if len(self._held) > HELD:
            del self._held[self._random.randrange(HELD)]
        self._held[-1] += (self._filler(),)
        self.names = self._place()
        self._warm_up(FIRST_HERE)

    def _filler(self):
        return torch.empty(self._random.randrange(1, 2 * self.nbytes + FILLER), dtype=torch.uint8)

    def _warm_up(self, calls):
        """Run calls with cache misses and page faults, which are not timed."""
        end = monotonic() + WARM_UP_SECONDS
        for _ in range(calls):
            self._seconds(1, **self.names)
            if monotonic() > end:
                break

    def _wait_for_clocks(self):
        """Run the code until the device's clocks are up: they rise for some milliseconds after it was idle."""
        end = monotonic() + CLOCKS_SECONDS
        parts = [self._seconds(self.calls, **self.names)]
        while monotonic() < end:
            parts.append(self._seconds(self.calls, **self.names))
            if len(parts) >= PARTS and parts[-1] >= parts[-PARTS] * STEADY:
                return
