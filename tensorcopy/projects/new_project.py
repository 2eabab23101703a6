"""Write the files of a new project into a folder, and keep those that are there."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tensorcopy import campaign, configuration, files
from tensorcopy.campaign import Campaign
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import git
from tensorcopy.projects import asv_suite, installation
from tensorcopy.projects.asv_suite import AsvSuite
from tensorcopy.projects.installation import Origin
from tensorcopy.releases.interpreters import FILE

FILES = Path(__file__).parent / "project_files"
EXAMPLE, SUITES = "benchmark.txt", "benchmarks"  # the example of a suite, and the folder in which it is written
PLACES = {
    configuration.FILE: configuration.FILE,
    "README.md": "README.md",
    "gitignore": ".gitignore",
}  # of each of FILES, where it is written
WORKFLOWS = ("measure.yml", "pages.yml", "pull-request.yml", "comment.yml")
OF_GITHUB = ("pull-request-gpu.yml", "releases.yml")  # workflows that are asked for
RUNNERS = "runners.toml"
LOCKED, BUILD_LOCKED = ".github/tensorcopy-requirements.txt", ".github/tensorcopy-build-requirements.txt"
WORKING_DIRECTORY = re.compile(r"^    working-directory: (.*)$", re.MULTILINE)  # of all jobs of a workflow
PYTHONS = ("3.11", "3.9")  # which have wheels of every release


@dataclass(frozen=True)
class NewProject:
    """What was written.

    written : the paths, relative to its folder
    kept : of files that were there, and differ from what would have been written
    of_asv : the configuration of the suite that it measures; None without one, and where what it says is written already
    warnings : about files that have no effect where they are, or that git ignores
    """

    campaign: Campaign
    written: list[str]
    kept: list[str]
    of_asv: AsvSuite | None
    warnings: tuple[TensorcopyError, ...]


def new_project(
    folder: Path, name: str = "", title: str = "", suites: str = "", origin: Origin | None = None, *, github: bool = False
) -> NewProject:
    """Write the missing files of a project, and return it with the paths that were written.

    name, title : of the project; "" for those that follow from the suite or the folder
    suites : the folder of an asv suite, or of its asv.conf.json, relative to the project; "" for none
    origin : of the tensorcopy that workflows install; None leaves workflows out
    github : whether to write those for GPU runners and new releases too, also into a project that exists

    A tensorcopy.toml that is there is used as it is. Without one and without a suite, an example of a suite is written. Raises
    TensorcopyError for a folder with another configuration of asv.
    """
    if (folder / configuration.FILE).exists() and not (github and (folder / FILE).exists()):
        of_suite = "mkdir over-torch, cd over-torch, and tensorcopy init --suites .., which measures this folder's suite"
        raise TensorcopyError(
            f"this folder has an {configuration.FILE} already",
            got=str(folder.name),
            allowed="a folder without one",
            next="tensorcopy measure, or tensorcopy init --github to add workflows" if (folder / FILE).exists() else of_suite,
        )
    texts, of_asv = {}, None
    is_new = not (folder / FILE).exists()
    if is_new:
        if suites:
            suites = os.path.relpath(asv_suite.benchmarks(folder / suites), folder)
        of_asv = asv_suite.find((folder / suites).resolve(), folder) if suites else None
        name = name or (of_asv.name if of_asv else "") or campaign.default_name(folder)
        title = (title or campaign.default_title(name)).replace("\\", "\\\\").replace('"', '\\"')
        head = _filled("project.toml", NAME=name, TITLE=title)
        if of_asv and of_asv.requires:
            head += f"requires = {json.dumps(of_asv.requires)}  # as {of_asv.path} says\n"
        texts = {FILE: head + _filled("suites.toml", SUITES=Path(suites or SUITES).as_posix())}
        if not suites:
            texts |= {f"{SUITES}/__init__.py": "", f"{SUITES}/norms.py": _filled(EXAMPLE)}
    elif name or title or suites:
        raise TensorcopyError(
            f"{FILE} is there already", got="--name, --title or --suites", allowed="a folder without it", next=f"write them into {FILE}"
        )
    written, kept = _write(folder, texts)
    try:
        made = campaign.read(folder)
    except TensorcopyError:
        for place in written:
            (folder / place).unlink()
        raise
    if made.suites and not is_new:
        of_asv = asv_suite.find(made.suites, folder)  # what the files were written from: unedited ones are equal to it
    pythons = of_asv.pythons if of_asv and of_asv.pythons else PYTHONS
    values = {"NAME": made.name, "TITLE": made.title, "PYTHONS": json.dumps(pythons), "SOURCE": of_asv.source if of_asv else ""}
    values["INSTALL"] = origin.requirement("dashboard", _wheels(folder)) if origin else "tensorcopy[dashboard]"
    for more, others in (
        _write(folder, {place: _filled(file, **values) for file, place in PLACES.items()}),
        _write_workflows(folder, origin, values["INSTALL"], github=github) if origin else ([], []),
    ):
        written, kept = [*written, *more], [*kept, *others]
    warnings = [] if origin is None or _repository(folder) else [_unread(folder)]
    if origin and (of_others := _of_others(folder, kept)):
        warnings.append(of_others)
    if ignored := git.printed("-C", str(folder), "check-ignore", "--", *written).splitlines():
        warnings.append(_ignored(ignored))
    return NewProject(made, written, kept, of_asv if is_new else None, tuple(warnings))


def _write_workflows(folder: Path, origin: Origin, install: str, *, github: bool) -> tuple[list[str], list[str]]:
    """Write the workflows, and what they install, where GitHub reads them: at the top of the repository.

    A job that may write installs the packages with the hashes that this tensorcopy was tested with, also those that build it.
    """
    top, pythons = _top(folder), configuration.read(folder / configuration.FILE, dict).get("pythons", PYTHONS)
    below = folder.relative_to(top).as_posix()
    locked, build_locked = (os.path.relpath(top / place, folder) for place in (LOCKED, BUILD_LOCKED))
    values = {
        "INSTALL": install,
        "INSTALL_TO_WRITE": f'{origin.options(build_locked)} "{origin.requirement("dashboard,github", _wheels(folder))}"',
        "LOCKED": locked,
        "PYTHONS": " ".join(pythons),
        "BELOW": "" if below == "." else f"{below}/",
        "DEFAULTS": "" if below == "." else f"defaults:\n  run:\n    working-directory: {below}\n\n",
    }
    workflows = os.path.relpath(top / ".github/workflows", folder)
    texts = {f"{workflows}/{file}": _filled(file, **values) for file in (*WORKFLOWS, *(OF_GITHUB if github else ()))}
    texts[locked] = installation.locked(installation.PROGRAM)
    if origin.is_built:
        texts[build_locked] = installation.locked(installation.BUILD)
    written, kept = _write(folder, texts | ({f".github/{RUNNERS}": _filled(RUNNERS)} if github else {}))
    place = f"{_wheels(folder)}/{origin.wheel.name}" if origin.wheel else ""
    if origin.wheel and (folder / place).resolve() != origin.wheel.resolve():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(origin.wheel, folder / place)
        written.append(place)
    return written, kept


def _repository(folder: Path) -> Path | None:
    """Return the top folder of the repository that a folder is in; None where it is in none."""
    return next((parent for parent in (folder, *folder.parents) if (parent / ".git").exists()), None)


def _top(folder: Path) -> Path:
    """Return the folder whose .github GitHub reads: the top of the repository, or where there is none yet, the folder itself."""
    return _repository(folder) or folder


def _unread(folder: Path) -> TensorcopyError:
    """Return the warning of workflows in a folder that is in no repository."""
    return TensorcopyError(
        "no git repository has this folder yet, and GitHub reads workflows at the top of one only",
        got=f"workflows in {folder.name}/.github",
        allowed=f"{folder.name} as the top of its repository",
        next="git init here; or, if the top is a folder above: git init there, remove .github here, and tensorcopy init --github",
    )


def _of_others(folder: Path, kept: Sequence[str]) -> TensorcopyError | None:
    """Return the warning of workflows that were there and run in another folder; None without one."""
    below = folder.relative_to(_top(folder)).as_posix()
    texts = {place: (folder / place).read_text(encoding="utf-8", errors="replace") for place in kept if place.endswith(".yml")}
    folders = {place: match[1] if (match := WORKING_DIRECTORY.search(text)) else "." for place, text in texts.items()}
    places = [place for place, runs_in in folders.items() if runs_in != below]
    if not places:
        return None
    return TensorcopyError(
        "GitHub does not measure this project: workflows of these names are there, and run in another folder of the repository",
        got=", ".join(places),
        allowed="one project of tensorcopy in a repository, which has one site at GitHub Pages",
        next="tensorcopy init --github in a repository with this project alone, or without workflows: tensorcopy measure",
    )


def _ignored(places: Sequence[str]) -> TensorcopyError:
    """Return the warning of files that a .gitignore excludes, without which a clone lacks them."""
    return TensorcopyError(
        "git ignores files of the project",
        got=", ".join(places),
        allowed="files that a commit can have, with which workflows find them",
        next=f"git add --force {shlex.join(places)}",
    )


def _wheels(folder: Path) -> str:
    path = os.path.relpath(_top(folder) / ".github/wheels", folder)
    return path if path.startswith(".") else f"./{path}"


def _filled(file: str, **values: str) -> str:
    text = (FILES / file).read_text(encoding="utf-8")
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text


def _write(folder: Path, texts: dict[str, str]) -> tuple[list[str], list[str]]:
    """Write the files that are missing, and return their paths, and those of files that are there with another content."""
    missing = {place: text for place, text in texts.items() if not (folder / place).exists()}
    for place, text in missing.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        files.replace(folder / place, text)
    return list(missing), [place for place, text in texts.items() if place not in missing and not _is(folder / place, text)]


def _is(path: Path, text: str) -> bool:
    """Return whether a file has this text; what cannot be read has another."""
    try:
        return files.read_text(path) == text
    except (OSError, ValueError):
        return False
