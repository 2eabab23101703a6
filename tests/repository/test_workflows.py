"""The workflows, and those that `init` writes, are valid, have the rights they need and no others, and call commands that exist."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from asv.commands import make_argparser

from tensorcopy import cli, files
from tensorcopy.ci import runners
from tensorcopy.errors import TensorcopyError
from tensorcopy.projects import new_project
from tensorcopy.releases import uv
from tests.conftest import ROOT
from tests.repositories import workflow
from tests.repository.test_layers import IN_ENVIRONMENTS, MODULES

UNKNOWN_SOURCE = "https://github.com/-owner-/tensorcopy"  # no account of GitHub can have that name
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
RELEASE = ROOT / ".github" / "workflows" / "release.yml"


@pytest.fixture(scope="module", params=["ours", "a project's"])
def workflows(request, tmp_path_factory) -> list[Path]:
    """The workflows of this repository, and those of a project in a folder of another one."""
    if request.param == "ours":
        return WORKFLOWS
    folder = tmp_path_factory.mktemp("top") / "bench"
    (folder / "benchmarks").mkdir(parents=True)
    (folder.parent / ".git").mkdir()
    (folder / "benchmarks" / "__init__.py").touch()
    (folder / "tensorcopy.toml").write_text('[project]\nname = "a"\n[suites]\npath = "benchmarks"\n')
    shutil.copy(ROOT / "asv.conf.json", folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(new_project, "installed_from", lambda: "tensorcopy @ git+https://github.com/-owner-/tensorcopy")
        new_project.add_workflows(new_project.NewProject(folder))
    return sorted((folder.parent / ".github" / "workflows").glob("*.yml"))


def jobs(paths):
    """Yield the name and the content of every job, and what starts its workflow."""
    for path in paths:
        read = workflow(path)
        for name, job in read["jobs"].items():
            yield f"{path.stem} {name}", job, read[True]  # YAML reads "on" as true


def passes(*command: object, cwd: Path = ROOT) -> None:
    """Run a program, which must find nothing wrong."""
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def runs(path: Path) -> list[str]:
    """Return the command of every step of a workflow that has one."""
    return re.findall(r"run: (.*)", path.read_text())


def test_files_follow_githubs_schema(workflows):
    from check_jsonschema import main  # which takes a second

    of_github = ROOT / ".github"
    others = {"dependabot": [of_github / "dependabot.yml"], "github-issue-forms": sorted((of_github / "ISSUE_TEMPLATE").glob("*.yml"))}
    others["citation-file-format"] = [ROOT / "CITATION.cff"]
    for kind, paths in {"github-workflows": workflows, **(others if workflows == WORKFLOWS else {})}.items():
        assert main(["--builtin-schema", f"vendor.{kind}", *map(str, paths)], standalone_mode=False) == 0


@pytest.mark.skipif(
    not shutil.which("actionlint"), reason="actionlint is not on the PATH: go install github.com/rhysd/actionlint/cmd/actionlint"
)
def test_actionlint_finds_nothing(workflows):
    """PyPI has no actionlint; in CI a step installs it."""
    passes("actionlint", *workflows)


def test_zizmor_finds_nothing(workflows):
    """It checks rights, pins and untrusted text, without a network; as an auditor, who ignores nothing but information."""
    strict = ["--persona", "auditor", "--min-severity", "low"]
    passes(Path(sys.executable).with_name("zizmor"), "--offline", "--no-progress", "--format", "plain", *strict, *workflows)


def test_a_step_is_one_command(workflows):
    """It is one line that a person could type, without an expression; of another's actions, the one that opens pull requests alone.

    No file goes from one run to another: GitHub's cache would carry those of a fork's run to a measuring one.
    """
    for name, job, _ in jobs(workflows):
        for step in job["steps"]:
            assert "\n" not in step.get("run", "")
            assert "${{" not in step.get("run", "")
            owner = step.get("uses", "actions/").split("/")[0]
            assert owner in ("actions", "astral-sh") or step["uses"].startswith("peter-evans/create-pull-request@"), name
            assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", step.get("uses", f"a@{'0' * 40}")), name
            assert "actions/cache" not in step.get("uses", ""), name
            assert "setup-uv" not in step.get("uses", "") or step["with"]["enable-cache"] is False, name


VALUES = {"BASE": "main", "HEAD": "HEAD", "DEVICE": "cpu", "MACHINE": "box", "RELEASES": "NEW", "TAG": "v0.1.0"}


def commands_of(path: Path, program: str) -> list[list[str]]:
    """Return the arguments of each `uv run … program ARGUMENTS` of a workflow, with values for its variables."""
    found = [match[1] for run in runs(path) if (match := re.fullmatch(rf"uv run [^|&;]*?\b{program} (.*)", run))]
    return [shlex.split(re.sub(r"\$(\w+)", lambda name: VALUES[name[1]], arguments)) for arguments in found]


def test_every_command_has_the_options_it_is_called_with(workflows):
    """By the parsers of tensorcopy and asv."""
    of_tensorcopy = [arguments for path in workflows for arguments in commands_of(path, "tensorcopy")]
    of_asv = [arguments for path in workflows for arguments in commands_of(path, "asv")]
    assert {arguments[0] for arguments in of_tensorcopy} >= {"ci", "measure"}
    assert {arguments[0] for arguments in of_asv} == {"machine", "run", "publish"}
    for arguments in of_tensorcopy:
        assert cli.parser().parse_args(arguments).command
    for arguments in of_asv:
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


UPLOAD = "uv publish --trusted-publishing always"
LOCKED = ROOT / ".github" / "requirements.txt"
BUILD_LOCKED = ROOT / ".github" / "build-requirements.txt"


def test_what_writes_runs_no_code_that_another_could_change(workflows):
    """It installs packages by hashes, without building any, and neither measures nor imports a suite; a comment and a row need no code.

    What publishes the package installs nothing, and has none of the repository's files.
    """
    writing = {name: job for name, job, _ in jobs(workflows) if "write" in job["permissions"].values()}
    assert {*writing} >= {
        "measure collect",
        "releases propose",
        "pull-request comment",
        "pull-request-gpu comment",
        "pull-request-gpu label",
    }
    for name, job in writing.items():
        commands = [step["run"] for step in job["steps"] if "run" in step]
        if own := [command for command in commands if command.startswith("uv run ")]:
            assert commands[0] == "uv venv --python 3.12", name
            assert commands[1].startswith("uv pip sync --require-hashes --no-build "), name
            assert all("--no-deps" in command for command in commands[2:] if "pip" in command), name
            assert not re.search(r"asv (run|continuous)|tensorcopy measure|ci pull-request", " ".join(own)), name
        elif commands == [UPLOAD]:
            assert job["permissions"] == {"id-token": "write"}, name
        if not own and name != "releases propose":  # whose action commits in a checkout
            assert not any("checkout" in step.get("uses", "") for step in job["steps"]), name
    for name, job, _ in jobs(workflows):
        with_token = [step for step in job["steps"] if "github.token" in str(step.get("env", ""))]
        assert not with_token or name in writing, name


def test_every_environment_has_only_locked_packages(workflows):
    """On machines that keep files, and for the site that others read, a package of this minute would do more harm than in tests."""
    checked = []
    for name, job, _ in jobs(path for path in workflows if path.stem not in ("ci", "weekly", "release")):
        commands = [step["run"] for step in job["steps"] if "run" in step]
        if any(command.startswith("uv ") for command in commands):
            checked.append(name)
            assert any(command.startswith("uv pip sync --require-hashes --no-build ") for command in commands), name
            assert all(command.startswith("uv run --no-project ") for command in commands if "uv run" in command), name
            assert all("--no-deps" in command for command in commands if "pip install" in command), name
    assert {*checked} >= {"measure measure", "pages publish", "pull-request cpu", "pull-request-gpu cuda", "releases look-up"}


def test_the_package_is_built_with_the_locked_build_system():
    """By the command that docs/ci.md shows, so that another person gets the same files."""
    project = files.read_toml(ROOT / "pyproject.toml")
    assert project["dependency-groups"]["build"] == project["build-system"]["requires"]
    pinned = re.findall(r"^([\w.-]+)==", BUILD_LOCKED.read_text(encoding="utf-8"), re.MULTILINE)
    assert {*pinned} >= {*project["build-system"]["requires"]}
    (build,) = (run for run in runs(RELEASE) if run.startswith("uv build"))
    assert f"--build-constraints {BUILD_LOCKED.relative_to(ROOT)} --require-hashes" in build
    assert f"{build}\n" in (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")


def test_no_release_is_built_while_nobody_owns_its_addresses(tmp_path):
    """The first step fails while a file of the package has the placeholder, and passes when docs/ci.md is followed."""
    step = OURS["release build"]["steps"][1]["run"]
    (command,) = re.findall(r"`(sed -i .*?)`", (ROOT / "docs" / "ci.md").read_text(encoding="utf-8"))
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


def test_a_step_ends_before_its_job(workflows):
    """GitHub cancels a job at the end of its time and uploads nothing; a step that ends by itself leaves time for it."""
    limited = {name: job for name, job, _ in jobs(workflows) if any("timeout-minutes" in step for step in job["steps"])}
    assert {*limited} == {"measure measure", "pull-request cpu", "pull-request-gpu cuda"}
    for job in limited.values():
        limits = [step["timeout-minutes"] for step in job["steps"] if "timeout-minutes" in step]
        assert sum(limits) + 10 <= job["timeout-minutes"] <= 360  # a hosted job has six hours


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


OF_THIS_REPOSITORY = "github.event.pull_request.head.repo.full_name == github.repository"


def test_a_pull_request_s_code_has_no_rights(workflows):
    """The job that runs it can only read, without a secret or a token; those that write have none of its files, and are not for forks.

    Its text reaches them as an environment variable. On a GPU, a fork's code needs a separate approval.
    """
    found = {name: job for name, job, on in jobs(workflows) if {"pull_request", "pull_request_target", "workflow_run"} & {*on}}
    assert not any("workflow_run" in on or "pull_request_target" in on for _, _, on in jobs(workflows))
    for name, job in found.items():
        if "write" in job["permissions"].values():
            assert job["permissions"] == {"pull-requests": "write"}, name
            assert OF_THIS_REPOSITORY in job["if"], name
            assert all("uses" not in step for step in job["steps"]), name
            assert all(step["run"].split()[0] in ("gh", "echo") for step in job["steps"]), name
        else:
            assert job["permissions"] == {"contents": "read"}, name
            assert "secrets" not in str(job), name
            assert "token" not in str(job), name
    gpu = found["pull-request-gpu cuda"]
    assert gpu["environment"] == f"${{{{ {OF_THIS_REPOSITORY} && 'gpu' || 'gpu-from-a-fork' }}}}"
    assert gpu["if"] == "github.event.label.name == 'measure on gpu'"


GH = """#!/usr/bin/env python3
import json, os, sys
arguments = dict(zip(sys.argv[1:], sys.argv[2:]))
if "--jq" in arguments:
    os.execvp("jq", ["jq", "-r", arguments["--jq"], "comments.json"])
