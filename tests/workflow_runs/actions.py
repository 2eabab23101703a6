"""Stand-ins for the actions that the workflows use, with the behaviour of the pinned versions' sources."""

from __future__ import annotations

import base64
import fnmatch
import json
import os
import shutil
import subprocess
import tarfile
import urllib.request
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.workflow_runs import machine as machines
from tests.workflow_runs.forge import REPOSITORY

if TYPE_CHECKING:
    from tests.workflow_runs.jobs import Job

Inputs = dict[str, Any]


class ActionFailed(Exception):
    """An action ended with an error."""


def checkout(job: Job, inputs: Inputs) -> None:
    """Fetch the event's commit; a workspace that exists is cleaned, unless `clean` is false."""
    work = job.machine.workspace
    basic = base64.b64encode(f"x-access-token:{job.token}".encode()).decode()
    here = ["git", "-c", f"http.extraheader=AUTHORIZATION: basic {basic}", "-C", str(work)]
    if (work / ".git").exists():
        if inputs.get("clean", True):
            _checked(*here, "clean", "-ffdx")
            _checked(*here, "reset", "-q", "--hard", "HEAD")
    else:
        _checked("git", "init", "-q", str(work))
        _checked(*here, "remote", "add", "origin", f"{job.forge.address}/{REPOSITORY}")
    ref = job.event.ref
    target = ref.replace("refs/heads/", "refs/remotes/origin/").replace("refs/pull/", "refs/remotes/pull/")
    whole = int(inputs.get("fetch-depth", 1)) == 0
    refs = [f"+{ref}:{target}", *(["+refs/heads/*:refs/remotes/origin/*"] if whole else [])]
    _checked(*here, "fetch", "-q", "--no-tags", *([] if whole else ["--depth=1"]), "origin", *refs)
    branch = ["-B", ref.removeprefix("refs/heads/")] if ref.startswith("refs/heads/") else ["--detach"]
    _checked(*here, "checkout", "-q", "--force", *branch, target)
    assert inputs.get("persist-credentials") is False
    job.after_checkout(work)


def setup_uv(job: Job, inputs: Inputs) -> None:
    """Put one version of uv onto the PATH; its cache is this machine's, unless the workflow gives it a folder."""
    job.path.insert(0, str(machines.install_uv(inputs["version"], job.programs)))
    assert inputs["enable-cache"] is False
    if "cache-local-path" in inputs:
        job.exported["UV_CACHE_DIR"] = inputs["cache-local-path"]


def upload_artifact(job: Job, inputs: Inputs) -> None:
    """Store files by their path below the folder that all patterns have in common, without hidden files."""
    work = job.machine.workspace
    patterns = [line.strip() for line in inputs["path"].splitlines() if line.strip()]
    searched = [work / _literal(pattern) for pattern in patterns]
    matches = [match for pattern in patterns for match in work.glob(pattern)]
    files = {path for match in matches for path in ([match] if match.is_file() else match.rglob("*")) if path.is_file()}
    files = {path for path in files if not any(part.startswith(".") for part in path.relative_to(work).parts)}
    if not files:
        if inputs["if-no-files-found"] == "error":
            raise ActionFailed(f"No files were found with the provided path: {inputs['path']}")
        return
    root = Path(os.path.commonpath(searched))
    _store(job, inputs["name"], {path.relative_to(root.parent if root.is_file() else root): path for path in files})


def _literal(pattern: str) -> Path:
    """Return the part of a pattern before its first wildcard."""
    parts = Path(pattern).parts
    return Path(*parts[: next((number for number, part in enumerate(parts) if any(sign in part for sign in "*?[")), len(parts))])


def download_artifact(job: Job, inputs: Inputs) -> None:
    """Copy artifacts: the only match of a pattern into the folder itself, several into one each."""
    run = int(inputs.get("run-id", job.event.run))
    if run != job.event.run and not job.forge.allows(inputs.get("github-token", ""), "actions", "read"):
        raise ActionFailed("Resource not accessible by integration")
    artifacts = job.forge.artifacts.get(run, {})
    names = [name for name in artifacts if fnmatch.fnmatch(name, inputs.get("pattern", inputs.get("name")))]
    if "name" in inputs and not names:
        raise ActionFailed(f"Artifact '{inputs['name']}' not found")
    target = job.machine.workspace / inputs["path"]
    for name in names:
        shutil.copytree(artifacts[name], target if len(names) == 1 else target / name, dirs_exist_ok=True)


def upload_pages_artifact(job: Job, inputs: Inputs) -> None:
    """Store the site as one archive."""
    packed = job.machine.temp / "artifact.tar"
    with tarfile.open(packed, "w", dereference=True) as archive:
        archive.add(job.machine.workspace / inputs["path"], arcname=".")
    _store(job, "github-pages", {Path(packed.name): packed})


def deploy_pages(job: Job, _: Inputs) -> None:
    """Ask Pages to publish the run's site."""
    assert job.forge.allows(job.token, "id-token", "write")
    job.outputs_of_step["page_url"] = _posted(job, "pages/deployments", {"run": job.event.run})["page_url"]


def attest(job: Job, inputs: Inputs) -> None:
    """Store the names and digests of files; Sigstore signs them for a job that can show who it is."""
    assert job.forge.allows(job.token, "id-token", "write")
    files = sorted(path for path in job.machine.workspace.glob(inputs["subject-path"]) if path.is_file())
    if not files:
        raise ActionFailed(f"Could not find subject at path {inputs['subject-path']}")
    _posted(job, "attestations", {"subjects": [{"name": path.name, "sha256": sha256(path.read_bytes()).hexdigest()} for path in files]})


def _posted(job: Job, path: str, body: Any) -> Any:
    """Return the answer of GitHub's API to a job's request."""
    request = urllib.request.Request(
        f"{job.forge.address}/repos/{REPOSITORY}/{path}",
        data=json.dumps(body).encode(),
        headers={"Authorization": f"token {job.token}"},
        method="POST",
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def _store(job: Job, name: str, files: dict[Path, Path]) -> None:
    folder = job.forge.folder / "artifacts" / f"{job.event.run}" / name
    for target, path in files.items():
        (folder / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, folder / target)
    job.forge.artifacts.setdefault(job.event.run, {})[name] = folder


def _checked(*command: str) -> None:
    done = subprocess.run(command, env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ActionFailed(done.stderr.strip())


ACTIONS: dict[str, Callable[[Job, Inputs], None]] = {
    "actions/checkout": checkout,
    "astral-sh/setup-uv": setup_uv,
    "actions/upload-artifact": upload_artifact,
    "actions/download-artifact": download_artifact,
    "actions/upload-pages-artifact": upload_pages_artifact,
    "actions/deploy-pages": deploy_pages,
    "actions/attest": attest,
}
