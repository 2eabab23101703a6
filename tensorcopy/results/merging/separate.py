"""Give every machine its own folder, where one folder has results of several. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from tensorcopy.errors import TensorcopyError
from tensorcopy.results import files
from tensorcopy.results.identity import machine_names, two_machines
from tensorcopy.results.merging.divide import Document, divided, earliest, identities, renamed
from tensorcopy.results.merging.merge_results import merged


@dataclass(frozen=True)
class Separated:
    """Result files by path, no two identities in one folder.

    problems : files that cannot be divided; warnings : a sentence for each machine that got another name
    """

    documents: dict[Path, Document]
    problems: tuple[TensorcopyError, ...] = ()
    warnings: tuple[TensorcopyError, ...] = ()


def separated(documents: Mapping[Path, Document]) -> Separated:
    """Return result files with a folder for each machine.

    documents : valid ones by path. Those of a folder with one identity keep their path; of other folders, `machine_names` decides.
    """
    if has_one_identity(documents):
        return Separated(dict(documents))
    parts: list[tuple[Path, str, Document]] = []
    problems: list[TensorcopyError] = []
    for path, document in documents.items():
        try:
            with files.damage_named(path):
                parts += [(path, identity, part) for identity, part in divided(document).items()]
        except TensorcopyError as error:
            problems.append(error)
    names = _names(parts)
    by_path: dict[Path, Document] = {}
    for path, identity, part in parts:
        new = path.parents[1] / names[path.parent.name, identity] / path.name
        try:
            with files.damage_named(path):
                part = part if new == path else renamed(part, new.parent.name)
                by_path[new] = merged(by_path[new], part, _median) if new in by_path else part
        except TensorcopyError as error:
            problems.append(error)
    return Separated(by_path, tuple(problems), tuple(_warnings(names)))


def has_one_identity(documents: Mapping[Path, Document]) -> bool:
    """Return whether each folder has documents of one machine only."""
    in_folder: dict[Path, set[str]] = {}
    for path, document in documents.items():
        in_folder.setdefault(path.parent, set()).update(identities(document))
    return all(len(group) == 1 for group in in_folder.values())


def _names(parts: list[tuple[Path, str, Document]]) -> dict[tuple[str, str], str]:
    starts: dict[tuple[str, str], str] = {}
    for path, identity, part in parts:
        key = path.parent.name, identity
        starts[key] = min(earliest(part), starts.get(key, earliest(part)))
    return machine_names(starts)


def _warnings(names: Mapping[tuple[str, str], str]) -> list[TensorcopyError]:
    """Return a warning for each machine whose name is not its folder's."""
    holders = {machine: identity for (machine, identity), name in names.items() if name == machine}
    next_step = "tensorcopy merge FOLDER, with that folder of results, divides its files"
    return [
        two_machines(machine, holders[machine], identity, name, next_step)
        for (machine, identity), name in sorted(names.items())
        if name != machine
    ]


def _median(samples: list[float]) -> tuple[float, dict[str, Any]]:
    """Return asv's result of a case, without asv's statistics, which are not loaded."""
    return median(samples), {}
