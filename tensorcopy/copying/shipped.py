"""The campaign that comes with the package: copies and conversions of a tensor over torch releases."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

from tensorcopy import campaign
from tensorcopy.campaign import Campaign
from tensorcopy.releases import interpreters, release_table
from tensorcopy.report import words
from tensorcopy.results import suite_specs
from tensorcopy.worker.operations import BASELINE, OWN_ONLY

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
        methods=frozenset([*words.codes(), BASELINE]),
    )


def of_folder(folder: Path) -> Campaign:
    """Return the campaign of a folder: the one that its tensorcopy.toml declares, or this one with what the file adds.

    Operations are observed and profiled as this campaign's methods are. Raises TensorcopyError for an invalid file.
    """
    declared = campaign.read(folder, shipped(), shipped().methods)
    if declared.is_shipped or not declared.operations:
        return declared
    names = "|".join(operation.name for operation in declared.operations)
    return replace(declared, observers=(OBSERVER, OWN_ONLY), profiler=PROFILER, profiled=f"^({names}) ")
