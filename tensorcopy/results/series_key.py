"""Tell machines of one name apart by the identity of their hardware. Pure.

Every pass records the identity of the host that took it (`worker.hardware`). Two identities under one name are two machines: the one with
the earliest pass keeps the name, every other gets a suffix. Results from before identities were recorded have the identity `UNKNOWN`, which
is a separate machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any, Protocol

from tensorcopy.errors import TensorcopyError

UNKNOWN = ""  # the identity of a host that recorded none
UNKNOWN_NAME = "unknown"  # in names and texts
DIGITS = 4  # of an identity in a machine's name: two of a handful rarely share them, and then the name has all digits


class HasProvenance(Protocol):
    """A result, or another value with the provenance of one."""

    @property
    def provenance(self) -> Mapping[str, Any]:
        """What it was measured on and with."""


def identity_of(result: HasProvenance) -> str:
    """Return the identity of the machine that took a result; "" if unknown."""
    return of_provenance(result.provenance)


def of_provenance(provenance: Mapping[str, Any]) -> str:
    """Return the identity in a provenance; "" if it has none."""
    return str(provenance.get("identity", UNKNOWN))


def machine_names(starts: Mapping[tuple[str, str], str]) -> dict[tuple[str, str], str]:
    """Return a name for each identity under each machine name.

    No two identities get the same name.

    starts : the start of the earliest pass by machine name and identity
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
    return next(name for name in _suffixed(machine, identity) if holders.get(name, identity) == identity)


def measured_as(machine: str, identity: str, holders: Mapping[str, str]) -> str:
    """Return the name under which a host measures.

    machine : the name that was asked for; identity : of the host; holders : the identity that has results under a name
    """
    return machine if holders.get(machine, identity) == identity else free_name(machine, identity, holders)


def without_suffix(machine: str, identity: str) -> str:
    """Return the name to which `machine_names` has added the suffix of `identity`.

    A name without such a suffix is returned unchanged.
    """
    for suffix in reversed(_suffixes(identity)):
        if machine.endswith(f"-{suffix}"):
            return machine.removesuffix(f"-{suffix}")
    return machine


def _suffixed(machine: str, identity: str) -> Iterator[str]:
    yield from (f"{machine}-{suffix}" for suffix in _suffixes(identity))
    yield from (f"{machine}-{_suffixes(identity)[-1]}-{number}" for number in count(2))


def _suffixes(identity: str) -> list[str]:
    """Return the suffixes of an identity, the preferred one first.

    An unknown identity may be followed by digits: "unknown-0a1b…".
    """
    unknown, _, digits = identity.rpartition("-")
    known = [f"{unknown}-{digits[:DIGITS]}", identity] if unknown else [digits[:DIGITS], identity]
    return [UNKNOWN_NAME] if identity == UNKNOWN else [*([unknown] if unknown else []), *known]


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
    return f"identity {identity}" if identity and not identity.startswith(UNKNOWN_NAME) else "unknown hardware"
