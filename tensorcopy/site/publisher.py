"""The site as part of `asv publish`; asv.conf.json lists this module as a plugin."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable
from functools import partial
from pathlib import Path

from tensorcopy.asv_plugin import configuration, publisher
from tensorcopy.errors import TensorcopyError
from tensorcopy.report import accuracy_report
from tensorcopy.results import confirmations
from tensorcopy.results.reading import folder
from tensorcopy.site import web_addresses
from tensorcopy.worker.registry import project


def publish(results_dir: Path, html_dir: Path) -> tuple[TensorcopyError, ...]:
    """Write every page and return the problems of results that could not be read.

    Logs a warning for each machine that shares its name with another one.
    """
    from tensorcopy.site import writer  # asv imports its plugins for every command; only this one needs the pages
    from tensorcopy.site.cache import store
    from tensorcopy.site.cache.sources import NO_SOURCES, Sources

    state, loaded = publisher.read(results_dir)
    card = json.loads(accuracy_report.FILE.read_text(encoding="utf-8")) if accuracy_report.FILE.exists() else None
    stored = confirmations.load(results_dir)
    web = web_addresses.of_checkout(*configuration.web_addresses(), os.environ)
    problems = (*loaded.problems, *stored.problems)
    sources = NO_SOURCES if loaded.warnings else Sources.of(results_dir, loaded.results)  # a warning: one folder decides another's results
    unchanged = partial(_is_unchanged, results_dir, state)
    with store.opened(configuration.publish_cache(), sources, loaded.results, unchanged) as cache:
        writer.write(
            loaded.results,
            card,
            documentation(),
            html_dir,
            confirmations.latest(stored.confirmations),
            web,
            problems=problems,
            project=project.declared(),
            cache=cache,
        )
    publisher.warn(loaded.warnings)
    return problems


def _is_unchanged(results_dir: Path, state: Hashable) -> bool:
    return folder.whole_state(results_dir) == state


def documentation(checkout: Path = Path()) -> dict[str, str]:
    """Return the Markdown of docs/ and of the changelog, by file name without ending."""
    files = [*sorted((checkout / "docs").glob("*.md")), *checkout.glob("CHANGELOG.md")]
    return {path.name.removesuffix(".md").lower(): path.read_text(encoding="utf-8") for path in files}


publisher.register(publish)
