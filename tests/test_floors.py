"""Multiples of the floor, and bytes a second."""

from __future__ import annotations

import pytest

from tensorcopy.results import baseline, load
from tensorcopy.results.load import Case
from tensorcopy.results.passes import Timing
from tests.conftest import NEW, ROOT, measured


def case(suite, **parameters):
    return Case(suite, tuple((name, str(value)) for name, value in parameters.items()))


@pytest.mark.parametrize(
    ("of", "floor"),
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
            case("copies.Latency.time_copy", method="tensor", numel=1024, device="cuda"),
            case("floors.OnDevice.time_transfer", way="device to device", numel=1024, device="cuda"),
        ),
        (
            case("conversions.Latency.time_conversion", method="detach_numpy_copy", numel=1024, device="cuda"),
            case("floors.OnDevice.time_transfer", way="device to host, pageable", numel=1024, device="cuda"),
        ),
        (case("primitives.BySize.time_primitive", method="detach", numel=1024), None),
        (case("floors.Control.time_sum"), None),
    ],
    ids=["size", "dtype", "strided", "device", "to host", "moves nothing", "control"],
)
def test_every_case_that_moves_bytes_has_a_floor(of, floor):
    """By its bytes, whatever the layout, as long as it is dense."""
    assert baseline.of(of) == floor


def test_a_time_is_shown_as_a_multiple_and_as_bytes_a_second():
    """1 µs for 64 bytes, where memcpy takes 0.25 µs."""
    result = measured(NEW, {("clone_detach", 16): 1e-6})
    (of,) = result.timings
    assert baseline.multiple(result, of) is None
    result.timings[case("floors.ByBytes.time_memcpy", memory="fresh", nbytes=64)] = Timing(0.25e-6, 0.25e-6, 0.25e-6)
    assert baseline.multiple(result, of) == pytest.approx(4.0)
    assert baseline.bandwidth(result, of) == pytest.approx(64e6)


def test_every_copy_and_conversion_that_was_measured_here_has_its_floor():
    """In the shipped history."""
    for result in load.load_results(ROOT / "results").results:
        without = [of for of in result.timings if baseline.nbytes(of) and not baseline.timing(result, of)]
        assert not without
