"""The history of a case: its steps, where it stands and since when, and what is back to an earlier level, with which instructions."""

from math import exp

import pytest

from tensorcopy.judge import case_history
from tensorcopy.judge.case_history import OpenSince
from tensorcopy.judge.comparisons import Question
from tensorcopy.judge.paired import Verdict
from tensorcopy.releases import release_table
from tests import launch_files

RELEASES = [release.version for release in release_table.load()][-12:]
TIME, COUNT = "copies.BySize.time_copy clone_detach 128", "instructions.BySize.track_instructions clone_detach 128 False"


def history_of(folder, times, counts=(), **options):
    """Return the history of a case with these microseconds by release, the newest last, and these instructions."""
    releases = RELEASES[-len(times) :]
    launch_files.write(folder, {TIME: {release: time for release, time in zip(releases, times) if time is not None}}, **options)
    for release, count in zip(releases, counts):
        if count:
            launch_files.write_counts(folder, release, {COUNT: count})
    return case_history.over(launch_files.load(folder))[launch_files.case(TIME)]


@pytest.mark.parametrize(
    ("times", "steps"),
    [
        ([1, 1, 1, 1, 1], {}),
        ([1, 1, 1.3, 1.3, 1.3], {2: None}),
        ([1.3, 1.3, 1, 1, 1], {2: None}),
        ([1, 1.3, 1, 1, 1], {1: 2, 2: None}),  # taken back at once
        ([1, 1.3, 1.3, 1.15, 1], {1: 4, 3: None, 4: None}),  # not by what takes back a part
        ([1, 1.3, 0.9, 0.9, 1.4], {1: 2, 2: 4, 4: None}),  # beyond where it began
        ([1, 0.9, 0.8, 0.9], {1: None, 2: 3, 3: None}),  # a gain that grew, and was lost in part
        ([1, 1.02, 1.04, 1.06, 1.08], {}),  # it creeps: no neighbours differ by the margin
    ],
)
def test_the_steps_of_a_case_and_what_took_them_back(tmp_path, times, steps):
    history = history_of(tmp_path, times, noise=0.0005)
    assert {step.index: history.taken_back(step) for step in history.steps} == steps
    for step in history.steps:
        assert step.ratio == pytest.approx(times[step.index] / times[step.index - 1], rel=0.005)
        assert (step.rises, step.against) == (times[step.index] > times[step.index - 1], "")


def test_the_choice_among_earlier_releases_counts(tmp_path):
    """A p that would suffice against one release does not against the fastest of ten."""
    standing = case_history.standing(history_of(tmp_path, [*[1.0] * 10, 1.018], noise=0.012, launches=5))
    assert standing.cost.verdict is Verdict.SLOWER
    assert 0.05 / 10 < standing.cost.p <= 0.05
    assert standing.since is None


# microseconds and instructions with each release, the newest last, and what else differs; of the newest: whether it is back
BACK = {
    "what was gained is lost": ([2.0, 1.93, 2.0], (), {}, True),
    "with 0.9 % more instructions": ([2.0, 1.93, 2.0], (1000, 990, 1009), {}, True),
    "with fewer instructions": ([2.0, 1.93, 2.0], (1000, 950, 960), {}, True),
    "and is still faster than before": ([2.0, 1.75, 1.82], (), {}, True),
    "where only the newest was counted": ([2.0, 1.93, 2.0], (None, None, 1500), {}, True),
    "after a release without a time": ([2.0, None, 1.93, 2.0], (), {}, True),
    "after a gain below the margin": ([2.0, 1.95, 2.015], (), {"noise": 0.001}, True),
    "with 1.1 % more instructions": ([2.0, 1.93, 2.0], (1000, 990, 1011), {}, False),
    "nothing was gained": ([2.0, 2.0, 2.08], (), {}, False),
    "gained earlier than with the release before": ([2.0, 1.93, 1.93, 2.0], (), {}, False),
    "slower than before it was gained": ([2.0, 1.98, 2.07], (), {"noise": 0.001}, False),
    "perhaps slower than before it was gained": ([2.0, 1.97, 2.059], (), {}, False),
    "nothing is lost": ([2.0, 1.93, 1.93], (), {}, False),
    "there is no release before the gain": ([1.93, 2.0], (), {}, False),
    "by more than layouts of a binary differ": ([2.0, 1.85, 1.96], (), {}, False),
    "a loss that is not significant": ([2.0, 1.93, 2.0], (), {"noise": 0.02, "launches": 3}, False),
}


@pytest.mark.parametrize(("times", "counts", "options", "is_back"), BACK.values(), ids=BACK)
def test_a_slowdown_is_back_only_where_every_condition_holds(tmp_path, times, counts, options, is_back):
    history = history_of(tmp_path, times, counts, **options)
    assert history.is_back(len(history.values) - 1) is is_back


