"""The workflows are valid, have the rights they need and no others, and call commands that exist."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from asv.commands import make_argparser

from tensorcopy import cli, files
from tensorcopy.errors import TensorcopyError
from tensorcopy.projects import runners
from tensorcopy.releases import uv
from tests.conftest import ROOT
from tests.repository.test_layers import IN_ENVIRONMENTS, MODULES

UNKNOWN_SOURCE = "https://github.com/-owner-/tensorcopy"  # no account of GitHub can have that name
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
ALL = [*WORKFLOWS, *sorted((ROOT / "docs/examples/point-clouds/.github/workflows").glob("*.yml"))]  # with those that `init` writes
RELEASE = ROOT / ".github" / "workflows" / "release.yml"
NAMES = [path.relative_to(ROOT).as_posix() for path in ALL]


def program(name: str) -> str:
    """Return the path of a program in the tests' environment."""
    path = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    assert path, f"{name} is not installed: uv sync"
    return path


def passes(*command: object, cwd: Path = ROOT) -> None:
    """Run a program, which must find nothing wrong."""
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def runs(path: Path) -> list[str]:
    """Return the command of every step of a workflow that has one."""
    return re.findall(r"run: (.*)", path.read_text())


@pytest.mark.parametrize(
    ("kind", "paths"),
    [
        ("github-workflows", ALL),
        ("dependabot", [ROOT / ".github" / "dependabot.yml"]),
        ("github-issue-forms", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))),
        ("citation-file-format", [ROOT / "CITATION.cff"]),
    ],
)
def test_files_follow_githubs_schema(kind, paths):
    from check_jsonschema import main  # which takes a second

    assert main(["--builtin-schema", f"vendor.{kind}", *map(str, paths)], standalone_mode=False) == 0


@pytest.mark.skipif(
    not shutil.which("actionlint"), reason="actionlint is not on the PATH: go install github.com/rhysd/actionlint/cmd/actionlint"
)
def test_actionlint_finds_nothing():
    """PyPI has no actionlint; in CI a step installs it."""
    passes("actionlint", *WORKFLOWS)


def test_zizmor_finds_nothing():
    """It checks rights, pins and untrusted text, without a network; as an auditor, who ignores nothing but information."""
    strict = ["--persona", "auditor", "--min-severity", "low"]
    passes(program("zizmor"), "--offline", "--no-progress", "--format", "plain", *strict, *ALL)


@pytest.mark.parametrize("path", ALL, ids=NAMES)
def test_a_step_is_one_command(path):
    """It is one line that a person could type, without an expression."""
    for job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values():
        for run in (step["run"] for step in job["steps"] if "run" in step):
            assert "\n" not in run
            assert "${{" not in run


VALUES = {"BASE": "main", "HEAD": "HEAD", "DEVICE": "cpu", "MACHINE": "box", "RELEASES": "NEW", "TAG": "v0.1.0"}
TENSORCOPY = r"python -m tensorcopy\.cli|tensorcopy"


def commands_of(path: Path, program: str) -> list[list[str]]:
    """Return the arguments of each `uv run … program ARGUMENTS` of a workflow, with values for its variables.

    program : a regular expression
    """
    found = [match[1] for run in runs(path) if (match := re.fullmatch(rf"uv run [^|&;]*?\b(?:{program}) ([^>]*)(?:>> .*)?", run))]
    return [shlex.split(re.sub(r"\$(\w+)", lambda name: VALUES[name[1]], arguments)) for arguments in found]


@pytest.mark.parametrize("path", ALL, ids=NAMES)
def test_every_command_has_the_options_it_is_called_with(path):
    """By the parsers of tensorcopy and asv."""
    for arguments in commands_of(path, TENSORCOPY):
        assert cli.parser().parse_args(arguments).command
    for arguments in commands_of(path, "asv"):
        assert make_argparser()[0].parse_args(arguments).func


