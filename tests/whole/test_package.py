"""The package: a wheel without extras that checks, advises and plots beside any installed torch."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from uv import find_uv_bin

from tensorcopy import cli, files
from tensorcopy.releases import release_table, uv
from tests.conftest import ROOT, require
from tests.repository.test_workflows import UNKNOWN_SOURCE

PROJECT = files.read_toml(ROOT / "pyproject.toml")
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
WITHOUT_EXTRAS = """
import contextlib, io, json, sys
absent, commands = json.loads(sys.argv[1])
sys.modules.update(dict.fromkeys(absent))  # as if they were not installed
from tensorcopy import cli
for command in commands:
    with contextlib.redirect_stdout(sys.stderr), contextlib.redirect_stderr(io.StringIO()) as errors:
        code = cli.main(command)
    print(json.dumps([code, errors.getvalue()]))
"""
OTHERS = {
    ("dashboard", "--no-serve"): "dashboard",
    ("measure", "2.15.0"): "dashboard",
    ("history",): "dashboard",
    ("plot", "copies", "-o", "x.svg"): "plot",
}


def test_any_other_command_names_the_extra_it_needs():
    """With the packages that `pip install tensorcopy` installs alone: in one line, with exit code 2, before the command does anything."""
    packages = {re.split(r"[\[=<>~!; ]", line)[0] for line in PROJECT["project"]["optional-dependencies"]["dashboard"]}
    absent = {package.replace("-", "_") for package in packages} | {"matplotlib"}
    absent -= {"jinja2", "markupsafe"}  # torch installs these
    arguments = json.dumps([sorted(absent), [*map(list, OTHERS)]])
    done = subprocess.run([sys.executable, "-c", WITHOUT_EXTRAS, arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for (command, extra), line in zip(OTHERS.items(), done.stdout.splitlines(), strict=True):
        code, errors = json.loads(line)
        assert (code, errors.partition(": ")[0]) == (2, "tensorcopy"), command
        assert f"tensorcopy[{extra}]" in errors.splitlines()[-1], command


@pytest.mark.slow
def test_the_repository_follows_the_guide_of_scientific_python():
    """Except for the rules that pyproject.toml ignores, each with its reason."""
    done = subprocess.run([sys.executable, "-m", "repo_review", str(ROOT)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    assert len(PROJECT["tool"]["repo-review"]["ignore"]) <= 5


@pytest.mark.slow
def test_the_wheel_has_the_package_and_nothing_else(wheel):
    """It has types, tables, templates and the suites, but no results or tests."""
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"tensorcopy"}
    files = {
        path.relative_to(ROOT).as_posix() for path in (ROOT / "tensorcopy").rglob("*") if path.is_file() and "__pycache__" not in path.parts
    }
    files |= {f"tensorcopy/projects/{name}" for name in ("requirements.txt", "build-requirements.txt", "runners.toml")}
    files |= {f"tensorcopy/projects/workflows/{path.name}" for path in (ROOT / ".github" / "workflows").iterdir()}
    files |= {f"tensorcopy/suites/{path.name}" for path in (ROOT / "benchmarks").iterdir() if path.is_file()}
    assert files == {name for name in names if not name.split("/")[0].endswith(".dist-info")}
    assert "tensorcopy/py.typed" in files
    assert wheel.stat().st_size < 750_000


@pytest.mark.slow
def test_the_description_has_no_link_that_an_index_cannot_follow(wheel):
    """It is the README, whose links to files lead to the repository; code stays as it is."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        description = archive.read(name).decode().partition("\n\n")[2]
    readme, source = (ROOT / "README.md").read_text(encoding="utf-8"), PROJECT["project"]["urls"]["Repository"]
    assert re.search(r"\]\((docs|LICENSE)", readme)
    for path in re.findall(r"\]\(([^)#]+)", description):
        assert path.startswith("https://") or path == "x", path
    for path in re.findall(rf"\]\({re.escape(source)}/blob/main/([^)#]+)", description):
        assert (ROOT / path).is_file(), path
    assert f"({source}/raw/main/docs/dashboard.png)" in description
    shortened = description.replace(f"{source}/blob/main/", "").replace(f"{source}/raw/main/", "")
    assert shortened.strip() == readme.replace(UNKNOWN_SOURCE, source).strip()


@pytest.mark.slow
def test_the_readmes_command_without_a_clone_gives_the_answer(wheel, tmp_path):
    """From the wheel, in a separate environment without torch."""
    (command,) = re.findall(r"`(uvx --from .*?)`", (ROOT / "README.md").read_text(encoding="utf-8"))
    program, *arguments = command.replace(f"git+{UNKNOWN_SOURCE}", str(wheel)).split()
    assert (program, str(wheel) in arguments) == ("uvx", True)
    started = [find_uv_bin(), "tool", "run", *arguments]
    done = subprocess.run(started, cwd=tmp_path, env={**os.environ, "PYTHONPATH": ""}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Use x.detach().clone(): " in done.stdout
    assert "shipped results, not measured here" in " ".join(done.stdout.split())


@pytest.fixture
def folder(tmp_path):
    """A folder that is removed after the test: torch takes up to 7 GB."""
    yield tmp_path
    shutil.rmtree(tmp_path)


@pytest.mark.weekly
@pytest.mark.parametrize("age", ["oldest", "newest"])
@pytest.mark.parametrize("python", PYTHONS)
def test_the_wheel_works_beside_a_torch(wheel, folder, python, age):
    """Installed from the wheel beside the oldest or the newest torch that this Python has; the guide's project has one each day."""
    require(uv.find_python(python), f"uv finds no Python {python}: uv python install {python}")
    releases = [release for release in release_table.load() if release.runs_on(python)]
    release = releases[0 if age == "oldest" else -1]
    # the cache is removed too: six releases of torch do not fit on a runner's disk
    variables = {**os.environ, "PYTHONPATH": "", "UV_CACHE_DIR": str(folder / "cache")}

    def run(*command: str) -> str:
        done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("uv", "venv", "--quiet", "--no-project", "--python", python, "environment")
    interpreter = str(uv.interpreter(folder / "environment"))
    requirements = release.requirements(release_table.numpy_for(release, python))
    run("uv", "pip", "install", "--quiet", "--python", interpreter, str(wheel), *requirements)
    installed = run("uv", "pip", "list", "--python", interpreter)
    assert not re.search(r"^(asv|matplotlib) ", installed, re.MULTILINE)
    program = str(Path(interpreter).with_name("tensorcopy"))
    *_, checked = run(program, "check", "--device", "cpu").splitlines()
    assert checked.startswith(f"torch {release.version}")
    assert checked.endswith(": every documented behaviour holds")
    assert "x.detach().clone()" in run(program, "plot")
    assert f"measured here: torch {release.version}" in run(program, "advise", "--to", "numpy", "--numel", "64")
    assert "x.detach().clone()" in run(program, "advise", "--shipped")
    for option in ("--version", "--help"):
        assert run(program, option)
    run(interpreter, "-c", "import tensorcopy, torch; assert tensorcopy.COPIES['detach_clone'](torch.ones(2)).sum() == 2")


@pytest.mark.parametrize("module", ["tensorcopy.nowhere", "json.nowhere", ""])
def test_a_missing_module_of_ours_or_of_python_is_a_fault(module):
    """There is no package to install for it."""
    assert cli.expected(ModuleNotFoundError(name=module)) is None
