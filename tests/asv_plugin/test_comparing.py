"""What `asv continuous` says below its table, and of a selection without a case."""

import re
from argparse import Namespace
from dataclasses import replace

import pytest

from tensorcopy.asv_plugin import comparing
from tensorcopy.configuration import Paths
from tensorcopy.copying.shipped import shipped
from tensorcopy.errors import TensorcopyError
from tensorcopy.judge.paired import Change, Reason, Verdict
from tensorcopy.measure import taking
from tensorcopy.measure.plan import Measurement
from tensorcopy.releases import release_table
from tensorcopy.results.kinds import TRACKED
from tests.asv_plugin.test_finding import Machine

SLOWER = Change(Verdict.SLOWER, Reason.CHANGED, 1.3, (1.2, 1.4))
ALIKE = Change(Verdict.UNCHANGED, Reason.WITHIN_MARGIN, 1.0, (0.99, 1.01))
WIDE = Change(Verdict.UNKNOWN, Reason.INTERVAL_TOO_WIDE, 1.0, (0.5, 2.0))
VARIES = Change(Verdict.UNKNOWN, Reason.INTERVAL_TOO_WIDE, before=524 / 3, after=518 / 3, unit="MB/s", kind=TRACKED)
HIGHER = Change(Verdict.HIGHER, Reason.COUNT_CHANGED, 2.0, before=1.0, after=2.0, unit="MB/s", kind=TRACKED)
ADDED = Change(Verdict.UNKNOWN, Reason.ONLY_AFTER)
FAILED = Change(Verdict.UNKNOWN, Reason.FAILED_AFTER)
MORE, ALONE = "undecided, more launches needed: -a rounds=N", "cannot be compared: failed, skipped, or on one side only"


@pytest.mark.parametrize(
    ("changes", "worse", "sentences"),
    [
        ([SLOWER, ALIKE], True, ["SOME BENCHMARKS HAVE CHANGED SIGNIFICANTLY.", "PERFORMANCE DECREASED."]),
        ([ALIKE, WIDE], False, ["BENCHMARKS NOT SIGNIFICANTLY CHANGED.", f"1 case of 2 {MORE}"]),
        ([VARIES], False, ["1 case of 1 tracked, with values that vary from launch to launch"]),
        ([ALIKE, ADDED], False, ["BENCHMARKS NOT SIGNIFICANTLY CHANGED.", f"1 case of 2 {ALONE}"]),
        ([ADDED, FAILED], False, [f"2 cases of 2 {ALONE}"]),
        ([HIGHER, WIDE], False, [f"1 case of 2 {MORE}", "1 case of 2 tracked, with a value that is higher or lower"]),
    ],
    ids=["slower", "undecided", "tracked", "added", "nothing to compare", "higher"],
)
def test_more_launches_are_advised_only_where_they_decide(changes, worse, sentences):
    """A case that only one side has stays unknown, however often it is timed, and a tracked value is measured in three launches."""
    rows = [comparing._CaseLine(comparing.MARKS[change.verdict], "a", change, 1.1) for change in changes]
    assert comparing._summary(rows) == (worse, sentences)


def test_a_tracked_value_has_its_unit():
    """And five digits; a count that has fallen to nothing is exact."""
    assert comparing._CaseLine(" ", "a", VARIES, 1.1).cells()[1:3] == ["174.67 MB/s", "172.67 MB/s"]
    gone = Change(Verdict.FEWER, Reason.COUNT_CHANGED, 0.0, before=5.0, after=0.0, unit="objects", kind=TRACKED)
    assert comparing._CaseLine(" ", "a", gone, 1.1).cells()[3] == "0.00"


def test_what_is_unknown_is_not_among_the_benchmarks_that_stayed_the_same(capsys):
    """Nor is a value that is higher; --only-changed shows the value, and nothing that is unknown."""
    rows = [
        comparing._CaseLine(comparing.MARKS[each.verdict], name, each, 1.1) for name, each in (("a", ALIKE), ("b", WIDE), ("c", HIGHER))
    ]
    sides, shown = [("a" * 40, "v1"), ("b" * 40, "v2")], []
    for options in ({"split": True, "only_changed": False}, {"split": False, "only_changed": True}):
        comparing._print_changes(rows, sides, Namespace(sort="name", factor=1.1, **options))
        shown.append(capsys.readouterr().out)
    titles = re.findall(r"^(\w.*:)$|\| ([abc]) +\|$", shown[0], re.MULTILINE)
    assert ["".join(each) for each in titles] == [
        "Benchmarks that have stayed the same:",
        "a",
        "Values that are higher (^) or lower (v):",
        "c",
        "Benchmarks that are undecided, or cannot be compared:",
        "b",
    ]
    assert re.findall(r"\| ([abc]) +\|$", shown[1], re.MULTILINE) == ["c"]


def test_the_table_says_from_which_factor_on_and_what_a_question_mark_is(capsys):
    """Below it, since `tensorcopy compare` has another margin, and asv no such mark."""
    rows = [comparing._CaseLine("?", "a", WIDE, 1.02)]
    options = Namespace(sort="name", factor=1.02, split=False, only_changed=False)
    comparing._print_changes(rows, [("a" * 40, "v1"), ("b" * 40, "v2")], options)
    assert capsys.readouterr().out.rpartition("\n\n")[2] == (
        "A change counts from a factor of 1.02 on (--factor); for tensorcopy compare from 3 % on. "
        "?: not decided, more launches would tell, or not compared.\n"
    )


def test_an_accepted_slowdown_has_its_reason_and_is_not_worse():
    """In the table, where its mark is that of every slowdown."""
    row = comparing._CaseLine("+", "a", replace(SLOWER, accepted="a check"), 1.1)
    assert (row.cells()[-1], comparing._summary([row])) == ("a; accepted: a check", (False, ["BENCHMARKS NOT SIGNIFICANTLY CHANGED."]))


def test_a_selection_without_a_case_is_named(tmp_path):
    """As in `asv run`, and not an exit code alone."""
    side = Measurement(release_table.load().find("2.15.0"), "3.11")
    paths = Paths(tmp_path, tmp_path, tmp_path, ())
    job = taking.Job(taking.Sides(shipped(), paths, taker=Machine(tmp_path)), "box", "nope")
    with pytest.raises(TensorcopyError, match="nothing to measure: got no case that matches 'nope'; allowed"):
        comparing._judged((side, side), job, Namespace(quick=False, attribute=None, factor=1.1))
