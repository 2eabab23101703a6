"""The size sweep on the user's machine: measured in a separate process, as a table for the terminal, and as a picture by matplotlib."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from math import log, log2
from pathlib import Path
from statistics import quantiles
from typing import Any

from tensorcopy.copying import BASELINE, advise
from tensorcopy.errors import TensorcopyError
from tensorcopy.numbers import count, duration, ratio_text
from tensorcopy.report.table import Report, of_cells
from tensorcopy.results.launches import method_code
from tensorcopy.worker.processes import ReportProgress, ignore_progress, installing
from tensorcopy.worker.turns import usual

NUMELS = [2**power for power in range(15)]
TURNS = 16
BARS = "▁▂▃▄▅▆▇█"
COLUMNS = 3  # sizes whose times are shown
# colours that colour-blind readers can distinguish (after Okabe and Ito, 2008), dark enough for text; the marks serve prints without colour
COLOURS = ("#0072B2", "#C94F00", "#00805C", "#A8447F", "#A36F00", "#2E7FB0", "#000000", "#7A7400")
MARKS = "osD^vPX*"
GREY = "#6b6b6b"
SIZE = (9.6, 5.4)  # inches
SUFFIXES = (".svg", ".png", ".pdf")
SWEEPS = {
    "copies": ("tensor", "copy", "Copies"),
    "conversions": ("ndarray", "conversion", "Conversions to an independent ndarray"),
}  # what is made, the group of methods that make it, and the title


@dataclass(frozen=True)
class Sweep:
    """The times of every copy or every conversion at each of `NUMELS`."""

    title: str
    origin: str  # of the times: torch, hardware and day
    turns: Mapping[str, Sequence[Sequence[float]]]  # by code, and last of the memcpy baseline: seconds by size
    is_relative: bool  # whether they are multiples of the usual time of one of them
    left_out: Mapping[str, str]  # by method, why it was not timed


def measure(
    what: str = "copies",
    *,
    device: str = "cpu",
    requires_grad: bool = False,
    relative_to: str = "",
    report_progress: ReportProgress = ignore_progress,
) -> Sweep:
    """Time every copy or every conversion of a tensor by size.

    what : "copies" or "conversions"
    relative_to : a method's name or "baseline", for multiples of its usual times
    report_progress : called with the finished share (0 to 1) and the current step

    Raises TensorcopyError for an unavailable device or method.
    """
    if what not in SWEEPS:
        raise TensorcopyError("there is no such plot", got=repr(what), allowed=" or ".join(SWEEPS), next="tensorcopy plot copies")
    to, group, title = SWEEPS[what]
    tensor = {"device": device, "requires_grad": requires_grad}
    request = {"to": to, "groups": [group], "numels": NUMELS, "turns": TURNS, "needed": relative_to, **tensor}
    document = advise.timed(request, report_progress)
    sizes = [*document["times"].values()]
    divisors = [usual(size[relative_to]) if relative_to else 1.0 for size in sizes]
    codes = {name: method_code(row, device) for name, row in document["methods"].items()}
    codes[BASELINE] = f"memcpy baseline: {document['baseline']}"
    return Sweep(
        f"{title} of a float32 tensor on {device}{', of a leaf that requires grad' if requires_grad else ''}",
        f"torch {document['torch']}, {document['on']}, one thread, {document['day']}",
        {
            code: [[seconds / divisor for seconds in size[name]] for size, divisor in zip(sizes, divisors)]
            for name, code in codes.items()
            if all(name in size for size in sizes)
        },
        bool(relative_to),
        document["left_out"],
    )


def table(sweep: Sweep) -> Report:
    """Return a row for each method with its curve and its time at some sizes, the fastest first, and last the memcpy baseline.

    A curve has eight steps of a logarithmic scale, which spans the methods' times; the memcpy baseline may be below it.
    """
    *curves, baseline = [(code, [*map(usual, turns)]) for code, turns in sweep.turns.items()]
    low, high = (log(extreme(time for _, times in curves for time in times)) for extreme in (min, max))
    shown = [round(step * (len(NUMELS) - 1) / (COLUMNS - 1)) for step in range(COLUMNS)]
    rows = []
    for code, times in (*sorted(curves, key=lambda curve: sum(map(log, curve[1]))), baseline):
        bars = "".join(BARS[min(7, max(0, round(7 * (log(time) - low) / ((high - low) or 1))))] for time in times)
        cells = [f"{ratio_text(times[index])}×" if sweep.is_relative else duration(times[index]) for index in shown]
        rows.append([code, bars, *cells])
    titles = ("", f"{count(NUMELS[0])} … {count(NUMELS[-1])}", *(count(NUMELS[index]) for index in shown))
    note = f"{sweep.origin}: the usual turn of a millisecond, the mean of the fastest third"
    return of_cells(sweep.title, titles, rows, "ll" + "r" * COLUMNS, notes=[note])


def plot(what: str = "copies", **options: Any) -> Any:
    """Measure, plot on new matplotlib axes and return them.

    options : of `measure`

    Raises TensorcopyError if matplotlib is missing, and like `measure`.
    """
    _require_matplotlib()
    from matplotlib import pyplot

    return draw(measure(what, **options), pyplot.subplots(figsize=SIZE, layout="constrained")[1])


def check_path(path: Path) -> None:
    """Raise TensorcopyError for an unknown kind of picture, one that cannot be written, and where matplotlib is missing."""
    _require_matplotlib()
    if path.suffix not in SUFFIXES:
        raise TensorcopyError("unknown kind of picture", got=path.name, allowed=", ".join(SUFFIXES), next="-o copies.svg")
    if not path.absolute().parent.is_dir():
        what, following = "the picture cannot be written", f"mkdir -p {shlex.quote(str(path.parent))}"
        raise TensorcopyError(what, got=f"no folder {path.parent}", allowed="an existing folder", next=following)
    if path.is_dir() or not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
        following = "name another file with -o"
        raise TensorcopyError("the picture cannot be written", got=str(path), allowed="a file that you may write", next=following)


def _require_matplotlib() -> None:
    if find_spec("matplotlib") is None:
        following = installing('"tensorcopy[plot]", or leave -o out')
        raise TensorcopyError("matplotlib is not installed", got="none", allowed="any recent one", next=following)


def save(sweep: Sweep, path: Path) -> None:
    """Draw the picture and write it in the format of the file's suffix; path : as `check_path` requires it."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, layout="constrained")
    draw(sweep, figure.subplots())
    with rc_context({"svg.fonttype": "none"}):  # text stays text
        figure.savefig(path, dpi=200)


