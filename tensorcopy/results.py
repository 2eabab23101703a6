"""asv's result files, read and stamped: the only code that knows their format.

A file is asv's own JSON, version 2, with four keys more at its top level, which asv ignores; result.schema.json describes them, and what
it does not describe is neither written nor read:

ledger : what was there when it was last measured (`tensorcopy.ledger`), with asv's version and the start as ISO 8601 in UTC
passes : which samples came from which pass, and what the control read beside each (`tensorcopy.passes`)
methods : every method's code, and what it was observed to do there
article : how many of the article's statements held there
"""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product, zip_longest
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from tensorcopy import pace, passes, releases
from tensorcopy.errors import TensorcopyError
from tensorcopy.passes import Timing

SCHEMA = Path(__file__).with_name("result.schema.json")
MOST = 2**62  # elements that a tensor may have
SHORTEST, LONGEST = 1e-12, 1e6  # seconds: a call takes more than a cycle, and less than eleven days
NOT_RESULTS = ("machine.json", "benchmarks.json")


@dataclass(frozen=True)
class Case:
    """What was timed: a suite such as "copies.BySize.time_copy" and its parameters by name, as text."""

    suite: str
    parameters: tuple[tuple[str, str], ...]

    def __getitem__(self, name: str) -> str:
        return dict(self.parameters)[name]


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
    passes: tuple[dict[str, Any], ...] = ()  # the records, as `tensorcopy.passes` describes them
    ledger: dict[str, Any] = field(default_factory=dict)
    methods: dict[str, Any] = field(default_factory=dict)
    article: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Results:
    """Everything under a results folder that can be read, and what cannot, each as an error that names its file."""

    found: tuple[Result, ...]
    problems: tuple[TensorcopyError, ...]
    unpublishable: tuple[TensorcopyError, ...] = ()  # of the problems, those that asv cannot do without


def load(directory: Path) -> Results:
    """Every result under `directory`. Raises nothing: a damaged or deleted file, or a number whose ledger disagrees with its label, is a
    problem; the others are read.
    """
    found, problems = [], list(_deleted(directory))
    try:
        suites = _document(directory / "benchmarks.json")
    except TensorcopyError as error:
        return Results((), (error, *problems), (error,))
    machines, unpublishable = [], []
    for folder in sorted({path.parent for path in directory.glob("*/*.json")}):
        try:
            _machine(folder)
            machines.append(folder)
        except TensorcopyError as error:
            problems.append(error)
            unpublishable += [error] if (folder / "machine.json").exists() else []  # asv leaves a folder without one out
    documents = {}
    for path in sorted(path for folder in machines for path in folder.glob("*.json")):
        if path.name not in NOT_RESULTS:
            try:
                documents[path] = _document(path)
            except TensorcopyError as error:
                problems.append(error)
    usual = _usual(documents)
    for path, document in documents.items():
        try:
            result = _result(path, document, suites, usual[_where(path, document)])
            if result.ledger.get("torch_sha") != result.sha:
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


def _usual(documents: dict[Path, dict[str, Any]]) -> dict[tuple[str, str], _Usual]:
    """By machine and Python. A record that is not one counts for nothing here; reading its file will say so."""
    records: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for path, document in documents.items():
        sound = document.get("passes", ()) if not _fault(document) else ()
        records.setdefault(_where(path, document), []).extend(sound)
    return {where: _Usual(passes.limits(some), passes.left_out(some)) for where, some in records.items()}


def _paced(found: list[Result]) -> Iterator[Result]:
    """The results with every time at its machine's quiet pace: how a case follows the control is learnt from all releases together."""
    pairs: dict[tuple[str, str, Case], list[tuple[tuple[float, float], ...]]] = {}
    for result in found:
        for case, timing in result.timings.items():
            together = tuple(pair for visit in timing.visits if not visit.left_out for pair in visit.pairs)
            pairs.setdefault((result.machine, result.python, case), []).append(together)
    powers: dict[tuple[str, str, Case], float | None] = {}
    for result in found:
        timings = {}
        for case, timing in result.timings.items():
            key = (result.machine, result.python, case)
            if key not in powers:
                powers[key] = pace.power(pairs[key], timing.visits[0].limit)
            timings[case] = passes.timing([replace(visit, power=powers[key]) for visit in timing.visits])
        yield replace(result, timings=timings)


