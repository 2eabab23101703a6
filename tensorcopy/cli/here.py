"""The reader's own torch on the command line: check. Arguments, printing, exit codes; needs no asv."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tensorcopy import interpreters
from tensorcopy.observations import differences, outcome

SIGNS = {True: "✓", False: "✗", None: "?"}


def add(commands: Any) -> None:
    """These commands, beside the others'."""
    check = commands.add_parser("check", help="is every promise kept by the torch that is installed? exit 1 where not")
    check.add_argument("--device", action="append", default=[], help="cpu, cuda, mps or xpu; every one that is there by default")
    check.add_argument("--interpreter", default="same", metavar="PYTHON", help="whose torch; this program's own by default")
    check.add_argument("--json", action="store_true", help="everything, for a program")
    check.set_defaults(command=_check)


def _check(options: argparse.Namespace, console: Console) -> int:
    found = interpreters.asked(interpreters.executable(options.interpreter), "tensorcopy.checking", *options.device)
    rows = found["checked"]
    broken = [row for row in rows if row["kept"] is False]
    if options.json:
        sys.stdout.write(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
        return 1 if broken else 0
    devices = list(dict.fromkeys(row["device"] for row in rows))
    for device in devices:
        table = Table(box=None, pad_edge=False, title=device if len(devices) > 1 else None, title_justify="left")
        for title in ("", "", "of a plain tensor", "of a leaf that requires grad"):
            table.add_column(title, overflow="fold")
        for _, some in groupby((row for row in rows if row["device"] == device), key=lambda row: row["method"]):
            plain, with_grad = some
            sign = SIGNS[min((plain["kept"], with_grad["kept"]), key=[False, None, True].index)]
            table.add_row(sign, plain["code"], _short(plain["observed"]), _short(with_grad["observed"]))
        console.print(table, soft_wrap=not console.is_terminal)
        console.print("")
    for text, codes in _texts(rows):
        console.print(Text(f"{', '.join(codes)}: {text}"), soft_wrap=True)
    for row in broken:
        of = "a plain tensor" if row["of"] == "plain" else "a leaf that requires grad"
        console.print(Text(f"✗ {row['code']} on {row['device']}, of {of}: {differences(row['promised'], row['observed'])}"), soft_wrap=True)
    asked = sum(row["kept"] is None for row in rows)
    unknown = f"; ? {asked} of which nobody has promised anything yet" if asked else ""
    kept = "every promise is kept" if not broken else f"{len(broken)} of {len(rows)} promises are NOT kept"
    console.print(Text(f"torch {found['torch']}, Python {found['python']}, numpy {found['numpy']}: {kept}{unknown}"), soft_wrap=True)
    return 1 if broken else 0


def _short(seen: dict[str, Any]) -> str:
    """An outcome in a table: what an error says stands below it."""
    return str(seen["raises"]).partition(":")[0] or outcome(seen)


def _texts(rows: Iterable[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    """What torch warns of and what errors say, word for word, and of which code."""
    found: dict[str, dict[str, None]] = {}
    for row in rows:
        text = row["observed"]["warns"] or row["observed"]["raises"].replace("{device}", "the device")
        if text:
            found.setdefault(text, {})[row["code"]] = None
    return [(text, list(codes)) for text, codes in found.items()]
