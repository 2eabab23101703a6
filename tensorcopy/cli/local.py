"""The reader's own torch on the command line: advise, check and plot. Arguments, printing, exit codes; needs no asv."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tensorcopy.cli.arguments import bar
from tensorcopy.measure.progress import Progress
from tensorcopy.releases import interpreters
from tensorcopy.report.local import advise, sweep, sweep_table
from tensorcopy.report.semantics_text import differences, outcome
from tensorcopy.report.units import count, duration

SIGNS = {True: "✓", False: "✗", None: "?"}


def add(commands: Any) -> None:
    """These commands, beside the others'."""
    advise = commands.add_parser("advise", help="which code to type: measured here, or as shipped where torch is not; exit 1: none does so")
    advise.add_argument("--to", choices=("tensor", "numpy"), default="tensor", help="what is wanted: a tensor by default, or an ndarray")
    storage = advise.add_mutually_exclusive_group()
    storage.add_argument("--independent", action="store_true", default=True, help="with storage of its own; so by default")
    storage.add_argument("--shared", action="store_false", dest="independent", help="sharing the storage of x")
    advise.add_argument("--requires-grad", action="store_true", help="x requires grad")
    advise.add_argument("--keep-graph", action="store_true", help="a gradient shall reach x; without it, shall not")
    advise.add_argument("--numel", type=_number, default=2**17, metavar="N", help="elements of x, such as 2**20 or 1e6; 2**17 by default")
    advise.add_argument("--device", default="cpu", help="where x lies; cpu by default")
    advise.add_argument("--shipped", action="store_true", help="answer from the shipped results, measure nothing")
    advise.add_argument("--interpreter", default="same", metavar="PYTHON", help="whose torch; this program's own by default")
    advise.add_argument("--json", action="store_true", help="everything, for a program")
    advise.set_defaults(command=_advise)

    check = commands.add_parser("check", help="is every promise kept by the torch that is installed? exit 1 where not")
    check.add_argument("--device", action="append", default=[], help="cpu, cuda, mps or xpu; every one that is there by default")
    check.add_argument("--interpreter", default="same", metavar="PYTHON", help="whose torch; this program's own by default")
    check.add_argument("--json", action="store_true", help="everything, for a program")
    check.set_defaults(command=_check)

    plot = commands.add_parser("plot", help="the article's pictures, measured here in ten seconds: a table, or a picture with -o")
    plot.add_argument(
        "what", nargs="?", choices=("copies", "conversions"), default="copies", help="to a tensor, so by default, or to an ndarray"
    )
    plot.add_argument("-o", "--out", type=Path, metavar="FILE", help="a picture instead: .svg, .png or .pdf (needs matplotlib)")
    plot.add_argument("--device", default="cpu", help="cpu by default")
    plot.add_argument("--max", type=_number, default=2**14, metavar="N", help="the most elements, such as 2**24 or 1e6; 2**14 by default")
    plot.add_argument("--requires-grad", action="store_true", help="of a leaf that requires grad")
    plot.add_argument("--logx", action=argparse.BooleanOptionalAction, default=True, help="sizes on a logarithmic axis; so by default")
    plot.add_argument("--logy", action=argparse.BooleanOptionalAction, default=True, help="times likewise")
    plot.add_argument("--relative-to", default="", metavar="METHOD", help="times as multiples of a method's, or of the floor's")
    plot.add_argument("--interpreter", default="same", metavar="PYTHON", help="whose torch; this program's own by default")
    plot.add_argument("--json", action="store_true", help="what was measured, for a program")
    plot.set_defaults(command=_plot)


