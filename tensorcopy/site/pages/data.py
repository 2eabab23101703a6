"""The page of data files, and the files that belong to no other page."""

from __future__ import annotations

from collections.abc import Iterator

from tensorcopy.results.schemas import RESULT
from tensorcopy.site import addresses
from tensorcopy.site.data_files import BADGE_LABEL, DATA_SCHEMA, badge, badge_message, machine_json, times_csv
from tensorcopy.site.feeds import feeds
from tensorcopy.site.model.content import Content
from tensorcopy.site.model.machine import Machine
from tensorcopy.site.page import File, Page


def pages(content: Content) -> Iterator[Page | File]:
    """Yield the data files of the site, and the page that lists all of them."""
    badge_text = badge_message(content.machine)
    for address, text in feeds(content):
        yield File(address, text)
    if not content.project:
        yield File(addresses.BADGE, badge(badge_text))
    yield File(addresses.DATA_SCHEMA, DATA_SCHEMA.read_text(encoding="utf-8"))
    yield File(addresses.SCHEMA, RESULT.read_text(encoding="utf-8"))
    yield Page(addresses.DATA, "data.html", "Data", {"files": _listed(content), "badge": f"{BADGE_LABEL}: {badge_text}"})


def machine_pages(content: Content, machine: Machine) -> Iterator[File]:
    """Yield the data files of a machine."""
    yield File(addresses.of_machine_data(machine.name, "csv"), times_csv(machine))
    yield File(addresses.of_machine_data(machine.name, "json"), machine_json(machine.results))


def _listed(content: Content) -> list[tuple[str, str]]:
    """Return the address and the description of each file."""
    files = [
        (addresses.FEED, "Atom feed: every confirmed change, slower or faster"),
        (addresses.SLOWDOWNS, "Atom feed: confirmed slowdowns only"),
        *([] if content.project else [(addresses.BADGE, "which copy to use, as an SVG")]),
    ]
    for machine in content.machines:
        files += [
            (addresses.of_machine_data(machine.name, "csv"), f"all times on {machine.name}"),
            (addresses.of_machine_data(machine.name, "json"), f"all times, environments, observations and counts on {machine.name}"),
        ]
    if content.card:
        files.append((addresses.ACCURACY_DATA, "accuracy report"))
    return [
        *files,
        (addresses.DATA_SCHEMA, "JSON schema of a machine’s JSON"),
        (addresses.SCHEMA, "JSON schema of a file in results/"),
    ]
