"""Read a folder of results: every release on every machine, with its times and counts, and an error for each file that cannot be read.

`launches` reads a file, `effects` fits the times of a machine to all of its launches.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tensorcopy import files
from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import release_table
from tensorcopy.releases.release_table import ReleaseIndex
from tensorcopy.results import call_parts, conditions, effects, launches, machine_names, shared_counts, suite_specs
from tensorcopy.results.cases import Case, Cases, stored_cases
from tensorcopy.results.conditions import Differences, Pooled
from tensorcopy.results.effects import Column, Timing
from tensorcopy.results.launches import FileProblem, Launch, Parts, Place, Suite
from tensorcopy.results.machine_names import may_be_of
from tensorcopy.results.result import Result

SHOWN = 6  # suites that a sentence names
DOCUMENT = r"(?i)\.(md|rst|txt|json|html|csv)$|^(readme|license)$"  # what may stand beside the folders of machines

Member = tuple[Launch, Cases, int]  # a launch, its cases, and the number of a side


@dataclass(frozen=True)
class Results:
    """Every readable result under a folder, and an error for each other file."""

    results: tuple[Result, ...]
    problems: tuple[TensorcopyError, ...]
    warnings: tuple[TensorcopyError, ...] = ()  # a sentence for each machine that shares its name with another one, then `superseded`
    launches: tuple[Launch, ...] = ()
    # a sentence for each machine of which a release has a suite in an earlier version only, or launches under other conditions than its
    # newest: these do not count
    superseded: tuple[TensorcopyError, ...] = ()

    @property
    def holders(self) -> dict[str, str]:
        """The identity of the hardware that has results under each name of a machine."""
        return {result.machine: result.series_key.identity for result in self.results}


def load_results(directory: Path, releases: ReleaseIndex | None = None) -> Results:
    """Return every result under `directory`, read once until a file comes, goes or changes.

    releases : those that results can be of; by default the package's

    Raises nothing: a damaged file is a problem, and the others are read. Callers share the returned values and must not change them.
    """
    folder = directory.absolute()  # first: the state has paths, and a folder has one
    return _load(folder, folder_state(folder), releases or release_table.load())


def cases(results: Iterable[Result]) -> set[Case]:
    """Return every case that one of some results has, also where it has failed."""
    return {case for result in results for case in (*result.timings, *result.counts, *result.failures)}


def folder_state(directory: Path) -> Hashable:
    """Return a value that changes when a launch comes, goes or changes."""
    statuses = []
    for path in sorted(directory.glob("*/*.json")):
        with suppress(OSError):
            status = path.lstat()
            statuses.append((path, status.st_ino, status.st_size, status.st_mtime_ns))
    return tuple(statuses), _unlisted(directory)


def _unlisted(directory: Path) -> tuple[tuple[Path, str], ...]:
    """Return each folder of launches that cannot be listed, and why: `glob` passes over them, and a machine would be missing.

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


@lru_cache(maxsize=4)  # two folders of a comparison, and others
def _load(directory: Path, state: Hashable, releases: ReleaseIndex) -> Results:
    """Read the launches of a folder; `state` is the key of the cache."""
    problems: list[TensorcopyError] = []
    for folder, reason in _unlisted(directory):
        shown = launches.displayed(folder / "*.json").parent
        allowed, following = "a folder that you may read", f"ls -ld {shown}"
        what = f"the launches in {shown} cannot be listed"
        problems.append(FileProblem(what, path=folder / "*.json", got=reason, allowed=allowed, next=following))
    by_host: dict[tuple[str, str], list[tuple[Launch, Cases]]] = {}
    seen: dict[Hashable, Path] = {}
    for path in sorted(directory.glob("*/*.json")):
        try:
            launch = launches.read(path)
            with launches.damage_named(path):
                of_launch = _cases(launch)
            unknown = _unknown_torch(path, launch, releases)
            first = seen.setdefault(launches.times_of(launch), path) if launch.kind == "times" else path
            if first != path:
                raise FileProblem(
                    f"the launch {launches.displayed(path)} is a copy",
                    path=path,
                    got=f"what {launches.displayed(first)} has",
                    allowed="launches that were taken apart: the same one twice is no evidence",
                    next="remove one of them",
                )
        except TensorcopyError as error:
            problems.append(error)
            continue
        problems += unknown
        by_host.setdefault((launch.machine, launch.identity), []).append((launch, of_launch))
    read = [launch for members in by_host.values() for launch, _ in members]
    names = machine_names.by_host({host: min(launch.started for launch, _ in members) for host, members in by_host.items()})
    holders = {machine: identity for (machine, identity), name in names.items() if name == machine}
    warnings = [
        machine_names.two_machines(machine, holders[machine], identity, name, "measure under another --machine")
        for (machine, identity), name in names.items()
        if name != machine
    ]
    results: list[Result] = []
    superseded: list[TensorcopyError] = []
    for host, name in sorted(names.items(), key=lambda each: each[1]):
        own = sorted(by_host[host], key=lambda each: each[0].id)
        places = {side.place: launch.provenance_of(number) for launch, _ in own for number, side in enumerate(launch.sides)}
        borrowed = [(each, _cases(each)) for each in shared_counts.elsewhere(sorted(read, key=_path), host[1], places)]
        newest = launches.newest_suites(launch for launch, _ in (*borrowed, *own))
        pooled = dict[Place, Pooled]()
        results += _of_machine(directory, name, own, borrowed, newest, releases, pooled)
        superseded += [*_superseded(name, own, borrowed, newest, releases), *_left_out(name, pooled, releases)]
    ordered = tuple(sorted(read, key=_path))
    return Results(tuple(results), tuple(problems), (*warnings, *superseded), ordered, tuple(superseded))


