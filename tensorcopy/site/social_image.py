"""The picture that other sites show beside a link to these pages: the history of the copies.

Most of them show PNG only, which needs matplotlib (the extra "plot"). Without it the picture is an SVG.
"""

from __future__ import annotations

from importlib.util import find_spec
from io import BytesIO
from typing import Any

from tensorcopy.site import plots
from tensorcopy.site.model.machine import History, Machine
from tensorcopy.site.svg import standalone

SIZE = (12.0, 6.3)  # inches of 100 pixels, the proportions that other sites expect
PAPER, INK, QUIET, RULE, ACCENT = "#fbfaf7", "#1d1f24", "#5d626d", "#e0ddd4", "#0b6e4f"  # the light theme's
COLOURS = ("#a34a00", "#0b6e4f", "#6b4fa0", "#8a6500", "#1f5fa8")
TITLE = "How do I copy a tensor?"


def name() -> str:
    """Return the file's name, whose ending is its format."""
    return "social.png" if find_spec("matplotlib") else "social.svg"


def picture(machine: Machine) -> bytes:
    """Return the picture; empty where no copies were measured."""
    history = next((history for history in machine.histories if history.group == "copy"), None)
    if history is None:
        return b""
    codes = {method: machine.code(method) for method in history.methods}
    if name().endswith(".svg"):
        return standalone(plots.of_group(history, codes).svg()).encode()
    return _png(history, codes)


def _png(history: History, codes: dict[str, str]) -> bytes:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"font.family": "DejaVu Sans", "axes.edgecolor": RULE, "text.color": INK, "xtick.color": QUIET, "ytick.color": QUIET}):
        figure = Figure(figsize=SIZE, dpi=100, facecolor=PAPER)
        axes = figure.add_axes((0.07, 0.12, 0.69, 0.6), facecolor=PAPER)
        figure.text(0.05, 0.88, TITLE, fontsize=34, fontweight="bold")
        subtitle = f"Five ways, {history.numel:,} float32: µs per call on {len(history.releases)} torch releases"
        figure.text(0.05, 0.79, subtitle, fontsize=19, color=QUIET)
        figure.text(0.95, 0.06, "tensorcopy", fontsize=20, fontweight="bold", color=ACCENT, ha="right")
        _draw(axes, history)
        _label(axes, history, codes)
        buffer = BytesIO()
        figure.savefig(buffer, format="png", facecolor=PAPER)
    return buffer.getvalue()


def _draw(axes: Any, history: History) -> None:
    for number, environment in enumerate(history.environments):
        for method, colour in zip(history.methods, COLOURS):
            timings = [history.at(release, environment, method) for release in history.releases]
            values = [timing.median * 1e6 if timing else float("nan") for timing in timings]
            axes.plot(values, color=colour, linewidth=3, linestyle="-" if number == 0 else (0, (3, 2)), alpha=1 if number == 0 else 0.6)
    axes.set_ylim(bottom=0)
    axes.set_xticks(range(len(history.releases)), [release.removesuffix(".0") for release in history.releases], rotation=50, ha="right")
    axes.tick_params(labelsize=13, length=0)
    axes.grid(axis="y", color=RULE)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _label(axes: Any, history: History, codes: dict[str, str]) -> None:
    """Write each method's code beside the end of its line, without overlap."""
    ends = []
    for method, colour in zip(history.methods, COLOURS):
        points = [point for point in history.points if point.method == method and point.environment == history.environments[0]]
        if points:
            ends.append((points[-1].timing.median * 1e6, codes[method], colour))
    gap, below = 0.075 * axes.get_ylim()[1], float("-inf")
    for value, code, colour in sorted(ends):
        below = max(value, below + gap)
        place = (len(history.releases) - 0.6, below)
        axes.annotate(code, place, color=colour, fontsize=12, family="DejaVu Sans Mono", va="center", annotation_clip=False)
