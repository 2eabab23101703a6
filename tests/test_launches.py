"""A launch file is written once, read as it was written, and refused with its reason where it is not one."""

import json
import os

import pytest

from tensorcopy.errors import TensorcopyError
from tensorcopy.results import launches, reader
from tensorcopy.results.launches import Launch, Row, Side, Suite
from tests.mutations import FILE_MUTATIONS

SHA, OTHER = "d0f2af8b66b20da4baa50644c0cd3f887a2eae2e", "d69c22dd61a2f006dcfe1e3ea8468a3ecaf931aa"
LEDGER = {"torch": "2.15.0+cu132", "torch_sha": SHA, "python": "3.11.7", "identity": "0a1b2c3d4e5f", "cpu": "Box"}


def launch(**changes) -> Launch:
    row = Row(seconds=1.5e-6, calls=512, turns=20, effects=[-10, 10], spreads=[200, 210])
    suite = Suite(
        version="4", param_names=["method", "numel"], params=[["'clone'"], ["1", "16"]], unit="seconds", type="time", rows={"1": row}
    )
    fields = {
        "version": launches.VERSION,
        "kind": "times",
        "id": "20261125T091500-1a2b3c4d",
        "started": "2026-11-25T09:15:00+00:00",
        "ended": "2026-11-25T09:20:00+00:00",
        "machine": "box",
        "sides": [
            Side(sha=SHA, environment="py3.11-cuda"),
            Side(sha=SHA, environment="py3.11-cuda", revision="main"),
        ],
        "provenance": LEDGER,
        "suites": {"copies.BySize.time_copy": suite},
    }
    return Launch(**{**fields, **changes})


def test_a_launch_is_read_as_it_was_written(tmp_path):
    path = launches.write(tmp_path, launch())
    assert path == tmp_path / "box" / "20261125T091500-1a2b3c4d.json"
    assert launches.read(path) == launch()


def test_an_existing_launch_is_never_replaced(tmp_path):
    """Two processes that draw the same name: the second one fails, and the first file stays."""
    path = launches.write(tmp_path, launch())
    before = path.read_bytes()
    with pytest.raises(TensorcopyError, match="exists"):
        launches.write(tmp_path, launch(load=3.0))
    assert path.read_bytes() == before


def test_a_killed_writer_leaves_no_launch(tmp_path, monkeypatch):
    """The process ends before its file has a name."""
    pid = os.fork()
    if pid == 0:
        monkeypatch.setattr(os, "link", lambda *_: os._exit(9))
        monkeypatch.setattr(os, "rename", lambda *_: os._exit(9))
        launches.write(tmp_path, launch())
        os._exit(0)
    assert os.waitpid(pid, 0)[1] >> 8 == 9
    assert reader.load_results(tmp_path).results == ()
    assert reader.load_results(tmp_path).problems == ()


def test_a_file_of_a_newer_format_is_kept(tmp_path):
    """The advice is to upgrade, not to remove it."""
    path = launches.write(tmp_path, launch())
    path.write_bytes(path.read_bytes().replace(b'"version":1', b'"version":2', 1))
    with pytest.raises(TensorcopyError) as raised:
        launches.read(path)
    assert raised.value.next == "upgrade tensorcopy"


def edited(**changes):
    return lambda document: document.update(changes)


def of_suite(**changes):
    return lambda document: document["suites"]["copies.BySize.time_copy"].update(changes)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (edited(id="20261125T091500-ffffffff"), "the launch 20261125T091500-ffffffff"),
        (edited(machine="other"), "a launch of the machine 'other'"),
        (edited(kind="passes"), "Invalid enum value 'passes'"),
        (edited(sides=[]), "length >= 1"),
        (edited(unknown=1), "unknown field `unknown`"),
        (edited(methods={"clone": 5}), "Expected `object`, got `int`"),
        (edited(methods={"clone": {"code": "x", "observed": {}}}), "the method clone lacks its code, its group"),
        (of_suite(rows={"2": {"seconds": 1e-6, "calls": 1, "turns": 5, "effects": [0, 0], "spreads": [0, 0]}}), "has no case 2"),
        (of_suite(rows={"0": {"seconds": 1e-6, "calls": 1, "turns": 5, "effects": [0], "spreads": [0, 0]}}), "does not have 2 effects"),
        (of_suite(rows={"0": {"seconds": -1e-6, "calls": 1, "turns": 5, "effects": [0, 0], "spreads": [0, 0]}}), "> 1e-12"),
        (of_suite(param_names=["method"]), "has 1 names of 2 parameters"),
        (of_suite(params=[["x"] * 1000, ["y"] * 1000]), "1,000,000 cases"),
    ],
)
def test_a_damaged_launch_is_refused_with_its_reason(tmp_path, damage, reason):
    path = launches.write(tmp_path, launch())
    document = json.loads(path.read_bytes())
    damage(document)
    path.write_text(json.dumps(document))
    with pytest.raises(TensorcopyError, match=reason) as raised:
        launches.read(path)
    assert "box/20261125T091500-1a2b3c4d.json" in str(raised.value)


@pytest.mark.parametrize("what", [*FILE_MUTATIONS])
def test_whatever_lies_there_costs_only_itself(tmp_path, what):
    """The other launch is read, and the damaged one is named."""
    FILE_MUTATIONS[what](launches.write(tmp_path / "results", launch()))
    launches.write(tmp_path / "results", launch(id="20261125T101500-1a2b3c4d"))
    read = reader.load_results(tmp_path / "results")
    assert len(read.launches) == 1
    (problem,) = read.problems
    assert "20261125T091500-1a2b3c4d.json" in problem.what


def test_a_label_that_disagrees_with_the_provenance_is_refused(tmp_path):
    """Torch reported another SHA than the side's."""
    launches.write(tmp_path, launch(sides=[Side(sha=OTHER, environment="py3.11-cuda"), Side(sha=SHA, environment="py3.11-cuda")]))
    read = reader.load_results(tmp_path)
    assert read.results == ()
    assert "provenance does not match its label" in read.problems[0].what
