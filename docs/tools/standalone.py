"""Drawings and charts as SVG files of their own, as GitHub shows them beside Markdown: with colours, light and dark, and with a key."""

from __future__ import annotations

import re
from pathlib import Path

from tensorcopy.site import build
from tensorcopy.site.chart import HEIGHT, LEFT, WIDTH

COLOUR = re.compile(r"^(?:\.(s\d) \{)? *--([\w-]+): light-dark\((.+?), (.+?)\);", re.MULTILINE)  # of a line of tensorcopy.css
RULES = (Path(__file__).parent / "standalone.css").read_text(encoding="utf-8")
KEY = re.compile(r'<li class="(s\d)"><code>(.*?)</code></li>')
ROW, COLUMN = 22, 320  # height and width of an entry of the key


def standalone(svg: str) -> str:
    """Return an SVG with the colours of the site's stylesheet and its own few rules."""
    colours = COLOUR.findall((build.STATIC / "tensorcopy.css").read_text(encoding="utf-8"))
    light, dark = ("".join(f"--{each[0] or each[1]}:{each[shade]};" for each in colours) for shade in (2, 3))
    style = f":root{{{light}}}@media (prefers-color-scheme: dark){{:root{{{dark}}}}}\n{RULES}"
    return svg.replace(">", f"><style>{style}</style>", 1) + "\n"


def chart(figure: str) -> str:
    """Return a figure of `site.chart` as an SVG with its key below; its title is the label."""
    drawn = "".join(re.findall(r"<svg[^>]*>(.*?)</svg>", figure, re.DOTALL))  # lines, and the axis beside them
    drawn = re.sub(r"<rect.*?</rect>", "", drawn, flags=re.DOTALL)  # what a pointer shows on the site
    title = re.search(r'<svg[^>]* aria-label="(.*?)"', figure)
    assert title
    entries = []
    for number, (css, code) in enumerate(KEY.findall(figure)):
        x, y = LEFT + number % 2 * COLUMN, HEIGHT + 18 + number // 2 * ROW
        mark = f'<path class="p" d="M{x} {y - 4}h0"/>'
        entries.append(f'<g class="{css}">{mark}<text x="{x + 10}" y="{y}" font-family="monospace">{code}</text></g>')
    height = HEIGHT + 4 + ROW * ((len(entries) + 1) // 2)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{title[1]}">'
    return standalone(f"{head}{drawn}{''.join(entries)}</svg>")
