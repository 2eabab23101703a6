"""The memory that a method takes, and what others take that make the same."""

import pytest

from tensorcopy.copying import memory
from tests import launch_files

MIB = 2**20
ARRAY = {"gives": "ndarray", "keeps_graph": None, "is_leaf": None, "requires_grad": None}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Two releases on a machine with a GPU: a copy, four ndarrays, of which two clone first, and a method that raises."""
    folder = tmp_path_factory.mktemp("results")
    methods = {"detach_clone": launch_files.observed()}
    for name in ("clone_detach_numpy", "detach_to_cpu_copy_numpy", "detach_numpy_copy", "clone_only"):
        methods[name] = launch_files.observed("conversion", name, **ARRAY)
    methods["numpy"] = launch_files.observed("primitive", "x.numpy()", raises="TypeError: no")
    for row in methods.values():
        row["observed"]["cuda"] = row["observed"]["cpu"]
    peaks = {"detach_clone": (4, 0), "clone_detach_numpy": (4, 4), "detach_to_cpu_copy_numpy": (0, 4)}  # MiB of device and host
    peaks |= {"detach_numpy_copy": (0, 8), "clone_only": (8, 0), "numpy": (0, 0)}
    card = {"accelerators": {"cuda": "Card 9000"}}
    for release in ("2.14.1", "2.15.0"):
        counts = {}
        for name, (device, host) in peaks.items():
            counts[f"memory.Device.track_peak {name} 1048576 cuda"] = device * MIB
            counts[f"memory.Host.track_peak {name} 1048576 cuda"] = host * MIB
            counts[f"memory.Host.track_peak {name} 1048576 cpu"] = 4 * MIB
        launch_files.write_counts(folder, release, counts, methods=methods, **card)
    return launch_files.load(folder, "2.14.1", "2.15.0")


@pytest.mark.parametrize(
    ("method", "device", "more", "than"),
    [
        ("detach_clone", "cuda", {}, "x.made()"),
        ("clone_detach_numpy", "cuda", {"device": "4 MiB"}, "detach_to_cpu_copy_numpy"),
        ("detach_to_cpu_copy_numpy", "cuda", {}, "detach_to_cpu_copy_numpy"),
        ("detach_numpy_copy", "cuda", {"host": "4 MiB"}, "detach_to_cpu_copy_numpy"),
        ("clone_only", "cuda", {"device": "8 MiB"}, "detach_to_cpu_copy_numpy"),  # that it takes less of the other is not more
        ("clone_detach_numpy", "cpu", {}, "detach_numpy_copy"),  # the usual form, of several that take the least
    ],
)
def test_what_a_method_takes_is_compared_with_the_least_that_makes_the_same(results, method, device, more, than):
    """A clone before the transfer takes the tensor's size again on the device; a copy after it, on the host.

    On the CPU there is the host's memory alone.
    """
    use = memory.use(results, method, device)
    assert (use.more, use.than) == (more, than)
    assert [*use.peaks] == ["device", "host"][device == "cpu" :]


def test_what_raises_or_was_not_counted_has_no_memory(results):
    assert memory.use(results, "numpy", "cuda") is None
    assert memory.use(results, "deepcopy", "cuda") is None