def _path(launch: Launch) -> tuple[str, str]:
    return launch.machine, launch.id


def _cases(launch: Launch) -> Cases:
    return {name: stored_cases(name, suite) for name, suite in launch.suites.items()}


def _unknown_torch(path: Path, launch: Launch, releases: ReleaseIndex) -> list[TensorcopyError]:
    """Return an error for each side whose torch is in no row of the table: it is in no history. Raises one for a mislabelled side."""
    problems: list[TensorcopyError] = []
    for number, side in enumerate(launch.sides):
        release, provenance = releases.of(side.sha), launch.provenance_of(number)
        torch, sha, python = (str(provenance.get(name, "")) for name in ("torch", "torch_sha", "python"))
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
                    next="remove the file" if is_other_build else f"tensorcopy list releases --add {version[:60]}",
                )
            )
    return problems


def _of_machine(
    folder: Path,
    machine: str,
    own: Sequence[tuple[Launch, Cases]],
    borrowed: Sequence[tuple[Launch, Cases]],
    newest: Mapping[str, Suite],
    releases: ReleaseIndex,
    pooled: dict[Place, Pooled],
) -> Iterator[Result]:
    """Yield the results of one machine from its launches, in order, and tell in `pooled` which launches of each are.

    borrowed : launches of counts of other machines that hold for this one too
    newest : of each suite, the form that counts
    """
    own, borrowed = (
        [(each, {name: of for name, of in cases.items() if each.suites[name].form == newest[name].form}) for each, cases in every]
        for every in (own, borrowed)
    )
    by_place: dict[Place, list[Member]] = {}
    for launch, cases in own:
        for number, side in enumerate(launch.sides):
            by_place.setdefault(side.place, []).append((launch, cases, number))
    pooled |= {place: conditions.pooled(members) for place, members in by_place.items()}
    left_out = {(id, place): cases for place, of_side in pooled.items() for id, cases in of_side.left_out.items()}
    timed = effects.gathered([each for each in own if each[0].kind == "times"], left_out)
    for place, members in by_place.items():
        (sha, environment, revision), of_side = place, pooled[place]
        column = Column(timed, timed.columns[place]) if place in timed.columns else None
        timings = column.timings() if column else {}
        of_times = [each for each in members if each[0].kind == "times"]
        last, _, side_number = (of_times or members)[-1]
        counting = [*((launch, cases, 0) for launch, cases in borrowed if launch.sides[0].place == place), *members]
        failures, skips = _reasons(counting)
        observed = next((launch for launch, _, _ in reversed(counting) if launch.methods), None)
        yield Result(
            folder=folder,
            machine=machine,
            sha=sha,
            python=environment.partition("-")[0][2:],
            build=environment.split("-")[1],
            environment=environment,
            release=releases.of(sha),
            revision=revision,
            timings=timings,
            parts=_parts(of_times, of_side, timings),
            count_repeats=_counts(counting, of_side),
            failures=failures,
            skips=skips,
            provenance=last.provenance_of(side_number),
            under=of_side.newest,
            provenances={each.id: each.provenance_of(number) for each, _, number in members if each.id in {*of_side.newest.values()}},
            methods=observed.methods if observed else {},
            article=observed.article if observed else {},
            column=column,
            launches=tuple(launch.started for launch, _, _ in members),
            counted_on=tuple(dict.fromkeys(launch.machine for launch, _, _ in counting if launch.kind == "counts")),
        )


