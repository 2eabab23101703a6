"""The size sweep on the user's machine: measured in a separate process, as a table for the terminal, and as a picture by matplotlib."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
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

BARS = "▁▂▃▄▅▆▇█"
COLUMNS = 3  # sizes whose times are shown
# colours that colour-blind readers can distinguish (after Okabe and Ito, 2008), dark enough for text; the marks serve prints without colour
COLOURS = ("#0072B2", "#C94F00", "#00805C", "#A8447F", "#A36F00", "#2E7FB0", "#000000", "#7A7400")
MARKS = "osD^vPX*"
GREY = "#6b6b6b"
SIZE = (9.6, 5.4)  # inches
SUFFIXES = (".svg", ".png", ".pdf")

Document = Mapping[str, Any]
SWEEPS = {"copies": ("tensor", "copy"), "conversions": ("ndarray", "conversion")}  # what is made, and the group of methods that make it
TURNS = 16


def measure(
    what: str = "copies",
    *,
    device: str = "cpu",
    most: int = 2**14,
    requires_grad: bool = False,
    relative_to: str = "",
    interpreter: str = "same",
    report_progress: ReportProgress = ignore_progress,
) -> dict[str, Any]:
    """Time every copy or every conversion at numel = 1, 2, 4, … `most`.

    Return what `timing.time_methods` returns, with these arguments and "curves": of each method and, last, of the memcpy baseline, its
    "name", "code" and "points", which are seconds per call by "numel": "usual", "low" of the fastest turn, "high" of the third quartile.

    what : "copies" or "conversions"
    most : number of elements of the largest tensor
    relative_to : a method's name or "baseline", to be shown as the divisor; refused here rather than after the measurement
    interpreter : the Python whose torch is measured; "same" for the running one
    report_progress : called with the finished share (0 to 1) and the current step

    Raises TensorcopyError for an unavailable device, size, method or interpreter.
    """
    if what not in SWEEPS:
        raise TensorcopyError("there is no such plot", got=repr(what), allowed=" or ".join(SWEEPS), next="tensorcopy plot copies")
    to, group = SWEEPS[what]
    names = [*(name for name, row in advise.shipped_evidence("cpu").methods.items() if row["group"] == group), BASELINE]
    if relative_to and relative_to not in names:
        raise TensorcopyError("no such method is measured", got=repr(relative_to), allowed=", ".join(names), next="one of these names")
    numels = [2**power for power in range(most.bit_length())] if most > 0 else [most]
    request = {"to": to, "groups": [group], "device": device, "numels": numels, "turns": TURNS, "requires_grad": requires_grad}
    document = advise.timed(interpreter, {**request, "needed": relative_to}, report_progress)
    codes = {name: method_code(row, device) for name, row in document["methods"].items()}
    times = {int(numel): turns for numel, turns in document.pop("times").items()}
    curves = [
        {"name": name, "code": code, "points": [_point(numel, turns[name]) for numel, turns in times.items()]}
        for name, code in {**codes, BASELINE: document["baseline"]}.items()
        if all(name in turns for turns in times.values())
    ]
    return {**document, "what": what, "device": device, "requires_grad": requires_grad, "curves": curves}


def _point(numel: int, turns: Sequence[float]) -> dict[str, float]:
    return {"numel": numel, "usual": usual(turns), "low": min(turns), "high": quantiles(turns, n=4, method="inclusive")[2]}


def _values(document: Document, relative_to: str, of: str = "usual") -> list[list[float]]:
    """Return the values of each curve by size, as multiples of the usual time of a method or the baseline; seconds for ""."""
    divisors = next(([point["usual"] for point in curve["points"]] for curve in document["curves"] if curve["name"] == relative_to), [])
    ones = divisors or [1.0] * len(document["curves"][0]["points"])
    return [[point[of] / divisor for point, divisor in zip(curve["points"], ones)] for curve in document["curves"]]


def table(document: Document, relative_to: str = "") -> Report:
    """Return a row for each method with its curve and its time at some sizes, the fastest first, and last the memcpy baseline.

    A curve has eight steps of a logarithmic scale, which spans the methods' times; the memcpy baseline may be below it.
    """
    curves, values = document["curves"], _values(document, relative_to)
    low, high = (log(extreme(value for row in values[:-1] for value in row)) for extreme in (min, max))
    numels = [point["numel"] for point in curves[0]["points"]]
    shown = sorted({round(step * (len(numels) - 1) / (COLUMNS - 1)) for step in range(COLUMNS)})
    rows = []
    for curve, row in sorted(zip(curves, values), key=lambda each: (each[0] is curves[-1], sum(map(log, each[1])))):
        name = f"memcpy baseline: {curve['code']}" if curve is curves[-1] else curve["code"]
        bars = "".join(BARS[min(7, max(0, round(7 * (log(value) - low) / ((high - low) or 1))))] for value in row)
        rows.append([name, bars, *(f"{ratio_text(row[index])}×" if relative_to else duration(row[index]) for index in shown)])
    titles = ("", f"{count(numels[0])} … {count(numels[-1])}", *(count(numels[index]) for index in shown))
    return of_cells("", titles, rows, "ll" + "r" * len(shown))


def plot(what: str = "copies", *, relative_to: str = "", axes: Any = None, **options: Any) -> Any:
    """Measure, plot on matplotlib axes and return them; by default on new ones.

    relative_to : a method's name or "baseline", to plot multiples of its time
    options : of `measure`

    Raises TensorcopyError if matplotlib is missing, and like `measure`.
    """
    if axes is None:
        _require_matplotlib()
        from matplotlib import pyplot

        axes = pyplot.subplots(figsize=SIZE, layout="constrained")[1]
    return draw(measure(what, relative_to=relative_to, **options), axes, relative_to=relative_to)


def check_path(path: Path) -> None:
    """Raise TensorcopyError for an unknown kind of picture, a missing folder, and where matplotlib is missing."""
    _require_matplotlib()
    if path.suffix not in SUFFIXES:
        raise TensorcopyError("unknown kind of picture", got=path.name, allowed=", ".join(SUFFIXES), next="-o copies.svg")
    if not path.absolute().parent.is_dir():
        what, following = "the picture cannot be written", f"mkdir -p {shlex.quote(str(path.parent))}"
        raise TensorcopyError(what, got=f"no folder {path.parent}", allowed="an existing folder", next=following)


def _require_matplotlib() -> None:
    if find_spec("matplotlib") is None:
        following = installing('"tensorcopy[plot]", or leave -o out')
        raise TensorcopyError("matplotlib is not installed", got="none", allowed="any recent one", next=following)


def save(document: Document, path: Path, **options: Any) -> None:
    """Draw the picture and write it in the format of the file's suffix; path : as `check_path` requires it."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, layout="constrained")
    draw(document, figure.subplots(), **options)
    with rc_context({"svg.fonttype": "none"}):  # text stays text
        figure.savefig(path, dpi=200)