def newest(found: Sequence[Result], release: str = "", machine: str = "", python: str = "") -> Result:
    """The result of the newest release on the machine that measured last, and there on the newest Python; of those that are named.

    Raises TensorcopyError where there is none.
    """
    order = {row.sha: index for index, row in enumerate(releases.load())}
    sha = releases.find(release).sha if release else ""
    known = [one for one in found if one.sha in order]
    fit = [one for one in known if sha in ("", one.sha) and machine in ("", one.machine) and python in ("", one.python)]
    if not fit:
        there = sorted({f"torch {one.ledger['torch']} on {one.machine}, Python {one.python}" for one in known})
        raise TensorcopyError(
            "no such result",
            got=" ".join(filter(None, [release, machine, python])) or "no results",
            allowed="; ".join(there) or "results/ of a checkout",
            next="tensorcopy releases lists what was measured",
        )
    last = max(fit, key=lambda one: str(one.ledger["started"])).machine
    return max((one for one in fit if one.machine == last), key=lambda one: (order[one.sha], releases.minor(one.python)))


def read(path: Path, suites: dict[str, Any]) -> Result:
    """One result file; `suites` is asv's benchmarks.json, which knows the parameters' names.

    Numbers of a suite that is no longer there, or of an earlier version of it, are left out. Raises TensorcopyError, naming the file,
    for one that is cut off or not asv's.
    """
    document = _document(path)
    return _result(path, document, suites, _usual({path: document})[_where(path, document)])


def _result(path: Path, document: dict[str, Any], suites: dict[str, Any], usual: _Usual) -> Result:
    fault = _fault(document) if document.get("ledger") else ""
    if fault:
        raise _damaged(path, fault)
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
                    visits = passes.visits(records, suite, index, samples, usual.limit, usual.left_out)
                    timings[case] = passes.timing(visits)
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
            ledger=document.get("ledger", {}),
            methods=document.get("methods", {}),
            article=document.get("article", {}),
        )
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise _damaged(path, f"{type(error).__name__}: {error}") from error


def stamp(path: Path, report: dict[str, Any], before: str = "", record: dict[str, Any] | None = None, journal: Iterable[str] = ()) -> None:
    """Write the ledger, the observations and a pass's record into a result file that asv has written.

    before : the file's text before this run; asv has dropped what it does not know
    record : the pass without its suites
    journal : what the control read, see `tensorcopy.passes.added`

    Cases that had numbers before and were skipped or failed now keep them: asv forgets a case's samples then.
    """
    document, earlier = {**_document(path), **report}, json.loads(before) if before else {}
    if earlier:
        _keep_measured(document, earlier)
    if record is not None:
        then, now = _samples(earlier), _samples(document)
        records = passes.kept(earlier.get("passes", ()), then, now)
        versions = {suite: dict(zip(document["result_columns"], values))["version"] for suite, values in document["results"].items()}
        document["passes"] = [*records, {**record, "suites": passes.added(then, now, versions, journal)}]
    document["version"] = document.pop("version")  # last, as asv writes it
    fault = _fault(document)
    if fault:
        raise _damaged(path, fault)
    write(path, document)


@cache
def _validator() -> Draft202012Validator:
    return Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))


def _fault(document: dict[str, Any]) -> str:
    """Where a document is not as result.schema.json describes it, and what is wrong there; "" where it is."""
    error = best_match(_validator().iter_errors(document))
    return "" if error is None else f"{'/'.join(str(part) for part in error.absolute_path) or 'top level'}: {error.message}"


