"""Every step of every workflow runs as written: its own command, in the environment that its job makes, against a local GitHub."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml

from tensorcopy.report import pr_comment
from tensorcopy.site.web_addresses import UNKNOWN_SOURCE
from tests.conftest import NEWEST_SHIPPED, OLDEST_SHIPPED, POLL, ROOT, copied, measured_in_passes
from tests.workflow_runs import machine as machines
from tests.workflow_runs import package_index
from tests.workflow_runs.forge import Forge, serving
from tests.workflow_runs.jobs import Event, Job, Player, Written, all_jobs

pytestmark = pytest.mark.slow

WORKFLOWS = ROOT / ".github" / "workflows"
AUTHOR = ("-c", "user.name=a", "-c", "user.email=a@example.org")
LABEL = "measure on gpu"
SUITES = ("__init__.py", "cases.py", "control.py", "copies.py")  # of benchmarks/ in the played repository
ran: dict[str, set[str]] = {}  # the commands that were run, by workflow


def git(folder: Path, *command: str) -> str:
    return subprocess.run(["git", *AUTHOR, *command], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def committed(root: Path) -> Path:
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "--all")
    git(root, "commit", "-q", "-m", "all")
    return root


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A repository with the files of this checkout and two results."""
    return committed(copied(tmp_path_factory).root)


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    """A repository with the files of this checkout, two results and one suite at two sizes: a pass takes seconds."""
    root = copied(tmp_path_factory).root
    for path in (root / "benchmarks").glob("*.py"):
        if path.name not in SUITES:
            path.unlink()
    (root / "benchmarks" / "memory.py").write_text('"""No suite; a test module imports it."""\n', encoding="utf-8")
    copies = root / "benchmarks" / "copies.py"
    first_suite = copies.read_text(encoding="utf-8").split("\n\n\nclass ByGrad")[0]
    copies.write_text(first_suite.replace("NUMELS]", "NUMELS[:2]]") + "\n", encoding="utf-8")
    return committed(root)


@dataclass
class Stage:
    """A local GitHub with a repository, and what plays its workflows."""

    forge: Forge
    player: Player
    work: Path

    @property
    def sha(self) -> str:
        return git(self.work, "rev-parse", "main")

    @property
    def origin(self) -> str:
        return str(self.forge.folder / "o" / "r.git")

    def push(self, branch: str = "main") -> str:
        """Commit every change, push it, and return its SHA."""
        git(self.work, "add", "--all")
        git(self.work, "commit", "-q", "-m", "change")
        git(self.work, "push", "-q", self.origin, f"HEAD:{branch}")
        return git(self.work, "rev-parse", "HEAD")

    def play(self, name: str, event: Event, edit: Callable[[str], str] = lambda text: text, **endless: Mapping[str, Written]):
        text = (WORKFLOWS / name).read_text(encoding="utf-8")
        played = self.player.play(edit(text), event, **endless)
        ran.setdefault(name, set()).update(
            step.title for job in all_jobs(played) for step in job.steps if step.outcome in ("success", "failure", "ignored")
        )
        return played

    def event(self, name: str, payload: dict[str, Any] | None = None, **values: Any) -> Event:
        repository = {"full_name": "o/r", "default_branch": "main", "private": self.forge.private, "has_pages": True}
        return Event(name, {"repository": repository, "sender": {"login": "person"}, **(payload or {})}, **{"sha": self.sha, **values})


@contextmanager
def staged(source: Path, folder: Path, base: Path) -> Iterator[Stage]:
    """Yield a private repository on a local GitHub; torch is installed once for all jobs."""
    environments = base / "environments"
    environments.mkdir(exist_ok=True)

    def link(workspace: Path) -> None:
        (workspace / ".asv").mkdir(exist_ok=True)
        if not (workspace / ".asv" / "env").exists():
            (workspace / ".asv" / "env").symlink_to(environments)

    with serving(folder / "forge", private=True) as forge:
        work = folder / "work"
        git(folder, "clone", "-q", str(source), str(work))
        git(work, "push", "-q", str(folder / "forge" / "o" / "r.git"), "main")
        yield Stage(forge, Player(forge, base / "hosted", base / "programs", link), work)


