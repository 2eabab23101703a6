"""Refuse results of an emulated device.

The tests emulate a CUDA device (`tests/emulated_cuda`), on which a copy takes the time that a test sets. The provenance names that device,
so that no time of it reaches results/, a comparison or a page.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tensorcopy.errors import TensorcopyError

DEVICE = "Emulated CUDA"  # how the name of an emulated device begins
VARIABLE, ALLOWED = "TENSORCOPY_EMULATED", "allowed"  # environment variable of the tests, and its value that turns the refusal off


def refuse(what: str, *provenances: Mapping[str, Any]) -> None:
    """Raise TensorcopyError where one of these provenances has an emulated device.

    what : names the refused thing, such as "the result file results/box/….json"
    """
    if os.environ.get(VARIABLE) == ALLOWED:
        return
    for name in _emulated(provenances):
        raise TensorcopyError(
            f"{what} is refused: it is of an emulated device",
            got=name,
            allowed="times of a real device",
            next=f"measure without LD_PRELOAD; only tests set {VARIABLE}={ALLOWED}",
        )


def _emulated(provenances: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the names of emulated devices."""
    for provenance in provenances:
        accelerators = provenance.get("accelerators")
        names = map(str, accelerators.values()) if isinstance(accelerators, Mapping) else ()
        yield from (name for name in names if name.startswith(DEVICE))


def device_of(document: Mapping[str, Any]) -> str:
    """Return the emulated device that a result file is refused for; "" for none."""
    return "" if os.environ.get(VARIABLE) == ALLOWED else next(_emulated(_provenances(document)), "")


def _provenances(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [document.get("ledger", {}), *(record.get("ledger", {}) for record in document.get("passes", ()))]


def refuse_document(what: str, document: Mapping[str, Any]) -> None:
    """Raise TensorcopyError where a pass of a result file is of an emulated device.

    document : a valid result file
    """
    refuse(what, *_provenances(document))
