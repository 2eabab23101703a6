"""A campaign says what is measured and how it is judged. The command line makes it once, from tensorcopy.toml, and passes it on.

docs/own-operation.md shows the tables of the file. One with [project] or [suites] is a campaign of its own: its suites, and nothing else.
Any other adds its rules to the shipped campaign.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from packaging.requirements import InvalidRequirement, Requirement

from tensorcopy import files
from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import release_table
from tensorcopy.releases.interpreters import FILE, GUIDE
from tensorcopy.releases.release_table import ReleaseIndex
from tensorcopy.results.suite_specs import NO_TABLE, SuiteTable

PROJECT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
MEM = re.compile(r"^\s*(def mem_|class Mem[A-Z_]|def Mem[A-Z_])", re.MULTILINE)  # a benchmark that needs pympler
TABLES = "[project] with name, title and requires, [suites] with path and threads, [[accepted]] with case, until and why"

Line = Annotated[str, Meta(pattern=r"^[^\x00-\x1f\x7f]*$", max_length=80)]  # a heading of two lines on a phone
Package = Annotated[str, Meta(pattern=r"^[A-Za-z0-9.][^\x00]*$")]  # no option of pip, and an argument of its process


class _Project(Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, Meta(pattern=f"^({PROJECT_NAME.pattern})?$")] = ""
    title: Line = ""
    requires: list[Package] = []


class _Suites(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[Line, Meta(min_length=1)]
    threads: Annotated[int, Meta(ge=0, le=1024)] = 1


class _Accepted(Struct, frozen=True, forbid_unknown_fields=True):
    case: Annotated[str, Meta(min_length=1, max_length=300)]  # a regular expression on the names of cases
    until: str  # the last release whose slowdown is accepted: what a later one adds is not
    why: Annotated[str, Meta(min_length=1, max_length=300)]


class _Tables(Struct, frozen=True, forbid_unknown_fields=True):
    project: _Project | None = None
    suites: _Suites | None = None
    accepted: list[_Accepted] = []


@dataclass(frozen=True)
class VerdictRules:
    """The slowdowns that a campaign accepts: in the exit code, the badge and the list of what is open they do not count."""

    accepted: tuple[tuple[re.Pattern[str], str, str], ...] = ()  # regular expression on cases, the last release, and why
    releases: tuple[str, ...] = ()  # in order

    def why(self, name: str, release: str) -> str:
        """Return why the slowdown of a case with a release is accepted; "" where it is not."""
        if release not in self.releases:
            return ""
        index = self.releases.index
        reasons = (why for pattern, until, why in self.accepted if index(release) <= index(until) and pattern.search(name))
        return next(reasons, "")


NO_RULES = VerdictRules()


@dataclass(frozen=True)
class Campaign:
    """What is measured, and how it is judged."""

    name: str  # of asv's project, in the head of every page
    title: str  # the heading of its first page
    folder: Path  # of tensorcopy.toml
    releases: ReleaseIndex  # those of the package's table, and of `table`, whose rows replace those of the same version
    table: Path  # the file that a user adds releases to; it may not exist yet
    suites: Path | None = None  # the folder of an asv suite; None where there is nothing to measure
    specs: SuiteTable = NO_TABLE  # what its suites are; empty but for the shipped ones
    requires: tuple[str, ...] = ()  # packages for the environment of every release; one that begins with "." is the folder of a package
    threads: int = 0  # of torch in its processes, since times with several depend on what else runs; 0 for as many as torch decides
    rules: VerdictRules = NO_RULES
    pins_numpy: bool = False  # whether the table of releases chooses numpy, not what is required
    is_shipped: bool = False  # whether it is the one of this package: commits of its repository are commits of this program
    observers: tuple[str, ...] = ()  # arguments of the probe of an environment: the module that observes what methods do
    profiler: str = ""  # the probe that counts the functions of its cases; "" for none
    pages: str = ""  # the package with the pages that only this campaign has; "" for none
    measured: tuple[str, ...] = ("",)  # beginnings of the files of its repository that can change a time, or whether there is one
    quick: str = ""  # a regular expression on asv's names, of what `dashboard --quick` times; "" for all
    memory: str = ""  # the same, of what `dashboard` counts

    def requirements(self) -> list[str]:
        """Return the arguments of `pip install` for its packages, of which `sources` are folders.

        A suite with mem_ benchmarks gets pympler, which measures them, as from asv.
        """
        sources = (path for path in self.suites.rglob("*.py") if path.is_file()) if self.suites else ()  # an editor's lock is a link
        arguments = ["pympler"] if any(MEM.search(path.read_text(encoding="utf-8", errors="replace")) for path in sources) else []
        return [*arguments, *self.measured_packages()]

    def measured_packages(self) -> list[str]:
        """Return the requirements whose code its benchmarks run."""
        return [*(package for package in self.requires if not package.startswith(".")), *map(str, self.sources())]

    def sources(self) -> list[Path]:
        """Return the folders of the packages that are installed from their files."""
        return [(self.folder / package).resolve() for package in self.requires if package.startswith(".")]

    def steady(self) -> dict[str, str]:
        """Return the environment variables of a process that measures it, unless the caller sets them."""
        return {"OMP_NUM_THREADS": str(self.threads)} if self.threads else {}


def read(folder: Path, shipped: Campaign | None = None) -> Campaign:
    """Return the campaign of a folder.

    shipped : to which a tensorcopy.toml without [project] and [suites] adds

    Raises TensorcopyError for an invalid tensorcopy.toml, and for a folder that declares no campaign where there is no shipped one.
    """
    try:
        document = files.read_toml(folder / FILE) if files.is_there(folder / FILE) else {}
        if "operation" in document:
            raise _refused("[[operation]], which is an asv suite now", f"{TABLES}; tensorcopy init in an empty folder writes a suite")
        tables = msgspec.convert(document, _Tables)
        for package in tables.project.requires if tables.project else ():
            try:
                Requirement(package if not re.search("^[.]|[/:]", package) else "folder-or-address")
            except InvalidRequirement as error:
                raise _refused(f"{package!r} in requires", "what pip installs, such as einops==0.8") from error
        if tables.project or tables.suites:
            made = _of_tables(tables, folder)
        elif shipped:
            made = replace(shipped, folder=folder)
        else:
            raise TensorcopyError(
                f"{FILE} declares no project", got="no [project]", allowed="[project] with name", next=f"add it to {FILE}"
            )
        accepted = tuple((re.compile(row.case), made.releases.find(row.until).version, row.why) for row in tables.accepted)
    except (OSError, ValueError, re.error, RecursionError, OverflowError) as error:
        raise _refused(str(error), TABLES) from error
    return replace(made, rules=VerdictRules(accepted, tuple(release.version for release in made.releases)))


def _of_tables(tables: _Tables, folder: Path) -> Campaign:
    """Return the campaign that a project declares. Raises TensorcopyError for a suite that is none."""
    project, own = tables.project or _Project(), folder / release_table.TABLE.name
    releases = release_table.load(release_table.TABLE, *([own] if files.is_there(own) else []))
    name, suites, threads = project.name or default_name(folder), None, 1
    if tables.suites:
        suites, threads = (folder / tables.suites.path).resolve(), tables.suites.threads
        if not suites.is_dir():
            raise _refused(
                f"the path {tables.suites.path} in [suites], which is no folder", f"the folder of an asv suite, relative to {FILE}"
            )
        if not (suites / "__init__.py").is_file():
            raise _refused(f"the folder {suites.name} without __init__.py", "the folder of an asv suite, a package")
    title = project.title or default_title(name)
    return Campaign(name, title, folder, releases, own, suites=suites, requires=tuple(project.requires), threads=threads)


def default_name(folder: Path) -> str:
    """Return the name of a project from that of its folder."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "", folder.name).lstrip("._-")[:40] or "project"


def default_title(name: str) -> str:
    """Return the title of a project that declares none."""
    return f"{name} over torch releases"


def _refused(got: str, allowed: str) -> TensorcopyError:
    return TensorcopyError(f"{FILE} is refused", got=got, allowed=allowed, next=GUIDE)
