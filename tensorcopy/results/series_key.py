"""Which results form one series: of one machine, told apart by its hardware, one Python, and one build or interpreter. Pure.

Every launch records the identity of the host that took it (`worker.hardware`). Two identities under one name are two machines: the one
with the earliest launch keeps the name, every other gets a suffix. A launch without an identity is of a separate machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import Protocol, TypeVar

from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import release_table
from tensorcopy.releases.release_table import Release

UNKNOWN_NAME = "unknown"  # hardware, in names and texts
DIGITS = 4  # of an identity in a machine's name: two of a handful rarely share them, and then the name has all digits


@dataclass(frozen=True)
class SeriesKey:
    """Which results form one series.

    machine : its name
    identity : of its hardware; "" if unknown. Machines in two folders of results may share a name
    python : such as "3.11"
    build : such as "cuda". A separate series is "cuda-interpreter", for the torch that an interpreter has, which may be compiled in
        another way than the wheel, as may its Python; and "cuda-numpy2", for the wheel beside numpy 2
    """

    machine: str
    identity: str
    python: str
    build: str

    @property
    def host(self) -> tuple[str, str]:
        """The machine and its hardware."""
        return self.machine, self.identity

    @property
    def is_beside_history(self) -> bool:
        """Whether the torch is an interpreter's own, or has another numpy than the history."""
        return "-" in self.build

    @property
    def has_numpy_2(self) -> bool:
        """Whether numpy 2 stands in for the history's numpy."""
        return self.build.endswith(release_table.WITH_NUMPY_2)

    def differs_by_numpy(self, other: SeriesKey) -> bool:
        """Return whether one of the two is beside numpy 2, and otherwise of the same kind of wheel."""
        wheels = {key.build.removesuffix(release_table.WITH_NUMPY_2) for key in (self, other)}
        return self.build != other.build and len(wheels) == 1

    @property
    def joined(self) -> SeriesKey:
        """The key of the history that joins the Pythons of this machine and build; its Python is ""."""
        return replace(self, python="")

    @property
    def order(self) -> tuple[bool, tuple[int, int]]:
        """A sort key of the series of one machine: the wheel's of the newest Python is the last."""
        return not self.is_beside_history, release_table.minor(self.python)


class HasSeries(Protocol):
    """A result, or another value with the key of one."""

    @property
    def release(self) -> Release | None:
        """The row of its torch in the table; None for a torch without one."""

    @property
    def series_key(self) -> SeriesKey:
        """Which series it belongs to."""


Member = TypeVar("Member", bound=HasSeries)


def in_order(results: Iterable[Member]) -> list[Member]:
    """Return results in order of release; those of a torch that is no release are left out."""
    released = [(result.release, result) for result in results if result.release]
    return [result for _, result in sorted(released, key=lambda each: each[0])]


def by_series(results: Iterable[Member]) -> dict[SeriesKey, list[Member]]:
    """Return the results of each series in order of release; those of a torch that is no release are left out."""
    groups: dict[SeriesKey, list[Member]] = {}
    for result in in_order(results):
        groups.setdefault(result.series_key, []).append(result)
    return groups


def by_history(results: Iterable[Member]) -> dict[SeriesKey, list[list[Member]]]:
    """Return the series that each history joins, the newest Python first, each in order of release."""
    series = by_series(results)
    histories: dict[SeriesKey, list[list[Member]]] = {}
    for key in sorted(series, key=lambda key: key.order, reverse=True):
        histories.setdefault(key.joined, []).append(series[key])
    return histories


def machine_names(starts: Mapping[tuple[str, str], str]) -> dict[tuple[str, str], str]:
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
