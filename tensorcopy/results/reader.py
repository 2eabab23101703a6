"""Read a folder of results: its histories with their releases, and an error for each file that cannot be read.

`launches` reads a file, `effects` fits the times of a history to all of its launches.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from tensorcopy import files
from tensorcopy.errors import TensorcopyError
from tensorcopy.releases.release_table import Release, ReleaseIndex
from tensorcopy.results import effects, function_profiles, histories, launches
from tensorcopy.results.cases import Case, Cases, cases_of
from tensorcopy.results.effects import Effects
from tensorcopy.results.histories import Conditions, History
from tensorcopy.results.launches import FileProblem, Launch, Place
from tensorcopy.results.result import Result
from tensorcopy.results.suite_specs import SuiteTable

if TYPE_CHECKING:  # a campaign has what its suites are
    from tensorcopy.campaign import Campaign

DOCUMENT = r"(?i)\.(md|rst|txt|json|html|csv)$|^(readme|license)$"  # what may stand beside the folders of histories

Member = tuple[Launch, Cases, int]  # a launch, its cases, and the number of a side


@dataclass(frozen=True)
class Results:
    """Every readable history under a folder, and an error for each file that cannot be read."""

    histories: tuple[History, ...]
    problems: tuple[TensorcopyError, ...]

    @cached_property
    def results(self) -> tuple[Result, ...]:
        """The results of all histories."""
        return tuple(result for history in self.histories for result in history.results)

    def concerning(self, history: str = "") -> tuple[TensorcopyError, ...]:
        """Return the problems of a history's files; of any, for "": another might have answered with what could not be read."""
        return tuple(each for each in self.problems if not history or not isinstance(each, FileProblem) or each.path.parent.name == history)


def load_results(directory: Path, campaign: Campaign) -> Results:
    """Return every result of a campaign under `directory`, read once until a file comes, goes or changes.

    Raises nothing: a damaged file is a problem, and the others are read. Callers share the returned values and must not change them.
    """
    folder, state = directory.absolute(), []  # first: the paths are keys, and a folder has one
    paths = tuple(sorted([*folder.glob("*/*.json"), *folder.glob(f"*/{histories.FILE}")]))
    for path in (*paths, *folder.glob(f"*/*{function_profiles.ENDING}")):  # a result knows its functions
        with suppress(OSError):
            status = path.lstat()
            state.append((status.st_ino, status.st_size, status.st_mtime_ns))
    read = _load(paths, tuple(state), campaign.releases, campaign.specs)
    return Results(read.histories, (*_unlisted(folder), *read.problems))


def _unlisted(directory: Path) -> Iterator[TensorcopyError]:
    """Yield an error for each folder of launches that cannot be listed: `glob` passes over them, and a history would be missing.

    A file with the name of a folder is one, other than documents and what is hidden.
    """
    folders = [directory] if files.is_there(directory) else []
    with suppress(OSError):
        entries = sorted(path for path in directory.iterdir() if not path.name.startswith("."))
        folders += [path for path in entries if not (path.is_file() and re.search(DOCUMENT, path.name))]
    for folder in folders:
        try:
            next(folder.iterdir(), None)
        except OSError as error:
            path, reason = folder / "*.json", error.strerror or str(error)
            what, following = "the launches in {0.parent} cannot be listed", f"ls -ld {launches.displayed(path).parent}"
            yield FileProblem(path, what, got=reason, allowed="a folder that you may read", next=following)


@lru_cache(maxsize=4)
def _load(paths: Sequence[Path], state: Hashable, releases: ReleaseIndex, specs: SuiteTable) -> Results:
    """Read the histories that some files make; `state` is a part of the key of the cache."""
    read, problems = list[History](), list[TensorcopyError]()
    folders = sorted({path.parent for path in paths}, key=lambda folder: not folder.is_symlink())
    by_place = {folder.resolve(): folder for folder in folders}  # a folder that is a link to another is that one
    seen: dict[Hashable, Path] = {}
    for folder in sorted(by_place.values()):
        try:
            conditions = histories.read(folder)
        except TensorcopyError as error:
            problems.append(error)
            continue
        members: list[tuple[Launch, Cases]] = []
        for path in (path for path in paths if path.parent == folder and path.name != histories.FILE):
            try:
                launch = launches.read(path)
                with launches.damage_named(path):
                    cases = {
                        name: cases_of(specs.spec(name, suite.type, suite.unit), tuple(suite.param_names), tuple(map(tuple, suite.params)))
                        for name, suite in launch.suites.items()
                    }
                unknown = _unknown_torch(path, launch, releases)
                _require_alike(path, launch, conditions)
                _require_new(path, launch, seen)
            except TensorcopyError as error:
                problems.append(error)
            else:
                problems += unknown
                members.append((launch, cases))
        read.append(_history(folder, conditions, members, releases))
    return Results(tuple(read), tuple(problems))


def _require_alike(path: Path, launch: Launch, conditions: Conditions) -> None:
    """Raise TensorcopyError for a launch of another experiment than its folder's."""
    has_own = any(side.environment == conditions.environment for side in launch.sides)
    own = histories.conditions_of(launch, *((conditions.environment, conditions.requires) if has_own else ()))
    if not conditions.takes(own):
        what, following = "the launch {} is of another history", "move it into the folder of its history, beside a history.toml"
        raise FileProblem(path, what, got=str(own), allowed=str(conditions), next=following)


