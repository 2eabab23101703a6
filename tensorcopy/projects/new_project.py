"""Write the files of a new project into a folder, and keep those that are there."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import distribution
from pathlib import Path
from string import Template
from urllib.parse import urlsplit
from urllib.request import url2pathname

from tensorcopy import __version__, campaign, configuration, files
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import git, sides
from tensorcopy.projects import asv_suite
from tensorcopy.releases import environments, release_table, uv
from tensorcopy.releases.interpreters import CHECKOUT, FILE, IS_CHECKOUT, PACKAGE

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
    found = asv_suite.find((folder / suites).resolve(), folder) if suites else asv_suite.Proposal(folder / SUITES)
    name = name or found.name or campaign.default_name(folder)
    head = {"name": name, "title": title or campaign.default_title(name), "requires": [*found.requires]}
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in head.items()]
    here = [python for python in environments.known_pythons() if uv.find_python(python)]
    of_reference = release_table.load().find(sides.REFERENCE).runs_on  # those first that have a wheel of it
    values = {
        "HEAD": "\n".join(lines),
        "SUITES": json.dumps(Path(os.path.relpath(found.folder, folder)).as_posix()),
        "NAME": name,
        "PYTHONS": json.dumps(sorted(here, key=of_reference, reverse=True)),
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
    project.notes += found.notes
    if made.suites and (missing := asv_suite.missing(made.suites, made.requires, folder)):
        project.notes.append(f"The suite imports {', '.join(missing)}: add to requires in {FILE} what they are called by pip")


def add_workflows(project: NewProject) -> None:
    """Write the workflows of a project, and what they install, where GitHub reads them: at the top of the repository.

    They are those of tensorcopy's own repository, with the project's folder, branch, Pythons and packages, which are installed with the
    hashes that this tensorcopy was tested with, also those that build it.

    Raises TensorcopyError for a folder that they cannot name, and for a tensorcopy that only this machine has.
    """
    folder, source = project.folder, installed_from()
    top = next((parent for parent in (folder, *folder.parents) if (parent / ".git").exists()), folder)
    below, branch, github = folder.relative_to(top).as_posix(), git.default_branch(), os.path.relpath(top / ".github", folder)
    if not re.fullmatch(r"[\w./-]+", below, re.ASCII):
        allowed = "ASCII letters, digits and . _ - in names of folders, which GitHub reads in paths, patterns and commands"
        raise TensorcopyError("workflows cannot name this folder", got=below, allowed=allowed, next="rename it")
    copied, build = {RUNNERS: RUNNERS, LOCKED: "requirements.txt"}, "--no-build"
    if "git+" in source:
        copied[BUILD_LOCKED] = "build-requirements.txt"
        build = f'--only-binary ":all:" --no-binary tensorcopy --build-constraints {github}/{BUILD_LOCKED}'
    ours = CHECKOUT / ".github" if IS_CHECKOUT else PACKAGE / "projects"
    texts = {f"{github}/{name}": (ours / file).read_text(encoding="utf-8") for name, file in copied.items()}
    place = "" if below == "." else f"{below}/"
    replaced = {
        "branches: [main]": f"branches: [{json.dumps(branch)}]",
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
        text = OF_TENSORCOPY.sub("", (ours / "workflows" / f"{each}.yml").read_text(encoding="utf-8"))
        for of_ours, theirs in replaced.items():
            text = text.replace(of_ours, theirs)
        texts[f"{github}/workflows/{each}.yml"] = text
    project.write(texts)
    project.notes.append(f"The workflows are for the branch {branch}, which is this repository's default here.")


def installed_from() -> str:
    """Return the requirement of the running tensorcopy, as its installer noted it (PEP 610), or git in a checkout.

    Raises TensorcopyError for one that only this machine has.
    """
    noted = json.loads(distribution("tensorcopy").read_text("direct_url.json") or "{}")
    if not noted:
        return f"tensorcopy=={__version__}"
    url, sha = str(noted["url"]), noted.get("vcs_info", {}).get("commit_id", "")
    if not url.startswith("file:"):
        return f"tensorcopy @ {f'git+{configuration.web_address(url)}@{sha}' if sha else re.sub('//[^/]*@', '//', url)}"
    path = url2pathname(urlsplit(url).path)
    sha = sha or git.printed("-C", path, "rev-parse", "HEAD")
    remote = configuration.web_address(git.printed("-C", path, "config", "--get", "remote.origin.url"))
    if remote and git.printed("-C", path, "branch", "--remotes", "--contains", sha):
        return f"tensorcopy @ git+{remote}@{sha}"
    what, allowed = "no workflow can install this tensorcopy", "one from a package index, or a commit at a git remote"
    raise TensorcopyError(what, got=path, allowed=allowed, next="git push in its checkout, and install that commit")
