"""The advice: what does as asked, and the one to take."""

from __future__ import annotations

import pytest

from tensorcopy.analysis import recommend
from tensorcopy.analysis.recommend import CopyRequest
from tensorcopy.analysis.two_sample import Verdict
from tensorcopy.results import load, select
from tests.conftest import NEW, ROOT, SEEN, measured

OWN = CopyRequest(to="tensor", own=True, keeps_graph=None, requires_grad=False, device="cpu")


def told(times, request=OWN, **seen):
    """The names of what is advised at 16 elements, for methods that take so many nanoseconds; `seen` is what is special of each."""
    result = measured(NEW, {(method, 16): time * 1e-9 for method, time in times.items()})
    for method, outcome in seen.items():
        for kind in ("plain", "with_grad"):
            result.methods[method]["observed"]["cpu"][kind] = {**SEEN, **outcome}
    return [option.method for option in recommend.advised(result, request)[16]]


@pytest.fixture(scope="module")
def newest():
    found = load.load_results(ROOT / "results").results
    result = select.newest(found)
    return result, [one for one in found if one.environment == result.environment]


def test_the_fastest_that_does_as_asked_comes_first():
    """Then the others by time."""
    assert told({"a": 300, "b": 200, "c": 400}) == ["b", "a", "c"]


def test_what_shares_or_fails_is_no_answer():
    """To a wish for a tensor of its own; nor is an ndarray."""
    shares, fails, array = {"shares_storage": True}, {"raises": "RuntimeError: no"}, {"gives": "ndarray", "keeps_graph": None}
    assert told({"a": 300, "shares": 1, "fails": 1, "array": 1}, shares=shares, fails=fails, array=array) == ["a"]


def test_what_warns_is_not_taken_where_another_does_as_well():
    """Even where it is faster."""
    assert told({"loud": 1000, "a": 1010, "b": 1300}, loud={"warns": "UserWarning: do not"}) == ["a", "b", "loud"]


def test_a_gradient_is_kept_or_cut_as_asked():
    """Where x requires grad."""
    seen = {"kept": {"keeps_graph": True, "requires_grad": True}}
    for keeps, name in ((True, "kept"), (False, "cut")):
        request = CopyRequest("tensor", own=True, keeps_graph=keeps, requires_grad=True, device="cpu")
        assert told({"kept": 100, "cut": 100}, request, **seen) == [name]


def test_of_several_that_are_not_surely_slower_the_steadiest_is_taken():
    """The least here is beaten elsewhere: it is not the one to take here."""
    times = {("a", 16): 1.00e-6, ("b", 16): 1.01e-6, ("a", 128): 3e-6, ("b", 128): 1e-6}
    options = recommend.advised(measured(NEW, times), OWN)[16]
    assert [option.method for option in options] == ["b", "a"]
    assert options[0].among_fastest
    assert options[1].change is None  # the least


def test_every_wish_of_the_newest_release_is_answered_by_what_was_observed(newest):
    """No option does otherwise than asked, whatever is asked; the first does not warn where any does not, and is not surely slower."""
    result, beside = newest
    asked = 0
    for request in recommend.requests("cpu"):
        answers = recommend.advised(result, request, beside)
        assert answers, request
        for options in answers.values():
            asked += 1
            for option in options:
                seen = result.methods[option.method]["observed"]["cpu"]["with_grad" if request.requires_grad else "plain"]
                assert (seen["gives"], seen["shares_storage"], seen["raises"]) == (request.to, not request.own, "")
                assert request.keeps_graph is None or seen["keeps_graph"] == request.keeps_graph
                assert option.code == result.methods[option.method]["code"]
            first = options[0]
            assert first.timing is not None or all(option.timing is None for option in options)
            quiet = [option for option in options if option.timing and not any(word == "warns" for word, _ in option.caveats)]
            assert not quiet or first in quiet
    assert asked >= 40


def test_the_article_s_wishes_have_the_answers_it_was_looking_for(newest):
    """detach().clone() for a tensor out of the graph, detach().numpy().copy() for an ndarray of its own, detach() to share."""
    result, beside = newest

    def first(**request):
        answers = recommend.advised(result, CopyRequest(**{"device": "cpu", "requires_grad": True, **request}), beside)
        return {options[0].code for options in answers.values()}

    assert first(to="tensor", own=True, keeps_graph=False) == {"x.detach().clone()"}
    assert first(to="ndarray", own=True, keeps_graph=None) == {"x.detach().numpy().copy()"}
    assert first(to="tensor", own=False, keeps_graph=False) == {"x.detach()"}


def test_the_least_is_judged_against_all_others():
    """None for the least itself; a case that was not measured has no place."""
    result = measured(NEW, {("a", 16): 1e-6, ("b", 16): 2e-6})
    cases = [*result.timings, *measured(NEW, {("c", 16): 1e-6}).timings]
    changes = recommend.against_fastest(result, cases)
    assert [change and change.verdict for change in changes.values()] == [None, Verdict.SLOWER]
    assert recommend.against_fastest(result, []) == {}
