"""The generated parts of README.md, and the replacement of parts in a page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tensorcopy.analysis.advice import recommend
from tensorcopy.analysis.advice.matching import CopyRequest
from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import release_table
from tensorcopy.report import advise
from tensorcopy.report.formats import code, escaped
from tensorcopy.report.numbers import count, duration
from tensorcopy.report.tables import markdown_table
from tensorcopy.results.reader import Result
from tensorcopy.site import addresses
from tensorcopy.site.charts import charts, labelled_plot
from tensorcopy.site.data_files import badge
from tensorcopy.site.model.costs import CostTable
from tensorcopy.site.model.machine import HISTORY_NUMELS, Machine, longest_history, machines
from tensorcopy.site.web_addresses import WebAddresses
from tensorcopy.worker.semantics import describe

BEGIN = "<!-- produced by `tensorcopy readme`: {} -->"
END = "<!-- end -->"
BADGE = Path("docs/badge.svg")
WANTS = {
    "an independent tensor, without the graph": CopyRequest("tensor", True, False, True, "cpu"),
    "an independent tensor through which gradients flow back": CopyRequest("tensor", True, True, True, "cpu"),
    "an independent ndarray": CopyRequest("ndarray", True, None, True, "cpu"),
}
RESULTS_OF = {"copy": "tensor", "conversion": "ndarray"}


def shown_machine(results: tuple[Result, ...]) -> Machine:
    """Return the machine with the longest history.

    Raises TensorcopyError when nothing was measured.
    """
    machine = longest_history(machines(results, release_table.load()))
    if machine is None:
        raise TensorcopyError("nothing was measured yet", got="no results", allowed="results/ of a checkout", next="tensorcopy dashboard")
    return machine


def readme_parts(machine: Machine, web: WebAddresses) -> dict[str, str]:
    """Return the generated parts of README.md by name.

    web : the addresses that asv.conf.json names
    """
    return {"badges": _badges(machine, web), "answer": _answer(machine), "methods": _methods(machine)}


def replace_parts(text: str, parts: Mapping[str, str], page: str = "README.md") -> str:
    """Return a page's text with its generated parts replaced.

    A marker within a part is made harmless: it would end the part, and the next run would keep what follows it.

    Raises TensorcopyError when a marker is missing.
    """
    for name, content in parts.items():
        begin = BEGIN.format(name)
        if begin not in text or END not in text.split(begin, 1)[1]:
            raise TensorcopyError(
                f"{page} has no markers for the part {name}", got="no marker", allowed=f"{begin} … {END}", next=f"git checkout {page}"
            )
        before, rest = text.split(begin, 1)
        text = f"{before}{begin}\n{content.replace('<!--', '<! --')}\n{END}{rest.split(END, 1)[1]}"
    return text


def history_svg(machine: Machine) -> str:
    """Return the history of the copies at the smaller size as a standalone SVG, with a title and the methods at the ends of their lines."""
    history = next(history for history in machine.histories if history.group == "copy")
    codes = {name: machine.code(name) for name in history.methods}
    names = [environment.split("-")[0].removeprefix("py") for environment in history.environments]
    title = f"{len(codes)} ways to copy {count(history.numel)} float32: time per call over torch releases"
    lines = f"solid: Python {names[0]}" + (f"; dashed: Python {', '.join(names[1:])}" if names[1:] else "")
    return charts.standalone(labelled_plot.svg(charts.of_group(history, codes), list(codes.values()), title, lines))


def _badges(machine: Machine, web: WebAddresses) -> str:
    """Return the badge of the recommended copy, that of the tests where the repository is known, and the published site's address."""
    text = escaped(f"{badge.LABEL}: {badge.message(machine)}")
    badges = [f"[![{text}]({web.absolute(addresses.BADGE) or BADGE})]({web.site or 'docs/guide.md'})"]
    if web.source:
        workflow = f"{web.source}/actions/workflows/ci.yml"
        badges.append(f"[![tests of main]({workflow}/badge.svg)]({workflow})")
    return "\n".join([*badges, *(["", f"The pages of this repository: <{web.site}>"] if web.site else [])])


def _answer(machine: Machine) -> str:
    uses = [
        f"{code(machine.code(table.methods[row]))} for an independent {RESULTS_OF[table.group]} ({table.rank_text(row)})"
        for table, row in machine.winners()
    ]
    cpu = escaped(machine.provenance["cpu"])
    answer = f"With torch {machine.newest.version} on {cpu}, use {' and '.join(uses)}. One thread, {_day(machine)}."
    rows = [[want, code(_recommended(machine, request))] for want, request in WANTS.items()]
    return "\n".join([markdown_table(["I want", "I type"], rows, "ll"), "", answer])


def _recommended(machine: Machine, request: CopyRequest) -> str:
    """Return the code that is recommended for a request, at the size that is nearest to `advise`'s."""
    options = recommend.options_by_size(machine.result, request, machine.series[0].results)
    return options[recommend.nearest_size(advise.NUMEL, options)][0].code


def _methods(machine: Machine) -> str:
    header = ["", "result, for a leaf that requires grad", *map(count, HISTORY_NUMELS)]
    rows = [row for table in machine.costs if table.device == "cpu" for row in _rows(machine, table)]
    on = escaped(f"torch {machine.provenance['torch']}, {machine.provenance['cpu']}")
    note = f"{on}, float32, one thread, {_day(machine)}."
    return "\n".join([markdown_table(header, rows, "ll" + "r" * len(HISTORY_NUMELS)), "", note])


def _rows(machine: Machine, table: CostTable) -> list[list[str]]:
    """Return each method's code, semantics and times at the pictured sizes."""
    rows = []
    for method, costs in zip(table.methods, table.costs, strict=True):
        timings = [costs[table.numels.index(numel)].timing for numel in HISTORY_NUMELS]
        semantics = escaped(describe(machine.result.methods[method]["observed"]["cpu"]["with_grad"]))
        rows.append([code(machine.code(method)), semantics, *(duration(timing.median) if timing else "–" for timing in timings)])
    return rows


def _day(machine: Machine) -> str:
    return escaped(str(machine.provenance["started"])[:10])
