"""Write the files of a new project into a folder, and keep those that are there."""

from __future__ import annotations

import json
from pathlib import Path

from tensorcopy import __version__
from tensorcopy.errors import TensorcopyError
from tensorcopy.results import writing
from tensorcopy.worker import declarations
from tensorcopy.worker.declarations import FILE, Project

FILES = Path(__file__).parent / "project_files"
CONFIGURATION = "asv.conf.json"
EXAMPLE, OPERATIONS = "operations.txt", "operations.py"  # the example's module, and where it is written
PLACES = {
    CONFIGURATION: CONFIGURATION,
    "README.md": "README.md",
    "gitignore": ".gitignore",
    "measure.yml": ".github/workflows/measure.yml",
    "pull-request.yml": ".github/workflows/pull-request.yml",
    "comment.yml": ".github/workflows/comment.yml",
}  # of each file in FILES, where it is written


def new_project(folder: Path, name: str = "", title: str = "", suites: str = "") -> tuple[Project, list[str]]:
    """Write the missing files of a project, and return it with the paths that were written.

    name, title : of the project; "" for those that follow from the folder
    suites : the folder of an asv suite, relative to the project; "" for none

    A tensorcopy.toml that is there is used as it is. Without one, a suite or an installed package that declares operations, an
    example of an operation is written. Raises TensorcopyError for a folder with another configuration of asv.
    """
    if (folder / CONFIGURATION).exists():
        raise TensorcopyError(
            f"this folder has an {CONFIGURATION} already",
            got=str(folder.name),
            allowed="a folder without one",
            next="tensorcopy init in a new folder; its --suites ../benchmarks measures this folder's suite",
        )
    texts = {}
    if not (folder / FILE).exists():
        name = name or declarations.default_name(folder)
        title = (title or declarations.default_title(name)).replace("\\", "\\\\").replace('"', '\\"')
        head, packages = _filled("project.toml", NAME=name, TITLE=title), declarations.declaring_packages()
        if packages:
            head += f"requires = {json.dumps(packages)}  # it declares operations\n"
        if suites:
            texts = {FILE: head + _filled("suites.toml", SUITES=Path(suites).as_posix())}
        else:
            texts = {FILE: head} if packages else {FILE: head + _filled("operation.toml"), OPERATIONS: _filled(EXAMPLE)}
    elif name or title or suites:
        raise TensorcopyError(
            f"{FILE} is there already", got="--name, --title or --suites", allowed="a folder without it", next=f"write them into {FILE}"
        )
    written = _write(folder, texts)
    try:
        made = declarations.project_in(folder)
    except TensorcopyError:
        for place in written:
            (folder / place).unlink()
        raise
    if made is None:
        raise TensorcopyError(f"{FILE} declares no project", got="no [project]", allowed="[project] with name", next=f"add it to {FILE}")
    values = {"NAME": made.name, "TITLE": made.title, "VERSION": __version__}
    others = {place: _filled(name, **values) for name, place in PLACES.items()}
    return made, [*written, *_write(folder, others)]


def is_below_repository(folder: Path) -> bool:
    """Return whether a folder is in a repository, and not its top: GitHub does not read the workflows there."""
    return not (folder / ".git").exists() and any((parent / ".git").exists() for parent in folder.parents)


def _filled(file: str, **values: str) -> str:
    text = (FILES / file).read_text(encoding="utf-8")
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text


def _write(folder: Path, texts: dict[str, str]) -> list[str]:
    """Write the files that are missing, and return their paths."""
    missing = {place: text for place, text in texts.items() if not (folder / place).exists()}
    for place, text in missing.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        writing.replace(folder / place, text)
    return list(missing)
