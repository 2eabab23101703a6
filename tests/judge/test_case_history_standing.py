"""Where a case stands: which release is its best, what the newest one costs against that, and since when."""

from datetime import timedelta
from itertools import pairwise

import pytest

from tensorcopy.judge import case_history, comparisons, groups
from tensorcopy.judge.comparisons import Question
from tensorcopy.judge.paired import Verdict
from tensorcopy.releases import release_table
from tensorcopy.report import history as reports
from tensorcopy.results.result import in_order
from tests import launch_files

RELEASES = [release.version for release in release_table.load() if release.kind == "release"][-12:]
METHODS = [f"m{number}" for number in range(8)]
CASE = "copies.BySize.time_copy m0 16"


def standing_of(folder, *times, last=0, **how):
    """Return where the case stands that takes so many microseconds with each of the first releases."""
    launch_files.write(folder, {CASE: dict(zip(RELEASES, times))}, **how)
    (history,) = case_history.joined([launch_files.load(folder, *RELEASES[: len(times)])]).values()
    return case_history.standing(history, last)


@pytest.mark.parametrize(
    ("times", "best", "cost", "open_at", "closed_at"),
    [
        ([1, 1, 1, 1, 1.2, 1.2, 1.2], 3, 1.2, [4], []),
        ([1, 1, 1, 1.3, 1.3, 1, 1, 1], None, None, [], [3]),
        ([1, 1, 1, 1.4, 1.4, 1.2, 1.2, 1.2], 2, 1.2, [3], []),
        ([1, 1, 1, 2, 2, 1.06, 1.06, 1.06], 2, 1.06, [], [3]),
        ([1, 1, 1.1, 1.1, 1.1, 1.4, 1.4], 1, 1.4, [2, 5], []),
        ([1, 1, 1.3, 1.3, 1, 1, 1.2, 1.2, 1.2], 5, 1.2, [6], [2]),
        ([1.4, 1.4, 1.4, 1, 1, 1], None, None, [], []),
        ([1, 0.994, 1, 1, 1, 1.2, 1.2, 1.2], 4, 1.2, [5], []),
    ],
    ids=["stays", "taken back", "in part", "nearly", "two", "and another", "only faster", "the best is no dip"],
)
def test_a_slowdown_is_open_until_it_is_taken_back(tmp_path, times, best, cost, open_at, closed_at):
    """The best release is the last of the lowest level; the cost is the change from there, with its interval."""
    standing = standing_of(tmp_path, *times, noise=0.002)
    assert [step.index for step in standing.open] == open_at
    assert [step.index for step in standing.closed] == closed_at
    assert standing.since == tuple(RELEASES[index] for index in open_at)
    assert standing.is_open is (cost is not None)
    if cost:
        low, high = standing.cost.interval
        assert (standing.best, standing.newest) == (best, len(times) - 1)
        assert 1 < low < cost < high < 1.03 * cost
        if open_at:
            largest = max(times[index] / times[index - 1] for index in open_at)
            assert max(step.ratio for step in standing.open) == pytest.approx(largest, rel=0.01)
        assert standing.times[1] / standing.times[0] == pytest.approx(cost, rel=0.01)


UNPAIRED = {RELEASES[2]: 1.45, RELEASES[3]: 0.7, RELEASES[4]: 0.7}  # before the slowdown, in a machine of another speed


@pytest.mark.parametrize("others", ["alone", "in other launches"])
def test_only_releases_that_were_compared_with_the_newest_one_have_levels(tmp_path, others):
    """The best is one of these, although others were measured between it and the slowdown, and were faster: alone, or beside each other."""
    paired = {release: 1.2 if number > 4 else 1.0 for number, release in enumerate(RELEASES[:8]) if release not in UNPAIRED}
    launch_files.write(tmp_path, {CASE: paired}, noise=0.002)
    together = [UNPAIRED] if others == "in other launches" else [{release: time} for release, time in UNPAIRED.items()]
    for day, times in enumerate(together, start=1):
        launch_files.write(tmp_path, {CASE: times}, noise=0.002, start=launch_files.START + timedelta(days=day))
    (history,) = case_history.joined([launch_files.load(tmp_path, *RELEASES[:8])]).values()
    standing = case_history.standing(history)
    assert (standing.best_release, standing.since, standing.is_open) == (RELEASES[1], (RELEASES[5],), True)
    assert standing.cost.size == pytest.approx(1.2, rel=0.01)
    assert standing.times[1] / standing.times[0] == pytest.approx(1.2, rel=0.01)
    assert not standing.is_unpaired


