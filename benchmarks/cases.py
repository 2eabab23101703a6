"""Cases: a method, a tensor, and the loop that is timed.

With a `setup`, asv times single calls, which adds 25 % to a call of a microsecond. Therefore suites have no `setup`: a suite's body looks
up its case, which is made on the first call, and the case repeats the method's code in its own loop. The loop is compiled from the code as
a reader would type it. Every sample uses a new tensor, because the address of a tensor changes the time of a copy of 512 KiB by 10 %.

asv reads `clock` before and after the body: the sum of the sampled seconds per call. Everything else in the body, such as making the tensor
or a CUDA context, or waiting for a quiet core, takes no time on this clock.

Beside each sample the control is timed, a calculation that no torch can change. A sample is quiet when its control readings are at most
25 % above their usual minimum (`tensorcopy.worker.control`). A sample that is not quiet is delayed or repeated, on another core where there
is one, until the case has used up its patience. Patience is larger if recent readings were quiet. The choice of samples does not depend on
torch, because torch cannot change the control. The journal records each sample's control reading, page faults and involuntary context
switches, for the plugin; asv's format has samples only.
"""

import os
from functools import cache
from itertools import product, repeat
from math import ceil
from os import environ
from pathlib import Path
from statistics import median
from time import get_clock_info, monotonic, perf_counter, process_time, sleep

import torch
from asv_runner.benchmarks.mark import SkipNotImplemented

from tensorcopy.worker import devices, own
from tensorcopy.worker.control import limit
from tensorcopy.worker.control import read as read
from tensorcopy.worker.declarations import operations
from tensorcopy.worker.devices import Usability
from tensorcopy.worker.methods import NAMES, code_on, exists, make_tensor

try:
    from resource import RUSAGE_SELF, getrusage
except ImportError:  # Windows
    getrusage = None

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

JOURNAL = "TENSORCOPY_JOURNAL"  # the environment variable with the journal's path; without it nothing is recorded or delayed
COMMIT = "TENSORCOPY_COMMIT"  # the environment variable with the release and the run, which begins a line of the journal
PATIENCE = 0.04  # seconds that a case waits for a quiet core at most, if all recent readings were quiet
LATELY = 200  # recent readings that determine the patience
NAP = 0.004  # seconds to wait on a busy core
ASIDE = 1.02  # wall time over processor time from which a process was suspended
TICKS, RESOLUTION = 50, get_clock_info("process_time").resolution  # ticks of the processor-time clock that a sample needs; seconds per tick
AGAIN = 3  # repetitions for that reason, regardless of patience
REMEMBERED = 200_000  # bytes at the journal's end: about 5,000 readings

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


class Watch:
    """Takes samples of one case while the machine is quiet, and records the control."""

    def __init__(self) -> None:
        path = environ.get(JOURNAL)
        self._journal = Path(path) if path else None
        readings = _recent_readings(self._journal) if self._journal else []
        self._limit, recent = limit(readings), readings[-LATELY:]
        self._patience = PATIENCE * sum(reading <= self._limit for reading in recent) / max(len(recent), 1)
        self._cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []

    def sample(self, take, suite, index, *, calls=1, alone=True):
        """Return a sample, the result of `take()`, and record its control reading.

        suite, index : the suite's name and the case's number in it, for the journal
        calls : in the sample; the journal has page faults per call
        alone : whether the sample runs in one thread on the CPU. Then it may move to any core; and if other processes used the core during
            the sample, it is repeated, or its control reading is recorded as longer by the same factor as the sample.
        """
        cores = self._cores if alone else []
        repetitions = AGAIN
        while True:
            started = perf_counter()
            control = read()
            if control <= self._limit or self._patience <= 0:
                before = _interruptions()
                wall, cpu = perf_counter(), process_time()
                value = take()
                wall, cpu = perf_counter() - wall, process_time() - cpu
                after = _interruptions()
                # the clock ticks too rarely for short samples on Windows
                stretched = max(1.0, wall / cpu) if alone and cpu > TICKS * RESOLUTION else 1.0
                control = max(control, read()) * (stretched if stretched > ASIDE else 1.0)
                repetitions -= stretched > ASIDE
                if control <= self._limit or (self._patience <= 0 and (stretched <= ASIDE or repetitions < 0)):
                    break
            _change_core(cores)
            self._patience -= perf_counter() - started
        if self._journal:
            with self._journal.open("a") as lines:  # short lines, each appended in one write
                minor, major, switches = (end - start for start, end in zip(before, after))
                faults = f"{round(minor / calls)} {major} {switches}"
                lines.write(f"{environ.get(COMMIT, '-')} {suite} {index} {faults} {control:.4g}\n")
        return value


def _interruptions():
    """Return the process's minor and major page faults and involuntary context switches."""
    if getrusage is None:
        return 0, 0, 0
    usage = getrusage(RUSAGE_SELF)
    return usage.ru_minflt, usage.ru_majflt, usage.ru_nivcsw


def _change_core(cores):
    """Move to the next core, where there is one, and wait a moment."""
    if len(cores) > 1:
        cores.append(cores.pop(0))
        os.sched_setaffinity(0, {cores[0]})
    sleep(NAP)


def _recent_readings(journal: Path) -> list[float]:
    """Return the readings at the journal's end."""
    try:
        with journal.open("rb") as lines:
            lines.seek(max(0, journal.stat().st_size - REMEMBERED))
            return [float(line.split()[-1]) for line in lines.read().splitlines()[1:-1]]  # the first and the last line may be incomplete
    except (OSError, ValueError, IndexError):
        return []  # there is no journal before the first case
