"""What runs: a torch release in an environment that uv installs, or an interpreter's own torch, perhaps with the files of a git commit.

A commit of tensorcopy is timed with its own registry. A commit of a project is timed by this tensorcopy: what differs is the project and
its package. Files and launches of commits lie beside the environments, never in the published results.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tensorcopy import campaign as campaigns
from tensorcopy import files
from tensorcopy.campaign import Campaign
from tensorcopy.configuration import Paths
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import git
from tensorcopy.measure.process import Process, Program, started
from tensorcopy.releases import environments, interpreters, release_table, uv
from tensorcopy.releases.interpreters import FILE
from tensorcopy.releases.release_table import Release, ReleaseIndex, minor
from tensorcopy.results.launches import OF_INTERPRETER, Place
from tensorcopy.worker.devices import WHEELS
from tensorcopy.worker.nvidia import BINDINGS, Gpu
from tensorcopy.worker.packages import REQUIREMENTS

REFERENCE = "2.8.0"  # it has wheels for Python 3.9 to 3.13, and kernels for GPUs from sm_70 to sm_120
NEIGHBOURS = 2  # older releases that are measured again beside a new one
NEW = "NEW"  # the releases that are newer than any that this machine has measured, and their neighbours
TABLE = "tensorcopy/releases.toml"
LONGEST_PROBE = 660.0  # seconds: the probe ends itself after ten minutes


@dataclass(frozen=True)
class Revision:
    """The files of a git commit."""

    commit: str  # its SHA
    name: str = field(compare=False)  # as it is printed, such as "head 1234abcd"
    folder: Path = field(compare=False)  # its files, of a project the part of them that is the project's
    suites_from: Path = field(compare=False)  # the files of the commit whose suites are run


@dataclass(frozen=True)
class Side:
    """A release to measure, on a Python or in an interpreter that has its torch, perhaps with the files of a commit."""

    release: Release
    python: str  # such as "3.11"
    wheel: str  # its kind, such as "cuda"
    interpreter: str = ""  # "same", a program or a path; "" where uv installs the release
    revision: Revision | None = None

    def __str__(self) -> str:
        of_commit = f"{self.revision.name} with " if self.revision else ""
        return f"{of_commit}torch {self.release.version} on Python {self.python}"

    @property
    def environment(self) -> str:
        """The environment's name in results."""
        return f"{environments.name(self.python, self.wheel)}{OF_INTERPRETER if self.interpreter else ''}"

    @property
    def place(self) -> Place:
        """What tells it from other sides of a launch."""
        return self.release.sha, self.environment, self.revision.commit if self.revision else ""

    def campaign(self, own: Campaign) -> Campaign:
        """Return the campaign that it runs; own : that of the checkout."""
        return of_folder(self.revision.folder, own) if self.revision else own

    def path(self, own: Campaign, paths: Paths) -> Path:
        """Return the folder of its environment: that of the checkout, unless its commit needs other packages."""
        folder = paths.environments
        if self.revision and not own.is_shipped and _packages(self.revision.folder, own) != own.requirements():
            folder = self.revision.folder / ".asv" / "env"
        return environments.path_of(folder, self.release, self.python, self.wheel)

    def is_installed(self, own: Campaign, paths: Paths) -> bool:
        """Return whether it can be measured without an installation."""
        return bool(self.interpreter) or environments.is_complete(self.path(own, paths))


@dataclass(frozen=True)
class Opened:
    """A side that can be measured, and what its process has told."""

    program: Program
    report: Mapping[str, Any]  # of the probe worker.provenance: "provenance", "torch_folder", "methods", "article"
    suites: Sequence[Mapping[str, Any]]  # as asv describes them
    broken: Mapping[str, str]  # why modules and benchmarks cannot be made


