"""git commands in the current folder: commits and their files."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from tensorcopy.errors import TensorcopyError

# a credential helper, because every process can read the arguments of git
TOKEN = ("-c", "credential.helper=", "-c", 'credential.helper=!f() { echo username=x-access-token; echo "password=$GITHUB_TOKEN"; }; f')


def commit(name: str) -> str:
    """Return the full SHA of a commit. Raises TensorcopyError for an unknown name."""
    return _output("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}", wanted=f"the commit {name}").strip()


def printed(*arguments: str) -> str:
    """Return what a git command prints; "" where it fails, or git is missing."""
    if shutil.which("git") is None:
        return ""
    finished = _run(*arguments)
    return "" if finished.returncode else finished.stdout.decode(errors="surrogateescape").strip()


def fork_point(base: str, head: str) -> str:
    """Return the SHA of the last common commit of two commits.

    Raises TensorcopyError if there is none, as in a shallow clone.
    """
    return _output("merge-base", base, head, wanted=f"a common commit of {base[:8]} and {head[:8]}").strip()


def changed(base: str, head: str) -> list[str]:
    """Return the files that differ between two commits."""
    return _output("diff", "--name-only", "-z", "--no-renames", base, head, wanted="the difference").split("\0")[:-1]


def fetch_branch(branch: str) -> str:
    """Fetch a branch from origin and return its SHA, or "" if it does not exist.

    Raises TensorcopyError if origin fails.
    """
    named = f"the branch {branch} of origin"
    if not _output(*TOKEN, "ls-remote", "--heads", "origin", f"refs/heads/{branch}", wanted=named):
        return ""
    _output(*TOKEN, "fetch", "-q", "origin", f"refs/heads/{branch}", wanted=named)
    return commit("FETCH_HEAD")


def prefix() -> str:
    """Return the current folder below the top folder of this repository: "" or "over-torch/"."""
    return _output("rev-parse", "--show-prefix", wanted="the repository of this folder").strip()


def check_out(sha: str, folder: Path) -> None:
    """Check a commit out into another folder, a worktree of this repository, with its submodules, unless it is there."""
    complete = folder.with_name(f"{folder.name}.complete")  # written last
    if folder.exists() and complete.exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    _run("worktree", "prune")  # those whose folders were removed
    without_hooks = ("-c", f"core.hooksPath={os.devnull}")
    _output(*without_hooks, "worktree", "add", "-q", "--detach", str(folder), sha, wanted=f"the files of {sha[:8]}")
    _output("-C", str(folder), "submodule", "update", "-q", "--init", "--recursive", wanted=f"the submodules of {sha[:8]}")
    complete.touch()


def default_branch() -> str:
    """Return the branch that a repository's host shows first: that of origin, or of this repository without one."""
    remote = printed("symbolic-ref", "--short", "refs/remotes/origin/HEAD").removeprefix("origin/")
    local = printed("for-each-ref", "--format=%(refname:short)", "refs/heads").split()
    usual = next((name for name in ("main", "master") if name in local), "")
    return remote or usual or printed("symbolic-ref", "--short", "HEAD") or "main"


def _output(*arguments: str, wanted: str) -> str:
    finished = _run(*arguments)
    if finished.returncode != 0:
        lines = finished.stderr.decode(errors="replace").strip().splitlines()
        got = next((line for line in lines if line.startswith(("fatal: ", "error: "))), lines[-1] if lines else "no output")
        is_shallow = printed("rev-parse", "--is-shallow-repository") == "true"
        following = "git fetch --unshallow" if is_shallow else "git branch --all and git log show the names, in a clone of this repository"
        raise TensorcopyError(f"git cannot provide {wanted}", got=got, allowed="a commit that is here, with its history", next=following)
    return finished.stdout.decode(errors="surrogateescape")  # a file may have any name


def _run(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    if (program := shutil.which("git")) is None:
        raise TensorcopyError("git is missing", got="no git on the PATH", allowed="git, any recent version", next="apt install git")
    return subprocess.run([program, *arguments], capture_output=True, check=False)
