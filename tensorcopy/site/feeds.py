"""The Atom feeds of changes, and of the slowdowns that the newest release brought (RFC 4287). Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple
from xml.etree import ElementTree

from tensorcopy import __version__
from tensorcopy.judge.case_history import Age
from tensorcopy.judge.groups import by_age
from tensorcopy.numbers import counted
from tensorcopy.report.sentences import acknowledged_text, against_earlier, owner_noun, step_size
from tensorcopy.results.suite_specs import SECONDS
from tensorcopy.site import addresses
from tensorcopy.site.content import Content, MachineChange, changes_of
from tensorcopy.site.page import circumstances, environment_text
from tensorcopy.worker.devices import DEVICES

ATOM = "http://www.w3.org/2005/Atom"


class Entry(NamedTuple):
    """An entry of a feed; `day` is that of the finding, not the release's."""

    key: tuple[str, ...]
    device: str
    day: str
    title: str
    address: str
    summary: str


def feeds(content: Content) -> Iterator[tuple[str, str]]:
    """Yield the address and the text of each feed: all changes, and the slowdowns with the newest release."""
    changes = [change for machine in content.machines for change in changes_of(content, machine)]
    changes.sort(key=lambda change: DEVICES.index(change.change.group.device))  # of one day, those of the CPU first
    changes.sort(key=lambda change: (change.found, change.date), reverse=True)
    yield addresses.FEED, _feed(content, addresses.FEED, "changes", addresses.HISTORIES, [_change(change) for change in changes])
    yield addresses.NEW_FEED, _feed(content, addresses.NEW_FEED, "slowdowns", addresses.REGRESSIONS, [*_new(content)])


def _change(change: MachineChange) -> Entry:
    group = change.change.group
    kind = "small" if group.small else "large"
    largest = "; ".join(f"{change.machine.case_code(case)}, {circumstances(case)} {size}" for case, size, _ in change.largest)
    return Entry(
        (
            change.series.machine,
            change.series.environment,
            change.release,
            change.change.verdict.value,
            group.module,
            group.device,
            kind,
            *filter(None, [change.change.against, change.change.only_on]),
        ),
        group.device,
        change.found,
        f"torch {change.release} on {group.device}: {change.text_without_device}",
        change.comparison_address,
        f"{change.series.newest.hardware(group.device)} ({change.series.machine}), {environment_text(change.series.environment)}: "
        f"{change.text}; largest: {largest}",
    )


def _new(content: Content) -> Iterator[Entry]:
    """Yield an entry for each device on which the newest release brought slowdowns.

    A reader shows it once: its id has the device and the release alone, and its day is that of the first launch that timed the cases.
    """
    for results in content.devices:
        new = by_age(results.regressions).get(Age.NEW, [])
        if not new:
            continue
        sizes = [step_size(step, SECONDS, within=True) for each in new if (step := each.slowed_most.latest)]
        history, device = new[0].worst.history, results.device
        before, after = history.sides(new[0].worst.newest)
        slower = f"{counted(len(new), owner_noun(results.standings))} slower in {counted(sum(len(each.standings) for each in new), 'case')}"
        methods = [
            f"{results.machine.case_code(each.worst.history.case)}: {size}"
            f" in {counted(len(each.standings), 'case')}{acknowledged_text(each)}"
            for each, size in zip(new, sizes)
        ]
        yield Entry(
            ("new", device, after.version),
            device,
            after.first_day_of(standing.history.case for of_method in new for standing in of_method.standings),
            f"torch {after.version} on {device}: {slower}, up to {sizes[0]}",
            content.comparison_address(before, after) or addresses.REGRESSIONS,
            f"{results.hardware} ({results.machine.name}), against {before.version}; largest: {'; '.join(methods)}. "
            f"{against_earlier(new)}".rstrip(),
        )


def _feed(content: Content, address: str, what: str, page: str, entries: Sequence[Entry]) -> str:
    """Return a feed as XML. Its links are absolute where the site's address is known: a reader may know no other."""

    def link(target: str) -> str:
        return content.web.absolute(target) or target

    ElementTree.register_namespace("", ATOM)
    root = ElementTree.Element(f"{{{ATOM}}}feed")
    _add(root, "id", _id(content, what))
    _add(root, "title", f"{content.site_name}: performance {what} by torch release")
    _add(root, "updated", f"{max((entry.day for entry in entries), default=content.day)}T00:00:00Z")
    _add(root, "link", rel="self", href=link(address))
    _add(root, "link", rel="alternate", href=link(page))
    _add(_add(root, "author"), "name", content.site_name)
    _add(root, "generator", "tensorcopy", version=__version__)
    for each in entries:
        entry = _add(root, "entry")
        _add(entry, "id", _id(content, *each.key))
        _add(entry, "title", each.title)
        _add(entry, "updated", f"{each.day}T00:00:00Z")
        _add(entry, "link", rel="alternate", href=link(each.address))
        _add(entry, "category", term=each.device)
        _add(entry, "summary", each.summary)
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
