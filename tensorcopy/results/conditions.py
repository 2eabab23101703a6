"""The conditions under which a result was measured, and whether those of two results let their values be compared. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from tensorcopy.results.reader import Result
from tensorcopy.results.series_key import UNKNOWN_NAME

SAME_MACHINE = (
    "cpu",
    "cores",
    "governor",
    "cpu_quota",
    "hugepages",
    "cpu_capability",
    "threads",
    "arch",
    "os",
    "driver",
    "accelerators",
    "settings",
)
SAME_GPU = "gpu"  # for cases on CUDA: each of its values that both sides have
FREE_SETTINGS = ("CUDA_DEVICE_ORDER", "CUDA_VISIBLE_DEVICES")  # choose one of several equal GPUs
FREE_OF_GPU = ("index", "clock_mhz")  # a number, and a reading that varies from pass to pass
SAME_TIMER = ("asv_runner",)  # it takes the samples
NOT_EVIDENCE = ("started", "tensorcopy")  # fields of the provenance that cannot change a time


class FieldDifference(NamedTuple):
    """A field of the provenance that differs between the sides."""

    field: str
    before: str
    after: str


@lru_cache(maxsize=16)  # two sides, with numpy and without, with a GPU and without
def unequal(before: Result, after: Result, *, with_numpy: bool, with_gpu: bool) -> tuple[FieldDifference, ...]:
    """Return the fields that must be equal on both sides and are not: values under such conditions are not compared.

    A field that one side lacks is left out.

    with_numpy : whether numpy's version can change the values
    with_gpu : whether they are of an NVIDIA GPU
    """
    first = _required(before, after, with_numpy=with_numpy, with_gpu=with_gpu)
    second = _required(after, before, with_numpy=with_numpy, with_gpu=with_gpu)
    return tuple(FieldDifference(name, value, second[name]) for name, value in first.items() if name in second and value != second[name])


def _required(result: Result, compared_with: Result, *, with_numpy: bool, with_gpu: bool) -> dict[str, str]:
    """Return the fields of a result that must be equal in another one; a difference that is itself compared is allowed."""
    names: list[str] = list(SAME_TIMER)
    ours, theirs = result.series_key, compared_with.series_key
    if with_numpy and not ours.differs_by_numpy(theirs):
        names.append("numpy")
    if result.python == compared_with.python:
        names.append("python")
    fields = {name: str(result.provenance[name]) for name in names if result.provenance.get(name) not in (None, "")}
    if result.machine == compared_with.machine:
        fields.update(_of_machine(result.provenance, with_gpu=with_gpu))
    if ours.machine == theirs.machine and ours.identity != theirs.identity:  # of two folders with a machine of this name each
        fields["identity"] = ours.identity or UNKNOWN_NAME
    return fields


def _of_machine(provenance: Mapping[str, Any], *, with_gpu: bool) -> dict[str, str]:
    """Return the fields of the machine that must be equal in two results of it, by name.

    with_gpu : also those of its NVIDIA GPU; one that torch or the driver does not report is left out
    """
    fields = {name: provenance[name] for name in SAME_MACHINE if provenance.get(name) not in (None, "")}
    if "cpu_quota" in provenance:
        fields["cpu_quota"] = provenance["cpu_quota"] or "none"
    if "settings" in fields:
        fields["settings"] = {name: value for name, value in fields["settings"].items() if name not in FREE_SETTINGS}
    if with_gpu:
        gpu = provenance.get(SAME_GPU) or {}
        fields.update({f"gpu {name}": value for name, value in gpu.items() if value is not None and name not in FREE_OF_GPU})
    return {name: str(value) for name, value in fields.items()}


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
