"""Merge folders of results: every sample and every pass of all, once.

The order in which folders are merged, and how often, makes no difference. Files of the same release, machine and environment become one
file (`merge_results`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

from tensorcopy.errors import TensorcopyError
from tensorcopy.results import files
from tensorcopy.results.merge_results import Document, Summary, canonical, case_count, merged, version_order

HARDWARE = ("arch", "cpu", "num_cpu", "os")  # of machine.json: a difference in one makes two machines


@dataclass(frozen=True)
class Merged:
    """How many result files are new, got passes or counts, or are unchanged."""

    new: int
    grown: int
    unchanged: int


def merge(folders: Sequence[Path], into: Path, summary: Summary) -> Merged:
    """Merge every result of `folders` and of the folder `into` into `into`.

    summary : computes asv's own statistics of samples, see `asv_plugin.statistics`

    Everything is read and merged before anything is written. Raises TensorcopyError for a folder without results, a damaged file, and files
    that cannot be of one machine.
    """
    for folder in folders:
        if not (folder / "benchmarks.json").is_file():
            raise _no_results(folder)
    has_results = (into / "benchmarks.json").exists() or any(into.glob("*/*.json"))
    sources = [*([into] if has_results else []), *folders]
    names = sorted({path.relative_to(source) for source in sources for path in source.glob("*/*.json")})
    suites = _merged_suites(sources)
    machines = {name: reduce(_same_machine, _versions(name, sources)) for name in names if name.name == "machine.json"}
    drafts = {name: _merged_at(name, sources, summary) for name in names if name not in machines}
    # merged with itself, since asv writes the same values in two ways
    before = {name: _merged_at(name, [into], summary) for name in drafts if (into / name).exists()}
    for name, document in {Path("benchmarks.json"): suites, **machines}.items():
        _write_readable(into / name, document)
    grown = [name for name in before if not same(drafts[name], before[name])]
    new = [name for name in drafts if name not in before]
    for name in (*grown, *new):
        files.write(into / name, drafts[name])
    return Merged(len(new), len(grown), len(drafts) - len(new) - len(grown))


def same(first: Any, second: Any) -> bool:
    """Return whether two JSON values are equal; NaN equals NaN."""
    return canonical(first) == canonical(second)


def _no_results(folder: Path) -> TensorcopyError:
    return TensorcopyError(
        "not a folder of results",
        got=f"{folder}, without benchmarks.json",
        allowed="a folder as tensorcopy measure and asv write it",
        next="check the path: it is the folder that contains the machines' folders",
    )


def _merged_suites(sources: Sequence[Path]) -> Document:
    """Return the merged benchmarks.json of all sources."""
    try:
        return reduce(_both_suites, (files.read(source / "benchmarks.json") for source in sources))
    except (KeyError, TypeError, AttributeError) as error:
        raise files.damaged(sources[-1] / "benchmarks.json", f"{type(error).__name__}: {error}") from error


def _both_suites(first: Document, second: Document) -> Document:
    """Return two benchmarks.json as one.

    Of a suite in both the higher version wins; of one version, the one with more parameters.
    """
    both = {**first, **second}
    for name in first.keys() & second.keys() - {"version"}:
        both[name] = max(
            first[name],
            second[name],
            key=lambda suite: (version_order(suite["version"]), case_count(suite["params"]), canonical(suite)),
        )
    return both


def _versions(name: Path, sources: Sequence[Path]) -> list[Document]:
    return [files.read(source / name) for source in sources if (source / name).exists()]


def _merged_at(name: Path, sources: Sequence[Path], summary: Summary) -> Document:
    """Return the merged result file `name` of all sources that have it."""
    paths, versions = [source / name for source in sources if (source / name).exists()], _versions(name, sources)
    for path, document in zip(paths, versions):
        fault = files.fault(document)
        if fault:
            raise files.damaged(path, fault)
    try:
        alone = merged(versions[0], versions[0], summary)
        return reduce(lambda first, second: merged(first, second, summary), versions[1:], alone)
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise files.damaged(paths[-1], f"{type(error).__name__}: {error}") from error


def _write_readable(path: Path, document: Document) -> None:
    """Write benchmarks.json or machine.json, unless its values are unchanged.

    Indented, as asv writes them.
    """
    if not path.exists() or not same(files.read(path), document):
        files.replace(path, json.dumps(document, indent=4, sort_keys=True) + "\n")


def _same_machine(first: Document, second: Document) -> Document:
    """Return one of two machine.json of the same hardware.

    Raises TensorcopyError where the hardware differs.
    """
    for name in HARDWARE:
        if first.get(name, second.get(name)) != second.get(name, first.get(name)):
            raise TensorcopyError(
                f"two machines are called {first.get('machine')}",
                got=f"{name} {first[name]!r} and {second[name]!r}",
                allowed="one kind of machine per name: times of different ones are not comparable",
                next="measure the other one under another name, with --machine",
            )
    return max(first, second, key=canonical)
