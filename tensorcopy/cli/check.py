"""The command that checks documented behaviour against the installed torch: check. It needs no asv."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from tensorcopy.cli import output

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

SIGNS = {True: "✓", False: "✗", None: "?"}
INTERPRETER = "the Python whose torch is used; default: the one that runs this program"


def add(commands: Any) -> None:
    """Add this command to the parser."""
    check = commands.add_parser("check", help="check every documented behaviour against the installed torch; exit 1 if one differs")
    check.add_argument("--device", action="append", default=[], help="cpu, cuda, mps or xpu; default: every available device")
    check.add_argument("--interpreter", default="same", metavar="PYTHON", help=INTERPRETER)
    check.add_argument("--json", action="store_true", help="print everything as JSON")
    check.set_defaults(command=_check)


def _check(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.releases import interpreters

    report = interpreters.run_probe(interpreters.executable(options.interpreter), "tensorcopy.worker.probes.conformance", *options.device)
    rows = report["checked"]
    differing = [row for row in rows if row["kept"] is False]
    if options.json:
        output.write_json(json.dumps(report, indent=1, ensure_ascii=False) + "\n")
        return 1 if differing else 0
    devices = list(dict.fromkeys(row["device"] for row in rows))
    for device in devices:
        title = device if len(devices) > 1 else None
        console.print(_check_table([row for row in rows if row["device"] == device], title), soft_wrap=not console.is_terminal)
        console.print("")
    _print_check_notes(rows, differing, console)
    _print_check_result(report, differing, console)
    return 1 if differing else 0


def _check_table(rows: Iterable[Mapping[str, Any]], title: str | None) -> Table:
    """Return a table of each method's observed behaviour on one device."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, title=title, title_justify="left")
    for heading in ("", "", "plain tensor", "tensor that requires grad"):
        table.add_column(heading, overflow="fold")
    for _, pair in groupby(rows, key=lambda row: row["method"]):
        plain, with_grad = pair
        sign = SIGNS[min((plain["kept"], with_grad["kept"]), key=[False, None, True].index)]
        table.add_row(sign, plain["code"], _short(plain["observed"]), _short(with_grad["observed"]))
    return table


def _print_check_notes(rows: Iterable[Mapping[str, Any]], differing: Iterable[Mapping[str, Any]], console: Console) -> None:
    """Print torch's warnings and errors in full, then each difference."""
    from rich.text import Text

    from tensorcopy.worker.semantics import describe_differences

    for text, codes in _texts(rows):
        console.print(Text(f"{', '.join(codes)}: {text}"), soft_wrap=True)
    for row in differing:
        tensor = "a plain tensor" if row["of"] == "plain" else "a leaf that requires grad"
        changed = describe_differences(row["promised"], row["observed"])
        console.print(Text(f"✗ {row['code']} on {row['device']}, {tensor}: {changed}"), soft_wrap=True)


def _print_check_result(report: Mapping[str, Any], differing: Sequence[Mapping[str, Any]], console: Console) -> None:
    from rich.text import Text

    for device, reason in report["unsupported"].items():
        console.print(Text(f"{device} is not checked: {reason}"), soft_wrap=True)
    rows = report["checked"]
    undocumented = sum(row["kept"] is None for row in rows)
    note = f"; ? {undocumented} have no documented behaviour yet" if undocumented else ""
    result = f"{len(differing)} of {len(rows)} documented behaviours differ" if differing else "every documented behaviour holds"
    versions = f"torch {report['torch']}, Python {report['python']}, numpy {report['numpy']}"
    console.print(Text(f"{versions}: {result}{note}"), soft_wrap=True)


def _short(observed: Mapping[str, Any]) -> str:
    """Return an outcome for a table cell; an error's text is printed below the table."""
    from tensorcopy.worker.semantics import describe

    return str(observed["raises"]).partition(":")[0] or describe(dict(observed))


def _texts(rows: Iterable[Mapping[str, Any]]) -> list[tuple[str, list[str]]]:
    """Return each warning and error text of torch, with the code that causes it."""
    codes_by_text: dict[str, dict[str, None]] = {}
    for row in rows:
        text = row["observed"]["warns"] or row["observed"]["raises"].replace("{device}", "the device")
        if text:
            codes_by_text.setdefault(text, {})[row["code"]] = None
    return [(text, list(codes)) for text, codes in codes_by_text.items()]
