"""Where a case stands: which release is its best, what the newest one costs against that, and since when."""

import pytest

from tensorcopy.judge import case_history, groups
from tensorcopy.judge.paired import Verdict
from tensorcopy.releases import release_table
from tests import launch_files

RELEASES = [release.version for release in release_table.load() if release.kind == "release"][-12:]
METHODS = [f"m{number}" for number in range(8)]
CASE = "copies.BySize.time_copy m0 16"


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
    by_case = case_history.over(launch_files.load(tmp_path, *RELEASES))
    known = [case_history.standing(each) for each in by_case.values()]
    assert known.count(None) == 1
    first, second = groups.open_methods(case_history.standings(by_case).values())
    assert [groups.subject(each.cases[0].case) for each in (first, second)] == ["m2", "m1"]
    assert [each.ratio for each in second.cases] == pytest.approx([1.5, 1.2], rel=0.01)
    assert second.worst.case["numel"] == "1024"


def test_only_what_the_newest_release_measured_is_open(tmp_path):
    """A case that the newest release skips costs nothing there, however slow it was with the one before."""
    other = CASE.replace("m0", "m1")
    times = [1, 1, 1, 1.3, 1.3, 1.3, None]
    launch_files.write(tmp_path, {CASE: dict(zip(RELEASES, times)), other: dict(zip(RELEASES, [1.0] * 7))})
    by_case = case_history.over(launch_files.load(tmp_path, *RELEASES[:7]))
    standing = case_history.standing(by_case[launch_files.case(CASE)])
    assert (standing.newest, standing.cost.verdict, standing.is_open) == (5, Verdict.SLOWER, False)
    assert groups.open_methods([standing]) == []