def _superseded(
    machine: str,
    own: Iterable[tuple[Launch, Cases]],
    borrowed: Iterable[tuple[Launch, Cases]],
    newest: Mapping[str, Suite],
    releases: ReleaseIndex,
) -> Iterator[TensorcopyError]:
    """Yield an error for a machine of which some release has a suite in an earlier version only."""
    earlier: dict[tuple[str, str, Place], set[str]] = {}  # cases by suite, SHA and place
    current: set[tuple[str, str, Place]] = set()
    for launch, _ in (*borrowed, *own):
        for name, suite in launch.suites.items():
            keys = [(name, side.sha, side.place) for side in launch.sides]
            if suite.form == newest[name].form:
                current.update(keys)
            elif cases := {*suite.rows, *suite.values}:
                for key in keys:
                    earlier.setdefault(key, set()).update(cases)
    only = {key: cases for key, cases in earlier.items() if key not in current}
    if only:
        by_suite = {name: set[str]().union(*(cases for key, cases in only.items() if key[0] == name)) for name, *_ in sorted(only)}
        names = [f"{name} ({len(cases)} cases)" for name, cases in by_suite.items()]
        of_torch = " ".join(release.version for release in releases if release.sha in {sha for _, sha, _ in only})
        yield TensorcopyError(
            f"results of {machine} do not count: of an earlier version of their suites",
            got=f"{', '.join(names[:SHOWN])}{', …' if len(names) > SHOWN else ''} with torch {of_torch}",
            allowed="the newest version of each suite that this machine, or one of its platform, has measured",
            next=f"tensorcopy measure {of_torch} --machine {machine}",
        )


def _left_out(machine: str, pooled: Mapping[Place, Pooled], releases: ReleaseIndex) -> Iterator[TensorcopyError]:
    """Yield an error for a machine with launches under other conditions than the newest of their release."""
    ids: dict[Differences, set[str]] = {}
    for of_side in pooled.values():
        for launch, cases in of_side.left_out.items():
            for differences in cases.values():
                ids.setdefault(differences, set()).add(launch)
    if ids:
        shas = dict.fromkeys(sha for (sha, *_), of_side in pooled.items() if of_side.left_out)
        of_torch = " ".join([release.version for release in releases if release.sha in shas] or [sha[:8] for sha in shas])
        groups = []
        for differences, of_group in ids.items():
            fields = ", ".join(f"{name} {before}, not {after}" for name, before, after in differences)
            groups.append(f"{min(of_group)}{f' and {len(of_group) - 1} others' if len(of_group) > 1 else ''} with {fields}")
        yield TensorcopyError(
            f"launches of {machine} are left out: under other conditions than the newest of their release",
            got=f"{'; '.join(groups[:SHOWN])}{'; …' if len(groups) > SHOWN else ''}, of torch {of_torch}",
            allowed="launches of a release under the same conditions",
            next=f"tensorcopy measure {of_torch} --machine {machine}, or remove the newest launches if theirs are the wrong conditions",
        )


def _counts(members: Iterable[Member], pooled: Pooled) -> dict[Case, tuple[float, ...]]:
    """Return the repeated counts of each case of one result, of those launches that are pooled."""
    counts: dict[Case, tuple[float, ...]] = {}
    for launch, cases, _ in members:
        for case, value in ((cases[name][int(index)], value) for name in cases for index, value in launch.suites[name].values.items()):
            if case not in pooled.left_out.get(launch.id, ()):
                counts[case] = (*counts.get(case, ()), value)
    return counts


def _parts(members: Iterable[Member], pooled: Pooled, timings: Mapping[Case, Timing]) -> dict[Case, dict[str, float]]:
    """Return the parts of each case of one result whose launches keep them, of those that are pooled."""
    taken: dict[Case, list[Parts]] = {}
    for launch, cases, side in members:
        for name in (name for name in cases if suite_specs.find(name).in_parts):
            for index, row in launch.suites[name].rows.items():
                case = cases[name][int(index)]
                if row.parts and (parts := row.parts[side]) and case not in pooled.left_out.get(launch.id, ()):
                    taken.setdefault(case, []).append(parts)
    return {case: call_parts.pooled(case, timings[case].seconds, of_case) for case, of_case in taken.items() if case in timings}


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


def concerning(results: Results, machines: Collection[str], *, named: bool = True) -> tuple[TensorcopyError, ...]:
    """Return the problems of files that could have launches of these machines; of any, where empty.

    named : whether the machines were asked for; if not, any other might have answered in their place with what could not be read
    """
    problems = [(each, each.path.parent.name if isinstance(each, FileProblem) else "") for each in results.problems]
    all_concern = not machines or not named
    return tuple(each for each, folder in problems if all_concern or not folder or any(may_be_of(name, folder) for name in machines))
