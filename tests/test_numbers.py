"""Durations, counts and sizes as text."""

import pytest

from tensorcopy.numbers import (
    count,
    duration,
    duration_range,
    quantity,
    ratio_text,
    signed_interval,
    signed_percent,
    size,
    size_range,
    slowdown,
    tracked_difference,
    two_digits,
)

TEXTS = [  # three figures, and never "1000 µs"
    *((duration, 1.234e-9, "1.23 ns"), (duration, 359e-9, "359 ns"), (duration, 999.4e-9, "999 ns"), (duration, 999.6e-9, "1.00 µs")),
    *((duration, 1.394e-6, "1.39 µs"), (duration, 9.996e-6, "10.0 µs"), (duration, 99.96e-6, "100 µs"), (duration, 29.12e-3, "29.1 ms")),
    (duration, 1.5, "1.50 s"),
    # a range has its unit once, and one value is no range
    (duration_range, [1.55e-6, 1.48e-6], "1.48 to 1.55 µs"),
    (duration_range, [980e-9, 1.02e-6], "980 ns to 1.02 µs"),
    (duration_range, [2e-6], "2.00 µs"),
    (duration_range, [], ""),
    *((size_range, [0.96, 0.97], "3.0 to 4.0 %"), (size_range, [1.041, 1.032], "3.2 to 4.1 %"), (size_range, [1.03], "3.0 %")),
    # almost all sizes are powers of two
    *((count, 1, "2⁰"), (count, 1024, "2¹⁰"), (count, 2**24, "2²⁴"), (count, 1000, "1\u2009000"), (count, 0, "0")),
    # KiB, not kB
    *((size, 4, "4 B"), (size, 4096, "4 KiB"), (size, 1536, "1.5 KiB"), (size, 2**26, "64 MiB"), (size, 2**31, "2 GiB")),
    # a multiple has no exponent
    *((two_digits, 1.234, "1.2"), (two_digits, 12.34, "12"), (two_digits, 99.4, "99"), (two_digits, 99.6, "100")),
    *((two_digits, 124.2, "124"), (two_digits, 0.5, "0.5")),
    # launches that scatter by factors see nothing: 10733.8 % would be a figure of their scatter
    *((slowdown, 0.0384, "3.8 %"), (slowdown, 1.0, "100.0 %"), (slowdown, 107.338, "more than 100 %")),
    # a ratio has at least two figures: a change of 117 ms to 169 µs is not one to nothing
    *((ratio_text, 169e-6 / 117e-3, "0.0014"), (ratio_text, 0.0996, "0.100"), (ratio_text, 0.873, "0.87"), (ratio_text, 1.254, "1.25")),
    *((ratio_text, 12.34, "12.3"), (ratio_text, 692.31, "692"), (ratio_text, 0.0, "0.00")),
    # a change is always in per cent, with one digit after the point
    *((signed_percent, 1.123, "+12.3 %"), (signed_percent, 0.96, "−4.0 %"), (signed_percent, 10.314, "+931.4 %")),
    *((signed_percent, 0.9999, "0.0 %"), (signed_percent, 1.0, "0.0 %")),
    *((signed_interval, (1.2461, 1.2528), "+24.6 to +25.3 %"), (signed_interval, (0.96, 1.0), "−4.0 to 0.0 %")),
]


@pytest.mark.parametrize(("function", "value", "text"), TEXTS, ids=[f"{function.__name__} {text}" for function, _, text in TEXTS])
def test_a_number_as_text(function, value, text):
    assert function(value) == text


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


@pytest.mark.parametrize(
    ("value", "unit", "text"), [(0.75, "nats", "+0.75 nats"), (-0.1, "GB/s", "−0.1 GB/s"), (0.005, "", "+0.005"), (0.0, "", "0")]
)
def test_a_difference_has_its_sign_and_its_unit(value, unit, text):
    assert tracked_difference(value, unit) == text
