"""The names of machines: two of other hardware under one name are two machines. Pure.

Every launch records the identity of the host that took it (`worker.hardware`). Of several identities under one name, the one with the
earliest launch keeps the name, every other gets its identity as a suffix. A launch without an identity is of a separate machine.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tensorcopy.errors import TensorcopyError
from tensorcopy.worker.hardware import DIGITS

UNKNOWN_NAME = "unknown"  # hardware, in names and texts


def by_host(starts: Mapping[tuple[str, str], str]) -> dict[tuple[str, str], str]:
    """Return a name for each machine name and identity; starts : of their earliest launches."""
    holders: dict[str, str] = {}
    for machine, identity in sorted(starts, key=lambda host: (starts[host], host)):
        holders.setdefault(machine, identity)
    return {(machine, identity): measured_as(machine, identity, holders) for machine, identity in sorted(starts)}


def may_be_of(machine: str, folder: str) -> bool:
    """Return whether a machine of this name may have launches in a folder: it has the folder's name, or that with a suffix."""
    return bool(re.fullmatch(rf"{re.escape(folder)}(-({UNKNOWN_NAME}|[0-9a-f]{{{DIGITS}}}))?", machine))


def measured_as(machine: str, identity: str, holders: Mapping[str, str]) -> str:
    """Return the name under which a host measures; holders : the identity that has results under a name."""
    return machine if holders.get(machine, identity) == identity else f"{machine}-{identity or UNKNOWN_NAME}"


def two_machines(machine: str, holder: str, identity: str, name: str, next_step: str) -> TensorcopyError:
    """Return the warning that an identity gets another name than its folder's, which that of the holder keeps."""
    return TensorcopyError(
        f"two machines are called {machine}",
        got=f"results of {displayed(holder)} and of {displayed(identity)}, which is called {name} here",
        allowed="one machine per name: times of different hardware are not comparable",
        next=next_step,
    )


def displayed(identity: str) -> str:
    """Return an identity as texts show it."""
    return f"identity {identity}" if identity else "unknown hardware"
