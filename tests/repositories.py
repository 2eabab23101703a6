"""Repositories of git that tests make, and workflows in them."""

import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

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


_load = lru_cache(yaml.load)


def workflow(path: Path) -> Any:
    """Return a workflow of GitHub, in which `on` is True. No test changes it."""
    return _load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
