"""The machines, the data files of the site, and the accuracy report: how often verdicts are right, as `docs.tools.accuracy` counts it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tensorcopy.report.numbers import percent
from tensorcopy.results.schemas import RESULT
from tensorcopy.results.series_key import UNKNOWN_NAME
from tensorcopy.site import addresses
from tensorcopy.site.content import Content
from tensorcopy.site.data_files import BADGE_LABEL, DATA_SCHEMA, badge, badge_message, machine_json, times_csv
from tensorcopy.site.feeds import feeds
from tensorcopy.site.machine import Machine
from tensorcopy.site.page import File, Page

ACCURACY_FILE = Path("docs/accuracy.json")
COMPARISONS = ("added work", "slower", "faster", "unchanged", "inconclusive", "asv: slower", "asv: faster")
HISTORIES = ("change", "noise", "passes", "found", "false steps", "asv: found", "asv: false steps")
QUIET = ("noise", "passes", "series", "false steps", "per series", "asv: false steps", "asv: per series")
ANNOTATED = ("detector", "changes found", "false alarms", "precision", "false alarms per 1,000 points", "delay (points)")


@dataclass(frozen=True)
class MachineRow:
    """A machine in the list.

    releases : how many were measured
    last : the day of the last measurement
    """

    machine: Machine
    address: str
    explorer: str
    csv: str
    releases: int
    last: str


def pages(content: Content) -> Iterator[Page | File]:
    """Yield the list of machines with a page for each, the data files of the site, and the page that lists all of them."""
    rows = [_machine_row(machine) for machine in content.machines]
    yield Page(addresses.MACHINES, "machines.html", "Machines", {"rows": rows})
    for row in rows:
        values = {"row": row, "machine": row.machine, "provenance": _provenance(row.machine.provenance)}
        yield Page(row.address, "machine.html", row.machine.name, values)
    tables = accuracy_tables(content.card) if content.card else []
    yield Page(addresses.ACCURACY, "accuracy-report.html", "Accuracy report", {"tables": tables})
    if content.card:
        yield File(addresses.ACCURACY_DATA, accuracy_json(content.card))
    badge_text = badge_message(content.machine)
    for address, text in feeds(content):
        yield File(address, text)
    if not content.project:
        yield File(addresses.BADGE, badge(badge_text))
    yield File(addresses.DATA_SCHEMA, DATA_SCHEMA.read_text(encoding="utf-8"))
    yield File(addresses.SCHEMA, RESULT.read_text(encoding="utf-8"))
    yield Page(addresses.DATA, "data.html", "Data", {"files": _listed(content), "badge": f"{BADGE_LABEL}: {badge_text}"})


def _machine_row(machine: Machine) -> MachineRow:
    return MachineRow(
        machine=machine,
        address=addresses.of_machine(machine.name),
        explorer=addresses.of_explorer(machine.name),
        csv=f"data/{addresses.slug(machine.name)}.csv",
        releases=len({result.sha for result in machine.results}),
        last=max(str(result.provenance["started"]) for result in machine.results)[:10],
    )


def _provenance(provenance: dict[str, Any]) -> list[tuple[str, str]]:
    """Return each field of a provenance as text."""
    return [(name, text) for name, value in _with_hardware(provenance).items() if (text := _text(value))]


def _with_hardware(provenance: dict[str, Any]) -> dict[str, Any]:
    """Return a provenance with the hardware's fields in its place, after the processor.

    Results from before these were recorded have none of them.
    """
    hardware = provenance.get("hardware")
    fields = {"identity of the hardware": provenance.get("identity", UNKNOWN_NAME), **(_hardware(hardware) if hardware else {})}
    rows: dict[str, Any] = {}
    for name, value in provenance.items():
        rows |= {} if name in ("hardware", "identity") else {name: value}
        rows |= fields if name == "cpu" else {}
    return rows


def _hardware(hardware: dict[str, Any]) -> dict[str, Any]:
    """Return the hardware by the name of each row."""
    memory = hardware["memory_gib"]
    return {
        "family, model, stepping": ", ".join(hardware[name] or UNKNOWN_NAME for name in ("family", "model", "stepping")),
        "caches": hardware["caches"] or UNKNOWN_NAME,
        "instruction sets": hardware["flags"] or UNKNOWN_NAME,
        "processors": hardware["processors"],
        "memory": UNKNOWN_NAME if memory is None else f"{memory} GiB",
        "hypervisor": hardware["hypervisor"] or "none",
        "microcode": hardware["microcode"] or UNKNOWN_NAME,
    }


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{key}: {text}" for key, text in value.items()) or "none"
    return "" if value is None else str(value)


def machine_pages(content: Content, machine: Machine) -> Iterator[File]:
    """Yield the data files of a machine."""
    yield File(addresses.of_machine_data(machine.name, "csv"), times_csv(machine))
    yield File(addresses.of_machine_data(machine.name, "json"), machine_json(machine.results))


def _listed(content: Content) -> list[tuple[str, str]]:
    """Return the address and the description of each file."""
    files = [
        (addresses.FEED, "Atom feed: every confirmed change, slower or faster"),
        (addresses.SLOWDOWNS, "Atom feed: confirmed slowdowns only"),
        *([] if content.project else [(addresses.BADGE, "which copy to use, as an SVG")]),
    ]
    for machine in content.machines:
        files += [
            (addresses.of_machine_data(machine.name, "csv"), f"all times on {machine.name}"),
            (addresses.of_machine_data(machine.name, "json"), f"all times, environments, observations and counts on {machine.name}"),
        ]
    if content.card:
        files.append((addresses.ACCURACY_DATA, "accuracy report"))
    return [
        *files,
        (addresses.DATA_SCHEMA, "JSON schema of a machine’s JSON"),
        (addresses.SCHEMA, "JSON schema of a file in results/"),
    ]


def accuracy_json(report: Mapping[str, Any]) -> str:
    """Return the text of docs/accuracy.json."""
    return json.dumps(report, indent=1, ensure_ascii=False) + "\n"


def accuracy_tables(report: Mapping[str, Any]) -> list[tuple[str, list[list[str]]]]:
    """Return the report as titled tables of text.

    The first row of each is its header."""
    noise = f"with noise of {percent(report['sigma'])}"
    on = f"torch {report['torch']}, {report['cpu']}, {report['day']}"
    result = [
        (
            f"Measured comparisons of {report['passes']} passes per side, of which the median case has {report['quiet']} quiet ones ({on})",
            _compared(report),
        ),
        (f"Simulated histories of {report['releases']} releases {noise}, without a step", _without_steps(report)),
        (
            f"Simulated histories {noise}: series in which every step was found within a release, and other steps in all",
            _with_steps(report),
        ),
    ]
    if report["annotated"]:
        row = report["annotated"]
        title = f"{row['series']} annotated series of {row['points']:,} points ({row['source']}; {row['licence']})"
        result.append((title, [list(ANNOTATED), _detector("tensorcopy", row), _detector("asv", row["asv"])]))
    return result


def _compared(report: Mapping[str, Any]) -> list[list[str]]:
    rows = [list(COMPARISONS)]
    for row in report["two_sides"]:
        counts = [row[name] for name in ("slower", "faster", "unchanged", "inconclusive", "asv slower", "asv faster")]
        title = percent(row["change"]) if row["change"] else "none"
        rows.append([title, *(_fraction(count, row["comparisons"]) for count in counts)])
    return rows


def _without_steps(report: Mapping[str, Any]) -> list[list[str]]:
    rows = [list(QUIET)]
    for row in report["histories"]:
        if not row["changes"]:
            ours, theirs = ((str(row[name]), f"{row[name] / row['series']:.3f}") for name in ("false", "asv_false"))
            rows.append([row["noise"], _passes(row), str(row["series"]), *ours, *theirs])
    return rows


def _with_steps(report: Mapping[str, Any]) -> list[list[str]]:
    rows = [list(HISTORIES)]
    for row in report["histories"]:
        if row["changes"]:
            ours = (_fraction(row["complete"], row["series"]), str(row["false"]))
            theirs = (_fraction(row["asv_complete"], row["series"]), str(row["asv_false"]))
            rows.append([row["name"], row["noise"], _passes(row), *ours, *theirs])
    return rows


def _passes(row: Mapping[str, Any]) -> str:
    return str(row["passes"]) if row["passes"] else "unknown"


def _detector(name: str, score: Mapping[str, Any]) -> list[str]:
    return [
        name,
        _fraction(score["found"], score["there"]),
        str(score["false"]),
        _number(score["precision"]),
        _number(score["false per 1,000 points"]),
        _number(score["delay"]),
    ]


def _fraction(count: int, total: int) -> str:
    return f"{count:,} of {total:,}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"
