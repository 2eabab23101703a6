"""The campaign that comes with the package: copies and conversions of a tensor over torch releases."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import msgspec

from tensorcopy import campaign, files
from tensorcopy.campaign import Campaign
from tensorcopy.releases import interpreters, release_table
from tensorcopy.results import suite_specs
from tensorcopy.worker.operations import BASELINE, OWN_ONLY

CODES = Path(__file__).with_name("codes.json")
OBSERVER, PROFILER = "tensorcopy.copying.inside.conformance", "tensorcopy.copying.inside.profiler"


@cache
def codes() -> dict[str, str]:
    """Return the expression of each method of this package by its name, without torch. Raises TensorcopyError for a damaged file."""
    try:
        return msgspec.json.decode(files.read_bytes(CODES), type=dict[str, str])
    except (OSError, ValueError, RecursionError) as error:
        raise files.damaged(CODES, error, "the file of the package") from error


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
        methods=frozenset([*codes(), BASELINE]),
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
