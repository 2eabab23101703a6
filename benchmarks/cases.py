"""Cases: a method, a tensor, and the loop that is timed.

With a `setup`, asv times single calls, which adds 25 % to a call of a microsecond. Therefore suites have no `setup`: a suite's body looks
up its case, which is made on the first call, and the case repeats the method's code in its own loop (`tensorcopy.copying.inside.loop`).

The processes of a launch take turns with this loop (`tensorcopy.worker.turns`). asv_runner itself, which knows nothing of turns, reads
`clock` before and after the body, as in docs/tools/timer_crosscheck.py: the seconds per call. Making the tensor, or a CUDA context, takes
no time on this clock.
"""

from functools import wraps

from asv_runner.benchmarks.mark import SkipNotImplemented

from tensorcopy.copying.inside import own
from tensorcopy.copying.inside.loop import MOVED, Loop
from tensorcopy.copying.inside.methods import code_on, make_tensor, why_not
from tensorcopy.worker import devices
from tensorcopy.worker.devices import Usability
from tensorcopy.worker.operations import operations
from tensorcopy.worker.turns import fastest

NUMELS = [2**k for k in (0, 4, 7, 10, 14, 17, 20, 24)]  # dispatch dominates below 2^14, memcpy at 2^20, page faults at 2^24
ON_DEVICE = [2**k for k in (0, 10, 14, 17, 20, 24, 28)]  # 2^20 fits into the caches of a large GPU, 2^28 into none

COPIES_HELD = 4  # of a tensor on a device at once: the input, the copy, its predecessor, and one that a method makes in between
_spent = [0.0]  # seconds per call, summed over the samples that asv has taken in this process
_last = {}  # the case that was made last: its tensors may take a gigabyte


def clock() -> float:
    """Return the sum of the seconds per call of all samples so far."""
    return _spent[0]


class Suite:
    """The attributes that asv reads."""

    version = "5"  # set by hand: raised when new numbers are not comparable to old ones
    timer = staticmethod(clock)
    number = 1
    rounds = 1
    repeat = 5
    warmup_time = 0  # the loop warms up itself
    tensorcopy_loops = None  # a list, of a process that times turns itself

    def time(self, loop):
        """Time one turn of `loop`, or leave it to the process that takes turns."""
        if self.tensorcopy_loops is not None:
            self.tensorcopy_loops.append(loop)
            return
        if not loop.calls:
            loop.calibrate()
        loop.move()
        _spent[0] += fastest(loop)


def remembered(make):
    """Let a function that makes a loop return the last one for the same arguments; of all such functions one loop is kept."""

    @wraps(make)
    def loop_of(*arguments, **options):
        key = (make, arguments, tuple(options.items()))
        if key not in _last:
            _last.clear()
            _last[key] = make(*arguments, **options)
        return _last[key]

    return loop_of


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


@remembered
def case(method, numel, device="cpu", dtype="float32", layout="contiguous", requires_grad=False, each_waited_for=False):
    """Return the loop of `method` on one tensor, ready to be timed.

    Skips methods and devices that this torch or this machine does not have.
    """
    skip_without(device)
    skip_without_memory(numel, device)
    if reason := why_not(method, device):
        skip(reason)
    return Loop(
        code_on(method, device),
        lambda: {"x": make_tensor(numel, device, dtype, layout, requires_grad)},
        device=device,
        each_waited_for=each_waited_for,
        nbytes=4 * numel if numel <= MOVED else 0,
        namespace=method.names,
    )


@remembered
def case_of_inputs(method, n):
    """Return the loop of an own operation that declares its inputs, at one size.

    Raises TensorcopyError where its values differ from those of its reference.
    """
    operation = next(operation for operation in operations() if operation.name == method.name)
    device = own.device_of(operation)
    skip_without(device)
    if reason := why_not(method, device):
        skip(reason)
    if n not in operation.sizes:
        skip(f"the sizes of {method.name} are {', '.join(map(str, operation.sizes))}")
    try:
        own.make_values(operation, method, n)
    except NotImplementedError as reason:
        skip(str(reason))  # of its setup, as in asv
    own.check_reference(operation, method, n)
    numel = own.numel(operation, n)
    return Loop(
        code_on(method, device),
        lambda: own.make_values(operation, method, n),
        device=device,
        nbytes=4 * numel if numel <= MOVED else 0,
        namespace=method.names,
    )
