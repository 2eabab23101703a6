"""Series are in order, pairs are complete, and the plot of a case marks gaps and changes of the machine."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date

from tensorcopy.releases.release_table import Release
from tensorcopy.site import addresses, plots
from tensorcopy.site.content import compared_pairs
from tensorcopy.site.machine import machines, series_of_results
from tests.conftest import NEW, OLD, measured

NEXT = Release("2.1.0", date(2022, 1, 1), "c" * 40, ("3.9", "3.12"), "1.26.4", "https://example.org/3")
RELEASES = (OLD, NEW, NEXT)
TIMES = {("a", 2**10): 1e-6}


def pair_names(*results) -> list[str]:
    pairs = compared_pairs(series_of_results(results))
    return [addresses.of_comparison(before, after) for before, after in pairs]


def test_series_are_in_order():
    """The machine that measured last comes first, then the newest Python; releases are in the order of the table."""
    shipped = [
        measured(release, TIMES, started="2026-11-20T00:00:00+00:00", python=python) for release in RELEASES for python in ("3.9", "3.11")
    ]
    here = measured(NEW, TIMES, machine="here", started="2026-11-21T00:00:00+00:00")
    ordered = series_of_results([*reversed(shipped), here])
    environments = [(series.machine, series.environment) for series in ordered]
    assert environments == [("here", "py3.11-cuda"), ("box", "py3.11-cuda"), ("box", "py3.9-cuda")]
    assert [release.version for release in ordered[1].releases] == ["1.0.0", "2.0.0", "2.1.0"]


def test_each_release_is_compared_with_the_one_before_and_with_the_newest():
    """Each pair occurs once, the earlier release first."""
    names = pair_names(*(measured(release, TIMES) for release in RELEASES))
    assert sorted(names) == [f"compare/box/py3.11-cuda/{pair}.html" for pair in ("1.0.0..2.0.0", "1.0.0..2.1.0", "2.0.0..2.1.0")]


def test_an_older_python_is_compared_with_its_newest_release_where_the_newer_one_has_none_newer():
    """What an upgrade to a release changes that is not the newest is no question; its neighbours are compared all the same."""
    newer = [measured(release, TIMES) for release in (NEW, NEXT)]
    older = {
        releases: pair_names(*newer, *(measured(release, TIMES, python="3.9") for release in releases))
        for releases in (RELEASES, (OLD, NEW))
    }
    assert "compare/box/py3.9-cuda/1.0.0..2.1.0.html" in older[RELEASES]
    assert [name for name in older[OLD, NEW] if "py3.9-cuda/" in name] == ["compare/box/py3.9-cuda/1.0.0..2.0.0.html"]


def test_releases_are_compared_on_one_python_build_and_machine():
    """So that no page attributes a change of these to torch; `tensorcopy compare` compares others."""
    environments = [(python, build) for python in ("3.9", "3.11") for build in ("cpu", "cuda")]
    results = [
        replace(measured(release, TIMES, python=python), build=build, environment=f"py{python}-{build}")
        for python, build in environments
        for release in (NEW, NEXT)
    ]
    results += [measured(release, TIMES, machine="other", started="2027-01-01T00:00:00+00:00") for release in (NEW, NEXT)]
    folders = [f"box/py{python}-{build}" for python, build in environments] + ["other/py3.11-cuda"]
    assert sorted(pair_names(*results)) == sorted(f"compare/{folder}/2.0.0..2.1.0.html" for folder in folders)


def test_a_gap_is_marked():
    """A release without the case is not drawn as zero; neighbouring ones have one label, in their middle."""
    last = replace(NEXT, version="2.2.0", sha="d" * 40)
    without = {("b", 2**10): 1e-6}
    (machine,) = machines([measured(OLD, TIMES), measured(NEW, without), measured(NEXT, without), measured(last, TIMES)])
    case = next(case for case in machine.cases if case["method"] == "a")
    svg = plots.of_case(machine, case, lambda change: "")
    assert re.findall(r'<text class="gap" [^>]* y="(\d+)">([^<]*)<', svg) == [("261", "not measured")]
    assert "M104 107M418 107" in svg  # the values before and after, without a line between them