def write(path: Path, document: dict[str, Any]) -> None:
    """Put a JSON file in its place as a whole: it is there as it was, or as it will be."""
    draft = path.with_suffix(".json.new")
    draft.write_text(json.dumps(document, separators=(",", ":")), encoding="utf-8")
    draft.replace(path)


def _samples(document: dict[str, Any]) -> dict[str, list[list[float] | None]]:
    """Every suite's samples by case, of the suite's version that the document has."""
    rows = {suite: dict(zip(document["result_columns"], values)) for suite, values in document.get("results", {}).items()}
    return {suite: row["samples"] for suite, row in rows.items() if row.get("samples")}


def _keep_measured(document: dict[str, Any], before: dict[str, Any]) -> None:
    columns = document["result_columns"]
    by_case = [column for column in columns if column in ("result", "samples") or column.startswith("stats_")]
    for suite, values in document["results"].items():
        now = dict(zip_longest(columns, values))
        then = dict(zip_longest(before["result_columns"], before["results"].get(suite, ())))
        if not then["result"] or (now["params"], now["version"]) != (then["params"], then["version"]):
            continue
        count = len(then["result"])
        results = now["result"] or [None] * count
        lost = [index for index in range(count) if _number(results[index]) is None and _number(then["result"][index]) is not None]
        for column in by_case if lost else ():
            cells = now[column] or [None] * count
            now[column] = [(then[column] or [None] * count)[i] if i in lost else cells[i] for i in range(count)]
        document["results"][suite] = [now[column] for column in columns]


def records(path: Path) -> list[dict[str, Any]]:
    """The passes of a result file, see `tensorcopy.passes`. Raises TensorcopyError for a damaged one."""
    found = _document(path).get("passes", [])
    return list(found)


def versions(directory: Path) -> dict[str, str]:
    """Every suite's version, as results/ knows it. Raises TensorcopyError for a damaged benchmarks.json; none where there is none."""
    path = directory / "benchmarks.json"
    return {suite: row["version"] for suite, row in _document(path).items() if suite != "version"} if path.exists() else {}


def holds_nothing(path: Path) -> bool:
    """Whether a result file has no number in it: everything was skipped."""
    return not any(_number(value) is not None for row in _document(path)["results"].values() for value in row[0] or ())


def _cases(suite: str, names: list[str], row: dict[str, Any]) -> Iterator[tuple[Case, float | None]]:
    """A suite's cases in asv's order, with what asv has for each; a suite without parameters is one case."""
    for index, parameters in enumerate(product(*row["params"])):
        yield (
            Case(suite, _sound(tuple(zip(names, (text.strip("'") for text in parameters), strict=True)))),
            _number(_column(row, "result", index)),
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


def _number(value: Any) -> float | None:
    """asv's NaN is a skipped case, its null a failed one, its infinity an interval that too few samples give."""
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None


def _document(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _damaged(path, str(error)) from error
    if not isinstance(document, dict):
        raise _damaged(path, type(document).__name__)
    return document


def _machine(directory: Path) -> dict[str, Any]:
    path = directory / "machine.json"
    document = _document(path)
    if document.get("machine") != directory.name:
        raise _damaged(path, f"machine {document.get('machine')!r}")
    return document


def _without_ledger(result: Result) -> TensorcopyError:
    return TensorcopyError(
        f"the result file {_name(result.path)} is refused, its ledger is not its label's",
        got=result.ledger.get("torch_sha", "no ledger, as after a run that was killed"),
        allowed=f"the ledger of torch {result.sha[:8]}",
        next="remove the file and measure again",
    )


def _name(path: Path) -> Path:
    return path.relative_to(path.parents[1] if path.name == "benchmarks.json" else path.parents[2])


def _damaged(path: Path, got: str) -> TensorcopyError:
    name = _name(path)
    return TensorcopyError(
        f"the result file {name} cannot be read",
        got=got,
        allowed="what asv has written, whole",
        next=f"git checkout {name}, or measure again",
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
