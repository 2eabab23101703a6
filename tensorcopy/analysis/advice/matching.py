"""Which methods do what is requested, and what to know about each. Pure.

What a method does is what was observed when that result was measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

GROUPS = ("copy", "conversion", "primitive", "alternative")
# the usual form, by what is made, whether it has its own storage, and whether it keeps the graph
USUAL = {
    ("tensor", True, False): "detach_clone",
    ("tensor", True, True): "clone",
    ("tensor", False, False): "detach",
    ("ndarray", True, False): "detach_numpy_copy",
    ("ndarray", False, False): "numpy",
}
FIRST = "1.9.0"  # the first release in the table: a method as old as that needs no caveat


@dataclass(frozen=True)
class CopyRequest:
    """A request for something made of a tensor `x`.

    to : "tensor" or "ndarray"
    own : whether it shall have its own storage, or share that of x
    keeps_graph : whether gradients shall flow back to x; None if there is no graph: x requires no grad, or an ndarray is wanted
    requires_grad : whether x does
    device : of x
    """

    to: str
    own: bool
    keeps_graph: bool | None
    requires_grad: bool
    device: str


def requests(device: str) -> list[CopyRequest]:
    """Return all possible requests on a device, in order."""
    result = []
    for to in ("tensor", "ndarray"):
        for own in (True, False):
            for requires_grad in (False, True):
                graphs: tuple[bool | None, ...] = (False, True) if to == "tensor" and requires_grad else (None,)
                result += [CopyRequest(to, own, graph, requires_grad, device) for graph in graphs]
    return result


def usual(request: CopyRequest) -> str:
    """Return the name of the usual form of a request; "" where x itself is one."""
    return USUAL.get((request.to, request.own, bool(request.keeps_graph)), "")


def matches(row: Mapping[str, Any], request: CopyRequest) -> bool:
    """Return whether a method was observed to do what is requested."""
    observed = (row.get("observed") or {}).get(request.device)
    if not observed:
        return False
    outcome = observed["with_grad" if request.requires_grad else "plain"]
    return (
        not outcome["raises"]
        and not _returns_x(observed["with_grad"])
        and outcome["dtype"] == "same"
        and outcome["gives"] == request.to
        and not outcome.get("changes", "" if row.get("group") in GROUPS else "not observed")  # earlier results do not have it
        and (request.to != "tensor" or outcome["device"] == "same")
        and outcome["shares_storage"] is not request.own
        and (request.keeps_graph is None or outcome["keeps_graph"] is request.keeps_graph)
    )


def _returns_x(with_grad: Mapping[str, Any]) -> bool:
    """Return whether a method returns x itself: a view of a leaf that requires grad is not a leaf."""
    return bool(with_grad["shares_storage"] and with_grad["keeps_graph"] and with_grad["is_leaf"])


def caveats(row: Mapping[str, Any], request: CopyRequest) -> Iterable[tuple[str, str]]:
    """Yield what to know about a method that matches a request: a key of words.toml, and its detail."""
    observed = row["observed"][request.device]
    outcome = observed["with_grad" if request.requires_grad else "plain"]
    if outcome["warns"]:
        yield "warns", str(outcome["warns"])
    if outcome["requires_grad"] and not outcome["keeps_graph"]:
        yield "own_gradient", ""
    if outcome["layout"] != "same":
        yield "contiguous", ""
    if outcome["shares_storage"]:
        yield "writes", ""
    if row.get("since", FIRST) != FIRST:
        yield "since", str(row["since"])
    if not request.requires_grad:
        yield from _caveats_with_grad(outcome, observed["with_grad"])


def _caveats_with_grad(plain: Mapping[str, Any], with_grad: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """Yield what a method does differently once x requires grad."""
    if with_grad["raises"]:
        yield "grad_raises", str(with_grad["raises"]).partition(":")[0]
    elif with_grad["keeps_graph"]:
        yield "grad_flows", ""
    elif with_grad["requires_grad"]:
        yield "grad_own", ""
    if with_grad["warns"] and not plain["warns"]:
        yield "grad_warns", str(with_grad["warns"])
