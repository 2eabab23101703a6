"""Allocated bytes by every allocator, on the installed torch."""

import pickle

import pytest
import torch

from benchmarks import memory
from tensorcopy.copying.inside.methods import COPIES, METHODS
from tensorcopy.worker import allocations
from tensorcopy.worker.allocations import Allocations

NUMEL = 2**18  # 1 MiB


@pytest.mark.filterwarnings("ignore")  # torch.tensor(x) and numpy 2 warn
@pytest.mark.parametrize(
    ("method", "expected"),
    [
        *((method, Allocations(2**20, 2**20, 1)) for method in COPIES),
        ("detach_numpy_copy", Allocations(2**20, 2**20, 1)),
        ("detach", Allocations(0, 0, 0)),
        ("numpy_array", Allocations(2**20, 2**20, 1)),
    ],
)
def test_a_copy_is_one_allocation_of_its_size(method, expected):
    """Of torch or of numpy; a view allocates nothing."""
    assert allocations.on_host(METHODS[method], torch.ones(NUMEL)) == expected


def test_the_peak_counts_memory_held_at_once():
    """Of three chained clones two exist at a time; results that are kept add up."""
    chain = allocations.on_host(lambda x: x.clone().clone().clone(), torch.ones(NUMEL))
    assert (chain.nbytes, chain.peak, chain.count) == (3 * 2**20, 2 * 2**20, 3)
    assert allocations.on_host(lambda x: (x.clone(), x.detach().numpy().copy()), torch.ones(NUMEL)) == Allocations(2**21, 2**21, 2)


@pytest.mark.parametrize("error", [RuntimeError("Unsupported device in DLTensor."), BufferError("Can't export"), TypeError("to numpy")])
def test_numpy_cannot_read_a_device(error):
    """numpy 1 and 2 differ in what np.from_dlpack raises."""

    def refused(x):
        x.clone()
        raise error

    assert allocations.on_host(refused, torch.ones(NUMEL)) == Allocations(2**20, 2**20, 1)


def test_xpus_allocator_counts_bytes_only():
    """Its memory_stats has no "allocation" keys."""
    before = {"allocated_bytes.all.allocated": 512, "allocated_bytes.all.current": 512, "allocated_bytes.all.peak": 512}
    after = {"allocated_bytes.all.allocated": 1536, "allocated_bytes.all.current": 1536, "allocated_bytes.all.peak": 1536}
    assert allocations.between(before, after) == Allocations(1024, 1024, None)


def test_a_method_that_raises_does_not_take_the_others_with_it(monkeypatch):
    """All methods are counted in one process; the error is raised for this method's case."""
    monkeypatch.setattr(memory.allocation_probe, "counted", lambda method, numel: 1 // 0)
    peaks = memory.Counted().setup_cache()
    assert [*peaks] == [(name, memory.NUMELS[0]) for name in memory.ON_EVERY_DEVICE]
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        memory.Counted().track_peak(pickle.loads(pickle.dumps(peaks)), "clone", memory.NUMELS[0])


def test_a_torch_without_fake_tensors_is_an_error(monkeypatch):
    """A NotImplementedError, which the suites use as a reason for skipping."""
    monkeypatch.setattr(torch, "__version__", "2.4.1+cu124")
    with pytest.raises(NotImplementedError, match=r"from torch 2\.5 on"):
        allocations.counted(METHODS["detach_clone"], NUMEL)


def test_an_error_of_the_method_is_raised():
    """Only the error that numpy cannot read a device is expected."""
    with pytest.raises(ZeroDivisionError):
        allocations.on_host(lambda x: 1 // 0, torch.ones(4))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("detach_numpy_copy", Allocations(0, 0, 0)),
        ("detach_clone_numpy", Allocations(2**20, 2**20, 1)),
        ("detach_clone", Allocations(2**20, 2**20, 1)),
        (lambda x: x.detach().clone().numpy(), Allocations(2**20, 2**20, 1)),
        (lambda x: x.clone().clone().clone(), Allocations(3 * 2**20, 2 * 2**20, 3)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_cuda_memory_is_counted_without_a_device(method, expected):
    """clone before .cpu() holds one more tensor on the GPU, also where numpy() raises; freed storages are subtracted."""
    assert allocations.counted(METHODS[method].on["cuda"] if isinstance(method, str) else method, NUMEL) == expected
