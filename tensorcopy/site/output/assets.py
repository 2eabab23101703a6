"""The stylesheets and scripts of the site: our own, and uPlot, which draws the interactive charts.

uPlot comes from the distribution uplot-python, whose Python half is not imported.
"""

from __future__ import annotations

import re
import shutil
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

STATIC = Path(__file__).parents[1] / "static"
STYLESHEETS = ("tensorcopy.css",)
ICON, MISSING = "icon.svg", "404.html"
CHART_SCRIPTS = ("history-data.js", "history-chart.js")
SCRIPTS = ("tensorcopy.js", "landing.js", *CHART_SCRIPTS, "not-found.js")
CHART = ("controls", "axes", "drawing", "flags", "reading", "chart")
PAGE = ("theme", "search", "tables", "plots", "pairs", "menu", "start")
PARTS = {  # the files that become one script
    "history-chart.js": tuple(f"history-{part}.js" for part in CHART),
    "tensorcopy.js": tuple(f"page-{part}.js" for part in PAGE),
}
MENUS = "menu.js"  # has texts of the pages, and is written with them
UPLOT, UPLOT_CSS, LICENSES = "uplot.js", "uplot.css", "licenses.txt"
NAMES = (*STYLESHEETS, ICON, MISSING, MENUS, *SCRIPTS, UPLOT, UPLOT_CSS, LICENSES)
PERMISSION = "Permission is hereby granted"  # the MIT terms begin so


def write(directory: Path) -> None:
    """Write every stylesheet and script, the icon, the page of missing addresses, and the licences of others' code."""
    for name in (*STYLESHEETS, ICON, MISSING):
        shutil.copyfile(STATIC / name, directory / name)
    for name in SCRIPTS:
        (directory / name).write_text(source(name), encoding="utf-8")
    package = distribution("uplot-python")
    code = _text(package, "uplot/static/uPlot.iife.js")
    (directory / UPLOT).write_text(code, encoding="utf-8")
    (directory / UPLOT_CSS).write_text(_text(package, "uplot/static/uPlot.min.css"), encoding="utf-8")
    (directory / LICENSES).write_text(_uplot_license(code.partition("*/")[0]), encoding="utf-8")


def _uplot_license(banner: str) -> str:
    """Return uPlot's name, version, copyright and terms.

    The banner of its script has the first three. The MIT terms are those of our own licence; the package's is that of its Python half.
    """
    version = re.search(r"\(v([\d.]+)\)", banner)
    copyright_line = re.search(r"Copyright.*", banner)
    terms = _own_license().partition(PERMISSION)
    name = f"uPlot {version[1] if version else ''}, https://github.com/leeoniya/uPlot\nMIT License"
    return f"{name}\n\n{copyright_line[0] if copyright_line else ''}\n\n{terms[1]}{terms[2]}"


def source(name: str) -> str:
    """Return the source of a script, whose parts are joined."""
    return "\n".join((STATIC / part).read_text(encoding="utf-8") for part in PARTS.get(name, (name,)))


def _own_license() -> str:
    """Return the licence of tensorcopy, also in a checkout that is not installed."""
    try:
        return str(distribution("tensorcopy").read_text("licenses/LICENSE"))
    except PackageNotFoundError:
        return (STATIC.parents[2] / "LICENSE").read_text(encoding="utf-8")


def _text(package: Distribution, name: str) -> str:
    return Path(str(package.locate_file(name))).read_text(encoding="utf-8")
