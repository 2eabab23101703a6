"""The package: a wheel with what it needs and no more, which checks, advises and plots beside any torch that people have."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tensorcopy import cli
from tensorcopy.releases import release_table, uv
from tests.conftest import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
ALONE = """
import sys
sys.modules.update(dict.fromkeys({absent!r}))  # as if they were not installed
from tensorcopy import cli
sys.exit(cli.main({command!r}))
"""

TORCHLESS = """
import sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name=name)

sys.meta_path.insert(0, Finder())
"""


def alone(*command: str, absent: tuple[str, ...] = (*cli.DASHBOARD, "matplotlib")) -> subprocess.CompletedProcess[str]:
    """A command where nothing is installed but what `pip install tensorcopy` brings, and torch."""
    code = ALONE.format(absent=absent, command=list(command))
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "command",
    [("--version",), ("check",), ("plot", "copies", "--max", "4"), ("advise", "--numel", "16"), ("advise", "--shipped"), ("--help",)],
    ids=" ".join,
)
def test_the_reader_s_own_commands_need_no_extra(command):
    done = alone(*command)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        (("dashboard", "--no-serve"), "dashboard"),
        (("compare", "2.14.1", "2.15.0"), "dashboard"),
        (("history", "--values", "x.json"), "dashboard"),
        (("measure", "2.15.0"), "dashboard"),
        (("machine",), "dashboard"),
        (("plot", "copies", "-o", "x.svg"), "plot"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_any_other_command_says_which_extra_it_needs(command, extra):
    """In one line, with exit code 2, before anything is done."""
    done = alone(*command)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("tensorcopy: ")
    assert f"tensorcopy[{extra}]" in done.stderr.splitlines()[-1]


def test_without_torch_that_is_said(tmp_path):
    """Of a Python that has this package and no torch."""
    (tmp_path / "sitecustomize.py").write_text(TORCHLESS)
    done = subprocess.run(
        [sys.executable, "-m", "tensorcopy.cli", "check"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "there is no torch: got" in done.stderr


def test_each_extra_s_packages_are_known_by_the_names_they_are_imported_under():
    """So that whichever is missing, it is said what brings it."""
    brought = {re.split(r"[\[=<>~!; ]", one)[0] for one in PROJECT["project"]["optional-dependencies"]["dashboard"]}
    names = {"asv-tachyon": "asv_tachyon", "markdown-it-py": "markdown_it", "mdit-py-plugins": "mdit_py_plugins", "nvidia-ml-py": "pynvml"}
    assert {names.get(one, one) for one in brought} == set(cli.DASHBOARD)


def test_a_fault_of_the_program_is_none_of_the_reader_s():
    """A module of ours that is missing is no package to install."""
    with pytest.raises(KeyError):
        cli.missing("tensorcopy.nowhere")


def test_the_repository_is_as_scientific_python_asks():
    """But for what pyproject.toml leaves out, each with its reason."""
    done = subprocess.run([sys.executable, "-m", "repo_review", str(ROOT)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    assert len(PROJECT["tool"]["repo-review"]["ignore"]) <= 5


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run(["uv", "build", "--quiet", "--wheel", "--out-dir", str(out), str(ROOT)], check=True)
    (found,) = out.glob("*.whl")
    return found


@pytest.mark.slow
def test_the_wheel_has_the_package_and_nothing_else(wheel):
    """Typed, with its tables and templates; no results, no suites, no tests."""
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"tensorcopy"}
    there = {
        path.relative_to(ROOT).as_posix() for path in (ROOT / "tensorcopy").rglob("*") if path.is_file() and "__pycache__" not in path.parts
    }
    assert there == {name for name in names if not name.split("/")[0].endswith(".dist-info")}
    assert "tensorcopy/py.typed" in there
    assert wheel.stat().st_size < 500_000


def releases_for(python: str) -> list[release_table.Release]:
    """The oldest and the newest torch that there is for a Python."""
    found = [release for release in release_table.load() if release.kind == "release" and release.runs_on(python)]
    return [found[0], found[-1]]


@pytest.fixture
def room(tmp_path):
    """A folder that is gone afterwards, whatever happens: 4 GB, and there are eight of these."""
    yield tmp_path
    shutil.rmtree(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("age", [0, -1], ids=["oldest", "newest"])
def test_the_wheel_works_beside_a_torch(wheel, room, python, age):
    """Installed as people do, from the wheel, on each Python with the oldest and the newest torch that goes with it."""
    release = releases_for(python)[age]
    if uv.find_python(python) is None:
        give_up = pytest.fail if os.environ.get("CI") else pytest.skip  # CI must not be green without it
        give_up(f"uv finds no Python {python} here")
    place = {**os.environ, "UV_CACHE_DIR": str(room / "cache"), "PYTHONPATH": ""}  # of its own, so that the disk is given back

    def run(*command: str) -> str:
        done = subprocess.run(command, cwd=room, env=place, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("uv", "venv", "--quiet", "--no-project", "--python", python, "there")
    interpreter = str(uv.interpreter(room / "there"))
    run("uv", "pip", "install", "--quiet", "--python", interpreter, str(wheel), *release.requirements(python))
    installed = run("uv", "pip", "list", "--python", interpreter)
    assert not re.search(r"^(asv|scipy|jsonschema|matplotlib) ", installed, re.MULTILINE)
    program = str(Path(interpreter).with_name("tensorcopy"))
    checked = json.loads(run(program, "check", "--json", "--device", "cpu"))
    assert checked["torch"].startswith(release.version)
    assert {row["kept"] for row in checked["checked"]} == {True}
    assert "x.detach().clone()" in run(program, "plot", "--max", "64")
    assert f"measured here: torch {release.version}" in run(program, "advise", "--to", "numpy", "--numel", "64")
    run(interpreter, "-c", "import tensorcopy, torch; assert tensorcopy.COPIES['detach_clone'](torch.ones(2)).sum() == 2")
