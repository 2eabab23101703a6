"""What each method does: the matrix of semantics, a page for each method, and bytes."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from io import StringIO
from typing import Any

from tensorcopy.analysis import recommend
from tensorcopy.analysis.comparisons import version
from tensorcopy.report.semantics_text import outcome
from tensorcopy.report.units import size
from tensorcopy.results import baseline
from tensorcopy.results.load import Case, Result
from tensorcopy.site import addresses
from tensorcopy.site.model.content import Content
from tensorcopy.site.model.history import in_order
from tensorcopy.site.model.machine import Machine
from tensorcopy.site.model.result_series import Series
from tensorcopy.site.page import File, Page
from tensorcopy.worker.devices import ACCELERATORS

KINDS = {"with_grad": "a leaf that requires grad", "plain": "a tensor that does not"}
COUNTS = ("allocated", "peak", "allocations")
QUESTION = ("detach_clone_numpy", "detach_numpy_copy")  # what the article asks about, and what it asks whether it is cheaper


def pages(content: Content) -> Iterator[Page | File]:
    machine = content.machine
    yield _semantics(machine)
    yield from _memory(machine)
    if machine:
        for name in content.methods:
            yield _method(content, next(one for one in content.machines if name in one.methods), name)


def _semantics(machine: Machine | None) -> Page:
    values: dict[str, Any] = {"machine": machine}
    if machine:
        methods = machine.methods

        def observed(device: str, kind: str) -> list[tuple[str, Any, Any]]:
            return [(name, row, row["observed"][device][kind]) for name, row in methods.items() if device in (row.get("observed") or {})]

        order = in_order(machine.series)
        values |= {
            "devices": recommend.devices(machine.result),
            "observed": observed,
            "code": recommend.code,
            "changed": sorted(
                (change for name in methods for change in _changed(machine, name)),
                key=lambda change: order.index(change["release"]),
                reverse=True,
            ),
        }
    return Page(addresses.SEMANTICS, "semantics.html", "What each method does", values)


def _every_release(machine: Machine) -> list[Result]:
    """A result of each release, in order: of the first series that has it."""
    found: dict[str, Result] = {}
    for one in machine.series:
        for result in one.results:
            found.setdefault(version(result), result)
    return [found[name] for name in in_order(machine.series)]


def _said(result: Result, name: str, kind: str) -> dict[str, Any] | None:
    """What a method was observed to do on the CPU; None where nobody looked, or there is no such method."""
    row = result.methods.get(name) or {}
    seen = (row.get("observed") or {}).get("cpu")
    return seen[kind] if seen else None


def _changed(machine: Machine, name: str) -> Iterator[dict[str, Any]]:
    """Each release from which on a method does otherwise."""
    for kind, words in KINDS.items():
        before: dict[str, Any] | None = None
        for result in _every_release(machine):
            seen = _said(result, name, kind)
            if before is not None and seen is not None and seen != before:
                row = result.methods[name]
                yield {
                    "release": version(result),
                    "method": name,
                    "code": row["code"],
                    "of": words,
                    "before": _full(before, seen),
                    "after": _full(seen, before),
                }
            before = seen or before


def _full(seen: dict[str, Any], other: dict[str, Any]) -> str:
    """An outcome with its warning's text; where that does not tell it from the other, with every field that differs."""
    texts = [f"{outcome(one)}: {one['warns']}" if one["warns"] else outcome(one) for one in (seen, other)]
    differing = ", ".join(f"{name}: {value}" for name, value in seen.items() if value != other.get(name))
    return texts[0] if texts[0] != texts[1] else f"{texts[0]} ({differing})"


def _method(content: Content, machine: Machine, name: str) -> Page:
    row = machine.methods[name]
    seen = _said(machine.result, name, "with_grad")
    lead = (
        f"With torch {machine.newest.version}, of a leaf that requires grad: {outcome(seen)}."
        if seen
        else "Not observed with the newest torch."
    )
    releases: list[dict[str, Any]] = []
    before = ["", ""]
    for result in _every_release(machine):
        outcomes = [outcome(seen) if (seen := _said(result, name, kind)) else "not there, or not looked at" for kind in KINDS]
        host = result.counts.get(peak("Host", name, ("device", "cpu")))
        releases.append(
            {
                "release": version(result),
                "environment": result.environment,
                "outcomes": outcomes,
                "changed": [bool(releases) and one != other for one, other in zip(outcomes, before)],
                "peak": "" if host is None else size(int(host)),
                "instructions": [_instructions(result, name, grad) for grad in ("False", "True")],
            }
        )
        before = outcomes
    values = {
        "name": name,
        "code": row["code"],
        "lead": lead,
        "costs": [(one, cases) for one in content.machines if (cases := _costs(one, name))],
        "releases": releases[::-1],
    }
    return Page(addresses.of_method(name), "method.html", row["code"], values)


