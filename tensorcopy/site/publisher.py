"""The site that `asv publish` writes, from a folder of launches."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from tensorcopy import configuration
from tensorcopy.campaign import Campaign
from tensorcopy.errors import TensorcopyError
from tensorcopy.results import function_profiles, reader
from tensorcopy.results.reader import Results
from tensorcopy.site import addresses


def publish(campaign: Campaign, results_dir: Path, html_dir: Path) -> tuple[Sequence[TensorcopyError], Sequence[TensorcopyError]]:
    """Write every page; return the problems of results that could not be read, and warnings.

    A warning is about a folder without a launch, a machine that shares its name with another one, or has results that do not count, or a
    row of tensorcopy.toml that matches no case.
    """
    from tensorcopy.site import writer

    loaded = reader.load_results(results_dir, campaign.releases)
    web = addresses.WebAddresses.of_checkout(*configuration.web_addresses(), os.environ)
    problems = unreadable(loaded)
    writer.write(campaign, loaded.results, documentation(), html_dir, web, problems=(*problems, *loaded.superseded))
    if not loaded.results:
        nothing = TensorcopyError(
            "the site has no time of any release",
            got=f"no launch in {results_dir}",
            allowed="a folder of launches",
            next="tensorcopy measure; or correct results_dir in asv.conf.json",
        )
        return problems, [nothing]
    return problems, [*loaded.warnings, *campaign.rules.unmatched(reader.cases(loaded.results))]


def unreadable(loaded: Results) -> tuple[TensorcopyError, ...]:
    """Return the problems of launches and of profiles that could not be read: with them a site ends in exit code 2."""
    return (*loaded.problems, *function_profiles.damaged(loaded.results))


def documentation(checkout: Path = Path()) -> dict[str, str]:
    """Return the Markdown of docs/, by file name without ending."""
    return {path.name.removesuffix(".md"): path.read_text(encoding="utf-8") for path in sorted((checkout / "docs").glob("*.md"))}
