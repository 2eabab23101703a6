"""What the judge says of the fixed folder follows from its launch files, by other means than the program's."""

from __future__ import annotations

from functools import cache
from itertools import permutations
from math import expm1, log

import pytest

from tensorcopy.copying.shipped import of_folder
from tensorcopy.judge import case_history, comparisons
from tensorcopy.judge.comparisons import Question
from tensorcopy.results import reader, select
from tensorcopy.results.effects import JOINED, PAIRED
from tests.fixed_folder import FIXED, QUESTIONS
from tests.recomputed import History, Judged, Place, is_compared, kind, name_of, smallest_seen

CAMPAIGN = of_folder(FIXED)
LOADED = reader.load_results(FIXED / "results", CAMPAIGN)
RESULTS = {(each.history, each.place): each for each in LOADED.results}
WAYS = {PAIRED: "paired", JOINED: "joined"}
HISTORIES = {each.name: each for each in LOADED.histories}


@cache
def own(name: str) -> History:
    """Return the history of a folder, fitted once."""
    return History(FIXED / "results" / name)


def places(name: str) -> list[Place]:
    """Return the sides that have a place in a history; those of another Python are links."""
    return [place for place in own(name).places if place[1] == HISTORIES[name].conditions.environment]


def assert_same(change, judged: Judged, what: str) -> None:
    """Assert that the judge's numbers are ours."""
    assert change.verdict.value == judged.verdict, what
    numbers = (change.ratio, change.p, change.error, change.threshold if change.interval else 0.0, *(change.interval or ()))
    assert numbers == pytest.approx((judged.ratio, judged.p, judged.error, judged.threshold, *(judged.interval or ())), rel=1e-6, abs=1e-12)
    assert WAYS[change.way] == (judged.way or WAYS[change.way]), what


def test_the_fixed_folder_is_read_whole():
    """Its histories have the releases of their own environment; a link has no place in them."""
    assert LOADED.problems == ()
    assert {name: [each.version for each in history.results] for name, history in HISTORIES.items()} == {
        "box": ["2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.13.0", "2.14.1", "2.15.0"],
        "box-py3.9": ["2.4.1", "2.8.0"],
        "gpu": ["2.13.0", "2.14.1", "2.15.0"],
    }
    assert {place[1] for place in own("box").places} == {"py3.11-cuda", "py3.9-cuda"}


@pytest.mark.parametrize("name", HISTORIES)
def test_times(name):
    """Of each side and case: those that a side and the median launch have in the fit."""
    expected = {(place, name_of(case)): seconds for (place, case), seconds in own(name).times.items() if place in places(name)}
    timed = {(each.place, case.name): timing.seconds for each in HISTORIES[name].results for case, timing in each.timings.items()}
    assert timed == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [(name, *sides) for name in HISTORIES for sides in permutations(places(name), 2)],
    ids=lambda each: each if isinstance(each, str) else f"{each[0][:4]} {each[1]}",
)
def test_comparisons(name, before, after):
    """Verdict, ratio, interval, p, error, threshold and way of every case, and what would have been seen."""
    comparison = comparisons.between(Question(RESULTS[name, before], RESULTS[name, after], CAMPAIGN.rules))
    expected = own(name).compared(before, after)
    by_name = {name_of(case): each for case, each in expected.items()}
    judged = {case.name: change for case, change in comparison.changes.items() if change.timed and change.ratio}
    assert judged.keys() == by_name.keys()
    for case, change in judged.items():
        assert_same(change, by_name[case], case)
        if change.interval:
            detectable = expm1(by_name[case].threshold + 1.2816 * by_name[case].error)
            assert (change.detectable, change.factor) == pytest.approx((detectable, expm1(abs(log(change.ratio))) / detectable)), case
    kinds = {kind(case) for case in expected}
    seen = {each: smallest_seen([judged for case, judged in expected.items() if kind(case) == each]) for each in kinds}
    assert sorted(comparisons.sensitivity(comparison.changes).values()) == pytest.approx(sorted(filter(None, seen.values())), rel=1e-4)


