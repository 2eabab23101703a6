"""What runs: a torch release in an environment that uv installs, or an interpreter's own torch, perhaps with the files of a git commit.

A commit of tensorcopy is timed with its own registry. A commit of a project is timed by this tensorcopy: what differs is the project and
its package. Files and launches of commits lie beside the environments, never in the published results.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import distribution
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
        """The environment's name in results, such as "py3.11-cuda"."""
        return f"py{self.python}-{self.wheel}{OF_INTERPRETER if self.interpreter else ''}"

    @property
    def place(self) -> Place:
        """What tells it from other sides of a launch."""
        return self.release.sha, self.environment, self.revision.commit if self.revision else ""

    def path(self, own: Campaign, paths: Paths) -> Path:
        """Return the folder of its environment: that of the checkout, unless its commit needs other packages."""
        folder = paths.environments
        if self.revision and not own.is_shipped and of_folder(self.revision.folder, own).requirements() != own.requirements():
            folder = self.revision.folder / ".asv" / "env"
        return folder / f"{self.release.version}-{self.environment}"

    def is_installed(self, own: Campaign, paths: Paths) -> bool:
        """Return whether it can be measured without an installation."""
        return bool(self.interpreter) or (self.path(own, paths) / environments.COMPLETE).exists()


def opened(side: Side, own: Campaign, paths: Paths, needs: str = "") -> Program:
    """Return what runs as a side that can be measured, installed unless it is, and checked against the table of releases.

    needs : the device that its torch must be able to use; "" for none

    Raises TensorcopyError, and OSError.
    """
    revision = side.revision
    campaign = of_folder(revision.folder, own) if revision else own
    suites = (of_folder(revision.suites_from, own) if revision else own).suites
    if suites is None:
        got, allowed = f"{FILE} without a suite", '[suites] with path = "benchmarks"'
        raise TensorcopyError("this project has nothing to measure", got=got, allowed=allowed, next=interpreters.GUIDE)
    folders = interpreters.folders(paths.environments, with_runner=bool(side.interpreter))
    if revision and own.is_shipped:
        folders, suites = [revision.folder, *folders], revision.suites_from / "benchmarks"  # its own tensorcopy first
    # pynvml as a file: Python would compile a link to it in each process anew, and a folder that holds it holds more
    pynvml = str(distribution("nvidia-ml-py").locate_file("pynvml.py"))
    variables = {**environments.STEADY, **campaign.steady(), **os.environ, BINDINGS: pynvml}
    if side.interpreter:
        python = interpreters.executable(side.interpreter)
    else:
        python = environments.install(side.path(own, paths), side.release, side.python, campaign)
        variables |= environments.bytecode_in(python.parent.parent)
    if packages := campaign.measured_packages():
        variables[REQUIREMENTS] = json.dumps(packages)
    variables |= dict.fromkeys(interpreters.SEARCH_PATHS, interpreters.search_path(folders, python))
    program = Program(side.place, python, suites, variables, specs=campaign.specs)
    with started([program]) as (process,):
        report = _probed(process, side, "tensorcopy.worker.provenance", *campaign.observers)
        provenance = dict(report["provenance"])
        if side.interpreter:
            provenance["asv_runner"] = environments.RUNNER
        else:
            environments.verify(provenance, side.release, side.python, side.wheel, campaign, python.parent.parent)
        if needs not in ("", "cpu", *provenance["accelerators"]):
            _probed(process, side, "tensorcopy.worker.devices", needs)  # raises the reason
        observed = {name: report[name] for name in ("methods", "article") if name in report}
        return replace(process.program, torch=Path(report["torch_folder"]), provenance=provenance, observed=observed)


def _probed(process: Process, side: Side, module: str, *arguments: str) -> Mapping[str, Any]:
    """Return what the `main` of a module says in a side's process. Raises TensorcopyError."""
    answer = process.ask(LONGEST_PROBE, probe=module, arguments=arguments)
    process.end_fork()
    if answer.probe is None:
        following = f"{process.program.python} -c 'import torch, numpy' shows whether they work"
        raise TensorcopyError(f"{side} cannot be measured", got=str(answer.failed), allowed="torch and numpy that work", next=following)
    if "error" in answer.probe:
        raise TensorcopyError(**answer.probe["error"])
    return answer.probe


