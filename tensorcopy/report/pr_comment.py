"""The comment under a pull request, made from its comparison.json.

The file is untrusted. Only its numbers, enumerated codes, names that a case may have, and short lines in code spans are shown; all
sentences are ours. The classes below are what is read of it: a file that is too large or does not match them is not shown, and the
comment reports that. There is one comment, with a section for each device; a section is replaced in place.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from operator import eq, gt, lt
from pathlib import Path
from statistics import median
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from tensorcopy.analysis.paired import Change, CountPair, Reason, Verdict
from tensorcopy.numbers import percent
from tensorcopy.report import formats
from tensorcopy.report.formats import code
from tensorcopy.report.sentences import SEEN, history_text
from tensorcopy.worker.devices import DEVICES

FILE = "comparison.json"
LARGEST = 4 * 2**20  # bytes of such a file
IN_NAMES, LONGEST_NAME = r"A-Za-z0-9_.=,:+()\[\]-", 160  # of cases, besides single spaces
IN_UNITS, LONGEST_UNIT = "A-Za-z0-9/%µ² ", 20
TIMED = "time"
ROUNDED = 1e-5  # relative: the file has six digits
LINE = 300  # characters of a line that is quoted
SECTION = 28_000  # characters; two devices fit into a comment
NOTHING = "### No file that is measured differs from the base"
MARKER = "<!-- tensorcopy -->"  # by which our comment is found again
BEGIN, END = "<!-- tensorcopy: {} -->", "<!-- /tensorcopy: {} -->"

# the reasons that come with an interval, and the verdicts that each may have; all others are unknown
TESTED = {
    Reason.CHANGED: (Verdict.SLOWER, Verdict.FASTER),
    Reason.WITHIN_MARGIN: (Verdict.UNCHANGED,),
    Reason.INTERVAL_TOO_WIDE: (Verdict.UNKNOWN,),
}

Number = Annotated[int, Meta(ge=0, le=1_000_000)]
Word = Annotated[str, Meta(max_length=80)]
Sha = Annotated[str, Meta(pattern=r"\A[0-9a-f]{40}\Z")]
Version = Annotated[str, Meta(pattern=r"\A[0-9]{1,3}(\.[0-9]{1,3}){2}([a-z]{1,3}[0-9]{1,9}|\.dev[0-9]{1,9})?\Z")]
Lines = Annotated[list[Annotated[str, Meta(max_length=20_000)]], Meta(max_length=20)]
Quantity = Annotated[float, Meta(ge=-1e300, le=1e300)]
Ratio = Annotated[float, Meta(ge=1e-9, le=1e9)]  # bounded so that its reciprocal is finite, too


class _Provenance(Struct, frozen=True):
    cpu: Word
    accelerators: Annotated[dict[str, Word], Meta(max_length=8)]


class _Side(Struct, frozen=True):
    python: Annotated[str, Meta(pattern=r"\A3\.[0-9]{1,2}\Z")]
    provenance: _Provenance


class _Row(Struct, frozen=True):
    """A case, as `formats.document` describes it; metric : "time", or the unit of a tracked value."""

    case: Annotated[str, Meta(pattern=rf"\A[{IN_NAMES}]+( [{IN_NAMES}]+)*\Z", max_length=LONGEST_NAME)]
    metric: Annotated[str, Meta(pattern=rf"\A[{IN_UNITS}]+\Z", max_length=LONGEST_UNIT)]
    time_verdict: Verdict | None
    work_verdict: Verdict | None
    reason: Reason
    time_ratio: Ratio | None
    time_low: Ratio | None
    time_high: Ratio | None
    before: Quantity | None
    after: Quantity | None
    launches: tuple[Number, Number]
    more_launches: Annotated[int, Meta(ge=1, le=1000)] | None
    detectable: Annotated[float, Meta(ge=0, le=1e9)] | None
    margin: Annotated[float, Meta(ge=1e-9, le=1)]


class _Comparison(Struct, frozen=True):
    after: _Side
    changes: Annotated[list[_Row], Meta(max_length=5000)]


class _Pair(Struct, frozen=True, forbid_unknown_fields=True):
    """Base against head, or a new release of torch against the one before it.

    history : of base against the stored history of the same machine, the number of cases by verdict; empty without one
    failures : for each side that failed, whether it is the first, and its last lines of output
    """

    kind: Literal["code", "release"]
    torch: tuple[Version, Version]
    comparison: _Comparison | None
    history: dict[Verdict, Number]
    failures: Annotated[list[tuple[bool, Lines]], Meta(max_length=2)]


class _Document(Struct, frozen=True, forbid_unknown_fields=True):
    version: Literal[7]
    base: Sha
    head: Sha
    device: Annotated[str, Meta(pattern=r"\A[a-z]{2,8}\Z")]
    launches: Annotated[int, Meta(ge=1, le=1000)]
    pairs: Annotated[list[_Pair], Meta(max_length=5)]


_decoder = msgspec.json.Decoder(_Document)


def section(artifact: Path, run: str, device: str) -> str:
    """Return the section of a device from the comparison.json in a folder.

    A file that cannot be shown gives a section that says so.

    artifact : the folder, or its parent
    run : address of the workflow run that wrote the file; "" for none
    device : the device that the run was to measure
    """
    paths = sorted([*artifact.glob(FILE), *artifact.glob(f"*/{FILE}")])
    if not paths:
        return f"### ⚠️ Nothing was measured on {device}\n\nThe run ended without a result.{_link(run)}\n"
    try:
        document = _read(paths[0], artifact)
        if document.device != device:
            raise _Refused(f"is for another device than {device}")
        return formats.cut(_section(document, run), SECTION)
    except _Refused as refused:
        return f"### ⚠️ The measurement on {device} cannot be shown\n\nThe file {FILE} {refused}.{_link(run)}\n"


def admissible(comparison: Mapping[str, Any]) -> dict[str, Any]:
    """Return a comparison's document with names and units that are shown: those of a third party's suite may have any character."""

    def row(change: Mapping[str, Any]) -> dict[str, Any]:
        name = " ".join(re.sub(f"[^ {IN_NAMES}]", "_", change["case"])[:LONGEST_NAME].split())
        return {**change, "case": name, "metric": re.sub(f"[^{IN_UNITS}]", " ", change["metric"])[:LONGEST_UNIT]}

    return {**comparison, "changes": [row(change) for change in comparison["changes"]]}


def outdated(run: str, device: str) -> str:
    """Return the section of a device whose own could not be made: an earlier one would pass for this commit's."""
    return (
        f"### ⚠️ The comment on {device} could not be made\n\nThe earlier comment is outdated: it belongs to another commit.{_link(run)}\n"
    )


