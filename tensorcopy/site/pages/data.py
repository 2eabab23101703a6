"""Data beside the pages: times as CSV and JSON, the Atom feed of changes, the badge. Pure."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from tensorcopy import __version__
from tensorcopy.analysis.comparisons import named, version
from tensorcopy.results import baseline
from tensorcopy.results.files import SCHEMA
from tensorcopy.results.load import Case, Result
from tensorcopy.site import addresses
from tensorcopy.site.model.content import Content
from tensorcopy.site.model.result_series import Series
from tensorcopy.site.page import File, Page
from tensorcopy.site.pages import landing

DATA_SCHEMA = Path(__file__).parents[1] / "data.schema.json"
COLUMNS = ("machine", "environment", "torch", "case", "device", "median", "low", "high", "passes", "floor")
ATOM = "http://www.w3.org/2005/Atom"
LABEL = "tensorcopy"
CHARACTER = 6.6  # units wide, of the badge's letters
TIMES = "seconds per call"


def pages(content: Content) -> Iterator[Page | File]:
    """The page of data and what it leads to."""
    files = [
        (addresses.FEED, "Atom: every confirmed change in every history, slower and faster"),
        (addresses.BADGE, "what to use, as an SVG"),
    ]
    for machine in content.machines:
        name = f"data/{addresses.part(machine.name)}"
        files += [
            (f"{name}.csv", f"every time on {machine.name}"),
            (f"{name}.json", f"the same with ledgers, observations and counts, on {machine.name}"),
        ]
        yield File(f"{name}.csv", times(machine.results))
        yield File(
            f"{name}.json", json.dumps(_document(machine.results), ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"
        )
    if content.card:
        files.append((addresses.CARD_DATA, "the report card"))
    for address, schema, what in (
        (addresses.DATA_SCHEMA, DATA_SCHEMA, "a machine’s JSON"),
        (addresses.SCHEMA, SCHEMA, "a file of results/"),
    ):
        files.append((address, f"JSON schema of {what}"))
        yield File(address, schema.read_text(encoding="utf-8"))
    yield File(addresses.FEED, feed(content))
    yield File(addresses.BADGE, badge(_advice(content)))
    yield Page(addresses.DATA, "data.html", "Data", {"files": files, "badge": f"{LABEL}: {_advice(content)}"})


def times(results: Sequence[Result], cases: Sequence[Case] | None = None) -> str:
    """A line for each time, in seconds; an empty field is not known."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for result in results:
        for case in cases if cases is not None else result.timings:
            timing = result.timings.get(case)
            if timing:
                floor = baseline.timing(result, case)
                numbers = [
                    _six(timing.median),
                    _six(timing.low),
                    _six(timing.high),
                    len(timing.judged),
                    _six(floor.median) if floor else "",
                ]
                writer.writerow([result.machine, result.environment, version(result), named(case), case.device, *numbers])
    return text.getvalue()


def feed(content: Content) -> str:
    """Atom (RFC 4287): an entry for each confirmed move of each series that is torch's, the newest first, dated by its release."""
    ElementTree.register_namespace("", ATOM)
    root = ElementTree.Element(f"{{{ATOM}}}feed")
    entries = [
        (release_change, one)
        for one in content.series
        for release_change in landing.changes_by_release(content, one)
        if release_change["confirmed"] and not release_change["machine_changes"]
    ]
    entries.sort(key=lambda entry: entry[0]["date"], reverse=True)
    newest = max([content.day, *(release_change["date"] for release_change, _ in entries[:1])])
    _add(root, "id", "urn:tensorcopy:changes")
    _add(root, "title", "tensorcopy: what torch releases changed")
    _add(root, "updated", f"{newest}T00:00:00Z")
    _add(root, "link", rel="self", href=addresses.FEED)
    _add(root, "link", rel="alternate", href=addresses.HISTORIES)
    _add(_add(root, "author"), "name", "tensorcopy")
    _add(root, "generator", "tensorcopy", version=__version__)
    for release_change, one in entries:
        entry = _add(root, "entry")
        _add(entry, "id", ":".join(["urn:tensorcopy", *(addresses.part(part) for part in _name(release_change, one))]))
        _add(entry, "title", f"torch {release_change['release']}: {release_change['text']}")
        _add(entry, "updated", f"{release_change['date']}T00:00:00Z")
        _add(entry, "link", rel="alternate", href=release_change["address"])
        _add(
            entry,
            "summary",
            f"{one.machine}, {one.environment}: {release_change['text']}; most of all {named(release_change['most'])}, {100 * (release_change['most_ratio'] - 1):+.1f} %",
        )
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def badge(text: str) -> str:
    """A label and what to use, as an SVG."""
    left, right = (round(len(part) * CHARACTER + 12) for part in (LABEL, text))
    whole = {"width": str(left + right), "height": "20", "role": "img", "aria-label": f"{LABEL}: {text}"}
    root = ElementTree.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", **whole})
    for begin, width, colour in ((0, left, "#44484f"), (left, right, "#0b6e4f")):
        ElementTree.SubElement(root, "rect", {"x": str(begin), "width": str(width), "height": "20", "fill": colour})
    letters = {"y": "14", "fill": "#fff", "font-family": "Verdana,sans-serif", "font-size": "11", "text-anchor": "middle"}
    for middle, part in ((left / 2, LABEL), (left + right / 2, text)):
        ElementTree.SubElement(root, "text", {"x": f"{middle:g}", **letters}).text = part
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _name(release_change: dict[str, Any], one: Series) -> list[str]:
    return [
        one.machine,
        one.environment,
        release_change["release"],
        "slower" if release_change["slower"] else "faster",
        release_change["device"],
        "small" if release_change["small"] else "large",
    ]


def _advice(content: Content) -> str:
    if content.machine is None:
        return "nothing measured yet"
    device = content.machine.device
    codes = [content.machine.code(table.methods[row], device) for table, row in content.machine.winners(device) if table.group == "copy"]
    return f"{codes[0]} on torch {content.machine.newest.version}" if codes else "nothing measured yet"


def _document(results: Sequence[Result]) -> dict[str, Any]:
    return {"unit": TIMES, "results": [_result(result) for result in results]}


def _result(result: Result) -> dict[str, Any]:
    rows = [
        {
            "suite": case.suite,
            "parameters": dict(case.parameters),
            "median": _six(timing.median),
            "low": _six(timing.low),
            "high": _six(timing.high),
            "passes": len(timing.judged),
        }
        for case, timing in result.timings.items()
    ]
    counts = [{"suite": case.suite, "parameters": dict(case.parameters), "count": value} for case, value in result.counts.items()]
    return {
        "machine": result.machine,
        "environment": result.environment,
        "torch": version(result),
        "ledger": result.provenance,
        "methods": result.methods,
        "article": result.article,
        "times": rows,
        "counts": counts,
    }


def _six(number: float) -> float:
    return float(f"{number:.6g}")


def _add(parent: ElementTree.Element, name: str, text: str = "", **attributes: str) -> ElementTree.Element:
    element = ElementTree.SubElement(parent, f"{{{ATOM}}}{name}", attributes)
    element.text = text or None
    return element