@pytest.fixture
def stage(source, tmp_path, tmp_path_factory) -> Iterator[Stage]:
    """A local GitHub with the repository that is measured in seconds."""
    with staged(source, tmp_path, tmp_path_factory.getbasetemp()) as stage:
        yield stage


def only(job: str) -> Callable[[str], str]:
    """Return an edit of a workflow that leaves one job, with the results of the others as if they were there."""

    def edit(text: str) -> str:
        workflow = yaml.safe_load(text)
        jobs = {job: {name: value for name, value in workflow["jobs"][job].items() if name not in ("needs", "if")}}
        return yaml.safe_dump({**workflow, "jobs": jobs}, sort_keys=False)

    return edit


def replacing(before: str, after: str = "") -> Callable[[str], str]:
    """Return an edit of a text that occurs."""

    def edit(text: str) -> str:
        assert before in text, before
        return text.replace(before, after)

    return edit


def explained(jobs: list[Job]) -> str:
    """Return the steps of jobs with their outcomes and the ends of their outputs, to read in a failure."""
    return "\n".join(f"{step.outcome}: {step.title}\n{step.output[-1500:]}" for job in jobs for step in job.steps)


def assert_success(*jobs: list[Job]) -> None:
    for runs in jobs:
        assert runs, "the job was skipped"
        assert {job.conclusion for job in runs} == {"success"}, explained(runs)


def measured_artifact(folder: Path, machine: str) -> Path:
    """Write what the job `measure` uploads: one pass of the newest release."""
    measured_in_passes(folder, NEWEST_SHIPPED, {"detach_clone": [1.0]}, machine=machine)
    return folder


# measure.yml


def test_measuring_ends_in_a_pull_request_with_the_new_pass(stage):
    """Plan, a pass of the newest release on this machine, and the pull request. The repository is private.

    Hosted runners differ: another one has measured under this name, so that the new pass gets a folder of its own.
    """
    measured_in_passes(stage.work / "results", NEWEST_SHIPPED, {"detach_clone": [1.0]}, machine="github-hosted", identity="0" * 12)
    stage.push()
    event = stage.event("workflow_dispatch", inputs={"releases": NEWEST_SHIPPED.version, "passes": "1", "time": "1h"})
    played = stage.play("measure.yml", event)
    assert_success(played["plan"], played["measure"], played["collect"])
    (collect,) = played["collect"]
    assert "1 results added" in collect.printed("merge")
    assert "opened pull request" in collect.printed("propose")
    git(stage.work, "fetch", "-q", stage.origin, "new-results")
    changed = git(stage.work, "diff", "--name-only", "main", "FETCH_HEAD").splitlines()
    result = f"{NEWEST_SHIPPED.sha[:8]}-py3.11-cuda.json"
    assert [name for name in changed if re.fullmatch(rf"results/github-hosted-\w{{4}}/{result}", name)], changed
    assert stage.forge.started == [{"workflow": "ci.yml", "ref": "new-results", "inputs": {}}]


@pytest.mark.parametrize("machines_of_run", [["a"], ["a", "b"]], ids=["one artifact", "two artifacts"])
def test_artifacts_are_merged_in_either_layout(stage, tmp_path, machines_of_run):
    """GitHub puts the only artifact into the folder itself; results that wait on a branch are kept."""
    measured_in_passes(stage.work / "results", OLDEST_SHIPPED, {"tensor": [1.0]}, machine="waiting")
    git(stage.work, "checkout", "-q", "-b", "new-results")
    stage.push("new-results")
    artifacts = {f"results-{name}-1": measured_artifact(tmp_path / name, name) for name in machines_of_run}
    stage.forge.artifacts[1] = artifacts
    played = stage.play("measure.yml", stage.event("schedule"), only("collect"))
    assert_success(played["collect"])
    git(stage.work, "fetch", "-q", stage.origin, "new-results")
    names = git(stage.work, "ls-tree", "--name-only", "FETCH_HEAD:results").splitlines()
    assert set(names) >= {"waiting", *machines_of_run}