def draw(sweep: Sweep, axes: Any) -> Any:
    """Draw on matplotlib axes and return them.

    Each method has a line, the band of its turns, and its code in the legend, the slowest at the largest size first. The memcpy baseline is
    dashed.
    """
    from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator

    baseline = {"color": GREY, "linestyle": "--", "linewidth": 1.2, "zorder": 1}
    styles = [{"color": colour, "marker": mark, "markersize": 4, "linewidth": 1.6, "zorder": 3} for colour, mark in zip(COLOURS, MARKS)]
    lines = []
    for (code, turns), style in zip(sweep.turns.items(), [*styles[: len(sweep.turns) - 1], baseline]):
        high = [quantiles(each, n=4, method="inclusive")[2] for each in turns]
        lines += axes.plot(NUMELS, [*map(usual, turns)], label=code, **style)
        axes.fill_between(NUMELS, [*map(min, turns)], high, color=style["color"], alpha=0.13, linewidth=0, zorder=1)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("elements", color=GREY)
    axes.set_ylabel("relative time" if sweep.is_relative else "time per call", color=GREY)
    axes.xaxis.set_major_locator(LogLocator(base=2, numticks=9))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"$2^{{{round(log2(value))}}}$"))
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×") if sweep.is_relative else EngFormatter("s"))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_formatter(FuncFormatter(lambda *_: ""))
    axes.grid(axis="y", color="#e6e6e6", linewidth=0.8)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color("#c8c8c8")
    axes.tick_params(colors=GREY, which="both", length=0)
    lines.sort(key=lambda line: -line.get_ydata()[-1])
    axes.legend(handles=lines, frameon=False, prop={"family": "monospace", "size": 9}, loc="upper left", bbox_to_anchor=(1, 1))
    axes.set_title(sweep.title, loc="left", fontsize=13, pad=22)
    how = f"{sweep.origin}. Bands: from the fastest turn to the third quartile."
    how += f" Left out: {', '.join(sweep.left_out)}." if sweep.left_out else ""
    axes.text(0, 1.02, how, transform=axes.transAxes, fontsize=8.5, color=GREY)
    return axes
