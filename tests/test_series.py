"""Series are in order, pairs are complete, and the plot of a case marks gaps and changes of the machine."""

from __future__ import annotations

from datetime import date

import pytest

from tensorcopy.releases.release_table import Release
from tensorcopy.site import addresses
from tensorcopy.site.charts import charts
from tensorcopy.site.model import result_series
from tensorcopy.site.model.machine import machines
from tests.conftest import NEW, OLD, measured

NEXT = Release("2.1.0", date(2022, 1, 1), "c" * 40, ("3.9", "3.12"), "1.26.4", "https://example.org/3")
RELEASES = (OLD, NEW, NEXT)
TIMES = {("a", 2**10): 1e-6}


@pytest.fixture(autouse=True)
def table(monkeypatch):
    monkeypatch.setattr("tensorcopy.releases.release_table.load", lambda: RELEASES)


def pair_names(*results) -> list[str]:
    pairs = result_series.pairs(result_series.of_results(results, RELEASES))
    return [addresses.of_comparison(before, after) for _, before, after in pairs]


def test_series_are_in_order():
    """The machine that measured last comes first, then the newest Python; releases are in the order of the table."""
    shipped = [
        measured(release, TIMES, started="2026-11-20T00:00:00+00:00", python=python) for release in RELEASES for python in ("3.9", "3.11")
    ]
    here = measured(NEW, TIMES, machine="here", started="2026-11-21T00:00:00+00:00")
    ordered = result_series.of_results([*reversed(shipped), here], RELEASES)
    environments = [(series.machine, series.environment) for series in ordered]
    assert environments == [("here", "py3.11-cuda"), ("box", "py3.11-cuda"), ("box", "py3.9-cuda")]
    assert [release.version for release in ordered[1].releases] == ["1.0.0", "2.0.0", "2.1.0"]


def test_any_two_releases_of_a_series_are_a_pair():
    """Each pair occurs once, the earlier release first."""
    names = pair_names(*(measured(release, TIMES) for release in RELEASES))
    assert sorted(names) == [f"compare/box/py3.11-cuda/{pair}.html" for pair in ("1.0.0..2.0.0", "1.0.0..2.1.0", "2.0.0..2.1.0")]


def test_the_same_release_on_another_python_or_machine_is_a_pair():
    """Two Pythons are compared for all shared releases, two machines for the newest shared one."""
    results = [measured(release, TIMES, python=python) for release in (NEW, NEXT) for python in ("3.9", "3.11")]
    results += [measured(release, TIMES, machine="other", started="2027-01-01T00:00:00+00:00") for release in (OLD, NEW)]
    names = pair_names(*results)
    assert "compare/box/py3.9-cuda..py3.11-cuda/2.0.0.html" in names
    assert "compare/box/py3.9-cuda..py3.11-cuda/2.1.0.html" in names
    assert [name for name in names if "other..box" in name or "box..other" in name] == ["compare/other..box/py3.11-cuda/2.0.0.html"]


def test_the_number_of_pairs_is_limited_but_neighbours_are_always_compared(monkeypatch):
    """The limit does not depend on the number of machines."""
    monkeypatch.setattr(result_series, "MAX_PAIRS", 1)
    names = pair_names(*(measured(release, TIMES, machine=machine) for release in RELEASES for machine in ("a", "b")))
    assert {f"compare/{machine}/py3.11-cuda/{pair}.html" for machine in "ab" for pair in ("1.0.0..2.0.0", "2.0.0..2.1.0")} <= set(names)
    assert len(names) == 2 * 3 + 1  # each with the next and with the newest, and one pair of machines


def test_a_change_of_the_machine_is_marked():
    """The series lists it at its release, and the plot of every case has a labelled line."""
    results = [measured(OLD, TIMES), measured(NEW, TIMES, hugepages="always"), measured(NEXT, TIMES, hugepages="always")]
    (machine,) = machines(results, RELEASES)
    assert machine.series[0].machine_changes == {"2.0.0": ["hugepages: madvise → always"]}
    svg = charts.of_case(machine, machine.cases[0], lambda change: "")
    assert svg.count("machine changed") == 1


def test_a_gap_is_marked():
    """A release without the case is not drawn as zero."""
    results = [measured(OLD, TIMES), measured(NEW, {("b", 2**10): 1e-6}), measured(NEXT, TIMES)]
    (machine,) = machines(results, RELEASES)
    case = next(case for case in machine.cases if case["method"] == "a")
    svg = charts.of_case(machine, case, lambda change: "")
    assert svg.count("not measured") == 1
