"""The workflows are valid, have the rights they need and no others, and call commands that exist."""

from __future__ import annotations

import ast
import inspect
import json
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tensorcopy import cli
from tensorcopy.ci import runners
from tensorcopy.errors import TensorcopyError
from tensorcopy.worker import toml
from tests.conftest import ROOT, copied
from tests.test_layers import MODULES, named_in, named_in_text

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
NAMES = [path.name for path in WORKFLOWS]


def program(name: str) -> str:
    """Return the path of a program in the tests' environment."""
    path = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    assert path, f"{name} is not installed: uv sync"
    return path


def runs(path: Path) -> list[str]:
    """Return the command of every step of a workflow that has one."""
    return re.findall(r"run: (.*)", path.read_text())


def test_workflows_follow_githubs_schema():
    command = [program("check-jsonschema"), "--builtin-schema", "vendor.github-workflows", *map(str, WORKFLOWS)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(
    not shutil.which("actionlint"), reason="actionlint is not on the PATH: go install github.com/rhysd/actionlint/cmd/actionlint"
)
def test_actionlint_finds_nothing():
    """PyPI has no actionlint; in CI a step installs it."""
    done = subprocess.run(["actionlint", *map(str, WORKFLOWS)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_zizmor_finds_nothing():
    """It checks rights, pins and untrusted text, without a network."""
    command = [program("zizmor"), "--offline", "--no-progress", "--format", "plain", *map(str, WORKFLOWS)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", WORKFLOWS, ids=NAMES)
def test_a_workflow_has_only_the_rights_its_jobs_name(path):
    """Every action is pinned by commit, with its version in a comment; no fork's code runs with the repository's rights."""
    text = path.read_text()
    assert "\npermissions: {}\n" in text
    assert "pull_request_target" not in text
    for use in re.findall(r"uses: (.*)", text):
        assert re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", use), use


@pytest.mark.parametrize("path", WORKFLOWS, ids=NAMES)
def test_a_step_is_one_command(path):
    """It is one line that a person could type, without an expression."""
    for run in runs(path):
        assert run not in ("|", ">")
        assert "${{" not in run


@pytest.mark.parametrize("path", WORKFLOWS, ids=NAMES)
def test_every_tensorcopy_command_has_the_options_it_is_called_with(path):
    for _, arguments in steps(path):
        assert cli.parser().parse_args(arguments).command


VALUES = {"BASE": "main", "HEAD": "HEAD", "DEVICE": "cuda", "MACHINE": "box", "PASSES": "10", "RELEASES": "NEW", "SHARD": "1/2"}


def steps(path: Path) -> list[tuple[list[str], list[str]]]:
    """Return each `uv run OPTIONS tensorcopy ARGUMENTS` of a workflow as options and arguments, with values for its variables."""
    text = re.sub(r"\$(\w+)", lambda name: VALUES.get(name[1], ""), "\n".join(runs(path)))
    commands = re.findall(r"^(?:.*&& )?uv run (.*?)tensorcopy (.*)$", text, re.MULTILINE)
    return [(shlex.split(options), shlex.split(arguments)) for options, arguments in commands]


def installed_packages(options: list[str]) -> set[str]:
    """Return the import names of the packages that `uv run OPTIONS` installs, with all they require."""
    extras = [options[at + 1] for at, option in enumerate(options) if option == "--extra"]
    groups = [options[at + 1] for at, option in enumerate(options) if option == "--group"]
    if "--no-dev" not in options:
        groups.append("dev")
    project = toml.load(ROOT / "pyproject.toml")
    waiting = [*project["project"]["dependencies"]]
    waiting += [line for extra in extras for line in project["project"]["optional-dependencies"][extra]]
    while groups:
        lines = project["dependency-groups"][groups.pop()]
        groups += [line["include-group"] for line in lines if isinstance(line, dict)]
        waiting += [line for line in lines if isinstance(line, str)]
    names: set[str] = set()
    overrides = {Requirement(line).name: Requirement(line) for line in project["tool"]["uv"]["override-dependencies"]}
    while waiting:
        requirement = Requirement(waiting.pop())
        requirement = overrides.get(requirement.name, requirement)
        waiting += [line for extra in requirement.extras for line in project["project"]["optional-dependencies"].get(extra, ())]
        name = requirement.name.lower().replace("_", "-")
        if name not in names and (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
            names.add(name)
            waiting += metadata.requires(name) or []
    by_import = metadata.packages_distributions()
    return {module for module, packages in by_import.items() if names & {name.lower().replace("_", "-") for name in packages}}


def modules_of_command(arguments: list[str]) -> set[str]:
    """Return the modules that a command's function and what it imports name, but for torch, which a release's environment has."""
    function = cli.parser().parse_args(arguments).command
    functions = dict(inspect.getmembers(sys.modules[function.__module__], inspect.isfunction))
    waiting, sources = [function.__name__], {}
    while waiting:
        name = waiting.pop()
        sources[name] = textwrap.dedent(inspect.getsource(functions[name]))
        used = {node.id for node in ast.walk(ast.parse(sources[name])) if isinstance(node, ast.Name)}
        waiting += [other for other in used & functions.keys() if other not in sources]
    named = {module for source in sources.values() for module in named_in_text(source)}
    reached, ahead = set(), [module for module in named if module in MODULES]
    while ahead:
        module = ahead.pop()
        reached.add(module)
        if module.startswith("tensorcopy.cli"):
            continue  # other commands' functions, which import what they need when they are called
        more = named_in(MODULES[module])
        named |= more
        ahead += [other for other in more & MODULES.keys() if other not in reached]
    return {module.partition(".")[0] for module in named} - {"torch", "tensorcopy", "benchmarks", "__future__", *sys.stdlib_module_names}


@pytest.mark.parametrize("path", WORKFLOWS, ids=NAMES)
def test_every_step_installs_what_its_command_imports(path):
    """By the imports in the command's function and in every module that it reaches."""
    for options, arguments in steps(path):
        missing = modules_of_command(arguments) - installed_packages(options) - {"tomli", "tomllib"}  # one of them, by the Python
        assert not missing, (options, arguments)


def test_a_step_without_its_packages_is_detected():
    """Without the extra, `tensorcopy readme` has no griffe."""
    assert "griffe" in modules_of_command(["readme"]) - installed_packages(["--no-dev"])
    assert "github" in modules_of_command(["ci", "comment", "artifact"]) - installed_packages(["--no-dev", "--extra", "dashboard"])


@pytest.mark.slow
@pytest.mark.parametrize("command", ["readme", "ci runners"])
def test_a_step_runs_in_the_environment_it_makes(command, tmp_path_factory, tmp_path):
    """`tensorcopy readme` changes nothing there: torch and the tests' packages are not installed."""
    (step,) = {run.split(" && ")[-1] for path in WORKFLOWS for run in runs(path) if re.search(rf"tensorcopy {command}\b", run)}
    checkout = copied(tmp_path_factory, results=[""])  # all of them
    variables = {**checkout.environment, "PYTHONPATH": "", "UV_PROJECT_ENVIRONMENT": str(tmp_path / "environment"), "DEVICE": ""}
    before = {path: path.read_bytes() for path in checkout.root.glob("docs/**/*") if path.is_file()}
    done = subprocess.run(["bash", "-c", step], cwd=checkout.root, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [path for path in before if path.read_bytes() != before[path]] == []
    assert not list((tmp_path / "environment").glob("**/site-packages/torch"))


def test_ci_runs_the_commands_of_ci_run():
    """Its jobs run in parallel what `.ci/run` runs one after the other; the slow tests are divided by file."""
    here = {line.replace("--quiet ", "") for line in re.findall(r"^(uv run .*)$", (ROOT / ".ci/run").read_text(), re.MULTILINE)}
    there = {run.split(" && ")[-1].removesuffix(" $FILES") for run in runs(ROOT / ".github/workflows/ci.yml")}
    assert here <= there
    parts = re.findall(r"files: (.*)", (ROOT / ".github/workflows/ci.yml").read_text())
    slow = [f"tests/{path.name}" for path in (ROOT / "tests").glob("test_*.py") if re.search(r"mark\.slow\b", path.read_text())]
    assert sorted(" ".join(parts).split()) == sorted(slow)


def test_the_newcomers_job_runs_the_commands_of_the_readme():
    """Without a browser, the dashboard does not serve the pages."""
    job = (ROOT / ".github/workflows/ci.yml").read_text().split("  newcomer:\n")[1]
    commands = [run.removesuffix(" --no-serve") for run in re.findall(r"run: (.*)", job)]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(commands) == 2
    assert all(command in readme for command in commands)


def test_dependabot_follows_githubs_schema():
    command = [program("check-jsonschema"), "--builtin-schema", "vendor.dependabot", str(ROOT / ".github" / "dependabot.yml")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_forks_code_has_no_rights():
    """A workflow that runs a pull request's code can only read; one that can write runs no code of a pull request."""
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
def test_an_invalid_row_of_the_runners_is_an_error(tmp_path, row):
    path = tmp_path / "runners.toml"
    path.write_text(f"[[runner]]\n{row}\n")
    with pytest.raises(TensorcopyError, match=r"(invalid row in runners.toml|cannot be read): got "):
        runners.load(path)