def asked(
    texts: Sequence[str], interpreters: Sequence[str], campaign: Campaign, pythons: Sequence[str], measured: Collection[str]
) -> tuple[list[Side], Side | None, list[str]]:
    """Return the sides that texts mean in some interpreters, or as `choose` has them; their reference; and why others are skipped.

    Of interpreters the reference is the newest; None for one alone. Raises TensorcopyError.
    """
    if interpreters:
        chosen = in_interpreters(interpreters, campaign, texts)
        return chosen, max(chosen, key=lambda side: side.release) if len(chosen) > 1 else None, []
    chosen, skipped = choose(texts, campaign, pythons, measured)
    return chosen, reference(chosen, campaign.releases, pythons), skipped


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
            usable = next(filter(releases[-1].runs_on, pythons), releases[-1].pythons[1])
            raise TensorcopyError("unknown Python", got=repr(text), allowed="RANGE@3.9", next=f"{range_text}@{usable}")
        able, refused = installable(releases, [python] if python else pythons)
        sides |= dict.fromkeys(able)
        skipped += refused
    if not sides:
        raise skipped[0]
    return [*sides], [f"{each.what}: {each.got}" for each in skipped]


def pair(before: Release, after: Release, pythons: Sequence[str]) -> list[Side]:
    """Return two releases on the first of these Pythons that has both. Raises TensorcopyError where they have none in common."""
    shared = [python for python in pythons if before.runs_on(python) and after.runs_on(python)]
    both = [of_release(release, shared or pythons) for release in (before, after)]
    if not shared:
        got, following = " and ".join(map(str, both)), f"tensorcopy compare {before.version} {after.version}, by way of other releases"
        raise TensorcopyError("no Python has both releases", got=got, allowed="one that both have wheels for", next=following)
    return both


def of_release(release: Release, pythons: Sequence[str]) -> Side:
    """Return the side of a release on the first of these Pythons that is here and has its wheel. Raises TensorcopyError."""
    supported = [*filter(release.runs_on, pythons)]
    if python := next(filter(uv.find_python, supported), ""):
        return Side(release, python, environments.expected_build())
    got, allowed = f"no wheel for Python {' or '.join(pythons)}", "Python {} to {}".format(*release.pythons)
    following = f"name {release.version}@{next(filter(release.runs_on, environments.known_pythons()), release.pythons[1])}"
    if supported:
        got, following = f"no Python {' or '.join(supported)} on this machine", f"uv python install {supported[0]}"
    raise TensorcopyError(f"torch {release.version} is skipped", got=got, allowed=allowed, next=following)


def installable(releases: Iterable[Release], pythons: Sequence[str]) -> tuple[list[Side], list[TensorcopyError]]:
    """Return the sides of the releases that can be installed here, see `of_release`, and why the others cannot."""
    able, refused = list[Side](), list[TensorcopyError]()
    for release in releases:
        try:
            able.append(of_release(release, pythons))
        except TensorcopyError as error:
            refused.append(error)
    return able, refused


def new(releases: ReleaseIndex, measured: Collection[str]) -> list[Release]:
    """Return the releases that are newer than any measured one, by their SHAs, and the two before them; without any, the two newest."""
    newest = max((index for index, row in enumerate(releases) if row.sha in measured), default=len(releases) - 1)
    return [*releases[max(0, newest + 1 - NEIGHBOURS) :]]


def reference(chosen: Sequence[Side], releases: ReleaseIndex, pythons: Sequence[str]) -> Side | None:
    """Return the side of the reference release, on the Python of the newest chosen one, or else the newest; None without one."""
    newest_first = sorted(pythons, key=minor, reverse=True)
    able, _ = installable([releases.find(REFERENCE)], [max(chosen, key=lambda each: each.release).python, *newest_first])
    return able[0] if able else None