def draw(document: Document, axes: Any, *, relative_to: str = "") -> Any:
    """Draw on matplotlib axes and return them.

    Each method has a line, the band of its turns, and its code in the legend, the slowest at the largest size first.
    relative_to : plot multiples of this method's time; "baseline" is the memcpy baseline, which is dashed
    """
    from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator

    lines, curves = [], document["curves"]
    bands = zip(*(_values(document, relative_to, of) for of in ("low", "usual", "high")))
    for number, (curve, (low, middle, high)) in enumerate(zip(curves, bands)):
        numels = [point["numel"] for point in curve["points"]]
        is_baseline = curve is curves[-1]
        colour = GREY if is_baseline else COLOURS[number % len(COLOURS)]
        style: dict[str, Any] = {"linestyle": "--", "linewidth": 1.2, "zorder": 1}
        if not is_baseline:
            style = {"marker": MARKS[number % len(MARKS)], "markersize": 4, "linewidth": 1.6, "zorder": 3}
        label = f"memcpy baseline: {curve['code']}" if is_baseline else curve["code"]
        lines += axes.plot(numels, middle, color=colour, label=label, **style)
        axes.fill_between(numels, low, high, color=colour, alpha=0.13, linewidth=0, zorder=1)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("elements", color=GREY)
    axes.set_ylabel("relative time" if relative_to else "time per call", color=GREY)
    axes.xaxis.set_major_locator(LogLocator(base=2, numticks=9))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"$2^{{{round(log2(value))}}}$"))
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×") if relative_to else EngFormatter("s"))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_formatter(FuncFormatter(lambda *_: ""))
    axes.grid(axis="y", color="#e6e6e6", linewidth=0.8)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color("#c8c8c8")
    axes.tick_params(colors=GREY, which="both", length=0)
    lines.sort(key=lambda line: -line.get_ydata()[-1])
    axes.legend(handles=lines, frameon=False, prop={"family": "monospace", "size": 9}, loc="upper left", bbox_to_anchor=(1, 1))
    kind = "Copies" if document["what"] == "copies" else "Conversions to an independent ndarray"
    grad = ", of a leaf that requires grad" if document["requires_grad"] else ""
    axes.set_title(f"{kind} of a float32 tensor on {document['device']}{grad}", loc="left", fontsize=13, pad=22)
    how = f"torch {document['torch']}, {document['on']}, one thread, {document['day']}. Bands: from the fastest turn to the third quartile."
    how += f" Left out: {', '.join(document['left_out'])}." if document["left_out"] else ""
    axes.text(0, 1.02, how, transform=axes.transAxes, fontsize=8.5, color=GREY)
    return axes
