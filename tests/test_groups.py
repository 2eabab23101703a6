"""Changes of groups of cases, and histories over two Pythons."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from math import log
from random import Random

import pytest

from tensorcopy.analysis import series
from tensorcopy.releases.release_table import Release, ReleaseIndex
from tensorcopy.report import sentences
from tensorcopy.results.cases import Case
from tests.conftest import measured

RELEASES = tuple(
    Release(f"2.{minor}.0", date(2022, 1, minor), f"{minor:x}" * 40, ("3.9", "3.12"), "1.26.4", "https://example.org")
    for minor in range(1, 13)
)
METHODS = [f"method_{number}" for number in range(12)]


@pytest.fixture(autouse=True)
def table(monkeypatch):
    monkeypatch.setattr("tensorcopy.releases.release_table.load", lambda: ReleaseIndex(RELEASES))


def results(ratio_at, *, noise=0.016, passes=8, python="3.11", releases=RELEASES, scale=1.0, seed=1):
    """Return a result for each release, in which each method takes `ratio_at(index, method)` microseconds, with noise by pass."""
    random = Random(seed)
    all_results = []
    for index, release in enumerate(releases):
        result = measured(release, {(method, 16): 1e-6 for method in METHODS}, python=python)
        timings = {
            case: timing(
                [
                    PassSamples((1e-6 * scale * ratio_at(index, case["method"]) * (1 + random.gauss(0, noise)),), name=f"{index}-{number}")
                    for number in range(passes)
                ]
            )
            for case in result.timings
        }
        all_results.append(replace(result, timings=timings))
    return all_results


def test_a_change_that_no_case_shows_is_found_in_the_group():
    """−8 % in twelve cases, most of them too noisy to show it."""
    by_case = series.over(results(lambda index, method: 0.92 if index >= 6 else 1.0, noise=0.08, passes=4))
    (change,) = series.changes_by_release(by_case)
    assert (change.release, change.verdict) == ("2.7.0", "faster")
    assert change.as_group is not None
    assert change.ratio == pytest.approx(0.92, abs=0.02)
    assert len(change.cases) <= 3
    assert sentences.change_text(change).startswith("copies at numel ≤ 2¹⁴ faster as a group, −")


def test_a_change_of_one_case_is_not_attributed_to_its_group():
    """A case that takes twice as long moves the mean of twelve by 6 %."""
    by_case = series.over(results(lambda index, method: 2.0 if index >= 6 and method == "method_3" else 1.0))
    (change,) = series.changes_by_release(by_case)
    assert [case["method"] for case in change.cases] == ["method_3"]
    assert change.as_group is None
    assert sentences.change_text(change) == "1 of 12 copies at numel ≤ 2¹⁴ slower, median +98.7 %"


def test_changes_are_grouped_by_direction():
    """At one release some cases are slower and others faster; the largest change comes first."""
    ratios = {"method_1": 1.3, "method_2": 1.5, "method_3": 0.7}
    by_case = series.over(results(lambda index, method: ratios.get(method, 1.0) if index >= 6 else 1.0))
    slower, faster = series.changes_by_release(by_case)
    assert (slower.verdict, [case["method"] for case in slower.cases]) == ("slower", ["method_2", "method_1"])
    assert (faster.verdict, [case["method"] for case in faster.cases]) == ("faster", ["method_3"])
    assert slower.ratio == pytest.approx(1.4, rel=0.02)


def test_groups_without_a_change_have_none():
    """Twenty seeds of twelve releases show at most one change."""
    changes = [
        change
        for seed in range(20)
        for change in series.changes_by_release(series.over(results(lambda index, method: 1.0, passes=4, seed=seed)))
        if change.as_group
    ]
    assert len(changes) <= 1


def test_two_pythons_are_one_history():
    """The older Python's earlier releases are scaled by the ratio at the first shared release."""
    older = results(lambda index, method: 1.0 if index < 2 else 1.5, python="3.9", releases=RELEASES[:7], scale=1.25)
    newer = results(lambda index, method: 1.5, releases=RELEASES[4:], seed=2)
    by_case = series.joined([newer, older])
    case_series = by_case[Case("copies.BySize.time_copy", (("method", "method_0"), ("numel", "16")))]
    assert case_series.releases == tuple(release.version for release in RELEASES)
    (step,) = case_series.steps
    assert step.index == 2
    assert step.ratio == pytest.approx(1.5, rel=0.02)
    assert [result.python for result in case_series.sides(step)] == ["3.9", "3.9"]
    assert case_series.measured[0] == pytest.approx(1.25e-6, rel=0.02)
    assert case_series.measured[-1] == pytest.approx(1.5e-6, rel=0.02)


