"""A launch file is written once, read as it was written, and refused with its reason where it is not one."""

import json
import os
import time
from functools import reduce
from operator import getitem

import pytest
from msgspec.structs import replace

from tensorcopy import files
from tensorcopy.copying.shipped import shipped
from tensorcopy.errors import TensorcopyError
from tensorcopy.results import launches, reader
from tests import launch_files
from tests.mutations import FILE_MUTATIONS

PART = {name: value for name, value in launch_files.SEEN.items() if name != "requires_grad"}  # of what was observed
SUITE = ("suites", "copies.BySize.time_copy")
ROW = {"seconds": 1e-6, "calls": 1, "turns": 5, "effects": [0, 0]}


@pytest.fixture
def path(tmp_path):
    """The file of a launch of two releases, the first of two such files."""
    return launch_files.write(tmp_path / "results", {"copies.BySize.time_copy tensor 16": {"2.14.1": 1.0, "2.15.0": 1.2}}, launches=2)[0]


def test_a_launch_is_read_as_it_was_written(path, tmp_path):
    launch = launches.read(path)
    again = launches.write(tmp_path / "again", launch)
    assert again == tmp_path / "again" / path.name
    assert launches.read(again) == launch


def test_an_existing_launch_is_never_replaced(path):
    """Two processes that draw the same name: the second one fails, and the first file stays."""
    before = path.read_bytes()
    with pytest.raises(TensorcopyError, match="exists"):
        launches.write(path.parent, replace(launches.read(path), reference=1))
    assert path.read_bytes() == before


def test_a_killed_writer_leaves_no_launch(path, tmp_path, monkeypatch):
    """The process ends before its file has a name."""
    launch = launches.read(path)
    pid = os.fork()
    if pid == 0:
        monkeypatch.setattr(os, "link", lambda *_: os._exit(9))
        monkeypatch.setattr(os, "rename", lambda *_: os._exit(9))
        launches.write(tmp_path / "killed", launch)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] >> 8 == 9
    loaded = reader.load_results(tmp_path / "killed", shipped())
    assert (loaded.results, loaded.problems) == ((), ())


def test_what_another_writer_has_begun_is_left_to_it(path):
    """Only what was begun an hour ago is a killed writer's."""
    begun, killed = (path.with_name(f".{number}.json.{number}{files.DRAFT_ENDING}") for number in (1, 2))
    for draft in (begun, killed):
        draft.write_bytes(b"{")
    os.utime(killed, (time.time() - 2 * files.DRAFT_OLD,) * 2)
    launches.create(path.with_name("another.json"), b"{}")
    assert (begun.exists(), killed.exists()) == (True, False)


OF_ASV = "is no launch: got no id, as in a file of asv; .* next: move it out"  # machine.json, and the results of a commit


@pytest.mark.parametrize(
    ("place", "changes", "reason"),
    [
        ((), {"version": 3}, "is of another format: got version 3; allowed: version 2 .* next: upgrade tensorcopy$"),
        ((), {"id": None, "ram": "15 GiB", "version": 1}, OF_ASV),
        ((), {"id": None, "commit_hash": "a" * 40, "version": 3}, OF_ASV),
        ((), {"id": "20261125T091500-ffffffff"}, "the launch 20261125T091500-ffffffff"),
        ((), {"kind": "passes"}, "Invalid enum value 'passes'"),
        ((), {"sides": []}, "length >= 1"),
        ((), {"unknown": 1}, "unknown field `unknown`"),
        ((), {"methods": {"clone": {"code": "x", "observed": {}}}}, "missing required field `group`"),
        (
            (),
            {"methods": {"clone": {**launch_files.observed(), "observed": {"cpu": {"plain": PART, "with_grad": PART}}}}},
            "missing required field `requires_grad`",
        ),
        ((), {"article": {"cpu": {"statements": 9, "hold": 9}}}, "missing required field `fail`"),
        ((), {"started": "yesterday"}, "Invalid isoformat string"),
        ((), {"ended": "2020-01-01T00:00:00+00:00"}, "and ends at 2020"),
        ((), {"reference": 2}, "its reference is side 2 of 2"),
        (("sides", 1), {"sha": launch_files.sha_of("2.14.1")}, "it has a side twice"),
        (("provenance",), {"cpu": None}, "Expected `str`, got `null`"),
        (("provenance",), {"hardware": "fast"}, "Expected `object`, got `str`"),
        (SUITE, {"values": {"0": 1.0}}, "has values in a launch of times"),
        (SUITE, {"values": {"0": 1e308}}, "<= 1e[+]?30"),
        (SUITE, {"rows": {"2": ROW}}, "has no case 2"),
        (SUITE, {"rows": {"0": {**ROW, "effects": [0]}}}, "does not have 2 effects"),
        (SUITE, {"rows": {"0": {**ROW, "seconds": -1e-6}}}, "> 1e-12"),
        (SUITE, {"param_names": ["method"]}, "has 1 names of 2 parameters"),
        (SUITE, {"params": [["x"] * 1000, ["y"] * 1000]}, "1,000,000 cases"),
    ],
)
def test_a_damaged_launch_is_refused_with_its_reason(path, place, changes, reason):
    """A file of another program or format is not to be removed."""
    document = json.loads(path.read_bytes())
    reduce(getitem, place, document).update(changes)
    path.write_text(json.dumps(document))
    with pytest.raises(TensorcopyError, match=reason) as raised:
        launches.read(path)
    assert f"box/{path.name}" in str(raised.value)


@pytest.mark.parametrize("what", FILE_MUTATIONS)
def test_whatever_lies_there_costs_only_itself(path, what):
    """The other launch is read, and the damaged one is named."""
    FILE_MUTATIONS[what](path)
    read = reader.load_results(path.parents[1], shipped())
    assert sum(len(history.launches) for history in read.histories) == 1
    (problem,) = read.problems
    assert path.name in problem.what