def body(device: str, text: str, before: str = "") -> str:
    """Return the whole comment: this section, and those of the other devices.

    before : the comment as it was
    """
    parts = {}
    for name in DEVICES:
        match = re.search(f"{re.escape(BEGIN.format(name))}\n(.*?)\n{re.escape(END.format(name))}", before, re.DOTALL)
        if match:
            parts[name] = match[1]
    parts[device] = text.strip()
    return "\n\n".join([MARKER, *(f"{BEGIN.format(name)}\n{parts[name]}\n{END.format(name)}" for name in DEVICES if name in parts)])


class _Refused(Exception):
    """The reason why a file is not shown; it continues a sentence after its name."""


def _read(path: Path, artifact: Path) -> _Document:
    if path.is_symlink() or (path.parent != artifact and path.parent.is_symlink()) or not path.is_file():
        raise _Refused("is not a regular file in a regular folder")
    if path.stat().st_size > LARGEST:
        raise _Refused(f"has {path.stat().st_size / 2**20:.0f} MiB; the limit is {LARGEST // 2**20} MiB")
    try:
        return _decoder.decode(path.read_bytes())
    except msgspec.ValidationError:
        raise _Refused("is not one that this tensorcopy writes") from None
    except (ValueError, RecursionError):
        raise _Refused("is not JSON") from None
    except OSError:
        raise _Refused("cannot be read") from None


