"""Cases: a method, a tensor, and the loop that is timed.

With a `setup`, asv times single calls, which adds 25 % to a call of a microsecond. Therefore suites have no `setup`: a suite's body looks
up its case, which is made on the first call, and the case repeats the method's code in its own loop. The loop is compiled from the code as
a reader would type it. Every sample uses a new tensor, because the address of a tensor changes the time of a copy of 512 KiB by 10 %.

asv reads `clock` before and after the body: the sum of the sampled seconds per call. Everything else in the body, such as making the tensor
or a CUDA context, or waiting for a quiet core, takes no time on this clock.
"""

from functools import cache
from itertools import product, repeat
from math import ceil
from os import environ
from statistics import median
from time import monotonic, perf_counter

import torch
from asv_runner.benchmarks.mark import SkipNotImplemented

from tensorcopy.worker import devices, own
from tensorcopy.worker.declarations import operations
from tensorcopy.worker.devices import Usability
from tensorcopy.worker.methods import NAMES, code_on, exists, make_tensor

from .control import Watch

LOOP_SECONDS = 0.005  # of a sample; two device waits of 40 µs are less than 2 % of it
STRETCH_SECONDS = 0.0005  # of a part of a sample; bursts of other load last a millisecond or two
STRETCHES = 10
FIRST, FIRST_HERE = 10, 3  # calls that may cause page faults: first in a process, and after a new tensor was made
WARM_UP_SECONDS = 0.05  # of these calls at most: a copy of 64 MiB gets new pages in every call
EXTRA = "TENSORCOPY_EXTRA"  # the environment variable with a share of calls to make without counting them: an injected slowdown
MOVED = 2**20  # elements; larger tensors get varying addresses anyway
NUMELS = [2**k for k in (0, 4, 7, 10, 14, 17, 20, 24)]  # dispatch dominates below 2^14, memcpy at 2^20, page faults at 2^24
ON_DEVICE = [2**k for k in (0, 10, 14, 17, 20, 24, 28)]  # 2^20 fits into the caches of a large GPU, 2^28 into none

COPIES_HELD = 4  # of a tensor on a device at once: the input, the copy, its predecessor, and one that a method makes in between
STEADY, CLOCKS_SECONDS = 0.98, 1.0  # a device's clocks are up when the last part of ten is not faster than the first; longest wait for that

_spent = [0.0]  # seconds per call, summed over the samples of this process, which times one case
timed = []  # that case


def clock() -> float:
    """Return the sum of the seconds per call of all samples so far."""
    return _spent[0]


class Suite:
    """The attributes that asv reads: five samples in each of two processes."""

    version = "3"  # set by hand: raised when new numbers are not comparable to old ones
    timer = staticmethod(clock)
    number = 1
    rounds = 2
    repeat = 5
    warmup_time = 0  # the loop warms up itself

    def time(self, case, *parameters):
        """Take a sample of `case`, and record its control reading in the journal.

        parameters : of the suite's body, which identify the case
        """
        index = list(product(*self.params)).index(parameters) if parameters else 0
        suite = f"{type(self).__module__.rpartition('.')[2]}.{type(self).__name__}"
        timed[:] = [case]
        case.move()
        _spent[0] += _watch().sample(case, suite, index, calls=case.calls, alone=case.device == "cpu" and case.threads == 1)


@cache
def _watch():
    return Watch()


def skip(reason):
    """Skip this case with a reason: asv records it as not applicable."""
    raise SkipNotImplemented(reason)


def skip_if_absent():
    """Skip where the plugin reports that this release has no wheel for this Python.

    asv requests every release on every Python; the plugin sets the reason in an environment variable.
    """
    if "TENSORCOPY_ABSENT" in environ:
        skip(environ["TENSORCOPY_ABSENT"])


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
    skip_if_absent()
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
        moves=numel <= MOVED,
        namespace=method.names,
    )


