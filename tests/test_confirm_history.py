"""Steps of a history are measured again: which, when they hold or fall, how that is stored and shown.

No test here measures; `remeasure` has its own tests.
"""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tensorcopy.analysis import series
from tensorcopy.analysis.confirmation import repeat, status
from tensorcopy.analysis.confirmation.status import Status
from tensorcopy.analysis.two_sample import Change, Reason, Samples, Verdict, judge
from tensorcopy.asv_plugin import configuration
from tensorcopy.cli import confirm, main
from tensorcopy.cli.confirm import Selection
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import confirm_history, remeasure
from tensorcopy.measure.plan import Measurement
from tensorcopy.measure.run_passes import Progress
from tensorcopy.releases import release_table
from tensorcopy.results import confirmations, reader, writing
from tensorcopy.results.confirmations import Outcome
from tensorcopy.results.passes import Case
from tests.conftest import ROOT, measured_in_passes, pass_times

HERE, ELSEWHERE = "0123456789ab", "ba9876543210"
RELEASES = release_table.load()[-12:]
STEP = 6  # the release at which "tensor" becomes slower
CASE = Case("copies.BySize.time_copy", (("method", "tensor"), ("numel", "16")))
LINE = re.compile(r"^tensorcopy: [^\n]+: got [^\n]+; allowed: [^\n]+; next: [^\n]+\n$")
PAIR = f"{RELEASES[STEP].version} +{RELEASES[STEP - 1].version}"  # in a table, as a regular expression