def test_a_change_at_the_joint_is_that_of_the_older_python():
    """Both sides are of one Python: the change of Python is no change of torch."""
    older = results(lambda index, method: 1.0 if index < 4 else 1.3, python="3.9", releases=RELEASES[:7], scale=1.4)
    newer = results(lambda index, method: 1.3, releases=RELEASES[4:], seed=2)
    (case_series, *_) = series.joined([newer, older]).values()
    (step,) = case_series.steps
    assert step.index == 4
    assert abs(log(step.ratio / 1.3)) < 0.02
    before, after = case_series.sides(step)
    assert (before.python, after.python, after.sha) == ("3.9", "3.9", RELEASES[4].sha)


def test_pythons_without_a_shared_release_are_not_joined():
    """There is no ratio to scale by."""
    older = results(lambda index, method: 1.0, python="3.9", releases=RELEASES[:4])
    newer = results(lambda index, method: 1.0, releases=RELEASES[4:])
    (case_series, *_) = series.joined([newer, older]).values()
    assert len(case_series.releases) == 8


def test_an_environment_that_measured_one_case_does_not_end_the_group():
    """Such as an interpreter of the same Python, in which a single suite was run."""
    (newest,) = results(lambda index, method: 1.0, releases=RELEASES[-1:])
    one = {case: timing for case, timing in newest.timings.items() if case["method"] == METHODS[0]}
    by_case = series.joined([[replace(newest, timings=one)], results(lambda index, method: 0.92 if index >= 6 else 1.0)])
    assert [change.release for change in series.changes_by_release(by_case)] == ["2.7.0"]


def test_a_case_of_another_python_hides_no_change():
    """It has a separate axis, which may be longer than that of the others."""
    newer = results(lambda index, method: 0.92 if index >= 3 else 1.0, releases=RELEASES[6:])
    older = results(lambda index, method: 1.0, python="3.9", releases=RELEASES[:6])
    only_here = {Case("copies.BySize.time_copy", (("method", "gone"), ("numel", "16"))): next(iter(older[0].timings.values()))}
    by_case = series.joined([newer, [replace(result, timings=only_here) for result in older]])
    assert [change.release for change in series.changes_by_release(by_case)] == ["2.10.0"]


def test_three_pythons_are_one_history():
    """The values of each are scaled to the next; those measured are as measured."""
    oldest = results(lambda index, method: 1.0, python="3.8", releases=RELEASES[:4], scale=10.0, noise=0.0)
    older = results(lambda index, method: 1.0, python="3.9", releases=RELEASES[3:8], scale=2.0, noise=0.0)
    newer = results(lambda index, method: 1.0, releases=RELEASES[7:], noise=0.0)
    (case_series, *_) = series.joined([newer, older, oldest]).values()
    assert case_series.values == pytest.approx([1e-6] * 12)
    assert case_series.measured == pytest.approx([1e-5] * 3 + [2e-6] * 4 + [1e-6] * 5)
    assert [joint.factor for joint in case_series.joints] == pytest.approx([0.2, 0.5])


def test_an_older_python_without_earlier_values_is_not_joined():
    """The case exists since the release that both measured first."""
    newer = results(lambda index, method: 1.0, releases=RELEASES[4:])
    older = [replace(result, timings={} if index < 4 else result.timings) for index, result in
             enumerate(results(lambda index, method: 1.0, python="3.9", releases=RELEASES[:7]))]  # fmt: skip
    (case_series, *_) = series.joined([newer, older]).values()
    assert case_series.joints == ()
