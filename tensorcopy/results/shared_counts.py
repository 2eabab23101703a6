"""Whose counts a machine has: its own, and those that another machine of the same platform took. Pure.

valgrind emulates a processor, and an allocation has as many bytes on each: a count belongs to a release, the interpreter and the C
library, not to the processor that ran it. docs/measurement.md compares the counts of two processors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import structs

from tensorcopy.results import suite_specs
from tensorcopy.results.cases import stored_cases
from tensorcopy.results.launches import Launch, Place

PLATFORM = ("os", "arch", "libc", "python", "compiler")  # of the interpreter
EMULATED = "avx2"  # the instruction set that valgrind emulates where the processor has it; it changes which kernels run


def platform(provenance: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what counts depend on besides the release; empty where a provenance does not tell all of it."""
    values = [str(provenance.get(name, "")) for name in PLATFORM]
    flags = provenance.get("hardware", {}).get("flags", [])
    return (*values, str(EMULATED in flags)) if all(values) else ()


def elsewhere(launches: Iterable[Launch], identity: str, places: Mapping[Place, Mapping[str, Any]]) -> Iterator[Launch]:
    """Yield the launches of counts of other machines that hold for the machine of an identity too, with only what does.

    places : the sides that this machine has, each with its provenance

    Those of an interpreter hold for its machine only: its torch may be compiled in another way under the same name.
    """
    for launch in launches:
        if launch.kind == "counts" and launch.identity != identity:
            side = launch.sides[0]
            here = platform(places.get(side.place, {}))
            if here and here == platform(launch.provenance_of(0)) and not side.is_interpreter:
                yield _of_every_processor(launch)


def _of_every_processor(launch: Launch) -> Launch:
    """Return a launch of counts with only what does not depend on its machine: exact counts and observations on the CPU."""
    suites = {}
    for name, suite in launch.suites.items():
        if suite_specs.find(name).shipped:
            on_cpu = {str(number) for number, case in enumerate(stored_cases(name, suite)) if case.device in ("cpu", case.spec.device)}
            parts = ("values", "skipped", "failed")
            kept = {part: {at: value for at, value in getattr(suite, part).items() if at in on_cpu} for part in parts}
            if any(kept.values()):
                suites[name] = structs.replace(suite, **kept)
    methods = {
        name: {**method, "observed": {device: seen for device, seen in method.get("observed", {}).items() if device == "cpu"}}
        for name, method in launch.methods.items()
    }
    return structs.replace(launch, suites=suites, methods=methods)
