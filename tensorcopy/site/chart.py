"""The one chart: values over releases or sizes on a logarithmic axis, as SVG that is whole without scripts. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil, floor, log, log10

from markupsafe import Markup, escape

from tensorcopy.numbers import quantity, rounded, unbroken

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 680, 250, 70, 14, 34
LABELS = 15  # that an axis has room for; of more, every second one stands there
COLOURS = 8  # of the stylesheet; lines beyond have the same colours, dashed
SECONDS = "seconds"
SIGNS = {"slower": "▲", "faster": "▼", "back": "▴", "undone": "▾"}  # of a change, by its style: to an earlier level is no news
FIGURE = Markup(
    '<figure{}><figcaption>{}</figcaption><div class="scroll" tabindex="0" role="group" aria-label="{}">'
    '<svg class="chart" viewBox="{} 0 {} {}"{} aria-label="{}">{}</svg>'
    '<svg class="axis" viewBox="0 0 {} {}" aria-hidden="true">{}</svg></div>{}</figure>'  # which stays where the chart scrolls
)


@dataclass(frozen=True)
class Line:
    """Values from left to right; None where nothing was measured."""

    name: str
    values: Sequence[float | None]
    ends: Sequence[tuple[float, float] | None] = ()  # of the interval of each value
    dots: Sequence[Sequence[float]] = ()  # single launches of each value
    steps: dict[int, str] = field(default_factory=dict)  # by index, what a change is: a key of `SIGNS`


def chart(lines: Sequence[Line], labels: Sequence[str], title: str, unit: str = SECONDS, links: Sequence[str] = ()) -> Markup:
    """Return a figure with its key. Pointing at a column of several lines, or with a link, shows its values; a click follows the link.

    title : what the chart shows, as a sentence
    links : the address of each column, "" for none
    """
    every = [value for line in lines for value in line.values if value and value > 0]
    every += [end for line in lines for pair in line.ends if pair for end in pair if end > 0]
    every += [dot for line in lines for row in line.dots for dot in row]
    if not every:
        return Markup("")
    low, high = min(every) / 1.03, max(every) * 1.03
    if high / low < 1.25:  # so that a change of 3 % does not look large
        low, high = low / 1.1, high * 1.1
    step, bottom = (WIDTH - LEFT - 12) / max(1, len(labels)), HEIGHT - BOTTOM
    xs = [LEFT + step * (index + 0.5) for index in range(len(labels))]

    def y(value: float) -> float:
        return TOP + (bottom - TOP) * (1 - log(value / low) / log(high / low))

    parts = [Markup('<path class="g" d="M{} {:.1f}H{}"/>').format(LEFT, y(tick), WIDTH) for tick in ticks(low, high)]
    axis = [_text("t", LEFT - 6, y(tick) + 4, rounded(tick) if unit == SECONDS else quantity(tick, unit)) for tick in ticks(low, high)]
    every_second = slice((len(labels) - 1) % 2, None, 2) if len(labels) > LABELS else slice(None)
    parts += [_text("x", x, bottom + 22, label) for x, label in [*zip(xs, labels)][every_second]]
    parts += [_drawn(line, number, xs, y) for number, line in enumerate(lines)]
    for index, label in enumerate(labels if links or len(lines) > 1 else ()):  # a line alone stands above a table of its values
        names = [f"{line.name}: " if len(lines) > 1 else "" for line in lines]
        texts = [label, *(f"{name}{quantity(line.values[index], unit)}" for name, line in zip(names, lines) if line.values[index])]
        place = xs[index] - step / 2, step, bottom - TOP
        area = Markup('<rect x="{:.0f}" width="{:.0f}" height="{}"><title>{}</title></rect>').format(*place, "\n".join(texts))
        target = links[index] if links else ""
        parts.append(Markup('<a href="{}" tabindex="-1">{}</a>').format(target, area) if target else area)
    keys = [Markup('<li class="s{}"><code>{}</code></li>').format(number % COLOURS + 1, line.name) for number, line in enumerate(lines)]
    key = Markup('<ul class="key">{}</ul>').format(Markup("").join(keys)) if len(lines) > 1 else Markup("")
    linked = Markup(" data-linked") if any(links) else Markup("")
    role = "" if linked else Markup(' role="img"')  # an image has no links
    drawn, scale = Markup("").join(parts), Markup("").join(axis)
    return FIGURE.format(linked, unbroken(title), title, LEFT, WIDTH - LEFT, HEIGHT, role, title, drawn, LEFT, HEIGHT, scale, key)


def _drawn(line: Line, number: int, xs: Sequence[float], y: Callable[[float], float]) -> Markup:
    """Return a line with its interval, its launches and the marks of its changes."""
    css = f"s{number % COLOURS + 1}"
    points = [(index, f"{xs[index]:.1f} {y(value):.1f}") for index, value in enumerate(line.values) if value and value > 0]
    spans = [(xs[index], y(pair[1]), y(pair[0])) for index, pair in enumerate(line.ends) if pair and pair[0] > 0]
    edge = [*(f"{x:.0f} {top:.0f}" for x, top, _ in spans), *(f"{x:.0f} {end:.0f}" for x, _, end in reversed(spans))]
    parts = [_path("b", "L".join(edge))] if len(spans) > 1 else []
    for index, row in enumerate(line.dots):
        heights = [round(y(dot)) for dot in row]
        below = "".join(f"m0 {after - before}h0" for before, after in pairwise(heights))  # each from the one before: shorter
        parts += [_path("d", f"{xs[index]:.0f} {heights[0]}h0{below}")] if row else []
    parts += [_path(f"l{' o' * (number >= COLOURS)}", "L".join(point for _, point in points))] if len(points) > 1 else []
    parts += [_path("p", "M".join(f"{point}h0" for _, point in points))] if points else []
    for index, change in line.steps.items():
        if value := line.values[index]:
            parts.append(_text(f"m {change}", xs[index], y(value) + (15 if change in ("faster", "undone") else -7), SIGNS[change]))
    return Markup('<g class="{}" data-line="{}">{}</g>').format(css, line.name, Markup("").join(parts))


def _path(css: str, data: str) -> Markup:
    return Markup('<path class="{}" d="M{}"/>').format(css, data)


def _text(css: str, x: float, y: float, text: str) -> Markup:
    # a site has 15,000 of them: Markup.format takes six times as long
    return Markup(f'<text class="{css}" x="{x:.0f}" y="{y:.0f}">{escape(text)}</text>')  # noqa: S704 - the text is escaped


def ticks(low: float, high: float) -> list[float]:
    """Return some five numbers between two: powers of ten, of few also 2 and 5 times these, within a factor of 4 multiples of a step."""
    if high / low > 4:
        powers = range(floor(log10(low)), floor(log10(high)) + 1)
        every = [each * 10.0**power for power in powers for each in ((1, 2, 5) if high / low < 300 else (1,))]
        return [each for each in every if low <= each <= high][:: len(powers) // 7 + 1]
    size = 10.0 ** floor(log10((high - low) / 4))
    step = next(size * number for number in (1, 2, 5, 10) if size * number >= (high - low) / 6)
    return [step * number for number in range(ceil(low / step), floor(high / step) + 1)]


def spark(values: Sequence[float | None]) -> Markup:
    """Return a small line over all releases."""
    shown = [(index, log(value)) for index, value in enumerate(values) if value and value > 0]
    if len(shown) < 2:
        return Markup("")
    logs = [number for _, number in shown]
    low, extent = min(logs), max(max(logs) - min(logs), 0.2)
    points = (f"{80 * index / (len(values) - 1):.0f} {20 - 16 * (number - low) / extent:.0f}" for index, number in shown)
    return Markup('<svg class="spark" viewBox="0 0 80 24" aria-hidden="true"><path d="M{}"/></svg>').format("L".join(points))
