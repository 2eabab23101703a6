"""Read a folder of results: its histories with their releases, and an error for each file that cannot be read.

`launches` reads a file, `effects` fits the times of a history to all of its launches.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from tensorcopy import files
from tensorcopy.errors import TensorcopyError
from tensorcopy.releases.release_table import ReleaseIndex
from tensorcopy.results import effects, histories, launches
from tensorcopy.results.cases import Case, Cases, cases_of
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

    @cached_property
    def cases(self) -> frozenset[Case]:
        """Every case that a release has, also where it has failed."""
        return frozenset(case for result in self.results for case in (*result.timings, *result.counts, *result.failures))

    def concerning(self, history: str = "") -> tuple[TensorcopyError, ...]:
        """Return the problems of a history's files; of any, for "": another might have answered with what could not be read."""
        return tuple(each for each in self.problems if not history or not isinstance(each, FileProblem) or each.path.parent.name == history)


def load_results(directory: Path, campaign: Campaign) -> Results:
    """Return every result of a campaign under `directory`, read once until a file comes, goes or changes.

    Raises nothing: a damaged file is a problem, and the others are read. Callers share the returned values and must not change them.
    """
    folder = directory.absolute()  # first: the state has paths, and a folder has one
    return _load(folder, folder_state(folder), campaign.releases, campaign.specs)


def folder_state(directory: Path) -> Hashable:
    """Return a value that changes when a launch comes, goes or changes."""
    statuses = []
    for path in sorted([*directory.glob("*/*.json"), *directory.glob(f"*/{histories.FILE}")]):
        with suppress(OSError):
            status = path.lstat()
            statuses.append((path, status.st_ino, status.st_size, status.st_mtime_ns))
    return tuple(statuses), _unlisted(directory)


def _unlisted(directory: Path) -> tuple[tuple[Path, str], ...]:
    """Return each folder of launches that cannot be listed, and why: `glob` passes over them, and a history would be missing.

    A file with the name of a folder is one, other than documents and what is hidden.
    """
    unlisted, folders = [], [directory] if files.is_there(directory) else []
    with suppress(OSError):
        entries = sorted(path for path in directory.iterdir() if not path.name.startswith("."))
        folders += [path for path in entries if not (path.is_file() and re.search(DOCUMENT, path.name))]
    for folder in folders:
        try:
            next(folder.iterdir(), None)
        except OSError as error:
            unlisted.append((folder, error.strerror or str(error)))
    return tuple(unlisted)


@lru_cache(maxsize=4)
def _load(directory: Path, state: Hashable, releases: ReleaseIndex, specs: SuiteTable) -> Results:
    """Read the histories of a folder; `state` is the key of the cache."""
    problems: list[TensorcopyError] = []
    for folder, reason in _unlisted(directory):
        shown = launches.displayed(folder / "*.json").parent
        allowed, following = "a folder that you may read", f"ls -ld {shown}"
        what = f"the launches in {shown} cannot be listed"
        problems.append(FileProblem(what, path=folder / "*.json", got=reason, allowed=allowed, next=following))
    read: list[History] = []
    seen: dict[Hashable, Path] = {}
    for folder in _folders(directory):
        try:
            conditions = histories.read(folder)
        except TensorcopyError as error:
            problems.append(error)
            continue
        members: list[tuple[Launch, Cases]] = []
        for path in sorted(folder.glob("*.json")):
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
                continue
            problems += unknown
            members.append((launch, cases))
        read.append(_history(folder, conditions, members, releases))
    return Results(tuple(read), tuple(problems))


def _folders(directory: Path) -> list[Path]:
    """Return each folder that has a launch or a history.toml; one that is a link to another is that one."""
    found = {path.parent for pattern in ("*/*.json", f"*/{histories.FILE}") for path in directory.glob(pattern)}
    by_place = {folder.resolve(): folder for folder in sorted(found, key=lambda each: not each.is_symlink())}
    return sorted(by_place.values())


