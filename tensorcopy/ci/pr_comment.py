"""The comment under a pull request, made from its comparison.json.

The pull request's code has run to write that file, so it is untrusted. All that is read of it are the classes below: numbers within bounds,
codes, names of harmless characters, and texts that are shown as code; every sentence is ours. A file that does not match them is not shown,
and the comment reports that. There is one comment, with a section for each device; a section is replaced in place.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from tensorcopy import files
from tensorcopy.judge.comparisons import Comparison
from tensorcopy.judge.paired import Change, CountPair, Reason, Verdict
from tensorcopy.numbers import percent
from tensorcopy.report.comparison import ComparedCase, code_of, grouped, moved, noticed, of_rows
from tensorcopy.report.table import code, cut, markdown
from tensorcopy.results.cases import Case
from tensorcopy.results.kinds import TIME, TRACKED
from tensorcopy.results.suite_specs import SECONDS, is_tracked
from tensorcopy.worker.devices import DEVICES

FILE = "comparison.json"
IN_NAMES, LONGEST_NAME = r"A-Za-z0-9_.=,:;+()\[\]@/\" -", 160
IN_UNITS, LONGEST_UNIT = "A-Za-z0-9/%µ² ", 20  # a unit is not escaped
LINES, LINE = 20, 300  # of a failure's output, and characters of a line
SECTION = 28_000  # characters; two devices fit into a comment
NOTHING = "### No file that is measured differs from the base"
OWN_SUITES = "base cannot run head's suites, and runs its own: a benchmark that head has changed is not compared."
MARKER = "<!-- tensorcopy -->"  # by which our comment is found again
PART = "<!-- tensorcopy: {0} -->\n{1}\n<!-- /tensorcopy: {0} -->"  # of the comment: a device, and its section
PARTS = re.compile(r"<!-- tensorcopy: (\w+) -->\n(.*?)\n<!-- /tensorcopy: \1 -->", re.DOTALL)
TESTED = (Reason.CHANGED, Reason.WITHIN_MARGIN, Reason.INTERVAL_TOO_WIDE)  # the reasons that come with an interval
OF_A_ROW = ("case", "difference")  # its fields that a change does not have

Name = Annotated[str, Meta(pattern=rf"\A[{IN_NAMES}]*\Z", max_length=LONGEST_NAME)]
Lines = Annotated[list[Annotated[str, Meta(max_length=LINE)]], Meta(max_length=LINES)]
Sha = Annotated[str, Meta(pattern=r"\A[0-9a-f]{40}\Z")]
Version = Annotated[str, Meta(pattern=r"\A[0-9][0-9a-z.]{0,19}\Z")]
Number = Annotated[int, Meta(ge=0, le=1_000_000)]
Quantity = Annotated[float, Meta(ge=-1e18, le=1e18)]
Ratio = Annotated[float, Meta(ge=1e-9, le=1e9)]


class CommentRow(Struct, frozen=True, forbid_unknown_fields=True):
    """A case, and the fields of its `Change`; of a tracked value with the interval of its difference, and without those of a ratio."""

    case: Name
    unit: Annotated[str, Meta(pattern=rf"\A[{IN_UNITS}]*\Z", max_length=LONGEST_UNIT)]
    reason: Reason
    ratio: Ratio | None
    interval: tuple[Ratio, Ratio] | None
    before: Quantity | None
    after: Quantity | None
    difference: tuple[Quantity, Quantity] | None
    launches: tuple[Number, Number]
    more_launches: Number | None
    margin: Ratio
    level: Annotated[float, Meta(gt=0.5, lt=1)]
    accepted: Annotated[str, Meta(max_length=LINE)]

    def __post_init__(self) -> None:
        """Refuse numbers that contradict the reason, and units of counts: a pull request has none."""
        low, high = self.interval or (1.0, 1.0)
        is_tested = self.unit == SECONDS and self.reason in TESTED
        fits = {
            Reason.CHANGED: not low < 1 < high,
            Reason.WITHIN_MARGIN: max(high, 1 / low) <= 1 + self.margin + 1e-9,  # the judge compares logarithms
        }.get(self.reason, True)
        if is_tested is not bool(self.interval) or (is_tested and not (fits and low <= (self.ratio or 0) <= high)):
            raise ValueError("contradicts itself")
        if self.accepted and not (self.reason is Reason.CHANGED and (self.ratio or 0) > 1):
            raise ValueError("accepts no slowdown")
        if self.unit != SECONDS and not is_tracked(self.unit):
            raise ValueError("is a count")
        if self.difference and not (is_tracked(self.unit) and self.difference[0] <= self.difference[1]):
            raise ValueError("has a difference of no tracked value")

    @property
    def change(self) -> Change:
        """The change, with the verdict that follows from its reason and its numbers."""
        fields = {name: getattr(self, name) for name in self.__struct_fields__ if name not in OF_A_ROW}
        if self.unit != SECONDS and self.before is not None and self.after is not None:
            known = self.reason in (Reason.COUNT_CHANGED, Reason.COUNT_UNCHANGED)
            count = CountPair(self.unit, self.before, self.after, interval=self.difference, known=known, kind=TRACKED)
            return Change(count.verdict, count=count, kind=TRACKED, **fields)
        tested = {Reason.CHANGED: Verdict.SLOWER if (self.ratio or 0) > 1 else Verdict.FASTER, Reason.WITHIN_MARGIN: Verdict.UNCHANGED}
        verdict = tested.get(self.reason, Verdict.UNKNOWN) if self.interval else Verdict.UNKNOWN
        return Change(verdict, kind=TIME if self.unit == SECONDS else TRACKED, **fields)


class Pair(Struct, frozen=True, forbid_unknown_fields=True):
    """Base against head under one torch, or head under two.

    on : processors and Python; rows : None where a side has no result
    seen : the smallest slowdown seen 9 times in 10
    failures : for each side that failed, whether it is the first, and its last lines of output
    own_suites : whether the first runs its own suites, since it cannot run the other's
    """

    torch: tuple[Version, Version]
    on: Name
    rows: Annotated[list[CommentRow], Meta(max_length=5000)] | None
    seen: Ratio | None
    failures: Annotated[list[tuple[bool, Lines]], Meta(max_length=2)]
    own_suites: bool = False


class Document(Struct, frozen=True, forbid_unknown_fields=True):
    """What `tensorcopy ci pull-request` has found on a device."""

    version: Literal[11]
    base: Sha
    head: Sha
    device: Annotated[str, Meta(pattern=r"\A[a-z]{2,8}\Z")]
    launches: Annotated[int, Meta(ge=1, le=1000)]
    pairs: Annotated[list[Pair], Meta(max_length=5)]


def rows(comparison: Comparison) -> list[CommentRow]:
    """Return the cases of a comparison, with names and units that are shown: those of a third party's suite may have any character."""
    made = []
    names = readable(comparison)
    for shown, change, *_ in grouped(ComparedCase(names[case], change, case) for case, change in comparison.changes.items()):
        fields = {name: getattr(change, name) for name in CommentRow.__struct_fields__ if name not in OF_A_ROW}
        fields["difference"] = change.count.interval if change.count and not change.timed else None
        fields["unit"] = re.sub(f"[^{IN_UNITS}]", " ", change.unit)[:LONGEST_UNIT]
        made.append(CommentRow(name(shown), **fields if change.timed else {**fields, "ratio": None}))
    return made


