"""The pages' values for results with known numbers."""

from dataclasses import replace

import pytest

from tensorcopy.copying.inside import semantics
from tensorcopy.results.cases import Case
from tensorcopy.results.effects import Timing
from tensorcopy.site.machine import SizeCost, machines
from tests.conftest import NEW, OLD, measured
from tests.launch_files import SEEN


def only(*results):
    """Return the only machine of some results."""
    (machine,) = machines(results)
    return machine


def costs_of(machine):
    """Return the tables of a machine on the CPU."""
    return machine.devices["cpu"].costs


def test_tied_methods_are_those_that_are_not_significantly_slower():
    """1.00 ± 1 % and 1.015 ± 1 % are tied, 1.05 is slower; only one method is the fastest."""
    machine = only(measured(NEW, {("a", 16): 1.0e-6, ("b", 16): 1.015e-6, ("c", 16): 1.05e-6}))
    (table,) = costs_of(machine)
    assert table.methods == ("a", "b", "c")
    assert [row[0].among_fastest for row in table.costs] == [True, True, False]
    assert [row[0].fastest for row in table.costs] == [True, False, False]


def test_a_missing_time_is_never_the_fastest():
    """It is shown as not measured."""
    machine = only(measured(NEW, {("a", 1): 1e-6, ("a", 16): 1e-6, ("b", 16): 2e-6}))
    assert costs_of(machine)[0].costs[1][0] == SizeCost(None, fastest=False, among_fastest=False)


def test_the_launches_of_a_result_are_counted():
    """From the case with the fewest to that with the most."""
    result = measured(NEW, {("a", 1): 1e-6, ("b", 1): 1e-6})
    assert only(result).launches_of(result) == "8"
    case, _ = result.timings
    result.timings[case] = replace(result.timings[case], launches=3)
    assert only(result).launches_of(result) == "3 to 8"


def test_the_table_has_the_memcpy_baseline_of_each_size():
    """It is None where memcpy was not measured."""
    result = measured(NEW, {("a", 1): 1e-6, ("a", 16): 1e-6})
    memcpy = Timing(1e-7)
    result.timings[Case("floors.ByBytes.time_memcpy", (("memory", "fresh"), ("nbytes", "64")))] = memcpy
    assert costs_of(only(result))[0].baselines == (None, memcpy)


def test_the_newest_release_answers_and_history_is_in_order():
    """The order of the files does not matter."""
    times = {("a", 2**10): 1e-6}
    machine = only(measured(NEW, times), measured(OLD, times, python="3.9"), measured(NEW, times, python="3.9"))
    assert machine.newest == NEW
    (case,) = machine.pictured[0]
    assert machine.history[case].releases == ("1.0.0", "2.0.0")


def test_a_partly_measured_release_is_not_the_newest():
    """Its gaps remove nothing: the cases and methods of other releases stay, with their code."""
    whole = measured(OLD, {("a", 16): 1e-6, ("b", 16): 2e-6})
    part = measured(NEW, {("a", 16): 1e-6})
    part.timings.clear()
    retired = Case("retired.Suite.time_copy", (("method", "a"), ("numel", "16")))
    part.timings[retired] = next(iter(whole.timings.values()))
    machine = only(whole, part)
    assert machine.newest == OLD
    assert {case["method"] for case in machine.cases} == {"a", "b"}
    assert [machine.code(method) for method in machine.methods] == ["code of a", "code of b"]


def test_a_result_of_an_unknown_release_is_not_shown():
    """Its row may have been removed from the table."""
    assert machines([replace(measured(NEW, {("a", 1): 1e-6}), release=None)]) == []


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        ({}, "independent, out of the graph"),
        ({"shares_storage": True, "keeps_graph": True, "requires_grad": True}, "shares storage, in the graph"),
        ({"requires_grad": True}, "independent, out of the graph, requires grad itself"),
        ({"gives": "ndarray", "layout": "contiguous"}, "independent, layout contiguous"),
        ({"warns": "UserWarning: don't"}, "independent, out of the graph, warns"),
        ({"raises": "TypeError: can't on {device}"}, "TypeError: can't on cuda:0"),
    ],
)
def test_an_outcome_in_words(seen, words):
    """The page and the terminal use the same words; an error names the device as torch does."""
    assert semantics.describe({**SEEN, **seen}, "cuda") == words
