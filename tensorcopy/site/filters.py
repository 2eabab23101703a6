"""Template filters: values as the pages show them. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup

from tensorcopy.analysis.two_sample import Change
from tensorcopy.report import numbers
from tensorcopy.report.numbers import count, percent, signed_interval, signed_percent, unbroken
from tensorcopy.results.passes import Case, Timing

NAMED_BY_VALUE = ("device", "dtype", "layout", "memory", "method", "nbytes", "way")  # parameters whose values tell what they are
SHORT_NAME = 5  # characters: "x", "np", "torch"


def change(ratio: float) -> str:
    """Format a ratio as a change: "+12.3 %", "−4.0 %"."""
    return unbroken(signed_percent(ratio))


def code_markup(code: str) -> Markup:
    """Return code as a <code> element that may wrap between calls."""
    return Markup("<code>{}</code>").format(breakable(code))


def breakable(code: str) -> Markup:
    """Allow line breaks before each call, but never after a name as short as `x` or `torch`."""
    head, *calls = code.split(".")
    if calls and len(head) <= SHORT_NAME:
        head, *calls = f"{head}.{calls[0]}", *calls[1:]
    return Markup("<wbr>.").join([head, *calls])


def circumstances(case: Case) -> str:
    """Format a case's parameters without its method: "2¹⁷ elements, float16"."""
    return parameters([(name, value) for name, value in case.parameters if name != "method"]) or "default parameters"


def parameters(named: Iterable[tuple[str, str]]) -> str:
    """Format parameters: "2¹⁷ elements, float16"."""
    return ", ".join(_parameter(name, value) for name, value in named)


def values_of(named: Iterable[tuple[str, str]]) -> str:
    """Format the values of parameters whose names stand elsewhere: "2¹⁷, float16"."""
    return ", ".join(count(int(value)) if name == "numel" else value for name, value in named) or "change"


def interval(ends: tuple[float, float]) -> str:
    """Format an interval of ratios: "−3.1 … +5.5 %"."""
    return unbroken(signed_interval(ends, " … "))


def span(timing: Timing, unit: str) -> str:
    """Format the range of a release's passes: "1.30 … 1.44 µs"."""
    return numbers.span(timing.low, timing.high, unit)


def plus_minus(change: Change) -> str:
    """Format a change with half the width of its interval: "+1.2 ± 4.3 %"."""
    middle, ends = signed_percent(change.ratio or 1.0), change.interval
    return unbroken(f"{middle.removesuffix(' %')} ± {percent((ends[1] - ends[0]) / 2, 1)}" if ends else middle)


def axis_limit(changes: list[Change]) -> float:
    """Return an axis limit that holds nine tenths of the intervals, as a share.

    It is at least 0.1.
    """
    ends = sorted(max(change.interval[1], 1 / change.interval[0]) - 1 for change in changes if change.interval)
    return max(0.1, ends[int(0.9 * (len(ends) - 1))]) if ends else 0.1


def _parameter(name: str, value: str) -> str:
    if name == "numel":
        return f"{count(int(value))} element{'' if value == '1' else 's'}"
    if name == "requires_grad":
        return "requires grad" if value == "True" else "no grad"
    if name == "threads":
        return f"{value} thread{'' if value == '1' else 's'}"
    return value if name in NAMED_BY_VALUE else f"{name}={value}"