def opened(side: Side, own: Campaign, paths: Paths, needs: str = "") -> Opened:
    """Return a side that can be measured, installed unless it is, and checked against the table of releases.

    needs : the device that its torch must be able to use; "" for none

    Raises TensorcopyError, and OSError.
    """
    campaign, revision = side.campaign(own), side.revision
    folder = side.path(own, paths).parent
    folders = [interpreters.package_folder(paths.environments)]
    suites_from = of_folder(revision.suites_from, own) if revision else own
    suites = suites_from.suites if suites_from.suites else _none(campaign)
    if side.interpreter:
        folders.append(interpreters.runner_folder(paths.environments))
        python, bytecode = interpreters.executable(side.interpreter), dict[str, str]()
    else:
        python = environments.install(folder, side.release, side.python, side.wheel, campaign)
        bytecode = environments.bytecode_in(python.parent.parent)
    if revision and own.is_shipped:
        folders, suites = [revision.folder, *folders], revision.suites_from / "benchmarks"  # its own tensorcopy first
    required = {REQUIREMENTS: json.dumps(packages)} if (packages := campaign.measured_packages()) else {}
    variables = {**environments.STEADY, **campaign.steady(), **os.environ, **bytecode, **required}
    # as a file: Python would compile a link to it in each process anew, and a folder that holds it holds more
    variables |= {BINDINGS: str(interpreters.file_of("pynvml"))}
    variables |= dict.fromkeys(interpreters.SEARCH_PATHS, interpreters.search_path(folders, python))
    program = Program(side.place, python, suites, variables, specs=campaign.specs)
    with started([program], draws_pages=False) as (process,):
        report = _probed(process, side, "tensorcopy.worker.provenance", *campaign.observers)
        provenance = dict(report["provenance"])
        if side.interpreter:
            provenance["asv_runner"] = environments.runner()
        else:
            environments.verify(provenance, side.release, side.python, side.wheel, campaign, python.parent.parent)
        if needs not in ("", "cpu", *provenance["accelerators"]):
            _probed(process, side, "tensorcopy.worker.devices", needs)  # raises the reason
        program = replace(program, torch=Path(report["torch_folder"]), provenance=provenance)
        return Opened(program, report, process.suites, process.broken)


def _probed(process: Process, side: Side, module: str, *arguments: str) -> Mapping[str, Any]:
    """Return what the `main` of a module says in a side's process. Raises TensorcopyError."""
    answer = process.ask(LONGEST_PROBE, probe=module, arguments=arguments)
    process.end_fork()
    if answer.probe is None:
        following = f"{process.program.python} -c 'import torch, numpy' shows whether they work"
        raise TensorcopyError(f"{side} cannot be measured", got=str(answer.failed), allowed="torch and numpy that work", next=following)
    if "error" in answer.probe:
        raise TensorcopyError.of_document(answer.probe["error"])
    return answer.probe


def _none(campaign: Campaign) -> Path:
    raise TensorcopyError(
        "this project has nothing to measure",
        got=f"{FILE} without a suite",
        allowed='[suites] with path = "benchmarks"',
        next=interpreters.GUIDE,
    )


def choose(
    texts: Sequence[str], campaign: Campaign, pythons: Sequence[str], measured: Collection[str] = ()
) -> tuple[list[Side], list[str]]:
    """Return the sides that texts mean, such as "2.10..", "..2.0.1@3.9" or "NEW", and why others are skipped; all releases without any.

    pythons : in order of preference, for texts without @PYTHON
    measured : SHAs of the releases that this machine has results of, for "NEW"

    Raises TensorcopyError for a wrong text, and where this machine can install none of the releases.
    """
    sides, skipped = dict[Side, None](), list[TensorcopyError]()
    for text in texts or [".."]:
        range_text, at, python = text.partition("@")
        releases = new(campaign.releases, measured) if range_text == NEW else campaign.releases.select(range_text)
        if at and not re.fullmatch(r"3\.\d+", python):
            following = f"{range_text}@{python_for(releases[-1], pythons)}"
            raise TensorcopyError("unknown Python", got=repr(text), allowed="RANGE@3.9", next=following)
        for release in releases:
            try:
                sides[of_release(release, [python] if python else pythons)] = None
            except TensorcopyError as error:
                skipped.append(error)
    if not sides:
        raise skipped[0]
    return [*sides], [f"{each.what}: {each.got}" for each in skipped]