@cache
def case_of_inputs(method, n):
    """Return the loop of an own operation that declares its inputs, at one size.

    Raises TensorcopyError where its values differ from those of its reference.
    """
    skip_if_absent()
    operation = next(operation for operation in operations() if operation.name == method.name)
    device = own.device_of(operation)
    skip_without(device)
    if not exists(method):
        skip(f"{method.code} exists from torch {method.since} on")
    if n not in operation.sizes:
        skip(f"the sizes of {method.name} are {', '.join(map(str, operation.sizes))}")
    own.check_reference(operation, method, n)
    return Loop(
        code_on(method, device),
        lambda: own.make_values(operation, method, n),
        device=device,
        moves=own.numel(operation, n) <= MOVED,
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
    """A loop over code, ready to be timed: calling it returns seconds per call.

    A sample takes `LOOP_SECONDS`. On the CPU it is the median of ten parts, so that a burst of other load in a few of them has no effect.
    Slower code has fewer parts, and code that takes longer than a sample has one. On a device a sample is one part, because each part fills
    the queue and waits twice. The loop has warmed up the code and the device.

    names : the current values that the code uses, by name
    """

    def __init__(self, code, place, *, device="cpu", each_waited_for=False, threads=1, moves=True, slowed=True, namespace=NAMES):
        """Compile the loop of `code`, an expression or statement, and calibrate it.

        place : returns the values that the code uses, by name, each time at another address
        each_waited_for : whether the device is waited for after each call (latency), not only after the loop (throughput)
        moves : whether `move` has an effect
        slowed : whether an injected slowdown applies: to torch's code, not to baselines
        namespace : other names that the code may use
        """
        skip_if_absent()
        torch.set_num_threads(threads)
        self.device, self.threads, self.moves, self.each_waited_for = device, threads, moves, each_waited_for
        self._place, self._kept_alive, self.names = place, [], place()
        namespace = {**namespace, "repeat": repeat, "perf_counter": perf_counter, "wait": devices.waiter(device)}
        text = LOOP.format(names=", ".join(self.names), code=f"{code}; wait()" if each_waited_for else code)
        exec(text, namespace)  # noqa: S102 - a method's code
        self._seconds = namespace["seconds"]

        minimum = STRETCH_SECONDS if device == "cpu" else LOOP_SECONDS
        self._calls = 1
        self._warm_up(FIRST)
        elapsed = self._calibrate(minimum)
        if device != "cpu":
            self._wait_for_clocks()
            elapsed = self._calibrate(minimum)  # again, because a part is shorter now
        self._stretches = max(1, min(STRETCHES, round(LOOP_SECONDS / elapsed)))
        self._counted = self._calls
        if slowed and EXTRA in environ:
            self._counted = 20 * ceil(self._calls / 20)  # so that 5 % of it is an integer
            self._calls = round(self._counted * (1 + float(environ[EXTRA])))
        self()

    @property
    def calls(self):
        """The calls of a sample."""
        return self._calls * self._stretches

    def __call__(self):
        return median(self._stretch() for _ in range(self._stretches)) / self._counted

    def move(self):
        """Take the next samples at another address.

        The old values are kept alive, so that their address is not reused.
        """
        if self.moves:
            self._kept_alive.append(self.names)
            self.names = self._place()
            self._warm_up(FIRST_HERE)

    def _warm_up(self, calls):
        """Run calls with cache misses and page faults, which are not timed."""
        end = monotonic() + WARM_UP_SECONDS
        for _ in range(ceil(calls / self._calls)):
            self._stretch()
            if monotonic() > end:
                break

    def _calibrate(self, minimum):
        """Double the calls of a part until it takes `minimum` seconds, and return the seconds that it takes."""
        # the minimum of two, so that a process that was suspended during one of them does not get a part that is too short
        while (elapsed := min(self._stretch(), self._stretch())) < minimum:
            self._calls *= 2
        return elapsed

    def _wait_for_clocks(self):
        """Run the code until the device's clocks are up: they rise for some milliseconds after it was idle."""
        end = monotonic() + CLOCKS_SECONDS
        parts = [self._stretch()]
        while monotonic() < end:
            parts.append(self._stretch())
            if len(parts) >= STRETCHES and parts[-1] >= parts[-STRETCHES] * STEADY:
                return

    def _stretch(self):
        return self._seconds(self._calls, **self.names)
