"""The progress of a job and its remaining time."""

import pytest

from tensorcopy.measure.progress import Progress, Reporter, within

REPORTS: list[Progress] = []
REPORTER = Reporter([("installing", 40.0), ("measuring", 80.0), ("publishing", 5.0)], REPORTS.append)


@pytest.mark.parametrize(
    ("arguments", "progress"),
    [
        ((0, 0.0, 10.0), Progress("installing", 0.0, 30.0 + 85.0)),
        ((1, 0.25, 40.0, "copies.BySize"), Progress("measuring: copies.BySize", 60 / 125, 120.0 + 5.0)),
        ((2, 1.0, 5.0), Progress("publishing", 1.0, 0.0)),
    ],
    ids=["the expected time, until the pace is known", "a quarter in 40 s: 120 s remain", "finished"],
)
def test_the_remaining_time_follows_from_the_pace(arguments, progress):
    """Of later stages the expected times remain."""
    REPORTER.at(*arguments)
    assert REPORTS[-1] == progress


def test_a_part_of_a_job_reports_its_share_of_the_whole():
    """Two phases with reporters of their own draw one bar."""
    whole: list[Progress] = []
    for first, last in ((0.0, 0.5), (0.5, 1.0)):
        Reporter([("counting", 10.0)], within(whole.append, first, last)).at(0, 0.5, 5.0)
    assert [report.done for report in whole] == [0.25, 0.75]
