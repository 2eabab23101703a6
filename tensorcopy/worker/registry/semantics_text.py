"""An observed or promised outcome in words.

`worker.registry.semantics` has the fields.
"""

from __future__ import annotations

from typing import Any


def outcome(observed: dict[str, Any]) -> str:
    """Return an outcome in a few words: "independent, out of the graph"."""
    if observed["raises"]:
        return str(observed["raises"]).replace("{device}", "the device")
    words = [f"changes {observed['changes'].replace(', ', ' and ')}"] if observed.get("changes") else []
    words.append("shares storage" if observed["shares_storage"] else "independent")
    if observed["gives"] == "tensor":
        words.append("in the graph" if observed["keeps_graph"] else "out of the graph")
        if observed["requires_grad"] and not observed["keeps_graph"]:
            words.append("requires grad itself")
    if observed["layout"] != "same":
        words.append(f"layout {observed['layout']}")
    if observed["warns"]:
        words.append("warns")
    return ", ".join(words)


def differences(promised: dict[str, Any], observed: dict[str, Any]) -> str:
    """Return the fields that differ: "keeps_graph: False promised, True observed"."""
    names = [name for name in promised if promised[name] != observed[name]]
    return "; ".join(f"{name}: {promised[name]!r} promised, {observed[name]!r} observed" for name in names)
