"""docs/ describes the machine checks, the workflows and the commands that exist."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace

from tensorcopy import cli
from tensorcopy.measure import readiness
from tests.conftest import ROOT
from tests.test_readiness import IDLE, QUIET, RELEASES
from tests.test_workflows import NAMES

DOCS = sorted((ROOT / "docs").glob("*.md"))


def test_the_runner_guide_lists_every_machine_check():
    """The names in its table are those of the checks, and its limits are theirs."""
    text = (ROOT / "docs" / "gpu-runner.md").read_text(encoding="utf-8")
    table = text.split("| | refused | warned of |")[1].split("\n\n")[0]
    named = set(re.findall(r"^\| ([^|-]+) \|", table, re.MULTILINE))
    checks = {finding.subject.replace("GPU 0", "GPU") for finding in readiness.findings(QUIET, [IDLE], "", "cuda", RELEASES)}
    assert named == checks
    bad = readiness.findings(replace(QUIET, memory=0, disk=0), [replace(IDLE, memory=0)], "", "cuda")
    for gib in {re.search(r"(\d+) GiB", finding.advice)[1] for finding in bad if "GiB" in finding.advice}:
        assert f"{gib} GiB" in table


def test_every_workflow_is_described():
    text = (ROOT / "docs" / "at-work.md").read_text(encoding="utf-8")
    assert {name for name in NAMES if f"`{name}`" in text} == {*NAMES} - {"ci.yml"}


def test_every_command_line_in_docs_parses():
    """Commands and options in shell blocks exist."""
    lines = 0
    for path in DOCS:
        shell = "".join(re.findall(r"```sh\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL))
        for line in re.findall(r"^(?:uv run )?tensorcopy (.*)$", shell, re.MULTILINE):
            lines += 1
            assert cli.parser().parse_args(shlex.split(line)).command, line
    assert lines >= 6