def _require_new(path: Path, launch: Launch, seen: dict[Hashable, Path]) -> None:
    """Raise TensorcopyError for a launch that another file has, too, perhaps with other sides, digits or without a suite.

    seen : files by each value that they have. Of a suite at least two, and half of them, are equal in a copy alone: two launches never have
    the same times. Counts are equal in many; a copy of them began at the same time, too.
    """
    for name, suite in launch.suites.items():
        keys: list[Hashable] = [(name, index, row.seconds) for index, row in suite.rows.items()]
        if len(keys) == 1:  # one time may be equal by chance, and its differences between sides are not
            keys = [(name, index, row.seconds, *sorted(map(str, row.effects))) for index, row in suite.rows.items()]
        if suite.values:
            keys = [(name, launch.started, launch.sides[0].place, *suite.values.items())]
        firsts = Counter(seen.setdefault(key, path) for key in keys)
        del firsts[path]
        for first, number in firsts.most_common(1):
            if number >= min(len(keys), max(2, len(keys) / 2)):
                got, allowed = f"what {launches.displayed(first)} has", "launches that were taken apart: the same one twice is no evidence"
                raise FileProblem(path, "the launch {} is a copy", got=got, allowed=allowed, next="remove one of them")


def _unknown_torch(path: Path, launch: Launch, releases: ReleaseIndex) -> list[TensorcopyError]:
    """Return an error for each side whose torch is in no row of the table: it is in no history. Raises one for a mislabelled side."""
    problems: list[TensorcopyError] = []
    for number, side in enumerate(launch.sides):
        release, provenance = releases.of(side.sha), launch.provenance_of(number)
        torch, sha, python = (str(provenance[name]) for name in ("torch", "torch_sha", "python"))
        version = torch.partition("+")[0]
        in_label = sha == side.sha and python.startswith(f"{side.environment.split('-')[0][2:]}.")
        if not in_label or (release and version != release.version):
            what, allowed = "the launch {} is refused, its provenance does not match its label", f"{side.sha[:8]} in {side.environment}"
            got = f"torch {torch[:60]} of {sha[:8]} on Python {python[:12]}"
            raise FileProblem(path, what, got=got, allowed=allowed, next="remove the file and measure again")
        if not release:
            is_other_build = version in [release.version for release in releases]
            what, allowed = "a side of the launch {} is in no history", "a SHA with a row in the table of releases"
            following = "remove the file" if is_other_build else f"tensorcopy measure --add-release {version[:60]}"
            problems.append(FileProblem(path, what, got=f"torch {torch[:60]} of {side.sha[:8]}", allowed=allowed, next=following))
    return problems


def _history(folder: Path, conditions: Conditions, members: Sequence[tuple[Launch, Cases]], releases: ReleaseIndex) -> History:
    """Return a history from its launches, in order; what a launch has of another form of a suite does not count."""
    suites = launches.newest_suites(launch for launch, _ in members)
    # of the newest version of a suite the newest build
    forms = {name: each.form(name) for each, _ in members for name, suite in each.suites.items() if suite.form == suites[name].form}
    of_form = [(each, {name: of for name, of in cases.items() if each.form(name) == forms[name]}) for each, cases in members]
    by_place: dict[Place, list[Member]] = {}
    for launch, cases in of_form:
        for number, side in enumerate(launch.sides):
            by_place.setdefault(side.place, []).append((launch, cases, number))
    timed = effects.gathered([each for each in of_form if each[0].kind == "times"], by_place)
    # a side of another environment, or of an unknown torch, is a link: it leads from one launch to another
    known = {place: release for place in by_place if place[1] == conditions.environment and (release := releases.of(place[0]))}
    results = [_result(folder, place, release, timed, by_place[place]) for place, release in known.items()]
    results.sort(key=lambda each: (each.release, each.revision))
    newest = {name: of_suite for _, cases in of_form for name, of_suite in cases.items()}
    return History(folder, conditions, tuple(results), tuple(launch for launch, _ in members), newest)


def _result(folder: Path, place: Place, release: Release, timed: Effects, members: Sequence[Member]) -> Result:
    """Return what all launches with a side tell of it: its counts, and what each case raised, or why it was skipped, in its last one."""
    counts: dict[Case, tuple[float, ...]] = {}
    reasons: tuple[dict[str, dict[Case, str]], dict[str, dict[Case, str]]] = {}, {}  # by suite
    for launch, cases, side in members:
        for name, of_suite in cases.items():
            suite = launch.suites[name]
            for index, value in suite.values.items():
                counts[of_suite[int(index)]] = (*counts.get(of_suite[int(index)], ()), value)
            for by_suite, stored in zip(reasons, (suite.failed, suite.skipped)):
                known = by_suite.setdefault(name, {})
                for case in [case for case in known if case in of_suite and suite.tells(str(of_suite.index(case)), side)]:
                    del known[case]
                for index, by_side in stored.items():
                    if (reason := by_side.get(str(side), by_side.get(launches.ALL))) is not None:
                        known[of_suite[int(index)]] = reason
    failures, skips = ({case: why for known in by_suite.values() for case, why in known.items()} for by_suite in reasons)
    last, _, number = ([each for each in members if each[0].kind == "times"] or members)[-1]
    observed = next((launch for launch, _, _ in reversed(members) if launch.methods), None)
    return Result(
        folder=folder,
        sha=place[0],
        environment=place[1],
        release=release,
        effects=timed,
        revision=place[2],
        count_repeats=counts,
        failures=failures,
        skips=skips,
        provenance=last.provenance_of(number),
        methods=observed.methods if observed else {},
        article=observed.article if observed else {},
        launches=tuple(launch.started for launch, _, _ in members),
    )