method = arguments["--method"]
with open("written", "a") as written:
    print(json.dumps([method, arguments[method], arguments["--raw-field"]]), file=written)
"""


def test_the_comment_of_each_device_is_written_alike(workflows):
    """So that what one of them does is tested below."""
    written = {name: str(job).replace("cuda", "cpu") for name, job, _ in jobs(workflows) if name.endswith(" comment")}
    assert len(written) == 2
    assert {*written.values()} == {str(OURS["pull-request comment"])}


OURS = {name: job for name, job, _ in jobs(WORKFLOWS)}


@pytest.mark.skipif(not shutil.which("jq"), reason="jq is not on the PATH: apt install jq")
def test_each_device_has_one_comment(tmp_path):
    """That of the job before, in place of its earlier one, found by its marker: no person's text, and no other device's, is replaced."""
    job = OURS["pull-request-gpu comment"]
    markers = {name: f"<!-- tensorcopy {name} -->\n" for name in ("cpu", "cuda")}
    authors = [("User", markers["cuda"]), ("Bot", "another bot"), ("Bot", markers["cpu"]), ("Bot", markers["cuda"])]
    comments = [{"id": 90 + number, "user": {"type": kind}, "body": body} for number, (kind, body) in enumerate(authors)]
    (tmp_path / "gh").write_text(GH)
    (tmp_path / "gh").chmod(0o755)
    text, address = f"{markers['cuda']}### `$(touch x)` \"new\" '$TEXT'\n", "repos/o/r/issues/7/comments"
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "COMMENTS": address, "OURS": job["env"]["OURS"], "TEXT": text}
    for there in (3, 4):
        (tmp_path / "comments.json").write_text(json.dumps(comments[:there]))
        output = tmp_path / f"output-{there}"
        environment["GITHUB_OUTPUT"] = str(output)
        subprocess.run(["bash", "-e", "-c", job["steps"][0]["run"]], cwd=tmp_path, env=environment, check=True)
        found = output.read_text().removeprefix("id=").strip()
        environment["METHOD"], environment["ADDRESS"] = ("PATCH", f"repos/o/r/issues/comments/{found}") if found else ("POST", address)
        subprocess.run(["bash", "-e", "-c", job["steps"][1]["run"]], cwd=tmp_path, env=environment, check=True)
    written = [json.loads(line) for line in (tmp_path / "written").read_text().splitlines()]
    assert written == [["POST", address, f"body={text}"], ["PATCH", "repos/o/r/issues/comments/93", f"body={text}"]]
    assert not (tmp_path / "x").exists()
    assert (job["needs"], job["env"]["TEXT"]) == ("cuda", "${{ needs.cuda.outputs.text }}")


def test_a_project_s_workflows_are_ours_for_its_own_folder(workflows):
    """What only ours do, and where our files are, is in none."""
    for path in workflows if workflows != WORKFLOWS else ():
        text = path.read_text()
        assert not re.search(r"tensorcopy alone|tensorcopy/releases|docs\.tools|ci\.yml|build \.github/|-m tensorcopy", text), path
        assert text.count('working-directory: "bench"') == 1
        assert text.count("uv pip install --no-deps") == text.count("uv pip sync")
    named = [(key, value) for _, job, _ in jobs(workflows) for step in job["steps"] for key, value in step.get("with", {}).items()]
    of, table, collected = (
        ("", "tensorcopy/", "results,README.md,docs") if workflows == WORKFLOWS else ("bench/", "bench/", "bench/results")
    )
    assert {*named} >= {("path", f"{of}{name}") for name in ("site", "results", "measured")}
    assert {*named} >= {("path", f"{table}releases.toml"), ("path", f"./{table}")}
    assert {value for key, value in named if key == "add-paths"} == {collected, f"{table}releases.toml"}
    pythons = "3.9 3.11" if workflows == WORKFLOWS else "3.11 3.9"
    assert {each for path in workflows for each in re.findall("run: uv python install (.*)", path.read_text())} >= {pythons}


def test_ci_is_started_for_the_pull_request_of_a_workflow(workflows):
    """GitHub starts none for it; a workflow that is started for its branch checks the same commit."""
    started = {}
    for name, job, _ in jobs(workflows):
        for proposed, after in zip(job["steps"], [*job["steps"][1:], {}]):
            if "create-pull-request" in proposed.get("uses", ""):
                started[name] = re.findall(r"gh workflow run (\S+) .*--ref (\S+)", after.get("run", ""))
                assert all(branch == proposed["with"]["branch"] for _, branch in started[name])
    assert started["releases propose"] == [("pull-request.yml", "new-release")]
    assert started["measure collect"] in ([("ci.yml", "new-results")], [])  # a project has no tests of ours
    of_dispatch = {path.name for path in workflows if "workflow_dispatch" in workflow(path)[True]}
    assert {workflow for each in started.values() for workflow, _ in each} <= of_dispatch


def test_the_matrix_is_handed_on(monkeypatch, tmp_path, capsys):
    """As GitHub takes a job's output, also from a folder below the top."""
    monkeypatch.chdir(ROOT / "docs")
    monkeypatch.setenv("GITHUB_OUTPUT", str(tmp_path / "output"))
    assert cli.main(["ci", "runners"]) == 0
    matrix = capsys.readouterr().out.strip()
    assert (tmp_path / "output").read_text() == f"matrix={matrix}\n"
    # without a GPU, torch is that for the CPU, a tenth of the download
    assert json.loads(matrix) == {"include": [{"machine": "github-hosted", "labels": ["ubuntu-24.04"], "device": "cpu", "backend": "cpu"}]}


@pytest.mark.parametrize(
    "row",
    [
        'machine = "../x"\nlabels = ["a"]',
        'machine = "x"\nlabels = []',
        'machine = "x"\nlabels = ["a"]\ndevice = "tpu"',
        'machine = "x"\nlabels = ["a"]\n[[runner]]\nmachine = "x"\nlabels = ["a"]',
        "labels = [",
    ],
)
def test_an_invalid_row_of_the_runners_is_an_error(no_other_repository, tmp_path, monkeypatch, row):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".github").mkdir()
    (tmp_path / ".github" / "runners.toml").write_text(f"[[runner]]\n{row}\n")
    with pytest.raises(TensorcopyError, match=r"runners\.toml cannot be read: got "):
        runners.matrix()
