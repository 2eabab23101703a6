"""The sentences of a comparison."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from tensorcopy.judge.paired import Change, CountPair, Reason, Verdict
from tensorcopy.report import sentences
from tensorcopy.judge.comparisons import FieldDifference

SLOWER = Change(Verdict.SLOWER, Reason.CHANGED, ratio=1.12, interval=(1.101, 1.142))
FASTER = Change(Verdict.FASTER, Reason.CHANGED, ratio=0.8, interval=(0.75, 0.85))
UNCHANGED = Change(Verdict.UNCHANGED, Reason.WITHIN_MARGIN, ratio=1.0, interval=(0.99, 1.02))
WIDE = Change(Verdict.UNKNOWN, Reason.INTERVAL_TOO_WIDE, ratio=1.02, interval=(0.988, 1.045), more_launches=9)
COUNT = CountPair("instructions", 1000, 1052, repeatability=0.002, least=0.01)


def unknown(reason, **details):
    return Change(Verdict.UNKNOWN, reason, **details)


def tracked(verdict, before, after, **details):
    """Return the change of a tracked value."""
    pair = CountPair("GB/s", before, after, **details)
    assert pair.verdict is verdict
    return Change(verdict, Reason.COUNT_CHANGED, before=before, after=after, count=pair, unit="GB/s")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (SLOWER, "slower by 12.0 % (10.1 to 14.2 %)"),
        (FASTER, "faster by 20.0 % (15.0 to 25.0 %)"),
        (UNCHANGED, "unchanged: within ±2.0 %"),
        (replace(SLOWER, count=COUNT), "slower by 12.0 % (10.1 to 14.2 %); 5.2 % more instructions"),
        (replace(UNCHANGED, count=COUNT), "unchanged: within ±2.0 %; 5.2 % more instructions"),
        (replace(SLOWER, count=replace(COUNT, after=1001)), "slower by 12.0 % (10.1 to 14.2 %); equal instructions"),
        (WIDE, "unknown: −1.2 to +4.5 %; about 9 more launches needed"),
        (
            unknown(Reason.INTERVAL_TOO_WIDE, ratio=1.02, interval=(1.01, 1.03), more_launches=1),
            "unknown: +1.0 to +3.0 %; about 1 more launch needed",
        ),
        (
            unknown(Reason.INTERVAL_TOO_WIDE, ratio=0.98, interval=(0.97, 0.99)),
            "unknown: −3.0 to −1.0 %; over 100 more launches needed",
        ),
        (unknown(Reason.NOT_MEASURED_BEFORE, failure="no cuda here"), "unknown: no result before (skipped: no cuda here)"),
        (unknown(Reason.FAILED_AFTER, failure="KeyError: 3"), "unknown: failed after (KeyError: 3)"),
        (unknown(Reason.ONLY_BEFORE), "unknown: only before"),
        (tracked(Verdict.HIGHER, 0.45, 0.5), "higher by 0.05 GB/s (0.45 GB/s → 0.5 GB/s)"),
        (tracked(Verdict.LOWER, 0.5, 0.4, interval=(-0.11, -0.09)), "lower by 0.1 GB/s (−0.11 to −0.09 GB/s) (0.5 GB/s → 0.4 GB/s)"),
        (tracked(Verdict.UNKNOWN, 0.5, 0.4, known=False), "unknown: one launch does not tell how much it varies (0.5 GB/s → 0.4 GB/s)"),
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
    assert "wide" not in sentences.summary(change)  # an interval that excludes no change is undecided too, after the correction


FEWER = Change(Verdict.FEWER, Reason.COUNT_CHANGED, ratio=0.9, count=replace(COUNT, after=900), unit="instructions")


@pytest.mark.parametrize(
    ("changes", "headline", "largest"),
    [
        (
            [replace(SLOWER, ratio=4.0, interval=(3.9, 4.1)), replace(SLOWER, ratio=2.0), FASTER, UNCHANGED, WIDE],
            [
                "Time: 2 slower, 1 faster.",
                "Of 5 cases: 1 unchanged, 1 unknown.",
                "Slower: +100.0 to +300.0 %, mean +182.8 %. Faster: −20.0 %.",
            ],
            "Largest slowdown: 0, by 300.0 % (290.0 to 310.0 %).",
        ),
        (
            [UNCHANGED, FASTER],
            ["Time: 0 slower, 1 faster.", "Of 2 cases: 1 unchanged, 0 unknown.", "Faster: −20.0 %."],
            "Largest speedup: 1, by 20.0 % (15.0 to 25.0 %).",
        ),
        (
            [replace(UNCHANGED, count=FEWER.count), replace(SLOWER, count=FEWER.count), replace(WIDE, count=COUNT)],
            [
                "Time: 1 slower, 0 faster.",
                "Of 3 cases: 1 unchanged, 1 unknown.",
                "Slower: +12.0 %.",
                "Instructions: more in 1, fewer in 2 of 3 timed cases.",
            ],
            "Largest slowdown: 1, by 12.0 % (10.1 to 14.2 %).",
        ),
        (
            [WIDE, unknown(Reason.FAILED_AFTER), unknown(Reason.ONLY_AFTER), tracked(Verdict.HIGHER, 1, 2)],
            [
                "Time: 1 unknown, 1 failed.",
                "Of 3 cases: 0 slower, 0 faster, 0 unchanged, 1 only after.",
                "Tracked values: 1 higher, 0 lower.",
                "Of 1 case: 0 equal, 0 unknown.",
            ],
            "",
        ),
        ([FEWER], ["Instructions: more in 0, fewer in 1 of 1 case."], ""),
        ([replace(FEWER, count=replace(FEWER.count, after=FEWER.count.before))], ["Instructions: equal in 1 of 1 case."], ""),
        ([], ["No case was compared."], ""),
    ],
    ids=["each", "faster", "counts beside", "failed, new and tracked", "counts alone", "equal counts", "nothing"],
)
def test_the_headline_counts_time_and_work_apart(changes, headline, largest):
    """Fewer instructions make no time faster, and are not the largest change; 2 and 4 times as long are 2.83 times in the mean.

    The first sentence has two numbers: where nothing is slower or faster, those of what may be, or is not.
    """
    assert sentences.headline(changes) == headline
    assert sentences.largest([(str(number), change) for number, change in enumerate(changes)]) == largest


def test_launches_of_cases_that_were_decided_early_are_not_those_of_all():
    """Looks take more launches of the undecided ones: four are not how many the comparison had."""
    of = {
        f"case {number}": unknown(Reason.INTERVAL_TOO_WIDE, interval=(0.9, 1.2), launches=(taken, taken))
        for number, taken in enumerate((4, 4, 4, 8, 16))
    }
    assert sentences.launch_lines(SimpleNamespace(changes=of)) == ["4 to 16 launches: both sides took turns in the same launches"]
    of = {name: replace(change, launches=(12, 16)) for name, change in of.items()}
    assert sentences.launch_lines(SimpleNamespace(changes=of)) == ["12 and 16 launches: both sides took turns in the same launches"]


def test_why_nothing_was_compared_has_every_reason_once():
    """First that of most cases; a side without a result has no cases."""
    changes = [
        unknown(Reason.TOO_FEW_LAUNCHES, launches=(1, 1)),
        *(unknown(Reason.FAILED_AFTER, failure=error) for error in ("KeyError: 3", "KeyError: 4")),
    ]
    assert sentences.nothing_compared(changes) == "nothing was compared: failed after; too few launches"
    assert sentences.nothing_compared([]) == "nothing was compared: a side has no result"


@pytest.mark.parametrize(
    ("margins", "text"),
    [((0.03, 0.03), "3 % (faster: the inverse, −2.9 %)"), ((0.1, 0.03), "3 % or 10 % (faster: the inverse, −2.9 % or −9.1 %)")],
)
def test_a_margin_is_a_ratio_and_its_inverse(margins, text):
    """Faster by 2.9 % beside a margin of 3 % is no contradiction."""
    assert sentences.least_changes([replace(SLOWER, margin=margin) for margin in margins]) == text
