"""The site as part of `asv publish`; asv.conf.json lists this module as a plugin."""

from __future__ import annotations

import json
from pathlib import Path

from tensorcopy.asv_plugin import publisher
from tensorcopy.errors import TensorcopyError
from tensorcopy.report import report_card
from tensorcopy.results import load


def publish(results_dir: Path, html_dir: Path) -> tuple[TensorcopyError, ...]:
    """Write every page and return the problems of results that could not be read."""
    from tensorcopy.site import render  # asv imports its plugins for every command; only this one needs the pages

    loaded = load.load_results(results_dir)
    card = json.loads(report_card.FILE.read_text(encoding="utf-8")) if report_card.FILE.exists() else None
    render.write(loaded.results, card, documentation(), html_dir)
    return loaded.problems


def documentation(checkout: Path = Path()) -> dict[str, str]:
    """Return the Markdown of docs/ and of the changelog, by file name without ending."""
    files = [*sorted((checkout / "docs").glob("*.md")), *checkout.glob("CHANGELOG.md")]
    return {path.name.removesuffix(".md").lower(): path.read_text(encoding="utf-8") for path in files}


publisher.register(publish)
