"""A pass that met page faults which its siblings did not is kept and not counted."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tensorcopy.results import reader
from tensorcopy.results.passes import FaultedPass, fault_reasons
from tests.conftest import NEW, compared, measured_in_passes
from tests.conftest import OLD as BEFORE

USUAL = [FaultedPass(time, 0.0) for time in (340e-6, 350e-6, 330e-6)]
FAULTED = FaultedPass(6670e-6, 512.0)


def test_a_pass_with_many_times_the_time_and_the_faults_is_excluded():
    """The reason has both."""
    assert fault_reasons([*USUAL, FAULTED]) == [
        *("", "", ""),
        "its calls took 19.6 times as long as in the other passes, with 512 page faults each instead of 0",
    ]


@pytest.mark.parametrize(
    "passes",
    [
        [*USUAL, replace(FAULTED, faults=0.0)],
        [*USUAL, replace(FAULTED, time=350e-6)],
        [*USUAL, replace(FAULTED, faults=None)],
        [replace(each, faults=None) for each in USUAL] + [FAULTED],
        [replace(each, faults=500.0) for each in USUAL] + [FAULTED],
        [*USUAL[:2], FAULTED],
        [*USUAL[:2], FAULTED, FAULTED],
        [*USUAL, FAULTED, FAULTED, FAULTED],
    ],
    ids=[
        *("no faults", "no longer", "not recorded", "others not recorded", "as many in all", "too few others"),
        *("too few left", "half of them"),
    ],
)
def test_no_other_pass_is_excluded(passes):
    """A slow pass alone is noise that the comparison weighs; faults of many passes are the case's own."""
    assert set(fault_reasons(passes)) == {""}


def with_faults(path, faults):
    """Record page faults per call for each pass of the first case of a file."""
    document = json.loads(path.read_text())
    for record, count in zip(document["passes"], faults):
        row = record["suites"]["copies.BySize.time_copy"]
        row["interruptions"] = {"0": [[count, 0, 0]] * 3, "1": [[0, 0, 9]] * 3}
    path.write_text(json.dumps(document))


TIMES = {"tensor": [1.0, 1.01, 0.99, 1.0, 19.0], "clone_detach": [1.0, 1.01, 0.99, 1.0, 1.02]}


def test_only_the_case_that_met_the_faults_loses_the_pass(tmp_path):
    """Its time and the number of passes that count do not have it."""
    path = measured_in_passes(tmp_path, NEW, TIMES)
    with_faults(path, [0, 0, 0, 0, 512])
    tensor, clone = reader.read(path, json.loads((tmp_path / "benchmarks.json").read_text())).timings.values()
    assert [bool(each.excluded) for each in tensor.by_pass] == [False] * 4 + [True]
    assert (len(tensor.usable), len(clone.usable)) == (4, 5)
    assert tensor.high == pytest.approx(1.01e-6)


def test_results_that_recorded_no_faults_lose_nothing(tmp_path):
    """Those measured before are not guessed about."""
    path = measured_in_passes(tmp_path, NEW, TIMES)
    tensor, _ = reader.read(path, json.loads((tmp_path / "benchmarks.json").read_text())).timings.values()
    assert len(tensor.usable) == 5


def test_a_comparison_counts_the_passes_that_are_left(tmp_path, monkeypatch):
    """And none of a pass that met the artefact."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tensorcopy.releases.release_table.load", lambda: (BEFORE, NEW))
    for release in (BEFORE, NEW):
        with_faults(measured_in_passes(tmp_path / "results", release, TIMES), [0, 0, 0, 0, 512])
    changes = compared("1.0.0", "2.0.0", tmp_path / "results").changes
    assert {case["method"]: change.passes for case, change in changes.items()} == {"tensor": (4, 4), "clone_detach": (5, 5)}
