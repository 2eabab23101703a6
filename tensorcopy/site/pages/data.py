"""The machines, the data files of the site, and the accuracy report: how often verdicts are right, as `docs.tools.accuracy` counts it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tensorcopy.numbers import percent
from tensorcopy.results.files import RESULT
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


def pages(content: Content) -> Iterator[Page | File]:
    """Yield the list of machines with a page for each, the data files of the site, and the page that lists all of them."""
    rows = [
        {
            "machine": machine,
            "address": addresses.of_machine(machine.name),
            "explorer": addresses.of_explorer(machine.name),
            "csv": addresses.of_machine_data(machine.name, "csv"),
            "releases": len({result.sha for result in machine.results}),
            "last": max(str(result.provenance["started"]) for result in machine.results)[:10],
        }
        for machine in content.machines
    ]
    yield Page(addresses.MACHINES, "machines.html", "Machines", {"rows": rows})
    for row, machine in zip(rows, content.machines):
        values = {"row": row, "machine": machine, "provenance": _provenance(machine.provenance)}
        yield Page(addresses.of_machine(machine.name), "machine.html", machine.name, values)
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


def _provenance(provenance: dict[str, Any]) -> list[tuple[str, str]]:
    """Return each field of a provenance as text, the hardware's fields after the processor.

    Results from before the hardware was recorded have none of them.
    """
    hardware = provenance.get("hardware")
    fields = {"identity of the hardware": provenance.get("identity", UNKNOWN_NAME)}
    if hardware:
        fields |= {
            "family, model, stepping": ", ".join(hardware[name] or UNKNOWN_NAME for name in ("family", "model", "stepping")),
            "caches": hardware["caches"] or UNKNOWN_NAME,
            "instruction sets": hardware["flags"] or UNKNOWN_NAME,
            "processors": hardware["processors"],
            "memory": UNKNOWN_NAME if hardware["memory_gib"] is None else f"{hardware['memory_gib']} GiB",
            "hypervisor": hardware["hypervisor"] or "none",
            "microcode": hardware["microcode"] or UNKNOWN_NAME,
        }
    rows: dict[str, Any] = {}
    for name, value in provenance.items():
        rows |= {} if name in ("hardware", "identity") else {name: value}
        rows |= fields if name == "cpu" else {}
    return [(name, text) for name, value in rows.items() if (text := _text(value))]


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
    compared, quiet, stepped = [list(COMPARISONS)], [list(QUIET)], [list(HISTORIES)]
    for row in report["two_sides"]:
        counts = [row[name] for name in ("slower", "faster", "unchanged", "inconclusive", "asv slower", "asv faster")]
        title = percent(row["change"]) if row["change"] else "none"
        compared.append([title, *(_fraction(count, row["comparisons"]) for count in counts)])
    for row in report["histories"]:
        passes = str(row["passes"]) if row["passes"] else "unknown"
        if row["changes"]:
            ours = (_fraction(row["complete"], row["series"]), str(row["false"]))
            theirs = (_fraction(row["asv_complete"], row["series"]), str(row["asv_false"]))
            stepped.append([row["name"], row["noise"], passes, *ours, *theirs])
        else:
            ours, theirs = ((str(row[name]), f"{row[name] / row['series']:.3f}") for name in ("false", "asv_false"))
            quiet.append([row["noise"], passes, str(row["series"]), *ours, *theirs])
    result = [
        (
            f"Measured comparisons of {report['passes']} passes per side, of which the median case has {report['quiet']} quiet ones ({on})",
            compared,
        ),
        (f"Simulated histories of {report['releases']} releases {noise}, without a step", quiet),
        (f"Simulated histories {noise}: series in which every step was found within a release, and other steps in all", stepped),
    ]
    if report["annotated"]:
        row = report["annotated"]
        title = f"{row['series']} annotated series of {row['points']:,} points ({row['source']}; {row['licence']})"
        result.append((title, [list(ANNOTATED), _detector("tensorcopy", row), _detector("asv", row["asv"])]))
    return result


def _detector(name: str, score: Mapping[str, Any]) -> list[str]:
    numbers = ["" if (value := score[key]) is None else f"{value:.3g}" for key in ("precision", "false per 1,000 points", "delay")]
    return [name, _fraction(score["found"], score["there"]), str(score["false"]), *numbers]


def _fraction(count: int, total: int) -> str:
    return f"{count:,} of {total:,}"
