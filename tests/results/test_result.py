"""The baseline and the count of a timed case."""

from __future__ import annotations

import pytest

from tensorcopy.results.cases import baseline_case, counted_case
from tests.launch_files import case


@pytest.mark.parametrize(
    ("timed", "expected"),
    [
        ("copies.BySize.time_copy clone_detach 16", "floors.ByBytes.time_memcpy fresh 64"),
        ("copies.ByDtype.time_copy clone_detach 131072 int64", "floors.ByBytes.time_memcpy fresh 1048576"),
        ("conversions.ByLayout.time_conversion detach_numpy_copy 131072 strided", "floors.Strided.time_gather fresh 131072"),
        ("copies.Throughput.time_copy tensor 1024 cuda", "floors.OnDevice.time_transfer device to device 1024 cuda"),
        (
            "conversions.Latency.time_conversion detach_numpy_copy 1024 cuda",
            "floors.OnDevice.time_transfer device to host, pageable 1024 cuda",
        ),
        ("primitives.BySize.time_primitive detach 1024", ""),
    ],
    ids=["size", "dtype", "strided", "device", "to host", "copies nothing"],
)
def test_every_case_that_copies_has_a_baseline(timed, expected):
    """It copies as many bytes; dense layouts share one baseline."""
    baseline = baseline_case(case(timed))
    assert (" ".join([baseline.suite, *(value for _, value in baseline.parameters)]) if baseline else "") == expected


BY_SIZE = "instructions.BySize.track_instructions"


@pytest.mark.parametrize(
    ("timed", "counted"),
    [
        ("copies.BySize.time_copy clone_detach 16", f"{BY_SIZE} clone_detach 16 False"),
        ("conversions.ByGrad.time_conversion detach_clone_numpy 1024 True", f"{BY_SIZE} detach_clone_numpy 1024 True"),
        ("copies.ByDtype.time_copy tensor 131072 bool", "instructions.ByDtype.track_instructions tensor 131072 bool"),
        ("copies.ByDtype.time_copy tensor 131072 float32", f"{BY_SIZE} tensor 131072 False"),
        ("primitives.BySize.time_primitive cpu 1", "instructions.Others.track_instructions cpu 1 False"),
        ("copies.Latency.time_copy tensor 16 cuda", ""),
    ],
)
def test_the_count_of_a_timed_case_has_the_same_method_and_tensor(timed, counted):
    """Where nothing is counted, such as on a device, there is none."""
    assert counted_case(case(timed)) == (case(counted) if counted else None)


@pytest.mark.slow
def test_every_shipped_copy_and_conversion_has_its_baseline(shipped_results):
    """The suites measure the same sizes as baselines."""
    for result in shipped_results.results:
        copied = [case for case in result.timings if baseline_case(case)]
        without = [case for case in copied if baseline_case(case) not in result.timings]
        assert not without
