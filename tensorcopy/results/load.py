"""asv's result files as values: releases on machines, cases and their times.

`files` reads the JSON.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import product
from pathlib import Path
from time import time
from typing import Any

from tensorcopy.errors import TensorcopyError
from tensorcopy.results import files, passes
from tensorcopy.results.noise import quiet
from tensorcopy.results.noise.quiet import NANO
from tensorcopy.results.noise.speed import control_exponent
from tensorcopy.results.passes import PassSamples, Timing

MOST = 2**62  # elements that a tensor may have
SHORTEST, LONGEST = 1e-12, 1e6  # seconds: a call takes more than a cycle, and less than eleven days
SETTLED = 2.0  # seconds: a file that changed so lately may change again without a later time stamp


@dataclass(frozen=True)
class Case:
    """A timed call: a suite and its parameters, by name and as text.

    suite : such as "copies.BySize.time_copy"
    """

    suite: str
    parameters: tuple[tuple[str, str], ...]

    def __getitem__(self, name: str) -> str:
        return dict(self.parameters)[name]

    @property
    def device(self) -> str:
        """The device of its tensor."""
        return dict(self.parameters).get("device", "cpu")


@dataclass(frozen=True)
class Result:
    """One result file: a release on one machine, Python and build."""

    path: Path
    machine: str
    sha: str
    python: str
    build: str
    environment: str  # such as "py3.11-cuda"
    timings: dict[Case, Timing]
    counts: dict[Case, float] = field(default_factory=dict)  # bytes, allocations or instructions, by the suite's name
    passes: tuple[dict[str, Any], ...] = ()  # the records, as `passes` describes them
    provenance: dict[str, Any] = field(default_factory=dict)
    methods: dict[str, Any] = field(default_factory=dict)
    article: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Results:
    """Every readable result under a folder, and an error for each other file."""

    results: tuple[Result, ...]
    problems: tuple[TensorcopyError, ...]
    unpublishable: tuple[TensorcopyError, ...] = ()  # problems that stop asv from publishing


def load_results(directory: Path) -> Results:
    """Return every result under `directory`, read once until a file changes.

    Raises nothing: a damaged or deleted file, or a number whose provenance disagrees with its label, is a problem, and the others are read.
    Callers share the returned values and must not change them.
    """
    stats = {str(path): path.stat() for path in (directory / "benchmarks.json", *sorted(directory.glob("*/*.json"))) if path.is_file()}
    state = tuple((name, stat.st_ino, stat.st_size, stat.st_mtime_ns) for name, stat in stats.items())
    settled = all(stat.st_mtime < time() - SETTLED for stat in stats.values())
    results = (_load_cached if settled else _load)(directory, (directory.absolute(), *state))
    deleted = files.deleted(directory)  # git's answer does not depend on the files alone
    return replace(results, problems=(*deleted, *results.problems)) if deleted else results


def _load(directory: Path, state: Hashable) -> Results:
    """Load every result; `state` is the key of `_load_cached`."""
    try:
        suites = files.read(directory / "benchmarks.json")
    except TensorcopyError as error:
        return Results((), (error,), (error,))
    documents, problems, unpublishable = files.documents(directory)
    faults = {path: files.fault(document) for path, document in documents.items()}
    rules = _quiet_rules({path: document for path, document in documents.items() if not faults[path]})
    untimed = []
    for path, document in documents.items():
        try:
            read_in = _untimed(path, document, faults[path], suites, rules.get(_where(path, document), ALL_QUIET))
            if read_in.result.provenance.get("torch_sha") != read_in.result.sha:
                raise _wrong_provenance(read_in.result)
            untimed.append(read_in)
        except TensorcopyError as error:
            problems.append(error)
    return Results(tuple(_timed(untimed)), tuple(problems), tuple(unpublishable))


_load_cached = lru_cache(maxsize=4)(_load)  # two folders of a comparison, the history and the known changes


def read(path: Path, suites: dict[str, Any]) -> Result:
    """Return the result in one file.

    suites : asv's benchmarks.json, which has the parameters' names

    Numbers of a suite that no longer exists, or of an earlier version of it, are skipped. Raises TensorcopyError, naming the file, for one
    that is cut off or not asv's.
    """
    document = files.read(path)
    fault = files.fault(document)
    rule = ALL_QUIET if fault else _quiet_rules({path: document})[_where(path, document)]
    return next(_timed([_untimed(path, document, fault, suites, rule)]))


@dataclass(frozen=True)
class _QuietRule:
    """What counts as quiet on one machine and Python.

    limit : the greatest control, in seconds; excluded : why a pass is excluded, by its id
    """

    limit: float
    excluded: Mapping[str, str]


ALL_QUIET = _QuietRule(float("inf"), {})  # where no pass was recorded


def _where(path: Path, document: dict[str, Any]) -> tuple[str, str]:
    """Return machine and Python: readings of the control compare within them."""
    return path.parent.name, str(document.get("python"))


def _quiet_rules(documents: dict[Path, dict[str, Any]]) -> dict[tuple[str, str], _QuietRule]:
    """Return what counts as quiet by machine and Python, from valid documents."""
    records: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for path, document in documents.items():
        records.setdefault(_where(path, document), []).extend(document["passes"])
    return {where: _QuietRule(quiet.limit(group), quiet.excluded(group)) for where, group in records.items()}


@dataclass(frozen=True)
class _Untimed:
    """A result without its timings, and each case's samples by pass.

    How a case follows the control is fitted to all results together, before there are timings.
    """

    result: Result
    samples: dict[Case, tuple[PassSamples, ...]]


def _timed(untimed: list[_Untimed]) -> Iterator[Result]:
    """Yield the results with their timings, speed-corrected where disturbed."""
    exponents = _control_exponents(untimed)
    for each in untimed:
        timings = {}
        for case, by_pass in each.samples.items():
            exponent = exponents[each.result.machine, each.result.python, case]
            if exponent is not None:
                by_pass = tuple([PassSamples(p.samples, p.control, p.limit, exponent, p.excluded, p.name) for p in by_pass])
            timings[case] = passes.timing(by_pass)
        yield replace(each.result, timings=timings)


def _control_exponents(untimed: list[_Untimed]) -> dict[tuple[str, str, Case], float | None]:
    """Return the control exponents by machine, Python and case.

    They are fitted to all releases together.
    """
    releases: dict[tuple[str, str, Case], list[list[tuple[float, float]]]] = {}
    limits: dict[tuple[str, str, Case], float] = {}
    for each in untimed:
        for case, by_pass in each.samples.items():
            key = each.result.machine, each.result.python, case
            pairs = [pair for pass_samples in by_pass if not pass_samples.excluded for pair in pass_samples.pairs]
            releases.setdefault(key, []).append(pairs)
            limits.setdefault(key, by_pass[0].limit)
    return {key: control_exponent(pairs, limits[key]) for key, pairs in releases.items()}


def _untimed(path: Path, document: dict[str, Any], fault: str, suites: dict[str, Any], rule: _QuietRule) -> _Untimed:
    """Return the contents of one document.

    Raises TensorcopyError for a document that is not asv's or violates the schema.
    """
    if fault and document.get("ledger"):
        raise files.damaged(path, fault)
    try:
        samples, counts = _numbers(document, suites, rule)
        result = Result(
            path=path,
            machine=document["params"]["machine"],
            sha=document["commit_hash"],
            python=document["python"],
            build=document["params"].get("build", ""),
            environment=document["env_name"],
            timings={},
            counts=counts,
            passes=tuple(document.get("passes", ())),
            provenance=document.get("ledger", {}),
            methods=document.get("methods", {}),
            article=document.get("article", {}),
        )
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise files.damaged(path, f"{type(error).__name__}: {error}") from error
    return _Untimed(result, samples)


def _numbers(
    document: dict[str, Any], suites: dict[str, Any], rule: _QuietRule
) -> tuple[dict[Case, tuple[PassSamples, ...]], dict[Case, float]]:
    """Return the samples of every timed case and the value of every counted one.

    Suites of another version than the current one are skipped.
    """
    samples: dict[Case, tuple[PassSamples, ...]] = {}
    counts: dict[Case, float] = {}
    for suite, values in document["results"].items():
        row = dict(zip(document["result_columns"], values))
        if suite not in suites or row["version"] != suites[suite]["version"]:
            continue
        timed = suites[suite].get("type", "time") == "time"
        for index, case in enumerate(_cases(suite, tuple(suites[suite]["param_names"]), tuple(map(tuple, row["params"])))):
            value = files.number(_cell(row, "result", index))
            if value is None:  # failed or skipped
                continue
            if timed:
                seconds = [_seconds(sample) for sample in _cell(row, "samples", index) or (value,)]
                samples[case] = _by_pass(passes.split_by_pass(document.get("passes", ()), suite, index, seconds), rule)
            else:
                counts[case] = value
    return samples, counts


def _by_pass(parts: list[passes.Part], rule: _QuietRule) -> tuple[PassSamples, ...]:
    by_pass = []
    for name, samples, readings in parts:
        if name:
            control = tuple([reading * NANO for reading in readings])
            by_pass.append(PassSamples(tuple(samples), control, rule.limit, None, rule.excluded.get(name, ""), name))
        else:
            by_pass.append(PassSamples(tuple(samples)))
    return tuple(by_pass)


@lru_cache(maxsize=512)  # a suite has the same cases in almost every file
def _cases(suite: str, names: tuple[str, ...], params: tuple[tuple[str, ...], ...]) -> tuple[Case, ...]:
    """Return a suite's cases in asv's order; a suite without parameters is one case."""
    return tuple(
        Case(suite, _valid(tuple(zip(names, (text.strip("'") for text in parameters), strict=True)))) for parameters in product(*params)
    )


def _valid(parameters: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Return a case's parameters, checked.

    Raises ValueError for a number of elements that no tensor has.
    """
    numel = dict(parameters).get("numel", "1")
    if not (numel.isascii() and numel.isdecimal()) or len(numel) > len(str(MOST)) or not 0 < int(numel) <= MOST:
        raise ValueError(f"numel {numel[:20]!r}")
    return parameters


def _seconds(sample: Any) -> float:
    """Return a sample. Raises ValueError for a value that no time can have."""
    if not (isinstance(sample, (int, float)) and SHORTEST < sample < LONGEST):
        raise ValueError(f"a sample of {sample!r} seconds")
    return float(sample)


def _cell(row: dict[str, Any], column: str, index: int) -> Any:
    """Return a case's value in a column; asv writes null for a column of nulls."""
    cells = row.get(column)
    return cells[index] if cells else None


def _wrong_provenance(result: Result) -> TensorcopyError:
    return TensorcopyError(
        f"the result file {files.displayed(result.path)} is refused, its provenance does not match its label",
        got=result.provenance.get("torch_sha", "no provenance, as after a run that was killed"),
        allowed=f"the provenance of torch {result.sha[:8]}",
        next="remove the file and measure again",
    )
