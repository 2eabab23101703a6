"""The sentences of a comparison."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tensorcopy.analysis.paired import Change, CountPair, FieldDifference, Reason, Verdict
from tensorcopy.report import sentences

SLOWER = Change(Verdict.SLOWER, Reason.CHANGED, ratio=1.12, interval=(1.101, 1.142))
FASTER = Change(Verdict.FASTER, Reason.CHANGED, ratio=0.8, interval=(0.75, 0.85))
UNCHANGED = Change(Verdict.UNCHANGED, Reason.WITHIN_MARGIN, ratio=1.0, interval=(0.99, 1.02))
WIDE = Change(Verdict.UNKNOWN, Reason.INTERVAL_TOO_WIDE, ratio=1.02, interval=(0.988, 1.045), more_launches=9)
COUNT = CountPair("instructions", 1000, 1052, repeatability=0.002, least=0.01)


def unknown(reason, **details):
    return Change(Verdict.UNKNOWN, reason, **details)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (SLOWER, "slower by 12.0 % (10.1 to 14.2 %)"),
        (FASTER, "faster by 20.0 % (15.0 to 25.0 %)"),
        (UNCHANGED, "unchanged: within ±2.0 %"),
        (replace(SLOWER, count=COUNT), "slower by 12.0 % (10.1 to 14.2 %); 5.2 % more instructions"),
        (replace(UNCHANGED, count=COUNT), "unchanged: within ±2.0 %; 5.2 % more instructions"),
        (replace(SLOWER, count=replace(COUNT, after=1001)), "slower by 12.0 % (10.1 to 14.2 %); same instructions"),
        (WIDE, "unknown: between 1.2 % faster and 4.5 % slower; about 9 more launches needed"),
        (
            unknown(Reason.INTERVAL_TOO_WIDE, ratio=1.02, interval=(1.01, 1.03), more_launches=1),
            "unknown: 1.0 to 3.0 % slower; about 1 more launch needed",
        ),
        (
            unknown(Reason.INTERVAL_TOO_WIDE, ratio=0.98, interval=(0.97, 0.99)),
            "unknown: 1.0 to 3.0 % faster; over 100 more launches needed",
        ),
        (unknown(Reason.NOT_MEASURED_BEFORE), "unknown: no result before (not measured, or skipped)"),
        (unknown(Reason.NOT_MEASURED_AFTER, failure="KeyError: 3"), "unknown: no result after (KeyError: 3)"),
        (unknown(Reason.NEVER_MET), "unknown: never measured beside each other, not even by way of another release"),
        (
            unknown(Reason.PROVENANCE_DIFFERS, differences=(FieldDifference("cpu", "A", "B"), FieldDifference("threads", "1", "2"))),
            "unknown: measured under different conditions (cpu: A → B, threads: 1 → 2)",
        ),
        (unknown(Reason.PROVENANCE_DIFFERS), "unknown: measured under different conditions"),
        (
            unknown(Reason.TOO_FEW_LAUNCHES, launches=(2, 4), more_launches=1),
            "unknown: too few launches (2 before, 4 after); 1 more needed",
        ),
    ],
)
def test_every_change_has_a_sentence(change, sentence):
    assert sentences.sentence(change) == sentence


@pytest.mark.parametrize("reason", [reason for reason in Reason if reason not in (Reason.CHANGED, Reason.WITHIN_MARGIN)])
def test_a_summary_has_no_numbers(reason):
    """So that cases can be counted by it."""
    change = unknown(reason, launches=(1, 2), more_launches=2, failure="3")
    assert not any(character.isdigit() for character in sentences.summary(change))


@pytest.mark.parametrize(
    ("changes", "headline"),
    [
        ([SLOWER, FASTER, UNCHANGED], "1 of 3 cases slower, 1 faster, 1 unchanged; largest slowdown: 0, by 12.0 % (10.1 to 14.2 %)"),
        (
            [FASTER, UNCHANGED, WIDE, WIDE],
            "No significant slowdowns: 1 of 4 cases faster, 1 unchanged, 2 unknown; largest speedup: 0, by 20.0 % (15.0 to 25.0 %)",
        ),
        ([replace(UNCHANGED, count=COUNT)], "No significant change in 1 case: within ±2.0 %"),
        ([WIDE, unknown(Reason.NOT_MEASURED_AFTER)], "No significant change in 1 case: within ±4.5 %; 1 could not be compared"),
        (
            [UNCHANGED, UNCHANGED, unknown(Reason.INTERVAL_TOO_WIDE, ratio=1.1, interval=(0.5, 2.4))],
            "No significant change in 3 cases: half of them within ±2.0 %",
        ),
        ([unknown(Reason.NOT_MEASURED_AFTER)], "Nothing could be compared (1 case)"),
    ],
    ids=["slower", "faster", "unchanged", "not compared", "wide", "nothing"],
)
def test_the_headline_sums_up_all_cases(changes, headline):
    """A very wide worst interval is not given: it would describe no other case. Counts beside the times change no verdict."""
    assert sentences.headline([(str(number), change) for number, change in enumerate(changes)]) == headline
