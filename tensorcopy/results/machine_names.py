"""The names of machines: two of other hardware under one name are two machines. Pure.

Every launch records the identity of the host that took it (`worker.hardware`). Of several identities under one name, the one with the
earliest launch keeps the name, every other gets a suffix. A launch without an identity is of a separate machine.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import chain, count

from tensorcopy.errors import TensorcopyError

UNKNOWN_NAME = "unknown"  # hardware, in names and texts
DIGITS = 4  # of an identity in a machine's name: two of a handful rarely share them, and then the name has all digits


def by_host(starts: Mapping[tuple[str, str], str]) -> dict[tuple[str, str], str]:
    """Return a name for each identity under each machine name.

    No two identities get the same name.

    starts : the start of the earliest launch by machine name and identity
    """
    identities: dict[str, list[str]] = {}
    for machine, identity in starts:
        identities.setdefault(machine, []).append(identity)
    holders = {machine: min(group, key=lambda identity: (starts[machine, identity], identity)) for machine, group in identities.items()}
    names = {(machine, identity): machine for machine, identity in holders.items()}
    for machine, identity in sorted(starts.keys() - names.keys()):
        names[machine, identity] = free_name(machine, identity, holders)
        holders[names[machine, identity]] = identity
    return names


def free_name(machine: str, identity: str, holders: Mapping[str, str]) -> str:
    """Return the first suffixed name that no other identity holds.

    holders : the identity that holds a name
    """
    suffixes = [identity[:DIGITS], identity] if identity else [UNKNOWN_NAME]
    numbered = (f"{machine}-{suffixes[-1]}-{number}" for number in count(2))
    names = chain((f"{machine}-{suffix}" for suffix in suffixes), numbered)
    return next(name for name in names if holders.get(name, identity) == identity)


def may_be_of(machine: str, folder: str) -> bool:
    """Return whether a machine of this name may have launches in a folder: it has the folder's name, or that with a suffix."""
    suffix = rf"-({UNKNOWN_NAME}|[0-9a-f]{{{DIGITS},}})(-\d+)?"
    return machine == folder or bool(re.fullmatch(re.escape(folder) + suffix, machine))


def measured_as(machine: str, identity: str, holders: Mapping[str, str]) -> str:
    """Return the name under which a host measures.

    machine : the name that was asked for; identity : of the host; holders : the identity that has results under a name
    """
    return machine if holders.get(machine, identity) == identity else free_name(machine, identity, holders)


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