def _advise(options: argparse.Namespace, console: Console) -> int:
    ask = partial(
        advise.advise,
        options.to,
        independent=options.independent,
        keep_graph=options.keep_graph,
        requires_grad=options.requires_grad,
        numel=options.numel,
        device=options.device,
    )
    if options.shipped or not advise.can_measure(options.interpreter):
        advice = ask(shipped=True)
    else:
        with bar(Console(stderr=True, highlight=False)) as tell:
            advice = ask(interpreter=options.interpreter, tell=lambda share, doing: tell(Progress(f"measuring: {doing}", share, 0.0)))
    if options.json:
        sys.stdout.write(json.dumps(advice.document(), indent=1, ensure_ascii=False) + "\n")
        return 0 if advice.choices else 1
    if not advice.choices:
        console.print(Text(advice.why), soft_wrap=True)
        return 1
    first, *others = advice.choices
    console.print(Text.assemble("take    ", (first.code, "bold"), f"   {_cost(first)}".rstrip()), soft_wrap=True)
    console.print(Text(f"        {advice.why}"), soft_wrap=True)
    for caveats in first.caveats:
        console.print(Text(f"beware  {caveats}"), soft_wrap=True)
    if others:
        table = Table(box=None, pad_edge=False)
        for title in ("also does as asked", "time", "beside the least", "beware"):
            table.add_column(title, justify="right" if title == "time" else "left", no_wrap=title != "beware")
        for choice in others:
            by = f"{choice.verdict} {100 * (choice.ratio - 1):+.0f} %" if choice.ratio else choice.verdict
            caveats = "; ".join(one.partition(":")[0] for one in choice.caveats)  # the first's are told whole
            table.add_row(Text(choice.code), duration(choice.seconds) if choice.seconds else "–", by, Text(caveats))
        console.print("")
        console.print(table, soft_wrap=not console.is_terminal)
    request = advice.request
    of = f"{count(advice.numel)} float32 on {request.device}{', a leaf that requires grad' if request.requires_grad else ''}, one thread"
    where = "measured here" if advice.measured == "here" else "as shipped, not measured here"
    console.print(Text(f"\n{where}: torch {advice.torch}, {advice.on}, {of}, {advice.day}"), soft_wrap=True)
    return 0


def _cost(choice: advise.Choice) -> str:
    times = f"{choice.multiple:.2g} times its floor" if choice.multiple else ""
    return ", ".join(filter(None, [duration(choice.seconds) if choice.seconds else "", times]))


def _check(options: argparse.Namespace, console: Console) -> int:
    found = interpreters.asked(interpreters.executable(options.interpreter), "tensorcopy.worker.probes.conformance", *options.device)
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


def _plot(options: argparse.Namespace, console: Console) -> int:
    if options.out is not None:
        from tensorcopy.report.local import sweep_plot  # before anything is measured: it may be missing

        sweep_plot.writable(options.out)
    with bar(Console(stderr=True, highlight=False)) as tell:
        found = sweep.measure(
            options.what,
            device=options.device,
            most=options.max,
            requires_grad=options.requires_grad,
            interpreter=options.interpreter,
            tell=lambda share, doing: tell(Progress(f"{options.what}: {doing}", share, 0.0)),
        )
    if options.json:
        sys.stdout.write(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    if options.out is not None:
        sweep_plot.saved(found, options.out, logx=options.logx, logy=options.logy, relative_to=options.relative_to)
        console.print(f"The picture: {options.out}", soft_wrap=True)
    elif not options.json:
        console.print(sweep_table.table(found, options.relative_to), soft_wrap=not console.is_terminal)
        grad = ", of a leaf that requires grad" if options.requires_grad else ""
        how = f"torch {found['torch']}, {found['on']}, float32 on {found['device']}{grad}, one thread, {found['day']}"
        console.print(Text(f"\n{how}: medians of interleaved rounds"), soft_wrap=True)
    return 0


def _number(text: str) -> int:
    """A count of elements as people write it: 16384, 2**14, 2^14 or 1e6."""
    base, power, exponent = text.replace("^", "**").partition("**")
    try:
        number = int(base) ** int(exponent) if power and int(exponent) < 64 else int(float(text))
    except (ValueError, OverflowError):
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"got {text!r}; allowed: 1 or more, such as 16384, 2**14 or 1e6")
    return number
