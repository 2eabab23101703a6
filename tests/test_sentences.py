"""The sentences of a comparison."""

from __future__ import annotations

import pytest

from tensorcopy.analysis.two_sample import Change, Failure, FieldDifference, Reason, Verdict
from tensorcopy.report import sentences

SLOWER = Change(Verdict.SLOWER, Reason.CHANGED, ratio=1.12, interval=(1.101, 1.142))
FASTER = Change(Verdict.FASTER, Reason.CHANGED, ratio=0.8, interval=(0.75, 0.85))
UNCHANGED = Change(Verdict.UNCHANGED, Reason.WITHIN_MARGIN, ratio=1.0, interval=(0.99, 1.02))
WIDE = Change(Verdict.INCONCLUSIVE, Reason.INTERVAL_TOO_WIDE, ratio=1.02, interval=(0.988, 1.045), more_passes=9)


def inconclusive(reason, **details):
    return Change(Verdict.INCONCLUSIVE, reason, **details)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (SLOWER, "slower by 12.0 % (10.1 to 14.2 %)"),
        (FASTER, "faster by 20.0 % (15.0 to 25.0 %)"),
        (UNCHANGED, "unchanged: within ±2.0 %"),
        (WIDE, "inconclusive: between 1.2 % faster and 4.5 % slower; about 9 more passes needed"),
        (
            inconclusive(Reason.INTERVAL_TOO_WIDE, ratio=1.02, interval=(1.01, 1.03), more_passes=1),
            "inconclusive: 1.0 to 3.0 % slower; about 1 more pass needed",
        ),
        (
            inconclusive(Reason.INTERVAL_TOO_WIDE, ratio=0.98, interval=(0.97, 0.99)),
            "inconclusive: 1.0 to 3.0 % faster; over 50 more passes needed",
        ),
        (
            inconclusive(Reason.NOT_CONFIRMED, ratio=1.09, interval=(1.07, 1.11)),
            "inconclusive: slower by 9.0 % (7.0 to 11.0 %) at first, not when measured again",
        ),
        (inconclusive(Reason.NO_SAMPLES_BEFORE), "inconclusive: no result before"),
        (
            inconclusive(Reason.NO_SAMPLES_AFTER, failure=Failure.NOT_MEASURED),
            "inconclusive: no result after (not measured, skipped or failed)",
        ),
        (inconclusive(Reason.NO_SAMPLES_AFTER, failure=Failure.NEVER_QUIET), "inconclusive: no result after (no quiet pass)"),
        (inconclusive(Reason.NOT_A_TIME_BEFORE), "inconclusive: a sample before is not a positive number"),
        (
            inconclusive(Reason.PROVENANCE_DIFFERS, differences=(FieldDifference("cpu", "A", "B"), FieldDifference("threads", "1", "2"))),
            "inconclusive: measured under different conditions (cpu: A → B, threads: 1 → 2)",
        ),
        (inconclusive(Reason.PROVENANCE_DIFFERS), "inconclusive: measured under different conditions"),
        (
            inconclusive(Reason.TOO_FEW_PASSES, passes=(2, 4), more_passes=1),
            "inconclusive: too few quiet passes (2 before, 4 after); about 1 more needed",
        ),
    ],
)
def test_every_change_has_a_sentence(change, sentence):
    assert sentences.sentence(change) == sentence


@pytest.mark.parametrize("reason", [reason for reason in Reason if reason not in (Reason.CHANGED, Reason.WITHIN_MARGIN)])
def test_a_summary_has_no_numbers(reason):
    """So that cases can be counted by it."""
    assert not any(character.isdigit() for character in sentences.summary(inconclusive(reason, passes=(1, 2), more_passes=2)))


@pytest.mark.parametrize(
    ("changes", "headline"),
    [
        ([SLOWER, FASTER, UNCHANGED], "1 of 3 cases slower, 1 faster, 1 unchanged; largest slowdown: 0, by 12.0 % (10.1 to 14.2 %)"),
        (
            [FASTER, UNCHANGED, WIDE, WIDE],
            "No significant slowdowns: 1 of 4 cases faster, 1 unchanged, 2 inconclusive; largest speedup: 0, by 20.0 % (15.0 to 25.0 %)",
        ),
        ([UNCHANGED], "No significant change in 1 case: within ±2.0 %"),
        ([WIDE, inconclusive(Reason.NO_SAMPLES_AFTER)], "No significant change in 1 case: within ±4.5 %; 1 could not be compared"),
        (
            [UNCHANGED, UNCHANGED, inconclusive(Reason.INTERVAL_TOO_WIDE, ratio=1.1, interval=(0.5, 2.4))],
            "No significant change in 3 cases: half of them within ±2.0 %",
        ),
        ([inconclusive(Reason.NO_SAMPLES_AFTER)], "Nothing could be compared (1 case)"),
    ],
    ids=["slower", "faster", "unchanged", "not compared", "wide", "nothing"],
)
def test_the_headline_sums_up_all_cases(changes, headline):
    """A very wide worst interval is not given: it would describe no other case."""
    assert sentences.headline([(str(number), change) for number, change in enumerate(changes)]) == headline
