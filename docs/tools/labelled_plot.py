"""A plot with a title, a note and the name of each line at its end, to be read without its page. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from tensorcopy.site.svg import RIGHT, Plot

ABOVE, BELOW = 24, 20  # room for the title and the note
GAP = 14  # between names, at least
CHARACTER = 6.4  # width of a letter of a name


def svg(plot: Plot, names: Sequence[str], title: str, note: str) -> str:
    """Return the plot as an SVG element with its texts.

    names : of the first lines, in order
    """
    inner = re.sub(r"^<svg[^>]*>|</svg>$", "", plot.svg())
    named = [(line, next(point for point in reversed(line.points) if point), name) for line, name in zip(plot.lines, names)]
    ends = sorted((plot.at(point.x, point.y)[1], name, line.colour) for line, point, name in named)
    middles = spread([y for y, _, _ in ends])
    left = plot.width - RIGHT + 8
    texts = "".join(
        f'<text x="{left}" y="{y:.0f}" dominant-baseline="central" style="fill:var(--series-{colour})">{escape(name)}</text>'
        for y, (_, name, colour) in zip(middles, ends)
    )
    texts += f'<text x="4" y="{15 - ABOVE}" style="font-size:12.5px;fill:var(--ink)">{escape(title)}</text>'
    texts += f'<text x="4" y="{plot.height + 12}">{escape(note)}</text>'
    width = left + CHARACTER * max(map(len, names))
    view = f"0 {-ABOVE} {width:.0f} {plot.height + ABOVE + BELOW}"
    attributes = f'xmlns="http://www.w3.org/2000/svg" class="plot" viewBox="{view}" aria-label={quoteattr(f"{title}; {note}")}'
    return f"<svg {attributes}>{inner}{texts}</svg>"


def spread(positions: Sequence[float]) -> list[float]:
    """Return sorted positions moved apart until no two are nearer than `GAP`, around where they were."""
    groups = [[position] for position in positions]
    merged = True
    while merged:
        merged = False
        for index in range(len(groups) - 1):
            first, second = groups[index], groups[index + 1]
            if _placed(second)[0] - _placed(first)[-1] < GAP:
                groups[index : index + 2] = [first + second]
                merged = True
                break
    return [position for group in groups for position in _placed(group)]


def _placed(group: Sequence[float]) -> list[float]:
    """Return positions `GAP` apart around the middle of a group."""
    middle = sum(group) / len(group)
    return [middle + GAP * (index - (len(group) - 1) / 2) for index in range(len(group))]
