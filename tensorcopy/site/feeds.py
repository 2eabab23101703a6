"""The Atom feeds of changes and of slowdowns (RFC 4287). Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree import ElementTree

from tensorcopy import __version__
from tensorcopy.analysis.comparisons import case_name
from tensorcopy.numbers import signed_percent
from tensorcopy.site import addresses
from tensorcopy.site.content import Content, MachineChange, changes_of

ATOM = "http://www.w3.org/2005/Atom"


def feeds(content: Content) -> Iterator[tuple[str, str]]:
    """Yield the address and the text of each feed: all changes, and the slowdowns among them."""
    changes = [change for machine in content.machines for change in changes_of(content, machine)]
    changes.sort(key=lambda change: (change.found, change.date), reverse=True)
    yield addresses.FEED, _feed(content, addresses.FEED, "changes", changes)
    yield addresses.SLOWDOWNS, _feed(content, addresses.SLOWDOWNS, "slowdowns", [change for change in changes if change.slower])


def _feed(content: Content, address: str, what: str, changes: Sequence[MachineChange]) -> str:
    """Return a feed as XML. Its links are absolute where the site's address is known: a reader may know no other."""

    def link(target: str) -> str:
        return content.web.absolute(target) or target

    ElementTree.register_namespace("", ATOM)
    root = ElementTree.Element(f"{{{ATOM}}}feed")
    _add(root, "id", _id(content, what))
    _add(root, "title", f"{content.site_name}: performance {what} by torch release")
    _add(root, "updated", f"{max((change.found for change in changes), default=content.day)}T00:00:00Z")
    _add(root, "link", rel="self", href=link(address))
    _add(root, "link", rel="alternate", href=link(addresses.HISTORIES))
    _add(_add(root, "author"), "name", content.site_name)
    _add(root, "generator", "tensorcopy", version=__version__)
    for change in changes:
        group = change.change.group
        size, direction = "small" if group.small else "large", "slower" if change.slower else "faster"
        largest = ", ".join(f"{case_name(case)} {signed_percent(ratio)}" for case, ratio, _ in change.largest)
        entry = _add(root, "entry")
        of_change = (change.series.machine, change.environment, change.release, direction, group.module, group.device, size)
        _add(entry, "id", _id(content, *of_change))
        _add(entry, "title", f"torch {change.release}: {change.text}")
        _add(entry, "updated", f"{change.found}T00:00:00Z")
        _add(entry, "link", rel="alternate", href=link(change.comparison_address))
        _add(entry, "summary", f"{change.series.machine}, {change.environment}: {change.text}; largest: {largest}")
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _id(content: Content, *parts: str) -> str:
    """Return an id that no other repository's feed has, and that stays: a reader would show a changed one again."""
    names = list(map(addresses.slug, parts))
    owner = content.web.source or content.web.site
    return "/".join([owner.rstrip("/"), "feed", *names]) if owner else ":".join(["urn:tensorcopy", *names])


def _add(parent: ElementTree.Element, name: str, text: str = "", **attributes: str) -> ElementTree.Element:
    element = ElementTree.SubElement(parent, f"{{{ATOM}}}{name}", attributes)
    element.text = text or None
    return element
