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
    """Return a name for each identity under each machine name.

    starts : the start of the earliest launch by machine name and identity
    """
    identities: dict[str, list[str]] = {}
    for machine, identity in sorted(starts):
        identities.setdefault(machine, []).append(identity)
    holders = {machine: min(group, key=lambda identity: starts[machine, identity]) for machine, group in identities.items()}
    return {(machine, identity): measured_as(machine, identity, holders) for machine, identity in sorted(starts)}


def may_be_of(machine: str, folder: str) -> bool:
    """Return whether a machine of this name may have launches in a folder: it has the folder's name, or that with a suffix."""
    suffix = rf"-({UNKNOWN_NAME}|[0-9a-f]{{{DIGITS}}})"
    return machine == folder or bool(re.fullmatch(re.escape(folder) + suffix, machine))


def measured_as(machine: str, identity: str, holders: Mapping[str, str]) -> str:
    """Return the name under which a host measures.

    machine : the name that was asked for; identity : of the host; holders : the identity that has results under a name
    """
    return machine if holders.get(machine, identity) == identity else f"{machine}-{identity or UNKNOWN_NAME}"


def two_machines(machine: str, holder: str, identity: str, name: str, next_step: str) -> TensorcopyError:
    """Return the warning that an identity gets another name than its folder's.

    holder : the identity that keeps the name
    """
    return TensorcopyError(
        f"two machines are called {machine}",
        got=f"results of {displayed(holder)} and of {displayed(identity)}, which is called {name} here",
        allowed="one machine per name: times of different hardware are not comparable",
        next=next_step,
    )


def displayed(identity: str) -> str:
    """Return an identity as texts show it."""
    return f"identity {identity}" if identity else "unknown hardware"
