"""Read a folder of results: releases on machines, cases and their times, and an error for each file that cannot be read.

`files` reads the JSON, `passes` the numbers in it, and `merge_results` tells machines of one name apart.
"""

from __future__ import annotations

import json
import os
import re
from array import array
from collections.abc import Collection, Hashable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from math import inf
from pathlib import Path
from time import time
from typing import Any

from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import release_table
from tensorcopy.results import files, passes
from tensorcopy.results.files import NOT_RESULTS, FileProblem
from tensorcopy.results.merge_results import separated
from tensorcopy.results.passes import Case, PassSamples, QuietRule, Timing, control_exponent
from tensorcopy.results.series_key import INTERPRETER, SeriesKey, key_of, of_provenance

Samples = dict[Case, tuple[PassSamples, ...]]  # by case and pass


@dataclass(frozen=True)
class Result:
    """One result file: a release on one machine, Python and build.

    path : of the file; where its folder has several machines, the path that the file would have in a folder of `machine`
    """

    path: Path
    machine: str
    sha: str
    python: str
    build: str
    environment: str  # such as "py3.11-cuda"
    timings: dict[Case, Timing]
    counts: dict[Case, float] = field(default_factory=dict)  # in the unit of the suite (`Case.spec`)
    count_repeats: dict[Case, tuple[float, ...]] = field(default_factory=dict)  # the counts of every pass that counted
    passes: tuple[dict[str, Any], ...] = ()  # the records, as `passes` describes them; of each suite only the control, in one list
    provenance: dict[str, Any] = field(default_factory=dict)
    methods: dict[str, Any] = field(default_factory=dict)
    article: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def series_key(self) -> SeriesKey:
        """Which series it belongs to."""
        suffix = INTERPRETER if self.environment.endswith(INTERPRETER) else ""
        return SeriesKey(self.machine, of_provenance(self.provenance), self.python, self.build + suffix)

    def __hash__(self) -> int:
        return hash(self.path)  # what is computed from several results is cached by them


@dataclass(frozen=True)
class Results:
    """Every readable result under a folder, and an error for each other file.

    warnings : a sentence for each machine that shares its name with another one
    valid : the files with a valid document of real devices, which asv may read
    """

    results: tuple[Result, ...]
    problems: tuple[TensorcopyError, ...]
    unpublishable: tuple[TensorcopyError, ...] = ()  # problems that stop asv from publishing
    warnings: tuple[TensorcopyError, ...] = ()
    valid: tuple[Path, ...] = ()


SETTLED = 2.0  # seconds: a file that changed so lately may change again without a later time stamp


def load_results(directory: Path) -> Results:
    """Return every result under `directory`, read once until a file changes.

    Raises nothing: a damaged or deleted file, or a number whose provenance disagrees with its label, is a problem, and the others are read.
    Callers share the returned values and must not change them.
    """
    state, settled = folder_state(directory)
    results = (_load_cached if settled else _load)(directory, state)
    deleted = files.deleted(directory)  # git's answer does not depend on the files alone
    return replace(results, problems=(*deleted, *results.problems)) if deleted else results


def folder_state(directory: Path) -> tuple[Hashable, bool]:
    """Return a value that changes when a file changes, comes or goes, and whether no file has changed lately."""
    statuses = {}
    for path in (directory / "benchmarks.json", *sorted(directory.glob("*/*.json"))):
        with suppress(OSError, ValueError):
            statuses[path] = path.stat() if path.exists() else path.lstat()  # a link to nothing has only a status of its own
    key = tuple((path, status.st_ino, status.st_size, status.st_mtime_ns, status.st_mode) for path, status in statuses.items())
    return (directory.absolute(), *key), all(status.st_mtime < time() - SETTLED for status in statuses.values())


