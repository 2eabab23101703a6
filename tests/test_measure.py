"""Which passes are taken, in which order, and what a resumed run still lacks."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random

import pytest
import torch

from tensorcopy.asv_plugin.configuration import Paths
from tensorcopy.cli import main
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import plan, run_passes
from tensorcopy.measure.plan import Measurement
from tensorcopy.releases import environments, release_table, uv
from tests.conftest import ROOT

FIVE = [Measurement(release, "3.11") for release in release_table.select("2.11.0..")]


def test_every_round_is_shuffled_by_itself():
    """Drift hits all releases alike: no release has two passes before another has one."""
    order = plan.missing(dict.fromkeys(FIVE, 3), Random(0))
    rounds = [order[start : start + len(FIVE)] for start in range(0, len(order), len(FIVE))]
    assert [Counter(one) for one in rounds] == [Counter(FIVE)] * 3
    assert len({tuple(one) for one in rounds}) > 1


def test_what_is_there_is_not_measured_again():
    """What lacks most comes first."""
    order = plan.missing({FIVE[0]: 0, FIVE[1]: 1, FIVE[2]: 0, **dict.fromkeys(FIVE[3:], 2)}, Random(0))
    assert Counter(order) == {FIVE[1]: 1, **dict.fromkeys(FIVE[3:], 2)}
    assert set(order[: len(FIVE) - 3]) == set(FIVE[3:])


def test_a_short_disk_makes_groups_that_share_the_newest_release():
    """By it the groups compare."""
    groups = plan.groups(FIVE, 3)
    assert groups == [[FIVE[0], FIVE[1], FIVE[4]], [FIVE[2], FIVE[3], FIVE[4]]]
    assert plan.groups(FIVE, 5) == [FIVE]
    assert all(len(group) <= 2 for group in plan.groups(FIVE, 2))


def test_a_release_may_name_its_python(monkeypatch):
    """What is named twice is measured once; without a name the first of the configuration's that serves."""
    monkeypatch.setattr(uv, "find_python", lambda python: Path(python))
    found, left_out = plan.selected(["1.12.1..2.0.1", "2.0.1@3.9", "2.0.1"], ("3.11", "3.9"))
    assert [(one.release.version, one.python) for one in found] == [
        ("1.12.1", "3.9"),
        ("1.13.1", "3.11"),
        ("2.0.1", "3.11"),
        ("2.0.1", "3.9"),
    ]
    assert left_out == []


def test_a_missing_python_leaves_a_release_out_by_name(monkeypatch):
    """And where none is left, the command ends with one line."""
    monkeypatch.setattr(uv, "find_python", lambda python: Path(python) if python == "3.11" else None)
    found, left_out = plan.selected(["1.12.1..1.13.1"], ("3.11", "3.9"))
    assert [one.release.version for one in found] == ["1.13.1"]
    assert left_out[0].startswith("torch 1.12.1 is skipped: torch 1.12.1 has wheels for Python 3.7 to 3.10")
    with pytest.raises(TensorcopyError, match="nothing can be measured here"):
        plan.selected(["1.12.1"], ("3.11", "3.9"))


def test_passes_are_counted_by_what_was_asked_for(tmp_path):
    """A quick look at some suites is no pass of all of them; one that is left out, where nothing ran, or of an earlier version of the
    suites, is to be had anew.
    """
    path = tmp_path / "results" / "box" / "one.json"
    path.parent.mkdir(parents=True)
    whole = {"selection": plan.TIMED, "suites": {"copies.BySize.time_copy": {"version": "3"}}}
    (tmp_path / "results" / "benchmarks.json").write_text(json.dumps({"copies.BySize.time_copy": {"version": "3"}, "version": 2}))
    earlier = {**whole, "suites": {"copies.BySize.time_copy": {"version": "2"}}}
    quick, spoilt, empty = {**whole, "selection": "floors"}, {**whole, "left_out": "a build ran beside it"}, {**whole, "suites": {}}
    path.write_text(json.dumps({"passes": [earlier, whole, quick, spoilt, empty, whole]}))
    assert plan.passes_of(path, plan.TIMED) == 2
    assert plan.passes_of(path.with_name("none.json"), plan.TIMED) == 0


def test_what_is_counted_once_counts_by_what_was_asked_for(tmp_path):
    """Bytes have no samples, so that a pass of them has no suites to know it by."""
    path = tmp_path / "results" / "box" / "one.json"
    path.parent.mkdir(parents=True)
    known = {"memory.Host.track_peak": {"version": "1", "type": "track"}, "copies.BySize.time_copy": {"version": "3", "type": "time"}}
    (tmp_path / "results" / "benchmarks.json").write_text(json.dumps({**known, "version": 2}))
    path.write_text(json.dumps({"passes": [{"selection": "^memory", "suites": {}}, {"selection": "copies", "suites": {}}]}))
    assert plan.passes_of(path, "^memory") == 1
    assert plan.passes_of(path, "copies") == 0


class Run:
    """A result file to which shards add passes."""

    def __init__(self, path: Path) -> None:
        self.path, self.records = path, []
        path.parent.mkdir(parents=True)
        (path.parents[1] / "benchmarks.json").write_text(json.dumps({"suite": {"version": "3", "type": "time"}, "version": 2}))

    def take(self, shard: str, count: int) -> None:
        record = {"selection": "suite", "suites": {"suite": {"version": "3"}}, **({"shard": shard} if shard else {})}
        self.records += [record] * count
        self.path.write_text(json.dumps({"passes": self.records}))


