"""What asv's result files say: releases on machines, cases and their times. `files` reads the files themselves."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

from tensorcopy.errors import TensorcopyError
from tensorcopy.results import files, pace, passes
from tensorcopy.results.passes import Timing

MOST = 2**62  # elements that a tensor may have
SHORTEST, LONGEST = 1e-12, 1e6  # seconds: a call takes more than a cycle, and less than eleven days


@dataclass(frozen=True)
class Case:
    """What was timed: a suite such as "copies.BySize.time_copy" and its parameters by name, as text."""

    suite: str
    parameters: tuple[tuple[str, str], ...]

    def __getitem__(self, name: str) -> str:
        return dict(self.parameters)[name]

    @property
    def device(self) -> str:
        """Where its tensor lies."""
        return dict(self.parameters).get("device", "cpu")


@dataclass(frozen=True)
class Result:
    """One file: a release on one machine, Python and build."""

    path: Path
    machine: str
    sha: str
    python: str
    build: str
    environment: str  # such as "py3.11-cuda"
    timings: dict[Case, Timing]
    counts: dict[Case, float] = field(default_factory=dict)  # bytes, allocations or instructions, as the suite's name says
    passes: tuple[dict[str, Any], ...] = ()  # the records, as `passes` describes them
    provenance: dict[str, Any] = field(default_factory=dict)
    methods: dict[str, Any] = field(default_factory=dict)
    article: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Results:
    """Everything under a results folder that can be read, and what cannot, each as an error that names its file."""

    results: tuple[Result, ...]
    problems: tuple[TensorcopyError, ...]
    unpublishable: tuple[TensorcopyError, ...] = ()  # of the problems, those that asv cannot do without


def load_results(directory: Path) -> Results:
    """Every result under `directory`. Raises nothing: a damaged or deleted file, or a number whose ledger disagrees with its label, is a
    problem; the others are read.
    """
    found, problems = [], list(_deleted(directory))
    try:
        suites = files.read(directory / "benchmarks.json")
    except TensorcopyError as error:
        return Results((), (error, *problems), (error,))
    machines, unpublishable = [], []
    for folder in sorted({path.parent for path in directory.glob("*/*.json")}):
        try:
            files.machine(folder)
            machines.append(folder)
        except TensorcopyError as error:
            problems.append(error)
            unpublishable += [error] if (folder / "machine.json").exists() else []  # asv leaves a folder without one out
    read_in = {}
    for path in sorted(path for folder in machines for path in folder.glob("*.json")):
        if path.name not in files.NOT_RESULTS:
            try:
                read_in[path] = files.read(path)
            except TensorcopyError as error:
                problems.append(error)
    usual = _usual(read_in)
    for path, document in read_in.items():
        try:
            result = _result(path, document, suites, usual[_where(path, document)])
            if result.provenance.get("torch_sha") != result.sha:
                raise _without_ledger(result)
            found.append(result)
        except TensorcopyError as error:
            problems.append(error)
    return Results(tuple(_paced(found)), tuple(problems), tuple(unpublishable))


@dataclass(frozen=True)
class _Usual:
    """What is usual on one machine and Python: the greatest control that counts as quiet, and which passes are left out, and why."""

    limit: float
    left_out: dict[str, str]


def _where(path: Path, document: dict[str, Any]) -> tuple[str, str]:
    """Readings of the control compare on one machine and Python."""
    return path.parent.name, str(document.get("python"))


def _usual(read_in: dict[Path, dict[str, Any]]) -> dict[tuple[str, str], _Usual]:
    """By machine and Python. A record that is not one counts for nothing here; reading its file will say so."""
    records: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for path, document in read_in.items():
        sound = document.get("passes", ()) if not files.fault(document) else ()
        records.setdefault(_where(path, document), []).extend(sound)
    return {where: _Usual(passes.limits(some), passes.left_out(some)) for where, some in records.items()}


def _paced(found: list[Result]) -> Iterator[Result]:
    """The results with every time at its machine's quiet pace: how a case follows the control is learnt from all releases together."""
    pairs: dict[tuple[str, str, Case], list[tuple[tuple[float, float], ...]]] = {}
    for result in found:
        for case, timing in result.timings.items():
            together = tuple(pair for pass_samples in timing.by_pass if not pass_samples.left_out for pair in pass_samples.pairs)
            pairs.setdefault((result.machine, result.python, case), []).append(together)
    powers: dict[tuple[str, str, Case], float | None] = {}
    for result in found:
        timings = {}
        for case, timing in result.timings.items():
            key = (result.machine, result.python, case)
            if key not in powers:
                powers[key] = pace.power(pairs[key], timing.by_pass[0].limit)
            timings[case] = passes.timing([replace(pass_samples, power=powers[key]) for pass_samples in timing.by_pass])
        yield replace(result, timings=timings)


