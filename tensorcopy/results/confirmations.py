"""Repeated measurements of the steps of a history, and their outcomes.

A machine's folder of results has them in confirmations.jsonl, a line of JSON for each step, as confirmation.schema.json describes it. asv
and `reader` read *.json only and skip the file. Lines are only ever added: of several for one case and pair of releases the latest counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import release_table
from tensorcopy.results import files, writing
from tensorcopy.results.passes import Case
from tensorcopy.results.reader import Result

FILE = "confirmations.jsonl"
DIGITS = writing.SAMPLE_DIGITS  # of ratios and times, as of samples

Key = tuple[str, str, str, str, str, Case]  # identity of the machine, Python, build, SHA before, SHA after, case


class RepeatOutcome(str, Enum):
    HELD = "held"  # measured again, the step has at least half of its size
    FELL = "fell"  # it has less
    OPEN = "open"  # the interval is too wide to tell


@dataclass(frozen=True)
class Confirmation:
    """A step of one case between two releases, measured again.

    machine : its name, from the folder
    version : of the suite
    before, after : releases, such as "2.14.1"
    identity : of the host that measured again (`worker.hardware`)
    expected : time after / time before of the step, as the history showed it
    ratio, interval : measured again; None where no pass was usable
    passes : taken of each release
    passes_before, passes_after : the median of each usable pass, in seconds
    started : ISO 8601 in UTC
    """

    machine: str
    case: Case
    version: str
    before: str
    after: str
    sha_before: str
    sha_after: str
    python: str
    build: str
    identity: str
    expected: float
    ratio: float | None
    interval: tuple[float, float] | None
    passes: int
    passes_before: tuple[float, ...]
    passes_after: tuple[float, ...]
    outcome: RepeatOutcome
    started: str

    @property
    def key(self) -> Key:
        """What was measured again: its hardware, not its name, which may change when folders are merged."""
        return self.identity, self.python, self.build, self.sha_before, self.sha_after, self.case


@dataclass(frozen=True)
class ReleasePair:
    """Two neighbouring results of a series with steps between them to measure again.

    expected : by case, the ratio of its step
    others : every result of the series: their passes show the noise
    """

    before: Result
    after: Result
    expected: Mapping[Case, float]
    others: tuple[Result, ...] = field(default=(), repr=False)

    @property
    def releases(self) -> tuple[str, str]:
        """The releases before and after, such as ("2.14.1", "2.15.0")."""
        releases = release_table.load()
        return releases.version(self.before.sha), releases.version(self.after.sha)


@dataclass(frozen=True)
class Confirmations:
    """Every readable confirmation, in order of start, and an error for each other line."""

    confirmations: tuple[Confirmation, ...] = ()
    problems: tuple[TensorcopyError, ...] = ()


def key_of(before: Result, after: Result, case: Case) -> Key:
    """Return the key of a case between two results of one series."""
    key = after.series_key
    return key.identity, key.python, key.build, before.sha, after.sha, case


def latest(confirmations: Iterable[Confirmation]) -> dict[Key, Confirmation]:
    """Return the confirmation that counts, by key; `confirmations` in order of start."""
    return {confirmation.key: confirmation for confirmation in confirmations}


def load(directory: Path) -> Confirmations:
    """Return the confirmations of all machines under a folder of results.

    Those of a suite's earlier version are skipped, as their times are. Raises nothing: a damaged line is a problem, and the others are
    read.
    """
    paths = sorted(directory.glob(f"*/{FILE}"))
    if not paths:
        return Confirmations()
    try:
        suites = files.suites(directory)
    except TensorcopyError as error:
        return Confirmations(problems=(error,))
    read: list[Confirmation] = []
    problems: list[TensorcopyError] = []
    for path in paths:
        try:
            with files.damage_named(path):
                content = files.content(path, inside=directory)
        except TensorcopyError as error:
            problems.append(error)
            continue
        for number, line in enumerate(content.split(b"\n"), 1):
            if line.strip():
                try:
                    read.append(_parsed(line, path.parent.name))
                except (ValueError, RecursionError) as error:
                    problems.append(
                        TensorcopyError(
                            f"line {number} of {files.displayed(path)} cannot be read",
                            got=str(error),
                            allowed="a line as tensorcopy measure writes it",
                            next="remove the line: its step is measured again",
                        )
                    )
    current = [each for each in read if each.version == suites.get(each.case.suite, {}).get("version")]
    return Confirmations(tuple(sorted(current, key=lambda each: each.started)), tuple(problems))


def text(path: Path) -> str:
    """Return the lines of one machine's file. Raises TensorcopyError."""
    with files.damage_named(path):
        return files.content(path, inside=path.parents[1]).decode("utf-8", errors="replace")


def append(directory: Path, confirmations: Sequence[Confirmation], report_wait: writing.ReportWait = writing.ignore_wait) -> None:
    """Add lines to the file of their machine, under a folder of results.

    The file is replaced as a whole: an interrupted write leaves the old one. Lines that another process has added meanwhile stay.

    report_wait : called with a sentence while another process writes the results
    """
    machines = dict.fromkeys(each.machine for each in confirmations)
    with writing.one_writer(directory, report_wait):
        for machine in machines:
            path = directory / machine / FILE
            before = text(path) if path.exists() else ""
            lines = [_line(each) for each in confirmations if each.machine == machine]
            writing.replace(path, "".join(f"{line}\n" for line in [*before.splitlines(), *lines]))


def merged_lines(texts: Iterable[str]) -> str:
    """Return the lines of several files of one machine as one file, each line once.

    In order of start; damaged lines come first. The order of `texts` makes no difference.
    """
    lines = {line for text in texts for line in text.splitlines() if line.strip()}
    return "".join(f"{line}\n" for line in sorted(lines, key=lambda line: (_started(line), line)))


def _started(line: str) -> str:
    """Return the start that a line states; "" for a damaged line."""
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return ""
    return str(document.get("started", "")) if isinstance(document, dict) else ""


def _parsed(line: bytes, machine: str) -> Confirmation:
    """Return the confirmation in a line. Raises ValueError, with the reason."""
    document = json.loads(line, parse_constant=str)  # NaN is no number
    if violation := files.schema_fault(document, files.CONFIRMATION):
        raise ValueError(violation)
    case = Case(document.pop("suite"), tuple(document.pop("parameters").items()))
    interval = document["interval"] and (document["interval"][0], document["interval"][1])
    sides = {side: tuple(document[side]) for side in ("passes_before", "passes_after")}
    return Confirmation(
        **{**document, **sides, "machine": machine, "case": case, "interval": interval, "outcome": RepeatOutcome(document["outcome"])}
    )


def _line(confirmation: Confirmation) -> str:
    """Return a confirmation as a line of JSON."""
    values = vars(confirmation)
    document = {"suite": confirmation.case.suite, "parameters": dict(confirmation.case.parameters)}
    document |= {name: _plain(value) for name, value in values.items() if name not in ("machine", "case")}
    if violation := files.schema_fault(document, files.CONFIRMATION):
        raise ValueError(violation)
    return json.dumps(document, separators=(",", ":"))


def _plain(value: Any) -> Any:
    """Return a value as JSON has it, numbers rounded to `DIGITS`."""
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, RepeatOutcome):
        return value.value
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
