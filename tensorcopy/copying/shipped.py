"""The campaign that comes with the package: copies and conversions of a tensor over torch releases."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from tensorcopy import campaign
from tensorcopy.campaign import Campaign
from tensorcopy.releases import interpreters, release_table
from tensorcopy.results import suite_specs
from tensorcopy.results.cases import Case, case_of


@cache
def shipped() -> Campaign:
    """Return the campaign, without what a tensorcopy.toml adds."""
    specs = suite_specs.read(interpreters.OWN_SUITES / "suites.toml")
    quick = "|".join(re.escape(spec.label) for spec in specs.rows.values() if spec.quick)
    return Campaign(
        name="tensorcopy",
        title="How do I copy a tensor?",
        folder=interpreters.CHECKOUT,
        releases=release_table.load(),
        table=release_table.TABLE,
        suites=interpreters.OWN_SUITES,
        specs=specs,
        pins_numpy=True,
        is_shipped=True,
        observers=("tensorcopy.copying.inside.conformance",),
        profiler="tensorcopy.copying.inside.profiler",
        pages="tensorcopy.copying.pages",
        measured=("benchmarks/", "tensorcopy/", "asv.conf.json", "pyproject.toml"),
        quick=rf"^({quick})\.",
        memory=r"^memory\.",
    )


@cache
def memory_case(metric: str, method: str, device: str) -> Case:
    """Return the case that counts bytes or allocations of a method, for an input of 4 MiB on a device."""
    (spec,) = (spec for spec in shipped().specs.rows.values() if spec.metric == metric)
    return case_of(spec, {"method": method, "numel": str(2**20), "device": device})


def of_folder(folder: Path) -> Campaign:
    """Return the campaign that a folder's tensorcopy.toml declares, or this one. Raises TensorcopyError for an invalid file."""
    return campaign.read(folder, shipped())
