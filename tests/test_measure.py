"""Which passes are taken, in which order, and what a resumed run still lacks."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from tensorcopy import environments, measure, releases, uv
from tensorcopy.asv_plugin.configuration import Places
from tensorcopy.cli import main
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import Measurement
from tests.conftest import ROOT

FIVE = [Measurement(release, "3.11") for release in releases.select("2.11.0..")]


def test_every_round_is_shuffled_by_itself():
    """Drift hits all releases alike: no release has two passes before another has one."""
    order = measure.missing(FIVE, {}, 3, Random(0))
    rounds = [order[start : start + len(FIVE)] for start in range(0, len(order), len(FIVE))]
    assert [Counter(one) for one in rounds] == [Counter(FIVE)] * 3
    assert len({tuple(one) for one in rounds}) > 1


def test_what_is_there_is_not_measured_again():
    """The least measured come first."""
    there = {FIVE[0]: 2, FIVE[1]: 1, FIVE[2]: 5}
    order = measure.missing(FIVE, there, 2, Random(0))
    assert Counter(order) == {FIVE[1]: 1, **dict.fromkeys(FIVE[3:], 2)}
    assert set(order[: len(FIVE) - 3]) == set(FIVE[3:])


def test_a_short_disk_makes_groups_that_share_the_newest_release():
    """By it the groups compare."""
    groups = measure.groups(FIVE, 3)
    assert groups == [[FIVE[0], FIVE[1], FIVE[4]], [FIVE[2], FIVE[3], FIVE[4]]]
    assert measure.groups(FIVE, 5) == [FIVE]
    assert all(len(group) <= 2 for group in measure.groups(FIVE, 2))


def test_a_release_may_name_its_python(monkeypatch):
    """What is named twice is measured once; without a name the first of the configuration's that serves."""
    monkeypatch.setattr(uv, "find_python", lambda python: Path(python))
    found, left_out = measure.selected(["1.12.1..2.0.1", "2.0.1@3.9", "2.0.1"], ("3.11", "3.9"))
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
    found, left_out = measure.selected(["1.12.1..1.13.1"], ("3.11", "3.9"))
    assert [one.release.version for one in found] == ["1.13.1"]
    assert left_out[0].startswith("torch 1.12.1 is skipped: torch 1.12.1 has wheels for Python 3.7 to 3.10")
    with pytest.raises(TensorcopyError, match="nothing can be measured here"):
        measure.selected(["1.12.1"], ("3.11", "3.9"))


def test_passes_are_counted_by_what_was_asked_for(tmp_path):
    """A quick look at some suites is no pass of all of them; one that is left out, where nothing ran, or of an earlier version of the
    suites, is to be had anew.
    """
    path = tmp_path / "results" / "box" / "one.json"
    path.parent.mkdir(parents=True)
    whole = {"selection": measure.TIMED, "suites": {"copies.BySize.time_copy": {"version": "3"}}}
    (tmp_path / "results" / "benchmarks.json").write_text(json.dumps({"copies.BySize.time_copy": {"version": "3"}, "version": 2}))
    earlier = {**whole, "suites": {"copies.BySize.time_copy": {"version": "2"}}}
    quick, spoilt, empty = {**whole, "selection": "floors"}, {**whole, "left_out": "a build ran beside it"}, {**whole, "suites": {}}
    path.write_text(json.dumps({"passes": [earlier, whole, quick, spoilt, empty, whole]}))
    assert measure.passes_of(path, measure.TIMED) == 2
    assert measure.passes_of(path.with_name("none.json"), measure.TIMED) == 0


def test_absent_devices_are_left_out_of_the_next_pass():
    """A skipped case still costs a process; on the CPU nothing is left out."""
    import re

    expression = re.compile(measure.TIMED + measure._without({"cuda": "NVIDIA H200"}))
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
    places = Places(tmp_path / "results", tmp_path / "site", tmp_path / "env", ("3.11",))
    one = FIVE[-1]
    assert one.file(places, "box") == tmp_path / "results" / "box" / f"{one.release.sha[:8]}-py3.11-{environments.expected_build()}.json"


def test_one_measurement_at_a_time(tmp_path):
    """A second one in the same checkout is told so, and destroys nothing."""
    refused = pytest.raises(TensorcopyError, match="something is being measured in this checkout")
    with measure._alone(tmp_path), refused, measure._alone(tmp_path):
        pass
    with measure._alone(tmp_path):
        pass
