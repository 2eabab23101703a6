"""What the pages say of results of known numbers."""

from __future__ import annotations

import pytest

from tensorcopy.report import semantics_text
from tensorcopy.results.load import Case
from tensorcopy.results.passes import PassSamples, Timing, timing
from tensorcopy.site.model.costs import Cost
from tensorcopy.site.model.machine import machines
from tests.conftest import NEW, OLD, SEEN, measured

RELEASES = (OLD, NEW)


def only(*found):
    (machine,) = machines(found, RELEASES)
    return machine


def test_contenders_are_those_that_are_not_surely_slower():
    """1.00 ± 1 % and 1.015 ± 1 % cannot be told apart, 1.05 can; the least is one. The judge says so."""
    machine = only(measured(NEW, {("a", 16): 1.0e-6, ("b", 16): 1.015e-6, ("c", 16): 1.05e-6}))
    (table,) = machine.costs
    assert table.methods == ("a", "b", "c")
    assert [row[0].among_fastest for row in table.costs] == [True, True, False]
    assert [row[0].least for row in table.costs] == [True, False, False]


def test_the_winner_is_surely_beaten_least_often():
    """Of two that are so equally often, the one that is the least more often."""
    machine = only(measured(NEW, {("a", 1): 1e-6, ("b", 1): 2e-6, ("a", 16): 2e-6, ("b", 16): 1.9e-6, ("a", 128): 3e-6, ("b", 128): 4e-6}))
    assert machine.answer() == [("code of a", "takes the least time at 2 of 3 sizes, and at 1 another is surely faster")]
    machine = only(measured(NEW, {("a", 1): 1.001e-6, ("b", 1): 1e-6}))
    assert machine.answer() == [("code of b", "takes the least time at 1 of 1 sizes, and no copy is surely faster at any")]


def test_what_it_costs_with_grad_decides_between_equals():
    """Of two that cannot be told apart without."""
    result = measured(NEW, {("a", 16): 1.000e-6, ("b", 16): 1.001e-6})
    for name, time in (("a", 2e-6), ("b", 1e-6)):
        (timing_,) = measured(NEW, {(name, 16): time}).timings.values()
        result.timings[Case("copies.ByGrad.time_copy", (("method", name), ("numel", "16"), ("requires_grad", "True")))] = timing_
    assert only(result).answer()[0][0] == "code of b"


def test_a_missing_time_is_never_the_least():
    """It is shown as not measured."""
    machine = only(measured(NEW, {("a", 1): 1e-6, ("a", 16): 1e-6, ("b", 16): 2e-6}))
    assert machine.costs[0].costs[1][0] == Cost(None, least=False, among_fastest=False)


def test_a_machine_says_how_quiet_it_was():
    """By the control beside each sample; None where none was noted."""
    result = measured(NEW, {("a", 1): 1e-6})
    assert only(result).quiet is None
    (case,) = result.timings
    result.timings[case] = timing([PassSamples((1e-6, 1e-6, 2e-6, 2e-6), (9e-6, 9e-6, 9e-6, 17e-6), limit=1e-5)])
    assert only(result).quiet == 0.75
    assert only(result).passes_of(result) == (1, 1)


def test_the_floor_stands_beside_the_methods():
    """memcpy of the same bytes, at each size; None where it was not measured."""
    result = measured(NEW, {("a", 1): 1e-6, ("a", 16): 1e-6})
    floor = Timing(1e-7, 1e-7, 1e-7)
    result.timings[Case("floors.ByBytes.time_memcpy", (("memory", "fresh"), ("nbytes", "64")))] = floor
    assert only(result).costs[0].floors == (None, floor)


def test_the_newest_release_answers_and_history_is_in_order():
    """Whatever order the files came in."""
    times = {("a", 2**10): 1e-6}
    machine = only(measured(NEW, times), measured(OLD, times, python="3.9"), measured(NEW, times, python="3.9"))
    assert machine.newest == NEW
    (history,) = machine.histories
    assert history.releases == ("1.0.0", "2.0.0")
    assert history.environments == ("py3.11-cuda", "py3.9-cuda")
    assert history.at("1.0.0", "py3.11-cuda", "a") is None


def test_a_release_of_which_a_part_was_measured_does_not_answer():
    """Nor do its gaps take anything away: the cases and methods of the others stay."""
    whole = measured(OLD, {("a", 16): 1e-6, ("b", 16): 2e-6})
    part = measured(NEW, {("a", 16): 1e-6})
    part.timings.clear()
    part.timings[Case("threads.ByThreads.time_copy", (("method", "a"), ("numel", "16"), ("threads", "2")))] = whole.timings[
        next(iter(whole.timings))
    ]
    machine = only(whole, part)
    assert machine.newest == OLD
    assert {case["method"] for case in machine.cases} == {"a", "b"}
    assert list(machine.methods) == ["a", "b"]


def test_a_method_that_went_away_keeps_its_history():
    """And its code."""
    machine = only(measured(OLD, {("a", 16): 1e-6, ("b", 16): 2e-6}), measured(NEW, {("a", 16): 1e-6}))
    assert {case["method"] for case in machine.cases} == {"a", "b"}
    assert machine.code("b") == "code of b"


def test_the_machine_that_measured_last_comes_first():
    """The reader's own, after a dashboard run."""
    times = {("a", 1): 1e-6}
    shipped = measured(NEW, times, machine="shipped", started="2026-11-20T00:00:00+00:00")
    here = measured(NEW, times, machine="here", started="2026-11-21T00:00:00+00:00")
    assert [machine.name for machine in machines((shipped, here), RELEASES)] == ["here", "shipped"]


def test_a_result_of_an_unknown_release_is_not_shown():
    """Its row may have been taken out of the table."""
    assert machines((measured(NEW, {("a", 1): 1e-6}),), (OLD,)) == []


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        ({}, "independent, out of the graph"),
        ({"shares_storage": True, "keeps_graph": True, "requires_grad": True}, "shares storage, in the graph"),
        ({"requires_grad": True}, "independent, out of the graph, with a gradient of its own"),
        ({"gives": "ndarray", "layout": "contiguous"}, "independent, laid out contiguous"),
        ({"warns": "UserWarning: don't"}, "independent, out of the graph, warns"),
        ({"raises": "TypeError: can't on {device}"}, "TypeError: can't on the device"),
    ],
)
def test_an_outcome_in_words(seen, words):
    """As the page and the terminal have it."""
    assert semantics_text.outcome({**SEEN, **seen}) == words