def measure_history(folder: Path, ratio: float = 1.3, machine: str = "box", identity: str = HERE) -> None:
    """Write a history in which "tensor" has a step and "new_tensor" has none."""
    for index, release in enumerate(RELEASES):
        factor = ratio if index >= STEP else 1.0
        times = {"tensor": pass_times(2.0 * factor, index), "new_tensor": pass_times(1.0, index + 1)}
        measured_in_passes(folder, release, times, machine, identity=identity)


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout with a history, on the host that measured it."""
    shutil.copy(ROOT / "asv.conf.json", tmp_path)
    measure_history(tmp_path / "results")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("tensorcopy.worker.hardware.identity", lambda: HERE)
    return tmp_path


class Fake:
    """Stands in for measuring again: the times of the second release are `ratio` times those of the first.

    calls : the releases, cases and passes that were asked for
    """

    def __init__(self, folder: Path, ratio: float, *, spread: float = 0.0, problem: str = "") -> None:
        self.folder, self.ratio, self.spread, self.problem = folder, ratio, spread, problem
        self.calls: list[tuple[str, int, int]] = []

    def measurer(self, pair, report_progress):
        def remeasure(number, cases, passes):
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
    """Return a function that makes the command measure with a `Fake`."""

    def replace_measurer(ratio, **options):
        fake = Fake(checkout, ratio, **options)
        monkeypatch.setattr(confirm_history, "measurer", lambda paths: fake.measurer)
        return fake

    return replace_measurer


def stored(checkout):
    return confirmations.load(checkout / "results").confirmations


def status_now(checkout):
    """Return the status of the step of "tensor"."""
    results = sorted(reader.load_results(checkout / "results").results, key=lambda r: [row.sha for row in RELEASES].index(r.sha))
    by_key = confirmations.latest(stored(checkout))
    return status.statuses(series.over(results)[CASE], by_key)[STEP]


def test_a_dry_run_lists_the_steps_and_measures_nothing(measuring, capsys):
    fake = measuring(1.3)
    assert main(["confirm-history", "--dry-run"]) == 0
    output = capsys.readouterr().out
    assert re.match(r"1 step of 1 release pair is not confirmed yet \(about \d+ min\)\n", output)
    assert re.search(rf"{PAIR} +3\.11 +1\n", output)
    assert fake.calls == []


@pytest.mark.parametrize(
    ("ratio", "outcome", "after"),
    [(1.3, "held", Status.CONFIRMED), (1.0, "fell", Status.REJECTED), (1.05, "fell", Status.REJECTED), (0.7, "fell", Status.REJECTED)],
    ids=["it is there again", "nothing changed", "less than half", "the other direction"],
)
def test_a_step_is_measured_again_until_it_holds_or_falls(checkout, measuring, capsys, ratio, outcome, after):
    """Only its case is measured, of its release and the one before; four passes decide, and the next run has nothing to do."""
    assert status_now(checkout) is Status.UNCONFIRMED
    fake = measuring(ratio)
    assert main(["confirm-history"]) == 0
    counts = {"held": "1 +0 +0", "fell": "0 +1 +0"}[outcome]
    assert re.search(rf"{PAIR} +3\.11 +1 +{counts}\n", capsys.readouterr().out)
    assert fake.calls == [(RELEASES[STEP].version, 1, 4)]
    assert [(each.case, each.outcome.value) for each in stored(checkout)] == [(CASE, outcome)]
    assert status_now(checkout) is after
    assert main(["confirm-history"]) == 0
    assert capsys.readouterr().out == "no step is left to confirm\n"
    assert len(fake.calls) == 1


def test_an_outcome_that_cannot_be_stored_is_named_and_stops_no_other_pair(checkout, measuring, capsys, monkeypatch):
    """As while another process writes the results for minutes; the wait is printed."""
    measuring(1.3)
    monkeypatch.setattr(writing, "NOTICE", 0.01)
    held = writing.one_writer(checkout / "results", "merge")
    monkeypatch.setattr(writing, "one_writer", partial(writing.one_writer, patience=0.02))
    with held, ThreadPoolExecutor(1) as pool:
        assert pool.submit(main, ["confirm-history"]).result() == 2
    errors = capsys.readouterr().err
    assert "waiting for results/, which merge " in errors
    assert "tensorcopy: results/ is being written by another process: got merge " in errors


def test_a_step_that_stays_open_is_continued_only_with_more_passes(checkout, measuring, capsys):
    """Repeating the same measurement until it holds would confirm noise."""
    fake = measuring(1.12, spread=0.3)
    assert main(["confirm-history"]) == 0
    assert [passes for _, _, passes in fake.calls] == [4, 8, 16]
    assert status_now(checkout) is Status.UNCONFIRMED
    assert main(["confirm-history"]) == 0
    assert len(fake.calls) == 3
    assert main(["confirm-history", "--passes", "20"]) == 0
    assert [passes for _, _, passes in fake.calls[3:]] == [4, 8, 16, 20]
    assert [each.passes for each in stored(checkout)] == [16, 20]


def test_a_stored_confirmation_has_its_evidence(checkout, measuring):
    """Both releases, the expected and the measured ratio, the interval, and the median of every pass, to five digits."""
    measuring(1.3)
    main(["confirm-history"])
    document = json.loads((checkout / "results" / "box" / "confirmations.jsonl").read_text())
    assert document["suite"] == CASE.suite
    assert document["parameters"] == {"method": "tensor", "numel": "16"}
    assert (document["before"], document["after"]) == (RELEASES[STEP - 1].version, RELEASES[STEP].version)
    assert (document["sha_before"], document["sha_after"]) == (RELEASES[STEP - 1].sha, RELEASES[STEP].sha)
    assert (document["python"], document["build"], document["identity"], document["version"]) == ("3.11", "cuda", HERE, "3")
    assert document["expected"] == pytest.approx(1.3, rel=0.02)
    assert document["interval"][0] < document["ratio"] < document["interval"][1]
    assert document["passes_before"] == pytest.approx([2e-6, 2.004e-6, 2.008e-6, 2e-6])
    assert (document["passes"], len(document["passes_after"])) == (4, 4)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", document["started"])


def test_another_host_is_refused(checkout, measuring, capsys, monkeypatch):
    """Its times would not be comparable; nothing is measured."""
    fake = measuring(1.3)
    monkeypatch.setattr("tensorcopy.worker.hardware.identity", lambda: ELSEWHERE)
    assert main(["confirm-history"]) == 2
    error = capsys.readouterr().err
    assert LINE.match(error)
    assert f"this host is not the machine of the results: got identity {ELSEWHERE}; allowed: identity {HERE}" in error
    assert fake.calls == []


def test_results_of_unknown_hardware_are_refused(checkout, measuring, capsys):
    """They may have been taken anywhere."""
    shutil.rmtree(checkout / "results")
    for index, release in enumerate(RELEASES):
        measured_in_passes(checkout / "results", release, {"tensor": pass_times(2.0 if index < STEP else 3.0, index)})
    measuring(1.5)
    assert main(["confirm-history"]) == 2
    assert "allowed: unknown hardware, which measured torch" in capsys.readouterr().err


def test_the_machine_that_is_this_host_is_the_default(checkout, measuring, capsys):
    """Though another one measured later."""
    for release in RELEASES:
        measured_in_passes(
            checkout / "results", release, {"tensor": pass_times(2.0)}, "other", identity=ELSEWHERE, started="2027-01-01T00:00:00+00:00"
        )
    measuring(1.3)
    assert main(["confirm-history"]) == 0
    assert [each.machine for each in stored(checkout)] == ["box"]


@pytest.mark.parametrize(
    "arguments", [["9.9"], [f"{RELEASES[2].version}..{RELEASES[1].version}"], ["--machine", "attic"], ["--python", "3.8"]]
)
def test_an_unknown_selection_is_an_error(checkout, capsys, arguments):
    assert main(["confirm-history", *arguments]) == 2
    assert LINE.match(capsys.readouterr().err)


def test_a_range_selects_the_steps_at_its_releases(measuring, capsys):
    fake = measuring(1.3)
    assert main(["confirm-history", f"{RELEASES[STEP + 1].version}.."]) == 0
    assert fake.calls == []
    assert main(["confirm-history", RELEASES[STEP].version]) == 0
    assert len(fake.calls) == 1


@pytest.mark.parametrize("failing", [STEP - 3, STEP], ids=["the earlier", "the later"])
def test_a_pair_that_cannot_be_measured_does_not_stop_the_other(checkout, monkeypatch, capsys, failing):
    """It is named, and the exit code is 2; the outcome of the other one is stored."""
    for index, release in enumerate(RELEASES):
        factors = {"tensor": 2.0 * (1.3 if index >= STEP else 1.0), "new_tensor": 1.3 if index >= STEP - 3 else 1.0}
        times = {method: pass_times(factor, index + shift) for shift, (method, factor) in enumerate(factors.items())}
        measured_in_passes(checkout / "results", release, times, identity=HERE)
    fakes = {RELEASES[at].version: Fake(checkout, 1.3, problem="no room" if at == failing else "") for at in (STEP - 3, STEP)}
    monkeypatch.setattr(confirm_history, "measurer", lambda paths: lambda pair, report: fakes[pair.releases[1]].measurer(pair, report))
    assert main(["confirm-history"]) == 2
    assert "tensorcopy: no room: got nothing" in capsys.readouterr().err
    assert [len(fake.calls) for fake in fakes.values()] == [1, 1]
    assert [each.after for each in stored(checkout)] == [version for version in fakes if version != RELEASES[failing].version]


def test_a_pair_that_cannot_be_measured_is_an_error_and_stays_unconfirmed(checkout, measuring, capsys):
    """The exit code is 2."""
    measuring(1.3, problem="the disk is full")
    assert main(["confirm-history"]) == 2
    assert "tensorcopy: the disk is full: got nothing" in capsys.readouterr().err
    assert stored(checkout) == ()


@pytest.mark.parametrize(
    ("damage", "got"),
    [
        (lambda line: line[:-20], "Unterminated|delimiter|Expecting"),
        (lambda line: line.replace('"held"', '"maybe"'), "outcome must be one of"),
        (lambda line: re.sub(r'"ratio":[\d.]+', '"ratio":NaN', line), "NaN, which is no number"),
        (lambda line: re.sub(r'"expected":[\d.]+', '"expected":1e999', line), "expected must be smaller"),
        (lambda line: re.sub(r'"sha_after":"\w+"', '"sha_after":"x"', line), "sha_after must match"),
        (lambda line: "[" * 100_000, "recursion"),
        (lambda line: "[1]", "must be object"),
    ],
    ids=["cut off", "unknown outcome", "NaN", "infinite", "no sha", "deep", "no object"],
)
def test_a_damaged_line_is_a_problem_and_the_others_are_read(checkout, measuring, capsys, damage, got):
    """The error names file and line."""
    measuring(1.3)
    main(["confirm-history"])
    path = checkout / "results" / "box" / "confirmations.jsonl"
    line = path.read_text().strip()
    path.write_text(f"{damage(line)}\n\n{line}\n")
    loaded = confirmations.load(checkout / "results")
    assert len(loaded.confirmations) == 1
    (problem,) = loaded.problems
    assert re.search(got, problem.got)
    capsys.readouterr()
    assert main(["confirm-history"]) == 2
    error = capsys.readouterr().err
    assert "line 1 of results/box/confirmations.jsonl cannot be read" in error
    assert LINE.match(error)


def test_the_file_of_confirmations_is_no_result(checkout, measuring):
    """Results are loaded as before."""
    measuring(1.3)
    main(["confirm-history"])
    loaded = reader.load_results(checkout / "results")
    assert (len(loaded.results), loaded.problems) == (len(RELEASES), ())


def test_a_line_of_an_earlier_suite_version_does_not_count(checkout, measuring):
    """Its times are not those of the present suite."""
    measuring(1.3)
    main(["confirm-history"])
    path = checkout / "results" / "box" / "confirmations.jsonl"
    path.write_text(path.read_text().replace('"version":"3"', '"version":"2"'))
    assert confirmations.load(checkout / "results") == confirmations.Confirmations()
    assert status_now(checkout) is Status.UNCONFIRMED


def test_the_latest_line_counts(checkout, measuring):
    """Wherever it is in the file."""
    measuring(1.3)
    main(["confirm-history"])
    (held,) = stored(checkout)
    fell = replace(held, outcome=Outcome.FELL, ratio=1.0, interval=(0.99, 1.01), started="2099-01-01T00:00:00+00:00")
    (checkout / "results" / "box" / "confirmations.jsonl").unlink()
    confirmations.append(checkout / "results", [fell])
    confirmations.append(checkout / "results", [held])
    assert status_now(checkout) is Status.REJECTED
    assert confirmations.latest(stored(checkout))[held.key].outcome is Outcome.FELL


def test_the_history_in_the_terminal_is_without_a_step_that_fell(checkout, measuring, capsys):
    """As on the site; a damaged line is named."""
    measuring(1.3)
    main(["confirm-history"])
    (held,) = stored(checkout)
    capsys.readouterr()
    assert main(["history"]) == 0
    assert "slower" in capsys.readouterr().out
    confirmations.append(checkout / "results", [replace(held, outcome=Outcome.FELL, started="2099-01-01T00:00:00+00:00")])
    assert main(["history"]) == 0
    assert "slower" not in capsys.readouterr().out
    with (checkout / "results" / "box" / "confirmations.jsonl").open("a") as lines:
        lines.write("{\n")
    assert main(["history", "--strict"]) == 2
    shown = capsys.readouterr()
    assert "slower" not in shown.out
    assert "cannot be read" in shown.err


def test_lines_merge_in_any_order():
    """Each is there once; a damaged line is not lost."""
    first, second, damaged = '{"started":"2026-01-01"}\n', '{"started":"2026-01-02"}\n', '{"started":\n'
    assert confirmations.merged_lines([second + first, damaged + first]) == damaged + first + second
    assert confirmations.merged_lines([damaged + first, first, second]) == damaged + first + second
    assert confirmations.merged_lines([]) == ""


def test_merging_folders_merges_their_confirmations(checkout, measuring, tmp_path):
    """In any order, and once."""
    measuring(1.3)
    main(["confirm-history"])
    shutil.copytree(checkout / "results", tmp_path / "other")
    (held,) = stored(checkout)
    later = replace(held, outcome=Outcome.FELL, started="2099-01-01T00:00:00+00:00")
    confirmations.append(tmp_path / "other", [later])
    for _ in range(2):
        assert main(["merge", str(tmp_path / "other")]) == 0
        assert [each.outcome for each in stored(checkout)] == [Outcome.HELD, Outcome.FELL]


def test_a_step_before_the_first_release_of_a_python_is_measured_on_the_older_one(checkout, measuring):
    """The joined history shows it; its two releases have one Python."""
    shutil.rmtree(checkout / "results")
    for index, release in enumerate(RELEASES):
        for python, releases, factor in (("3.9", range(8), 1.2), ("3.11", range(7, 12), 1.0)):
            if index in releases:
                times = {"tensor": pass_times(factor * (2.0 if index < 4 else 3.0), index)}
                measured_in_passes(checkout / "results", release, times, python=python, identity=HERE)
    (pair,), problems = confirm.pending(checkout / "results", Selection())
    assert problems == []
    assert pair.releases == (RELEASES[3].version, RELEASES[4].version)
    assert (pair.before.python, pair.after.python) == ("3.9", "3.9")
    assert confirm.pending(checkout / "results", Selection(python="3.11")) == ([], [])


def test_a_file_without_a_last_line_end_is_continued_on_a_new_line(checkout, measuring):
    """As after an editor that removes it."""
    measuring(1.3)
    main(["confirm-history"])
    path = checkout / "results" / "box" / "confirmations.jsonl"
    path.write_text(path.read_text().rstrip("\n"))
    confirmations.append(checkout / "results", stored(checkout))
    assert len(path.read_text().splitlines()) == 2


CHANGE = Change(Verdict.SLOWER, Reason.CHANGED, 1.1, (1.08, 1.12), 0.001)


@pytest.mark.parametrize(
    ("expected", "change", "outcome"),
    [
        (1.1, CHANGE, "held"),
        (1.2, CHANGE, "held"),
        (1.5, CHANGE, "fell"),
        (0.9, CHANGE, "fell"),
        (1 / 1.2, replace(CHANGE, ratio=1 / 1.1, interval=(1 / 1.12, 1 / 1.08)), "held"),
        (1.02, replace(CHANGE, ratio=1.0, interval=(0.995, 1.005)), "fell"),
        (1.1, replace(CHANGE, ratio=1.06, interval=(0.99, 1.13), p=0.09), "open"),
        (1.1, replace(CHANGE, p=0.02), "open"),
        (1.1, replace(CHANGE, ratio=1.04, interval=(1.02, 1.06)), "open"),
        (1.1, Change(Verdict.INCONCLUSIVE, Reason.TOO_FEW_PASSES, 1.1), "open"),
    ],
    ids=[
        "as large",
        "half",
        "less than half",
        "other direction",
        "faster",
        "unchanged",
        "wide",
        "not significant in three looks",
        "near half",
        "untestable",
    ],
)
def test_a_step_holds_if_half_of_it_is_there_again(expected, change, outcome):
    """On a logarithmic scale, and significantly."""
    assert repeat.outcome(expected, change, looks=3).value == outcome


def counted(result, instructions):
    case = Case("instructions.BySize.track_instructions", (("method", "tensor"), ("numel", "16"), ("requires_grad", "False")))
    return replace(result, counts={case: instructions}, count_repeats={case: (instructions, instructions)})


@pytest.mark.parametrize(
    ("instructions", "ratio", "expected"),
    [
        ((1000, 1020), 1.1, Status.CONFIRMED_BY_COUNT),
        ((1000, 1000), 1.1, Status.UNCONFIRMED),
        ((1000, 980), 1.1, Status.UNCONFIRMED),
        ((1000, 980), 0.9, Status.CONFIRMED_BY_COUNT),
        ((1000, 1020), 10.0, Status.UNCONFIRMED),
    ],
    ids=["more instructions", "equal", "fewer", "fewer and faster", "too few for ten times the time"],
)
def test_an_exact_count_in_the_same_direction_confirms_a_step(checkout, instructions, ratio, expected):
    """Such a step is not measured again; a count that hardly changed does not explain a large step."""
    results = [result for release in RELEASES for result in reader.load_results(Path("results")).results if result.sha == release.sha]
    results = [counted(result, instructions[index >= STEP]) for index, result in enumerate(results)]
    assert status.status_of(results[STEP - 1], results[STEP], CASE, ratio, {}, results) is expected
    pending = status.pending([counted(result, 1000 + 300 * (i >= STEP)) for i, result in enumerate(results)], {}, repeat.AT_MOST)
    assert pending == []


def test_a_step_that_fell_is_rejected_whatever_the_count(checkout, measuring):
    """The count changed, the time did not."""
    measuring(1.0)
    main(["confirm-history"])
    results = {result.sha: result for result in reader.load_results(Path("results")).results}
    before, after = counted(results[RELEASES[STEP - 1].sha], 1000), counted(results[RELEASES[STEP].sha], 1300)
    assert status.status_of(before, after, CASE, 1.3, confirmations.latest(stored(checkout))) is Status.REJECTED


@pytest.mark.parametrize(("ratio", "expected"), [(1.3, Status.CONFIRMED), (3.0, Status.UNCONFIRMED), (1.05, Status.UNCONFIRMED)])
def test_a_confirmation_counts_for_a_step_of_about_its_size(checkout, measuring, ratio, expected):
    """More passes may show another step between the same releases."""
    measuring(1.3)
    main(["confirm-history"])
    results = {result.sha: result for result in reader.load_results(Path("results")).results}
    before, after = results[RELEASES[STEP - 1].sha], results[RELEASES[STEP].sha]
    by_key = confirmations.latest(stored(checkout))
    assert status.status_of(before, after, CASE, ratio, by_key) is expected
    elsewhere = [replace(result, provenance={**result.provenance, "identity": ELSEWHERE}) for result in (before, after)]
    assert status.status_of(*elsewhere, CASE, ratio, by_key) is Status.UNCONFIRMED


def test_the_progress_of_a_pair_is_a_part_of_all(checkout):
    """The remaining time includes the pairs that come later."""
    (pair,), _ = confirm.pending(checkout / "results", Selection())
    reports: list[Progress] = []
    confirm_history._within(reports.append, [60.0, 120.0, 20.0], 1, pair)(Progress("pass 1", 0.5, 50.0))
    assert reports[0].doing == f"torch {' and '.join(pair.releases)} on Python 3.11, pair 2 of 3: pass 1"
    assert (reports[0].done, reports[0].remaining) == (0.6, 70.0)


def simulated(size: float, share: float, repetitions: int = 40) -> Counter[Outcome]:
    """Return how many steps of a relative `size` hold and fall, where `share` of it is there again and passes vary by 1.6 %."""
    random = np.random.default_rng(15)
    outcomes = []
    for _ in range(repetitions):
        noise = [tuple(random.normal(0, 0.016, 8)) for _ in range(20)]
        logs = random.normal([[0.0], [share * np.log1p(size)]], 0.016, (2, 16))
        for passes in repeat.batches(16):
            sides = tuple(Samples(tuple((float(np.exp(log)),) for log in side[:passes])) for side in logs)
            outcome = repeat.outcome(1 + size, judge({CASE: sides}, noise={CASE: noise})[CASE], looks=3)
            if outcome is not Outcome.OPEN:
                break
        outcomes.append(outcome)
    return Counter(outcomes)


def test_real_steps_hold_and_false_ones_fall():
    """In simulations of 5 %; of steps of 3 %, false ones fall or stay open."""
    assert simulated(0.05, 1.0)[Outcome.HELD] >= 39
    assert simulated(0.05, 0.0)[Outcome.FELL] >= 39
    assert simulated(0.03, 1.0)[Outcome.HELD] >= 38
    assert simulated(0.03, 0.0)[Outcome.HELD] <= 1


@pytest.fixture
def result(checkout):
    """The newest result of the checkout."""
    return next(result for result in reader.load_results(checkout / "results").results if result.sha == RELEASES[-1].sha)


def test_a_result_of_another_kind_of_environment_is_not_measured_again(result, monkeypatch):
    """Such as that of an interpreter with its own torch: its wheel may be another one."""
    measurement = Measurement(RELEASES[-1], "3.11", build="cuda")
    monkeypatch.setattr("tensorcopy.measure.plan.select", lambda *_: ([measurement], []))
    assert remeasure._measurement_of(result) == measurement
    with pytest.raises(TensorcopyError, match=r"got py3\.11-cuda-interpreter; allowed: py3\.11-cuda, which uv installs here"):
        remeasure._measurement_of(replace(result, environment="py3.11-cuda-interpreter"))


def test_samples_of_another_host_do_not_confirm(checkout, result):
    """Though its processor has the same name."""
    paths = configuration.paths()
    pair = (Measurement(RELEASES[-2], "3.11", build="cuda"), Measurement(RELEASES[-1], "3.11", build="cuda"))
    assert remeasure._load_pair(pair, paths, result)[1].sha == result.sha
    elsewhere = replace(result, provenance={**result.provenance, "identity": ELSEWHERE})
    with pytest.raises(TensorcopyError, match=f"got identity {HERE}; allowed: box, identity {ELSEWHERE}"):
        remeasure._load_pair(pair, paths, elsewhere)


@pytest.mark.parametrize(("passes", "sizes"), [(3, (3,)), (4, (4,)), (16, (4, 8, 16)), (20, (4, 8, 16, 20))])
def test_passes_are_taken_in_batches(passes, sizes):
    """Most steps need only the first."""
    assert repeat.batches(passes) == sizes


@pytest.mark.parametrize(
    ("options", "passes", "confirms"),
    [([], 3, True), (["--no-confirm"], 3, False), (["--bench", "^copies"], 3, False), ([], 2, False)],
    ids=["a whole measurement", "not wanted", "some suites", "too few passes"],
)
def test_measure_ends_with_the_steps_of_its_releases(checkout, monkeypatch, options, passes, confirms):
    """It confirms the new steps at the measured releases, unless told otherwise."""
    selections = []
    version = RELEASES[STEP].version
    measurement = Measurement(RELEASES[STEP], "3.11")
    monkeypatch.setattr("tensorcopy.cli.measure._selected", lambda *_: ([measurement], []))
    monkeypatch.setattr("tensorcopy.asv_plugin.configuration.register_machine", lambda name: None)
    monkeypatch.setattr("tensorcopy.measure.run_passes.measure_all", lambda *_, **__: [])
    monkeypatch.setattr("tensorcopy.measure.plan.count_passes", lambda *_: passes)
    monkeypatch.setattr(confirm, "confirm", lambda selection, console, until: selections.append(selection) or 0)
    assert main(["measure", version, "--machine", "box", *options]) == 0
    assert selections == ([Selection("box", ranges=[version])] if confirms else [])
