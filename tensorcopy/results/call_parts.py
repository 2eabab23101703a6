"""Where the time of a call on a device goes, from the parts that launches keep. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from tensorcopy.results.cases import Case
from tensorcopy.results.launches import Parts

# What each part is, in the order of time. Those of one call add up to its time
PARTS: Mapping[str, str] = {
    "Python and dispatcher": "The same call of a tensor without elements: it asks neither for memory nor for the device.",
    "memory and launch": "What elements add until the call returns: memory from torch's allocator, and the call of the driver.",
    "memory, copy and wait": "What elements add to a call that waits for the device itself, and so does not tell the device's part.",
    "until it returns": "The whole call on the host, which this method does not run on a tensor without elements.",
    "device": "The kernel or the copy engine, as long as it works after the call has returned.",
    "wait": "All else after the call has returned: until the device begins, and until the host knows that it has finished.",
    "device and wait": "From the return of the call until the host knows that the device has finished.",
}
CALL, LAUNCH, COPY, HOST, DEVICE, WAIT, AFTER = PARTS


def pooled(case: Case, seconds: float, taken: Sequence[Parts]) -> dict[str, float]:
    """Return the seconds of each part of a call that takes `seconds`, without those that take none.

    taken : by launches

    What the host does is a share of the call, because the processor's speed differs from launch to launch; that of the device is not.
    """
    whole = [each.whole if case.spec.latency else each.returned for each in taken]
    returned = seconds * median(each.returned / of_launch for each, of_launch in zip(taken, whole))
    empty = [each.empty / of_launch for each, of_launch in zip(taken, whole) if each.empty is not None]
    on_device = [each.device for each in taken if each.device is not None]
    parts = {HOST: returned}
    if empty:
        call = min(returned, seconds * median(empty))
        parts = {CALL: call, LAUNCH if case.spec.latency else COPY: returned - call}
    if on_device:
        parts[DEVICE] = min(seconds - returned, median(on_device))
        parts[WAIT] = seconds - returned - parts[DEVICE]
    else:
        parts[AFTER] = seconds - returned
    return {name: part for name, part in parts.items() if part > 0}
