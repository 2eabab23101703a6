"""Commands about the installed torch: advise, check and plot. They need no asv."""

from __future__ import annotations

import argparse
import sys
from contextlib import nullcontext
from itertools import groupby
from math import inf
from operator import itemgetter
from pathlib import Path
from typing import Any

from tensorcopy.cli import output
from tensorcopy.cli.arguments import add_command, numel
from tensorcopy.worker.processes import ignore_progress

SIGNS = {True: "✓", False: "✗", None: "?"}  # of a documented behaviour: observed, not observed, none documented


def add(commands: Any) -> None:
    """Add these commands to the parser."""
    text = "print the code to use, measured here (without torch: from the shipped results); exit 1 if no method matches"
    advise = add_command(commands, "advise", text, _advise)
    advise.add_argument("--to", choices=("tensor", "numpy"), default="tensor", help="make a tensor (default) or an ndarray")
    advise.add_argument("--shared", action="store_false", dest="independent", help="sharing the storage of x; default: with new storage")
    advise.add_argument("--requires-grad", action="store_true", help="x requires grad")
    graph = "gradients flow back to x, with --requires-grad; default: they do not"
    advise.add_argument("--keep-graph", action="store_true", help=graph)
    advise.add_argument("--numel", type=numel, default=2**17, metavar="N", help="elements of x, such as 2**20 or 1e6; default: 2**17")
    advise.add_argument("--device", default="cpu", help="the device of x; default: cpu")
    advise.add_argument("--dtype", default="float32", help="the dtype of x, such as float16; default: float32")
    advise.add_argument("--layout", default="contiguous", help="contiguous (default), transposed, strided (x[::2]) or channels_last")
    advise.add_argument("--shipped", action="store_true", help="answer from the shipped results")

    text = "check every documented behaviour against the installed torch; exit 1 if one differs"
    check = add_command(commands, "check", text, _check)
    check.add_argument("--device", action="append", default=[], help="cpu, cuda, mps or xpu; default: every available device")

    plot = add_command(commands, "plot", "time every method over size in ten seconds: a table, or a picture with -o", _plot)
    kinds, what = ("copies", "conversions"), "copies to a tensor (default) or conversions to an ndarray"
    plot.add_argument("what", nargs="?", choices=kinds, default="copies", help=what)
    plot.add_argument("-o", "--out", type=Path, metavar="FILE", help="draw a picture instead: .svg, .png or .pdf (needs matplotlib)")
    plot.add_argument("--device", default="cpu", help="default: cpu")
    plot.add_argument("--requires-grad", action="store_true", help="copy a leaf that requires grad")
    plot.add_argument("--relative-to", default="", metavar="METHOD", help="times as multiples of a method's, or of the memcpy baseline's")


def _advise(options: argparse.Namespace) -> int:
    from tensorcopy.copying.advise import advise, against_recommended, can_measure, origin
    from tensorcopy.numbers import duration, two_digits
    from tensorcopy.report.table import Report, of_cells

    names = ("independent", "keep_graph", "requires_grad", "numel", "device", "dtype", "layout")
    asked = {name: getattr(options, name) for name in names}
    here = not options.shipped and can_measure()
    with output.progress_bar() if here else nullcontext(ignore_progress) as report_progress:
        advice = advise(options.to, **asked, shipped=not here, report_progress=report_progress)
    table, timed, cells = advice.table, advice.table.timed, advice.column.cells if advice.column else {}
    for name, reason in table.evidence.left_out.items():
        output.print_line(f"{name} is left out: {reason}")
    if not advice.code:
        output.show(Report(advice.why, [], []))
        return 1
    lines = []
    rows = sorted(table.rows, key=lambda row: (row.code != advice.code, cells[row.method].seconds if row.method in cells else inf))
    for row in rows:
        cell = cells.get(row.method)
        time, against = (duration(cell.seconds), cell.against) if cell else ("–", None)
        caveats = [each.partition(": ")[0] if each.startswith("warns") else each for each in row.caveats]  # without a warning's text
        lines.append([row.code, time, against_recommended(against) if against else "", "; ".join(caveats)])
    best = cells.get(rows[0].method)
    cost = f": {duration(best.seconds)}" + (f", {two_digits(best.multiple)}× memcpy" if best.multiple else "") if best else ""
    measured = {"numel": advice.numel, "dtype": timed.dtype, "layout": timed.layout, "requires_grad": timed.requires_grad}
    is_nearest = any(asked[name] != value for name, value in measured.items())
    report = of_cells(
        f"Use {advice.code}{cost}",
        ("matching methods", "time", "vs recommended", ""),
        lines if len(lines) > 1 else [],
        "lrll",
        lines=[advice.why, *(f"Note: {caveat}." for caveat in rows[0].caveats)],
        notes=[f"{'Not measured with this tensor, but with the nearest. ' if is_nearest else ''}Times {origin(advice)}."],
    )
    output.show(report)
    return 0


