"""Memcpy baselines for the copied bytes: on the CPU numpy's copy, on a device torch's, which a release can change."""

import numpy as np
import torch

from tensorcopy.copying.inside.loop import MOVED, Loop
from tensorcopy.worker.devices import ACCELERATORS

from .cases import NUMELS, ON_DEVICE, Suite, remembered, skip, skip_without, skip_without_memory

BYTES = sorted({4 * numel for numel in NUMELS} | {2**17 * itemsize for itemsize in (1, 2, 4, 8)})  # the sizes of all cases on the CPU
FRESH = "x.copy()"  # allocates, copies, frees
KEPT = "out[...] = x"


@remembered
def memcpy(memory, nbytes):
    """Return the loop that copies the bytes of a dense tensor with numpy."""

    def place():
        x = np.ones(nbytes, "uint8")
        return {"x": x} if memory == "fresh" else {"x": x, "out": np.empty_like(x)}

    return Loop(FRESH if memory == "fresh" else KEPT, place, nbytes=nbytes if nbytes <= 4 * MOVED else 0, slowed=False)


@remembered
def gather(memory, numel):
    """Return the loop that copies every second element, as in strided tensors."""

    def place():
        x = np.ones(2 * numel, "float32")[::2]
        return {"x": x} if memory == "fresh" else {"x": x, "out": np.empty(numel, "float32")}

    return Loop(FRESH if memory == "fresh" else KEPT, place, nbytes=8 * numel, slowed=False)


@remembered
def transfer(way, numel, device, each_waited_for=None):
    """Return the loop of a copy into existing memory.

    each_waited_for : by default where the copy ends on the host
    """
    skip_without(device)
    skip_without_memory(numel, device)
    if way == "device to host, pinned" and device == "mps":
        skip("memory shared with the GPU is not pinned")
    out = {
        "device to device": lambda: torch.empty(numel, device=device),
        "device to host, pageable": lambda: torch.empty(numel),
        "device to host, pinned": lambda: torch.empty(numel, pin_memory=True),
    }[way]

    def place():
        return {"x": torch.ones(numel, device=device), "out": out()}

    waited_for = way != "device to device" if each_waited_for is None else each_waited_for
    nbytes = 4 * numel if numel <= MOVED else 0
    return Loop("out.copy_(x)", place, device=device, each_waited_for=waited_for, nbytes=nbytes, slowed=False)


@remembered
def wait_alone(device):
    skip_without(device)
    return Loop("wait()", dict, device=device, slowed=False)


class ByBytes(Suite):
    """memcpy into newly allocated memory (fresh) and into existing memory (kept)."""

    params = [["fresh", "kept"], BYTES]
    param_names = ["memory", "nbytes"]

    def time_memcpy(self, memory, nbytes):
        self.time(memcpy(memory, nbytes))


class Strided(Suite):
    """A gather, for tensors that are not dense."""

    params = [["fresh", "kept"], [2**14, 2**17]]
    param_names = ["memory", "numel"]

    def time_gather(self, memory, numel):
        self.time(gather(memory, numel))


class OnDevice(Suite):
    """torch's copy into existing memory, the fastest that it has on a device.

    Throughput for copies on the device, latency for copies to the host.
    """

    params = [["device to device", "device to host, pageable", "device to host, pinned"], ON_DEVICE, list(ACCELERATORS)]
    param_names = ["way", "numel", "device"]

    def time_transfer(self, way, numel, device):
        self.time(transfer(way, numel, device))


class Latency(Suite):
    """The same on the device, waited for after each: the baseline of `copies.Latency`."""

    params = [ON_DEVICE, list(ACCELERATORS)]
    param_names = ["numel", "device"]

    def time_transfer(self, numel, device):
        self.time(transfer("device to device", numel, device, each_waited_for=True))


class WaitAlone(Suite):
    """A wait for a device that has nothing to do: every latency contains one."""

    params = [list(ACCELERATORS)]
    param_names = ["device"]

    def time_wait(self, device):
        self.time(wait_alone(device))