@pytest.mark.parametrize("others_merged", [True, False], ids=["one after the other", "at once"])
def test_the_shards_of_a_run_take_its_passes_between_them(tmp_path, others_merged):
    """Ten of a release of which some are there: each takes its share whether or not it sees what the others took, and goes on where it
    was; a later run for more takes what is still missing.
    """
    runs = {number: Run(tmp_path / str(0 if others_merged else number) / "results" / "box" / f"{number}.json") for number in (1,)}
    runs |= {number: runs[1] if others_merged else Run(tmp_path / str(number) / "results" / "box" / "1.json") for number in (2, 3)}
    for run in {id(run): run for run in runs.values()}.values():
        run.take("", 2)
    for passes, expected in ((10, [3, 3, 2]), (14, [1, 1, 2])):
        taken = []
        for number, run in runs.items():
            shard = plan.Shard(number, 3)
            count = plan.lacking(run.path, "suite", passes, shard)
            run.take(str(shard), min(count, 1))  # interrupted after the first
            rest = plan.lacking(run.path, "suite", passes, shard)
            assert rest == max(0, count - 1)
            run.take(str(shard), rest)
            assert plan.lacking(run.path, "suite", passes, shard) == 0
            taken.append(count)
        assert taken == expected
    if others_merged:
        assert plan.lacking(runs[1].path, "suite", 14) == 0


@pytest.mark.parametrize("text", ["3", "0/3", "4/3", "a/b", "1/0"])
def test_a_shard_that_is_none_is_named(text, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["measure", "--shard", text])
    assert f"got '{text}'; allowed: 1/5 to 5/5" in capsys.readouterr().err


def test_new_is_the_last_that_was_measured_and_all_since(monkeypatch):
    """They are measured side by side; a machine without results begins with the two newest."""
    monkeypatch.setattr(uv, "find_python", lambda python: Path(python))
    rows = release_table.load()
    for measured, first in (((rows[3].sha, rows[-3].sha), -3), ((), -2), ((rows[-1].sha,), -1)):
        found, _ = plan.selected(["NEW"], ("3.11", "3.9"), measured)
        assert [one.release for one in found] == list(rows[first:])


def test_an_interpreter_is_measured_with_the_torch_it_has(tmp_path, monkeypatch, capsys):
    """By its own name in results; another release is refused, and so is a program that is none."""
    one = plan.in_interpreter("same")
    assert one.release.version == torch.__version__.partition("+")[0]
    assert one.tool == "interpreter:same"
    assert one.environment.endswith("-interpreter")
    assert one.is_installed(Paths(tmp_path, tmp_path, tmp_path, ()))
    monkeypatch.chdir(ROOT)
    assert main(["measure", "--interpreter", "same", "1.9.0"]) == 2
    assert f"this interpreter has another torch: got 1.9.0; allowed: {one.release.version}" in capsys.readouterr().err
    assert main(["measure", "--interpreter", "no-such-python"]) == 2
    assert "no such interpreter: got no-such-python" in capsys.readouterr().err


def test_absent_devices_are_left_out_of_the_next_pass():
    """A skipped case still costs a process; on the CPU nothing is left out."""
    import re

    expression = re.compile(plan.TIMED + run_passes._without({"cuda": "NVIDIA H200"}))
    assert expression.search("copies.BySize.time_copy('tensor', 16)")
    assert expression.search("copies.Latency.time_copy('tensor', 16, 'cuda')")
    assert not expression.search("copies.Latency.time_copy('tensor', 16, 'mps')")
    assert not expression.search("memory.Host.track_peak('tensor', 16, 'cpu')")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--passes", "0"], "got 0; allowed: 1 or more"),
        (["--environments", "1"], "got 1; allowed: 2 or more"),
    ],
    ids=["no pass", "no room"],
)
def test_a_wrong_number_is_named(arguments, said, capsys):
    """By argparse, exit code 2."""
    with pytest.raises(SystemExit, match="2"):
        main(["measure", *arguments])
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("python", ["3", "abc", ""])
def test_a_python_that_is_none_is_one_line(monkeypatch, capsys, python):
    """With what is meant."""
    monkeypatch.chdir(ROOT)
    assert main(["measure", f"2.0.1@{python}"]) == 2
    assert f"unknown Python: got '2.0.1@{python}'; allowed: RANGE@3.9 and the like" in capsys.readouterr().err


def test_an_unknown_release_is_one_line(monkeypatch, capsys):
    """Before anything is installed."""
    monkeypatch.chdir(ROOT)
    assert main(["measure", "0.4.1"]) == 2
    assert "unknown torch release: got '0.4.1'" in capsys.readouterr().err


def test_a_files_place_is_asvs(tmp_path):
    """results/<machine>/<sha>-<environment>.json"""
    paths = Paths(tmp_path / "results", tmp_path / "site", tmp_path / "env", ("3.11",))
    one = FIVE[-1]
    assert one.file(paths, "box") == tmp_path / "results" / "box" / f"{one.release.sha[:8]}-py3.11-{environments.expected_build()}.json"


def test_one_measurement_at_a_time(tmp_path):
    """A second one in the same checkout is told so, and destroys nothing."""
    refused = pytest.raises(TensorcopyError, match="something is being measured in this checkout")
    with run_passes._alone(tmp_path), refused, run_passes._alone(tmp_path):
        pass
    with run_passes._alone(tmp_path):
        pass