def read(path: Path, suites: dict[str, Any]) -> Result:
    """One result file; `suites` is asv's benchmarks.json, which knows the parameters' names.

    Numbers of a suite that is no longer there, or of an earlier version of it, are left out. Raises TensorcopyError, naming the file,
    for one that is cut off or not asv's.
    """
    document = files.read(path)
    return _result(path, document, suites, _usual({path: document})[_where(path, document)])


def _result(path: Path, document: dict[str, Any], suites: dict[str, Any], usual: _Usual) -> Result:
    fault = files.fault(document) if document.get("ledger") else ""
    if fault:
        raise files.damaged(path, fault)
    try:
        columns, records = document["result_columns"], document.get("passes", ())
        timings, counts = {}, {}
        for suite, values in document["results"].items():
            row = dict(zip(columns, values))
            if suite not in suites or row["version"] != suites[suite]["version"]:
                continue
            for index, (case, value) in enumerate(_cases(suite, suites[suite]["param_names"], row)):
                if value is None:  # failed or skipped
                    continue
                if suites[suite].get("type", "time") == "time":
                    samples = [_seconds(sample) for sample in _column(row, "samples", index) or (value,)]
                    by_pass = passes.by_pass(records, suite, index, samples, usual.limit, usual.left_out)
                    timings[case] = passes.timing(by_pass)
                else:
                    counts[case] = value
        return Result(
            path=path,
            machine=document["params"]["machine"],
            sha=document["commit_hash"],
            python=document["python"],
            build=document["params"].get("build", ""),
            environment=document["env_name"],
            timings=timings,
            counts=counts,
            passes=tuple(records),
            provenance=document.get("ledger", {}),
            methods=document.get("methods", {}),
            article=document.get("article", {}),
        )
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise files.damaged(path, f"{type(error).__name__}: {error}") from error


def _cases(suite: str, names: list[str], row: dict[str, Any]) -> Iterator[tuple[Case, float | None]]:
    """A suite's cases in asv's order, with what asv has for each; a suite without parameters is one case."""
    for index, parameters in enumerate(product(*row["params"])):
        yield (
            Case(suite, _sound(tuple(zip(names, (text.strip("'") for text in parameters), strict=True)))),
            files.number(_column(row, "result", index)),
        )


def _sound(parameters: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """A case's parameters. Raises ValueError for a number of elements that no tensor has."""
    numel = dict(parameters).get("numel", "1")
    if not (numel.isascii() and numel.isdecimal()) or not 0 < int(numel[:20]) <= MOST:
        raise ValueError(f"numel {numel[:20]!r}")
    return parameters


def _seconds(sample: Any) -> float:
    """A sample. Raises ValueError for what is no time."""
    if not (isinstance(sample, (int, float)) and SHORTEST < sample < LONGEST):
        raise ValueError(f"a sample of {sample!r} seconds")
    return float(sample)


def _column(row: dict[str, Any], name: str, index: int) -> Any:
    values = row.get(name)
    return values[index] if values else None


def _without_ledger(result: Result) -> TensorcopyError:
    return TensorcopyError(
        f"the result file {files.name(result.path)} is refused, its ledger is not its label's",
        got=result.provenance.get("torch_sha", "no ledger, as after a run that was killed"),
        allowed=f"the ledger of torch {result.sha[:8]}",
        next="remove the file and measure again",
    )


def _deleted(directory: Path) -> list[TensorcopyError]:
    """Results that git knows and that are gone: raw results are only ever added."""
    git = shutil.which("git")
    if git is None or not directory.is_dir():
        return []
    done = subprocess.run(
        [git, "ls-files", "--deleted", "-z", "--", "."], cwd=directory, capture_output=True, text=True, check=False
    )  # outside a checkout it fails, and knows nothing
    return [
        TensorcopyError(
            f"the result file {directory.name}/{name} is gone",
            got="a deleted file",
            allowed="results are only ever added",
            next=f"git checkout {directory.name}/{name}",
        )
        for name in filter(None, done.stdout.split("\0"))
    ]