def _check(options: argparse.Namespace) -> int:
    """Print each method's observed behaviour, torch's warnings and errors in full, each difference, and the result."""
    from tensorcopy.copying.inside.semantics import describe, describe_differences, error_of
    from tensorcopy.releases import interpreters
    from tensorcopy.report.table import of_cells

    report = interpreters.run_probe(Path(sys.executable), "tensorcopy.copying.inside.conformance", *options.device)
    rows = report["checked"]
    for device, of_device in groupby(rows, key=itemgetter("device")):
        lines: list[Any] = []
        for _, (plain, with_grad) in groupby(of_device, key=itemgetter("method")):
            sign = SIGNS[min((plain["kept"], with_grad["kept"]), key=[False, None, True].index)]
            # of an error its name; the rest is below the table
            seen = [str(row["observed"]["raises"]).partition(":")[0] or describe(dict(row["observed"])) for row in (plain, with_grad)]
            # the name of a row, its cell and its mark, and its name in a narrow terminal, below a line with the code
            if seen[0] == seen[1]:
                lines.append((plain["code"], seen[0], sign, ("", plain["code"])))
            else:
                tensors = zip(("plain tensor", "requires grad"), seen)
                lines += [(f"{plain['code']}, {tensor}", text, sign, (plain["code"], tensor)) for tensor, text in tensors]
        output.show(of_cells(f"On {device}", ("", ""), lines, "ll", mark=itemgetter(2), short=itemgetter(3)))
        print()
    codes_by_text: dict[str, dict[str, None]] = {}
    for row in rows:
        observed = row["observed"]
        unobserved = [f"not observed: {reason}" for reason in observed["unobserved"]]
        for text in filter(None, [observed["warns"], error_of(observed, row["device"]), *unobserved]):
            codes_by_text.setdefault(text, {})[row["code"]] = None
    texts = [f"{', '.join(codes)}: {text}" for text, codes in codes_by_text.items()]
    differing = [row for row in rows if row["kept"] is False]
    for row in differing:
        tensor = "a plain tensor" if row["of"] == "plain" else "a leaf that requires grad"
        texts.append(f"✗ {row['code']} on {row['device']}, {tensor}: {describe_differences(row['promised'], row['observed'])}")
    texts += [f"{device} is not checked: {reason}" for device, reason in report["unsupported"].items()]
    texts += [f"not applicable on {device}: {reason}" for device, reasons in report["not_applicable"].items() for reason in reasons]
    undocumented = sum(row["kept"] is None for row in rows)
    note = f"; ? {undocumented} have no documented behaviour yet" if undocumented else ""
    result = f"{len(differing)} of {len(rows)} documented behaviours differ" if differing else "every documented behaviour holds"
    print(*texts, f"torch {report['torch']}, Python {report['python']}, numpy {report['numpy']}: {result}{note}", sep="\n")
    return 1 if differing else 0


def _plot(options: argparse.Namespace) -> int:
    from tensorcopy.copying import sweep

    if options.out is not None:
        sweep.check_path(options.out)
    asked = {name: getattr(options, name) for name in ("device", "requires_grad", "relative_to")}
    with output.progress_bar() as report_progress:
        measured = sweep.measure(options.what, **asked, report_progress=report_progress)
    for name, reason in measured.left_out.items():
        output.print_line(f"{name} is left out: {reason}")
    if options.out is None:
        output.show(sweep.table(measured))
    else:
        sweep.save(measured, options.out)
        print(f"Picture written to {options.out}")
    return 0
