"""The campaign that comes with the package: copies and conversions of a tensor over torch releases."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from tensorcopy import campaign
from tensorcopy.campaign import Campaign
from tensorcopy.releases import interpreters, release_table
from tensorcopy.results import suite_specs

OBSERVER, PROFILER = "tensorcopy.copying.inside.conformance", "tensorcopy.copying.inside.profiler"


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
        observers=(OBSERVER,),
        profiler=PROFILER,
        pages="tensorcopy.copying.pages",
        measured=("benchmarks/", "tensorcopy/", "asv.conf.json", "pyproject.toml"),
        quick=rf"^({quick})\.",
        memory=r"^memory\.",
    )


def of_folder(folder: Path) -> Campaign:
    """Return the campaign that a folder's tensorcopy.toml declares, or this one. Raises TensorcopyError for an invalid file."""
    return campaign.read(folder, shipped())
