"""Which GPUs a build of torch has kernels for, which cases are on a device, and which device a command asks for."""

import re
from types import SimpleNamespace

import pytest
import torch

from tensorcopy.asv_plugin import environment
from tensorcopy.ci.pull_request import PullRequest
from tensorcopy.errors import TensorcopyError
from tensorcopy.files import kernel_text
from tensorcopy.measure import plan
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


ON_CUDA = "copies.Throughput.time_copy('clone_detach', 1024, 'cuda')"
ON_CPU = "copies.BySize.time_copy('clone_detach', 1024)"


@pytest.mark.parametrize("suites", ["", "^copies", "time_copy.*1024", "^memory|time_copy", "clone_detach"])
@pytest.mark.parametrize("device", ["cpu", "cuda", "mps"])
def test_a_device_selects_its_cases_only(suites, device):
    """Whatever the regular expression of the suites is, also in a pull request; counts are on the CPU."""
    on_accelerator = PullRequest("a", "b", 8, suites=suites, device=device).selection
    selected = plan.on_device(suites, device) if device == "cpu" else on_accelerator
    names = {"cpu": ON_CPU, "cuda": ON_CUDA, "mps": ON_CUDA.replace("cuda", "mps")}
    assert [name for name, case in names.items() if re.search(selected, case)] == [device]


@pytest.mark.parametrize(
    ("arguments", "used"),
    [
        (["run", "v2.15.0^!", "-E", "interpreter:same"], []),
        (["run", "v2.15.0^!", "-E", "interpreter:/opt/python", "-E", "interpreter:same"], []),
        (["run", "v2.15.0^!", "-E", "interpreter:same", "-E", "release:3.11"], ["3.11"]),
        (["run", "v2.15.0^!", "-E", "release:3.9"], ["3.9"]),
        (["run", "v2.15.0^!", "-E", "release"], ["3.11", "3.9"]),
        (["run", "v2.15.0^!", "--environment=release:3.9"], ["3.9"]),
        (["run", "v2.15.0^!"], ["3.11", "3.9"]),
        (["run", "v2.15.0^!", "--bench", "interpreter"], ["3.11", "3.9"]),
        (["run", "v2.15.0^!", "--bench", "release:3.9"], ["3.11", "3.9"]),
    ],
)
def test_only_the_named_pythons_are_used(arguments, used):
    """asv constructs the configuration's environments too; without uv or their Pythons, that would end the run."""
    assert [python for python in ("3.11", "3.9") if environment._is_used(python, arguments)] == used
