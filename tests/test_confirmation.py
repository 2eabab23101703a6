"""Steps of a history are measured again: which, when they hold or fall, how that is stored and shown. No test here measures."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tensorcopy.analysis import confirmation, series
from tensorcopy.analysis.confirmation import AT_MOST, Status
from tensorcopy.analysis.two_sample import Change, Reason, Verdict
from tensorcopy import configuration
from tensorcopy.cli import main
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import confirm_history, plan
from tensorcopy.measure.confirm_history import Confirmed
from tensorcopy.measure.plan import Measurement
from tensorcopy.measure.progress import Progress
from tensorcopy.releases import release_table
from tensorcopy.results import confirmations, reader
from tensorcopy.results.confirmations import ReleasePair, RepeatOutcome
from tensorcopy.results.passes import Case
from tests.conftest import ROOT, measured_in_passes, pass_times

HERE, ELSEWHERE = "0123456789ab", "ba9876543210"
RELEASES = release_table.load()[-12:]
STEP = 6  # the release at which "tensor" becomes slower
CASE = Case("copies.BySize.time_copy", (("method", "tensor"), ("numel", "16")))


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout with a history in which "tensor" has a step and "new_tensor" has none, on the host that measured it."""
    shutil.copy(ROOT / "asv.conf.json", tmp_path)
    for index, release in enumerate(RELEASES):
        times = {"tensor": pass_times(2.6 if index >= STEP else 2.0, index), "new_tensor": pass_times(1.0, index + 1)}
        measured_in_passes(tmp_path / "results", release, times, identity=HERE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("tensorcopy.worker.hardware.identity", lambda: HERE)
    return tmp_path


class Fake:
    """Stands in for measuring again: the times of the second release are `ratio` times those of the first.

    calls : the release, the number of cases and the passes that were asked for
    """

    def __init__(self, folder: Path, ratio: float, *, spread: float = 0.0, problem: str = "") -> None:
        self.folder, self.ratio, self.spread, self.problem = folder, ratio, spread, problem
        self.calls: list[tuple[str, int, int]] = []

    def remeasurer(self, pair, paths, report_progress):
        def remeasure(cases, passes):
            self.calls.append((pair.releases[1], len(cases), passes))
            report_progress(Progress("measuring", 0.5, 10.0))
            if self.problem:
                raise TensorcopyError(self.problem, got="nothing", allowed="a pass", next="try again")
            again = self.folder / "again"
            for result, factor in ((pair.before, 1.0), (pair.after, self.ratio)):
                times = [2.0 * factor * (1 + self.spread * (-1) ** index + 0.002 * (index % 3)) for index in range(passes)]
                row = next(release for release in RELEASES if release.sha == result.sha)
                measured_in_passes(again, row, {case["method"]: times for case in cases}, identity=HERE)
            shas = {result.sha: result for result in reader.load_results(again).results}
            return shas[pair.before.sha], shas[pair.after.sha]

        return remeasure


@pytest.fixture
def measuring(checkout, monkeypatch):
    """Return a function that replaces the measurement by a `Fake`."""

    def replace_remeasurer(ratio, **options):
        fake = Fake(checkout, ratio, **options)
        monkeypatch.setattr(confirm_history, "remeasurer", fake.remeasurer)
        return fake

    return replace_remeasurer


def results_of(checkout):
    return reader.load_results(checkout / "results").results


def stored(checkout):
    return confirmations.load(checkout / "results").confirmations


def pending(checkout, passes: int = AT_MOST) -> list[ReleasePair]:
    return confirmation.pending(results_of(checkout), confirmations.latest(stored(checkout)), passes)


def confirm(checkout, passes: int = AT_MOST, **options) -> Confirmed:
    """Measure the pending steps again."""
    measure = partial(confirmation.confirm, passes=passes)
    return confirm_history.confirm(pending(checkout, passes), configuration.paths(), measure, lambda progress: None, **options)


def status_now(checkout):
    """Return the status of the step of "tensor"."""
    results = sorted(results_of(checkout), key=lambda result: [row.sha for row in RELEASES].index(result.sha))
    case_series = series.over(results)[CASE]
    (step,) = (step for step in case_series.steps if step.index == STEP)
    return confirmation.status_in(case_series, step, confirmations.latest(stored(checkout)))


@pytest.mark.parametrize(
    ("ratio", "outcome", "after"),
    [(1.3, RepeatOutcome.HELD, Status.CONFIRMED), (1.05, RepeatOutcome.FELL, Status.REJECTED), (0.7, RepeatOutcome.FELL, Status.REJECTED)],
    ids=["it is there again", "less than half", "the other direction"],
)
def test_a_step_is_measured_again_until_it_holds_or_falls(checkout, measuring, ratio, outcome, after):
    """Only its case is measured, of its release and the one before; four passes decide, and then nothing is left."""
    assert status_now(checkout) is Status.UNCONFIRMED
    fake = measuring(ratio)
    ((pair, (stored_one,)),) = confirm(checkout).by_pair
    assert pair.releases == (RELEASES[STEP - 1].version, RELEASES[STEP].version)
    assert fake.calls == [(RELEASES[STEP].version, 1, 4)]
    assert (stored_one.case, stored_one.outcome) == (CASE, outcome)
    assert status_now(checkout) is after
    assert pending(checkout) == []


def test_a_step_that_stays_open_is_continued_only_with_more_passes(checkout, measuring):
    """Repeating the same measurement until it holds would confirm noise."""
    fake = measuring(1.12, spread=0.3)
    confirm(checkout)
    assert [passes for _, _, passes in fake.calls] == [4, 8, 16]
    assert status_now(checkout) is Status.UNCONFIRMED
    assert pending(checkout) == []
    confirm(checkout, passes=20)
    assert [passes for _, _, passes in fake.calls[3:]] == [4, 8, 16, 20]
    assert [each.passes for each in stored(checkout)] == [16, 20]


@pytest.mark.parametrize(("identity", "allowed"), [(ELSEWHERE, f"identity {ELSEWHERE}"), (None, "unknown hardware")])
def test_results_of_another_or_unknown_host_are_refused(checkout, measuring, identity, allowed):
    """Its times would not be comparable; nothing is measured."""
    shutil.rmtree(checkout / "results")
    own = {"identity": identity} if identity else {}
    for index, release in enumerate(RELEASES):
        measured_in_passes(checkout / "results", release, {"tensor": pass_times(2.0 if index < STEP else 3.0, index)}, **own)
    fake = measuring(1.3)
    with pytest.raises(TensorcopyError, match=f"this host is not the machine of the results: got identity {HERE}; allowed: {allowed}"):
        confirm(checkout)
    assert fake.calls == []


@pytest.mark.parametrize("failing", [STEP - 3, STEP], ids=["the earlier", "the later"])
def test_a_pair_that_cannot_be_measured_does_not_stop_the_other(checkout, monkeypatch, failing):
    """It is named, and stays unconfirmed; the outcome of the other one is stored."""
    for index, release in enumerate(RELEASES):
        factors = {"tensor": 2.0 * (1.3 if index >= STEP else 1.0), "new_tensor": 1.3 if index >= STEP - 3 else 1.0}
        times = {method: pass_times(factor, index + shift) for shift, (method, factor) in enumerate(factors.items())}
        measured_in_passes(checkout / "results", release, times, identity=HERE)
    fakes = {RELEASES[at].version: Fake(checkout, 1.3, problem="no room" if at == failing else "") for at in (STEP - 3, STEP)}
    monkeypatch.setattr(confirm_history, "remeasurer", lambda pair, *more: fakes[pair.releases[1]].remeasurer(pair, *more))
    (problem,) = confirm(checkout).problems
    assert str(problem).startswith("no room: got nothing")
    assert [len(fake.calls) for fake in fakes.values()] == [1, 1]
    assert [each.after for each in stored(checkout)] == [version for version in fakes if version != RELEASES[failing].version]


def test_the_history_in_the_terminal_is_without_a_step_that_fell(checkout, measuring, capsys):
    """As on the site; a damaged line is named."""
    measuring(1.3)
    confirm(checkout)
    (held,) = stored(checkout)
    assert main(["history"]) == 0
    assert "slower" in capsys.readouterr().out
    confirmations.append(checkout / "results", [replace(held, outcome=RepeatOutcome.FELL, started="2099-01-01T00:00:00+00:00")])
    assert main(["history"]) == 0
    assert "slower" not in capsys.readouterr().out
    with (checkout / "results" / "box" / "confirmations.jsonl").open("a") as lines:
        lines.write("{\n")
    assert main(["history", "--strict"]) == 2
    shown = capsys.readouterr()
    assert "slower" not in shown.out
    assert "cannot be read" in shown.err


def test_a_step_that_was_expected_to_change_nothing_confirms_nothing(checkout, measuring):
    """A ratio of 1 has no logarithm to divide by; the schema allows it."""
    measuring(1.3)
    confirm(checkout)
    path = checkout / "results" / "box" / "confirmations.jsonl"
    path.write_text(re.sub(r'"expected":[\d.]+', '"expected":1.0', path.read_text()))
    assert status_now(checkout) is Status.UNCONFIRMED


def test_the_latest_line_counts_wherever_it_is(checkout, measuring):
    """Also where an editor has removed the last line's end."""
    measuring(1.3)
    confirm(checkout)
    (held,) = stored(checkout)
    fell = replace(held, outcome=RepeatOutcome.FELL, ratio=1.0, interval=(0.99, 1.01), started="2099-01-01T00:00:00+00:00")
    path = checkout / "results" / "box" / "confirmations.jsonl"
    path.unlink()
    confirmations.append(checkout / "results", [fell])
    path.write_text(path.read_text().rstrip("\n"))
    confirmations.append(checkout / "results", [held])
    assert len(path.read_text().splitlines()) == 2
    assert status_now(checkout) is Status.REJECTED


def test_merging_folders_merges_their_confirmations(checkout, measuring, tmp_path):
    """In any order, and once; damaged lines are kept, first."""
    measuring(1.3)
    confirm(checkout)
    shutil.copytree(checkout / "results", tmp_path / "other")
    (held,) = stored(checkout)
    confirmations.append(tmp_path / "other", [replace(held, outcome=RepeatOutcome.FELL, started="2099-01-01T00:00:00+00:00")])
    for _ in range(2):
        assert main(["merge", str(tmp_path / "other")]) == 0
        assert [each.outcome for each in stored(checkout)] == [RepeatOutcome.HELD, RepeatOutcome.FELL]
    first, second, damaged = '{"started":"2026-01-01"}\n', '{"started":"2026-01-02"}\n', '{"started":\n'
    assert confirmations.merged_lines([second + first, damaged + first]) == damaged + first + second


CHANGE = Change(Verdict.SLOWER, Reason.CHANGED, 1.1, (1.08, 1.12), 0.001)


@pytest.mark.parametrize(
    ("expected", "change", "outcome"),
    [
        (1.2, CHANGE, "held"),
        (1.5, CHANGE, "fell"),
        (0.9, CHANGE, "fell"),
        (1 / 1.2, replace(CHANGE, ratio=1 / 1.1, interval=(1 / 1.12, 1 / 1.08)), "held"),
        (1.02, replace(CHANGE, ratio=1.0, interval=(0.995, 1.005)), "fell"),
        (1.1, replace(CHANGE, ratio=1.06, interval=(0.99, 1.13), p=0.09), "open"),
        (1.1, replace(CHANGE, p=0.02), "open"),
        (1.1, Change(Verdict.INCONCLUSIVE, Reason.TOO_FEW_PASSES, 1.1), "open"),
    ],
    ids=["half", "less than half", "other direction", "faster", "unchanged", "wide", "not significant in three looks", "untestable"],
)
def test_a_step_holds_if_half_of_it_is_there_again(expected, change, outcome):
    """On a logarithmic scale, and significantly."""
    assert confirmation.outcome(expected, change, looks=3).value == outcome


def counted(result, instructions):
    case = Case("instructions.BySize.track_instructions", (("method", "tensor"), ("numel", "16"), ("requires_grad", "False")))
    return replace(result, counts={case: instructions}, count_repeats={case: (instructions, instructions)})


@pytest.mark.parametrize(
    ("instructions", "ratio", "expected"),
    [
        (1020, 1.1, Status.CONFIRMED_BY_COUNT),
        (1000, 1.1, Status.UNCONFIRMED),
        (980, 1.1, Status.UNCONFIRMED),
        (980, 0.9, Status.CONFIRMED_BY_COUNT),
        (1020, 10.0, Status.UNCONFIRMED),
    ],
    ids=["more instructions", "equal", "fewer", "fewer and faster", "too few for ten times the time"],
)
def test_an_exact_count_in_the_same_direction_confirms_a_step(checkout, instructions, ratio, expected):
    """Such a step is not measured again; a count that hardly changed does not explain a large step."""
    by_sha = {result.sha: result for result in results_of(checkout)}
    results = [counted(by_sha[release.sha], instructions if index >= STEP else 1000) for index, release in enumerate(RELEASES)]
    assert confirmation.status_of(results[STEP - 1], results[STEP], CASE, ratio, {}, results) is expected
    explained = [counted(result, 1300 if index >= STEP else 1000) for index, result in enumerate(results)]
    assert confirmation.pending(explained, {}, AT_MOST) == []


def test_a_step_that_fell_is_rejected_whatever_the_count(checkout, measuring):
    """The count changed, the time did not."""
    measuring(1.0)
    confirm(checkout)
    by_sha = {result.sha: result for result in results_of(checkout)}
    before, after = counted(by_sha[RELEASES[STEP - 1].sha], 1000), counted(by_sha[RELEASES[STEP].sha], 1300)
    assert confirmation.status_of(before, after, CASE, 1.3, confirmations.latest(stored(checkout))) is Status.REJECTED


@pytest.mark.parametrize(("ratio", "expected"), [(1.3, Status.CONFIRMED), (3.0, Status.UNCONFIRMED), (1.05, Status.UNCONFIRMED)])
def test_a_confirmation_counts_for_a_step_of_about_its_size(checkout, measuring, ratio, expected):
    """More passes may show another step between the same releases."""
    measuring(1.3)
    confirm(checkout)
    by_sha = {result.sha: result for result in results_of(checkout)}
    before, after = by_sha[RELEASES[STEP - 1].sha], by_sha[RELEASES[STEP].sha]
    by_key = confirmations.latest(stored(checkout))
    assert confirmation.status_of(before, after, CASE, ratio, by_key) is expected
    elsewhere = [replace(result, provenance={**result.provenance, "identity": ELSEWHERE}) for result in (before, after)]
    assert confirmation.status_of(*elsewhere, CASE, ratio, by_key) is Status.UNCONFIRMED


def test_samples_of_another_environment_or_host_do_not_confirm(checkout, monkeypatch):
    """The wheel of an interpreter's own torch may be another one, and a processor may have the same name."""
    result = next(result for result in results_of(checkout) if result.sha == RELEASES[-1].sha)
    pair = (Measurement(RELEASES[-2], "3.11", build="cuda"), Measurement(RELEASES[-1], "3.11", build="cuda"))
    monkeypatch.setattr("tensorcopy.measure.plan.select", lambda *_: ([pair[1]], []))
    assert confirm_history._measurement_of(result) == pair[1]
    with pytest.raises(TensorcopyError, match=r"got py3\.11-cuda-interpreter; allowed: py3\.11-cuda, which uv installs here"):
        confirm_history._measurement_of(replace(result, environment="py3.11-cuda-interpreter"))
    assert confirm_history._load_pair(pair, configuration.paths(), result)[1].sha == result.sha
    elsewhere = replace(result, provenance={**result.provenance, "identity": ELSEWHERE})
    with pytest.raises(TensorcopyError, match=f"got identity {HERE}; allowed: box, identity {ELSEWHERE}"):
        confirm_history._load_pair(pair, configuration.paths(), elsewhere)


@pytest.mark.parametrize(
    ("counts", "passes", "order"),
    [((0, 0), 4, [0, 1, 1, 0, 0, 1, 1, 0]), ((2, 2), 4, [0, 1, 1, 0]), ((1, 0), 2, [1, 1, 0]), ((3, 3), 2, [])],
    ids=["from the start", "more passes", "after an interruption", "complete"],
)
def test_two_releases_alternate_until_both_have_their_passes(counts, passes, order):
    """The order is A B B A, so that a steady drift of the machine affects both alike."""
    assert list(plan.alternating(counts, passes)) == order
