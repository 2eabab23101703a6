"""The size sweep on the user's machine: measured in a separate process, as a table for the terminal, and as a picture by matplotlib."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import log, log10
from pathlib import Path
from typing import Any

from tensorcopy.copying.shipped import of_folder
from tensorcopy.errors import TensorcopyError
from tensorcopy.numbers import count, duration, multiple
from tensorcopy.releases import interpreters
from tensorcopy.report.table import Report, ReportSection, of_cells
from tensorcopy.worker.processes import installing

BARS = "▁▂▃▄▅▆▇█"
COLUMNS = 3  # sizes whose times are shown

# colours that colour-blind readers can distinguish (after Okabe and Ito, 2008), dark enough for text; the marks serve prints without colour
COLOURS = ("#0072B2", "#C94F00", "#00805C", "#A8447F", "#A36F00", "#2E7FB0", "#000000", "#7A7400")
MARKS = "osD^vPX*"
GREY = "#6b6b6b"
SIZE = (9.6, 5.4)  # inches
SUFFIXES = (".svg", ".png", ".pdf")
NEAREST = 0.055  # the smallest distance between two labels, as a share of the axis' height

Document = Mapping[str, Any]


def measure(
    what: str = "copies",
    *,
    device: str = "cpu",
    most: int = 2**14,
    requires_grad: bool = False,
    relative_to: str = "",
    interpreter: str = "same",
    report_progress: Callable[[float, str], None] = lambda share, doing: None,
) -> dict[str, Any]:
    """Time every copy or every conversion at numel = 1, 2, 4, … `most`.

    Return plain values, as `timing.time_sizes` returns them.

    what : "copies" or "conversions"
    most : number of elements of the largest tensor
    relative_to : a method's name or "baseline", to be shown as the divisor; refused here rather than after the measurement
    interpreter : the Python whose torch is measured; "same" for the running one
    report_progress : called with the finished share (0 to 1) and the current step

    Raises TensorcopyError for an unavailable device, size, method or interpreter.
    """
    request = {"what": what, "device": device, "most": most, "requires_grad": requires_grad, "relative_to": relative_to}
    own = of_folder(Path.cwd())
    document = interpreters.run_probe(
        interpreters.executable(interpreter),
        "tensorcopy.copying.inside.timing",
        "sizes",
        json.dumps(request),
        variables={**os.environ, **own.variables()},
        report_progress=report_progress,
    )
    document["left_out"] = {**{name: error.reason for name, error in own.left_out.items()}, **document["left_out"]}
    report_progress(1.0, "finished")
    return document


def divisors(curves: Sequence[Document], relative_to: str) -> dict[int, float]:
    """Return the divisor of times by size: a method's time, which `measure` requires; 1 if `relative_to` is ""."""
    if not relative_to:
        return {point["numel"]: 1.0 for point in curves[0]["points"]}
    return next({point["numel"]: point["usual"] for point in curve["points"]} for curve in curves if curve["name"] == relative_to)


def table(document: Document, relative_to: str = "") -> Report:
    """Return a row for each method with its curve and its time at some sizes, the fastest first, and last the memcpy baseline.

    A curve has eight steps of a logarithmic scale, which spans the methods' times; the memcpy baseline may be below it.
    Of several groups of own operations, each has a section.
    """
    curves, by = document["curves"], divisors([*document["curves"], document["baseline"]], relative_to)
    values = {curve["name"]: [point["usual"] / by[point["numel"]] for point in curve["points"]] for curve in curves}
    low, high = (log(extreme(value for row in values.values() for value in row)) for extreme in (min, max))
    numels = [point["numel"] for point in curves[0]["points"]]
    shown = sorted({round(step * (len(numels) - 1) / (COLUMNS - 1)) for step in range(COLUMNS)})

    def cells(name: str, curve: Document) -> list[str]:
        row = [point["usual"] / by[point["numel"]] for point in curve["points"]]
        bars = "".join(BARS[min(7, max(0, round(7 * (log(value) - low) / ((high - low) or 1))))] for value in row)
        return [name, bars, *(multiple(row[index]) if relative_to else duration(row[index]) for index in shown)]

    ordered = sorted(curves, key=lambda curve: sum(map(log, values[curve["name"]])))
    groups = {group: [cells(each["code"], each) for each in ordered if each.get("group", "") == group] for group in _groups(curves)}
    baseline = cells(f"memcpy baseline: {document['baseline']['code']}", document["baseline"])
    titles = ("", f"{count(numels[0])} … {count(numels[-1])}", *(count(numels[index]) for index in shown))
    whole = of_cells("", titles, [*(row for rows in groups.values() for row in rows), baseline], "ll" + "r" * len(shown))
    if len({*filter(None, groups)}) < 2:
        return whole
    return replace(whole, sections=[*(ReportSection(group, rows) for group, rows in groups.items()), ReportSection("memcpy", [baseline])])


def _groups(curves: Sequence[Document]) -> list[str]:
    """Return the groups of methods, in order."""
    return [*dict.fromkeys(curve.get("group", "") for curve in curves)]


def plot(
    what: str = "copies",
    *,
    device: str = "cpu",
    most: int = 2**14,
    requires_grad: bool = False,
    logx: bool = True,
    logy: bool = True,
    relative_to: str = "",
    axes: Any = None,
    report_progress: Callable[[float, str], None] = lambda share, doing: None,
) -> Any:
    """Measure, plot on matplotlib axes and return them; by default on new ones.

    what : "copies" or "conversions"
    most : number of elements of the largest tensor
    relative_to : a method's name or "baseline", to plot multiples of its time
    report_progress : called with the finished share (0 to 1) and the current step, such as `show_progress`

    Raises TensorcopyError if matplotlib is missing, and for an unavailable device, size or method.
    """
    if axes is None:
        _require_matplotlib()
        from matplotlib import pyplot

        axes = pyplot.subplots(figsize=SIZE, layout="constrained")[1]
    document = measure(
        what, device=device, most=most, requires_grad=requires_grad, relative_to=relative_to, report_progress=report_progress
    )
    return draw(document, axes, logx=logx, logy=logy, relative_to=relative_to)


