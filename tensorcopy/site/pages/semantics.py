"""The semantics of every method, and the releases at which they changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tensorcopy.analysis import recommend
from tensorcopy.analysis.comparisons import version
from tensorcopy.results.reader import Result
from tensorcopy.site import addresses
from tensorcopy.site.model.content import Content
from tensorcopy.site.model.history import release_versions
from tensorcopy.site.model.machine import Machine
from tensorcopy.site.page import Page
from tensorcopy.worker.semantics import describe

TITLE = "What each method does"
DESCRIPTION = "What each way of copying a tensor returns, shares and warns about, and where gradients go, on every torch release."
INPUTS = {"with_grad": "leaf that requires grad", "plain": "tensor without grad"}


@dataclass(frozen=True)
class BehaviourChange:
    """A release from which a method behaves differently, for one kind of input."""

    release: str
    method: str
    code: str
    input: str
    before: str
    after: str


def pages(content: Content) -> Iterator[Page]:
    """Yield the page of semantics, from the machine with the longest history; methods that it lacks, from others."""
    machine = content.machine
    values: dict[str, Any] = {"machine": machine}
    if machine:
        rows = {**machine.methods, **{name: row for name, row in content.methods.items() if name not in machine.methods}}
        values |= {
            "devices": recommend.devices(machine.result),
            "observations": lambda device, kind: _observations(rows, device, kind),
            "code": recommend.code,
            "changes": _changes(machine),
        }
    yield Page(addresses.SEMANTICS, "semantics.html", TITLE, values, description=DESCRIPTION)


def result_by_release(machine: Machine) -> list[Result]:
    """Return a result for each release in order, from the first series that has it."""
    results: dict[str, Result] = {}
    for series in machine.series:
        for result in series.results:
            results.setdefault(version(result), result)
    return [results[release] for release in release_versions(machine.series)]


def observed(result: Result, method: str, kind: str) -> dict[str, Any] | None:
    """Return a method's outcome on the CPU; None when it was not observed."""
    row = result.methods.get(method) or {}
    outcomes = (row.get("observed") or {}).get("cpu")
    return outcomes[kind] if outcomes else None


def _observations(rows: Mapping[str, Any], device: str, kind: str) -> list[tuple[str, Any, Any]]:
    """Return each method's name, row and outcome on a device."""
    return [(name, row, row["observed"][device][kind]) for name, row in rows.items() if device in (row.get("observed") or {})]


def _changes(machine: Machine) -> list[BehaviourChange]:
    """Return all changes of behaviour, the newest release first."""
    order = release_versions(machine.series)
    changes = [change for method in machine.methods for change in _changes_of(machine, method)]
    return sorted(changes, key=lambda change: order.index(change.release), reverse=True)


def _changes_of(machine: Machine, method: str) -> Iterator[BehaviourChange]:
    for kind, words in INPUTS.items():
        before: dict[str, Any] | None = None
        for result in result_by_release(machine):
            after = observed(result, method, kind)
            if before is not None and after is not None and after != before:
                texts = _difference(before, after), _difference(after, before)
                yield BehaviourChange(version(result), method, result.methods[method]["code"], words, *texts)
            before = after or before


def _difference(shown: Mapping[str, Any], compared: Mapping[str, Any]) -> str:
    """Return an outcome in words with its warning.

    When the words of both outcomes are equal, add every differing field.
    """
    texts = [f"{describe(dict(seen))}: {seen['warns']}" if seen["warns"] else describe(dict(seen)) for seen in (shown, compared)]
    fields = ", ".join(f"{name}: {value}" for name, value in shown.items() if value != compared.get(name))
    return texts[0] if texts[0] != texts[1] else f"{texts[0]} ({fields})"