def _load(directory: Path, state: Hashable) -> Results:
    """Load every result of a folder; `state` is the key of `_load_cached`. Those of a machine without a valid machine.json are not read."""
    documents: dict[Path, dict[str, Any]] = {}
    problems: list[TensorcopyError] = []
    unpublishable: list[TensorcopyError] = []
    try:
        suites = files.benchmarks(directory)
    except TensorcopyError as error:
        return Results((), (error,), (error,))
    for folder in sorted({path.parent for path in directory.glob("*/*.json")}):
        try:
            files.machine(folder)
        except TensorcopyError as error:
            problems.append(error)
            unpublishable += [error] if os.path.lexists(folder / "machine.json") else []  # asv skips a folder without one
            continue
        for path in sorted(path for path in folder.glob("*.json") if path.name not in NOT_RESULTS):
            try:
                document = documents[path] = files.result(path)
            except TensorcopyError as error:
                problems.append(error)
                continue
            if not files.release_of(document):
                problems.append(files.in_no_row(path, document))
    valid = tuple(documents)
    by_machine = separated(documents)
    documents.clear()  # they take as much memory as results, so they are forgotten one after another
    rules = _quiet_rules(by_machine.documents)
    samples: list[tuple[Result, Samples]] = []
    for path in list(by_machine.documents):
        document = by_machine.documents.pop(path)
        try:
            samples.append(_without_timings(path, document, suites, rules[key_of(path.parent.name, document)]))
        except TensorcopyError as error:
            problems.append(error)
    return Results(tuple(_timed(samples)), (*problems, *by_machine.problems), tuple(unpublishable), by_machine.warnings, valid)


_load_cached = lru_cache(maxsize=4)(_load)  # two folders of a comparison, the history and the known changes


def _quiet_rules(documents: dict[Path, dict[str, Any]]) -> dict[SeriesKey, QuietRule]:
    """Return what counts as quiet in each series, from valid documents: readings of the control compare within one."""
    records: dict[SeriesKey, list[dict[str, Any]]] = {}
    for path, document in documents.items():
        records.setdefault(key_of(path.parent.name, document), []).extend(document["passes"])
    return {key: QuietRule(passes.quiet_limit(group), passes.excluded_passes(group)) for key, group in records.items()}


def _timed(untimed: list[tuple[Result, Samples]]) -> Iterator[Result]:
    """Yield the results with their timings, speed-corrected where disturbed.

    How a case follows the control is fitted to all results together, before there are timings.
    """
    exponents = _control_exponents(untimed)
    untimed.reverse()
    while untimed:  # samples are forgotten one result after another
        result, samples = untimed.pop()
        timings = {}
        for case, by_pass in samples.items():
            exponent = exponents[result.series_key, case]
            if exponent is not None:
                by_pass = tuple([PassSamples(p.samples, p.control, p.limit, exponent, p.excluded, p.name) for p in by_pass])
            timings[case] = passes.timing(by_pass)
        yield replace(result, timings=timings)


def _control_exponents(untimed: list[tuple[Result, Samples]]) -> dict[tuple[SeriesKey, Case], float | None]:
    """Return the control exponents by series and case.

    They are fitted to all releases together.
    """
    releases: dict[tuple[SeriesKey, Case], list[list[tuple[float, float]]]] = {}
    limits: dict[tuple[SeriesKey, Case], float] = {}
    for result, samples in untimed:
        for case, by_pass in samples.items():
            key = result.series_key, case
            pairs = [pair for pass_samples in by_pass if not pass_samples.excluded for pair in pass_samples.pairs]
            releases.setdefault(key, []).append(pairs)
            limits[key] = min(limits.get(key, inf), *(pass_samples.limit for pass_samples in by_pass))
    return {key: control_exponent(pairs, limits[key]) for key, pairs in releases.items()}