def of_release(release: Release, pythons: Sequence[str]) -> Side:
    """Return the side of a release on the first of these Pythons that is here and has its wheel. Raises TensorcopyError."""
    if reason := environments.why_not(release, pythons):
        needed = python_for(release, pythons)
        other = f"name {release.version}@{python_for(release, environments.known_pythons())}"
        raise TensorcopyError(
            f"torch {release.version} is skipped",
            got=reason,
            allowed=f"Python {release.pythons[0]} to {release.pythons[1]}",
            next=f"uv python install {needed}" if needed in pythons else other,
        )
    usable = next(python for python in pythons if release.runs_on(python) and uv.find_python(python))
    return Side(release, usable, environments.expected_build())


def new(releases: ReleaseIndex, measured: Collection[str]) -> list[Release]:
    """Return the releases that are newer than any measured one, by their SHAs, and the two before them; without any, the two newest."""
    rows = [*releases]
    newest = max((index for index, row in enumerate(rows) if row.sha in measured), default=len(rows) - 1)
    return rows[max(0, newest + 1 - NEIGHBOURS) :]


def python_for(release: Release, pythons: Sequence[str]) -> str:
    """Return the first of some Pythons that a release has a wheel for, or else the newest that it has one for."""
    return next(filter(release.runs_on, pythons), release.pythons[1])


def reference(releases: ReleaseIndex, pythons: Sequence[str]) -> Side | None:
    """Return the side of the reference release, on the newest of these Pythons that has it; None where none has."""
    newest_first = sorted(pythons, key=minor, reverse=True)
    release = releases.find(REFERENCE)
    return None if environments.why_not(release, newest_first) else of_release(release, newest_first)


def runnable(sides: Sequence[Side], gpus: Sequence[Gpu]) -> tuple[list[Side], list[str]]:
    """Return the sides that one of these GPUs can run, and why others are skipped: by their wheels, an interpreter may have another.

    gpus : the visible ones of NVIDIA. Without any, perhaps of AMD, or with `environments.BACKEND`, which selects other wheels than those
        of the table, nothing is skipped: the check before measuring names the reason

    Raises TensorcopyError where they can run none.
    """
    if not gpus or environments.backend():
        return list(sides), []
    reasons = {each: "" if each.interpreter else environments.why_no_gpu(each.release, gpus) for each in sides}
    lines = [f"torch {each.release.version} is skipped: {reason}" for each, reason in reasons.items() if reason]
    if len(lines) == len(sides):
        raise TensorcopyError(
            f"{' and '.join(dict.fromkeys(gpu.name for gpu in gpus))} can run none of these releases",
            got=lines[-1].partition(" is skipped: ")[2],
            allowed="a release whose CUDA the driver supports, with kernels for this GPU",
            next=f"name another release, install a newer driver, or set {environments.BACKEND} to an older CUDA, such as cu126",
        )
    return [each for each in sides if not reasons[each]], lines