@pytest.mark.parametrize("fault", ["one artifact", "no token", "no right", "missing group"])
def test_a_fault_of_collect_is_detected(stage, tmp_path, fault):
    """The pattern of several artifacts, no token for a private repository, a missing right and a missing package."""
    edits = {
        "one artifact": (replacing("merge measured --also", "merge measured/* --also"), "merge", "not a folder of results"),
        "no token": (
            replacing("          GITHUB_TOKEN: ${{ github.token }} # to read", "          OTHER: ${{ github.token }} # to read"),
            "merge",
            "git cannot provide the branch new-results of origin",
        ),
        "no right": (
            replacing("      pull-requests: write", "      pull-requests: none"),
            "propose",
            "GitHub refused the request: got 403",
        ),
        "missing group": (replacing(".github/requirements.txt", "less.txt"), "propose", "github"),
    }
    edit, step, message = edits[fault]
    if fault == "missing group":
        locked = (stage.work / ".github" / "requirements.txt").read_text(encoding="utf-8")
        without = "\n".join(part for part in re.split(r"\n(?=\S)", locked) if not part.startswith("pygithub=="))
        (stage.work / "less.txt").write_text(without + "\n", encoding="utf-8")
        stage.push()
    stage.forge.artifacts[1] = {"results-a-1": measured_artifact(tmp_path / "a", "a")}
    played = stage.play("measure.yml", stage.event("schedule"), lambda text: only("collect")(edit(text)))
    (job,) = played["collect"]
    assert job.outcome(f"cli {'ci ' if step == 'propose' else ''}{step}") == "failure", explained([job])
    assert message in job.printed(f"cli {'ci ' if step == 'propose' else ''}{step}")


MEASURE = "tensorcopy.cli measure"


def only_measure(text: str) -> str:
    """Leave the job `measure` with the matrix of one machine."""
    row = {
        "machine": "box",
        "labels": ["self-hosted", "box"],
        "device": "cpu",
        "shard": "1/1",
        "environments": 2,
        "artifact": "results-box-1",
    }
    workflow = yaml.safe_load(only("measure")(text))
    workflow["jobs"]["measure"]["strategy"]["matrix"] = {"include": [row]}
    return yaml.safe_dump(workflow, sort_keys=False)


def with_a_machine_without_its_gpu(text: str) -> str:
    """Measure on this machine, and on one that asks for a GPU which it does not have; every job keeps its needs and its condition."""
    workflow = yaml.safe_load(text)
    names = {"box": "cpu", "gpu-box": "cuda"}
    workflow["jobs"]["measure"]["strategy"]["matrix"] = {
        "include": [
            {
                "machine": name,
                "labels": ["ubuntu-24.04"],
                "device": device,
                "shard": "1/1",
                "environments": 2,
                "artifact": f"results-{name}-1",
            }
            for name, device in names.items()
        ]
    }
    return yaml.safe_dump(workflow, sort_keys=False)


def test_results_are_collected_though_a_machine_failed(stage):
    """And none are where planning failed, so that nothing was measured."""
    event = stage.event("workflow_dispatch", inputs={"releases": NEWEST_SHIPPED.version, "passes": "1", "time": "1h"})
    played = stage.play("measure.yml", event, with_a_machine_without_its_gpu)
    assert [job.conclusion for job in played["measure"]] == ["success", "failure"], explained(played["measure"])
    assert_success(played["plan"], played["collect"])
    git(stage.work, "fetch", "-q", stage.origin, "new-results")
    assert "box" in git(stage.work, "ls-tree", "--name-only", "FETCH_HEAD:results").splitlines()
    without_plan = replacing('ci runners --device "$DEVICE"', "ci runners --device nothing")
    played = stage.play("measure.yml", event, without_plan)
    assert [job.conclusion for job in played["plan"]] == ["failure"], explained(played["plan"])
    assert (played["measure"], played["collect"]) == ([], [])


def passes_in(folder: Path) -> int:
    """Return the number of passes of a machine `box`; a file that is being written has none yet."""
    number = 0
    for path in folder.glob("box*/*-cuda.json"):
        with suppress(ValueError):
            number += len(json.loads(path.read_text(encoding="utf-8"))["passes"])
    return number


