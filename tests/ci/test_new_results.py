"""What machines have measured, added to the histories of a checkout, as measure.yml does."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tensorcopy.ci import new_results
from tensorcopy.cli import main
from tensorcopy.copying.shipped import shipped
from tensorcopy.errors import TensorcopyError
from tensorcopy.results import histories, reader
from tests import launch_files
from tests.conftest import ROOT
from tests.repositories import AUTHOR
from tests.repositories import run as git

CASE = "copies.BySize.time_copy tensor 16"


def launches(folder: Path) -> dict[str, set[str]]:
    """Return the names of the launches of each history."""
    return {path.name: {each.name for each in path.glob("*.json")} for path in folder.iterdir() if path.is_dir()}


def measured(folder: Path, day: int, machine: str = "box", **options: object) -> set[str]:
    """Write two launches of a day, and return their names."""
    start = launch_files.START.replace(day=day)
    paths = launch_files.write(folder, {CASE: {"2.14.1": 1.0, "2.15.0": 1.0}}, launches=2, machine=machine, start=start, **options)
    return {path.name for path in paths}


def test_launches_of_all_machines_are_added_once(tmp_path):
    """Whether an artifact was put into a folder of its own or not; what is there stays as it is, and a second time adds nothing."""
    results, artifacts = tmp_path / "results", tmp_path / "measured"
    old = measured(results, 1)
    shutil.copytree(results, artifacts / "results-box")
    new = measured(artifacts / "results-box", 2) | measured(artifacts, 3)
    before = {path: path.read_bytes() for path in results.rglob("*") if path.is_file()}
    assert new_results.collect(artifacts, results) == 4
    assert launches(results) == {"box": old | new}
    assert all(path.read_bytes() == data for path, data in before.items())
    assert new_results.collect(artifacts, results) == 0
    assert sum(len(history.launches) for history in reader.load_results(results, shipped()).histories) == 6


def test_a_launch_goes_to_the_history_of_its_conditions(tmp_path):
    """Two new machines of one name, with other processors, have a history each; a known processor's is the one that is there."""
    results, artifacts = tmp_path / "results", tmp_path / "measured"
    there = measured(results, 1, "epyc", cpu="EPYC")
    of_runs = [measured(artifacts / f"{number}", 2 + number, "hosted", cpu=cpu) for number, cpu in enumerate(("EPYC", "Xeon", "Ryzen"))]
    assert new_results.collect(artifacts, results) == 6
    assert launches(results) == {"epyc": there | of_runs[0], "hosted": of_runs[1], "hosted-2": of_runs[2]}
    assert histories.read(results / "hosted-2").processor == "Ryzen, family 6 model 85"
    assert not reader.load_results(results, shipped()).problems


def test_a_damaged_file_is_named(tmp_path):
    """It is not copied."""
    results, artifacts = tmp_path / "results", tmp_path / "measured"
    (name, _) = sorted(measured(artifacts, 2))
    (artifacts / "box" / name).write_text("[]")
    with pytest.raises(TensorcopyError, match=f"box/{name}"):
        new_results.collect(artifacts, results)
    assert not (results / "box" / name).exists()


def test_the_branch_of_new_results_keeps_those_of_last_week(no_other_repository, tmp_path, monkeypatch, capsys):
    """Of a project in a folder of its repository: the next pull request has both; main has neither. Without the branch there is nothing."""
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    (project := origin / "bench").mkdir(parents=True)
    shutil.copy(ROOT / "asv.conf.json", project)
    git(origin, "init", "-q", "-b", "main", ".")
    first = measured(project / "results", 1)
    for branch in ("main", "new-results"):
        if branch != "main":
            git(origin, "checkout", "-q", "-b", branch)
            last_week = measured(project / "results", 2)
        git(origin, "add", ".")
        git(origin, *AUTHOR, "commit", "-qm", branch)
    git(origin, "checkout", "-q", "main")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{origin}", "clone")
    monkeypatch.chdir(clone / "bench")
    new = measured(clone / "bench" / "measured", 3)
    assert main(["ci", "collect", "measured", "--branch", "no-such-branch"]) == 0
    assert capsys.readouterr().out == "2 files added to results\n"
    assert main(["ci", "collect", "measured", "--branch", "new-results"]) == 0
    assert capsys.readouterr().out == "2 files added to results\n"
    assert launches(clone / "bench" / "results") == {"box": first | last_week | new}
    assert git(clone, "worktree", "list").count("\n") == 0


def test_where_a_gpu_is_uv_gets_no_kind_of_torch(tmp_path):
    """It refuses an empty UV_TORCH_BACKEND, before it reads what is to be installed; elsewhere it installs torch for the CPU."""
    text = (ROOT / ".github" / "workflows" / "measure.yml").read_text()
    assert not re.search(r"^ *UV_TORCH_BACKEND:", text, re.MULTILINE)
    (condition, run) = re.search(r"- if: (.*?) #.*\n +run: (.*UV_TORCH_BACKEND.*)\n", text).groups()
    assert condition == "matrix.backend"
    variables = tmp_path / "variables"
    subprocess.run(["bash", "-e", "-c", run], env={"BACKEND": "cpu", "GITHUB_ENV": str(variables)}, check=True)
    assert variables.read_text() == "UV_TORCH_BACKEND=cpu\n"
