"""Which changes are measured again, and which are confirmed.

Tests/test_true_numbers.py really measures.
"""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tensorcopy.analysis import comparisons, retest
from tensorcopy.analysis.two_sample import Change, Reason, Verdict
from tensorcopy.measure import remeasure
from tensorcopy.releases import release_table
from tensorcopy.results.passes import Case
from tests.conftest import compared, measured_in_passes, pass_times

CASE = Case("copies.BySize.time_copy", (("method", "tensor"), ("numel", "16")))
CLEAR = Change(Verdict.SLOWER, Reason.CHANGED, 1.09, (1.07, 1.11), 0.001)
SUSPECT = Change(Verdict.INCONCLUSIVE, Reason.INTERVAL_TOO_WIDE, 1.05, (1.01, 1.09), 0.7, more_passes=9)


@pytest.fixture
def comparison(tmp_path):
    """Return a comparison of results on disk.

    Each test gives its case the change it needs.
    """
    for version in ("2.14.1", "2.15.0"):
        measured_in_passes(tmp_path / "results", release_table.find(version), {"tensor": pass_times(2.0)})
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
        (Change(Verdict.INCONCLUSIVE, Reason.NO_SAMPLES_BEFORE), None),
        (Change(Verdict.UNCHANGED, Reason.WITHIN_MARGIN, 1.0, (0.99, 1.01), 1.0), None),
    ],
    ids=["slower", "faster", "suspect", "faster suspect", "too small", "not clear", "not measured", "unchanged"],
)
def test_changes_and_suspects_are_measured_again(comparison, change, expected):
    """A suspect is inconclusive only because of the number of cases."""
    assert retest.flagged(replace(comparison, changes={CASE: change})) == ({CASE: expected} if expected else {})


def test_a_confirmed_suspect_has_the_numbers_of_its_repeat():
    """Its first numbers are biased: it was the largest of many."""
    repeated = replace(CLEAR, ratio=1.06, interval=(1.05, 1.07))
    change = retest._confirmed(replace(SUSPECT, confirmed=(2, 2)), Verdict.SLOWER, repeated)
    assert change == replace(repeated, p=SUSPECT.p, confirmed=(2, 2))
    assert retest._confirmed(CLEAR, Verdict.SLOWER, repeated) == CLEAR


def test_a_change_that_is_not_confirmed_is_inconclusive():
    """It keeps its numbers; a suspect stays as it was."""
    change = retest._not_confirmed(replace(CLEAR, confirmed=(1, 2)))
    assert change == replace(CLEAR, verdict=Verdict.INCONCLUSIVE, reason=Reason.NOT_CONFIRMED, confirmed=(1, 2))
    assert retest._not_confirmed(SUSPECT) == SUSPECT


def test_only_the_flagged_cases_are_measured():
    """By the names that asv gives them, quoted or not."""
    expression = remeasure.expression([CASE])
    assert re.search(expression, "copies.BySize.time_copy('tensor', 16)")
    assert not re.search(expression, "copies.BySize.time_copy('new_tensor', 16)")
    assert not re.search(expression, "copies.BySize.time_copy('tensor', 1)")
    assert re.search(remeasure.expression([Case("floors.Control.time_sum", ())]), "floors.Control.time_sum")


@pytest.mark.parametrize(
    ("ratios", "verdict", "confirmed", "measured"),
    [
        ([1.25, 1.25], "slower", (2, 2), [(1, 4), (2, 4)]),
        ([1.25, 0.9], "inconclusive", (1, 2), [(1, 4), (2, 4)]),
        ([0.9, 1.25], "inconclusive", (0, 1), [(1, 4)]),
        ([1.02, 1.25], "inconclusive", (0, 1), [(1, 4), (1, 8), (1, 16)]),
    ],
    ids=["confirmed", "rejected the second time", "rejected at once", "never decided"],
)
def test_a_change_is_measured_until_it_is_confirmed_or_rejected(comparison, tmp_path, ratios, verdict, confirmed, measured):
    """A rejected change is not measured again.

    An inconclusive repeat takes more passes, up to a limit.
    """
    calls = []

    def remeasure(number, cases, passes):
        calls.append((number, passes))
        factors = [1, 1.01, 0.99, 1.02, 0.98, 1, 1.01, 0.99]
        for result, ratio in ((comparison.before, 1.0), (comparison.after, ratios[number - 1])):
            row = release_table.find(comparisons.version(result))
            measured_in_passes(tmp_path / "again", row, {"tensor": [2.0 * ratio * factor for factor in factors]})
        repeated = compared("2.14.1", "2.15.0", tmp_path / "again", margin=0.03)
        return repeated.before, repeated.after

    change = retest.confirmed(replace(comparison, changes={CASE: CLEAR}), remeasure).changes[CASE]
    assert (change.verdict.value, change.confirmed) == (verdict, confirmed)
    assert calls == measured
