"""The command compare: arguments, output and exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from tensorcopy.analysis import comparisons
from tensorcopy.analysis.two_sample import Change, Reason, Verdict, judge
from tensorcopy.cli import main
from tensorcopy.releases import release_table
from tensorcopy.report import formats, sentences
from tensorcopy.results import select
from tensorcopy.results.passes import Case, PassSamples, timing
from tests.conftest import NEWEST_SHIPPED, ON_3_11, ROOT, assert_golden, compared, measured, measured_in_passes, pass_times

OLD, NEW = release_table.find("2.14.1"), release_table.find("2.15.0")
NAMES = ("2.14.1", "2.15.0")
CASE = Case("copies.BySize.time_copy", (("method", "tensor"), ("numel", "16")))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return results of two releases with one case of each verdict.

    A fifth case was measured in the second release only.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "140")
    before, after = (
        {method: pass_times(factor, shift) for shift, (method, factor) in enumerate(factors.items(), start)}
        for start, factors in (
            (0, {"new_tensor": 2.0, "clone_detach": 1.4, "detach_clone": 1.1, "tensor": 2.2}),
            (4, {"new_tensor": 2.5, "clone_detach": 1.2, "detach_clone": 1.101, "tensor": 2.262}),
        )
    )
    measured_in_passes(tmp_path / "results", OLD, before)
    measured_in_passes(tmp_path / "results", NEW, {**after, "empty_like_copy": pass_times(1.5)})
    return tmp_path / "results"


@pytest.mark.parametrize(("form", "suffix"), [("text", "txt"), ("markdown", "md"), ("json", "json"), ("csv", "csv")])
def test_the_output_in_every_format(folder, capsys, form, suffix):
    """For the terminal, for a comment and for programs."""
    assert main(["compare", *NAMES, "--format", form]) == 0
    assert_golden(f"compare.{suffix}", capsys.readouterr().out)


def test_the_evidence_of_one_case(folder, capsys):
    """Every pass, the interval, the test and the environments."""
    assert main(["compare", *NAMES, "--explain", "copies.BySize new_tensor numel=16"]) == 0
    assert_golden("explain.txt", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([*NAMES], 0),
        ([*NAMES, "--fail-on", "slower"], 1),
        ([*reversed(NAMES), "--fail-on", "slower"], 1),
        ([*NAMES, "--fail-on", "slower", "--case", " detach_clone "], 0),
        (["2.14.1", "9.9.9"], 2),
        (["2.14.1", "2.13.0"], 2),
        (["2.14.1@mars", "2.15.0"], 2),
        (["nowhere:2.14.1", "2.15.0"], 2),
        ([*NAMES, "--case", "empty_like"], 3),
        ([*NAMES, "--case", "no such case"], 3),
        ([*NAMES, "--device", "cuda"], 3),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_the_exit_code(folder, capsys, arguments, code):
    """0 nothing slower, or not asked for; 1 a case is slower; 2 an error.

    3 nothing could be compared.
    """
    assert main(["compare", *arguments]) == code
    assert capsys.readouterr().err.startswith("tensorcopy: ") is (code in (2, 3))


@pytest.mark.parametrize(
    "option", [["--margin", "0"], ["--margin", "much"], ["--case", "("], ["--explain", "("]], ids=lambda value: " ".join(value)
)
def test_an_invalid_option_is_an_error(folder, capsys, option):
    """Whose message contains the value."""
    with pytest.raises(SystemExit) as ended:
        main(["compare", *NAMES, *option])
    assert ended.value.code == 2
    assert option[1] in capsys.readouterr().err


def test_an_unknown_format_lists_the_known_ones(folder, capsys):
    """One line, before anything is compared."""
    assert main(["compare", *NAMES, "--format", "xml"]) == 2
    assert "unknown format: got 'xml'; allowed: text, markdown, json, csv" in capsys.readouterr().err


def test_a_wider_margin_reports_fewer_changes(folder, capsys):
    """Up to 5 % is then no change."""
    main(["compare", *NAMES, "--margin", "5", "--format", "json"])
    verdicts = {change["parameters"]["method"]: change["verdict"] for change in json.loads(capsys.readouterr().out)["changes"]}
    assert verdicts["tensor"] == "unchanged"
    assert verdicts["new_tensor"] == "slower"


def test_folders_of_results_can_be_compared(folder, tmp_path, capsys):
    """The newest release in each, or a release that is named."""
    measured_in_passes(tmp_path / "other", NEW, {"new_tensor": pass_times(3.0)})
    assert main(["compare", str(folder), str(tmp_path / "other"), "--format", "json", "--case", "new_tensor"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["changes"][0]["ratio"] == pytest.approx(3 / 2.5, rel=0.02)
    assert (document["before"]["label"], document["after"]["label"]) == ("torch 2.15.0+cu13, results", "torch 2.15.0+cu13, other")
    assert main(["compare", f"{folder}:2.14.1", f"{tmp_path / 'other'}:2.15.0", "--format", "json", "--case", "new_tensor"]) == 0
    assert json.loads(capsys.readouterr().out)["changes"][0]["ratio"] == pytest.approx(3 / 2.0, rel=0.02)


def test_only_two_machines_may_have_different_hardware(folder, capsys):
    """Two results of one machine with different processors are not compared."""
    measured_in_passes(folder, NEW, {"new_tensor": pass_times(1.0)}, machine="fast", cpu="Faster 1")
    assert main(["compare", "2.15.0@box", "2.15.0@fast", "--case", "new_tensor", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["changes"][0]["verdict"] == "faster"
    measured_in_passes(folder, OLD, {"new_tensor": pass_times(1.0)}, cpu="Faster 1")
    assert main(["compare", "2.14.1@box", "2.15.0@box", "--case", "new_tensor", "--format", "json"]) == 3
    change = json.loads(capsys.readouterr().out)["changes"][0]
    assert change["reason"] == "provenance_differs"
    assert change["differences"] == [{"field": "cpu", "before": "Faster 1", "after": "Box 9000"}]


def test_numpy_must_be_equal_for_conversions_only():
    """Copies do not use it."""
    copy, conversion = (
        comparisons.Case(name, (("method", "m"),)) for name in ("copies.BySize.time_copy", "conversions.BySize.time_conversion")
    )
    timings = {timed: timing([PassSamples((1e-6,))]) for timed in (copy, conversion)}
    result = comparisons.Result(Path(), "box", "", "3.11", "cuda", "", timings, provenance={"numpy": "1.26.4"})
    assert comparisons.samples_of(result, copy, result).provenance == {}
    assert comparisons.samples_of(result, conversion, result).provenance == {"numpy": "1.26.4"}


GPU = {"index": 0, "capability": "9.0", "power_limit_w": 700.0, "clock_mhz": 1980, "ecc": True, "mig": None}


@pytest.mark.parametrize(
    ("changed", "settings", "on_cuda", "on_cpu"),
    [
        ({"index": 1, "clock_mhz": 1700}, {"CUDA_VISIBLE_DEVICES": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, [], []),
        ({"power_limit_w": 350.0}, {}, ["gpu power_limit_w"], []),
        ({"capability": None, "mig": False}, {}, [], []),
        ({}, {"CUDA_LAUNCH_BLOCKING": "1"}, ["settings"], ["settings"]),
    ],
    ids=["another of the same kind", "another limit", "not reported", "a setting"],
)
def test_a_gpu_may_be_any_of_its_kind_and_matters_only_for_its_own_cases(changed, settings, on_cuda, on_cpu):
    """A scheduler gives each job another one; a release of torch or a driver may not report a value."""
    timings = {
        Case("copies.Latency.time_copy", (("method", "m"), ("device", device))): timing([PassSamples((1e-6,))] * 4)
        for device in ("cuda", "cpu")
    }
    sides = [
        comparisons.Result(Path(name), "box", name, "3.11", "cuda", "", timings, provenance={"torch": name, "settings": own, "gpu": gpu})
        for name, own, gpu in (("1", {}, GPU), ("2", settings, {**GPU, **changed}))
    ]
    differences = {
        case.device: [each.field for each in change.differences] for case, change in comparisons.between(*sides, ()).changes.items()
    }
    assert differences == {"cuda": on_cuda, "cpu": on_cpu}


def test_one_case_has_one_verdict(tmp_path, monkeypatch, capsys):
    """Significant alone, and not among a hundred cases, however it is asked for: a filter selects what is shown, not what is judged."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(5)

    def passes(ratio: float = 1.0) -> list[float]:
        return [float(value) for value in ratio * np.exp(random.normal(0, 0.01, 4))]

    others = [f"m{number}" for number in range(99)]
    for release, ratio in ((OLD, 1.0), (NEW, 1.06)):
        measured_in_passes(tmp_path / "results", release, {"tensor": passes(ratio), **{name: passes() for name in others}})
    changes = []
    for selection in ([], ["--case", " tensor "], ["--device", "cpu"]):
        assert main(["compare", *NAMES, "--format", "json", *selection]) == 0
        shown = json.loads(capsys.readouterr().out)["changes"]
        changes += [change for change in shown if change["parameters"]["method"] == "tensor"]
    assert changes[0]["verdict"] == "inconclusive"
    assert changes == [changes[0]] * 3
    assert main(["compare", *NAMES, "--explain", " tensor "]) == 0
    evidence = capsys.readouterr().out
    assert "adjusted for 100 cases (Holm)" in evidence
    alone = judge({"tensor": tuple(comparisons.samples_of(result, CASE, result) for result in results_of(tmp_path))})["tensor"]
    assert alone.verdict is Verdict.SLOWER


