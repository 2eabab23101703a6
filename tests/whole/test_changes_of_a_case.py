"""What the table and the data of a case say of its changes is what its history has; `test_one_answer` has the numbers."""

import re
from io import StringIO

import pytest
from rich.console import Console

from tensorcopy.copying.shipped import shipped
from tensorcopy.numbers import change_size
from tensorcopy.releases import release_table
from tensorcopy.report import terminal
from tensorcopy.results.result import Result
from tensorcopy.site import facts
from tests import launch_files
from tests.conftest import measured

RELEASES = release_table.load()[-8:]


def shown(results: list[Result]):
    """Return the history of the one case of some results, and its rows with a change."""
    (machine,) = facts.site(shipped(), results).histories
    ((case, history),) = machine.cases.items()
    return history, [row for row in machine.rows(case) if row.verdict]


STEP, FLAT = [1.0] * 4 + [1.5] * 4, [1.0] * 8


@pytest.mark.parametrize(
    ("newer", "older", "number"),
    [(STEP, STEP, 1), (STEP, FLAT, 1), (FLAT, STEP, 1), (FLAT, FLAT, 0), (STEP, FLAT[:3], 1)],
    ids=["both", "newer", "older", "neither", "not measured on the older"],
)
def test_a_newer_python_decides_from_its_first_release_on(newer, older, number):
    """What only the older one shows says so; the data have no change that `tensorcopy history` does not print."""
    results = [
        measured(release, {("a", 16): time * 1e-6}, python=python)
        for python, times in {"3.12": newer, "3.9": older}.items()
        for release, time in zip(RELEASES, times)
    ]
    history, rows = shown(results)
    on = " on Python 3.9 only" if newer is FLAT else ""
    python = "3.9" if on else "3.12"
    assert [(row.release, row.python, row.change) for row in rows] == [(RELEASES[4].version, python, f"+50.0 %{on}")] * number
    console = Console(file=StringIO(), width=200)
    console.print(terminal.case_table(history))
    printed = re.findall(r"^torch (\S+): slower by 50\.0 %.*?( on Python 3\.9 only)?$", console.file.getvalue(), re.MULTILINE)
    assert printed == [(RELEASES[4].version, on)] * number


def test_the_size_of_a_change_is_that_of_the_release_against_the_one_before(tmp_path):
    """With its interval, by which a reader of the history sees how sure it is; the level after it is another value."""
    times = [1.0, 1.0, 1.0, 1.0, 1.5, 1.52, 1.54, 1.56]
    cases = {"copies.BySize.time_copy clone_detach 16": {release.version: time for release, time in zip(RELEASES, times)}}
    launch_files.write(tmp_path, cases)
    history, (row,) = shown(launch_files.load(tmp_path))
    (step,) = history.steps
    low, high = step.interval
    assert low < step.ratio < high
    assert low < 1.5 < high < 1.52
    assert (row.change, row.interval) == (f"+{change_size(step.ratio)}", f"+{100 * (low - 1):.1f} to +{100 * (high - 1):.1f} %")
