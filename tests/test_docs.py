"""What docs/ says of machines and workflows is what there is."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace

from tensorcopy import cli
from tensorcopy.measure import preflight
from tests.conftest import ROOT
from tests.test_readiness import IDLE, QUIET
from tests.test_workflows import NAMES

DOCS = sorted((ROOT / "docs").glob("*.md"))


def test_all_that_is_looked_at_is_in_the_guide_for_runners():
    """By its name, and no name more."""
    text = (ROOT / "docs" / "gpu-runner.md").read_text(encoding="utf-8")
    table = text.split("| | refused | warned of |")[1].split("\n\n")[0]
    named = set(re.findall(r"^\| ([^|-]+) \|", table, re.MULTILINE))
    found = {one.what.replace("GPU 0", "GPU") for one in preflight.findings(QUIET, [IDLE], "", "cuda")}
    assert named == found
    wrong = preflight.findings(replace(QUIET, memory=0, disk=0), [replace(IDLE, memory=0)], "", "cuda")
    for gib in {re.search(r"(\d+) GiB", one.next)[1] for one in wrong if "GiB" in one.next}:
        assert f"{gib} GiB" in table


def test_every_workflow_is_described():
    text = (ROOT / "docs" / "at-work.md").read_text(encoding="utf-8")
    assert {name for name in NAMES if f"`{name}`" in text} == {*NAMES} - {"ci.yml"}


def test_every_command_in_docs_is_one():
    """With options that it has."""
    seen = 0
    for path in DOCS:
        shell = "".join(re.findall(r"```sh\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL))
        for line in re.findall(r"^(?:uv run )?tensorcopy (.*)$", shell, re.MULTILINE):
            seen += 1
            assert cli.parser().parse_args(shlex.split(line)).command, line
    assert seen >= 6