def in_interpreters(pythons: Sequence[str], campaign: Campaign, named: Sequence[str] = ()) -> list[Side]:
    """Return the sides of interpreters' own torch.

    pythons : as asv's "-E interpreter:" takes them; "same" is the running one
    named : the releases that the user has named; all if empty

    Raises TensorcopyError for a torch that is no release of the table, for two that are alike, and for a named release that none has.
    """
    asked = [*dict.fromkeys(pythons)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        torches = [*pool.map(lambda python: interpreters.torch_of(interpreters.executable(python)), asked)]
    sides: dict[Hashable, Side] = {}
    for python, torch in zip(asked, torches):
        if not torch:
            raise TensorcopyError(
                "this interpreter has no torch", got=python, allowed="a Python with torch", next=f"uv pip install --python {python} torch"
            )
        wheel = next((kind for kind, has in zip(WHEELS, torch[3:]) if has), "cpu")
        side = Side(environments.released_as(torch[0], torch[2], campaign.releases), torch[1], wheel, python)
        if (other := sides.setdefault(side.place, side)) is not side:
            raise TensorcopyError(
                "two interpreters have the same torch",
                got=f"{side} in {other.interpreter} and {python}",
                allowed="another release, Python or kind of wheel in each",
                next="leave one of them out",
            )
    names = {name for each in sides.values() for name in (each.release.version, each.release.tag)}
    if others := [text for text in named if text not in names | {NEW}]:
        raise TensorcopyError(
            "no interpreter has this torch",
            got=", ".join(others),
            allowed=", ".join(each.release.version for each in sides.values()),
            next="leave out --interpreter to install the release",
        )
    chosen = [each for each in sides.values() if {each.release.version, each.release.tag} & {*named}]
    return chosen if chosen and NEW not in named else [*sides.values()]


def of_commits(commits: Mapping[str, str], campaign: Campaign, paths: Paths, *, version: str = "", interpreter: str = "") -> list[Side]:
    """Return commits as sides under the newest torch that all of them support and this machine can install.

    commits : SHAs by the names that are printed; of two, both run the suites of the later one
    version : of torch, "" for the newest
    interpreter : the Python whose torch is measured; "" to install one

    Raises TensorcopyError where there is no such torch.
    """
    made = {name: checked_out(commit, paths) for name, commit in commits.items()}
    if interpreter:
        needs = [_packages(folder, campaign) for folder in made.values()]
        if None not in needs and any(each != needs[0] for each in needs):
            raise TensorcopyError(
                "an interpreter cannot have the packages of two commits",
                got="requires that differ, or that name a folder",
                allowed="the same versions in both commits, such as einops==0.8",
                next="leave the interpreter out",
            )
        side = in_interpreters([interpreter], campaign, [version] if version else [])[0]
    else:
        tables = [table_of(commit, campaign, paths) for commit in commits.values()]
        common = [release for release in tables[0] if version in ("", release.version) and all(release in table for table in tables)]
        usable = [release for release in common if not environments.why_not(release, paths.pythons)]
        if not usable:
            raise TensorcopyError(
                f"{' and '.join(commits)} have no torch in common here",
                got=version or f"{len(common)} releases in the tables of all, none of which this machine can install",
                allowed="a release in all tables, and a Python with its wheel",
                next="tensorcopy history lists the releases",
            )
        side = of_release(usable[-1], paths.pythons)
    last = [*made.values()][-1]
    return [
        replace(side, revision=Revision(commits[name], name, folder, last if len(made) == 2 else folder)) for name, folder in made.items()
    ]


def with_release(side: Side, release: Release, name: str, pythons: Sequence[str]) -> Side:
    """Return the same files under another release, which perhaps only their table has. Raises TensorcopyError."""
    assert side.revision is not None
    own = replace(side.revision, name=name, suites_from=side.revision.folder)
    return replace(of_release(release, pythons), revision=own)


def of_folder(folder: Path, own: Campaign) -> Campaign:
    """Return the campaign in the files of a commit; of one before the project that of the checkout, with the packages of the commit.

    own : that of the checkout

    Raises TensorcopyError for an invalid one.
    """
    if not (own.is_shipped or files.is_there(folder / FILE)):  # commits of tensorcopy all declare one
        return replace(own, folder=folder)
    made = campaigns.read(folder, own if own.is_shipped else None)
    return replace(made, observers=own.observers, profiler=own.profiler)


def checked_out(commit: str, paths: Paths) -> Path:
    """Return the folder with the files of a commit, of a project the part of it that is the project's. Raises TensorcopyError."""
    folder = paths.environments.parent / "revisions" / commit[:12]
    git.check_out(commit, folder)
    return folder / git.prefix()


def differ(base: str, head: str, campaign: Campaign) -> bool:
    """Return whether a file that can change a time differs between two commits; the table of releases only adds some."""
    return any(name.startswith(campaign.measured) and name != TABLE for name in git.changed(base, head))


def table_of(commit: str, campaign: Campaign, paths: Paths) -> ReleaseIndex:
    """Return the table of releases of a commit; that of this tensorcopy for a project."""
    own = checked_out(commit, paths) / TABLE
    return release_table.of_tables(own) if files.is_there(own) else campaign.releases


def _packages(folder: Path, campaign: Campaign) -> list[str] | None:
    """Return what a commit's environments need beside torch; None for an invalid campaign, whose side names the error."""
    try:
        return of_folder(folder, campaign).requirements()
    except (TensorcopyError, OSError):
        return None
