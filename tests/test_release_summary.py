"""Three sentences say what a release changed for copies, with the numbers of its comparison."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tensorcopy.analysis import comparisons
from tensorcopy.analysis.two_sample import Reason, Verdict
from tensorcopy.report.comparison import release_summary
from tensorcopy.results import select
from tensorcopy.results.profiles import profile_file
from tensorcopy.site import addresses
from tensorcopy.site.model.cases import spent
from tests.conftest import ROOT

pytestmark = pytest.mark.slow  # comparing all cases of two releases

METHODS = ("copies", "conversions")


@pytest.fixture(scope="module")
def comparison():
    pair = select.pair("2.9.1", "2.10.0", ROOT / "results")
    return comparisons.between(pair.before, pair.after, pair.beside)


def test_the_sentences_count_the_cases_of_the_comparison(comparison):
    """What became slower and faster, and where the clock alone shows at least 5 %."""
    what, why, whom = release_summary.sentences(comparison)
    rows = [change for case, change in comparison.changes.items() if case.suite.partition(".")[0] in METHODS]
    for verdict in (Verdict.SLOWER, Verdict.FASTER):
        assert f"{sum(change.verdict is verdict for change in rows)} became {verdict.value} (" in what
    counted = [change.count for change in rows if change.count]
    assert why.startswith(f"Of the {len(counted)} counted ones, {sum(count.changed for count in counted)} run ")
    clear = [change for change in rows if change.reason is Reason.CHANGED and abs(change.ratio - 1) >= release_summary.CONCERNS]
    assert whom.startswith(f"The clock alone shows 5 % or more in {len(clear)} of ")


def test_the_smallest_change_comes_first(comparison):
    """Of times and of instructions."""
    changed = {case: change for case, change in comparison.changes.items() if change.count and change.count.changed}
    fewer = {case: change for case, change in changed.items() if change.count.ratio < 1}
    what, why, _ = release_summary.sentences(replace(comparison, changes=fewer))
    for sentence in (what, why):
        near, far = map(int, re.search(r"\(−(\d+)\s% to −(\d+)\s%", sentence).groups())
        assert near < far


def test_the_groups_of_functions_are_named_where_they_were_counted(comparison):
    """In the mean over the methods on one element; without profiles, the sentence ends before."""
    pattern = r"; on one element [+−][\d\u2009]+ in the mean of 8 methods: (?:[\w -]+ [+−][\d\u2009]+, )+"
    assert re.search(pattern, release_summary.sentences(comparison)[1])
    moved = replace(comparison, before=replace(comparison.before, path=comparison.before.path.with_name("gone.json")))
    assert "on one element" not in release_summary.sentences(moved)[1]


def test_no_change_is_said_in_one_sentence_each(comparison):
    unchanged = {
        case: replace(change, verdict=Verdict.UNCHANGED, reason=Reason.WITHIN_MARGIN, count=None)
        for case, change in comparison.changes.items()
    }
    what, whom = release_summary.sentences(replace(comparison, changes=unchanged))
    assert re.fullmatch(r"None of \d+ copies and conversions became slower or faster\.", what)
    assert whom == "The clock alone shows no change of 5 % or more at any size."
    assert release_summary.sentences(replace(comparison, changes={})) == []


def test_what_a_call_spends_adds_up(shipped_results):
    """Groups and the rest make the whole call; the newest Python of a release is taken."""
    releases = spent.over_releases(shipped_results.results, "detach_clone 1 float32 contiguous")
    assert [each.release for each in releases][-1] == "2.15.0"
    assert len({each.release for each in releases}) == len(releases)
    for each in releases:
        assert 0 <= each.unnamed <= 0.02 * each.profile.instructions
        assert each.empty_call is not None
        assert each.empty_call < each.profile.instructions / 10
        assert profile_file.path_of(each.result.path).exists()
    assert {each.result.python for each in releases if each.release == "1.13.1"} == {"3.11"}


def test_one_profile_tells_that_there_are_profiles(monkeypatch, shipped_results):
    """The navigation of every page asks for it; reading those of all releases takes seconds."""
    reads = []
    profiles_of = profile_file.profiles_of
    monkeypatch.setattr(profile_file, "profiles_of", lambda result: reads.append(result) or profiles_of(result))
    assert spent.is_profiled(shipped_results.results, "detach_clone 1 float32 contiguous")
    assert len(reads) == 1
    assert not spent.is_profiled(shipped_results.results[:0], "detach_clone 1 float32 contiguous")


def test_the_address_of_the_nanoseconds_stays():
    assert addresses.NANOSECONDS == "nanoseconds.html"
