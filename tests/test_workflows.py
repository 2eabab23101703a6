"""The workflows: sound, with no more rights than they need, and without logic of their own."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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