def test_a_cost_of_launches_without_another_release_says_so(tmp_path):
    """It has all the variation of the machine."""
    for day, release in enumerate(RELEASES[:6]):
        start = launch_files.START + timedelta(days=day)
        launch_files.write(tmp_path, {CASE: {release: 1.6 if day > 2 else 1.0}}, common=0.01, start=start)
    (history,) = case_history.joined([launch_files.load(tmp_path, *RELEASES[:6])]).values()
    standing = case_history.standing(history)
    assert standing.is_open
    assert standing.is_unpaired
    assert 1.5 < standing.ratio < 1.7


@pytest.mark.parametrize(("last", "best"), [(0, 2), (12, 2), (10, 2), (9, 7), (8, 7), (5, 7), (4, None)])
def test_the_best_of_the_last_releases(tmp_path, last, best):
    """With the newest one among them; one whose level ended before is not asked."""
    standing = standing_of(tmp_path, *[0.8] * 3, *[1.0] * 5, *[1.2] * 4, last=last, noise=0.002)
    assert standing.best == best
    assert standing.is_open is (best is not None)
    assert standing.first.size == pytest.approx(1.5, rel=0.01)


def test_the_cost_is_that_of_both_pythons(tmp_path):
    """Slowdowns on an older Python and on the newer one add up, with their variances; the change of Python costs nothing."""
    shared, times = 5, {"3.9": [2.0] * 3 + [2.4] * 3, "3.11": [1.0] * 3 + [1.1] * 3}
    for number, (python, first) in enumerate((("3.9", 0), ("3.11", shared))):
        sides = {f"{RELEASES[first + place]}@{python}": time for place, time in enumerate(times[python])}
        start = launch_files.START + number * timedelta(days=1)
        launch_files.write(tmp_path, {CASE: {"2.8.0@3.10": 1.0, **sides}}, reference="2.8.0@3.10", noise=0.01, start=start)
    by_python = [[each for each in launch_files.load(tmp_path) if each.python == python] for python in ("3.11", "3.9")]
    axes = list(map(in_order, by_python))
    (standing,) = map(case_history.standing, case_history.joined(axes).values())
    low, high = standing.cost.interval
    assert (standing.best, standing.newest) == (2, 10)
    assert low < 1.2 * 1.1 < high
    assert [step.index for step in standing.open] == [3, 8]
    widths = [step.interval[1] / step.interval[0] for step in standing.open]
    assert max(widths) < high / low < widths[0] * widths[1]
    assert standing.times[1] / standing.times[0] == pytest.approx(1.32, rel=0.02)


def test_noise_is_no_regression(tmp_path):
    """Not in one of 40 cases of twelve releases, although each was the lowest of twelve times once."""
    for seed in range(3):
        folder = tmp_path / str(seed)
        cases = {f"copies.BySize.time_copy {method} 16": dict.fromkeys(RELEASES, 1.0) for method in METHODS}
        launch_files.write(folder, cases, noise=0.02, machine=f"box{seed}", launches=9)
        by_case = case_history.joined([launch_files.load(folder, *RELEASES)])
        assert not groups.open_regressions(filter(None, map(case_history.standing, by_case.values())))


def test_regressions_are_those_of_methods_the_most_expensive_first(tmp_path):
    """Each with the smallest and the largest cost of its cases; counts stand nowhere."""
    slow = {"m1": (1.2, 1.5), "m2": (1.8, 1.8)}
    cases = {
        f"copies.BySize.time_copy {method} {numel}": {name: 1.0 if index < 4 else time for index, name in enumerate(RELEASES)}
        for method, times in slow.items()
        for numel, time in zip((16, 1024), times)
    }
    launch_files.write(tmp_path, {**cases, CASE: dict.fromkeys(RELEASES, 1.0)}, noise=0.001)
    launch_files.write_counts(tmp_path, RELEASES[0], {"instructions.BySize.track_instructions m0 16 False": 1000})
    launch_files.write_counts(tmp_path, RELEASES[-1], {"instructions.BySize.track_instructions m0 16 False": 2000})
    by_case = case_history.joined([launch_files.load(tmp_path, *RELEASES)])
    known = [case_history.standing(each) for each in by_case.values()]
    assert known.count(None) == 1
    first, second = groups.open_regressions(filter(None, known))
    assert (first.method, second.method) == ("m2", "m1")
    assert [each.ratio for each in second.standings] == pytest.approx([1.5, 1.2], rel=0.01)
    assert second.worst.history.case["numel"] == "1024"
    assert all(each.first.verdict is Verdict.SLOWER for each in (*first.standings, *second.standings))


