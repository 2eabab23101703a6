"""An observed or promised outcome in words. Pure; `semantics` has the fields."""

from __future__ import annotations

from typing import Any


def outcome(seen: dict[str, Any]) -> str:
    """An observed outcome in a few words."""
    if seen["raises"]:
        return str(seen["raises"]).replace("{device}", "the device")
    words = ["shares storage" if seen["shares_storage"] else "independent"]
    if seen["gives"] == "tensor":
        words.append("in the graph" if seen["keeps_graph"] else "out of the graph")
        if seen["requires_grad"] and not seen["keeps_graph"]:
            words.append("with a gradient of its own")
    if seen["layout"] != "same":
        words.append(f"laid out {seen['layout']}")
    if seen["warns"]:
        words.append("warns")
    return ", ".join(words)


def differences(promised: dict[str, Any], observed: dict[str, Any]) -> str:
    """What was promised otherwise than it was observed: "keeps_graph: False promised, True observed"."""
    other = [name for name in promised if promised[name] != observed[name]]
    return "; ".join(f"{name}: {promised[name]!r} promised, {observed[name]!r} observed" for name in other)
