"""Each step of a history is supported by a comparison, or says what else supports it; and no significant change is left out."""

import re
from dataclasses import replace

import numpy as np
import pytest

from tensorcopy.cli import main
from tensorcopy.judge import case_history, comparisons
from tensorcopy.judge.change_points import Step
from tensorcopy.judge.comparisons import Question
from tensorcopy.judge.paired import Change, Reason, Verdict
from tensorcopy.releases import release_table
from tensorcopy.results import select
from tensorcopy.results.effects import Column, Effects
from tests import launch_files

VERSIONS = [release.version for release in release_table.load()][-10:]
CHANGED = (Verdict.SLOWER, Verdict.FASTER)
ONLY = "shown by the releases around only"


def changes_of(history, step):
    """Return the change of a case between the releases of a step."""
    return comparisons.between(Question(*history.sides_of(step))).changes[history.case]


@pytest.mark.parametrize(
    ("up", "down", "number"),
    [((1.01, 1.09), (0.92, 0.99), 2), ((1.01, 1.09), (0.94, 1.01), 0), ((0.99, 1.09), (0.92, 0.99), 0)],
    ids=["both", "only before", "only after"],
)
def test_a_single_release_differs_from_both_neighbours(up, down, number):
    """Where no comparison shows that it goes and comes back, each of them must exclude that it does not."""
    values, steps = [1.0] * 4 + [1.05] + [1.0] * 4, [Step(4, 1.0, 1.05, p=0.001), Step(5, 1.05, 1.0, p=0.001)]
    changes = {
        4: Change(Verdict.UNKNOWN, Reason.INTERVAL_TOO_WIDE, 1.05, up),
        5: Change(Verdict.UNKNOWN, Reason.INTERVAL_TOO_WIDE, 1 / 1.05, down),
    }
    assert len(case_history.sized(steps, values, changes)) == number


def test_in_flat_series_with_heavy_tails_no_step_but_those_of_comparisons_is_seen(shipped_results):
    """Releases that really differ do, by Student's t with 3 degrees of freedom: what only the levels show is at most one in 300 series."""
    random, axis = np.random.default_rng(4), select.history(shipped_results.results, "epyc-2core")[0]
    cases = [case for case in axis[-1].timings if case.spec.torch][:150]
    columns, names = {result.place: column for column, result in enumerate(axis)}, tuple(map(str, range(12)))
    seen = [0, 0]
    for scale in (0.005, 0.01):
        releases = scale / 3**0.5 * random.standard_t(3, (len(axis), len(cases)))
        logs = releases + 0.01 * random.standard_normal((12, len(axis), len(cases))) - 12
        effects = Effects(names, columns, {case: number for number, case in enumerate(cases)}, logs)
        results = [
            replace(result, column=column, timings=column.timings(), count_repeats={}, failures={})
            for column, result in zip((Column(effects, number) for number in range(len(axis))), axis)
        ]
        for history in case_history.joined([results]).values():
            for step in history.steps:
                seen[step.by_levels] += 1
                assert step.by_levels or changes_of(history, step).verdict in CHANGED
    assert seen[False] > 50
    assert seen[True] <= 1


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The results of a case whose levels differ by more than the margin, while two releases alone leave that unknown among many cases."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    cases = {f"copies.BySize.time_copy tensor {2**power}": dict.fromkeys(VERSIONS, 1.0) for power in range(14)}
    cases["copies.BySize.time_copy clone_detach 1"] = {version: 1.05 if place >= 5 else 1.0 for place, version in enumerate(VERSIONS)}
    launch_files.write(tmp_path / "results", cases, launches=6, noise=0.02)
    return tmp_path / "results"


def test_a_step_that_only_the_levels_show_says_so(folder, capsys):
    case = launch_files.case("copies.BySize.time_copy clone_detach 1")
    by_case = case_history.joined([launch_files.load(folder, *VERSIONS)])
    (step,) = by_case[case].steps
    change = changes_of(by_case[case], step)
    assert (change.verdict, step.by_levels, VERSIONS[step.index]) == (Verdict.UNKNOWN, True, VERSIONS[5])
    assert main(["history", "clone_detach"]) == 0
    text = capsys.readouterr().out
    assert re.search(r"▲ \+\d\.\d %\*", text)
    assert re.search(rf"^torch {VERSIONS[5]}: slower by .*, {ONLY}$", text, re.MULTILINE)
    assert main(["history"]) == 0
    text = capsys.readouterr().out
    assert re.search(rf"1 of 15 copies at numel ≤ 2¹⁴ slower, .*; {ONLY}", text)


@pytest.fixture
def folder_of_two_pythons(tmp_path, monkeypatch):
    """The results of a case that becomes slower on Python 3.9, where a newer one decides and shows nothing."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    sides = [f"{version}{python}" for version in VERSIONS[-4:] for python in ("", "@3.9")]
    times = {name: 1.5 if name.endswith("@3.9") and name.partition("@")[0] in VERSIONS[-2:] else 1.0 for name in sides}
    flat = dict.fromkeys(sides, 1.0)
    launch_files.write(tmp_path / "results", {"copies.BySize.time_copy tensor 16": times, "copies.BySize.time_copy new_tensor 16": flat})
    return tmp_path / "results"


def test_a_change_that_only_an_older_python_shows_says_so(folder_of_two_pythons, capsys):
    """It is of its own Python's row, and no step of the levels that decide what is open."""
    only = "on Python 3.9 only"
    by_case = case_history.joined(select.history(launch_files.load(folder_of_two_pythons)))
    history = by_case[launch_files.case("copies.BySize.time_copy tensor 16")]
    assert (history.steps, len(history.older_steps)) == ((), 1)
    assert changes_of(history, history.older_steps[0]).verdict is Verdict.SLOWER
    assert main(["history", "BySize tensor"]) == 0
    text = capsys.readouterr().out
    assert re.search(rf"^torch {VERSIONS[-2]}: slower by 50\.\d %.* {only}$", text, re.MULTILINE)
    assert main(["history"]) == 0
    assert re.search(rf"1 of 2 copies at numel ≤ 2¹⁴ slower {only}", capsys.readouterr().out)
    assert main(["history", "--open"]) == 0
    assert "none of 2 cases" in capsys.readouterr().out
