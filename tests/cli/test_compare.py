"""The command compare: arguments, output and exit codes."""

import json
import re
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace

import pytest

from tensorcopy.cli import main
from tensorcopy.judge import comparisons
from tensorcopy.judge.comparisons import Question
from tensorcopy.judge.paired import Reason
from tensorcopy.results.launches import OTHER_VERSION
from tests import launch_files
from tests.conftest import assert_golden

NAMES = ("2.14.1", "2.15.0")


def copies(**times):
    """Return cases of copies with 16 elements, with the microseconds of both releases by method."""
    return {f"copies.BySize.time_copy {method} 16": dict(zip(NAMES, pair)) for method, pair in times.items()}


VERDICTS = copies(
    new_tensor=(2.0, 2.5), clone_detach=(1.4, 1.2), detach_clone=(1.1, 1.101), tensor=(2.2, 2.262), empty_like_copy=("KeyError: 3", 1.5)
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Launches of two releases with one case of each verdict, and one that failed with the first release."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "140")
    launch_files.write(tmp_path / "results", VERDICTS)
    for name, counts in zip(NAMES, ((1000, 1000), (1200, 1004))):
        of_case = zip(("new_tensor", "clone_detach"), counts)
        counted = {f"instructions.BySize.track_instructions {method} 16 False": count for method, count in of_case}
        launch_files.write_counts(tmp_path / "results", name, counted)
    return tmp_path / "results"


@pytest.mark.parametrize(("form", "suffix"), [("text", "txt"), ("markdown", "md")])
def test_the_output_for_people(folder, capsys, form, suffix):
    """For the terminal and for a comment."""
    assert main(["compare", *NAMES, "--format", form]) == 0
    assert_golden(f"compare.{suffix}", capsys.readouterr().out)


def test_json_has_the_provenance_of_both_sides(folder, capsys):
    """That of the launches."""
    assert main(["compare", *NAMES, "--format", "json", "--case", "new_tensor|empty_like"]) == 0
    document = json.loads(capsys.readouterr().out)
    sides = [document[side]["provenance"] for side in ("before", "after")]
    assert [side.pop("started") for side in sides] == ["2026-11-21T09:50:00+00:00"] * 2
    assert sides == [launch_files.side(name).provenance for name in NAMES]
    assert [row["parameters"]["method"] for row in document["rows"]] == ["new_tensor", "empty_like_copy"]
    assert [document["after"][name] for name in ("label", "history", "python", "build")] == ["torch 2.15.0+cu132", "box", "3.11", "cuda"]
    assert (document["device"], document["margin"], document["problems"]) == ("cpu", 0.03, [])


def test_the_evidence_of_one_case(folder, capsys):
    """Every launch, the interval, the way, the test, what could have been seen, the exact count beside and the environments."""
    assert main(["compare", *NAMES, "--explain", "copies.BySize new_tensor numel=16"]) == 0
    assert_golden("explain.txt", capsys.readouterr().out)


def test_of_the_hardware_the_differing_parts_are_shown():
    """Each under its name."""
    hardware = {"model": "1", "flags": ["avx"]}, {"model": "1", "flags": ["avx", "fma"], "caches": ["L1"]}
    sides = [SimpleNamespace(provenance={"hardware": each}) for each in hardware]
    differing = [("hardware flags", "avx", "avx, fma"), ("hardware caches", "", "L1")]
    assert comparisons.Comparison(Question(*sides), NAMES, {}).environment == differing


PAIR = "compare 2.14.1 2.15.0"
REFUSED = {  # a command line: its exit code, and a pattern of its last line
    f"{PAIR} --explain tensor": (2, "copies.BySize new_tensor numel=16"),
    f"{PAIR} --explain nope": (2, "copies.BySize new_tensor numel=16"),
    f"{PAIR} --for 5m --metric bytes": (2, "--now and --fail-on are about times: got --metric bytes"),
    f"{PAIR} --now --history box": (2, "--now measures times here: got --history box"),
    f"{PAIR} --metric instructions --fail-on slower": (2, "--now and --fail-on are about times: got --metric inst"),
    f"{PAIR} --case none": (2, f"no such case: got 'none'; allowed: copies.BySize new.*; next: tensorcopy {PAIR} --all lists the cases"),
    f"{PAIR} --case None --device cpu": (2, f"; next: tensorcopy {PAIR} --device cpu --all lists the cases"),
    f"{PAIR} --metric instructions --case none": (2, f"; next: tensorcopy {PAIR} --metric instructions --all lists the cases"),
    f"{PAIR} --metric instructions --history x": (2, f"; next: tensorcopy {PAIR} --metric instructions --history box"),
    f"{PAIR} --history box --explain nope": (2, f"; next: tensorcopy {PAIR} --history box --all lists the cases"),
    f"{PAIR} --case empty_like": (3, "nothing was compared: failed before$"),
    "compare 0.1.0 2.15.0": (2, "; next: name one of these$"),  # no index has a torch older than the table's first
    "compare 2.99.0 2.15.0": (2, "; next: tensorcopy measure --add-release 2.99.0$"),
    "history sideways": (2, "no such case: got 'sideways'; allowed: copies.BySize .*; next: tensorcopy history$"),
    "history sideways --device cpu --history box": (2, "; next: tensorcopy history --device cpu --history box$"),
}


@pytest.mark.parametrize("line", REFUSED)
def test_what_cannot_be_answered_is_a_line_that_says_why(folder, capsys, line):
    """And lists what there is. Where nothing was compared, the exit code is another one."""
    code, pattern = REFUSED[line]
    assert main(line.split()) == code
    printed = capsys.readouterr()
    assert re.search(pattern, printed.err), printed.err
    assert printed.err.startswith("tensorcopy: nothing was compared: ") is (code == 3)
    assert not printed.out.endswith("\n\n")


def test_the_heading_says_how_many_launches_each_case_has(tmp_path, monkeypatch, capsys):
    """Of cases whose sides took turns, of those that are compared by way of another release, and of those that are not judged, apart."""
    monkeypatch.setenv("COLUMNS", "1000")
    monkeypatch.chdir(tmp_path)
    first, second = "copies.BySize.time_copy tensor 16", "conversions.BySize.time_conversion detach_numpy_copy 16"
    sides = {first: {"2.8.0": 1.0, NAMES[0]: 1.0}}, {first: {"2.8.0": 1.0, NAMES[1]: 1.0}}, {second: dict.fromkeys(NAMES, 1.0)}
    for day, times in enumerate(sides):
        launch_files.write(tmp_path / "results", times, launches=4 + 4 * day, start=launch_files.START + timedelta(days=day))
    launch_files.write(
        tmp_path / "results", {"alternatives.BySize.time_alternative asarray_copy 16": dict.fromkeys(NAMES, 1.0)}, launches=2
    )
    parts = [
        "12 launches for 1 case: fresh processes of both, which took turns",
        "4 and 8 launches for 1 case: of each beside other releases, which both are compared with",
        "fewer than 3 launches for 1 case: not judged",
    ]
    assert main(["compare", *NAMES]) == 0
    assert f"; {'; '.join(parts)}.\n" in capsys.readouterr().out


def test_two_that_never_met_have_the_launches_of_each(tmp_path):
    for release, launches in zip(NAMES, (3, 5)):
        launch_files.write(tmp_path, {"copies.BySize.time_copy tensor 16": {release: 1.0}}, launches=launches)
    (change,) = comparisons.between(Question(*launch_files.load(tmp_path, *NAMES))).changes.values()
    assert (change.reason, change.launches) == (Reason.NEVER_MET, (3, 5))


def test_a_side_that_fails_or_skips_a_case_is_the_reason(tmp_path):
    """A side that skips it since it has the benchmark in another version has it, with another body."""
    launch_files.write(tmp_path, copies(added=(None, 1.0), removed=(1.0, None), broken=(1.0, "ValueError: no"), kept=(1.0, 1.0)))
    before, after = launch_files.load(tmp_path, *NAMES)
    others = {"removed": "not_measured_after", "broken": "failed_after", "kept": "within_margin"}
    for skip, reason in (("not here", "not_measured_before"), (OTHER_VERSION, "other_version")):
        question = Question(replace(before, skips=dict.fromkeys(before.skips, skip)), after)
        reasons = {case["method"]: change.reason.value for case, change in comparisons.between(question).changes.items()}
        assert reasons == {"added": reason, **others}


def test_the_headline_names_the_gpu_of_the_times(tmp_path):
    """And not the processor beside it, where nothing was timed."""
    launch_files.write(tmp_path, {"copies.Latency.time_copy m 16 cuda": dict.fromkeys(NAMES, 1.0)}, accelerators={"cuda": "NVIDIA H9"})
    assert comparisons.between(Question(*launch_files.load(tmp_path, *NAMES))).on == "NVIDIA H9 (box), Python 3.11"


CASES_BY_DEVICE = {
    "copies.BySize.time_copy tensor 16": "cpu",
    "copies.Throughput.time_copy tensor 16 cuda": "cuda",
    "memory.Host.track_peak tensor 16 cuda": "cuda",
    "memory.Counted.track_peak tensor 16": "cuda",
    "theirs.time_it device=cuda:0": "cuda",
    "theirs.time_it device=device(type='mps')": "mps",
    "theirs.time_it device=None": "cpu",
    "theirs.time_it device=cudagraphs": "cpu",
}


@pytest.mark.parametrize(("name", "device"), CASES_BY_DEVICE.items())
def test_a_case_is_on_one_device(name, device):
    """By its parameter, or where it has none by the row of its suite; a value that is no device, such as a function's, is none."""
    assert launch_files.case(name).device == device


@pytest.mark.parametrize(
    ("case", "device", "other", "where"),
    [
        ("memory.Counted.track_peak tensor 16", "cuda", "cpu", "cuda (box, cuda)"),
        ("memory.Host.track_peak tensor 16 cpu", "cpu", "cuda", "Box 9000 (box, cpu)"),
    ],
    ids=["by the table of suites", "by its parameter"],
)
def test_memory_of_a_device_is_compared_as_its(tmp_path, monkeypatch, capsys, case, device, other, where):
    """That a case counts bytes of CUDA stands in the table of suites; of another device nothing is shown."""
    monkeypatch.chdir(tmp_path)
    for release, nbytes in zip(NAMES, (64, 128)):
        launch_files.write_counts(tmp_path / "results", release, {case: nbytes})
    assert main(["compare", *NAMES, "--metric", "bytes", "--device", device]) == 0
    assert re.search(r"64 B +128 B +\+100\.0 %", capsys.readouterr().out)
    assert main(["compare", *NAMES, "--metric", "bytes"]) == 0
    assert f"\nOn {where}, Python 3.11.\n" in capsys.readouterr().out
    assert main(["compare", *NAMES, "--metric", "bytes", "--device", other]) == 2
    message = f"no bytes were counted on {other} on both sides: got --device {other}; allowed: {device} (box); next: "
    assert message in capsys.readouterr().err
