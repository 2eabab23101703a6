"""Repositories of git that tests make."""

import subprocess
from pathlib import Path

AUTHOR = ("-c", "user.name=a", "-c", "user.email=a@example.org")


def run(folder: Path, *command: str) -> str:
    return subprocess.run(["git", *command], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def sha(folder: Path, name: str = "HEAD") -> str:
    return run(folder, "rev-parse", name)


def commit_all(folder: Path, message: str) -> None:
    run(folder, "add", "--all")
    run(folder, *AUTHOR, "commit", "-qm", message)


def edit(path: Path, before: str, after: str) -> None:
    """Replace a text that occurs once in a file."""
    text = path.read_text(encoding="utf-8")
    assert text.count(before) == 1, (path, before)
    path.write_text(text.replace(before, after), encoding="utf-8")