def check_path(path: Path) -> None:
    """Raise TensorcopyError for an unknown kind of picture, a missing folder, and where matplotlib is missing."""
    _require_matplotlib()
    if path.suffix not in SUFFIXES:
        raise TensorcopyError("unknown kind of picture", got=path.name, allowed=", ".join(SUFFIXES), next="-o copies.svg")
    if not path.absolute().parent.is_dir():
        raise TensorcopyError(
            "the picture cannot be written",
            got=f"no folder {path.parent}",
            allowed="an existing folder",
            next=f"mkdir -p {shlex.quote(str(path.parent))}",
        )


def _require_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        following = installing('"tensorcopy[plot]", or leave -o out')
        raise TensorcopyError("matplotlib is not installed", got="none", allowed="any recent one", next=following) from error


def save(document: Document, path: Path, **options: Any) -> None:
    """Draw the picture and write it in the format of the file's suffix; path : as `check_path` requires it."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, layout="constrained")
    draw(document, figure.subplots(), **options)
    with rc_context({"svg.fonttype": "none"}):  # text stays text
        figure.savefig(path, dpi=200)


def draw(document: Document, axes: Any, *, logx: bool = True, logy: bool = True, relative_to: str = "") -> Any:
    """Draw on matplotlib axes and return them.

    Each method has a line, the band of its turns, and its code at the end.
    relative_to : plot multiples of this method's time; "baseline" is the memcpy baseline, which is dashed
    """
    curves = [*document["curves"], document["baseline"]]
    by = divisors(curves, relative_to)
    ends = []
    for number, curve in enumerate(curves):
        numels = [point["numel"] for point in curve["points"]]
        low, middle, high = ([point[name] / by[point["numel"]] for point in curve["points"]] for name in ("low", "usual", "high"))
        is_baseline = curve is curves[-1]
        colour = GREY if is_baseline else COLOURS[number % len(COLOURS)]
        style: dict[str, Any] = {"linestyle": "--", "linewidth": 1.2, "zorder": 1}
        if not is_baseline:
            style = {"marker": MARKS[number % len(MARKS)], "markersize": 4, "linewidth": 1.6, "zorder": 3}
        axes.plot(numels, middle, color=colour, label=curve["code"], **style)
        axes.fill_between(numels, low, high, color=colour, alpha=0.13, linewidth=0, zorder=1)
        ends.append((middle[-1], f"memcpy baseline: {curve['code']}" if is_baseline else curve["code"], colour))
    axes.set_xscale("log", base=2) if logx else axes.set_xscale("linear")
    axes.set_yscale("log") if logy else axes.set_ylim(bottom=0)
    _scales(axes, relative=bool(relative_to), logx=logx, logy=logy)
    _labels(axes, ends, logy)
    kind = "Copies" if document["what"] == "copies" else "Conversions to an independent ndarray"
    grad = ", of a leaf that requires grad" if document["requires_grad"] else ""
    axes.set_title(f"{kind} of a float32 tensor on {document['device']}{grad}", loc="left", fontsize=13, pad=22)
    how = f"torch {document['torch']}, {document['on']}, one thread, {document['day']}. Bands: from the fastest turn to the third quartile."
    how += f" Left out: {', '.join(document['left_out'])}." if document["left_out"] else ""
    axes.text(0, 1.02, how, transform=axes.transAxes, fontsize=8.5, color=GREY)
    return axes


def _scales(axes: Any, *, relative: bool, logx: bool, logy: bool) -> None:
    from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator, MaxNLocator

    axes.set_xlabel("elements", color=GREY)
    axes.set_ylabel("relative time" if relative else "time per call", color=GREY)
    if logx:
        axes.xaxis.set_major_locator(LogLocator(base=2, numticks=9))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"$2^{{{round(log10(value) / log10(2))}}}$"))
        axes.xaxis.set_minor_locator(LogLocator(base=2, numticks=99))
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)) if logy else MaxNLocator(6))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×") if relative else EngFormatter("s"))
    axes.yaxis.set_minor_formatter(FuncFormatter(lambda *_: ""))
    axes.xaxis.set_minor_formatter(FuncFormatter(lambda *_: ""))
    axes.grid(axis="y", color="#e6e6e6", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color("#c8c8c8")
    axes.tick_params(colors=GREY, which="both", length=0)


def _labels(axes: Any, ends: Sequence[tuple[float, str, str]], logy: bool) -> None:
    """Write each line's code next to its end.

    Labels that would overlap are moved apart.
    """
    low, high = axes.get_ylim()

    def height(value: float) -> float:
        return (log10(value) - log10(low)) / (log10(high) - log10(low)) if logy else (value - low) / (high - low)

    ordered = sorted(ends)
    heights = [height(value) for value, _, _ in ordered]
    for _ in range(200):
        for lower in range(len(heights) - 1):
            overlap = NEAREST - (heights[lower + 1] - heights[lower])
            if overlap > 0:
                heights[lower], heights[lower + 1] = heights[lower] - overlap / 2, heights[lower + 1] + overlap / 2
    for label_height, (_, text, colour) in zip(heights, ordered):
        axes.annotate(
            text,
            (1.015, label_height),
            xycoords="axes fraction",
            color=colour,
            fontsize=9,
            family="monospace",
            verticalalignment="center",
            annotation_clip=False,
        )