def test_what_was_measured_is_uploaded_when_the_time_ends(stage, tmp_path):
    """GitHub cancels a job at the end of its time, and skips the rest of its steps; the step ends before.

    A machine of ours keeps its environments for the next job, and nothing else.
    """
    not_yet_measured = shutil.ignore_patterns(f"{NEWEST_SHIPPED.sha[:8]}-*")
    shutil.copytree(stage.work / "results" / "xeon-2core", stage.work / "results" / "box", ignore=not_yet_measured)
    stage.push()
    machine = machines.new(tmp_path / "kept")
    stage = Stage(stage.forge, replace(stage.player, kept={"box": machine}), stage.work)
    before = passes_in(stage.work / "results")
    measured = {MEASURE: lambda workspace: passes_in(workspace / "results") > before}
    event = stage.event("workflow_dispatch", inputs={"releases": NEWEST_SHIPPED.version})
    (job,) = stage.play("measure.yml", event, only_measure, endless=measured)["measure"]
    assert job.outcome(MEASURE) == "failure", explained([job])
    assert job.outcome("upload-artifact") == "success", explained([job])
    assert job.conclusion == "failure"
    files = stage.forge.artifacts[1]["results-box-1"]
    assert (files / "benchmarks.json").exists()
    assert len(list(files.glob("box*/*-py3.11-cuda.json"))) == 2
    assert passes_in(files) > before, explained([job])
    left, environment = machine.workspace / "results" / "box-left" / "machine.json", machine.workspace / ".asv" / "env" / "kept"
    for path in (left, environment):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    without_timeout = replacing("        timeout-minutes: 340 ", "        # ")
    event = stage.event("schedule", run=2)
    (job,) = stage.play("measure.yml", event, lambda text: only_measure(without_timeout(text)), endless={MEASURE: lambda _: True})[
        "measure"
    ]
    assert job.conclusion == "cancelled", explained([job])
    assert job.outcome("upload-artifact") == "skipped"
    assert environment.exists()
    assert not left.exists()


# pages.yml


def test_pages_are_published(stage):
    """From the results on main to Pages."""
    played = stage.play("pages.yml", stage.event("push", {"ref": "refs/heads/main", "before": "0" * 40, "after": stage.sha}))
    assert_success(played["publish"], played["deploy"])
    assert {"index.html", "tensorcopy.js", "licenses.txt"} <= set(stage.forge.pages)


# pull-request.yml, pull-request-gpu.yml and comment.yml


def pull_request_event(stage: Stage, head: str, owner: str, **payload: Any) -> Event:
    """Return the event of a pull request from a branch `change`, which GitHub has merged for the run."""
    base = git(stage.work, "rev-parse", "main")
    git(stage.work, "push", "-q", stage.origin, f"{head}:refs/pull/7/merge")
    pull = {**stage.forge.pull(7, "change", head, owner, labels=(LABEL, "other"))}
    pull["base"] = {**pull["base"], "sha": base}
    return stage.event("pull_request", {"number": 7, "pull_request": pull, **payload}, sha=head, ref="refs/pull/7/merge", run=41,
                       variables={"PULL_REQUEST_PASSES": "1"})  # fmt: skip


def run_event(stage: Stage, workflow: str, conclusion: str, head: str, owner: str) -> Event:
    """Return the event of the end of a run of a pull request's workflow."""
    repository = {"full_name": f"{owner}/r", "owner": {"login": owner, "type": "User"}, "fork": owner != "o"}
    run = {
        "id": 41,
        "name": workflow,
        "path": f".github/workflows/{workflow}.yml",
        "event": "pull_request",
        "status": "completed",
        "conclusion": conclusion,
        "head_branch": "change",
        "head_sha": head,
        "head_repository": repository,
        "pull_requests": [],  # GitHub leaves it empty for a fork
        "html_url": "https://example.org/o/r/actions/runs/41",
    }
    return stage.event("workflow_run", {"action": "completed", "workflow_run": run, "workflow": {"name": workflow}}, run=42)


