"""The comment under a pull request, made from its comparison.json.

The file is untrusted. Only its numbers, enumerated codes, names that a case may have, and short lines in code spans are shown; all
sentences are ours. A file that is too large or does not match comparison.schema.json is not shown, and the comment reports that. There is
one comment, with a section for each device; a section is replaced in place.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from operator import eq, gt, lt
from pathlib import Path
from statistics import median
from typing import Any, NoReturn

from fastjsonschema import JsonSchemaValueException, compile

from tensorcopy.analysis.paired import PAIRED, Change, CountPair, Reason, Verdict
from tensorcopy.numbers import percent
from tensorcopy.report import formats
from tensorcopy.report.formats import code
from tensorcopy.report.sentences import SEEN, history_text
from tensorcopy.worker.devices import DEVICES

SCHEMA = Path(__file__).with_name("comparison.schema.json")
FILE = "comparison.json"
LARGEST = 4 * 2**20  # bytes of such a file
NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.=,:+()\[\] -]")  # of cases, as the schema has them
NOT_IN_UNITS = re.compile("[^A-Za-z0-9/%µ² ]")
TIMED, LONGEST_UNIT = "time", 20
LONGEST_NAME, LONGEST_WORD, MOST_PARAMETERS, LONGEST_FAILURE = 160, 80, 12, 1000  # as the schema has them
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
        if document["device"] != device:
            raise _Refused(f"is for another device than {device}")
        return formats.cut(_section(document, run), SECTION)
    except _Refused as refused:
        return f"### ⚠️ The measurement on {device} cannot be shown\n\nThe file {FILE} {refused}.{_link(run)}\n"


def admissible(comparison: Mapping[str, Any]) -> dict[str, Any]:
    """Return a comparison's document with names that the schema allows: those of a third party's parameters may have any character."""

    def row(change: Mapping[str, Any]) -> dict[str, Any]:
        name = " ".join(NOT_IN_NAMES.sub("_", change["case"])[:LONGEST_NAME].split())
        parameters = {name: value[:LONGEST_WORD] for name, value in list(change["parameters"].items())[:MOST_PARAMETERS]}
        suite, failure = change["suite"][:LONGEST_WORD], change["failure"][:LONGEST_FAILURE]
        unit = NOT_IN_UNITS.sub(" ", change["metric"])[:LONGEST_UNIT]
        return {**change, "case": name, "suite": suite, "parameters": parameters, "failure": failure, "metric": unit, "count": None}

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


def _read(path: Path, artifact: Path) -> dict[str, Any]:
    def refuse_constant(text: str) -> NoReturn:
        raise ValueError(text)

    if path.is_symlink() or (path.parent != artifact and path.parent.is_symlink()) or not path.is_file():
        raise _Refused("is not a regular file in a regular folder")
    if path.stat().st_size > LARGEST:
        raise _Refused(f"has {path.stat().st_size / 2**20:.0f} MiB; the limit is {LARGEST // 2**20} MiB")
    try:
        document = json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse_constant)
    except (ValueError, RecursionError):
        raise _Refused("is not JSON") from None
    except OSError:
        raise _Refused("cannot be read") from None
    try:
        _validator()(document)
    except JsonSchemaValueException:
        raise _Refused(f"does not match {SCHEMA.name}") from None
    return dict(document)


@cache
def _validator() -> Callable[[Any], object]:
    validate: Callable[[Any], object] = compile(json.loads(SCHEMA.read_text(encoding="utf-8")), use_formats=False, use_default=False)
    return validate


def _section(document: Mapping[str, Any], run: str) -> str:
    parts = [_pair(document, pair) for pair in document["pairs"]] or [f"{NOTHING}\n"]
    device = "" if document["device"] == "cpu" else f" --device {document['device']}"
    note = (
        f"Up to {document['launches']} launches, in each of which both sides took turns, on {document['device']}. "
        f"To reproduce: `tensorcopy ci pull-request --base {document['base'][:12]} --head {document['head'][:12]}{device}`."
    )
    return "\n".join([*parts, f"<sub>{note}{_link(run)}</sub>\n"])


def _pair(document: Mapping[str, Any], pair: Mapping[str, Any]) -> str:
    if pair["kind"] == "code":
        labels = f"base {document['base'][:8]}", f"head {document['head'][:8]}"
    else:
        labels = f"torch {pair['torch'][0]}", f"torch {pair['torch'][1]}"
    comparison = pair["comparison"]
    failures = []
    for first, lines in pair["failures"]:
        failures.append(f"\n**⚠️ {labels[0 if first else 1]} failed**; cases that it did not measure are unknown:\n")
        failures += [*(f"- {code(line[:LINE])}" for line in lines), ""]
    if comparison is None:
        return "\n".join([f"### ⚠️ {labels[0]} and {labels[1]} could not be compared", *failures, ""])
    provenance = comparison["after"]["provenance"]
    hardware = [provenance["cpu"], *(provenance["accelerators"].values() if document["device"] != "cpu" else ())]
    torch = [f"torch {pair['torch'][0]}"] if pair["kind"] == "code" else []
    on = ", ".join([*torch, *hardware, f"Python {comparison['after']['python']}"])
    rows = [(row["case"], _change(row)) for row in comparison["changes"]]
    seen = [change.detectable for _, change in rows if change.detectable is not None]
    notes = [f"{SEEN} (median case): {percent(median(seen), 1)}"] if seen else []
    notes += filter(None, [history_text(Counter({Verdict(name): number for name, number in pair["history"].items()}))])
    return "\n".join([formats.comparison_text(labels, on, rows, notes=notes), *failures])


def _change(row: Mapping[str, Any]) -> Change:
    """Return a change of the file. Its differences, its failure and why it is acknowledged are left out: they are text.

    Raises _Refused for a contradiction.
    """
    if row["metric"] != TIMED:
        return _value(row)
    if row["time_verdict"] is None or not all(side is None or 1e-15 <= side <= 1e6 for side in (row["before"], row["after"])):
        raise _Refused("contradicts itself")
    verdict, reason = Verdict(row["time_verdict"]), Reason(row["reason"])
    low, ratio, high, margin = row["time_low"], row["time_ratio"], row["time_high"], row["margin"]
    tested = None not in (low, ratio, high)
    if (
        tested is not (reason in TESTED)
        or verdict not in TESTED.get(reason, (Verdict.UNKNOWN,))
        or (tested and not low <= ratio <= high)
        or (verdict is Verdict.SLOWER and low < 1)
        or (verdict is Verdict.FASTER and high > 1)
        or (verdict is Verdict.UNCHANGED and max(high, 1 / low) > (1 + margin) * (1 + ROUNDED))
        or (reason is Reason.CHANGED and max(ratio, 1 / ratio) < (1 + margin) * (1 - ROUNDED))
    ):
        raise _Refused("contradicts itself")
    return Change(
        verdict,
        reason,
        ratio=ratio,
        interval=(low, high) if tested else None,
        p=row["p"],
        before=row["before"],
        after=row["after"],
        launches=(row["launches"][0], row["launches"][1]),
        more_launches=row["more_launches"],
        way=row["way"] or PAIRED,
        detectable=row["detectable"],
        margin=margin,
    )


def _value(row: Mapping[str, Any]) -> Change:
    """Return the change of a tracked value. Raises _Refused for a contradiction."""
    before, after, reason = row["before"], row["after"], Reason(row["reason"])
    verdict = Verdict(row["work_verdict"] or Verdict.UNKNOWN)
    orders = {Verdict.HIGHER: gt, Verdict.LOWER: lt, Verdict.EQUAL: eq}
    if verdict in orders and (None in (before, after) or not orders[verdict](after, before)):
        raise _Refused("contradicts itself")
    launches, unit = (row["launches"][0], row["launches"][1]), row["metric"]
    count = None if None in (before, after) else CountPair(unit, before, after, known=verdict is not Verdict.UNKNOWN)
    return Change(verdict, reason, before=before, after=after, unit=unit, launches=launches, count=count)


def _link(run: str) -> str:
    return f" [Workflow run]({run})" if run else ""
