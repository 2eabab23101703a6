"""Results in order, what is compared with what, and what a picture of a case marks."""

from __future__ import annotations

from datetime import date

import pytest

from tensorcopy.releases.release_table import Release
from tensorcopy.site import addresses
from tensorcopy.site.charts import charts
from tensorcopy.site.model import result_series
from tensorcopy.site.model.machine import machines
from tensorcopy.site.model.summary import by_method, summary
from tests.conftest import NEW, OLD, measured

NEXT = Release("2.1.0", date(2022, 1, 1), "c" * 40, ("3.9", "3.12"), "1.26.4", "https://example.org/3")
RELEASES = (OLD, NEW, NEXT)
TIMES = {("a", 2**10): 1e-6}


@pytest.fixture(autouse=True)
def table(monkeypatch):
    monkeypatch.setattr("tensorcopy.releases.release_table.load", lambda: RELEASES)


def pair_names(*found) -> list[str]:
    return [addresses.of_pair(one, other) for _, one, other in result_series.pairs(result_series.of_results(found, RELEASES))]


def test_series_are_in_order():
    """The machine that measured last first, there the newest release, then the newest Python; releases by the table."""
    shipped = [
        measured(release, TIMES, started="2026-11-20T00:00:00+00:00", python=python) for release in RELEASES for python in ("3.9", "3.11")
    ]
    here = measured(NEW, TIMES, machine="here", started="2026-11-21T00:00:00+00:00")
    ordered = result_series.of_results([*reversed(shipped), here], RELEASES)
    assert [(one.machine, one.environment) for one in ordered] == [("here", "py3.11-cuda"), ("box", "py3.11-cuda"), ("box", "py3.9-cuda")]
    assert [release.version for release in ordered[1].releases] == ["1.0.0", "2.0.0", "2.1.0"]


def test_any_two_releases_of_a_series_are_a_pair():
    """From the earlier to the later, once."""
    names = pair_names(*(measured(release, TIMES) for release in RELEASES))
    assert sorted(names) == [f"compare/box/py3.11-cuda/{pair}.html" for pair in ("1.0.0..2.0.0", "1.0.0..2.1.0", "2.0.0..2.1.0")]


def test_the_same_release_elsewhere_is_a_pair():
    """On two Pythons of a machine, the older Python first; of two machines the newest that both have."""
    found = [measured(release, TIMES, python=python) for release in (NEW, NEXT) for python in ("3.9", "3.11")]
    found += [measured(release, TIMES, machine="other", started="2027-01-01T00:00:00+00:00") for release in (OLD, NEW)]
    names = pair_names(*found)
    assert "compare/box/py3.9-cuda..py3.11-cuda/2.0.0.html" in names
    assert "compare/box/py3.9-cuda..py3.11-cuda/2.1.0.html" in names
    assert [name for name in names if "other..box" in name or "box..other" in name] == ["compare/other..box/py3.11-cuda/2.0.0.html"]


def test_pairs_are_bounded_but_neighbours_are_always_there(monkeypatch):
    """However many machines there are."""
    monkeypatch.setattr(result_series, "MOST_PAIRS", 1)
    names = pair_names(*(measured(release, TIMES, machine=machine) for release in RELEASES for machine in ("a", "b")))
    assert {f"compare/{machine}/py3.11-cuda/{pair}.html" for machine in "ab" for pair in ("1.0.0..2.0.0", "2.0.0..2.1.0")} <= set(names)
    assert len(names) == 2 * 3 + 1  # with each against the newest, and one across


def test_a_machine_that_changed_is_told_from_torch():
    """In words with the release, and as a line in the picture of every case."""
    found = [measured(OLD, TIMES), measured(NEW, TIMES, hugepages="always"), measured(NEXT, TIMES, hugepages="always")]
    (machine,) = machines(found, RELEASES)
    assert machine.series[0].machine_changes == {"2.0.0": ["hugepages: madvise → always"]}
    svg = charts.of_case(machine, machine.cases[0], lambda one, other: "")
    assert svg.count("machine, not torch") == 1


def test_a_gap_is_marked_and_a_point_leads_to_its_comparison():
    """A release without the case is no drop to zero."""
    found = [measured(OLD, TIMES), measured(NEW, {("b", 2**10): 1e-6}), measured(NEXT, TIMES)]
    (machine,) = machines(found, RELEASES)
    case = next(case for case in machine.cases if case["method"] == "a")
    svg = charts.of_case(machine, case, lambda one, other: f"{one.sha[0]}-{other.sha[0]}.html")
    assert svg.count("not measured") == 1
    assert 'href="b-c.html"' in svg


def test_several_changes_make_one_word():
    """Slower where any is, same only where all are; with the number that stands for it."""
    found = [measured(OLD, {("a", 16): 1e-6, ("a", 128): 1e-6}), measured(NEW, {("a", 16): 1.5e-6, ("a", 128): 1e-6})]
    (machine,) = machines(found, RELEASES)
    told = by_method(machine.series[0].latest)["a", "cpu"]
    assert told.verdict.value == "slower"
    assert told.ratio == pytest.approx(1.5, rel=0.01)
    assert told.cases == 2
    assert summary([]) is None