@pytest.mark.slow
def test_the_locked_packages_are_all_that_workflows_import(tmp_path):
    """Each module of the program is imported where only they are installed; `uv venv --python 3.12` is also the first step of a job."""
    environment = tmp_path / "environment"
    python = environment / "bin" / "python"
    for command in (
        ["venv", "--quiet", "--python", "3.12", environment],
        ["pip", "sync", "--quiet", "--no-build", "--python", python, LOCKED],
    ):
        subprocess.run([uv.find_uv_bin(), *map(str, command)], cwd=ROOT, check=True)
    names = [name for name in MODULES if name.startswith("tensorcopy.") and not name.startswith(IN_ENVIRONMENTS)]
    names.append("docs.tools.readme")
    script = f"import importlib\nfor name in {names}: importlib.import_module(name)"
    passes(python, "-c", script)


LOCKED = ROOT / ".github" / "requirements.txt"
BUILD_LOCKED = ROOT / ".github" / "build-requirements.txt"


def locked(path: Path = LOCKED) -> dict[str, str]:
    """Return the locked version of each package."""
    return dict(re.findall(r"^([\w.-]+)==([\w.]+)", path.read_text(encoding="utf-8"), re.MULTILINE))


UPLOAD = "uv publish --trusted-publishing always"


def test_what_may_write_installs_only_locked_packages():
    """By a file with hashes, from wheels; the project itself is not built, and its measuring is in other jobs.

    What publishes the package installs nothing, and has none of the repository's files.
    """
    for path in WORKFLOWS:
        for name, job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].items():
            commands = [step["run"] for step in job["steps"] if "run" in step]
            if commands == [UPLOAD]:
                assert job["permissions"] == {"id-token": "write"}, name
                assert not any("checkout" in step.get("uses", "") for step in job["steps"]), name
            elif "write" in job["permissions"].values() and commands:
                assert commands[:2] == ["uv venv --python 3.12", f"uv pip sync --require-hashes --no-build {LOCKED.relative_to(ROOT)}"], (
                    name
                )
                others = [command for command in commands[2:] if not command.startswith("uv run --no-project ")]
                assert others in ([], ["cp looked-up/releases.toml tensorcopy/"]), name  # one file of what another job left
                assert not any(re.search(r"(tensorcopy measure|machine|ci pull-request|asv run)\b", command) for command in commands), name
            with_token = [step for step in job["steps"] if "GITHUB_TOKEN" in step.get("env", {})]
            assert not with_token or "write" in job["permissions"].values(), name


def test_what_measures_installs_only_locked_packages():
    """On machines that keep files, a package of this minute would do more harm than on those of tests."""
    measuring = []
    for path in WORKFLOWS:
        for name, job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].items():
            commands = [step["run"] for step in job["steps"] if "run" in step]
            if any(re.search(r"\basv (run|continuous)\b", command) for command in commands):
                measuring.append(f"{path.name} {name}")
                assert f"uv pip sync --require-hashes --no-build {LOCKED.relative_to(ROOT)}" in commands
                assert all(command.startswith("uv run --no-project ") for command in commands if "uv run" in command), name
    assert len(measuring) >= 3


def test_uv_has_one_version_everywhere_and_no_shared_cache():
    """GitHub's cache would carry files from a fork's run to a measuring one."""
    steps = [
        step for path in WORKFLOWS for job in yaml.safe_load(path.read_text())["jobs"].values() for step in job["steps"] if "uses" in step
    ]
    uvs = [step["with"] for step in steps if step["uses"].startswith("astral-sh/setup-uv@")]
    assert len({step["version"] for step in uvs}) == 1
    assert {step["enable-cache"] for step in uvs} == {False}
    assert not any("actions/cache" in step["uses"] for step in steps)
    assert "pip install uv" not in "".join(path.read_text() for path in WORKFLOWS)  # Ubuntu 24.04 refuses it


@pytest.mark.parametrize("path", [LOCKED, BUILD_LOCKED], ids=["program", "build"])
def test_a_lock_has_hashes_and_no_address(path):
    text = path.read_text(encoding="utf-8")
    assert "://" not in text
    assert "index" not in text
    for entry in re.split(r"\n(?=\S)", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)):
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), entry


def test_the_package_is_built_with_the_locked_build_system():
    """By the command that docs/releasing.md shows, so that another person gets the same files."""
    project = files.read_toml(ROOT / "pyproject.toml")
    assert project["dependency-groups"]["build"] == project["build-system"]["requires"]
    assert set(locked(BUILD_LOCKED)) >= set(project["build-system"]["requires"])
    (build,) = (run for run in runs(RELEASE) if run.startswith("uv build"))
    assert f"--build-constraints {BUILD_LOCKED.relative_to(ROOT)} --require-hashes" in build
    assert f"{build}\n" in (ROOT / "docs" / "releasing.md").read_text(encoding="utf-8")


