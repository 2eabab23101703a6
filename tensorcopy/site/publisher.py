"""The site as part of `asv publish`; asv.conf.json lists this module as a plugin."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from tensorcopy import configuration
from tensorcopy.analysis import comparisons
from tensorcopy.asv_plugin import publisher
from tensorcopy.errors import TensorcopyError
from tensorcopy.results import reader
from tensorcopy.site import addresses
from tensorcopy.worker import declarations, files


def publish(results_dir: Path, html_dir: Path) -> tuple[TensorcopyError, ...]:
    """Write every page and return the problems of results that could not be read.

    Logs a warning for each machine that shares its name with another one, or has results that do not count, and for each row of
    tensorcopy.toml that matches no case.
    """
    from tensorcopy.site import writer  # asv imports its plugins for every command; only this one needs the pages

    loaded, card = reader.load_results(results_dir), accuracy_report()
    web = addresses.WebAddresses.of_checkout(*configuration.web_addresses(), os.environ)
    problems = (*loaded.problems, *loaded.superseded)
    writer.write(loaded.results, card, documentation(), html_dir, web, problems=problems, project=declarations.project())
    publisher.warn([*loaded.warnings, *comparisons.unmatched_rows(reader.cases(loaded.results))])
    return loaded.problems


class AccuracyRow(Struct):
    """What was asked of the verdicts, with the goal and the answer."""

    name: str
    goal: str
    value: str


class AccuracyReport(Struct):
    """The accuracy report: `docs.tools.accuracy` writes it, `pages.data` shows it."""

    machine: str
    launches: int
    day: str
    rows: list[AccuracyRow]


def accuracy_report(checkout: Path = Path()) -> dict[str, Any] | None:
    """Return the accuracy report; None where `docs.tools.accuracy` has written none. Raises TensorcopyError for a damaged one."""
    path = checkout / "docs" / "accuracy.json"
    try:
        report: dict[str, Any] = msgspec.to_builtins(msgspec.json.decode(files.read_text(path), type=AccuracyReport))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise files.damaged(path, error, "a file as docs.tools.accuracy writes it") from error
    return report


def documentation(checkout: Path = Path()) -> dict[str, str]:
    """Return the Markdown of docs/ and of the changelog, by file name without ending."""
    files = [*sorted((checkout / "docs").glob("*.md")), *checkout.glob("CHANGELOG.md")]
    return {path.name.removesuffix(".md").lower(): path.read_text(encoding="utf-8") for path in files}


publisher.register(publish)
