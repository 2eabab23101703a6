"""Which methods match a request, and which one is recommended."""

from __future__ import annotations

import pytest

from tensorcopy.analysis import recommend
from tensorcopy.analysis.recommend import CopyRequest
from tensorcopy.analysis.verdict import Verdict
from tensorcopy.results import select
from tests.conftest import NEW, SEEN, measured

OWN = CopyRequest(to="tensor", own=True, keeps_graph=None, requires_grad=False, device="cpu")


def recommended(times, request=OWN, **observed):
    """Return the matching methods at 16 elements, given times in nanoseconds.

    `observed` gives special behaviour by method.
    """
    result = measured(NEW, {(method, 16): time * 1e-9 for method, time in times.items()})
    for method, outcome in observed.items():
        for kind in ("plain", "with_grad"):
            result.methods[method]["observed"]["cpu"][kind] = {**SEEN, **outcome}
    return [option.method for option in recommend.options_by_size(result, request)[16]]


@pytest.fixture(scope="module")
def newest(shipped_results):
    results = shipped_results.results
    result = select.newest(results)
    return result, [other for other in results if other.environment == result.environment]


def test_the_fastest_matching_method_comes_first():
    """Then the others by time."""
    assert recommended({"a": 300, "b": 200, "c": 400}) == ["b", "a", "c"]


def test_methods_that_do_something_else_do_not_match():
    """An independent tensor is requested: no shared storage, no error, no ndarray."""
    shares, fails, array = {"shares_storage": True}, {"raises": "RuntimeError: no"}, {"gives": "ndarray", "keeps_graph": None}
    assert recommended({"a": 300, "shares": 1, "fails": 1, "array": 1}, shares=shares, fails=fails, array=array) == ["a"]


def test_a_method_that_warns_is_not_recommended():
    """Even if it is the fastest, as long as another one matches."""
    assert recommended({"loud": 1000, "a": 1010, "b": 1300}, loud={"warns": "UserWarning: do not"}) == ["a", "b", "loud"]


def test_gradients_flow_or_not_as_requested():
    """If x requires grad."""
    observed = {"kept": {"keeps_graph": True, "requires_grad": True}}
    for keeps, name in ((True, "kept"), (False, "cut")):
        request = CopyRequest("tensor", own=True, keeps_graph=keeps, requires_grad=True, device="cpu")
        assert recommended({"kept": 100, "cut": 100}, request, **observed) == [name]


def test_of_tied_methods_the_one_that_is_rarely_slower_is_recommended():
    """The fastest at this size is slower at the other one."""
    times = {("a", 16): 1.00e-6, ("b", 16): 1.01e-6, ("a", 128): 3e-6, ("b", 128): 1e-6}
    options = recommend.options_by_size(measured(NEW, times), OWN)[16]
    assert [option.method for option in options] == ["b", "a"]
    assert options[0].among_fastest
    assert options[1].change is None  # the fastest


def test_every_answer_does_what_was_requested(newest):
    """For every request to the newest release.

    The first option does not warn if another one does not.
    """
    result, others = newest
    checked = 0
    for request in recommend.requests("cpu"):
        answers = recommend.options_by_size(result, request, others)
        assert answers, request
        for options in answers.values():
            checked += 1
            for option in options:
                observed = result.methods[option.method]["observed"]["cpu"]["with_grad" if request.requires_grad else "plain"]
                assert (observed["gives"], observed["shares_storage"], observed["raises"]) == (request.to, not request.own, "")
                assert request.keeps_graph is None or observed["keeps_graph"] == request.keeps_graph
                assert option.code == result.methods[option.method]["code"]
            first = options[0]
            assert first.timing is not None or all(option.timing is None for option in options)
            quiet = [option for option in options if option.timing and not option.warns]
            assert not quiet or first in quiet
    assert checked >= 40


def test_the_answers_to_the_article_s_questions(newest):
    """An independent tensor, an independent ndarray, and shared storage."""
    result, others = newest

    def first(**request):
        answers = recommend.options_by_size(result, CopyRequest(**{"device": "cpu", "requires_grad": True, **request}), others)
        return {options[0].code for options in answers.values()}

    assert first(to="tensor", own=True, keeps_graph=False) == {"x.detach().clone()"}
    assert first(to="ndarray", own=True, keeps_graph=None) == {"x.detach().numpy().copy()"}
    assert first(to="tensor", own=False, keeps_graph=False) == {"x.detach()"}


def test_the_fastest_is_compared_with_all_others():
    """Its own change is None; a case that was not measured is left out."""
    result = measured(NEW, {("a", 16): 1e-6, ("b", 16): 2e-6})
    cases = [*result.timings, *measured(NEW, {("c", 16): 1e-6}).timings]
    changes = recommend.against_fastest(result, cases)
    assert [change and change.verdict for change in changes.values()] == [None, Verdict.SLOWER]
    assert recommend.against_fastest(result, []) == {}