def _instructions(result: Result, name: str, grad: str) -> str:
    for case, value in result.counts.items():
        if case.suite == "instructions.ByMethod.track_instructions" and case["method"] == name and case["requires_grad"] == grad:
            return f"{value:,.0f}"
    return ""


def _costs(machine: Machine, name: str) -> list[dict[str, Any]]:
    cases = [case for case in machine.result.timings if dict(case.parameters).get("method") == name]
    return [
        {
            "case": case,
            "suite": case.suite.rpartition(".")[0],
            "timing": machine.result.timings[case],
            "multiple": baseline.multiple(machine.result, case),
            "address": addresses.of_case(machine.name, case),
        }
        for case in cases
    ]


def peak(where: str, method: str, *device: tuple[str, str], count: str = "peak") -> Case:
    """The case of a count of bytes or allocations, for an input of 4 MiB."""
    return Case(f"memory.{where}.track_{count}", (("method", method), ("numel", str(2**20)), *device))


def _memory(machine: Machine | None) -> Iterator[Page | File]:
    if machine is None:
        yield Page(addresses.MEMORY, "memory.html", "Memory, in bytes", {"machine": None})
        return
    result = machine.result
    accelerators = [
        device for device in ACCELERATORS if any(peak("Device", name, ("device", device)) in result.counts for name in result.methods)
    ]
    rows = [
        {"method": name, "row": row, "cells": [_amount(count, result.counts.get(case)) for count, case in _columns(name, accelerators)]}
        for name, row in result.methods.items()
    ]
    series = machine.series[0]
    csv_address = addresses.data(addresses.MEMORY, "csv")
    values = {
        "machine": machine,
        "answer": _answer(result),
        "accelerators": accelerators,
        "rows": rows,
        "changed": [line for name in result.methods for line in _peaks(series, name)],
        "counted": sum(any(case.suite.startswith("memory.") for case in one.counts) for one in series.results),
        "csv": csv_address,
    }
    yield Page(addresses.MEMORY, "memory.html", "Memory, in bytes", values)
    yield File(csv_address, _csv(machine))


def _columns(name: str, accelerators: Sequence[str]) -> list[tuple[str, Case]]:
    """What is counted of a method, and its case."""
    on_host = [(count, peak("Host", name, ("device", "cpu"), count=count)) for count in COUNTS]
    on_device = [(count, peak("Device", name, ("device", device), count=count)) for device in accelerators for count in COUNTS]
    return [*on_host, *on_device, ("peak", peak("Counted", name))]


def _amount(count: str, value: float | None) -> str:
    if value is None:
        return "not counted"
    return f"{value:.0f}" if count == "allocations" else size(int(value))


def _answer(result: Result) -> str:
    """The article's question, answered with the device's own bytes, or with those its dispatcher counts."""
    for where, device, how in (("Device", (("device", "cuda"),), "measured"), ("Counted", (), "counted, not measured yet")):
        asked, other = (result.counts.get(peak(where, name, *device)) for name in QUESTION)
        if asked is not None and other is not None:
            code, cheaper = (result.methods[name]["code_on_accelerator"] if name in result.methods else name for name in QUESTION)
            held = (
                f"Above a tensor of 4 MiB on a CUDA device, {code} holds {size(int(asked))} there and {cheaper} {size(int(other))} ({how})."
            )
            wasted = f"Yes: cloning there first wastes {size(int(asked - other))} of the device’s memory."
            return f"{held} {wasted}" if asked > other else f"{held} No: cloning there first wastes nothing."
    return "How much device memory x.detach().clone().numpy() takes is not measured yet."


def _peaks(series: Series, name: str) -> Iterator[str]:
    """Each release from which on a method holds other bytes at most at once on the host."""
    before: float | None = None
    for result in series.results:
        value = result.counts.get(peak("Host", name, ("device", "cpu")))
        if before is not None and value is not None and value != before:
            code = result.methods[name]["code"] if name in result.methods else name
            yield f"torch {version(result)}: {code} holds {int(value):,} bytes instead of {int(before):,} on the host"
        before = value if value is not None else before


def _csv(machine: Machine) -> str:
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["machine", "environment", "torch", "suite", "method", "numel", "device", "count"])
    for result in machine.results:
        for case, value in result.counts.items():
            if case.suite.startswith("memory."):
                said = dict(case.parameters)
                writer.writerow(
                    [
                        result.machine,
                        result.environment,
                        version(result),
                        case.suite,
                        said.get("method"),
                        said.get("numel"),
                        said.get("device", ""),
                        int(value),
                    ]
                )
    return text.getvalue()
