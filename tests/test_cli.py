"""What is typed, what is seen, and the exit code."""

from __future__ import annotations

import re
import shutil
import socket

import pytest

from tensorcopy.cli import main
from tests.conftest import ROOT

LINE = re.compile(r"^tensorcopy: [^\n]+: got [^\n]+; allowed: [^\n]+; next: [^\n]+\n$")


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout without results."""
    shutil.copy(ROOT / "asv.conf.json", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("arguments", [["--releases", "9.9"], ["--releases", "2.7..2.5"], ["--port", "70000"]])
def test_bad_input_is_one_line_and_exit_code_2(checkout, capsys, arguments):
    """Before anything is installed or measured."""
    assert main(["dashboard", *arguments]) == 2
    assert LINE.match(capsys.readouterr().err)
    assert sorted(path.name for path in checkout.iterdir()) == ["asv.conf.json"]


def test_a_port_in_use_is_said_before_minutes_of_measuring(checkout, capsys):
    """And which one."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert main(["dashboard", "--port", port]) == 2
    error = capsys.readouterr().err
    assert LINE.match(error)
    assert f"got {port}" in error


def test_a_missing_python_is_named(checkout, capsys, monkeypatch):
    """With how to get one."""
    monkeypatch.setattr("tensorcopy.releases.uv.find_python", lambda python: None)
    assert main(["dashboard", "--no-serve", "--releases", "1.9.0"]) == 2
    error = capsys.readouterr().err
    assert LINE.match(error)
    assert "torch 1.9.0 is skipped: it has wheels for Python 3.7 to 3.9" in error
    assert "uv python install 3.9" in error


def test_another_folder_is_no_checkout(tmp_path, monkeypatch, capsys):
    """asv.conf.json says where things lie."""
    monkeypatch.chdir(tmp_path)
    assert main(["dashboard"]) == 2
    assert "this is not a checkout of tensorcopy" in capsys.readouterr().err


def test_releases_are_listed_with_what_can_be_installed_here(monkeypatch, capsys):
    """Every row of the table, and where it was measured."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["releases"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split("  ")[0] == "torch"
    (newest,) = [line for line in lines if line.startswith("2.15.0")]
    assert "3.11 to 3.15" in newest
    assert "epyc-2core" in newest


def test_methods_are_listed_with_what_they_do(monkeypatch, capsys):
    """From the shipped observations: no torch is needed."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["methods"]) == 0
    listed = capsys.readouterr().out
    assert re.search(r"detach_clone +x.detach\(\).clone\(\) +independent, out of the graph", listed)
    assert main(["methods", "asarray_copy"]) == 0
    listed = capsys.readouterr().out
    assert re.search(r"1.9.0\+cu102 +3.9 +not there", listed)
    assert re.search(r"2.15.0\+cu132 +3.11 +independent, out of the graph +independent, in the graph, warns", listed)


def test_a_missing_list_of_suites_is_named(tmp_path, monkeypatch, capsys):
    """Not taken for "nothing was measured"."""
    shutil.copytree(ROOT / "results", tmp_path / "results")
    (tmp_path / "results" / "benchmarks.json").unlink()
    monkeypatch.chdir(tmp_path)
    assert main(["methods"]) == 2
    error = capsys.readouterr().err
    assert LINE.match(error)
    assert "the result file results/benchmarks.json cannot be read" in error


def test_an_unknown_method_is_one_line(monkeypatch, capsys):
    """With those that are known."""
    monkeypatch.chdir(ROOT)
    assert main(["methods", "klone"]) == 2
    error = capsys.readouterr().err
    assert LINE.match(error)
    assert "detach_clone" in error


def test_times_are_shown_with_their_floor(monkeypatch, capsys):
    """From the shipped history: as time, as multiple of the floor and as bytes a second."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["times", "2.15.0", "--bench", "copies.BySize"]) == 0
    shown = capsys.readouterr().out
    row = re.search(r"^detach_clone +1048576 +(\S+) µs +\S+ .s … \S+ .s +(\S+) +(\S+) +(\d+) of (\d+)$", shown, re.MULTILINE)
    assert row
    microseconds, multiple, speed, judged, passes = (float(text) for text in row.groups())
    assert speed == pytest.approx(2**20 * 4 / microseconds / 1e3, rel=0.01)
    assert 0.8 < multiple < 5
    assert 1 <= judged <= passes >= 4
    assert "The floor is the same bytes copied by the machine alone" in shown


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["0.4.1"], "unknown torch release: got '0.4.1'"),
        (["--machine", "nowhere"], "no such result: got nowhere; allowed: torch 1.10.2"),
        (["--bench", "nothing"], "no such suite was measured: got nothing; allowed: alternatives.BySize.time_alternative, "),
    ],
    ids=["release", "machine", "suite"],
)
def test_a_time_that_is_not_there_is_one_line(monkeypatch, capsys, arguments, said):
    """With what is there."""
    monkeypatch.chdir(ROOT)
    assert main(["times", *arguments]) == 2
    assert said in capsys.readouterr().err
