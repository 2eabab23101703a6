"""Exact counts stand beside the times, and decide no verdict on one."""

import pytest

from tensorcopy.judge import comparisons
from tensorcopy.judge.comparisons import Question
from tensorcopy.results.cases import counted_case
from tests import launch_files
from tests.launch_files import case

BY_SIZE = "instructions.BySize.track_instructions"
TIMED = case("copies.BySize.time_copy clone_detach 16")


@pytest.mark.parametrize(
    ("timed", "counted"),
    [
        ("copies.BySize.time_copy clone_detach 16", f"{BY_SIZE} clone_detach 16 False"),
        ("conversions.ByGrad.time_conversion detach_clone_numpy 1024 True", f"{BY_SIZE} detach_clone_numpy 1024 True"),
        ("copies.ByDtype.time_copy tensor 131072 bool", "instructions.ByDtype.track_instructions tensor 131072 bool"),
        ("copies.ByDtype.time_copy tensor 131072 float32", f"{BY_SIZE} tensor 131072 False"),
        ("primitives.BySize.time_primitive cpu 1", "instructions.Others.track_instructions cpu 1 False"),
        ("copies.Latency.time_copy tensor 16 cuda", ""),
    ],
)
def test_the_count_of_a_timed_case_has_the_same_method_and_tensor(timed, counted):
    """Where nothing is counted, such as on a device, there is none."""
    assert counted_case(case(timed)) == (case(counted) if counted else None)


def test_repeated_counts_give_the_repeatability(tmp_path):
    """Beside the smallest of them: a disturbance only adds to a count."""
    launch_files.write(tmp_path, {"copies.BySize.time_copy clone_detach 16": {"2.14.1": 1.0, "2.15.0": 1.0}})
    for release, counts in (("2.14.1", [10_100, 10_000]), ("2.15.0", [10_150, 10_160])):
        launch_files.write_counts(tmp_path, release, {f"{BY_SIZE} clone_detach 16 False": counts})
    before, after = launch_files.load(tmp_path, "2.14.1", "2.15.0")
    change = comparisons.between(Question(before, after)).changes[TIMED].count
    assert (change.before, change.after) == (10_000, 10_150)
    assert change.repeatability == pytest.approx(0.01)
    assert change.changed