def test_a_pull_request_of_a_fork_is_measured_and_commented_on(stage):
    """Its head cannot be imported. Its own job has no right to write; the comment is written by another workflow, from main."""
    copies = stage.work / "benchmarks" / "copies.py"
    git(stage.work, "checkout", "-q", "-b", "change")
    copies.write_text(copies.read_text(encoding="utf-8") + "\nraise RuntimeError('planted')\n", encoding="utf-8")
    git(stage.work, "commit", "-q", "--all", "-m", "change")
    head = git(stage.work, "rev-parse", "HEAD")
    git(stage.work, "checkout", "-q", "main")
    played = stage.play("pull-request.yml", pull_request_event(stage, head, "fork", action="synchronize"))
    (job,) = played["cpu"]
    assert job.outcome("setup-uv") == job.outcome("python install") == job.outcome("tensorcopy machine") == "success", explained([job])
    document = json.loads((stage.forge.artifacts[41]["comparison-cpu"] / "comparison.json").read_text())
    (pair,) = document["pairs"]
    assert document["head"] == head
    assert [is_base for is_base, _ in pair["failures"]] == [False], explained([job])
    assert job.conclusion == "failure"
    assert not any(job.forge.allows(job.token, scope, "write") for scope in ("contents", "pull-requests", "actions"))
    played = stage.play("comment.yml", run_event(stage, "pull-request", job.conclusion, head, "fork"))
    assert_success(played["comment"])
    assert played["label"] == []
    (comment,) = stage.forge.comments
    assert comment["issue"] == 7
    assert comment["body"].startswith(pr_comment.MARKER)
    assert head[:8] in comment["body"]


def after_the_check(text: str) -> str:
    """Let the job go on although the machine is unfit."""
    check = "tensorcopy machine --device cuda\n"
    return replacing(check, f"{check}        continue-on-error: true\n")(text)


@pytest.mark.skipif(shutil.which("nvidia-smi") is not None, reason="this machine has a GPU")
def test_a_gpu_run_without_a_gpu_fails_and_takes_its_label_away(stage):
    """The check of the machine fails, and so does the comparison: main has this head. The comment reports it, and other labels stay."""
    head = git(stage.work, "rev-parse", "HEAD")
    event = pull_request_event(stage, head, "o", action="labeled", label={"name": LABEL})
    (job,) = stage.play("pull-request-gpu.yml", event, after_the_check)["cuda"]
    assert job.outcome("tensorcopy machine") == "ignored", explained([job])
    assert "unfit for measuring" in job.printed("tensorcopy machine")
    assert job.exported["UV_CACHE_DIR"] == f"{job.machine.temp}/uv"
    assert "there is nothing to compare" in job.printed("ci pull-request")
    played = stage.play("comment.yml", run_event(stage, "pull-request-gpu", job.conclusion, head, "o"))
    assert_success(played["comment"], played["label"])
    assert stage.forge.pulls[0]["labels"] == [{"name": "other"}]
    assert "cuda" in stage.forge.comments[0]["body"]


def test_only_the_label_starts_a_gpu_run(stage):
    """A push, or another label, starts none."""
    assert (WORKFLOWS / "pull-request-gpu.yml").read_text(encoding="utf-8").count("types: [labeled]\n") == 1
    head = git(stage.work, "rev-parse", "HEAD")
    event = pull_request_event(stage, head, "o", action="labeled", label={"name": "other"})
    assert stage.play("pull-request-gpu.yml", event) == {"cuda": []}


@pytest.mark.parametrize("conclusion", ["cancelled", "skipped"])
def test_a_cancelled_gpu_run_takes_its_label_away_too(stage, conclusion):
    """A skipped one, of another label, does not; neither comments."""
    head = git(stage.work, "rev-parse", "HEAD")
    stage.forge.pull(7, "change", head, labels=(LABEL,))
    played = stage.play("comment.yml", run_event(stage, "pull-request-gpu", conclusion, "0" * 40, "o"))
    assert played["comment"] == []
    assert len(played["label"]) == (conclusion == "cancelled")
    assert len(stage.forge.pulls[0]["labels"]) == (conclusion == "skipped")


# releases.yml


def wheel(folder: Path, name: str, version: str, files: dict[str, str]) -> None:
    """Write a wheel for every Python of Linux."""
    info = f"{name}-{version}.dist-info"
    content = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nRequires-Dist: numpy\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: false\nTag: cp312-cp312-linux_x86_64\n",
    }
    content[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*content, f"{info}/RECORD"])
    for python in ("cp311", "cp312", "cp313"):
        with zipfile.ZipFile(folder / f"{name}-{version}-{python}-{python}-linux_x86_64.whl", "w") as archive:
            for path, text in content.items():
                archive.writestr(path, text.replace("cp312", python) if path.endswith("WHEEL") else text)


