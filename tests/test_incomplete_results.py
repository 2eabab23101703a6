"""No verdict from half a history without a word: what could not be read is named, or the command refuses."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tensorcopy import cli
from tensorcopy.cli import measure
from tensorcopy.results import reader
from tensorcopy.site import writer
from tests.mutations import small_results

MACHINE = Path("results/xeon-2core")
NEWER_PYTHON = MACHINE / "38b96d33-py3.11-cuda.json"  # torch 2.4.1, which was measured on 3.9 too
BETWEEN = MACHINE / "7269437d-py3.11-cuda.json"  # torch 2.12.1, whose passes show the noise
CASE = "copies.BySize clone_detach numel=16"


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    small_results(folder)
    return folder


@pytest.fixture
def run(small, tmp_path, monkeypatch, capsys):
    """A function that runs tensorcopy in a copy of the small checkout, and returns exit code, output and errors."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    shutil.copytree(small, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        code = cli.main(arguments)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def damage(path):
    path.write_text(path.read_text()[:1000])


def test_another_python_is_not_taken_instead(run):
    """It is refused, with the name that asks for it."""
    damage(NEWER_PYTHON)
    code, output, errors = run("compare", "2.4.1", "2.15.0")
    assert (code, output) == (2, "")
    assert errors.startswith(
        "tensorcopy: torch 2.4.1 on Python 3.11 could not be read on xeon-2core: got the result file results/xeon-2core/38b96d33-py3.11"
    )
    assert "allowed: another Python or machine only where it is named, as 2.4.1@3.9@xeon-2core; next: git checkout " in errors
    assert run("compare", "2.4.1@3.9@xeon-2core", "2.15.0")[0] == 0


def test_a_file_of_an_older_python_changes_nothing(run):
    """It could not have taken part."""
    clean = run("compare", "2.4.1", "2.15.0")
    damage(MACHINE / "38b96d33-py3.9-cuda.json")
    assert run("compare", "2.4.1", "2.15.0") == clean


def of_another_machine():
    """Return the folder of a second machine with the same results."""
    other = Path("results/other")
    shutil.copytree(MACHINE, other)
    for path in other.glob("*.json"):
        path.write_text(path.read_text().replace("xeon-2core", "other"))
    return other


def test_a_damaged_machine_stops_no_comparison_on_a_named_one(run):
    """Without a name, it may be the machine that measured both sides last."""
    (of_another_machine() / "machine.json").write_text("{")
    code, output, errors = run("compare", "2.4.1", "2.15.0")
    assert (code, output) == (2, "")
    assert "could not be read on other: got the result file results/other/machine.json cannot be read" in errors
    assert run("compare", "2.4.1@xeon-2core", "2.15.0@xeon-2core")[::2] == (0, "")
    assert run("list", "times", "2.15.0", "--machine", "xeon-2core")[::2] == (0, "")


def test_confirming_names_a_file_that_may_have_steps(run):
    """ "No step is left" is no answer of half a history."""
    damage(NEWER_PYTHON)
    pairs, (problem,) = measure.pending(Path("results"), ["2.4.1"], "xeon-2core")
    assert pairs == []
    assert problem.what == "the result file results/xeon-2core/38b96d33-py3.11-cuda.json cannot be read"


@pytest.mark.parametrize(
    "command",
    [
        ["compare", "2.4.1", "2.15.0"],
        ["compare", "2.4.1", "2.15.0", "--metric", "instructions"],
        ["compare", "2.4.1", "2.15.0", "--format", "markdown"],
        ["compare", "2.4.1", "2.15.0", "--explain", CASE],
        ["history"],
        ["history", CASE],
        ["list", "times", "2.15.0"],
    ],
    ids=" ".join,
)
def test_output_and_errors_name_a_file_that_could_have_taken_part(run, command):
    """Of a release between, whose passes show the noise."""
    damage(BETWEEN)
    code, output, errors = run(*command)
    name = "the result file results/xeon-2core/7269437d-py3.11-cuda.json cannot be read"
    assert name in output.replace("\\_", "_")
    assert errors.startswith(f"tensorcopy: {name}: got ")
    assert code == (2 if command[0] == "list" else 0)


@pytest.mark.parametrize(
    "command", [["compare", "2.4.1", "2.15.0"], ["compare", "2.4.1", "2.15.0", "--explain", CASE], ["history"]], ids=" ".join
)
@pytest.mark.parametrize("how", ["--strict", "CI"])
def test_strict_and_ci_fail(run, command, how, monkeypatch):
    """With exit code 2, after the output; without a damaged file with 0."""
    if how == "CI":
        monkeypatch.setenv("CI", "true")
    options = [how] if how == "--strict" else []
    assert run(*command, *options)[0] == 0
    damage(BETWEEN)
    code, output, _ = run(*command, *options)
    assert code == 2
    assert "not included: " in output


def test_every_page_names_what_could_not_be_read(run):
    """In both languages."""
    damage(BETWEEN)
    loaded = reader.load_results(Path("results"))
    target = Path("site")
    target.mkdir()
    writer.write(loaded.results, None, {}, target, problems=loaded.problems)
    for address in ("index.html", "ja/index.html", "compare/index.html", "data.html"):
        assert "7269437d-py3.11-cuda.json cannot be read" in (target / address).read_text(encoding="utf-8"), address
