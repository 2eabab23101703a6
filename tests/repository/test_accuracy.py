"""The accuracy report: what it counts is right where the truth is known, and a wrong judge is exposed."""

import json
import re
import shutil

import pytest
from msgspec.structs import replace

from docs.tools import accuracy
from tensorcopy.errors import TensorcopyError
from tensorcopy.judge import comparisons, paired
from tensorcopy.judge.paired import Verdict
from tests import launch_files

RELEASES = ("2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0")
METHODS = ("new_tensor", "clone_detach", "detach_clone", "tensor", "empty_like_copy")
CASES = [f"copies.BySize.time_copy {method} {numel}" for method in METHODS for numel in (1, 16, 1024, 2**17, 2**20)]
NOISE = 0.01  # of a side's layout in a launch


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Seven releases that do not differ, in twelve launches; slowdowns of known size."""
    folder = tmp_path_factory.mktemp("written")
    (folder / "docs").mkdir()
    launch_files.write(folder / "results", {case: dict.fromkeys(RELEASES, 5.0) for case in CASES}, noise=NOISE)
    for name, experiment in accuracy.EXPERIMENTS.items():
        sides = {f"2.15.0#{side}".rstrip("#"): 5.0 * (1 + share) for side, share in experiment.sides.items()}
        cases, launches = (CASES[:6], 40) if name == "now" else (CASES, 12)
        launch_files.write(folder / accuracy.FOLDER, dict.fromkeys(cases, sides), machine=name, launches=launches, noise=NOISE)
    return folder


@pytest.fixture
def checkout(written, monkeypatch):
    """The folder of these launches as the current one."""
    monkeypatch.chdir(written)
    return written


def report(checkout):
    """Return the values of the report by name."""
    accuracy.main(["report"])
    document = json.loads((checkout / accuracy.FILE).read_text())
    return {row["name"]: row["value"] for row in document["rows"]}


def figures(rows, name):
    """Return the numbers of the row whose name has a text, those of sizes one by one."""
    value = next(value for each, value in rows.items() if name in each)
    return [float(part) for part in re.split(" of | \\(", value)[0].rstrip(" %times").split(" / ")]


def test_the_figures_are_right_where_nothing_changed(checkout):
    """With noise of 1 % in twelve launches: intervals of 0.8 %, 95 % of which cover, and no false alarm; +5 % is always told."""
    rows = report(checkout)
    widths = figures(rows, "newest pair: half width")
    assert len(widths) == 3  # sizes that have cases
    assert all(0.6 < each < 1.1 for each in widths)
    assert all(2.5 < each < 5 for each in figures(rows, "newest pair: smallest slowdown seen"))
    assert figures(rows, "newest pair: neither changed nor unchanged")[0] < 10
    assert figures(rows, "other launches: comparisons with a false alarm")[0] <= 5
    assert 90 < figures(rows, "that cover 0")[0] < 99
    assert figures(rows, "joint 95 % interval")[0] > 90
    assert figures(rows, "twin in the same 12 launches") == [0]
    assert figures(rows, "planted +5 %") == [100]
    assert figures(rows, "planted +3 %")[0] > 90
    assert figures(rows, "a minute for each case") == [100]
    assert 90 < figures(rows, "cover the truth")[0] < 99


def test_a_missed_goal_is_named():
    """A reader needs no arithmetic."""
    assert accuracy.at_most([0.017, 0.011], [0.015, 0.025]) == ("≤ 1.5 / 2.5 %", True)
    assert accuracy.at_most([0.04, 0.2], [0.05]) == ("≤ 5 %", False)  # a goal of the first figure only
    assert accuracy.coverage("", [True] * 914 + [False] * 86)[1:] == ("91.4 % of 1,000", "93 to 97 %", True)
    assert not accuracy.coverage("", [True] * 95 + [False] * 5).missed
    assert accuracy.coverage("", [True] * 98 + [False] * 2).missed
    assert accuracy.at_least(6 / 6, 0.9) == ("≥ 90 %", False)


@pytest.fixture
def judging(monkeypatch):
    """A function that lets the judge change each of its changes."""
    judge = paired.judge

    def by(spoiled):
        monkeypatch.setattr(
            paired, "judge", lambda *given, **options: {case: spoiled(each) for case, each in judge(*given, **options).items()}
        )
        comparisons.judged.cache_clear()

    yield by
    comparisons.judged.cache_clear()


def test_a_judge_that_always_alarms_is_exposed(checkout, judging):
    """It tells every slowdown, and is wrong wherever nothing changed."""
    judging(lambda change: replace(change, verdict=Verdict.SLOWER))
    rows = report(checkout)
    assert figures(rows, "planted +5 %") == [100]
    assert figures(rows, "other launches: comparisons with a false alarm") == [100]
    assert figures(rows, "twin in the same") == [len(CASES)]


def test_intervals_that_are_too_narrow_are_exposed(checkout, judging):
    """They cover less than they promise, in the same launches, in others and on another occasion."""
    judging(lambda change: replace(change, interval=tuple((change.ratio * end) ** 0.5 for end in change.interval)))
    rows = report(checkout)
    assert all(figures(rows, name)[0] < 90 for name in ("that cover 0", "joint 95 % interval", "cover the truth"))


def test_launches_of_another_processor_are_refused(written, tmp_path, monkeypatch):
    """Slowdowns that were planted elsewhere say nothing of the history."""
    folder = shutil.copytree(written, tmp_path / "copy")
    monkeypatch.chdir(folder)
    launch_files.write(folder / accuracy.FOLDER, {CASES[0]: {"2.15.0": 5.0, "2.15.0#twin": 5.0}}, machine="elsewhere", cpu="Another")
    with pytest.raises(TensorcopyError, match="of another processor than the history"):
        accuracy.main(["report"])