def results_of(folder):
    pair = select.pair(*NAMES, folder / "results")
    return pair.before, pair.after


def test_counts_of_another_device_are_not_shown(shipped_results, monkeypatch, capsys):
    """`--metric` and `--device` work together."""
    monkeypatch.chdir(ROOT)
    versions = ON_3_11[0].version, NEWEST_SHIPPED.version
    assert main(["compare", *versions, "--metric", "bytes", "--device", "cpu"]) == 0
    capsys.readouterr()
    assert main(["compare", *versions, "--metric", "bytes", "--device", "cuda"]) == 3
    assert "no case matches --case and --device" in capsys.readouterr().err


@pytest.mark.parametrize("case", ["tensor", "no such case"])
def test_explain_needs_exactly_one_case(folder, capsys, case):
    """The error lists the cases."""
    assert main(["compare", *NAMES, "--explain", case]) == 2
    assert "copies.BySize new_tensor numel=16" in capsys.readouterr().err


def test_the_summary_gives_the_median_ratio_and_its_range():
    """Of two changes, the median is between them."""
    rows = [
        (name, Change(Verdict.SLOWER, Reason.CHANGED, ratio=ratio, interval=(ratio, ratio))) for name, ratio in (("a", 1.1), ("b", 1.3))
    ]
    assert "slower | 2 | 1.20× | 1.10 to 1.30 |" in formats.comparison_text(("before", "after"), "a machine", 0.03, rows)


