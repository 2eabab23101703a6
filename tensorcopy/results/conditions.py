"""The conditions under which a case was measured, and whether those of two launches, or of two results, let its values be compared. Pure.

Conditions are those of a launch, and concern only the cases that they can touch: a driver those of its device, numpy those that use it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from tensorcopy.results.cases import Case, Cases
from tensorcopy.results.launches import Launch
from tensorcopy.results.machine_names import UNKNOWN_NAME
from tensorcopy.results.result import Result

SAME_MACHINE = ("cpu", "cores", "governor", "cpu_quota", "hugepages", "cpu_capability", "threads", "arch", "os", "settings")
SAME_GPU = "gpu"  # for cases on CUDA: each of its values that both sides have
FREE_SETTINGS = ("CUDA_DEVICE_ORDER", "CUDA_VISIBLE_DEVICES")  # choose one of several equal GPUs
OF_CUDA = "CUDA_"  # in the names of settings that concern CUDA alone
FREE_OF_GPU = ("index", "clock_mhz")  # a number, and a reading that varies from pass to pass
SAME_TIMER = ("asv_runner",)  # it takes the samples
PACKAGES = ("requires", "follows_torch")  # for cases that use them, of two launches of a release; of two releases the first
CONDITIONS = (*SAME_TIMER, "python", "numpy", *PACKAGES, *SAME_MACHINE, "driver", "accelerators", SAME_GPU)  # that some values depend on
NOT_EVIDENCE = ("started", "tensorcopy")  # fields of the provenance that cannot change a time


class FieldDifference(NamedTuple):
    """A field of the provenance that differs between the sides."""

    field: str
    before: str
    after: str


Differences = tuple[FieldDifference, ...]


def unequal(before: Result, after: Result, case: Case) -> Differences:
    """Return the fields that must be equal on both sides and are not: values of a case under such conditions are not compared.

    Left out are fields that one side lacks, and what the comparison is about: the machine of two machines, the Python of two Pythons, numpy
    of two builds, packages of two revisions.
    """
    first, second, spec = before.under.get(case, ""), after.under.get(case, ""), case.spec
    return _unequal(before, after, first, second, spec.numpy, spec.packages, case.device)


@lru_cache(maxsize=64)  # two sides, with numpy and with packages or without, by device
def _unequal(before: Result, after: Result, first: str, second: str, numpy: bool, packages: bool, device: str) -> Differences:
    ours, theirs = before.series_key, after.series_key
    sides = [
        required(
            result.provenance_in(launch),
            with_numpy=numpy and not ours.differs_by_numpy(theirs),
            with_python=before.python == after.python,
            packages=PACKAGES[:1] if packages and before.revision == after.revision else (),
            device=device if before.machine == after.machine else "",
        )
        for result, launch in ((before, first), (after, second))
    ]
    if ours.machine == theirs.machine and ours.identity != theirs.identity:  # of two folders with a machine of this name each
        sides = [{**fields, "identity": key.identity or UNKNOWN_NAME} for fields, key in zip(sides, (ours, theirs))]
    return _different(*sides)


def _different(first: Mapping[str, str], second: Mapping[str, str]) -> Differences:
    return tuple(FieldDifference(name, value, second[name]) for name, value in first.items() if name in second and value != second[name])


def required(
    provenance: Mapping[str, Any], *, with_numpy: bool, packages: Sequence[str] = (), with_python: bool = True, device: str
) -> dict[str, str]:
    """Return the fields that must be equal for values to be compared, as text; one that is unknown is left out.

    with_numpy, packages, with_python : what can change the values
    device : of the values, for the fields of the machine; "" where the machines are compared
    """
    names = [*SAME_TIMER, *["numpy"] * with_numpy, *["python"] * with_python, *(SAME_MACHINE if device else ())]
    fields = {name: provenance[name] for name in names if provenance.get(name) not in (None, "")}
    if "cpu_quota" in provenance and device:
        fields["cpu_quota"] = provenance["cpu_quota"] or "none"
    if "settings" in fields:
        of_device = {name: value for name, value in fields["settings"].items() if device == "cuda" or OF_CUDA not in name}
        fields["settings"] = {name: value for name, value in of_device.items() if name not in FREE_SETTINGS}
    if device not in ("", "cpu"):
        both = {"driver": provenance.get("driver"), "accelerators": provenance.get("accelerators", {}).get(device)}
        fields |= {name: value for name, value in both.items() if value}
    gpu = (provenance.get(SAME_GPU) or {}) if device == "cuda" else {}
    fields |= {f"gpu {name}": value for name, value in gpu.items() if value is not None and name not in FREE_OF_GPU}
    return {**{name: str(value) for name, value in fields.items()}, **_packages(provenance, packages)}


def _packages(provenance: Mapping[str, Any], names: Sequence[str]) -> dict[str, str]:
    return {f"{field_name} {name}": text for field_name in names for name, text in (provenance.get(field_name) or {}).items()}


def have_same_packages(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Return whether two provenances of a release have the same packages that its campaign requires, as far as both know them."""
    return not _different(_packages(first, PACKAGES), _packages(second, PACKAGES))


