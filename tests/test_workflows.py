"""The workflows: sound, with no more rights than they need, and without logic of their own."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tensorcopy import cli
from tensorcopy.ci import runners
from tensorcopy.errors import TensorcopyError
from tests.conftest import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
NAMES = [path.name for path in WORKFLOWS]


def program(name: str) -> str:
    """A program that came with the tests' own environment."""
    found = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    assert found, f"{name} is not installed: uv sync"
    return found


def test_they_are_as_github_describes_them():
    """By its own JSON schema."""
    command = [program("check-jsonschema"), "--builtin-schema", "vendor.github-workflows", *map(str, WORKFLOWS)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_actionlint_finds_nothing():
    """Where it is installed: its package takes the program from GitHub, which not every network reaches."""
    found = shutil.which("actionlint", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")
    if found is None:
        pytest.skip("no actionlint here")
    done = subprocess.run([found, *map(str, WORKFLOWS)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_zizmor_finds_nothing():
    """Rights, pins, untrusted text; without a network."""
    command = [program("zizmor"), "--offline", "--no-progress", "--format", "plain", *map(str, WORKFLOWS)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", WORKFLOWS, ids=NAMES)
def test_nothing_is_allowed_that_is_not_asked_for(path):
    """No right but a job's own; every action by its commit, with its version; no fork's code with the repository's rights."""
    text = path.read_text()
    assert "\npermissions: {}\n" in text
    assert "pull_request_target" not in text
    for use in re.findall(r"uses: (.*)", text):
        assert re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", use), use


@pytest.mark.parametrize("path", WORKFLOWS, ids=NAMES)
def test_a_step_is_a_command(path):
    """One line that a person could type; no expression in it."""
    for run in re.findall(r"run: (.*)", path.read_text()):
        assert run not in ("|", ">")
        assert "${{" not in run


@pytest.mark.parametrize("path", WORKFLOWS, ids=NAMES)
def test_every_command_of_ours_is_one(path):
    """With options that it has; what a variable holds is put in as it may be."""
    values = {
        "BASE": "main", "HEAD": "HEAD", "DEVICE": "cuda", "MACHINE": "box", "PASSES": "10", "RELEASES": "NEW", "SHARD": "1/2"
    }  # fmt: skip
    for run in re.findall(r"run: (.*)", path.read_text()):
        for command in re.findall(r"uv run [^&]*?tensorcopy ([^&]*)", run):
            typed = re.sub(r"\$(\w+)", lambda name: values[name[1]], command)
            assert cli.parser().parse_args(shlex.split(typed)).command


def test_dependabot_is_as_github_describes_it():
    command = [program("check-jsonschema"), "--builtin-schema", "vendor.dependabot", str(ROOT / ".github" / "dependabot.yml")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_forks_code_has_no_rights():
    """What runs a pull request's code may read, and no more; what may write runs no code of a pull request."""
    for path in WORKFLOWS:
        text = path.read_text()
        writes = re.findall(r"^ +([\w-]+): write", text, re.MULTILINE)
        if re.search(r"^  pull_request:", text, re.MULTILINE):
            assert not writes, path.name
            assert "secrets" not in text
        elif writes and "workflow_run:" in text:
            assert "ref:" not in text  # the default branch, whatever the event is about
    gpu = (ROOT / ".github/workflows/pull-request-gpu.yml").read_text()
    assert "pull_request.head.repo.full_name == github.repository && 'gpu' || 'gpu-from-a-fork'" in gpu


def test_the_runners_are_a_matrix():
    """One row for each shard."""
    rows = runners.matrix([runners.Runner("h200", ["self-hosted", "cuda"], "cuda", 2), runners.Runner("box", ["ubuntu-24.04"])])
    assert [(row["machine"], row["shard"], row["artifact"]) for row in rows] == [
        ("h200", "1/2", "results-h200-1"),
        ("h200", "2/2", "results-h200-2"),
        ("box", "1/1", "results-box-1"),
    ]
    with pytest.raises(TensorcopyError, match="there is no runner: got cuda"):
        runners.matrix([runners.Runner("box", ["ubuntu-24.04"])], "cuda")


def test_the_matrix_is_handed_on(monkeypatch, tmp_path, capsys):
    """As GitHub takes a job's output."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("GITHUB_OUTPUT", str(tmp_path / "output"))
    assert cli.main(["ci", "runners"]) == 0
    matrix = capsys.readouterr().out.strip()
    assert (tmp_path / "output").read_text() == f"matrix={matrix}\n"
    assert json.loads(matrix)["include"][0]["machine"] == "github-hosted"


@pytest.mark.parametrize(
    "row",
    [
        'labels = ["a"]',
        'machine = "../x"\nlabels = ["a"]',
        'machine = "x"\nlabels = []',
        'machine = "x"\nlabels = ["a"]\ndevice = "tpu"',
        'machine = "x"\nlabels = ["a"]\nshards = 0',
        'machine = "x"\nlabels = ["a"]\n[[runner]]\nmachine = "x"\nlabels = ["a"]',
        "labels = [",
    ],
)
def test_a_row_that_is_no_runner_is_one_line(tmp_path, row):
    path = tmp_path / "runners.toml"
    path.write_text(f"[[runner]]\n{row}\n")
    with pytest.raises(TensorcopyError, match=r"(is no runner|cannot be read): got "):
        runners.load(path)
