"""Numbers as text: durations, bytes, counts, powers of two, ratios, percentages and p-values.

Everywhere else they are seconds, bytes, numbers of elements, and ratios with 1 for no change.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from math import floor, log10

SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
MINUS = "−"
THIN_SPACE, NARROW_SPACE = "\u2009", "\u202f"  # the narrow one does not break
INSIDE = re.compile(r" (?=%|[µnm]?s\b)|(?<=[≤>]) (?=\d)")  # the spaces within a number: "3.1 %", "1.4 µs", "≤ 2¹⁷"
BINARY = ("B", "KiB", "MiB", "GiB")
SMALLEST_P = 1e-6  # that is written with its figures


def duration(seconds: float) -> str:
    """Return a duration with three figures: "1.39 µs", "29.1 ms"."""
    smaller = ((factor, unit) for factor, unit in ((1e9, "ns"), (1e6, "µs"), (1e3, "ms")) if seconds * factor < 999.5)
    factor, unit = next(smaller, (1.0, "s"))
    amount = seconds * factor
    return f"{amount:.{2 if amount < 9.995 else 1 if amount < 99.95 else 0}f} {unit}"


def text_range(first: str, last: str) -> str:
    """Return two texts with their common unit once: "1.48 to 1.55 µs", "980 ns to 1.02 µs", and equal ones as one: "2 µs"."""
    _, space, unit = last.partition(" ")
    return last if first == last else f"{first.removesuffix(space + unit)} to {last}"


def duration_range(times: Collection[float]) -> str:
    """Return the shortest and the longest of some times: "1.48 to 1.55 µs"; "" for none."""
    return text_range(duration(min(times)), duration(max(times))) if times else ""


def rounded(seconds: float) -> str:
    """Return a duration without trailing zeros: "2 µs", "1.5 ms"."""
    amount, unit = duration(seconds).split(" ")
    return f"{float(amount):g} {unit}"


def size(nbytes: int) -> str:
    """Return a number of bytes in binary units: "4 B", "64 KiB", "1.5 MiB", "−12 KiB"."""
    power = max(0, min(3, (abs(nbytes).bit_length() - 1) // 10))
    return f"{nbytes / 1024**power:.4g} {BINARY[power]}".replace("-", MINUS)


def quantity(value: float | None, unit: str) -> str:
    """Return a value in its unit, "" for None.

    unit : "seconds", "bytes", "instructions" or "allocations"; else that of what a third-party suite tracks, see `tracked`
    """
    if value is None:
        return ""
    if unit in ("instructions", "allocations"):
        return whole(value)
    return duration(value) if unit == "seconds" else size(round(value)) if unit == "bytes" else tracked(value, unit)


def tracked(value: float, unit: str, digits: int = 5) -> str:
    """Return a tracked value with up to five significant digits and its unit: "0.9993", "2.5 GB/s", "1.5 MiB", "1 642"."""
    if unit == "B":
        return size(round(value))
    text = f"{value:.{digits}g}"
    if abs(value) >= 1000:
        text = whole(value) if abs(value) < 1e12 else text
    return f"{text.replace('-', MINUS)}{f' {unit}' if unit not in ('', 'unit') else ''}"  # without a declared unit asv writes "unit"


def value_range(values: Collection[float], unit: str) -> str:
    """Return the least and the greatest of tracked values: "0.44 to 0.46 GB/s"; "" where they are equal."""
    least, greatest = (tracked(extreme(values), unit) for extreme in (min, max))
    return "" if least == greatest else text_range(least, greatest)


def tracked_difference(value: float, unit: str) -> str:
    """Return a difference of tracked values with its sign and up to three digits: "+0.05 GB/s", "−12 KiB", "0"."""
    return f"{'+' if value > 0 else ''}{tracked(value, unit, 3)}"


def count(numel: int) -> str:
    """Return a count as a power of two, "2¹⁰", or else with spaced thousands."""
    exponent = numel.bit_length() - 1
    return f"2{str(exponent).translate(SUPERSCRIPTS)}" if numel > 0 and numel == 2**exponent else whole(numel)


def whole(value: float) -> str:
    """Return a number without decimals and with spaced thousands: "1 642"."""
    return f"{value:,.0f}".replace(",", THIN_SPACE)


def number(value: float) -> str:
    """Return instructions or calls without needless digits: "1 642", "0.5"."""
    return whole(value) if abs(value) >= 10 or abs(value - round(value)) < 0.05 else f"{value:.1f}"


def signed(value: float) -> str:
    """Return a difference with its sign: "−1 642", "+12", "0"."""
    text = number(abs(value))
    return text if text == "0" else f"{'+' if value > 0 else MINUS}{text}"


def counted(number: int, noun: str) -> str:
    """Return a number of things: "1 case", "2 cases", "3 launches"."""
    return f"{number} {noun}{'' if number == 1 else 'es' if noun.endswith('ch') else 's'}"


def extent(numbers: Iterable[int]) -> str:
    """Return the smallest and the largest of some numbers: "12", or "8 to 12"; "0" for none."""
    ends = sorted(numbers) or [0]
    return text_range(str(ends[0]), str(ends[-1]))


def percent(share: float, digits: int | None = None) -> str:
    """Return a share: "3 %" for 0.03, "3.0 %" with one digit after the point."""
    return f"{100 * share:g} %" if digits is None else f"{100 * share:.{digits}f} %"


def slowdown(share: float) -> str:
    """Return a slowdown that would be noticed: "3.8 %", or "more than 100 %", where launches see nothing."""
    return percent(share, 1) if share <= 1 else "more than 100 %"


def size_range(ratios: Collection[float]) -> str:
    """Return the smallest and the largest of some changes of one direction, without a sign: "3.2 to 4.1 %"; "" for none."""
    ends = sorted(abs(ratio - 1) for ratio in ratios)
    return text_range(percent(ends[0], 1), percent(ends[-1], 1)) if ends else ""


def signed_percent(ratio: float) -> str:
    """Return a ratio as a change with its sign: "+12.3 %", "−4.0 %", "0.0 %", "+931.4 %".

    Never as a multiple, so that all changes of a column have one unit.
    """
    text = f"{100 * (ratio - 1):+.1f} %"
    return text.replace("-", MINUS) if text[1:] != "0.0 %" else text[1:]


def signed_interval(ratios: Iterable[float]) -> str:
    """Return an interval of changes with their signs: "+15.9 to +20.8 %"."""
    return f"{' to '.join(signed_percent(ratio).removesuffix(' %') for ratio in ratios)} %"


def ratio_text(ratio: float) -> str:
    """Return a ratio with two decimals, a large one with fewer, and a small one with at least two figures: "1.25", "128", "0.0014"."""
    decimals = 2 if ratio < 9.995 else 1 if ratio < 99.95 else 0
    return f"{ratio:.{max(decimals, 1 - floor(log10(ratio))) if 0 < ratio < 1 else decimals}f}"


def two_digits(number: float) -> str:
    """Return a number with two significant digits, and all those before its point: "1.2", "12", "124"."""
    return f"{number:.0f}" if number >= 99.5 else f"{number:.2g}"


def p_value(p: float) -> str:
    """Return a p-value: "p = 0.0012", "p < 0.000001"."""
    return f"p = {p:.2g}" if p >= SMALLEST_P else f"p < {SMALLEST_P:f}"


def unbroken(text: str) -> str:
    """Return a text whose percentages and thousands stay in one line of a page."""
    return text.replace(" %", f"{NARROW_SPACE}%").replace(THIN_SPACE, NARROW_SPACE)