def _section(document: _Document, run: str) -> str:
    parts = [_pair(document, pair) for pair in document.pairs] or [f"{NOTHING}\n"]
    device = "" if document.device == "cpu" else f" --device {document.device}"
    note = (
        f"Up to {document.launches} launches, in each of which both sides took turns, on {document.device}. "
        f"To reproduce: `tensorcopy ci pull-request --base {document.base[:12]} --head {document.head[:12]}{device}`."
    )
    return "\n".join([*parts, f"<sub>{note}{_link(run)}</sub>\n"])


def _pair(document: _Document, pair: _Pair) -> str:
    before, after = pair.torch
    of_code = pair.kind == "code"
    labels = (f"base {document.base[:8]}", f"head {document.head[:8]}") if of_code else (f"torch {before}", f"torch {after}")
    failures = []
    for first, lines in pair.failures:
        failures.append(f"\n**⚠️ {labels[0 if first else 1]} failed**; cases that it did not measure are unknown:\n")
        failures += [*(f"- {code(line[:LINE])}" for line in lines), ""]
    if pair.comparison is None:
        return "\n".join([f"### ⚠️ {labels[0]} and {labels[1]} could not be compared", *failures, ""])
    side = pair.comparison.after
    hardware = [side.provenance.cpu, *(side.provenance.accelerators.values() if document.device != "cpu" else ())]
    on = ", ".join([*([f"torch {before}"] if of_code else []), *hardware, f"Python {side.python}"])
    rows = [(row.case, _change(row)) for row in pair.comparison.changes]
    seen = [change.detectable for _, change in rows if change.detectable is not None]
    notes = [f"{SEEN} (median case): {percent(median(seen), 1)}"] if seen else []
    notes += filter(None, [history_text(Counter(pair.history))])
    return "\n".join([formats.comparison_text(labels, on, rows, notes=notes), *failures])


def _change(row: _Row) -> Change:
    """Return a change of the file. Raises _Refused for a contradiction."""
    if row.metric != TIMED:
        return _value(row)
    low, ratio, high, verdict, reason = row.time_low, row.time_ratio, row.time_high, row.time_verdict, row.reason
    interval = None
    holds = verdict in TESTED.get(reason, (Verdict.UNKNOWN,)) and all(
        side is None or 1e-15 <= side <= 1e6 for side in (row.before, row.after)
    )
    if low is None or ratio is None or high is None:
        holds = holds and reason not in TESTED
    else:
        interval = low, high
        holds = (
            holds
            and reason in TESTED
            and low <= ratio <= high
            and (verdict is not Verdict.SLOWER or low >= 1)
            and (verdict is not Verdict.FASTER or high <= 1)
            and (verdict is not Verdict.UNCHANGED or max(high, 1 / low) <= (1 + row.margin) * (1 + ROUNDED))
            and (reason is not Reason.CHANGED or max(ratio, 1 / ratio) >= (1 + row.margin) * (1 - ROUNDED))
        )
    if verdict is None or not holds:
        raise _Refused("contradicts itself")
    return Change(
        verdict,
        reason,
        ratio=ratio,
        interval=interval,
        before=row.before,
        after=row.after,
        launches=row.launches,
        more_launches=row.more_launches,
        detectable=row.detectable,
        margin=row.margin,
    )


def _value(row: _Row) -> Change:
    """Return the change of a tracked value. Raises _Refused for a contradiction."""
    before, after, verdict = row.before, row.after, row.work_verdict or Verdict.UNKNOWN
    orders = {Verdict.HIGHER: gt, Verdict.LOWER: lt, Verdict.EQUAL: eq}
    count = None
    if before is not None and after is not None:
        count = CountPair(row.metric, before, after, known=verdict is not Verdict.UNKNOWN)
    if verdict is not Verdict.UNKNOWN and not (count and verdict in orders and orders[verdict](count.after, count.before)):
        raise _Refused("contradicts itself")
    return Change(verdict, row.reason, before=before, after=after, unit=row.metric, launches=row.launches, count=count)


def _link(run: str) -> str:
    return f" [Workflow run]({run})" if run else ""
