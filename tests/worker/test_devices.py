"""Which GPUs a build of torch has kernels for, and which devices fail."""

from types import SimpleNamespace

import pytest
import torch

from tensorcopy.errors import TensorcopyError
from tensorcopy.files import kernel_text
from tensorcopy.worker import devices
from tensorcopy.worker.devices import Usability, has_kernels

CU102 = ("sm_37", "sm_50", "sm_60", "sm_70")  # of torch 1.9.0


@pytest.mark.parametrize(
    ("architectures", "capability", "runs"),
    [
        (CU102, (7, 0), True),
        (CU102, (7, 5), True),
        (CU102, (8, 0), False),
        (("sm_86",), (8, 0), False),
        (("sm_90a",), (9, 0), True),
        (("sm_100a",), (10, 3), False),
        (("sm_100f",), (10, 3), True),
        (("sm_70", "compute_70"), (12, 0), True),
        (("compute_80",), (7, 5), False),
        (("compute_100f",), (10, 3), True),
        (("compute_100f",), (12, 0), False),
        (("compute_90a",), (9, 0), True),
    ],
)
def test_machine_code_runs_within_a_major_version_and_ptx_on_everything_newer(architectures, capability, runs):
    """NVIDIA's rules of compatibility: an A100 or H200 cannot run torch 1.9's wheel for CUDA 10.2."""
    assert has_kernels(architectures, capability) is runs


def test_the_name_of_a_process_may_end_within_a_character(tmp_path):
    """The kernel cuts it at 15 bytes."""
    name = tmp_path / "comm"
    name.write_bytes("обучениеа".encode()[:15] + b"\n")
    assert kernel_text(name) == "обучени\ufffd"


class DelayedError(Exception):
    """Of no class of Python's own, as torch.cuda.DeferredCudaCallError."""


def raising(error: Exception):
    """Return a function that raises `error`."""

    def function(*_: object, **__: object) -> None:
        raise error

    return function


@pytest.fixture
def first_use(monkeypatch):
    """Let torch report a device, and raise an error in its first use."""
    devices.state.cache_clear()

    def plant(device: str, error: Exception, available: bool = True) -> None:
        module = SimpleNamespace(is_available=lambda: available, synchronize=float, init=raising(error), is_built=lambda: True)
        monkeypatch.setattr(torch, device, module)
        if device == "mps":
            monkeypatch.setattr(torch.backends, "mps", module)
        monkeypatch.setattr(torch, "ones", raising(error))
        monkeypatch.setattr(devices, "_missing_kernels", raising(error))

    yield plant
    devices.state.cache_clear()


@pytest.mark.parametrize(
    ("device", "error", "available", "usability"),
    [
        ("mps", RuntimeError("MPS backend out of memory (MPS allocated: 0 bytes, other allocations: 0 bytes)"), True, Usability.ABSENT),
        ("mps", RuntimeError("MPS backend out of memory (MPS allocated: 5.2 GB, other allocations: 0 bytes)"), True, Usability.FAILING),
        ("cuda", DelayedError("CUDA call failed lazily"), True, Usability.FAILING),
        ("xpu", RuntimeError("level_zero backend failed with error 20"), False, Usability.FAILING),
        ("xpu", RuntimeError("No XPU devices are available."), False, Usability.ABSENT),
        ("xpu", AssertionError("Torch not compiled with XPU enabled"), False, Usability.ABSENT),
    ],
    ids=["a hosted Mac", "a full Mac", "a delayed call", "a lost XPU", "no XPU", "a build without XPU"],
)
def test_a_device_fails_where_torch_raises_unless_nothing_is_there(first_use, device, error, available, usability):
    """Every command looks at all devices: a Mac whose MPS has no memory would otherwise measure nothing."""
    first_use(device, error, available)
    assert devices.state(device).usability is usability
    if usability is Usability.FAILING:
        with pytest.raises(TensorcopyError) as raised:
            devices.require(device)
        assert str(error) in raised.value.got
        assert ("CUDA_VISIBLE_DEVICES" in raised.value.next) is (device == "cuda")