@pytest.fixture
def nightlies(tmp_path) -> Iterator[tuple[str, list[str]]]:
    """The address of an index with a torch nightly and a numpy that must not be installed, and the paths that are asked of it."""
    folder, asked = tmp_path / "index", []
    for name, version in (("torch", NIGHTLY), ("numpy", "99.0"), ("rich", "99.0")):
        (folder / name).mkdir(parents=True)
        wheel(folder / name, name, version, {f"{name}/version.py": f"__version__ = {version!r}\ngit_version = {'9' * 40!r}\n"})
        links = "".join(f'<a href="{path.name}">{path.name}</a>' for path in (folder / name).glob("*.whl"))
        (folder / name / "index.html").write_text(links)

    class Index(SimpleHTTPRequestHandler):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments, directory=str(folder))

        def log_message(self, *_: Any) -> None:
            asked.append(self.path)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Index)
    Thread(target=server.serve_forever, args=(POLL,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/", asked
    server.shutdown()
    server.server_close()


NIGHTLY = "2.99.0.dev20261120"


def test_a_nightly_becomes_a_row_and_only_torch_is_asked_of_its_index(stage, nightlies):
    """One job looks it up without rights; another one proposes the table."""
    address, asked = nightlies
    played = stage.play("releases.yml", stage.event("schedule", variables={"NIGHTLY_INDEX": address}))
    assert_success(played["look-up"], played["propose"])
    git(stage.work, "fetch", "-q", stage.origin, "new-release")
    table = git(stage.work, "show", "FETCH_HEAD:tensorcopy/releases.toml")
    assert f'version = "{NIGHTLY}"' in table
    assert 'kind = "nightly"' in table
    assert stage.forge.started == [{"workflow": "pull-request.yml", "ref": "new-release", "inputs": {}}]
    assert {path.split("/")[1] for path in asked} == {"torch"}
    (look_up,) = played["look-up"]
    assert set(stage.forge.rights[look_up.token].values()) == {"read"}


# release.yml


@pytest.fixture
def index(tmp_path) -> Iterator[package_index.PackageIndex]:
    """A package index that trusts the environment which the workflow names."""
    with package_index.serving(tmp_path, "package-index") as index:
        yield index


def uploading_to(index: package_index.PackageIndex) -> Callable[[str], str]:
    """Return an edit of the workflow by which its last job uploads to a local index."""

    def edit(text: str) -> str:
        workflow = yaml.safe_load(text)
        workflow["jobs"]["publish"]["env"] = index.variables()
        return yaml.safe_dump(workflow, sort_keys=False)

    return edit


def release_event(stage: Stage, tag: str = "v0.1.0", switch: str = "true") -> Event:
    """Return the event of a release of a commit whose version is 0.1.0."""
    for name, before, after in (
        ("pyproject.toml", UNKNOWN_SOURCE, "https://github.com/o/r"),
        ("CHANGELOG.md", "## 0.1.0 (unreleased)", "## 0.1.0"),
    ):
        path = stage.work / name
        path.write_text(replacing(before, after)(path.read_text(encoding="utf-8")), encoding="utf-8")
    stage.push()
    git(stage.work, "tag", tag)
    git(stage.work, "push", "-q", stage.origin, tag)
    payload = {"action": "published", "release": {"tag_name": tag, "draft": False, "prerelease": False}}
    return stage.event("release", payload, ref=f"refs/tags/{tag}", variables={"PUBLISH_PACKAGE": switch} if switch else {})


def test_a_release_is_built_attested_and_published(stage, index):
    """The index gets the files that were checked and attested, from a job that has no other right and runs no code of the repository."""
    played = stage.play("release.yml", release_event(stage), uploading_to(index))
    assert_success(played["build"], played["attest"], played["publish"])
    printed = dict(line.split("  dist/")[::-1] for line in played["build"][0].printed("ci package").splitlines() if "  dist/" in line)
    assert sorted(printed) == ["tensorcopy-0.1.0-py3-none-any.whl", "tensorcopy-0.1.0.tar.gz"]
    assert index.files == printed
    assert {row["name"]: row["sha256"] for row in stage.forge.attestations} == printed
    (publish,) = played["publish"]
    assert stage.forge.rights[publish.token] == {"metadata": "read", "id-token": "write"}
    assert not (publish.machine.workspace / "pyproject.toml").exists()


@pytest.mark.parametrize("switch", ["", "false"])
def test_nothing_is_published_before_it_is_switched_on(stage, switch):
    assert stage.play("release.yml", release_event(stage, switch=switch)) == {"build": [], "attest": [], "publish": []}


def test_another_version_than_the_tag_is_not_published(stage):
    played = stage.play("release.yml", release_event(stage, tag="v0.1.1"))
    assert "another version than the tag: got v0.1.0" in played["build"][0].printed("ci package")
    assert (played["attest"], played["publish"]) == ([], [])


@pytest.mark.parametrize(
    ("job", "fault", "message"),
    [
        ("attest", replacing("      attestations: write", "      attestations: read"), "403"),
        ("attest", replacing("subject-path: dist/*", "subject-path: distributions/*"), "Could not find subject"),
        ("publish", replacing("    environment: package-index"), "not a trusted publisher"),
        ("publish", replacing("id-token: write # by which the package", "id-token: none # by which the package"), "id-token: write"),
    ],
    ids=["no right to attest", "no file", "no environment", "no identity"],
)
def test_a_fault_of_publishing_is_detected(stage, index, tmp_path, job, fault, message):
    """It ends its job, and nothing reaches the index."""
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "tensorcopy-0.1.0.tar.gz").write_bytes(b"")
    stage.forge.artifacts[1] = {"package": tmp_path / "package"}
    (played,) = stage.play("release.yml", release_event(stage), lambda text: only(job)(uploading_to(index)(fault(text))))[job]
    assert played.conclusion == "failure", explained([played])
    assert message in played.steps[-1].output
    assert index.files == {}


# ci.yml and weekly.yml


def in_tests_environment(stage: Stage) -> Stage:
    """Return a stage whose jobs' `uv run` uses the environment of these tests, which it would make again."""
    return Stage(stage.forge, replace(stage.player, extra=machines.tests_environment), stage.work)


def without_newcomer(text: str) -> str:
    """Leave out the job that measures, and give all files of the slow tests to one job."""
    workflow = yaml.safe_load(text)
    workflow["jobs"].pop("newcomer", None)
    if "slow" in workflow["jobs"]:
        matrix = workflow["jobs"]["slow"]["strategy"]["matrix"]
        matrix["include"] = [{"part": "all", "files": " ".join(row["files"] for row in matrix["include"])}]
    return yaml.safe_dump(workflow, sort_keys=False)


def test_the_tests_of_ci_run(whole, tmp_path, tmp_path_factory):
    """Linters and types; pytest collects, and does not run itself again."""
    with staged(whole, tmp_path, tmp_path_factory.getbasetemp()) as stage:
        stage = in_tests_environment(stage)
        for name, event in (("ci.yml", "pull_request"), ("weekly.yml", "schedule")):
            for job in all_jobs(stage.play(name, stage.event(event), without_newcomer)):
                assert job.conclusion == "success", explained([job])


def test_the_newcomers_commands_run(stage):
    """The README's commands, in a fresh clone."""
    stage = in_tests_environment(stage)
    played = stage.play("ci.yml", stage.event("push"), only("newcomer"))
    assert_success(played["newcomer"])
    assert "The page: " in played["newcomer"][0].printed("dashboard")


def test_every_command_was_run(request):
    """By the tests above; all of them must have been selected."""
    selected = {item.originalname for item in request.session.items if item.path == request.path}
    if selected < set(TESTS):
        pytest.skip("some tests of this file were not selected")
    for path in WORKFLOWS.glob("*.yml"):
        commands = {step["run"] for job in yaml.safe_load(path.read_text())["jobs"].values() for step in job["steps"] if "run" in step}
        assert commands <= ran[path.name], path.name


TESTS = [name for name in globals() if name.startswith("test_")]