@pytest.mark.parametrize("threads", [2, 1], ids=["equal conditions", "others on the newer Python"])
def test_a_chain_of_pythons_compares_no_unequal_conditions(tmp_path, threads):
    """Nor does any of its links: what is unknown of one pair is unknown of all."""
    sides = ["2.4.1@3.9", "2.8.0@3.9", "2.8.0", "2.15.0"]
    conditions = {"2.15.0": {"threads": threads}}
    launch_files.write(tmp_path, {CASE: dict(zip(sides, (1.0, 1.0, 0.8, 1.2)))}, sides={name: conditions.get(name, {}) for name in sides})
    first, joint, newer, last = launch_files.load(tmp_path, *sides)
    verdicts = {case: change.verdict for case, change in comparisons.chained(((first, joint), (newer, last))).items()}
    assert verdicts == ({launch_files.case(CASE): Verdict.SLOWER} if threads == 2 else {})


@pytest.mark.parametrize("looks", [(3, 1), (1, 3)])
def test_a_chain_of_pythons_is_judged_by_the_most_looks_of_its_links(tmp_path, looks):
    """Whichever link had them: each look at one of them was a chance of a false alarm of the whole."""
    sides = [["2.4.1@3.9", "2.8.0@3.9"], ["2.8.0", "2.15.0"]]
    for number, (pair, of_link) in enumerate(zip(sides, looks)):
        start = launch_files.START + timedelta(days=number)
        launch_files.write(tmp_path, {CASE: dict.fromkeys(pair, 1.0)}, looks=of_link, start=start)
    links = tuple(tuple(launch_files.load(tmp_path, *pair)) for pair in sides)
    (change,) = comparisons.chained(links).values()
    assert change.level == pytest.approx(1 - 0.05 / 3)


def test_open_cases_are_new_recent_or_older(tmp_path):
    """By the last of their open slowdowns: each in one group, with the largest slowdown of its age; the last eight have the newest."""
    last = len(RELEASES) - 1
    slowdowns = {"m0": [last], "m1": [last - 7], "m2": [last - 8], "m3": [1, last], "m4": [1, last - 2], "m5": []}
    cases = {
        f"copies.BySize.time_copy {method} 16": {
            name: (1.4 if method == "m0" else 1.3) ** sum(index >= at for at in places) for index, name in enumerate(RELEASES)
        }
        for method, places in slowdowns.items()
    }
    launch_files.write(tmp_path, {**cases, "copies.BySize.time_copy m2 1024": cases["copies.BySize.time_copy m3 16"]}, noise=0.002)
    by_case = case_history.joined([launch_files.load(tmp_path, *RELEASES)])
    known = [each for each in map(case_history.standing, by_case.values()) if each]
    ages = groups.by_age(groups.open_regressions(known))
    places = {
        age.value: [(part.method, each.history.case["numel"], each.latest.index) for part in of_age for each in part.standings]
        for age, of_age in ages.items()
    }
    assert [*places] == ["new", "recent", "older"]
    assert sorted(places["new"]) == [("m0", "16", last), ("m2", "1024", last), ("m3", "16", last)]
    assert sorted(places["recent"]) == [("m1", "16", last - 7), ("m4", "16", last - 2)]
    assert places["older"] == [("m2", "16", last - 8)]
    first = ages[case_history.Age.NEW][0]
    assert first.method == "m0"  # which the newest release slowed most; since the first one, m3 became slower
    assert (first.slowed_most.latest.index, len(first.standings)) == (last, 1)
    assert first.slowed_most.latest.ratio == pytest.approx(1.4, rel=0.01)
    assert sum(map(len, places.values())) == sum(each.is_open for each in known) == 6


def test_a_gain_that_was_lost_again_is_no_slowdown_against_the_release_before_it(tmp_path):
    """The newest release slowed both cases; against the one before the previous, one of them is slower."""
    gained = {name: {0: 1.1, 10: 1.0}.get(index, 1.2) for index, name in enumerate(RELEASES)}  # the first release is no measure for it
    cases = {CASE: gained, "copies.BySize.time_copy m1 16": {name: 1.2 if index == 11 else 1.0 for index, name in enumerate(RELEASES)}}
    launch_files.write(tmp_path, cases, noise=0.002)
    by_case = case_history.joined([launch_files.load(tmp_path, *RELEASES)])
    opened = groups.open_regressions(filter(None, map(case_history.standing, by_case.values())))
    assert [each.age for regression in opened for each in regression.standings] == [case_history.Age.NEW] * 2
    assert reports.as_before(opened) == f"; 1 as fast as with {RELEASES[9]}: {RELEASES[10]} was faster for one release"
    assert reports.as_before([]) == ""