def unable(sides: Iterable[Side], gpus: Sequence[Gpu]) -> dict[Side, str]:
    """Return why none of these GPUs can run a side, of those that none can: by their wheels, an interpreter may have another.

    gpus : the visible ones of NVIDIA. Without any, perhaps of AMD, or with `environments.BACKEND`, which selects other wheels than those
        of the table, nothing is skipped: the check before measuring names the reason
    """
    own = [side for side in sides if not side.interpreter and not os.environ.get(environments.BACKEND)]
    reasons = {side: [environments.why_not_on(side.release, gpu) for gpu in gpus] for side in own}
    return {side: of_gpus[0] for side, of_gpus in reasons.items() if of_gpus and all(of_gpus)}


def in_interpreters(pythons: Sequence[str], campaign: Campaign, named: Sequence[str] = ()) -> list[Side]:
    """Return the sides of interpreters' own torch.

    pythons : as asv's "-E interpreter:" takes them; "same" is the running one
    named : the releases that the user has named; all if empty

    Raises TensorcopyError for a torch that is no release of the table, for two that are alike, and for a named release that none has.
    """
    sides: dict[Place, Side] = {}
    for python in dict.fromkeys(pythons):
        has = interpreters.run_probe(interpreters.executable(python), "tensorcopy.worker.provenance")["provenance"]
        if (release := campaign.releases.of(has["torch_sha"])) is None:
            what, got = "this torch is not in the table of releases", f"{has['torch']} built from {has['torch_sha']}"
            following = "tensorcopy measure --add-release NEW, or another torch"
            raise TensorcopyError(what, got=got, allowed="a SHA in the table of releases", next=following)
        side = Side(release, has["python"].rpartition(".")[0], has["build"], python)
        if (other := sides.setdefault(side.place, side)) is not side:
            got, allowed = f"{side} in {other.interpreter} and {python}", "another release, Python or kind of wheel in each"
            raise TensorcopyError("two interpreters have the same torch", got=got, allowed=allowed, next="leave one of them out")
    names = {each: {each.release.version, each.release.tag} for each in sides.values()}
    if others := {*named}.difference({NEW}, *names.values()):
        got, allowed = ", ".join(sorted(others)), ", ".join(each.release.version for each in names)
        following = "leave the interpreter out, which installs the release"
        raise TensorcopyError("no interpreter has this torch", got=got, allowed=allowed, next=following)
    return [each for each in names if not named or NEW in named or names[each].intersection(named)]


def of_commits(commits: Mapping[str, str], campaign: Campaign, paths: Paths, interpreter: str) -> list[Side]:
    """Return two commits as sides under the newest torch that both support and this machine can install.

    commits : SHAs by the names that are printed; both run the suites of the later one
    interpreter : the Python whose torch is measured; "" to install one

    Raises TensorcopyError where there is no such torch.
    """
    folders = [checked_out(commit, paths) for commit in commits.values()]
    if interpreter:
        if of_folder(folders[0], campaign).requirements() != of_folder(folders[1], campaign).requirements():
            what, got = "an interpreter cannot have the packages of two commits", "requires that differ, or that name a folder"
            allowed = "the same versions in both commits, such as einops==0.8"
            raise TensorcopyError(what, got=got, allowed=allowed, next="leave the interpreter out")
        side = in_interpreters([interpreter], campaign)[0]
    else:
        before, after = (table_of(commit, campaign, paths) for commit in commits.values())
        usable, refused = installable([release for release in before if release in after], paths.pythons)
        if not usable:
            raise refused[-1]
        side = usable[-1]
    revisions = [Revision(commits[name], name, folder, folders[-1]) for name, folder in zip(commits, folders)]
    return [replace(side, revision=revision) for revision in revisions]


def with_release(side: Side, release: Release, name: str, pythons: Sequence[str]) -> Side:
    """Return the same files under another release, which perhaps only their table has. Raises TensorcopyError."""
    assert side.revision is not None
    own = replace(side.revision, name=name, suites_from=side.revision.folder)
    return replace(of_release(release, pythons), revision=own)


def of_folder(folder: Path, own: Campaign) -> Campaign:
    """Return the campaign in the files of a commit; of one before the project `own` of the checkout, with the packages of the commit.

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
    return release_table.load(own) if files.is_there(own) else campaign.releases
