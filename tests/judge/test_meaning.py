"""What a change of a time means: new or back to an earlier level, taken back, and with which instructions."""

from math import exp

import pytest

from tensorcopy.judge import case_history
from tensorcopy.judge.case_history import OpenSince
from tensorcopy.judge.comparisons import Question
from tensorcopy.judge.paired import Verdict
from tensorcopy.releases import release_table
from tests import launch_files

RELEASES = [release.version for release in release_table.load() if release.kind == "release"][-12:]
TIME, COUNT = "copies.BySize.time_copy clone_detach 128", "instructions.BySize.track_instructions clone_detach 128 False"


def history_of(folder, times, counts=(), **options):
    """Return the history of a case with these microseconds by release, the newest last, and these instructions."""
    releases = RELEASES[-len(times) :]
    launch_files.write(folder, {TIME: {release: time for release, time in zip(releases, times) if time is not None}}, **options)
    for release, count in zip(releases, counts):
        if count:
            launch_files.write_counts(folder, release, {COUNT: count})
    return case_history.over(launch_files.load(folder))[launch_files.case(TIME)]


# microseconds and instructions with each release, the newest last, and what else differs; of the newest: whether it is back
BACK = {
    "what was gained is lost": ([2.0, 1.93, 2.0], (), {}, True),
    "with as many instructions": ([2.0, 1.93, 2.0], (1000, 990, 1000), {}, True),
    "with 0.9 % more instructions": ([2.0, 1.93, 2.0], (1000, 990, 1009), {}, True),
    "with fewer instructions": ([2.0, 1.93, 2.0], (1000, 950, 960), {}, True),
    "and is still faster than before": ([2.0, 1.75, 1.82], (), {}, True),
    "where only the newest was counted": ([2.0, 1.93, 2.0], (None, None, 1500), {}, True),
    "after a release without a time": ([2.0, None, 1.93, 2.0], (), {}, True),
    "after a gain below the margin": ([2.0, 1.95, 2.015], (), {"noise": 0.001}, True),
    "with 1.1 % more instructions": ([2.0, 1.93, 2.0], (1000, 990, 1011), {}, False),
    "nothing was gained": ([2.0, 2.0, 2.08], (), {}, False),
    "something was lost before": ([2.0, 2.08, 2.16], (), {}, False),
    "gained earlier than with the release before": ([2.0, 1.93, 1.93, 2.0], (), {}, False),
    "slower than before it was gained": ([2.0, 1.98, 2.07], (), {"noise": 0.001}, False),
    "perhaps slower than before it was gained": ([2.0, 1.97, 2.059], (), {}, False),
    "nothing is lost": ([2.0, 1.93, 1.93], (), {}, False),
    "there is no release before the gain": ([1.93, 2.0], (), {}, False),
    "by more than layouts of a binary differ": ([2.0, 1.85, 1.96], (), {}, False),
    "a loss that is not significant": ([2.0, 1.93, 2.0], (), {"noise": 0.02, "launches": 3}, False),
    "a loss from two launches": ([2.0, 1.93, 2.0], (), {"launches": 2}, False),
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
    "with an earlier one, and a gain that is lost": ([1.5, 2.0, 1.93, 2.0], OpenSince.RECENT, "2.13.0"),
    "with two releases": ([1.5, 2.0, 2.2], OpenSince.NEW, "2.15.0"),
    "in steps too small to be seen": ([1.98, 2.0, 2.04, 2.08, 2.12], OpenSince.OLDER, ""),
    "for seven releases": ([1.0] * 4 + [1.2] * 8, OpenSince.RECENT, RELEASES[4]),
    "for eight releases": ([1.0] * 3 + [1.2] * 9, OpenSince.OLDER, RELEASES[3]),
}


@pytest.mark.parametrize(("times", "since", "release"), SINCE.values(), ids=SINCE)
def test_an_open_case_is_as_old_as_its_last_slowdown_that_is_news(tmp_path, times, since, release):
    standing = case_history.standing(history_of(tmp_path, times))
    assert (standing.since, standing.release) == (since, release)


def test_a_comparison_knows_what_is_back_only_of_neighbours(tmp_path):
    """Against an earlier release, the same case may be slower for good."""
    history_of(tmp_path, [1.9, 2.0, 1.93, 2.0])
    *earlier, newest = results = launch_files.load(tmp_path)
    found = [case_history.between(Question(before, newest), results) for before in earlier]
    assert [each.changes[launch_files.case(TIME)].verdict.value for each in found] == ["slower", "unchanged", "slower"]
    assert [len(each.back) for each in found] == [0, 0, 1]
