"""What is said of an agreement, and turns that the machine disturbed."""

from __future__ import annotations

import pytest

from tensorcopy.measure import crosscheck
from tensorcopy.measure.crosscheck import Agreement, Ratio
from tensorcopy.worker.probes import timer_crosscheck


def of(*ratios):
    return Agreement(
        "2.15.0", "Box 9000", tuple(Ratio("copies.BySize.time_copy", "x.clone()", {"numel": 16}, "Timer", one) for one in ratios)
    )


@pytest.mark.parametrize(
    ("ratios", "holds"),
    [
        ((1.0, 1.02, 0.97), True),
        ((1.031, 1.04, 1.05), False),
        ((1.0, 1.0, 1.081), False),
        ((1.0, 1.0, 0.919), False),
    ],
    ids=["agree", "the median is off", "one above", "one below"],
)
def test_agreement_is_the_median_within_three_and_every_case_within_eight_percent(ratios, holds):
    """Either alone would hide something: a constant part of every call, or a single wrong case."""
    assert of(*ratios).holds is holds


def test_the_worst_case_is_named_first():
    """By how far it is from 1, in either direction."""
    assert [one.ratio for one in of(1.1, 0.5, 1.0, 1.2).outside] == [0.5, 1.2, 1.1]


def test_figures_are_kept_by_suite():
    """For docs/methodology.md."""
    kept = crosscheck.document(of(1.0, 1.02, 0.97), "2026-11-21")
    assert kept["suites"] == {"copies.BySize, by Timer": {"cases": 3, "median": 1.0, "least": 0.97, "greatest": 1.02}}
    assert (kept["torch"], kept["on"], kept["day"], kept["median"]) == ("2.15.0", "Box 9000", "2026-11-21", 1.0)


def test_a_turn_during_which_the_machine_changed_its_pace_is_taken_again():
    """The control moved between the two: that turn's ratio says nothing."""
    readings = iter([1.0, 1.0, 1.9] + [1.0] * 100)
    one = iter([99.0] + [2.0] * 100)
    found = list(timer_crosscheck.turns(lambda: next(one), lambda: 2.0, lambda: next(readings)))
    assert found == [1.0] * timer_crosscheck.TURNS


def test_a_machine_that_never_stands_still_is_measured_all_the_same():
    """After some tries: the ratios then differ as they differ."""
    readings = iter(range(1, 10_000))
    found = list(timer_crosscheck.turns(lambda: 2.0, lambda: 1.0, lambda: float(2 ** (next(readings) % 7))))
    assert found == [2.0] * timer_crosscheck.TURNS


def test_the_two_take_turns_in_being_first():
    """What the first leaves in the caches is not always the other's gain."""
    order = []
    list(timer_crosscheck.turns(lambda: order.append("one") or 1.0, lambda: order.append("other") or 1.0, lambda: 1.0))
    assert order[:4] == ["other", "one", "one", "other"]


@pytest.mark.parametrize(("again", "holds"), [(1.01, True), (11.0, False)], ids=["one process's bad luck", "the same again"])
def test_what_disagrees_is_compared_in_a_process_of_its_own(monkeypatch, again, holds):
    """Only the suites that it is of; what agreed stands."""
    asked = []

    def compared(environment, tell, device, suites, root):
        asked.append(suites)
        factors = {"copies.BySize.time_copy": [1.0, 11.0], "primitives.BySize.time_primitive": [1.0]} if not suites else {
            "copies.BySize.time_copy": [1.02, again]
        }  # fmt: skip
        rows = [
            Ratio(suite, "x.clone()", {"numel": number}, "Timer", ratio)
            for suite, ratios in factors.items()
            for number, ratio in enumerate(ratios)
        ]
        return Agreement("2.15.0", "Box 9000", tuple(rows))

    monkeypatch.setattr(crosscheck, "_compared", compared)
    found = crosscheck.run(None, lambda share, doing: None)
    assert asked == ["", r"^(copies\.BySize\.time_copy)$"]
    assert [one.ratio for one in found.ratios] == [1.0, again, 1.0]
    assert found.holds is holds
