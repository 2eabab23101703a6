"""Read a folder of results: every release on every machine, with its times and counts, and an error for each file that cannot be read.

`launches` reads a file, `effects` fits the times of a machine to all of its launches.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite
from pathlib import Path

from tensorcopy import files
from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import release_table
from tensorcopy.releases.release_table import ReleaseIndex
from tensorcopy.results import call_parts, conditions, effects, launches, machine_names, shared_counts, suite_specs
from tensorcopy.results.cases import Case, Cases, stored_cases
from tensorcopy.results.conditions import Differences, Pooled
from tensorcopy.results.effects import Column, Timing
from tensorcopy.results.launches import FileProblem, Launch, Parts, Place
from tensorcopy.results.machine_names import may_be_of
from tensorcopy.results.result import Result

SHOWN = 6  # suites that a sentence names
DOCUMENT = r"(?i)\.(md|rst|txt|json|html|csv)$|^(readme|license)$"  # what may stand beside the folders of machines


@dataclass(frozen=True)
class Results:
    """Every readable result under a folder, and an error for each other file.

    warnings : a sentence for each machine that shares its name with another one, then those of `superseded`
    launches : those that were read
    superseded : a sentence for each machine of which a release has a suite in an earlier version only, or launches under other conditions
        than its newest: these do not count
    """

    results: tuple[Result, ...]
    problems: tuple[TensorcopyError, ...]
    warnings: tuple[TensorcopyError, ...] = ()
    launches: tuple[Launch, ...] = ()
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
    if not files.is_there(directory):
        return ()  # there are no results yet
    unlisted, folders = [], [directory]
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
    read: list[tuple[Launch, Cases]] = []
    problems: list[TensorcopyError] = [
        FileProblem(
            f"the launches in {launches.displayed(path).parent} cannot be listed",
            path=path,
            got=reason,
            allowed="a folder that you may read",
            next=f"ls -ld {launches.displayed(path).parent}",
        )
        for path, reason in ((folder / "*.json", reason) for folder, reason in _unlisted(directory))
    ]
    seen: dict[Hashable, Path] = {}
    for path in sorted(directory.glob("*/*.json")):
        try:
            launch = launches.read(path)
            with launches.damage_named(path):
                cases = _cases(launch)
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
        read.append((launch, cases))
    starts: dict[tuple[str, str], str] = {}
    for launch, _ in read:
        host = launch.machine, launch.identity
        starts[host] = min(launch.started, starts.get(host, launch.started))
    names = machine_names.by_host(starts)
    holders = {machine: identity for (machine, identity), name in names.items() if name == machine}
    warnings = [
        machine_names.two_machines(machine, holders[machine], identity, name, "measure under another --machine")
        for (machine, identity), name in names.items()
        if name != machine
    ]
    results: list[Result] = []
    superseded: list[TensorcopyError] = []
    for host, name in sorted(names.items(), key=lambda each: each[1]):
        of_host = sorted((each for each in read if (each[0].machine, each[0].identity) == host), key=lambda each: each[0].id)
        places = {side.place: launch.provenance_of(number) for launch, _ in of_host for number, side in enumerate(launch.sides)}
        elsewhere = [(each, _cases(each)) for each in shared_counts.elsewhere((launch for launch, _ in read), host[1], places)]
        of_machine, left_out = _of_machine(directory, name, of_host, elsewhere, releases)
        results += of_machine
        own, borrowed = ([launch for launch, _ in each] for each in (of_host, elsewhere))
        superseded += [*_superseded(name, own, borrowed, releases), *_left_out(name, left_out, releases)]
    return Results(tuple(results), tuple(problems), (*warnings, *superseded), tuple(launch for launch, _ in read), tuple(superseded))


def _cases(launch: Launch) -> Cases:
    return {name: stored_cases(name, suite) for name, suite in launch.suites.items()}


def _unknown_torch(path: Path, launch: Launch, releases: ReleaseIndex) -> list[TensorcopyError]:
    """Return an error for each side whose torch is in no row of the table: it is in no history. Raises one for a mislabelled side."""
    problems: list[TensorcopyError] = []
    for number, side in enumerate(launch.sides):
        version = releases.version(side.sha)
        provenance = launch.provenance_of(number)
        torch = str(provenance.get("torch", ""))
        differs = provenance.get("torch_sha") != side.sha or not str(provenance.get("python", "")).startswith(
            f"{side.environment.split('-')[0][2:]}."
        )
        if differs or (version and torch.partition("+")[0] != version):
            raise FileProblem(
                f"the launch {launches.displayed(path)} is refused, its provenance does not match its label",
                path=path,
                got=f"torch {torch[:60]} of {str(provenance.get('torch_sha'))[:8]} on Python {str(provenance.get('python'))[:12]}",
                allowed=f"{side.sha[:8]} in {side.environment}",
                next="remove the file and measure again",
            )
        if not version:
            of_table = torch.partition("+")[0] in [release.version for release in releases]  # another build of it
            problems.append(
                FileProblem(
                    f"a side of the launch {launches.displayed(path)} is in no history",
                    path=path,
                    got=f"torch {torch[:60]} of {side.sha[:8]}",
                    allowed="a SHA with a row in the table of releases",
                    next="remove the file" if of_table else f"tensorcopy list releases --add {torch.partition('+')[0][:60]}",
                )
            )
    return problems


def _of_machine(
    folder: Path,
    machine: str,
    read: Sequence[tuple[Launch, Cases]],
    elsewhere: Sequence[tuple[Launch, Cases]],
    releases: ReleaseIndex,
) -> tuple[list[Result], dict[Place, Pooled]]:
    """Return the results of one machine from its launches, in order, and which launches of each are pooled.

    Of each suite, only those of its newest version count.

    elsewhere : launches of counts of other machines that hold for this one too
    """
    suites = launches.newest_suites(launch for launch, _ in (*elsewhere, *read))
    current, borrowed = (
        [
            (launch, {name: of_suite for name, of_suite in cases.items() if launch.suites[name].form == suites[name].form})
            for launch, cases in each
        ]
        for each in (read, elsewhere)
    )
    by_place: dict[Place, list[tuple[Launch, Cases, int]]] = {}
    for launch, cases in current:
        for number, side in enumerate(launch.sides):
            by_place.setdefault(side.place, []).append((launch, cases, number))
    pooled = {place: conditions.pooled(members) for place, members in by_place.items()}
    left_out = {(id, place): cases for place, of_side in pooled.items() for id, cases in of_side.left_out.items()}
    timed = effects.gathered([each for each in current if each[0].kind == "times"], left_out)
    results = []
    for place, members in by_place.items():
        (sha, environment, revision), of_side = place, pooled[place]
        column = Column(timed, timed.columns[place]) if place in timed.columns else None
        timings = column.timings() if column else {}
        of_times = [each for each in members if each[0].kind == "times"]
        newest, _, side_number = (of_times or members)[-1]
        ids = {*of_side.newest.values()}
        counting = [*((launch, cases, 0) for launch, cases in borrowed if launch.sides[0].place == place), *members]
        failures, skips = _reasons(counting)
        observed = next((launch for launch, _, _ in reversed(counting) if launch.methods), None)
        result = Result(
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
            provenance=newest.provenance_of(side_number),
            under=of_side.newest,
            provenances={launch.id: launch.provenance_of(number) for launch, _, number in members if launch.id in ids},
            methods=observed.methods if observed else {},
            article=observed.article if observed else {},
            column=column,
            launches=tuple(launch.started for launch, _, _ in members),
            counted_on=tuple(dict.fromkeys(launch.machine for launch, _, _ in counting if launch.kind == "counts")),
        )
        results.append(result)
    return results, pooled


def _superseded(machine: str, read: Sequence[Launch], elsewhere: Sequence[Launch], releases: ReleaseIndex) -> Iterator[TensorcopyError]:
    """Yield an error for a machine of which some release has a suite in an earlier version only.

    elsewhere : as in `_of_machine`
    """
    suites, places = launches.newest_suites((*elsewhere, *read)), dict[tuple[str, ...], dict[tuple[str, str], set[str]]]()
    current = {(name, *each.sides[0].place) for each in elsewhere for name, suite in each.suites.items() if suite.form == suites[name].form}
    several = {name for launch in read for name, suite in launch.suites.items() if suite.form != suites[name].form}
    for launch in read:
        for name in several & launch.suites.keys():
            suite = launch.suites[name]
            for side in launch.sides:
                by_version = places.setdefault((name, *side.place), {})
                by_version.setdefault(suite.form, set()).update(suite.rows, suite.values)
    earlier: dict[str, set[str]] = {}  # cases by suite
    shas: set[str] = set()
    for place, by_version in places.items():
        name, sha, *_ = place
        cases = set[str]().union(*by_version.values())
        if suites[name].form not in by_version and place not in current and cases:
            earlier.setdefault(name, set()).update(cases)
            shas.add(sha)
    if earlier:
        names = [f"{name} ({len(cases)} cases)" for name, cases in sorted(earlier.items())]
        of_torch = " ".join(release.version for release in releases if release.sha in shas)
        yield TensorcopyError(
            f"results of {machine} do not count: of an earlier version of their suites",
            got=f"{', '.join(names[:SHOWN])}{', …' if len(names) > SHOWN else ''} with torch {of_torch}",
            allowed="the newest version of each suite that this machine, or one of its platform, has measured",
            next=f"tensorcopy measure {of_torch} --machine {machine}",
        )


def _left_out(machine: str, pooled: Mapping[Place, Pooled], releases: ReleaseIndex) -> Iterator[TensorcopyError]:
    """Yield an error for a machine with launches under other conditions than the newest of their release."""
    launches_of: dict[Differences, set[str]] = {}
    shas: dict[str, None] = {}
    for (sha, *_), of_side in pooled.items():
        for launch, cases in of_side.left_out.items():
            for differences in cases.values():
                launches_of.setdefault(differences, set()).add(launch)
            shas.setdefault(sha)
    if launches_of:
        of_torch = " ".join([release.version for release in releases if release.sha in shas] or [sha[:8] for sha in shas])
        groups = []
        for differences, ids in launches_of.items():
            fields = ", ".join(f"{name} {before}, not {after}" for name, before, after in differences)
            others = f" and {len(ids) - 1} others" if len(ids) > 1 else ""
            groups.append(f"{min(ids)}{others} with {fields}")
        yield TensorcopyError(
            f"launches of {machine} are left out: under other conditions than the newest of their release",
            got=f"{'; '.join(groups[:SHOWN])}{'; …' if len(groups) > SHOWN else ''}, of torch {of_torch}",
            allowed="launches of a release under the same conditions",
            next=f"tensorcopy measure {of_torch} --machine {machine}, or remove the newest launches if theirs are the wrong conditions",
        )


def _counts(members: Iterable[tuple[Launch, Cases, int]], pooled: Pooled) -> dict[Case, tuple[float, ...]]:
    """Return the repeated counts of each case of one result, of those launches that are pooled."""
    counts: dict[Case, tuple[float, ...]] = {}
    for launch, cases, _ in members:
        for name, of_suite in cases.items():
            for index, value in launch.suites[name].values.items():
                case = of_suite[int(index)]
                if isfinite(value) and case not in pooled.left_out.get(launch.id, ()):
                    counts[case] = (*counts.get(case, ()), value)
    return counts


def _parts(members: Iterable[tuple[Launch, Cases, int]], pooled: Pooled, timings: Mapping[Case, Timing]) -> dict[Case, dict[str, float]]:
    """Return the parts of each case of one result whose launches keep them, of those that are pooled."""
    taken: dict[Case, list[Parts]] = {}
    for launch, cases, side in members:
        for name, of_suite in cases.items():
            for index, row in launch.suites[name].rows.items() if suite_specs.find(name).in_parts else ():
                case = of_suite[int(index)]
                if row.parts and (parts := row.parts[side]) and case not in pooled.left_out.get(launch.id, ()):
                    taken.setdefault(case, []).append(parts)
    return {case: call_parts.pooled(case, timings[case].seconds, of_case) for case, of_case in taken.items() if case in timings}


def _reasons(members: Iterable[tuple[Launch, Cases, int]]) -> tuple[dict[Case, str], dict[Case, str]]:
    """Return what each case raised in the last launch that had it, and why others were skipped there."""
    failures: dict[Case, str] = {}
    skips: dict[Case, str] = {}
    for launch, cases, side in members:
        for name, of_suite in cases.items():
            suite = launch.suites[name]
            if not (suite.failed or suite.skipped or any(case.suite == name for case in (*failures, *skips))):
                continue  # no reason to add or to take back, as in most suites
            for index in (*suite.rows, *suite.values, *suite.skipped, *suite.failed):
                case = of_suite[int(index)]
                for reasons, stored in ((failures, suite.failed), (skips, suite.skipped)):
                    by_side = stored.get(index, {})
                    reason = by_side.get(str(side), by_side.get(launches.ALL))
                    if reason is not None:
                        reasons[case] = reason
                    elif suite.tells(index, side):
                        reasons.pop(case, None)
    return failures, skips


def concerning(results: Results, machines: Collection[str], *, named: bool = True) -> tuple[TensorcopyError, ...]:
    """Return the problems of files that could have launches of these machines; of any, where empty.

    named : whether the machines were asked for; if not, any other might have answered in their place with what could not be read
    """
    if not machines or not named:
        return results.problems
    return tuple(
        problem
        for problem in results.problems
        if not isinstance(problem, FileProblem) or any(may_be_of(name, problem.path.parent.name) for name in machines)
    )