@pytest.mark.parametrize("name", HISTORIES)
def test_histories(name):
    """Values, steps between neighbours that met, and the fastest earlier release with what the newest costs against it."""
    history, order = own(name), [release.version for release in CAMPAIGN.releases]
    known = {place: RESULTS[name, place].version for place in places(name)}
    by_case = case_history.over(HISTORIES[name].results, CAMPAIGN.rules)
    in_order = sorted(places(name), key=lambda each: order.index(known[each]))
    opened = 0
    for case in {case for case in history.logs if is_compared(case[0])}:
        of_case = next((each for of, each in by_case.items() if of.name == name_of(case)), None)
        measured = [place for place in in_order if (place, case) in history.times]
        if not measured:
            continue  # of links alone
        values = {known[place]: history.times[place, case] for place in measured}
        assert {release: value for release, value in zip(of_case.releases, of_case.values) if value} == pytest.approx(values, rel=1e-5)

        def change(before, after, case=case):
            return history.compared(before, after).get(case)

        steps = {}
        for index, place in enumerate(measured[1:], 1):
            earlier = next((each for each in reversed(measured[:index]) if change(each, place)), None)
            if earlier and (judged := change(earlier, place)).verdict in ("slower", "faster"):
                steps[known[place]] = judged
        assert steps.keys() == {of_case.releases[step.index] for step in of_case.steps}
        for step in of_case.steps:
            judged = steps[of_case.releases[step.index]]
            assert (step.ratio, *step.interval) == pytest.approx((judged.ratio, *judged.interval), rel=1e-6)

        standing, newest = case_history.standing(of_case), measured[-1]
        met = [place for place in measured[:-1] if change(place, newest)]
        best = min(met, key=lambda place: history.times[place, case], default=newest)
        if history.times[best, case] >= history.times[newest, case]:
            assert (standing.best_release, standing.since) == ("", None)
            continue
        judged = change(best, newest)
        assert standing.best_release == known[best]
        assert standing.times == pytest.approx((history.times[best, case], history.times[newest, case]), rel=1e-5)
        assert_same(standing.cost, judged, name_of(case))
        is_slower = judged.verdict == "slower" and judged.p * len(met) <= 0.05  # among the earlier releases, one was chosen
        assert (standing.since is not None) is (is_slower and newest == in_order[-1])
        opened += standing.since is not None
    assert opened >= {"box": 4, "box-py3.9": 5, "gpu": 2}[name]


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_word_of_every_case_of_a_question(name):
    """Of all cases that are not named it is unknown."""
    words, expected = QUESTIONS[name]
    options = dict(zip(words[2::2], words[3::2]))
    device, history = options.get("--device", ""), options.get("--history", "")
    pair = select.pair(*words[:2], LOADED, CAMPAIGN.releases, history, device, command="tensorcopy compare")
    comparison = comparisons.between(Question(pair.before, pair.after, CAMPAIGN.rules)).selected(device=pair.device)
    found = {case.name: comparisons.word(change) for case, change in comparison.changes.items()}
    assert {case: word for case, word in found.items() if word != "unknown"} == expected
    assert comparison.labels == tuple(f"torch {version}+cu132" for version in words[:2])
    order = [release.version for release in CAMPAIGN.releases]
    rows = [(pattern, why) for pattern, until, why in CAMPAIGN.rules.accepted if order.index(words[1]) <= order.index(until)]
    slower = [case for case, word in found.items() if word == "slower"]
    accepted = {case: next((why for pattern, why in rows if pattern.search(case)), "") for case in slower}
    assert {case.name: change.accepted for case, change in comparison.changes.items() if change.accepted or case.name in slower} == accepted
    assert comparison.has_slower is any(not why for why in accepted.values())