@dataclass(frozen=True)
class Pooled:
    """Which launches of one side have the values of a case: those under the conditions of the newest that has it."""

    newest: Mapping[Case, str] = field(default_factory=dict)  # that launch, where not all launches have the same conditions
    left_out: Mapping[str, Mapping[Case, Differences]] = field(default_factory=dict)  # by launch; what differs


def pooled(members: Sequence[tuple[Launch, Cases, int]]) -> Pooled:
    """Return which launches of one side are pooled, case by case: of times, and of values that are tracked. A count is exact.

    members : launches in order, with their cases and the number of the side
    """
    provenances = [{name: launch.provenance_of(side).get(name) for name in CONDITIONS} for launch, _, side in members]
    texts = [json.dumps(each, sort_keys=True) for each in provenances]
    newest, left_out, known = dict[Case, int](), dict[str, dict[Case, Differences]](), dict[Any, Differences]()
    for number in reversed(range(len(members) if len({*texts}) > 1 else 0)):
        launch, cases, side = members[number]
        for name, of_suite in cases.items():
            suite = launch.suites[name]
            timed = [of_suite[int(index)] for index, row in suite.rows.items() if row.effects[side] is not None]
            for case in (*timed, *(case for case in map(of_suite.__getitem__, map(int, suite.values)) if case.tracked)):
                first, spec = newest.setdefault(case, number), case.spec
                if texts[number] != texts[first]:
                    key = texts[number], texts[first], spec.numpy, spec.packages, case.device
                    if key not in known:
                        packages = PACKAGES if spec.packages else ()
                        both = (provenances[number], provenances[first])
                        fields = (required(each, with_numpy=spec.numpy, packages=packages, device=case.device) for each in both)
                        known[key] = _different(*fields)
                    if known[key]:
                        left_out.setdefault(launch.id, {})[case] = known[key]
    return Pooled({case: members[number][0].id for case, number in newest.items()}, left_out)


def differing(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[FieldDifference]:
    """Return every field of two provenances that differs and can change a time; "" where a side has none."""
    first, second = _texts(before), _texts(after)
    fields = [FieldDifference(name, first.get(name, ""), second.get(name, "")) for name in {**first, **second}]
    return [each for each in fields if each.field not in NOT_EVIDENCE and each.before != each.after]


def _texts(provenance: Mapping[str, Any]) -> dict[str, str]:
    """Return the fields of a provenance as text, those of a group such as the hardware each under its name; "" for none."""
    texts = {}
    for name, value in provenance.items():
        parts = {f"{name} {key}": part for key, part in value.items()} if isinstance(value, dict) else {name: value}
        texts.update({key: ", ".join(map(str, part)) if isinstance(part, list) else str(part or "") for key, part in parts.items()})
    return texts
