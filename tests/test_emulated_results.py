"""Results of an emulated device are refused, and only by the name of the device."""

from __future__ import annotations

import json

import pytest

from tensorcopy.errors import TensorcopyError
from tensorcopy.results import files, merge, reader
from tests.conftest import NEW, PROVENANCE, measured_in_passes

EMULATED = {"accelerators": {"cuda": "Emulated CUDA device 0"}}
REAL = {"accelerators": {"cuda": "NVIDIA H200"}}


@pytest.fixture
def results(tmp_path):
    """A folder with a result of a real device and one with a pass of an emulated device, on two machines."""
    folder = tmp_path / "results"
    measured_in_passes(folder, NEW, {"tensor": [1.0, 1.0]}, machine="real", **REAL)
    path = measured_in_passes(folder, NEW, {"tensor": [1.0, 1.0]}, machine="emulated", **REAL)
    document = json.loads(path.read_text())
    document["passes"][0]["ledger"] = {**document["ledger"], **EMULATED}  # not the last pass, nor the file's own
    path.write_text(json.dumps(document))
    return folder


def test_one_pass_of_an_emulated_device_refuses_its_file(results):
    """The other files are read."""
    loaded = reader.load_results(results)
    assert [result.machine for result in loaded.results] == ["real"]
    (problem,) = [each for each in loaded.problems if "is in no history" not in str(each)]  # the fixture's release is in no table
    assert problem.what == f"the result file results/emulated/{NEW.sha[:8]}-py3.11-cuda.json is refused: it is of an emulated device"
    assert problem.got == "Emulated CUDA device 0"


def test_asv_reads_no_file_of_an_emulated_device(results):
    """Its graphs and its regressions would have the times."""
    assert [path.parent.name for path in reader.load_results(results).valid] == ["real"]


def test_merging_it_writes_nothing(results, tmp_path):
    with pytest.raises(TensorcopyError, match="it is of an emulated device"):
        merge.merge([results], tmp_path / "merged", lambda samples: {})
    assert not (tmp_path / "merged").exists()


@pytest.mark.parametrize(("value", "is_refused"), [(None, True), ("1", True), ("allowed", False)])
def test_only_one_value_of_the_variable_allows_them(monkeypatch, value, is_refused):
    """The tests that measure on the emulated device set it."""
    monkeypatch.delenv(files.EMULATED_VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(files.EMULATED_VARIABLE, value)
    files.refuse_emulated("a measurement", {**PROVENANCE, **REAL}, {})
    if is_refused:
        with pytest.raises(TensorcopyError, match="a measurement is refused: it is of an emulated device"):
            files.refuse_emulated("a measurement", {**PROVENANCE, **EMULATED})
    else:
        files.refuse_emulated("a measurement", {**PROVENANCE, **EMULATED})
