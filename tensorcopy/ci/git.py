"""git: which commits there are, what lies in them, and a branch with new files. The repository is the current folder's."""

from __future__ import annotations

import io
import shutil
import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path

from tensorcopy.errors import TensorcopyError

NONE_THERE = 2  # what git ls-remote --exit-code exits with
COMPLETE = "exported"  # a file in an exported folder, written last

# how git gets the workflow's token: not from its arguments, which everybody can read
TOKEN = ("-c", "credential.helper=", "-c", 'credential.helper=!f() { echo username=x-access-token; echo "password=$GITHUB_TOKEN"; }; f')


def commit(name: str) -> str:
    """The full SHA of a commit. Raises TensorcopyError where git knows none of that name."""
    return _said("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}", wanted=f"the commit {name}").strip()


def fork_point(base: str, head: str) -> str:
    """The SHA that `head` left `base` at. Raises TensorcopyError where they have nothing in common, as in a shallow clone."""
    return _said("merge-base", base, head, wanted=f"what {base[:8]} and {head[:8]} have in common").strip()


def changed(base: str, head: str) -> list[str]:
    """The files that differ between two commits."""
    return _said("diff", "--name-only", "-z", "--no-renames", base, head, wanted="the difference").split("\0")[:-1]


def at_origin(branch: str) -> str:
    """The SHA of a branch at the origin, fetched; "" where there is none. Raises TensorcopyError where it cannot be asked."""
    there = _run(*TOKEN, "ls-remote", "--exit-code", "--heads", "origin", f"refs/heads/{branch}")
    if there.returncode == NONE_THERE:
        return ""
    if there.returncode != 0:
        raise _failed(f"what its origin has of the branch {branch}", there)
    _said(*TOKEN, "fetch", "-q", "origin", f"refs/heads/{branch}", wanted=f"the branch {branch} of its origin")
    return commit("FETCH_HEAD")


def export(sha: str, folder: Path, *, only: str = ".", without: Sequence[str] = ()) -> None:
    """The files of a commit in a folder of their own, which is no repository; not again where they are there."""
    if (folder / COMPLETE).exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    packed = _run("archive", "--format=tar", sha, "--", only, *(f":(exclude){name}" for name in without))
    if packed.returncode != 0:
        raise _failed(f"the files of {sha[:8]}", packed)
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(folder, filter="data")
    (folder / COMPLETE).touch()


def publish(branch: str, message: str, paths: Sequence[str]) -> bool:
    """Commit what changed in `paths` on a branch of that name, begun anew at the present commit, and push it; whether anything changed.

    Raises TensorcopyError where git does not.
    """
    _said("add", "--", *paths, wanted="the changed files")
    if _run("diff", "--cached", "--quiet").returncode == 0:
        return False
    _said("checkout", "-q", "-B", branch, wanted=f"the branch {branch}")
    author = ("-c", "user.name=tensorcopy", "-c", "user.email=tensorcopy@users.noreply.github.com")
    _said(*author, "commit", "-q", "-m", message, wanted="a commit")
    _said(*TOKEN, "push", "-q", "--force", "origin", f"HEAD:refs/heads/{branch}", wanted=f"the branch {branch} at its origin")
    return True


def _said(*arguments: str, wanted: str) -> str:
    done = _run(*arguments)
    if done.returncode != 0:
        raise _failed(wanted, done)
    return done.stdout.decode()


def _run(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    program = shutil.which("git")
    if program is None:
        raise TensorcopyError(
            "the program git is missing", got="nothing on the PATH", allowed="git, any recent version", next="apt install git"
        )
    return subprocess.run([program, *arguments], capture_output=True, check=False)


def _failed(wanted: str, done: subprocess.CompletedProcess[bytes]) -> TensorcopyError:
    said = done.stderr.decode().strip().splitlines()
    return TensorcopyError(
        f"git does not give {wanted}",
        got=said[-1] if said else "nothing",
        allowed="commits of this repository, with their history",
        next="git fetch --unshallow, or look at the names",
    )
