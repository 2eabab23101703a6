"""Changes of groups of cases, and histories over two Pythons."""

import re
from dataclasses import replace

import pytest

from tensorcopy.campaign import VerdictRules
from tensorcopy.judge import case_history, groups
from tensorcopy.releases import release_table
from tensorcopy.report.history import CHANGES, group_name
from tests import launch_files

RELEASES = [release.version for release in release_table.load()][:12]
METHODS = [f"method_{number}" for number in range(12)]


def results(folder, ratio_at, releases=RELEASES, methods=METHODS, **how):
    """Return the results of releases, in whose launches each method takes `ratio_at(release, method)` microseconds.

    ratio_at : of the release's number in the table, from 0
    how : arguments of `launch_files.write`
    """
    times = {method: {release: ratio_at(number, method) for number, release in enumerate(releases)} for method in methods}
    launch_files.write(folder, {f"copies.BySize.time_copy {method} 16": row for method, row in times.items()}, **how)
    return launch_files.load(folder, *releases)


def cells_of(change):
    """Return what `history` prints of a group's change behind its name."""
    return [text for column in CHANGES if column.text and (text := column.text(change))]


def test_a_change_of_one_case_has_its_interval(tmp_path):
    """Only several cases have a median."""
    by_case = case_history.over(results(tmp_path, lambda index, method: 2.0 if index >= 6 and method == "method_3" else 1.0))
    (change,) = groups.changes_by_release(by_case)
    assert [case["method"] for case in change.cases] == ["method_3"]
    assert cells_of(change) == ["1 of 12", "slower", "+100.7 %", "+99.8 to +101.5 %"]


def test_a_change_names_the_release_that_it_is_from(tmp_path):
    """Where the ones between were not counted; of the cases of a group, those of each such release stand apart, last."""
    whole, gap = (launch_files.case(f"instructions.BySize.track_instructions {method} 16 False") for method in ("tensor", "clone_detach"))
    counts = {whole: (1000, 1000, 1000, 1050), gap: (1000, 1000, None, 1060)}
    timed = results(tmp_path, lambda index, method: 1.0, releases=RELEASES[:4], methods=METHODS[:1], launches=1)
    counted = [
        replace(result, count_repeats={case: (row[index],) for case, row in counts.items() if row[index]})
        for index, result in enumerate(timed)
    ]
    by_case = case_history.over(counted)
    assert [(change.cases, cells_of(change)) for change in groups.changes_by_release(by_case)] == [
        ((whole,), ["1 of 2", "more", "+5.0 %"]),
        ((gap,), ["1 of 2", "more", "+6.0 %", f"from {RELEASES[1]}"]),
    ]


@pytest.mark.parametrize(("unit", "name"), [("unit", "theirs"), ("GB/s", "theirs GB/s")], ids=["none", "declared"])
def test_a_group_has_the_unit_that_its_suites_declare(tmp_path, unit, name):
    for release, value in zip(RELEASES, (1.0, 2.0)):
        launch_files.write_counts(tmp_path, release, {"theirs.track_it": [value] * 2}, units={"theirs.track_it": unit})
    (change,) = groups.changes_by_release(case_history.over(launch_files.load(tmp_path)))
    assert group_name(change) == name


def test_suites_of_others_share_no_regression(tmp_path):
    """A parameter "method" of a third-party suite can be anything; that of the shipped suites joins them."""
    suites = ("distances.Pairs.time_pairs", "training.Step.time_step", "copies.BySize.time_copy", "copies.ByDtype.time_copy")
    cases = [f"{suite} method=fast numel=16" for suite in suites]
    launch_files.write(tmp_path, {case: {release: 1.0 + (number >= 6) for number, release in enumerate(RELEASES)} for case in cases})
    by_case = case_history.over(launch_files.load(tmp_path, *RELEASES))
    opened = groups.open_methods(case_history.standings(by_case).values())
    assert sorted((groups.subject(each.cases[0].case), len(each.cases)) for each in opened) == [(suites[0], 1), ("fast", 2), (suites[1], 1)]


def test_open_methods_are_the_most_expensive_first(tmp_path):
    """Of each the costliest case; what the newest release skips is open nowhere, however slow it was with the one before.

    A method is news unless all of its cases are accepted.
    """
    versions = RELEASES[:3]
    accepted = (re.compile("m1 numel=16|m0"), versions[2], "a check")
    rules = VerdictRules(accepted=(accepted,), releases=tuple(release.version for release in release_table.load()))
    times = {"m0 16": (1.0, 1.0, 1.2), "m1 16": (1.0, 1.0, 1.5), "m1 1024": (1.0, 1.0, 1.8), "m2 16": (1.0, 1.3, None)}
    launch_files.write(tmp_path, {f"copies.BySize.time_copy {name}": dict(zip(versions, of)) for name, of in times.items()}, noise=0.001)
    opened = groups.open_methods(case_history.standings(case_history.over(launch_files.load(tmp_path), rules)).values())
    shown = [(groups.subject(each.worst.case), [round(case.ratio, 1) for case in each.cases], each.is_news) for each in opened]
    assert shown == [("m1", [1.8, 1.5], True), ("m0", [1.2], False)]


def test_changes_of_a_release_are_grouped_by_direction(tmp_path):
    """The largest first; the ratio of a group is the median of its cases."""
    ratios = {METHODS[1]: 1.3, METHODS[2]: 1.5, METHODS[3]: 0.7}
    made = results(tmp_path, lambda index, method: ratios.get(method, 1.0) if index > 2 else 1.0, releases=RELEASES[:6], noise=0.001)
    slower, faster = groups.changes_by_release(case_history.over(made))
    assert [(each.verdict, each.release, [case["method"] for case in each.cases]) for each in (slower, faster)] == [
        ("slower", RELEASES[3], [METHODS[2], METHODS[1]]),
        ("faster", RELEASES[3], [METHODS[3]]),
    ]
    assert slower.ratio == pytest.approx(1.4, rel=0.01)