def test_no_release_is_built_while_nobody_owns_its_addresses(tmp_path):
    """The first step fails while a file of the package has the placeholder, and passes when docs/releasing.md is followed."""
    step = yaml.safe_load(RELEASE.read_text(encoding="utf-8"))["jobs"]["build"]["steps"][1]["run"]
    (command,) = re.findall(r"`(sed -i .*?)`", (ROOT / "docs" / "releasing.md").read_text(encoding="utf-8"))
    for name in shlex.split(command)[3:]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        text = (ROOT / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text + f"{UNKNOWN_SOURCE}/\n", encoding="utf-8")
    refused = subprocess.run(["bash", "-e", "-c", step], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert all(f"{name}:" in refused.stdout for name in shlex.split(command)[3:])
    passes("bash", "-e", "-c", f"{command.replace('NAME', 'somebody')}\n{step}", cwd=tmp_path)


@pytest.mark.weekly
@pytest.mark.parametrize("path", [LOCKED, BUILD_LOCKED], ids=["program", "build"])
def test_the_lock_is_what_its_command_writes(tmp_path, path):
    """The command in its first lines keeps every version that still fits; a hash may be added to the index later."""
    (command,) = re.findall(r"^#    (uv pip compile .*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert command in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (tmp_path / ".github").mkdir()
    shutil.copy(path, tmp_path / ".github")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    passes(uv.find_uv_bin(), *shlex.split(command)[1:], cwd=tmp_path)
    written = (tmp_path / ".github" / path.name).read_text(encoding="utf-8")
    pinned = [re.findall(r"^[\w.-]+==.*$", text, re.MULTILINE) for text in (path.read_text(encoding="utf-8"), written)]
    assert pinned[0] == pinned[1]
    hashes = [set(re.findall(r"sha256:\w+", text)) for text in (path.read_text(encoding="utf-8"), written)]
    assert hashes[0] <= hashes[1]


def test_a_step_ends_before_its_job():
    """GitHub cancels a job at the end of its time and uploads nothing; a step that ends by itself leaves time for it."""
    for name, job in (("measure.yml", "measure"), ("pull-request.yml", "cpu"), ("pull-request-gpu.yml", "cuda")):
        rows = yaml.safe_load((ROOT / ".github" / "workflows" / name).read_text(encoding="utf-8"))["jobs"][job]
        limits = [step["timeout-minutes"] for step in rows["steps"] if "timeout-minutes" in step]
        assert limits
        assert sum(limits) + 10 <= rows["timeout-minutes"] <= 360  # a hosted job has six hours


def test_ci_runs_the_commands_of_ci_run():
    """Its jobs run in parallel what `.ci/run` runs one after the other."""
    here = {line.replace("--quiet ", "") for line in re.findall(r"^(uv run .*)$", (ROOT / ".ci/run").read_text(), re.MULTILINE)}
    assert here <= set(runs(ROOT / ".github/workflows/ci.yml"))


def test_the_newcomers_job_runs_the_commands_of_the_readme():
    """Without a browser, the dashboard does not serve the pages."""
    job = (ROOT / ".github/workflows/ci.yml").read_text().split("  newcomer:\n")[1]
    commands = [run.removesuffix(" --no-serve") for run in re.findall(r"run: (.*)", job)]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(commands) == 2
    assert all(command in readme for command in commands)


def test_a_forks_code_has_no_rights():
    """A workflow that runs a pull request's code can only read; one that can write runs none. On a GPU it needs a separate approval."""
    for path in ALL:
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
        'machine = "x"\nlabels = ["a"]\nenvironments = 1',
        'machine = "x"\nlabels = ["a"]\n[[runner]]\nmachine = "x"\nlabels = ["a"]',
        "labels = [",
        "runner = 5",
    ],
)
def test_an_invalid_row_of_the_runners_is_an_error(tmp_path, row):
    path = tmp_path / "runners.toml"
    path.write_text(row if row.startswith("runner") else f"[[runner]]\n{row}\n")
    with pytest.raises(TensorcopyError, match="the list of runners cannot be read: got "):
        runners.load(path)
