"""The produced parts of README.md: the answer, the table of eight methods, the picture; and how parts get into a page. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import release_table
from tensorcopy.report.semantics_text import outcome
from tensorcopy.report.units import count, duration
from tensorcopy.results.load import Result
from tensorcopy.site.charts import charts
from tensorcopy.site.model.machine import PICTURED, Machine, machines

PART = "<!-- produced by `tensorcopy readme`: {} -->"
END = "<!-- end -->"


def best_known(found: tuple[Result, ...]) -> Machine:
    """The machine with the longest history. Raises TensorcopyError where nothing was measured."""
    measured = machines(found, release_table.load())
    if not measured:
        raise TensorcopyError("nothing was measured yet", got="no results", allowed="results/ of a checkout", next="tensorcopy dashboard")
    return max(measured, key=lambda machine: len(machine.results))


def parts(machine: Machine) -> dict[str, str]:
    """What README.md says of a machine, by the name of its place."""
    return {"answer": _answer(machine), "methods": _methods(machine)}


def written(text: str, parts: Mapping[str, str], page: str = "README.md") -> str:
    """A page's text with its produced parts written anew. Raises TensorcopyError where a marker is missing."""
    for name, content in parts.items():
        begin = PART.format(name)
        if begin not in text or END not in text.split(begin, 1)[1]:
            raise TensorcopyError(
                f"{page} has no place for the {name}", got="no marker", allowed=f"{begin} … {END}", next=f"git checkout {page}"
            )
        before, rest = text.split(begin, 1)
        text = f"{before}{begin}\n{content}\n{END}{rest.split(END, 1)[1]}"
    return text


def picture(machine: Machine) -> str:
    """The copies' history at the smaller pictured size, as an SVG file of its own, in light and dark."""
    history = next(one for one in machine.histories if one.group == "copy")
    return charts.standalone(charts.of_group(history, {name: machine.code(name) for name in history.methods}))


def _answer(machine: Machine) -> str:
    parts = "; ".join(f"`{code}` {truth}" for code, truth in machine.answer())
    return f"With torch {machine.newest.version} on {machine.provenance['cpu']}, {parts} (one thread, {_day(machine)})."


def _methods(machine: Machine) -> str:
    columns = PICTURED
    lines = [
        f"| | the result, of a leaf that requires grad | {' | '.join(count(numel) for numel in columns)} |",
        f"|---|---|{'--:|' * len(columns)}",
    ]
    for table in machine.costs:
        if table.device != "cpu":
            continue
        for method, row in zip(table.methods, table.costs, strict=True):
            timings = [row[table.numels.index(numel)].timing for numel in columns]
            times = " | ".join(duration(timing.median) if timing else "–" for timing in timings)
            observed = machine.result.methods[method]["observed"]["cpu"]["with_grad"]
            lines.append(f"| `{machine.code(method)}` | {outcome(observed)} | {times} |")
    note = f"torch {machine.provenance['torch']}, {machine.provenance['cpu']}, float32, one thread, {_day(machine)}."
    return "\n".join([*lines, "", note])


def _day(machine: Machine) -> str:
    return str(machine.provenance["started"])[:10]