def _require_alike(path: Path, launch: Launch, conditions: Conditions) -> None:
    """Raise TensorcopyError for a launch of another experiment than its folder's."""
    has_own = any(side.environment == conditions.environment for side in launch.sides)
    own = histories.conditions_of(launch, *((conditions.environment, conditions.requires) if has_own else ()))
    if not conditions.takes(own):
        raise FileProblem(
            f"the launch {launches.displayed(path)} is of another history",
            path=path,
            got=str(own),
            allowed=str(conditions),
            next="move it into the folder of its history, beside a history.toml",
        )


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
                raise FileProblem(
                    f"the launch {launches.displayed(path)} is a copy",
                    path=path,
                    got=f"what {launches.displayed(first)} has",
                    allowed="launches that were taken apart: the same one twice is no evidence",
                    next="remove one of them",
                )


def _unknown_torch(path: Path, launch: Launch, releases: ReleaseIndex) -> list[TensorcopyError]:
    """Return an error for each side whose torch is in no row of the table: it is in no history. Raises one for a mislabelled side."""
    problems: list[TensorcopyError] = []
    for number, side in enumerate(launch.sides):
        release, provenance = releases.of(side.sha), launch.provenance_of(number)
        torch, sha, python = (str(provenance[name]) for name in ("torch", "torch_sha", "python"))
        version = torch.partition("+")[0]
        in_label = sha == side.sha and python.startswith(f"{side.environment.split('-')[0][2:]}.")
        if not in_label or (release and version != release.version):
            raise FileProblem(
                f"the launch {launches.displayed(path)} is refused, its provenance does not match its label",
                path=path,
                got=f"torch {torch[:60]} of {sha[:8]} on Python {python[:12]}",
                allowed=f"{side.sha[:8]} in {side.environment}",
                next="remove the file and measure again",
            )
        if not release:
            is_other_build = version in [release.version for release in releases]
            problems.append(
                FileProblem(
                    f"a side of the launch {launches.displayed(path)} is in no history",
                    path=path,
                    got=f"torch {torch[:60]} of {side.sha[:8]}",
                    allowed="a SHA with a row in the table of releases",
                    next="remove the file" if is_other_build else f"tensorcopy measure --add-release {version[:60]}",
                )
            )
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
    results = []
    for place, of_side in by_place.items():
        (sha, environment, revision), release = place, releases.of(place[0])
        if environment != conditions.environment or release is None:
            continue  # a link: it leads from one launch to another
        last, _, side_number = ([each for each in of_side if each[0].kind == "times"] or of_side)[-1]
        failures, skips = _reasons(of_side)
        observed = next((launch for launch, _, _ in reversed(of_side) if launch.methods), None)
        results.append(
            Result(
                folder=folder,
                sha=sha,
                environment=environment,
                release=release,
                effects=timed,
                revision=revision,
                count_repeats=_counts(of_side),
                failures=failures,
                skips=skips,
                provenance=last.provenance_of(side_number),
                methods=observed.methods if observed else {},
                article=observed.article if observed else {},
                launches=tuple(launch.started for launch, _, _ in of_side),
            )
        )
    results.sort(key=lambda each: (each.release, each.revision))
    newest = {name: of_suite for _, cases in of_form for name, of_suite in cases.items()}
    return History(folder, conditions, tuple(results), tuple(launch for launch, _ in members), newest)


def _counts(members: Iterable[Member]) -> dict[Case, tuple[float, ...]]:
    """Return the repeated counts of each case of one release."""
    counts: dict[Case, tuple[float, ...]] = {}
    for launch, cases, _ in members:
        for case, value in ((cases[name][int(index)], value) for name in cases for index, value in launch.suites[name].values.items()):
            counts[case] = (*counts.get(case, ()), value)
    return counts


def _reasons(members: Iterable[Member]) -> tuple[dict[Case, str], dict[Case, str]]:
    """Return what each case raised in the last launch that had it, and why others were skipped there."""
    found: tuple[dict[str, dict[Case, str]], dict[str, dict[Case, str]]] = {}, {}  # by suite
    for launch, cases, side in members:
        for name, of_suite in cases.items():
            suite = launch.suites[name]
            for by_suite, stored in zip(found, (suite.failed, suite.skipped)):
                reasons = by_suite.setdefault(name, {})
                for case in [case for case in reasons if case in of_suite and suite.tells(str(of_suite.index(case)), side)]:
                    del reasons[case]
                for index, by_side in stored.items():
                    if (reason := by_side.get(str(side), by_side.get(launches.ALL))) is not None:
                        reasons[of_suite[int(index)]] = reason
    failures, skips = ({case: why for reasons in by_suite.values() for case, why in reasons.items()} for by_suite in found)
    return failures, skips