def test_a_long_comment_is_cut_between_lines(folder):
    """GitHub refuses longer ones. Folds are closed, and a note is added."""
    comparison = compared(*NAMES, folder, margin=0.03)
    text = formats.markdown(comparison)
    cut = formats.comparison_text(comparison.labels, comparison.on, comparison.margin, formats.rows(comparison), len(text) - 40)
    assert cut.count("<details>") == cut.count("</details>")
    assert "`--format json` has everything" in cut


def test_text_from_results_is_escaped_in_a_comment():
    """No tag, no link, no mention, no control character."""
    assert formats.escaped("<img src=x> `a` |b| [c](d) @someone\n# e \x1b[31m\u202e http://a www.b") == (
        r"&#60;img src=x&#62; &#96;a&#96; \|b\| \[c\](d) @&#8203;someone \#&#8203; e \[31m http:&#8203;//a www&#8203;.b"
    )
    assert formats.code("a`b|c\nd_e <!-- f") == r"`a'b\|c d_e <! -- f`"


def test_the_table_does_not_fold_at_80_columns(shipped_results, monkeypatch, capsys):
    """A row of any two shipped releases fits: the suite is a heading, and a case has its parameters in few columns."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["compare", ON_3_11[0].version, NEWEST_SHIPPED.version, "--all"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line[:1] in ("▲", "▼", "=", "?")]
    assert len(rows) > 100
    assert max(map(len, rows)) <= 80
    assert not any(line.endswith("…") for line in rows)


def test_counts_are_compared_like_times(shipped_results, monkeypatch, capsys):
    """Every case that was counted in both releases, with the count of each; a row fits into 80 columns."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "80")
    versions = ON_3_11[0].version, NEWEST_SHIPPED.version
    assert main(["compare", *versions, "--metric", "instructions"]) == 0
    text = capsys.readouterr().out
    assert re.search(r"^more instructions in \d+ of \d+ cases, fewer in \d+; largest change: instructions\.", text, re.MULTILINE)
    rows = [line for line in text.splitlines() if line[:1] in ("▲", "▼")]
    assert len(rows) > 50
    assert max(map(len, rows)) <= 80
    assert main(["compare", *versions, "--metric", "instructions", "--format", "json"]) == 0
    changes = json.loads(capsys.readouterr().out)["changes"]
    assert {change["unit"] for change in changes} == {"instructions"}
    assert all((change["ratio"] > 1) == (change["verdict"] == "slower") for change in changes if change["count"]["changed"])


def test_counts_that_nobody_took_are_an_error(folder, capsys):
    """It names the command that counts."""
    assert main(["compare", *NAMES, "--metric", "bytes"]) == 2
    assert "no bytes were counted on both sides" in capsys.readouterr().err


def test_a_comparison_is_summed_up_by_cause(monkeypatch):
    """Copies and conversions by size and direction, other methods by name with their largest change."""
    before = measured(OLD, {("clone_detach", 16): 1e-6, ("detach_clone", 16): 1e-6, ("tensor", 2**20): 1e-4})
    after = measured(NEW, {("clone_detach", 16): 1.2e-6, ("detach_clone", 16): 1.3e-6, ("tensor", 2**20): 0.5e-4})
    for result, time in ((before, 1e-6), (after, 3e-6)):
        (copied,) = measured(OLD, {("cpu", 1): time}).timings.values()
        result.timings[Case("primitives.BySize.time_primitive", (("method", "cpu"), ("numel", "1")))] = copied
    assert list(sentences.causes(comparisons.between(before, after, ()))) == [
        "slower: 2 of 2 copies and conversions at numel ≤ 2¹⁴, +20 % to +30 %",
        "faster: 1 of 1 copies and conversions at numel > 2¹⁴, −50 %",
        "slower: primitives: cpu ×3.0",
    ]
