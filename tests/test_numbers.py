"""Durations, counts and sizes as text."""

import pytest

from tensorcopy.numbers import count, duration, duration_range, quantity, ratio_text, signed_percent, size, size_range, slowdown, two_digits


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (1.234e-9, "1.23 ns"),
        (359e-9, "359 ns"),
        (999.4e-9, "999 ns"),
        (999.6e-9, "1.00 µs"),
        (1.394e-6, "1.39 µs"),
        (9.996e-6, "10.0 µs"),
        (99.96e-6, "100 µs"),
        (29.12e-3, "29.1 ms"),
        (1.5, "1.50 s"),
    ],
)
def test_a_duration_has_three_figures(seconds, text):
    """And is never "1000 µs"."""
    assert duration(seconds) == text


@pytest.mark.parametrize(("numel", "text"), [(1, "2⁰"), (1024, "2¹⁰"), (2**24, "2²⁴"), (1000, "1\u2009000"), (0, "0")])
def test_a_power_of_two_is_written_as_a_power(numel, text):
    """Almost all sizes are powers of two."""
    assert count(numel) == text


@pytest.mark.parametrize(("nbytes", "text"), [(4, "4 B"), (4096, "4 KiB"), (1536, "1.5 KiB"), (2**26, "64 MiB"), (2**31, "2 GiB")])
def test_bytes_have_binary_units(nbytes, text):
    """KiB, not kB."""
    assert size(nbytes) == text


@pytest.mark.parametrize(("ratio", "text"), [(1.234, "1.2"), (12.34, "12"), (99.4, "99"), (99.6, "100"), (124.2, "124"), (0.5, "0.5")])
def test_a_multiple_has_no_exponent(ratio, text):
    assert two_digits(ratio) == text


@pytest.mark.parametrize(("share", "text"), [(0.0384, "3.8 %"), (1.0, "100.0 %"), (107.338, "more than 100 %")])
def test_a_slowdown_that_nobody_could_miss_has_no_figure(share, text):
    """Launches that scatter by factors see nothing; 10733.8 % would be a figure of their scatter."""
    assert slowdown(share) == text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(169e-6 / 117e-3, "0.0014"), (0.0996, "0.100"), (0.873, "0.87"), (1.254, "1.25"), (12.34, "12.3"), (692.31, "692"), (0.0, "0.00")],
)
def test_a_ratio_has_at_least_two_figures(ratio, text):
    """A change of 117 ms to 169 µs is not one to nothing."""
    assert ratio_text(ratio) == text


def test_a_change_is_always_in_per_cent():
    """A column has one unit, one minus sign and one digit after the point, whatever the size of the change."""
    assert [signed_percent(ratio) for ratio in (1.123, 0.96, 10.314, 0.9999, 1.0)] == ["+12.3 %", "−4.0 %", "+931.4 %", "0.0 %", "0.0 %"]


def test_a_range_has_its_unit_once():
    """And one value is no range."""
    assert duration_range([1.55e-6, 1.48e-6]) == "1.48 to 1.55 µs"
    assert duration_range([980e-9, 1.02e-6]) == "980 ns to 1.02 µs"
    assert (duration_range([2e-6]), duration_range([])) == ("2.00 µs", "")
    assert (size_range([0.96, 0.97]), size_range([1.041, 1.032]), size_range([1.03])) == ("3.0 to 4.0 %", "3.2 to 4.1 %", "3.0 %")


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0012142, "ms", "0.0012142 ms"),
        (0.9993, "unit", "0.9993"),
        (1642.0, "", "1\u2009642"),
        (-0.5, "nats", "−0.5 nats"),
        (1.5e-9, "V", "1.5e−09 V"),
        (-(2.0**21), "B", "−2 MiB"),
        (1642.4, "instructions", "1\u2009642"),
    ],
)
def test_a_tracked_value_has_its_digits_and_its_unit(value, unit, text):
    assert quantity(value, unit) == text
