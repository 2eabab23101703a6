"""What is said under a pull request, from what its measurement left behind: somebody else's file, written by whatever code the pull request
has. Pure but for reading it.

Nothing of it is taken over but numbers, names that a case may have, and short lines that stand as code: the sentences are ours. A file that
is too large, or not as comparison.schema.json has it, is not shown at all, and that is said. There is one comment, with a section for each
device; a section is replaced in place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from jsonschema import Draft202012Validator

from tensorcopy.analysis.two_sample import Change, Verdict, worded
from tensorcopy.report.comparison import markdown
from tensorcopy.report.comparison.markdown import code
from tensorcopy.worker.devices import DEVICES

SCHEMA = Path(__file__).with_name("comparison.schema.json")
FILE = "comparison.json"
LARGEST = 4 * 2**20  # bytes of such a file
LINE = 300  # characters of a line that is quoted
SECTION = 28_000  # characters; two devices fit into a comment
MARKER = "<!-- tensorcopy -->"  # by which our comment is found again
BEGIN, END = "<!-- tensorcopy: {} -->", "<!-- /tensorcopy: {} -->"

# what the judge says where there is nothing to compare, without what it quotes
REASONS = tuple(
    re.compile(pattern)
    for pattern in (
        "no result (before|after): (not measured, skipped or failed there|the machine was never quiet)",
        "no result (before|after)",
        "a sample (before|after) is no time",
        "what was measured on differs",
        r"too few quiet passes, \d{1,4} before and \d{1,4} after: about \d{1,4} more pass(es)? would tell",
    )
)


def section(artifact: Path, run: str, device: str) -> str:
    """What is to be said of what lies in a folder. Raises nothing: what cannot be read is said to be so.

    artifact : the folder, or one with that folder in it
    run : address of the run that left it, where whoever reads the comment finds the rest; "" where there is none
    device : on which that run was to measure
    """
    paths = sorted([*artifact.glob(FILE), *artifact.glob(f"*/{FILE}")])
    if not paths:
        return f"### ⚠️ Nothing was measured on {device}\n\nThe run ended without a result.{_see(run)}\n"
    try:
        document = _read(paths[0])
        if document["device"] != device:
            raise _Refused(f"is of another device than {device}")
    except _Refused as refused:
        return f"### ⚠️ The measurement on {device} cannot be shown\n\nIts file {refused}.{_see(run)}\n"
    return markdown.cut(_section(document, run), SECTION)


def body(device: str, text: str, before: str = "") -> str:
    """The whole comment: this section, and those of other devices that stood in the comment before."""
    parts = {one: match[1] for one in DEVICES if (match := _part(one).search(before))} | {device: text.strip()}
    return "\n\n".join([MARKER, *(f"{BEGIN.format(one)}\n{parts[one]}\n{END.format(one)}" for one in DEVICES if one in parts)])


def _part(device: str) -> re.Pattern[str]:
    return re.compile(f"{re.escape(BEGIN.format(device))}\n(.*?)\n{re.escape(END.format(device))}", re.DOTALL)


class _Refused(Exception):
    """Why a file is not shown, as the rest of a sentence that begins with "Its file"."""


def _read(path: Path) -> dict[str, Any]:
    if path.is_symlink() or not path.is_file():
        raise _Refused("is no file")
    if path.stat().st_size > LARGEST:
        raise _Refused(f"has {path.stat().st_size / 2**20:.0f} MiB, more than {LARGEST // 2**20}")
    try:
        document = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise _Refused("is no JSON") from None
    if not _validator().is_valid(document):
        raise _Refused(f"is not as {SCHEMA.name} has it")
    return dict(document)


def _no_number(text: str) -> NoReturn:
    raise ValueError(text)


@cache
def _validator() -> Draft202012Validator:
    return Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))


def _section(document: Mapping[str, Any], run: str) -> str:
    parts = [_contest(document, one) for one in document["contests"]]
    if not parts:
        parts = ["### ⚠️ Nothing was compared\n"]
    device = "" if document["device"] == "cpu" else f" --device {document['device']}"
    how = (
        f"{document['passes']} passes of either side, by turns, on {document['device']}; what changed was measured again twice. "
        f"The same here: `tensorcopy ci pull-request --base {document['base'][:12]} --head {document['head'][:12]}{device}`."
    )
    return "\n".join([*parts, f"<sub>{how}{_see(run)}</sub>\n"])


def _contest(document: Mapping[str, Any], contest: Mapping[str, Any]) -> str:
    if contest["kind"] == "code":
        named = f"base {document['base'][:8]}", f"head {document['head'][:8]}"
    else:
        named = f"torch {contest['torch'][0]}", f"torch {contest['torch'][1]}"
    comparison = contest["comparison"]
    failures = [_failed(named[0 if first else 1], lines) for first, lines in contest["failures"]]
    if comparison is None:
        return "\n".join([f"### ⚠️ {named[0]} and {named[1]} could not be compared", *failures, ""])
    provenance = comparison["after"]["ledger"]
    where = [provenance["cpu"], *provenance["accelerators"].values()] if document["device"] != "cpu" else [provenance["cpu"]]
    torch = [f"torch {contest['torch'][0]}"] if contest["kind"] == "code" else []
    on = ", ".join([*torch, *where, f"Python {comparison['after']['python']}"])
    rows = [(row["case"], _change(row)) for row in comparison["changes"]]
    return "\n".join([markdown.comparison(named, on, comparison["margin"], rows), *failures])


def _failed(side: str, lines: Sequence[str]) -> str:
    return "\n".join(
        [f"\n**⚠️ {side} failed**, so what it did not measure is not known:\n", *(f"- {code(line[:LINE])}" for line in lines), ""]
    )


def _change(row: Mapping[str, Any]) -> Change:
    """A change with a reason in our words."""
    verdict, interval, held = Verdict(row["verdict"]), row["interval"], row["confirmed"]
    if interval is None or row["ratio"] is None:
        matches = (pattern.match(row["reason"]) for pattern in REASONS)
        reason = next((match[0] for match in matches if match), "not compared")
        verdict, interval = Verdict.INCONCLUSIVE, None
    else:
        low, high = sorted(interval)
        interval = (low, high)
        reason = worded(verdict, row["ratio"], interval)
        fell = verdict is Verdict.INCONCLUSIVE and held is not None and held[0] < held[1]
        reason += ", which did not hold when measured again" if fell else ""
    return Change(verdict, reason, row["ratio"], interval, row["p"], row["before"], row["after"], tuple(held) if held else None)


def _see(run: str) -> str:
    return f" [All of it]({run})" if run else ""
