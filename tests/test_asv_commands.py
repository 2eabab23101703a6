"""asv's own commands over torch releases: each works, or ends in one line."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import venv

import pytest

from tests.conftest import NEWEST_SHIPPED, ROOT
from tests.test_cli import LINE

TAG, BEFORE = NEWEST_SHIPPED.tag, "v2.14.1"
PYTHON = "PYTHON"  # stands for a Python without any package
RELEASES = r"py3\.11-\w+(\n· py3\.9-\w+)?"  # as far as there are these Pythons
INTERPRETER = r"py3\.\d+-\w+-interpreter"
RELEASE = f"{TAG}^!"
WORKING = {  # with a regular expression of what is printed
    "setup": (["setup"], rf"^· Creating environments\n· {RELEASES}$"),
    "setup --parallel": (["setup", "--parallel"], rf"^· Creating environments\n· {RELEASES}$"),
    "setup of an interpreter": (["setup", "-E", "interpreter:same"], rf"^· Creating environments\n· {INTERPRETER}$"),
    "check of an existing Python": (["check", "-E", "existing:same"], "No problems found"),
}
SUM = "floors.Control.time_sum"
REFUSED = {  # with parts of the last line
    "a Python without torch": (
        ["run", "-E", f"interpreter:{PYTHON}", RELEASE],
        ["there is no torch", f"next: {PYTHON} -m pip install torch"],
    ),
    "an interpreter without a Python": (["run", "-E", "interpreter", RELEASE], ["names no Python", "next: -E interpreter:same"]),
    "an existing Python without torch": (
        ["run", "-E", f"existing:{PYTHON}"],
        [f"got {PYTHON} without torch, numpy, asv_runner, tensorcopy", f"-E interpreter:{PYTHON}"],
    ),
    "an existing Python that is missing": (["run", "-E", "existing:nowhere"], ["no such interpreter: got nowhere"]),
    "an existing Python with a release": (
        ["run", "-E", "existing:same", RELEASE],
        ["not stored", f"asv run -E interpreter:same {TAG}^!"],
    ),
    "a label of one's own": (["run", "-E", "existing:same", "--set-commit-hash", TAG], [f"got --set-commit-hash {TAG}"]),
    "virtualenv": (["run", "-E", "virtualenv", RELEASE], ["got -E virtualenv; allowed: release:N.N, interpreter:"]),
    "setup of virtualenv": (["setup", "-E", "virtualenv:3.11"], ["got -E virtualenv"]),
    "an unknown environment": (["show", "-E", "nonsense", TAG], ["got -E nonsense"]),
    "run --parallel": (["run", "--parallel", "2", f"{BEFORE}..{TAG}"], ["next: leave --parallel out"]),
    "find --parallel": (["find", "--parallel", "2", f"v2.5.1..{TAG}", SUM], ["next: leave --parallel out"]),
    "find on neighbours": (
        ["find", f"{BEFORE}..{TAG}", SUM],
        [f"got {BEFORE}..{TAG}, which is {TAG}", f"next: tensorcopy compare {BEFORE[1:]} {TAG[1:]}, or"],
    ),
    "find on no release": (["find", f"{TAG}..", SUM], [f"got {TAG}.., which is none", f"tensorcopy compare {TAG[1:]} B"]),
    "find on one release": (["find", TAG, SUM], [f"tensorcopy compare A {TAG[1:]}"]),
}
FAST = ("a Python without torch", "run --parallel")  # the others are slow tests
# asv takes half a second to start: it is imported once, and each command runs in its own process
RUN_ALL = """
import contextlib, json, os, sys
from pathlib import Path
import tensorcopy.asv_plugin, tensorcopy.site.publisher
from asv import main
for number, command in enumerate(json.loads(sys.argv[1])):
    if not os.fork():
        with Path(f"{number}.txt").open("w") as shown:
            os.dup2(shown.fileno(), 1), os.dup2(shown.fileno(), 2)
        sys.argv = ["asv", *command]
        sys.exit(main.main())
    code = os.waitstatus_to_exitcode(os.wait()[1])
    print(json.dumps([code, Path(f"{number}.txt").read_text()]))
"""


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """A Python without any package."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, symlinks=True)
    return str(folder / "bin" / "python")


@pytest.fixture(scope="module")
def run(tmp_path_factory, bare):
    """Runs commands by their names in a checkout without results; returns the exit code and the output of each."""
    home, checkout = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("checkout")
    for name in ("tensorcopy", "benchmarks"):
        (checkout / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "asv.conf.json", checkout)

    def run(*names):
        commands = [[word.replace(PYTHON, bare) for word in {**WORKING, **REFUSED}[name][0]] for name in names]
        named = [[*command, "--machine", "box"] if command[0] in ("run", "find", "show") else command for command in commands]
        arguments = json.dumps([["machine", "--yes", "--machine", "box"], *named])
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"HOME": str(home)}
        done = subprocess.run(
            [sys.executable, "-c", RUN_ALL, arguments], cwd=checkout, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert not [path for path in checkout.glob("results/box/*.json") if path.name != "machine.json"]
        return dict(zip(names, map(json.loads, done.stdout.splitlines()[1:]), strict=True))

    return run


@pytest.fixture(scope="module")
def fast(run):
    return run(*FAST)


@pytest.fixture(scope="module")
def slow(run):
    return run(*(name for name in (*WORKING, *REFUSED) if name not in FAST))


@pytest.fixture
def outcome(request, command):
    """The exit code and the output of the test's command."""
    return request.getfixturevalue("fast" if command in FAST else "slow")[command]


def commands(names):
    return pytest.mark.parametrize("command", [pytest.param(name, marks=[] if name in FAST else pytest.mark.slow) for name in names])


@commands(WORKING)
def test_asv_s_commands_work(outcome, command):
    """`setup` prints names and no objects, and is no failure."""
    code, shown = outcome
    assert code == 0, shown
    assert re.search(WORKING[command][1], shown, re.MULTILINE), shown


@commands(REFUSED)
def test_what_cannot_be_measured_ends_in_one_line(outcome, bare, command):
    """With exit code 2, before anything is measured; asv's lines before it name the Pythons of the configuration that are not used."""
    code, shown = outcome
    assert code == 2, shown
    *others, last = [line.strip("· ") for line in shown.splitlines()]
    assert all("not used" in line or line.startswith("no Python") for line in others), others
    assert LINE.match(f"tensorcopy: {last}\n"), last
    for part in REFUSED[command][1]:
        assert part.replace(PYTHON, bare) in last
