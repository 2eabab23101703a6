"""Write the files of a new project into a folder, and keep those that are there."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

from tensorcopy import campaign, configuration, files
from tensorcopy.campaign import Campaign
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import git, sides
from tensorcopy.projects import asv_suite, installation
from tensorcopy.projects.installation import Origin, of_repository
from tensorcopy.releases import environments, release_table, uv
from tensorcopy.releases.interpreters import FILE

FILES = Path(__file__).parent / "project_files"
SUITES = "benchmarks"  # the folder in which an example is written
WORKFLOWS = ("measure", "pages", "pull-request", "pull-request-gpu", "releases")
RUNNERS, LOCKED, BUILD_LOCKED = "runners.toml", "tensorcopy-requirements.txt", "tensorcopy-build-requirements.txt"  # in .github
OF_TENSORCOPY = re.compile(r" *# tensorcopy alone.*?# end\n", re.DOTALL)  # what only its own workflows do


@dataclass(frozen=True)
class NewProject:
    """What was written, and what a user has to know."""

    campaign: Campaign
    written: list[str]  # paths, relative to its folder
    kept: list[str]  # of files that were there, and differ from what would have been written
    notes: list[str]


def new_project(folder: Path, *, name: str = "", title: str = "", suites: str = "", version: str = "") -> NewProject:
    """Write a project into a folder: of a suite that is there, or of an example.

    name, title : of the project; "" for those that follow from the suite or the folder
    suites : the folder of an asv suite, or of its asv.conf.json, relative to the project; "" for none
    version : the end of a requirement of this tensorcopy, as its `Origin` has it

    Raises TensorcopyError for a folder with a configuration of asv, or with a project.
    """
    for file, following in {
        FILE: "tensorcopy measure, or tensorcopy init --github to add workflows",
        configuration.FILE: "mkdir over-torch, cd over-torch, and tensorcopy init --suites .., which measures this folder's suite",
    }.items():
        if (folder / file).exists():
            raise TensorcopyError(f"this folder has {file} already", got=folder.name, allowed="a folder without one", next=following)
    place = (folder / (suites or SUITES)).resolve()
    if suites and not place.is_dir():
        following = "name the folder of a suite, or of its asv.conf.json"
        raise TensorcopyError("no such suite", got=f"--suites {suites}", allowed="a folder", next=following)
    if name and not campaign.PROJECT_NAME.fullmatch(name):
        allowed, following = "letters, digits and . _ - between letters or digits", "name another, or leave --name out"
        raise TensorcopyError("not a project's name", got=f"--name {name}", allowed=allowed, next=following)
    found = asv_suite.find(place, folder) if suites else asv_suite.Proposal()
    if found.path and place == found.path.parent and not (place / "__init__.py").exists():
        place /= found.suite.benchmark_dir
    of_suite = found.suite.project if campaign.PROJECT_NAME.fullmatch(found.suite.project) else ""
    name = name or of_suite or campaign.default_name(folder)
    title = title or campaign.default_title(name)
    head = {"name": name, "title": title, **({"requires": found.requires} if found.requires else {})}
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in head.items()]
    table = _filled(FILE, HEAD="\n".join(lines), SUITES=json.dumps(Path(os.path.relpath(place, folder)).as_posix()))
    example = {} if suites else {f"{SUITES}/__init__.py": "", f"{SUITES}/norms.py": _filled("benchmark.txt")}
    written, kept = _write(folder, {FILE: table, **example})
    try:
        made = campaign.read(folder)
    except TensorcopyError:
        for each in written:
            (folder / each).unlink()
        raise
    source = configuration.web_address(found.suite.repo) or configuration.web_address(found.suite.project_url)
    here = [python for python in environments.known_pythons() if uv.find_python(python)]
    named = [each for each in here if each in found.suite.pythons] or here
    of_reference = release_table.load().find(sides.REFERENCE).runs_on  # those first that have a wheel of it
    pythons = json.dumps(sorted(named, key=of_reference, reverse=True))
    values = {"NAME": name, "TITLE": title, "SOURCE": source, "PYTHONS": pythons, "VERSION": version}
    others = {"asv.conf.json": configuration.FILE, "README.md": "README.md", "gitignore": ".gitignore"}
    more, there = _write(folder, {written_as: _filled(file, **values) for file, written_as in others.items()})
    notes = [f"From {os.path.relpath(found.path, folder)}: requires = {json.dumps(found.requires)}"] if found.path else []
    notes += [f"Not used of it: {'; '.join(found.ignored)}"] if found.ignored else []
    if made.suites and (missing := asv_suite.missing(made.suites, made.requires, folder)):
        notes.append(f"The suite imports {', '.join(missing)}: add to requires in {FILE} what they are called by pip")
    return NewProject(made, [*written, *more], [*kept, *there], notes)


def add_workflows(folder: Path, origin: Origin) -> NewProject:
    """Write the workflows of a project, and what they install, where GitHub reads them: at the top of the repository.

    They are those of tensorcopy's own repository, with the project's folder, branch, Pythons and packages, which are installed with the
    hashes that this tensorcopy was tested with, also those that build it. Raises TensorcopyError where GitHub would read none, or not as
    they are written.
    """
    own, pythons = campaign.read(folder), configuration.paths().pythons
    top = next((parent for parent in (folder, *folder.parents) if (parent / ".git").exists()), None)
    if top is None:
        following = "git init in the folder that will be the top of the repository, then tensorcopy init --github"
        raise TensorcopyError("workflows have no place", got="no git repository", allowed="a folder in one", next=following)
    below, branch = folder.relative_to(top).as_posix(), git.default_branch()
    if not re.fullmatch(r"[\w./-]+", below, re.ASCII):
        allowed = "ASCII letters, digits and . _ - in names of folders, which GitHub reads in paths, patterns and commands"
        raise TensorcopyError("workflows cannot name this folder", got=below, allowed=allowed, next="rename it")
    github = os.path.relpath(top / ".github", folder)
    wheel = f"./{github}/wheels/{origin.wheel.name}" if origin.wheel else ""
    built = f'--only-binary ":all:" --no-binary tensorcopy --build-constraints {github}/{BUILD_LOCKED}' if origin.is_built else "--no-build"
    tensorcopy = f'{built} "{wheel or f"tensorcopy{origin.version}"}"'
    place = "" if below == "." else f"{below}/"
    pattern = re.sub(r"([+!\]])", r"\\\1", branch)  # signs of GitHub's patterns
    replaced = {
        "branches: [main]": f"branches: [{json.dumps(pattern)}]",
        "default: main": f"default: {json.dumps(branch)}",
        "\njobs:": f"\ndefaults:\n  run:\n    working-directory: {json.dumps(below)}\n\njobs:" if place else "\njobs:",
        " .github/requirements.txt\n": f" {github}/{LOCKED}\n      - run: uv pip install --no-deps {tensorcopy}\n",
        "python -m tensorcopy": "tensorcopy",
        "python install 3.9 3.11": f"python install {' '.join(pythons)}",
        "tensorcopy/releases.toml": f"{place}releases.toml",
        "./tensorcopy/": f"./{place}",
        "paths: results,README.md,docs": f"paths: {place}results",
        **{f" path: {each}\n": f" path: {place}{each}\n" for each in ("results", "measured", "site")},
    }
    texts = {f"{github}/{RUNNERS}": of_repository(RUNNERS), f"{github}/{LOCKED}": of_repository(installation.PROGRAM)}
    for each in WORKFLOWS:
        text = OF_TENSORCOPY.sub("", of_repository(f"workflows/{each}.yml"))
        for ours, theirs in replaced.items():
            text = text.replace(ours, theirs)
        texts[f"{github}/workflows/{each}.yml"] = text
    texts |= {f"{github}/{BUILD_LOCKED}": of_repository(installation.BUILD)} if origin.is_built else {}
    written, kept = _write(folder, texts)
    if origin.wheel and not (folder / wheel).exists():
        (folder / wheel).parent.mkdir(exist_ok=True)
        shutil.copyfile(origin.wheel, folder / wheel)
        written.append(wheel)
    notes = [f"The workflows are for the branch {branch}, which is this repository's default here."] if written else []
    if {*kept} - {f"{github}/{RUNNERS}"}:
        others = "What was kept serves another project, of which a repository has one, or is of another tensorcopy"
        notes.append(f"{others}: remove it and repeat tensorcopy init --github to replace it.")
    if ignored := git.printed("-C", str(folder), "check-ignore", "--", *written).splitlines():
        notes.append(f"git ignores files of the project; git add --force {shlex.join(ignored)}")
    return NewProject(own, written, kept, notes)


def _filled(file: str, **values: str) -> str:
    text = (FILES / file).read_text(encoding="utf-8")
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text


def _write(folder: Path, texts: dict[str, str]) -> tuple[list[str], list[str]]:
    """Write the files that are missing, and return their paths, and those of files that are there with another content."""
    missing = [place for place in texts if not (folder / place).exists()]
    for place in missing:
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        files.replace(folder / place, texts[place])
    there = [place for place in texts if place not in missing]
    return missing, [place for place in there if (folder / place).read_bytes() != texts[place].encode()]