def _without_timings(path: Path, document: dict[str, Any], suites: dict[str, Any], rule: QuietRule) -> tuple[Result, Samples]:
    """Return the result of one valid document, without its timings, and its samples.

    Raises TensorcopyError for parameters that benchmarks.json does not have.
    """
    with files.damage_named(path):
        for provenance in (document["ledger"], *(record["ledger"] for record in document["passes"])):
            provenance.update({name: _shared(provenance[name]) for name in ("hardware", "settings") if name in provenance})
        samples, counts, count_repeats = passes.numbers(document, suites, rule)
        result = Result(
            path=path,
            machine=document["params"]["machine"],
            sha=document["commit_hash"],
            python=document["python"],
            build=document["params"].get("build", ""),
            environment=document["env_name"],
            timings={},
            counts=counts,
            count_repeats=count_repeats,
            passes=tuple(map(_summary, document["passes"])),
            provenance=_provenance(document),
            methods=_shared(document.get("methods", {})),
            article=document.get("article", {}),
        )
    return result, samples


def _shared(value: Any) -> Any:
    """Return an equal value that results have in common; copies of hardware and methods would take a fifteenth of the memory."""
    return _parsed(json.dumps(value))


_parsed = lru_cache(maxsize=1024)(json.loads)


def _summary(record: dict[str, Any]) -> dict[str, Any]:
    """Return a pass's record without what its samples have too, which is most of it."""
    readings = {suite: [reading for case in row["control_ns"] for reading in case] for suite, row in record["suites"].items()}
    return {**record, "suites": {suite: {"control_ns": [array("q", of_suite)]} for suite, of_suite in readings.items()}}


def _provenance(document: dict[str, Any]) -> dict[str, Any]:
    """Return the provenance of the last pass that timed anything, else of the last pass.

    Counting may run on fewer cores than timing.
    """
    timed = [record["ledger"] for record in document["passes"] if record["suites"]]
    newest: dict[str, Any] = max(timed, key=lambda provenance: str(provenance["started"]), default=document["ledger"])
    return newest


# The results that a damaged, refused or missing file would have held, by its name. Reads only the names in a folder.

RESULT_NAME = re.compile(r"(?P<sha>[0-9a-f]{8})-py(?P<python>3\.\d{1,2})-(?P<build>[a-z]+(-interpreter)?)\.json$")


@dataclass(frozen=True)
class Unread:
    """A result that could not be read.

    sha : its first eight digits; sha, python and build are "" where the name is not a result's, so that it may be any
    problem : why it could not be read
    """

    machine: str
    sha: str
    python: str
    build: str
    problem: TensorcopyError

    @property
    def label(self) -> str:
        """Return its release and Python, such as "torch 2.4.1 on Python 3.11"."""
        return f"torch {release_table.load().version(self.sha) or self.sha} on Python {self.python}"


def unread(problems: Iterable[TensorcopyError]) -> list[Unread]:
    """Return the results that could not be read because of these problems."""
    results = []
    for problem in problems:
        path = problem.path if isinstance(problem, FileProblem) else Path()
        names = [path.name] if path.suffix == ".json" and path.name != "benchmarks.json" else []
        if path.name == "machine.json":  # none of the folder's files are read
            names = sorted(other.name for other in path.parent.glob("*.json") if other.name not in NOT_RESULTS)
        for name in names:
            match = RESULT_NAME.search(name)
            sha, python, build = match.group("sha", "python", "build") if match else ("", "", "")
            results.append(Unread(path.parent.name, sha, python, build, problem))
    return results


def concerning(problems: Iterable[TensorcopyError], machines: Collection[str], pythons: Collection[str]) -> tuple[TensorcopyError, ...]:
    """Return the problems of files that could have results of these machines and Pythons.

    machines, pythons : any, where empty
    """
    concerned = []
    for problem in problems:
        held = unread([problem])
        if not held or any(
            (not machines or any(name.startswith(each.machine) for name in machines))  # a machine may have a suffix in its folder
            and (not pythons or each.python in ("", *pythons))
            for each in held
        ):
            concerned.append(problem)
    return tuple(concerned)
