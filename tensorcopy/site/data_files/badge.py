"""The badge: which copy to use, as an SVG. Pure."""

from __future__ import annotations

from xml.etree import ElementTree

from tensorcopy.site.model.machine import Machine

LABEL = "tensorcopy"
CHARACTER = 6.6  # width of a letter
NOTHING = "nothing measured yet"


def badge(message: str) -> str:
    """Return a badge with the label and a message."""
    left, right = (round(len(text) * CHARACTER + 12) for text in (LABEL, message))
    size = {"width": str(left + right), "height": "20", "role": "img", "aria-label": f"{LABEL}: {message}"}
    root = ElementTree.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", **size})
    for begin, width, colour in ((0, left, "#44484f"), (left, right, "#0b6e4f")):
        ElementTree.SubElement(root, "rect", {"x": str(begin), "width": str(width), "height": "20", "fill": colour})
    letters = {"y": "14", "fill": "#fff", "font-family": "Verdana,sans-serif", "font-size": "11", "text-anchor": "middle"}
    for middle, text in ((left / 2, LABEL), (left + right / 2, message)):
        ElementTree.SubElement(root, "text", {"x": f"{middle:g}", **letters}).text = text
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def message(machine: Machine | None) -> str:
    """Return the best copy's code with its release."""
    if machine is None:
        return NOTHING
    codes = [machine.code(table.methods[row], machine.device) for table, row in machine.winners(machine.device) if table.group == "copy"]
    return f"{codes[0]} on torch {machine.newest.version}" if codes else NOTHING
