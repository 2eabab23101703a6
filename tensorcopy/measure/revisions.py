"""Git revisions as sides of launches: the suites, registry and package of a commit, under a torch release. Prints nothing.

A commit of tensorcopy is timed with its own registry. A commit of a project is timed by this tensorcopy: what differs is the project, its
operations and its package. The later commit's suites are run on both, as asv runs them, unless the earlier one cannot import them. Files
and launches of revisions lie beside the environments, never in the published results.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tensorcopy import campaign as campaigns
from tensorcopy import files
from tensorcopy.campaign import Campaign
from tensorcopy.configuration import Paths
from tensorcopy.errors import DiskError, TensorcopyError
from tensorcopy.measure import git, plan
from tensorcopy.measure.plan import Measurement
from tensorcopy.measure.side_process import LocalSide
from tensorcopy.measure.taking import Job
from tensorcopy.releases import interpreters, release_table
from tensorcopy.releases.environments import Environment
from tensorcopy.releases.interpreters import FILE
from tensorcopy.releases.release_table import ReleaseIndex
from tensorcopy.results.launches import Place

FOLDER = "revisions"
TABLE = "tensorcopy/releases.toml"


@dataclass(frozen=True)
class Revision(Measurement):
    """A commit of this repository, and the torch that measures it.

    commit : its SHA
    name : as it is printed, such as "head 1234abcd"; "" for its SHA
    folder : its files, of a project the part of them that is the project's
    environments : the folder of its environments
    suites_from : the files of the commit whose suites are run; None for its own
    """

    commit: str = ""
    name: str = ""
    folder: Path = field(default=Path(), compare=False)
    environments: Path = field(default=Path(), compare=False)
    suites_from: Path | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.name or self.commit[:8]} with {super().__str__()}"

    @property
    def place(self) -> Place:
        return self.release.sha, self.environment, self.commit

    def path(self, paths: Paths) -> Path:
        return super().path(replace(paths, environments=self.environments))

    def is_outdated(self, campaign: Campaign, paths: Paths) -> bool:
        return super().is_outdated(of_folder(self.folder, campaign), replace(paths, environments=self.environments))

    def opened(self, campaign: Campaign, paths: Paths) -> Environment:
        return super().opened(of_folder(self.folder, campaign), replace(paths, environments=self.environments))

    def side(self, environment: Environment, campaign: Campaign, paths: Paths) -> LocalSide:
        own, suites_from = of_folder(self.folder, campaign), self.suites_from or self.folder
        paths = replace(paths, environments=self.environments)
        if not campaign.is_shipped:
            own = replace(own, suites=of_folder(suites_from, campaign).suites)
            return replace(super().side(environment, own, paths), revision=self.commit)
        made = super().side(environment, own, paths)
        search_path = os.pathsep.join([str(self.folder), made.variables["PYTHONPATH"]])  # its own tensorcopy first
        variables = {**made.variables, **dict.fromkeys(interpreters.SEARCH_PATHS, search_path)}
        return replace(made, revision=self.commit, suites=suites_from / "benchmarks", variables=variables)


def results_of(paths: Paths) -> Path:
    """Return the folder of the launches of revisions."""
    return _root(paths) / "results"


def of_folder(folder: Path, campaign: Campaign) -> Campaign:
    """Return the campaign in the files of a commit; of one before the project that of the checkout, with the packages of the commit.

    campaign : that of the checkout

    Raises TensorcopyError for an invalid one.
    """
    if not has_project(folder, campaign):
        return replace(campaign, folder=folder)
    made = campaigns.read(folder, campaign if campaign.is_shipped else None)
    return replace(made, observers=campaign.observers, profiler=campaign.profiler)


def has_project(folder: Path, campaign: Campaign) -> bool:
    """Return whether the files of a commit declare what is measured; commits of tensorcopy all do."""
    return campaign.is_shipped or files.is_there(folder / FILE)


def checked_out(commit: str, paths: Paths) -> Path:
    """Return the folder with the files of a commit, of a project the part of it that is the project's. Raises TensorcopyError."""
    folder = _root(paths) / commit[:12]
    git.check_out(commit, folder)
    return folder / git.prefix()