def test_where_nothing_is_open_it_says_what_would_not_have_been_seen(tmp_path):
    """The smallest slowdown that is seen, and how many cases are unknown; two launches tell little."""
    names = ["2.14.1", "2.15.0"]
    launch_files.write(
        tmp_path, {f"copies.BySize.time_copy {method} 16": dict.fromkeys(names, 1.0) for method in METHODS}, noise=0.1, launches=4
    )
    pair = launch_files.load(tmp_path, *names)
    changes = comparisons.between(Question(*pair)).changes
    unknown = sum(change.verdict is Verdict.UNKNOWN for change in changes.values())
    (size,) = comparisons.sensitivity(changes).values()
    standings = [each for each in map(case_history.standing, case_history.joined([pair]).values()) if each]
    assert unknown > 0
    assert reports.unseen(standings) == [
        f"9 times in 10, we would notice a slowdown of {100 * size:.1f} % (≤ 2¹⁴ elements); a smaller one may be missed.",
        f"{unknown} of 8 cases could not be decided against the release before; 0 are baselines, such as memcpy.",
    ]


def test_the_number_of_cases_says_how_many_are_baselines(tmp_path):
    """On a device these are judged with the methods."""
    names = ["2.14.1", "2.15.0"]
    cases = ["copies.Latency.time_copy clone_detach 16 cuda", "floors.Latency.time_transfer 16 cuda", "floors.WaitAlone.time_wait cuda"]
    launch_files.write(tmp_path, {case: dict.fromkeys(names, 1.0) for case in cases}, noise=0.1, launches=4)
    by_case = case_history.joined([launch_files.load(tmp_path, *names)])
    standings = [each for each in map(case_history.standing, by_case.values()) if each]
    assert reports.unseen(standings)[-1].endswith(
        " of 3 cases could not be decided against the release before; 2 are baselines, such as memcpy."
    )


def test_a_chain_of_pythons_is_unpaired_where_a_link_is(tmp_path):
    """The variation of the machine in one link is in the whole."""
    launch_files.write(tmp_path, {CASE: dict.fromkeys(["2.4.1@3.9", "2.8.0@3.9"], 1.0)})
    for day, release in enumerate(("2.8.0", "2.15.0"), start=1):
        launch_files.write(tmp_path, {CASE: {release: 1.0}}, start=launch_files.START + timedelta(days=day))
    first, joint, newer, last = launch_files.load(tmp_path, "2.4.1@3.9", "2.8.0@3.9", "2.8.0", "2.15.0")
    (change,) = comparisons.chained(((first, joint), (newer, last))).values()
    assert change.way == "unpaired"


def test_what_the_comparison_calls_unchanged_is_no_step(tmp_path):
    """Levels before and after differ by more than the margin, but no release from the one before it."""
    times = [1.0] * 4 + [1.02] + [1.04] * 4
    launch_files.write(tmp_path, {CASE: dict(zip(RELEASES, times))}, noise=0.0005)
    results = launch_files.load(tmp_path, *RELEASES[: len(times)])
    (history,) = case_history.joined([results]).values()
    changes = [next(iter(comparisons.between(Question(*pair)).changes.values())) for pair in pairwise(results)]
    assert {change.verdict for change in changes} == {Verdict.UNCHANGED}
    assert sum(change.interval[0] > 1 for change in changes) == 2
    assert history.steps == ()


def test_only_what_the_newest_release_measured_is_open(tmp_path):
    """A case that the newest release skips costs nothing there, however slow it was with the one before."""
    other = CASE.replace("m0", "m1")
    times = [1, 1, 1, 1.3, 1.3, 1.3, None]
    launch_files.write(tmp_path, {CASE: dict(zip(RELEASES, times)), other: dict(zip(RELEASES, [1.0] * 7))})
    by_case = case_history.joined([launch_files.load(tmp_path, *RELEASES[:7])])
    standing = case_history.standing(by_case[launch_files.case(CASE)])
    assert (standing.newest, standing.best, standing.cost.verdict, standing.is_open) == (5, 2, Verdict.SLOWER, False)
    assert groups.open_regressions([standing]) == []
