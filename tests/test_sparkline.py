"""A sparkline shows the whole history of a case in its cell, and its last change by colour and in words."""

from __future__ import annotations

import re

from tensorcopy.analysis.change_points import Step
from tensorcopy.analysis.series import CaseSeries
from tensorcopy.results.passes import Case
from tensorcopy.site.charts.sparkline import HEIGHT, MARGIN, Sparkline, sparkline, whole_percent

RELEASES = ("2.1.0", "2.2.0", "2.3.0", "2.4.0")


def drawn(*values: float | None, steps: tuple[Step, ...] = (), releases: tuple[str, ...] = RELEASES) -> Sparkline:
    case = Case("copies.BySize.time_copy", (("method", "a"), ("numel", "16")))
    series = CaseSeries(case, "", "seconds", RELEASES[: len(values)], (), values, (0.0,) * len(values), steps)
    return sparkline(series, releases)


def points(path: str) -> list[tuple[int, int]]:
    """Return the corners of a path of absolute starts and relative lines."""
    x = y = 0
    corners = []
    for command, first, second in re.findall(r"([Mlh])(-?\d+) ?(-?\d+)?", path):
        x, y = (int(first), int(second)) if command == "M" else (x + int(first), y + int(second or 0))
        corners.append((x, y))
    return corners


def paths(line: Sparkline) -> list[list[tuple[int, int]]]:
    return [points(path) for path in re.findall(r' d="([^"]*)"', line.svg)]


def test_a_history_without_a_change_has_no_colour():
    """It is one line from the first release to the last."""
    line = drawn(1e-6, 1e-6, 1e-6, 1e-6)
    assert (line.value, line.change, line.verdict, line.release) == ("1.00 µs", "", "", "")
    assert paths(line) == [[(0, 15), (6, 15), (12, 15), (18, 15)]]
    assert 'class="spark"' in line.svg


def test_the_line_has_the_colour_of_its_last_change_from_there_on():
    """The part before is another line, which ends where this one begins."""
    line = drawn(4e-6, 4e-6, 2e-6, 2e-6, steps=(Step(2, 4e-6, 2e-6, 0.0),))
    assert (line.value, line.change, line.verdict, line.release) == ("2.00 µs", "−50\u202f%", "faster", "2.3.0")
    before, after = paths(line)
    assert before == [(0, MARGIN), (6, MARGIN), (12, HEIGHT - MARGIN)]
    assert after == [(12, HEIGHT - MARGIN), (18, HEIGHT - MARGIN)]
    assert 'class="spark faster"' in line.svg


def test_the_last_of_several_changes_counts():
    """Faster at first and slower since is slower."""
    line = drawn(4e-6, 2e-6, 2e-6, 3e-6, steps=(Step(1, 4e-6, 2e-6, 0.0), Step(3, 2e-6, 3e-6, 0.0)))
    assert (line.change, line.verdict, line.release) == ("+50\u202f%", "slower", "2.4.0")


def test_noise_does_not_fill_the_cell():
    """A tenth is a fifth of the height at most."""
    heights = [y for _, y in paths(drawn(1e-6, 1.1e-6, 1e-6, 1.1e-6))[0]]
    assert max(heights) - min(heights) <= HEIGHT / 5


def test_a_release_that_was_not_measured_is_a_gap():
    """A value between two gaps is a dash; the axis is that of all releases."""
    assert paths(drawn(None, 1e-6, None, 1e-6)) == [[(6, 15), (7, 15), (18, 15), (19, 15)]]
    assert paths(drawn(1e-6, 1e-6, releases=("2.0.0", *RELEASES)))[0] == [(6, 15), (12, 15)]


def test_changes_are_in_per_cent_whatever_their_size():
    """A column with ×9.6 beside −20 % would be hard to read."""
    assert [whole_percent(ratio) for ratio in (0.8, 1.04, 9.6)] == ["−20\u202f%", "+4\u202f%", "+860\u202f%"]
