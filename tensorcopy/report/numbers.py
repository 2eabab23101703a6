"""Durations, counts and sizes as text.

Everywhere else they are seconds, numbers of elements and bytes.
"""

from __future__ import annotations

SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def duration(seconds: float) -> str:
    """Return a duration with three figures: "1.39 µs", "29.1 ms"."""
    for factor, unit in ((1e9, "ns"), (1e6, "µs"), (1e3, "ms")):
        if seconds * factor < 999.5:
            return f"{_three_figures(seconds * factor)} {unit}"
    return f"{_three_figures(seconds)} s"


def rounded(seconds: float) -> str:
    """Return a duration without trailing zeros: "2 µs", "1.5 ms"."""
    amount, unit = duration(seconds).split(" ")
    return f"{float(amount):g} {unit}"


def count(numel: int) -> str:
    """Return a count as a power of two, "2¹⁰", or else with spaced thousands."""
    exponent = numel.bit_length() - 1
    if numel > 0 and numel == 2**exponent:
        return f"2{str(exponent).translate(SUPERSCRIPTS)}"
    return f"{numel:,}".replace(",", "\u2009")


def signed_percent(ratio: float) -> str:
    """Return a ratio as a change with its sign: "+12.3 %", "−4.0 %", "+931.4 %".

    Never as a multiple, so that all changes of a column have one unit.
    """
    percent = f"{100 * (ratio - 1):+.1f}".replace("-", "−")
    return f"{'0.0' if percent in ('+0.0', '−0.0') else percent} %"


def size(nbytes: int) -> str:
    """Return a number of bytes in binary units: "4 B", "64 KiB", "1.5 MiB"."""
    amount = float(nbytes)
    for unit in ("B", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:.4g} {unit}"
        amount /= 1024
    return f"{amount:.4g} GiB"


def quantity(value: float, unit: str) -> str:
    """Return a value in its unit: seconds, bytes, or a count of anything else."""
    if unit == "seconds":
        return duration(value)
    return size(round(value)) if unit == "bytes" else f"{value:,.0f}".replace(",", "\u2009")


def _three_figures(amount: float) -> str:
    return f"{amount:.2f}" if amount < 9.995 else f"{amount:.1f}" if amount < 99.95 else f"{amount:.0f}"


def counted(number: int, noun: str) -> str:
    """Return a number of things: "1 case", "2 cases"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