def differ(base: str, head: str, campaign: Campaign) -> bool:
    """Return whether a file that can change a time differs between two commits; the table of releases only adds some."""
    return any(name.startswith(campaign.measured) and name != TABLE for name in git.changed(base, head))


def table_of(commit: str, campaign: Campaign, paths: Paths) -> ReleaseIndex:
    """Return the table of releases of a commit; that of this tensorcopy for a project."""
    own = checked_out(commit, paths) / TABLE
    return release_table.of_tables(own) if files.is_there(own) else campaign.releases


def under_newest(
    commits: Mapping[str, str], campaign: Campaign, paths: Paths, *, version: str = "", interpreter: str = ""
) -> list[Revision]:
    """Return commits as revisions under the newest torch that all of them support and this machine can install.

    commits : SHAs by the names that are printed
    version : of torch, "" for the newest
    interpreter : the Python whose torch is measured; "" to install one

    Raises TensorcopyError where there is no such torch.
    """
    tables = [table_of(commit, campaign, paths) for commit in commits.values()]
    if interpreter:
        needs = [_packages(checked_out(commit, paths), campaign) for commit in commits.values()]
        if None not in needs and any(each != needs[0] for each in needs):
            raise TensorcopyError(
                "an interpreter cannot have the packages of two commits",
                got="requires that differ, or that name a folder",
                allowed="the same versions in both commits, such as einops==0.8",
                next="leave the interpreter out",
            )
        measurement = plan.in_interpreters([interpreter], campaign, [version] if version else [])[0]
    else:
        common = [release for release in tables[0] if all(release in table for table in tables)]
        wanted = [release for release in reversed(common) if version in ("", release.version)]
        usable = next(filter(None, (plan.installable(release, paths.pythons)[0] for release in wanted)), None)
        if usable is None:
            raise TensorcopyError(
                f"{' and '.join(commits)} have no torch in common here",
                got=version or f"{len(common)} releases in the tables of all, none of which this machine can install",
                allowed="a release in all tables, and a Python with its wheel",
                next="tensorcopy list releases lists them",
            )
        measurement = usable
    return [of(measurement, commit, name, campaign, paths) for name, commit in commits.items()]


def of(measurement: Measurement, commit: str, name: str, campaign: Campaign, paths: Paths) -> Revision:
    """Return a commit as a revision that a measurement's torch measures. Raises TensorcopyError."""
    folder = checked_out(commit, paths)
    return Revision(
        measurement.release,
        measurement.python,
        measurement.interpreter,
        measurement.build,
        commit,
        name,
        folder,
        _environments(folder, campaign, paths),
    )


def with_suites_of(before: Revision, after: Revision, job: Job) -> tuple[Revision, str]:
    """Return the earlier of two revisions with the suites of the later one; with its own where it cannot import these. And a note of it.

    So a benchmark whose body has changed is the same on both sides. Raises DiskError.
    """
    name = before.name or before.commit[:8]
    note = "" if has_project(before.folder, job.campaign) else f"{name} has no {FILE}: it is measured as that of the checkout says"
    shared = replace(before, suites_from=after.folder)
    if shared not in job.sides.usable([before]):
        return before, ""  # it cannot be measured, and `job.sides.failed` has the reason
    try:
        job.sides.suites(job.sides.of(shared))
    except DiskError:
        raise
    except TensorcopyError as error:
        return before, f"{name} runs its own suites: {error.what}: {error.got}"
    return shared, note


def _root(paths: Paths) -> Path:
    return paths.environments.parent / FOLDER


def _environments(folder: Path, campaign: Campaign, paths: Paths) -> Path:
    """Return the folder of a commit's environments: those of the checkout, unless it needs other packages than the checkout."""
    is_alike = campaign.is_shipped or _packages(folder, campaign) == campaign.requirements()
    return paths.environments if is_alike else folder / ".asv" / "env"


def _packages(folder: Path, campaign: Campaign) -> list[str] | None:
    """Return what a commit's environments need beside torch; None for an invalid campaign, whose side names the error."""
    try:
        return of_folder(folder, campaign).requirements()
    except (TensorcopyError, OSError):
        return None
