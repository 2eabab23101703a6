"""What each method does: a page of all, and a page for each, with its releases and its time on every machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tensorcopy.copying import anatomy, memory, recommend
from tensorcopy.copying.anatomy import Anatomy
from tensorcopy.copying.inside.semantics import describe, error_of
from tensorcopy.numbers import size
from tensorcopy.results import function_profiles, suite_specs
from tensorcopy.results.cases import Case, host_peak
from tensorcopy.site import addresses, history_chart
from tensorcopy.site.changes import PLAIN
from tensorcopy.site.content import Content
from tensorcopy.site.machine import HISTORY_NUMELS, Machine, longest_history
from tensorcopy.site.page import Page, translator

SEMANTICS_TITLE = "What each method does"
SEMANTICS_DESCRIPTION = "What each way of copying a tensor returns, shares and warns about, and where gradients go, on torch since 1.9."
INPUTS = ("with_grad", "plain")  # a leaf that requires grad, and a tensor without
NOT_OBSERVED = "not observed"


def pages(content: Content) -> Iterator[Page]:
    """Yield the page of all methods, from the machine with the longest history and, where it lacks one, others; and a page for each."""
    machine = content.machine
    values: dict[str, Any] = {"machine": machine}
    if machine:
        devices = {**dict.fromkeys(recommend.devices(machine.result), machine), **content.by_device}
        values |= {
            "devices": devices,
            "observations": lambda device, kind: [
                (name, row, row["observed"][device][kind])
                for name, row in {**content.methods, **devices[device].methods}.items()
                if device in (row.get("observed") or {})
            ],
            "code": recommend.code,
            "error_of": error_of,
        }
    yield Page(addresses.SEMANTICS, "semantics.html", SEMANTICS_TITLE, values, description=SEMANTICS_DESCRIPTION)
    yield from _method_pages(content)


def _lead(content: Content, machine: Machine, method: str, device: str) -> str:
    """Say what a method gives for a leaf that requires grad on the device of its page, and on each other where it differs."""
    if not machine.result.outcome(method, "with_grad", device):
        return "Not observed with the newest torch." if device == "cpu" else f"For a tensor on {device}; not observed yet."
    texts = {
        other: describe(seen, other).rstrip(".")
        for other, each in {**content.by_device, device: machine}.items()
        if (seen := each.result.outcome(method, "with_grad", other))
    }
    own = texts.pop(device)
    outcomes = [own, *(f"on {other}: {text}" for other, text in texts.items() if text != own)]
    return f"With torch {machine.newest.version}, for a leaf that requires grad: {'; '.join(outcomes)}."


def _method_pages(content: Content) -> Iterator[Page]:
    """Yield a page for each method, from the machine with the longest history among those that have it, on the first of its devices."""
    for name, row in content.methods.items() if content.machine else ():
        device = row.get("devices", ["cpu"])[0]
        having = [machine for machine in content.machines if name in machine.methods]
        machine = longest_history(having, device) or longest_history(having)
        if machine is None:
            continue
        code, (on_device, not_profiled) = recommend.code(machine.methods[name], device), _on_devices(content, name)
        values = {
            "name": name,
            "code": code,
            "lead": _lead(content, machine, name, device),
            "device": device,
            "anatomies": [*_anatomies(machine, name), *on_device],
            "not_profiled": not_profiled,
            "memory": memory.uses(content, name, translator("en")),
            "in_article": name in memory.INDEPENDENT,
            "explorers": [
                (each.name, history_chart.link(each, *cases[:1]))
                for each in content.machines
                if (cases := [case for case in each.cases if case.spec.timed and dict(case.parameters).get("method") == name])
            ],
            "releases": _releases(machine, name, device)[::-1],
        }
        yield Page(addresses.of_method(name), "method.html", code, values, description=f"{code}: {values['lead']}")


def _anatomies(machine: Machine, name: str) -> list[Anatomy]:
    """Return the anatomy of a method's smallest tensor without grad, and with grad."""
    counted = {
        function_profiles.name_of(case): machine.timed_by_count.get(case, case)
        for case in machine.cases
        if case.spec.metric == suite_specs.INSTRUCTIONS and dict(case.parameters)["method"] == name
    }
    by_size = sorted(counted, key=lambda profiled: int(profiled.split()[1]))
    smallest = [next((profiled for profiled in by_size if profiled.endswith(kind)), "") for kind in (PLAIN, f"{PLAIN} grad")]
    anatomies = [anatomy.of_case(machine, counted[profiled]) for profiled in smallest if profiled]
    return [each for each in anatomies if each]


def _on_devices(content: Content, name: str) -> tuple[list[Anatomy], list[tuple[Machine, Case]]]:
    """Return the anatomies of a method on devices, at a small and a large size; and a case of each device without one.

    They are from the machine with the longest history among those whose launches tell the parts of any call on the device.
    """
    anatomies: list[Anatomy] = []
    not_profiled: list[tuple[Machine, Case]] = []
    for device, answering in content.by_device.items():
        profiled = [each for each in content.machines if any(case.device == device for result in each.results for case in result.parts)]
        machine = longest_history(profiled, device) or answering
        cases = [case for case in machine.cases if case.spec.in_parts and case.device == device and case["method"] == name]
        in_order = sorted(cases, key=lambda case: int(case["numel"]))
        shown = [case for case in in_order if int(case["numel"]) in HISTORY_NUMELS] or in_order[:1]
        found = [each for each in (anatomy.of_device(machine, case) for case in shown) if each]
        anatomies += found
        not_profiled += [] if found else [(machine, case) for case in shown[:1]]
    return anatomies, not_profiled


def _releases(machine: Machine, name: str, device: str) -> list[dict[str, Any]]:
    """Return the method with each release, on a device.

    outcomes : for each of INPUTS; changed : whether each differs from the release before
    peak : memory on the host; "" when not counted
    """
    rows: list[dict[str, Any]] = []
    for result in machine.by_release:
        outcomes = [describe(seen, device) if (seen := result.outcome(name, kind, device)) else NOT_OBSERVED for kind in INPUTS]
        peak = result.counts.get(host_peak(name, device))
        rows.append(
            {
                "release": result.version,
                "environment": result.environment,
                "outcomes": outcomes,
                "changed": [bool(rows) and rows[-1]["outcomes"][index] not in (text, NOT_OBSERVED) for index, text in enumerate(outcomes)],
                "peak": "" if peak is None else size(int(peak)),
            }
        )
    return rows
