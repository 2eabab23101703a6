"""Times as multiples of the memcpy baseline, and bytes per second."""

from __future__ import annotations

import pytest

from tensorcopy.results.cases import baseline_case, nbytes
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


@pytest.mark.slow
def test_every_shipped_copy_and_conversion_has_its_baseline(shipped_results):
    """The suites measure the same sizes as baselines."""
    for result in shipped_results.results:
        copied = [case for case in result.timings if nbytes(case)]
        without = [case for case in copied if baseline_case(case) not in result.timings]
        assert not without
