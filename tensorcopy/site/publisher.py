"""The site as part of `asv publish`; asv.conf.json lists this module as a plugin."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tensorcopy import configuration
from tensorcopy.asv_plugin import publisher
from tensorcopy.errors import TensorcopyError
from tensorcopy.results import reader
from tensorcopy.site import addresses
from tensorcopy.worker import declarations


def publish(results_dir: Path, html_dir: Path) -> tuple[TensorcopyError, ...]:
    """Write every page and return the problems of results that could not be read.

    Logs a warning for each machine that shares its name with another one.
    """
    from tensorcopy.site import writer  # asv imports its plugins for every command; only this one needs the pages

    loaded, card = reader.load_results(results_dir), accuracy_report()
    web = addresses.WebAddresses.of_checkout(*configuration.web_addresses(), os.environ)
    writer.write(loaded.results, card, documentation(), html_dir, web, problems=loaded.problems, project=declarations.project())
    publisher.warn(loaded.warnings)
    return loaded.problems


def accuracy_report(checkout: Path = Path()) -> dict[str, Any] | None:
    """Return the accuracy report; None where `docs.tools.accuracy` has written none."""
    path = checkout / "docs" / "accuracy.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def documentation(checkout: Path = Path()) -> dict[str, str]:
    """Return the Markdown of docs/ and of the changelog, by file name without ending."""
    files = [*sorted((checkout / "docs").glob("*.md")), *checkout.glob("CHANGELOG.md")]
    return {path.name.removesuffix(".md").lower(): path.read_text(encoding="utf-8") for path in files}


publisher.register(publish)
