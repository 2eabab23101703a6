"""What is measured again, and what becomes of it. That it is really measured: tests/test_true_numbers.py."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tensorcopy.analysis import comparisons, retest
from tensorcopy.analysis.two_sample import Change, Verdict
from tensorcopy.measure import remeasure
from tensorcopy.releases import release_table
from tensorcopy.results.load import Case
from tests.conftest import compared, measured_in_passes
from tests.test_judging import passes

CASE = Case("copies.BySize.time_copy", (("method", "tensor"), ("numel", "16")))
CLEAR = Change(Verdict.SLOWER, "by 9.0 %, between 7.0 and 11.0 %", 1.09, (1.07, 1.11), 0.001)
SUSPECT = Change(Verdict.INCONCLUSIVE, "between 1.0 and 9.0 % slower; about 9 more passes would tell", 1.05, (1.01, 1.09), 0.7)


@pytest.fixture
def found(tmp_path):
    """A comparison on disk; each test gives its case the change it needs."""
    for version in ("2.14.1", "2.15.0"):
        measured_in_passes(tmp_path / "results", release_table.find(version), {"tensor": passes(2.0)})
    return compared("2.14.1", "2.15.0", tmp_path / "results", margin=0.03)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (CLEAR, Verdict.SLOWER),
        (replace(CLEAR, verdict=Verdict.FASTER, ratio=0.9, interval=(0.88, 0.92)), Verdict.FASTER),
        (SUSPECT, Verdict.SLOWER),
        (replace(SUSPECT, ratio=0.95, interval=(0.91, 0.99)), Verdict.FASTER),
        (replace(SUSPECT, ratio=1.02, interval=(1.005, 1.035)), None),
        (replace(SUSPECT, interval=(0.99, 1.1)), None),
        (Change(Verdict.INCONCLUSIVE, "no result before"), None),
        (Change(Verdict.UNCHANGED, "no change larger than 1.0 %", 1.0, (0.99, 1.01), 1.0), None),
    ],
    ids=["slower", "faster", "suspect", "faster suspect", "too small", "not clear", "not measured", "same"],
)
def test_what_is_clear_by_itself_is_measured_again(found, change, expected):
    """Changes, and suspects among so many cases that nothing can be said of one."""
    assert retest.flagged(replace(found, changes={CASE: change})) == ({CASE: expected} if expected else {})


def test_a_suspect_that_holds_says_what_was_measured_of_it_alone():
    """What made it suspect was the largest of many."""
    again = replace(CLEAR, reason="by 6.0 %, between 5.0 and 7.0 %", ratio=1.06)
    one = retest._held(replace(SUSPECT, confirmed=(2, 2)), Verdict.SLOWER, again)
    assert one.sentence == "slower by 6.0 %, between 5.0 and 7.0 %; held in 2 of 2"
    assert retest._held(CLEAR, Verdict.SLOWER, again) == CLEAR


def test_what_does_not_hold_is_undecided():
    """A change says what it was; a suspect was undecided already."""
    assert retest._fallen(replace(CLEAR, confirmed=(1, 2))).sentence == (
        "inconclusive: slower by 9.0 %, between 7.0 and 11.0 %, but not when measured again; held in 1 of 2"
    )
    assert retest._fallen(SUSPECT) == SUSPECT


def test_only_the_flagged_cases_are_measured():
    """By asv's names for them, quoted or not."""
    found = remeasure.expression([CASE])
    assert re.search(found, "copies.BySize.time_copy('tensor', 16)")
    assert not re.search(found, "copies.BySize.time_copy('new_tensor', 16)")
    assert not re.search(found, "copies.BySize.time_copy('tensor', 1)")
    assert re.search(remeasure.expression([Case("floors.Control.time_sum", ())]), "floors.Control.time_sum")


@pytest.mark.parametrize(
    ("ratios", "told", "asked"),
    [
        ([1.25, 1.25], ("slower", (2, 2)), [(1, 4), (2, 4)]),
        ([1.25, 0.9], ("inconclusive", (1, 2)), [(1, 4), (2, 4)]),
        ([0.9, 1.25], ("inconclusive", (0, 1)), [(1, 4)]),
        ([1.02, 1.25], ("inconclusive", (0, 1)), [(1, 4), (1, 8), (1, 16)]),
    ],
    ids=["holds", "falls the second time", "falls at once", "is never decided"],
)
def test_a_change_is_measured_until_it_holds_or_falls(found, tmp_path, ratios, told, asked):
    """What has fallen once is not measured again; what is not decided has a cap."""
    seen = []

    def again(time, cases, passes):
        seen.append((time, passes))
        strays = [1, 1.01, 0.99, 1.02, 0.98, 1, 1.01, 0.99]
        for release, factor in ((found.before, 1.0), (found.after, ratios[time - 1])):
            row = release_table.find(comparisons.version(release))
            measured_in_passes(tmp_path / "again", row, {"tensor": [2.0 * factor * stray for stray in strays]})
        one = compared("2.14.1", "2.15.0", tmp_path / "again", margin=0.03)
        return one.before, one.after

    change = retest.confirmed(replace(found, changes={CASE: CLEAR}), again).changes[CASE]
    assert (change.verdict.value, change.confirmed) == told
    assert seen == asked
