"""Exact counts stand beside the times, and decide no verdict on one."""

import json
from dataclasses import replace
from itertools import permutations

import pytest

from tensorcopy.cli import main
from tensorcopy.judge import case_history, comparisons
from tensorcopy.judge.paired import CountPair, Reason
from tensorcopy.results.cases import counted_case
from tests import launch_files
from tests.conftest import NEW, OLD, measured
from tests.launch_files import case

BY_SIZE = "instructions.BySize.track_instructions"
COUNTED, TIMED = case(f"{BY_SIZE} clone_detach 16 False"), case("copies.BySize.time_copy clone_detach 16")


def count(before: float, after: float, repeatability: float | None = None) -> CountPair:
    return CountPair("instructions", before, after, repeatability, comparisons.least_change(repeatability))


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


def test_a_change_is_at_least_twice_the_repeatability():
    """Two counts of one case that differ by 3 % make a change of 5 % none."""
    assert not count(10_000, 10_500, repeatability=0.03).changed
    assert count(10_000, 10_700, repeatability=0.03).changed


@pytest.mark.parametrize(("percent", "changed"), [(None, True), (0.5, True), (1.4, True), (2, False), (3, False), (10, False)])
def test_a_margin_that_is_asked_for_holds_for_counts(tmp_path, monkeypatch, capsys, percent, changed):
    """Also one below the usual margin of times; the usual one of counts is another."""
    monkeypatch.chdir(tmp_path)
    for release, number in (("2.14.1", 10_000), ("2.15.0", 10_150)):
        launch_files.write_counts(tmp_path / "results", release, {f"{BY_SIZE} clone_detach 16 False": [number] * 2})
    launch_files.write(tmp_path / "results", {"copies.BySize.time_copy clone_detach 16": {"2.14.1": 1.0, "2.15.0": 1.0}})
    options = ["--margin", str(percent)] if percent else []
    for metric in ("instructions", "time"):
        assert main(["compare", "2.14.1", "2.15.0", "--format", "json", "--metric", metric, *options]) == 0
        (row,) = json.loads(capsys.readouterr().out)["changes"]
        assert (row["work_verdict"] == "more") is changed, metric


def test_repeated_counts_give_the_repeatability():
    """Beside the smallest of them: a disturbance only adds to a count."""
    before = replace(measured(OLD, {("clone_detach", 16): 1e-6}), count_repeats={COUNTED: (10_100.0, 10_000.0)})
    after = replace(measured(NEW, {("clone_detach", 16): 1e-6}), count_repeats={COUNTED: (10_150.0,)})
    change = comparisons.count_pair(before, after, TIMED)
    assert (change.before, change.after) == (10_000, 10_150)
    assert change.repeatability == pytest.approx(0.01)
    assert not change.changed


def test_a_count_that_differs_from_launch_to_launch_is_changed_by_no_less():
    """On either side, in a comparison and in a history: here those of the newest differ by 3 %."""
    before = replace(measured(OLD, {}), count_repeats={COUNTED: (10_000.0, 10_000.0)})
    for repeats, spread, changed in (((10_200.0, 10_506.0), 0.03, False), ((10_200.0, 10_200.0), 0.0, True)):
        for sides in permutations((before, replace(measured(NEW, {}), count_repeats={COUNTED: repeats}))):
            change = comparisons.count_pair(*sides, COUNTED)
            assert (change.repeatability, change.changed) == (pytest.approx(spread), changed)
            values, spreads = case_history._of_counts(COUNTED, sides)
            assert bool(case_history.exact_steps(values, spreads)) is changed


@pytest.mark.parametrize(("repeats", "changed"), [(1, False), (2, True)])
def test_a_count_that_was_not_repeated_changes_by_no_less_than_usual(repeats, changed):
    """Whatever margin is asked for: by how much it would differ is unknown."""
    sides = [replace(measured(OLD, {}), count_repeats={COUNTED: (number,) * repeats}) for number in (10_000.0, 10_050.0)]
    assert comparisons.count_pair(*sides, COUNTED, margin=0.002).changed is changed


def test_counts_of_two_machines_are_not_compared():
    """valgrind reports another processor there."""
    sides = [
        replace(measured(release, {("clone_detach", 16): 1e-6}, machine=machine), count_repeats={COUNTED: (1000.0,)})
        for release, machine in ((OLD, "a"), (NEW, "b"))
    ]
    assert comparisons.count_pair(*sides, TIMED) is None


def test_a_counted_case_has_exact_steps():
    """Each release against the one before; a gap is skipped."""
    steps = case_history.exact_steps([1000, 1000, None, 1050, 1049, 900], [0.0] * 6)
    assert [(step.index, round(step.ratio, 3)) for step in steps] == [(3, 1.05), (5, round(900 / 1049, 3))]


@pytest.mark.parametrize(
    ("before", "after", "changed"), [(1000, 1010, True), (1010, 1000, True), (1000, 1009, False), (0, 1, True), (1, 0, True), (0, 0, False)]
)
def test_a_comparison_and_a_history_agree_on_what_has_changed(before, after, changed):
    """In either direction, from and to nothing."""
    assert count(before, after).changed is changed
    if before and after:
        assert bool(case_history.exact_steps([before, after], [0.0, 0.002])) is changed


def test_a_case_that_cannot_be_compared_does_not_count_among_those_that_are_judged_together(tmp_path):
    """Beside another numpy, the conversions are unknown, and the copies are judged as without them."""
    first, second = [1.0, 1.01, 0.99, 1.02, 0.98, 1.0], [1.02, 1.01, 1.0, 1.03, 1.0, 1.04]
    copies = {f"copies.BySize.time_copy {method} 16": {"2.14.1": first, "2.15.0": second} for method in ("tensor", "clone_detach")}
    conversion = {"conversions.BySize.time_conversion detach_numpy_copy 16": {"2.14.1": first, "2.15.0": second[::-1]}}
    judged = []
    for folder, cases in (("alone", copies), ("together", {**copies, **conversion})):
        launch_files.write(tmp_path / folder, cases, sides={"2.15.0": {"numpy": "2.0.0"}})
        judged.append(comparisons.between(comparisons.Question(*launch_files.load(tmp_path / folder, "2.14.1", "2.15.0"))).changes)
    alone, together = judged
    assert [change.reason for case, change in together.items() if case not in alone] == [Reason.PROVENANCE_DIFFERS]
    assert {case: together[case] for case in alone} == alone
    assert all(change.p and 1e-3 < change.p < 1 for change in alone.values())
