"""Values as the pages write them. Pure."""

from __future__ import annotations

from markupsafe import Markup

from tensorcopy.analysis.two_sample import Change
from tensorcopy.report.units import count
from tensorcopy.results.load import Case

SHORT = 2  # characters
NARROW = "\u202f"  # a space that does not break


def percent(ratio: float) -> str:
    """A ratio as a change: "+12.3 %", "−4.0 %"; from twice on as a multiple."""
    if ratio >= 2:
        return f"×{NARROW}{ratio:.3g}"
    return f"{100 * (ratio - 1):+.1f}{NARROW}%".replace("-", "−")


def coded(code: str) -> Markup:
    return Markup("<code>{}</code>").format(breakable(code))


def breakable(code: str) -> Markup:
    """Code that may be broken before a call, where a phone is too narrow; but not behind a name as short as x."""
    head, *calls = code.split(".")
    if calls and len(head) <= SHORT:
        head, *calls = f"{head}.{calls[0]}", *calls[1:]
    return Markup("<wbr>.").join([head, *calls])


def circumstances(case: Case) -> str:
    """What a case is, beside its method: "2¹⁷ elements, float16"."""
    return ", ".join(_said(name, value) for name, value in case.parameters if name != "method") or "as it is"


def bandwidth(nbytes: float) -> str:
    """Bytes a second, in units of ten to the ninth."""
    return f"{nbytes / 1e9:.3g} GB/s"


def interval(ends: tuple[float, float]) -> str:
    """An interval of a ratio: "−3.1 … +5.5 %"."""
    return " … ".join(f"{100 * (ratio - 1):+.1f}".replace("-", "−") for ratio in ends) + f"{NARROW}%"


def give_or_take(change: Change) -> str:
    """A change with half the width of its interval: "+1.2 ± 4.3 %"."""
    ratio, ends = change.ratio or 1.0, change.interval
    if not ends:
        return percent(ratio)
    half = f" ± {50 * (ends[1] - ends[0]):.1f}{NARROW}%"
    return f"{percent(ratio)}{half}" if ratio >= 2 else percent(ratio).replace(f"{NARROW}%", half)


def widest(changes: list[Change]) -> float:
    """What an axis of intervals ends at, as a share: it holds nine tenths of them, and 10 % at least."""
    ends = sorted(max(change.interval[1], 1 / change.interval[0]) - 1 for change in changes if change.interval)
    return max(0.1, ends[int(0.9 * (len(ends) - 1))]) if ends else 0.1


def _said(name: str, value: str) -> str:
    if name == "numel":
        return f"{count(int(value))} element{'' if value == '1' else 's'}"
    if name == "requires_grad":
        return "requires grad" if value == "True" else "no grad"
    if name == "threads":
        return f"{value} thread{'' if value == '1' else 's'}"
    return value
