"""Write the files of a new project into a folder, and keep those that are there."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import Template

from tensorcopy import campaign, configuration, files
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import git, sides
from tensorcopy.projects import asv_suite
from tensorcopy.projects.asv_suite import Proposal
from tensorcopy.releases import environments, release_table, uv
from tensorcopy.releases.interpreters import CHECKOUT, FILE, PACKAGE, is_checkout

FILES = Path(__file__).parent / "project_files"
SUITES = "benchmarks"  # the folder in which an example is written
WORKFLOWS = ("measure", "pages", "pull-request", "pull-request-gpu", "releases")
# in .github: what tensorcopy imports, and what builds it, with hashes
RUNNERS, LOCKED, BUILD_LOCKED = "runners.toml", "tensorcopy-requirements.txt", "tensorcopy-build-requirements.txt"
OF_TENSORCOPY = re.compile(r" *# tensorcopy alone.*?# end\n", re.DOTALL)  # what only its own workflows do


@dataclass
class NewProject:
    """A folder in which a project begins: what was written, and what a user has to know."""

    folder: Path
    written: list[str] = field(default_factory=list)  # paths, relative to the folder
    kept: list[str] = field(default_factory=list)  # of files that were there, and differ from what would have been written
    notes: list[str] = field(default_factory=list)

    def write(self, texts: Mapping[str, str]) -> None:
        """Write the files that are missing; texts : by their paths."""
        for place, text in texts.items():
            path = self.folder / place
            if not path.exists():
                files.replace(path, text)
                self.written.append(place)
            elif path.read_bytes() != text.encode():
                self.kept.append(place)


def begin(project: NewProject, *, name: str = "", title: str = "", suites: str = "") -> None:
    """Write a project into its folder: of a suite that is there, or of an example.

    name, title : of the project; "" for those that follow from the suite or the folder
    suites : the folder of an asv suite, or of its asv.conf.json, relative to the project; "" for none

    Raises TensorcopyError for a folder with a configuration of asv, or with a project, and for what a project cannot have.
    """
    folder = project.folder
    if there := [file for file in (FILE, configuration.FILE) if (folder / file).exists()]:
        following = "in a project tensorcopy measure; for asv's suite mkdir over-torch, cd over-torch, and tensorcopy init --suites .."
        raise TensorcopyError(f"this folder has {there[0]} already", got=folder.name, allowed="a folder without one", next=following)
    place = (folder / (suites or SUITES)).resolve()
    found = asv_suite.find(place, folder) if suites else Proposal(place)
    of_suite = found.suite.project if campaign.PROJECT_NAME.fullmatch(found.suite.project) else ""
    name = name or of_suite or campaign.default_name(folder)
    head = {"name": name, "title": title or campaign.default_title(name), **({"requires": found.requires} if found.requires else {})}
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in head.items()]
    here = [python for python in environments.known_pythons() if uv.find_python(python)]
    named = [each for each in here if each in found.suite.pythons] or here
    of_reference = release_table.load().find(sides.REFERENCE).runs_on  # those first that have a wheel of it
    values = {
        "HEAD": "\n".join(lines),
        "SUITES": json.dumps(Path(os.path.relpath(found.folder, folder)).as_posix()),
        "NAME": name,
        "PYTHONS": json.dumps(sorted(named, key=of_reference, reverse=True)),
    }
    written_as = {FILE: FILE, configuration.FILE: configuration.FILE, ".gitignore": "gitignore"}
    written_as |= {} if suites else {f"{SUITES}/__init__.py": "empty.txt", f"{SUITES}/norms.py": "benchmark.txt"}
    project.write({path: Template((FILES / file).read_text(encoding="utf-8")).substitute(values) for path, file in written_as.items()})
    try:
        made = campaign.read(folder)
    except TensorcopyError:
        for each in project.written:
            (folder / each).unlink()
        raise
    project.notes += [f"From {os.path.relpath(found.path, folder)}: requires = {json.dumps(found.requires)}"] if found.path else []
    project.notes += [f"Not used of it: {'; '.join(found.ignored)}"] if found.ignored else []
    if made.suites and (missing := asv_suite.missing(made.suites, made.requires, folder)):
        project.notes.append(f"The suite imports {', '.join(missing)}: add to requires in {FILE} what they are called by pip")


def add_workflows(project: NewProject, source: str | Path) -> None:
    """Write the workflows of a project, and what they install, where GitHub reads them: at the top of the repository.

    They are those of tensorcopy's own repository, with the project's folder, branch, Pythons and packages, which are installed with the
    hashes that this tensorcopy was tested with, also those that build it.

    source : a requirement of tensorcopy, or its wheel

    Raises TensorcopyError where GitHub would read none, or not as they are written.
    """
    folder = project.folder
    top = next((parent for parent in (folder, *folder.parents) if (parent / ".git").exists()), None)
    if top is None:
        following = "git init in the folder that will be the top of the repository, then tensorcopy init --github"
        raise TensorcopyError("workflows have no place", got="no git repository", allowed="a folder in one", next=following)
    below, branch, github = folder.relative_to(top).as_posix(), git.default_branch(), os.path.relpath(top / ".github", folder)
    if not re.fullmatch(r"[\w./-]+", below, re.ASCII):
        allowed = "ASCII letters, digits and . _ - in names of folders, which GitHub reads in paths, patterns and commands"
        raise TensorcopyError("workflows cannot name this folder", got=below, allowed=allowed, next="rename it")
    texts = {f"{github}/{RUNNERS}": _of_repository(RUNNERS), f"{github}/{LOCKED}": _of_repository("requirements.txt")}
    build = "--no-build"
    if isinstance(source, Path):
        wheel = source
        source = f"./{github}/{wheel.name}"
        if not (folder / source).exists():
            (top / ".github").mkdir(exist_ok=True)
            shutil.copyfile(wheel, folder / source)
            project.written.append(source)
    elif "git+" in source:
        texts[f"{github}/{BUILD_LOCKED}"] = _of_repository("build-requirements.txt")
        build = f'--only-binary ":all:" --no-binary tensorcopy --build-constraints {github}/{BUILD_LOCKED}'
    place = "" if below == "." else f"{below}/"
    pattern = re.sub(r"([+!\]])", r"\\\1", branch)  # signs of GitHub's patterns
    replaced = {
        "branches: [main]": f"branches: [{json.dumps(pattern)}]",
        "default: main": f"default: {json.dumps(branch)}",
        "\njobs:": f"\ndefaults:\n  run:\n    working-directory: {json.dumps(below)}\n\njobs:" if place else "\njobs:",
        " .github/requirements.txt\n": f' {github}/{LOCKED}\n      - run: uv pip install --no-deps {build} "{source}"\n',
        "python -m tensorcopy": "tensorcopy",
        "python install 3.9 3.11": f"python install {' '.join(configuration.paths().pythons)}",
        "tensorcopy/releases.toml": f"{place}releases.toml",
        "./tensorcopy/": f"./{place}",
        "paths: results,README.md,docs": f"paths: {place}results",
        **{f" path: {each}\n": f" path: {place}{each}\n" for each in ("results", "measured", "site")},
    }
    for each in WORKFLOWS:
        text = OF_TENSORCOPY.sub("", _of_repository(f"workflows/{each}.yml"))
        for ours, theirs in replaced.items():
            text = text.replace(ours, theirs)
        texts[f"{github}/workflows/{each}.yml"] = text
    project.write(texts)
    project.notes.append(f"The workflows are for the branch {branch}, which is this repository's default here.")


def _of_repository(name: str) -> str:
    """Return the content of a file in .github of tensorcopy's own repository."""
    folder = CHECKOUT / ".github" if is_checkout() else PACKAGE / "projects"
    return (folder / name).read_text(encoding="utf-8")
