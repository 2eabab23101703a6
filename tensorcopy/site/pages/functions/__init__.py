"""The functions that calls spend their instructions in: of one call over the releases, and behind each change."""

from __future__ import annotations

from collections.abc import Iterator

from tensorcopy.site.model.content import Content
from tensorcopy.site.model.machine import Machine
from tensorcopy.site.page import File, Page
from tensorcopy.site.pages.functions import causes, nanoseconds


def pages(content: Content) -> Iterator[Page | File]:
    """Yield the page about one call over the releases."""
    yield from nanoseconds.pages(content)


def machine_pages(content: Content, machine: Machine) -> Iterator[Page | File]:
    """Yield a page and a script for each change of a machine whose functions were counted."""
    yield from causes.machine_pages(content, machine)
