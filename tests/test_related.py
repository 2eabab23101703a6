"""Times as multiples of the memcpy baseline, and bytes per second."""

from __future__ import annotations

import pytest

from tensorcopy.results import related
from tensorcopy.results.cases import Case, Timing
from tensorcopy.site.machine import machines
from tensorcopy.site.pages import costs
from tests.conftest import NEW, OLD, SHIPPED, measured


def case(suite, **parameters):
    return Case(suite, tuple((name, str(value)) for name, value in parameters.items()))


@pytest.mark.parametrize(
    ("timed", "expected"),
    [
        (case("copies.BySize.time_copy", method="clone_detach", numel=16), case("floors.ByBytes.time_memcpy", memory="fresh", nbytes=64)),
        (
            case("copies.ByDtype.time_copy", method="clone_detach", numel=131072, dtype="int64"),
            case("floors.ByBytes.time_memcpy", memory="fresh", nbytes=1048576),
        ),
        (
            case("conversions.ByLayout.time_conversion", method="detach_numpy_copy", numel=131072, layout="strided"),
            case("floors.Strided.time_gather", memory="fresh", numel=131072),
        ),
        (
            case("copies.Throughput.time_copy", method="tensor", numel=1024, device="cuda"),
            case("floors.OnDevice.time_transfer", way="device to device", numel=1024, device="cuda"),
        ),
        (
            case("conversions.Latency.time_conversion", method="detach_numpy_copy", numel=1024, device="cuda"),
            case("floors.OnDevice.time_transfer", way="device to host, pageable", numel=1024, device="cuda"),
        ),
        (case("primitives.BySize.time_primitive", method="detach", numel=1024), None),
    ],
    ids=["size", "dtype", "strided", "device", "to host", "copies nothing"],
)
def test_every_case_that_copies_has_a_baseline(timed, expected):
    """It copies as many bytes; dense layouts share one baseline."""
    assert related.baseline_case(timed) == expected


def test_a_time_is_a_multiple_of_memcpy_and_a_bandwidth():
    """1 µs for 64 bytes, where memcpy takes 0.25 µs."""
    result = measured(NEW, {("clone_detach", 16): 1e-6})
    (copy,) = result.timings
    assert related.times_memcpy(result, copy) is None
    result.timings[case("floors.ByBytes.time_memcpy", memory="fresh", nbytes=64)] = Timing(0.25e-6)
    assert related.times_memcpy(result, copy) == pytest.approx(4.0, rel=0.01)
    assert related.bandwidth(result, copy) == pytest.approx(64e6, rel=0.01)


def test_every_shipped_copy_and_conversion_has_its_baseline(shipped_results):
    """The suites measure the same sizes as baselines; with numpy 2 only conversions are measured, and compared with numpy 1."""
    for result in (each for each in shipped_results.results if not each.series_key.has_numpy_2):
        copied = [case for case in result.timings if related.nbytes(case)]
        without = [case for case in copied if not related.baseline_timing(result, case)]
        assert not without


@pytest.mark.parametrize(
    ("timed", "place"),
    [
        (case("copies.BySize.time_copy", method="clone", numel=1024), "L1"),
        (case("copies.BySize.time_copy", method="clone", numel=131072), "L2"),
        (case("copies.BySize.time_copy", method="clone", numel=1048576), "L3"),
        (case("copies.BySize.time_copy", method="clone", numel=16777216), "memory"),
        (case("copies.Throughput.time_copy", method="clone", numel=1048576, device="cuda"), "L2"),
        (case("copies.Throughput.time_copy", method="clone", numel=268435456, device="cuda"), "device memory"),
        (case("conversions.Latency.time_conversion", method="detach_numpy_copy", numel=1048576, device="cuda"), "bus"),
        (case("primitives.BySize.time_primitive", method="detach", numel=1024), ""),
    ],
)
def test_bandwidth_is_that_of_the_place_of_the_bytes(timed, place):
    """4 MiB and their copy lie in the caches of a large GPU."""
    caches = ["L1 Data 48K", "L1 Instruction 64K", "L2 Unified 2048K", "L3 Unified 32M"]
    result = measured(OLD, {}, hardware={"caches": caches}, gpu_cache_mib=50.0)
    assert related.bytes_in(result, timed) == place


def test_unknown_caches_have_no_name():
    copy = case("copies.Throughput.time_copy", method="clone", numel=1048576, device="cuda")
    assert related.bytes_in(measured(OLD, {}, gpu_cache_mib=None), copy) == ""


def test_conversions_with_numpy_2_are_on_the_page_of_sizes_and_in_no_history(shipped_results):
    """Paired with the same release beside the history's numpy."""
    machine = next(machine for machine in machines(shipped_results.results) if machine.name == SHIPPED.name)
    assert [result.series_key.build for result in machine.with_numpy_2] == ["cuda-numpy2"]
    assert not any(result.series_key.has_numpy_2 for result in machine.results)
    comparison = costs.numpy_2(machine, machine.result)
    assert comparison.labels == tuple(f"torch {machine.result.provenance['torch']}, numpy {numpy}" for numpy in ("1.26.4", "2.4.6"))
    judged = {case.spec.module for case, change in comparison.changes.items() if change.interval}
    assert judged == {"conversions"}
    assert costs.numpy_2(machine, machine.results[0]) is None