def test_a_gain_that_may_be_none_is_no_gain(tmp_path):
    """The whole interval of the release before must be below 1: else what it lost is new, though not more than with the one before it."""
    gained = [2.0 * exp(-0.002 + (-1) ** place * (0.006 + 0.0001 * place)) for place in range(12)]
    launch_files.write(tmp_path, {TIME: {"2.13.0": [2.0] * 12, "2.14.1": gained, "2.15.0": [2.0 * exp(0.0285)] * 12}})
    history = case_history.over(launch_files.load(tmp_path))[launch_files.case(TIME)]
    assert history.neighbours[2].verdict is Verdict.SLOWER
    assert history.change(0, 2).verdict is Verdict.UNCHANGED
    assert history.neighbours[1].interval[0] < 1 < history.neighbours[1].interval[1]
    assert not history.is_back(2)


SINCE = {  # microseconds by release, how long the case is open, and the release with which it became slower
    "with the newest release": ([2.0, 2.0, 2.2], OpenSince.NEW, "2.15.0"),
    "with an earlier one": ([2.0, 2.2, 2.2], OpenSince.RECENT, "2.14.1"),
    "nothing but a gain that is lost": ([2.0, 1.93, 2.0], OpenSince.BACK, "2.15.0"),
    "the last of two gains that are lost": ([2.0, 1.915, 2.0, 1.98, 2.044], OpenSince.BACK, "2.15.0"),
    "with an earlier one, and a gain that is lost": ([1.5, 2.0, 1.93, 2.0], OpenSince.RECENT, "2.13.0"),
    "and is less slow than it was": ([1.5, 2.0, 1.8], OpenSince.RECENT, "2.14.1"),
    "and a later slowdown was taken back": ([1.5, 2.0, 2.0, 2.5, 2.0], OpenSince.RECENT, RELEASES[-4]),
    "with two releases": ([1.5, 2.0, 2.2], OpenSince.NEW, "2.15.0"),
    "in steps too small to be seen": ([1.98, 2.0, 2.04, 2.08, 2.12], OpenSince.OLDER, ""),
    "after its fastest release, and before it perhaps": ([[0.95, 1.05] * 6, 1.5, 0.99, 1.01, 1.03, 1.05, 1.07], OpenSince.OLDER, ""),
    "for seven releases": ([1.0] * 4 + [1.2] * 8, OpenSince.RECENT, RELEASES[4]),
    "for eight releases": ([1.0] * 3 + [1.2] * 9, OpenSince.OLDER, RELEASES[3]),
}


@pytest.mark.parametrize(("times", "since", "release"), SINCE.values(), ids=SINCE)
def test_an_open_case_is_as_old_as_its_last_slowdown_that_is_news(tmp_path, times, since, release):
    standing = case_history.standing(history_of(tmp_path, times))
    assert (standing.since, standing.release) == (since, release)


CUDA = "copies.Throughput.time_copy clone_detach 1024 cuda"
LAST = {  # times of the last of three releases, and how many are in the history of a case on the CPU
    "times on another device": ({CUDA: 1.0}, 2),
    "that, and a failure": ({CUDA: 1.0, TIME: "KeyError: 3"}, 3),
    "nothing but counts": ({}, 3),
}


@pytest.mark.parametrize(("times", "releases"), LAST.values(), ids=LAST)
def test_a_release_with_times_on_other_devices_alone_is_no_part_of_a_history(tmp_path, times, releases):
    """What was timed on a device stands as if no other were."""
    first, second, last = RELEASES[-3:]
    of_all = {case: {last: time} for case, time in times.items()}
    launch_files.write(tmp_path, {**of_all, TIME: {first: 1.0, second: 1.0, **of_all.get(TIME, {})}})
    launch_files.write_counts(tmp_path, last, {COUNT: 1000})
    history = case_history.over(launch_files.load(tmp_path))[launch_files.case(TIME)]
    assert history.releases == tuple(RELEASES[-3:][:releases])


def test_nothing_that_was_counted_has_no_history(tmp_path):
    """As of memory that a method does not take, with some release or with any; a tracked value may be zero."""
    none, some = (f"memory.Host.track_peak {method} 16 cpu" for method in ("tensor", "clone_detach"))
    for release, nbytes in zip(RELEASES[-2:], (0, 64)):
        launch_files.write_counts(tmp_path, release, {none: 0, some: nbytes, "theirs.track_loss": 0})
    by_case = case_history.over(launch_files.load(tmp_path))
    expected = {launch_files.case(some).name: (None, 64), "theirs.track_loss": (0, 0)}
    assert {case.name: history.values for case, history in by_case.items()} == expected


def test_a_comparison_knows_what_is_back_only_of_neighbours(tmp_path):
    """Against an earlier release, the same case may be slower for good."""
    history_of(tmp_path, [1.9, 2.0, 1.93, 2.0])
    *earlier, newest = results = launch_files.load(tmp_path)
    found = [case_history.between(Question(before, newest), results) for before in earlier]
    assert [each.changes[launch_files.case(TIME)].verdict.value for each in found] == ["slower", "unchanged", "slower"]
    assert [len(each.back) for each in found] == [0, 0, 1]
