"""Commands about the installed torch: advise, check and plot. They need no asv."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from tensorcopy.cli import output
from tensorcopy.cli.arguments import TensorSize, path
from tensorcopy.cli.output import progress_bar

if TYPE_CHECKING:
    from rich.console import Console


SIGNS = {True: "✓", False: "✗", None: "?"}  # of a documented behaviour: observed, not observed, none documented
INTERPRETER = "the Python whose torch is used; default: the one that runs this program"


def add(commands: Any) -> None:
    """Add these commands to the parser."""
    advise = commands.add_parser(
        "advise", help="print the code to use, measured here (without torch: from the shipped results); exit 1 if no method matches"
    )
    advise.add_argument("--to", choices=("tensor", "numpy"), default="tensor", help="make a tensor (default) or an ndarray")
    storage = advise.add_mutually_exclusive_group()
    storage.add_argument("--independent", action="store_true", default=True, help="with new storage (default)")
    storage.add_argument("--shared", action="store_false", dest="independent", help="sharing the storage of x")
    advise.add_argument("--requires-grad", action="store_true", help="x requires grad")
    graph = "gradients flow back to x, with --requires-grad; default: they do not"
    advise.add_argument("--keep-graph", action="store_true", help=graph)
    sizes = "such as 2**20 or 1e6, or bytes, such as 4MB or 64KiB"
    advise.add_argument("--numel", type=TensorSize.of, default="2**17", metavar="N", help=f"elements of x, {sizes}; default: 2**17")
    advise.add_argument("--device", default="cpu", help="the device of x; default: cpu")
    advise.add_argument("--dtype", default="float32", help="the dtype of x, such as float16; default: float32")
    advise.add_argument("--layout", default="contiguous", help="contiguous (default), transposed, strided (x[::2]) or channels_last")
    source = advise.add_mutually_exclusive_group()
    source.add_argument("--shipped", action="store_true", help="answer from the shipped results")
    source.add_argument("--interpreter", default="same", metavar="PYTHON", help=INTERPRETER)
    advise.add_argument("--json", action="store_true", help="print everything as JSON")
    advise.set_defaults(command=_advise)

    check = commands.add_parser(
        "check",
        help="check every documented behaviour against the installed torch; exit 1 if one differs",
    )
    check.add_argument("--device", action="append", default=[], help="cpu, cuda, mps or xpu; default: every available device")
    check.add_argument("--interpreter", default="same", metavar="PYTHON", help=INTERPRETER)
    check.add_argument("--json", action="store_true", help="print everything as JSON")
    check.set_defaults(command=_check)

    plot = commands.add_parser("plot", help="time every method over size in ten seconds: a table, or a picture with -o")
    plot.add_argument(
        "what",
        nargs="?",
        choices=("copies", "conversions"),
        default="copies",
        help="copies to a tensor (default) or conversions to an ndarray",
    )
    plot.add_argument("-o", "--out", type=path, metavar="FILE", help="draw a picture instead: .svg, .png or .pdf (needs matplotlib)")
    plot.add_argument("--device", default="cpu", help="default: cpu")
    plot.add_argument("--max", type=TensorSize.of, default="2**14", metavar="N", help=f"the largest size, {sizes}; default: 2**14")
    plot.add_argument("--requires-grad", action="store_true", help="copy a leaf that requires grad")
    plot.add_argument("--logx", action=argparse.BooleanOptionalAction, default=True, help="logarithmic axis of sizes (default)")
    plot.add_argument("--logy", action=argparse.BooleanOptionalAction, default=True, help="logarithmic axis of times (default)")
    plot.add_argument("--relative-to", default="", metavar="METHOD", help="times as multiples of a method's, or of the memcpy baseline's")
    plot.add_argument("--interpreter", default="same", metavar="PYTHON", help=INTERPRETER)
    plot.add_argument("--json", action="store_true", help="print the measured times as JSON")
    plot.set_defaults(command=_plot)


def _advise(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.copying.advise import advise, against_recommended, can_measure, origin
    from tensorcopy.numbers import count, duration, two_digits
    from tensorcopy.report.table import Report, of_cells

    numel = options.numel.numel(options.dtype)
    names = ("independent", "keep_graph", "requires_grad", "device", "dtype", "layout")
    requirements = {"numel": numel, **{name: getattr(options, name) for name in names}}
    if options.shipped or not can_measure(options.interpreter):
        advice = advise(options.to, **requirements, shipped=True)
    else:
        with progress_bar(title="measuring") as report_progress:
            advice = advise(options.to, **requirements, interpreter=options.interpreter, report_progress=report_progress)
    table, cells = advice.table, advice.column.cells if advice.column else {}
    _print_left_out(table.evidence.left_out)
    if options.json:
        sys.stdout.write(json.dumps(advice.document(), indent=1, ensure_ascii=False) + "\n")
        return 0 if advice.code else 1
    if not advice.code:
        output.show(Report(advice.why, [], []), console)
        return 1
    times = {name: cell.seconds for name, cell in cells.items()}
    rows = sorted(table.rows, key=lambda row: (row.code != advice.code, row.method not in times, times.get(row.method, 0.0)))
    first = rows[0]
    multiple = cells[first.method].multiple if first.method in cells else None
    figures = [duration(times[first.method]) if first.method in times else "", f"{two_digits(multiple)}× memcpy" if multiple else ""]
    figures += [f"on {table.evidence.on} ({options.device})"] if table.evidence.measured == "shipped" else []
    lines = []
    for row in rows:
        time = duration(times[row.method]) if row.method in times else "–"
        against = cells[row.method].against if row.method in cells else None
        lines.append([row.code, time, against_recommended(against) if against else "", "; ".join(map(_in_a_table, row.caveats))])
    nearest = [f"Nearest measured size: {count(advice.numel)} elements."] if advice.numel != numel else []
    if (table.timed.dtype, table.timed.layout) != (options.dtype, options.layout):
        measured = f"{table.timed.dtype}, {table.timed.layout}"
        nearest.append(f"Nearest measured tensor, not the same as {options.dtype}, {options.layout}: {measured}.")
    beside = ", ".join(filter(None, figures))
    report = of_cells(
        f"Use {advice.code}{f': {beside}' if beside else ''}",
        ("matching methods", "time", "vs recommended", ""),
        lines if len(lines) > 1 else [],
        "lrll",
        lines=[advice.why, *(f"Note: {caveat}." for caveat in first.caveats)],
        notes=[*nearest, f"Times {origin(advice)}."],
    )
    output.show(report, console)
    return 0


def _in_a_table(caveat: str) -> str:
    """Return a caveat without the text of a warning."""
    return caveat.partition(": ")[0] if caveat.startswith("warns") else caveat


def _check(options: argparse.Namespace, console: Console) -> int:
    """Print each method's observed behaviour, torch's warnings and errors in full, each difference, and the result."""
    from tensorcopy.copying.inside.semantics import describe, describe_differences, error_of
    from tensorcopy.releases import interpreters
    from tensorcopy.report.table import Report, ReportColumn, ReportSection

    report = interpreters.run_probe(
        interpreters.executable(options.interpreter),
        "tensorcopy.copying.inside.conformance",
        *options.device,
    )
    rows = report["checked"]
    differing = [row for row in rows if row["kept"] is False]
    if options.json:
        sys.stdout.write(json.dumps(report, indent=1, ensure_ascii=False) + "\n")
        return 1 if differing else 0
    devices = list(dict.fromkeys(row["device"] for row in rows))
    sections = []
    for device in devices:
        cells = []
        for _, (plain, with_grad) in groupby((row for row in rows if row["device"] == device), key=lambda row: row["method"]):
            sign = SIGNS[min((plain["kept"], with_grad["kept"]), key=[False, None, True].index)]
            # of an error its name; the rest is below the table
            seen = [str(row["observed"]["raises"]).partition(":")[0] or describe(dict(row["observed"])) for row in (plain, with_grad)]
            tensors = ("",) if seen[0] == seen[1] else ("plain tensor", "requires grad")
            cells += [(sign, plain["code"], tensor, text) for tensor, text in zip(tensors, seen)]
        sections.append(ReportSection(device if len(devices) > 1 else "", cells, limited=False))
    table = Report(
        "",
        [ReportColumn("", itemgetter(3), left=True)],
        sections,
        title="",
        name=lambda row: ", ".join(filter(None, row[1:3])),
        short=lambda row: (row[1], row[2]) if row[2] else ("", row[1]),
        mark=itemgetter(0),
    )
    output.show(table, console)
    console.print("")
    codes_by_text: dict[str, dict[str, None]] = {}
    for row in rows:
        observed = row["observed"]
        unobserved = [f"not observed: {reason}" for reason in observed["unobserved"]]
        for text in filter(None, [observed["warns"], error_of(observed, row["device"]), *unobserved]):
            codes_by_text.setdefault(text, {})[row["code"]] = None
    for text, codes in codes_by_text.items():
        console.print(f"{', '.join(codes)}: {text}", soft_wrap=True)
    for row in differing:
        tensor = "a plain tensor" if row["of"] == "plain" else "a leaf that requires grad"
        changed = describe_differences(row["promised"], row["observed"])
        console.print(f"✗ {row['code']} on {row['device']}, {tensor}: {changed}", soft_wrap=True)
    for device, reason in report["unsupported"].items():
        console.print(f"{device} is not checked: {reason}", soft_wrap=True)
    for device, reasons in report["not_applicable"].items():
        for reason in reasons:
            console.print(f"not applicable on {device}: {reason}", soft_wrap=True)
    undocumented = sum(row["kept"] is None for row in rows)
    note = f"; ? {undocumented} have no documented behaviour yet" if undocumented else ""
    result = f"{len(differing)} of {len(rows)} documented behaviours differ" if differing else "every documented behaviour holds"
    versions = f"torch {report['torch']}, Python {report['python']}, numpy {report['numpy']}"
    console.print(f"{versions}: {result}{note}", soft_wrap=True)
    return 1 if differing else 0


def _plot(options: argparse.Namespace, console: Console) -> int:
    from tensorcopy.copying import sweep

    if options.out is not None:
        sweep.check_path(options.out)
    with progress_bar(title=options.what) as report_progress:
        document = sweep.measure(
            options.what,
            device=options.device,
            most=options.max.numel("float32"),
            requires_grad=options.requires_grad,
            relative_to=options.relative_to,
            interpreter=options.interpreter,
            report_progress=report_progress,
        )
    _print_left_out(document["left_out"])
    if options.out is not None:
        sweep.save(document, options.out, logx=options.logx, logy=options.logy, relative_to=options.relative_to)
    if options.json:
        sys.stdout.write(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    elif options.out is not None:
        console.print(f"Picture written to {options.out}", soft_wrap=True)
    else:
        output.show(sweep.table(document, options.relative_to), console)
        grad = ", a leaf that requires grad" if options.requires_grad else ""
        how = f"torch {document['torch']}, {document['on']}, float32 on {document['device']}{grad}, one thread, {document['day']}"
        console.print(f"\n{how}: the usual turn of a millisecond, the mean of the fastest third", soft_wrap=True)
    return 0


def _print_left_out(reasons: Mapping[str, str]) -> None:
    """Print to stderr why methods are not among those that were timed."""
    for name, reason in reasons.items():
        output.print_line(f"{name} is left out: {reason}")
