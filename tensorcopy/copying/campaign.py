"""The campaign that comes with the package: copies and conversions of a tensor over torch releases."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from tensorcopy import campaign
from tensorcopy.campaign import Campaign
from tensorcopy.releases import interpreters, release_table
from tensorcopy.results import suite_specs


@cache
def shipped() -> Campaign:
    """Return the campaign, without what a tensorcopy.toml adds."""
    quick = "|".join(re.escape(spec.label) for spec in suite_specs.table().values() if spec.quick)
    return Campaign(
        name="tensorcopy",
        title="How do I copy a tensor?",
        folder=interpreters.CHECKOUT,
        releases=release_table.load(),
        table=release_table.TABLE,
        suites=interpreters.own_suites(),
        pins_numpy=True,
        is_shipped=True,
        quick=rf"^({quick})\.",
        memory=r"^memory\.",
    )


def of_folder(folder: Path) -> Campaign:
    """Return the campaign of a folder: the one that its tensorcopy.toml declares, or this one with what the file adds.

    Raises TensorcopyError for an invalid file.
    """
    return campaign.read(folder, shipped())
