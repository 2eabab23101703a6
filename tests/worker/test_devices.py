"""Which GPUs CUDA sees, which ones a build of torch has kernels for, and which devices fail."""

import sys
from types import SimpleNamespace

import pytest
import torch

from tensorcopy.errors import TensorcopyError
from tensorcopy.worker import devices, nvidia, provenance
from tensorcopy.worker.devices import Usability, has_kernels
from tensorcopy.worker.nvidia import Gpu

CU102 = ("sm_37", "sm_50", "sm_60", "sm_70")  # of torch 1.9.0


@pytest.mark.parametrize(
    ("architectures", "capability", "runs"),
    [
        (CU102, (7, 5), True),
        (CU102, (8, 0), False),
        (("sm_86",), (8, 0), False),
        (("sm_90a",), (9, 0), True),
        (("sm_100a",), (10, 3), False),
        (("sm_100f",), (10, 3), True),
        (("sm_70", "compute_70"), (12, 0), True),
        (("compute_100f",), (12, 0), False),
    ],
)
def test_machine_code_runs_within_a_major_version_and_ptx_on_everything_newer(architectures, capability, runs):
    """NVIDIA's rules of compatibility: an A100 or H200 cannot run torch 1.9's wheel for CUDA 10.2."""
    assert has_kernels(architectures, capability) is runs


def test_a_gpu_that_cuda_sees_tells_what_selects_releases(monkeypatch):
    """CUDA_VISIBLE_DEVICES has numbers or beginnings of identifiers, up to the first wrong one; a GPU that cannot be opened is none."""

    class NVMLError(Exception):
        pass

    def handle(index: int) -> int:
        if index == 1:
            raise NVMLError
        return index

    library = SimpleNamespace(NVMLError=NVMLError, nvmlInit=bool, nvmlShutdown=bool, nvmlDeviceGetCount=lambda: 4)
    library.nvmlDeviceGetHandleByIndex, library.nvmlSystemGetDriverVersion = handle, lambda: "580.65.06"
    library.nvmlDeviceGetName, library.nvmlDeviceGetUUID = "H{}".format, "GPU-{}f".format
    library.nvmlDeviceGetCudaComputeCapability = lambda number: (9, number)
    monkeypatch.setitem(sys.modules, "pynvml", library)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert nvidia.visible_gpus() == [Gpu(f"H{number}", "580.65.06", (9, number)) for number in (0, 2, 3)]
    for selection, names in (("1, 0", ["H2", "H0"]), ("GPU-3", ["H3"]), ("0,9,2", ["H0"]), ("", []), ("GPU-", [])):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", selection)
        assert [gpu.name for gpu in nvidia.visible_gpus()] == names
    library.nvmlInit = raising(NVMLError())  # there is no driver
    assert nvidia.visible_gpus() == []


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


def test_the_settings_are_those_before_torch_adds_its_own(monkeypatch):
    """Old releases set CUDA_MODULE_LOADING when they look for a GPU: no release may differ by that."""

    def look_for_a_gpu() -> list[str]:
        monkeypatch.setenv("CUDA_MODULE_LOADING", "LAZY")
        return ["cpu"]

    monkeypatch.delenv("CUDA_MODULE_LOADING", raising=False)
    monkeypatch.setattr(devices, "available", look_for_a_gpu)
    assert "CUDA_MODULE_LOADING" not in provenance.collect()["settings"]


def test_a_gpu_that_this_torch_has_no_kernels_for_is_not_supported(first_use, monkeypatch):
    """It does not fail, and is not absent: pages and commands say why it was left out."""
    first_use("cuda", RuntimeError("no kernel image"))
    monkeypatch.setattr(devices, "_missing_kernels", lambda: "torch 1.9.0 has no kernels for it")
    assert devices.state("cuda") == devices.State(Usability.UNSUPPORTED, "torch 1.9.0 has no kernels for it")