def readable(comparison: Comparison) -> dict[Case, str]:
    """Return the code and the parameters of each case, "x.new_tensor(x), numel=16"; of another's suite its name."""
    names = {}
    for case in comparison.changes:
        if code := code_of(case, comparison.after):
            names[case] = ", ".join([code, *(f"{name}={value}" for name, value in case.parameters if name != "method")])
    number = Counter(names.values())  # two suites may time the same call in two ways
    several = {case: f"{name} ({case.spec.page})" for case, name in names.items() if number[name] > 1}
    return {case: several.get(case) or names.get(case) or case.name for case in comparison.changes}


def name(text: str) -> str:
    """Return a text with the characters of a name only."""
    return " ".join(re.sub(f"[^{IN_NAMES}]", "_", text)[:LONGEST_NAME].split())


def section(artifact: Path, run: str, device: str) -> str:
    """Return the section of a device from the comparison.json in a folder.

    A file that cannot be shown gives a section that says so.

    artifact : the folder, or its parent
    run : address of the workflow run that wrote the file; "" for none
    device : the device that the run was to measure
    """
    paths = sorted([*artifact.glob(FILE), *artifact.glob(f"*/{FILE}")])
    if not paths:
        return warning(f"Nothing was measured on {device}", "The run ended without a result.", run)
    try:
        document = msgspec.json.decode(files.read_text(paths[0]), type=Document)
    except (OSError, ValueError, RecursionError):
        document = None
    if document is None or document.device != device:
        return warning(f"The measurement on {device} cannot be shown", f"This tensorcopy writes no such {FILE} for it.", run)
    parts = [_pair(document, pair) for pair in document.pairs] or [f"{NOTHING}\n"]
    option = "" if device == "cpu" else f" --device {device}"
    note = (
        f"Up to {document.launches} launches, in each of which both sides took turns, on {device}. "
        f"To reproduce: `tensorcopy ci pull-request --base {document.base[:12]} --head {document.head[:12]}{option}`."
    )
    return cut("\n".join([*parts, f"<sub>{note}{_link(run)}</sub>\n"]), SECTION)


def warning(title: str, text: str, run: str) -> str:
    """Return a section without a result."""
    return f"### ⚠️ {title}\n\n{text}{_link(run)}\n"


def body(device: str, text: str, before: str = "") -> str:
    """Return the whole comment: this section, and those of the other devices.

    before : the comment as it was
    """
    parts = dict(PARTS.findall(before)) | {device: text.strip()}
    return "\n\n".join([MARKER, *(PART.format(each, parts[each]) for each in DEVICES if each in parts)])


def _pair(document: Document, pair: Pair) -> str:
    before, after = pair.torch
    of_code = before == after
    labels = (f"base {document.base[:8]}", f"head {document.head[:8]}") if of_code else (f"torch {before}", f"torch {after}")
    failures = []
    for is_first, lines in pair.failures:
        failures.append(f"\n**⚠️ {labels[0 if is_first else 1]} failed**; cases that it did not measure are unknown:\n")
        failures += [*(f"- {code(line)}" for line in lines), ""]
    if pair.rows is None:
        return "\n".join([f"### ⚠️ {labels[0]} and {labels[1]} could not be compared", *failures, ""])
    rows = [ComparedCase(row.case, row.change) for row in pair.rows]
    torch = f" with torch {before}" if of_code else ""
    report = of_rows(
        rows,
        heading=moved(rows),
        lines=[f"{labels[1]} against {labels[0]}{torch} on {pair.on}."],
        notes=[*([noticed(percent(pair.seen, 1))] if pair.seen else []), *([OWN_SUITES] if pair.own_suites else [])],
    )
    return "\n".join([markdown(report), *failures])


def _link(run: str) -> str:
    return f" [Workflow run]({run})" if run else ""
