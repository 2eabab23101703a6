"""Merge folders of results: every sample and every pass of all, once.

The order in which folders are merged, and how often, makes no difference. Files of the same release, machine and environment become one
file (`merge_results`). Passes of different hardware under one machine name go to folders of their own (`series_key`), as where all runners
of a pool have one name. Files without identities are divided by the hardware in their machine.json.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

from tensorcopy.errors import TensorcopyError
from tensorcopy.results import confirmations, files, functions, writing
from tensorcopy.results.files import FileProblem
from tensorcopy.results.merge_results import Document, Summary, case_count, divided, earliest, merged, renamed, version_order
from tensorcopy.results.series_key import UNKNOWN_NAME, machine_names, two_machines, without_suffix
from tensorcopy.results.writing import ReportWait, ignore_wait, one_writer

HARDWARE = ("arch", "cpu", "num_cpu", "os")  # of machine.json: a difference in one makes two machines

Names = Mapping[tuple[str, str], str]  # of machines in the merged folder, by folder and hardware


@dataclass(frozen=True)
class Merged:
    """How many result files are new, got passes or counts, or are unchanged.

    warnings : a sentence for each machine that got another name
    """

    new: int
    grown: int
    unchanged: int
    warnings: tuple[TensorcopyError, ...] = ()


@dataclass(frozen=True)
class _Part:
    """What one machine contributed to a file of a source.

    hardware : the machine's identity; where it is unknown, a digest of machine.json
    is_whole : whether the file has nothing else
    """

    path: Path
    hardware: str
    document: Document
    is_whole: bool

    @property
    def folder(self) -> str:
        return self.path.parent.name

    def target(self, names: Names) -> Path:
        """Return its path in the merged folder."""
        return Path(names[self.folder, self.hardware]) / self.path.name


def merge(folders: Sequence[Path], into: Path, summary: Summary, report_wait: ReportWait = ignore_wait) -> Merged:
    """Merge every result of `folders` and of the folder `into` into `into`.

    summary : computes asv's own statistics of samples, see `asv_plugin.stamp`
    report_wait : called with a sentence if another process writes `into`

    A folder may also contain folders of results, as of several machines.

    Everything is read and merged before anything is written. Raises TensorcopyError for a folder without results, a damaged file, and files
    that contradict each other.
    """
    folders = [results for folder in folders for results in _folders_of_results(folder)]
    if not into.exists():
        _check_sources(folders, summary)  # raises before there is a folder, and a lock in it; profiles are read later
    with one_writer(into, report_wait):
        return _merge(folders, into, summary)


def _check_sources(sources: Sequence[Path], summary: Summary) -> None:
    """Raise TensorcopyError where these folders cannot be merged."""
    parts = [part for source in sources for path in _result_files(source) for part in _parts(path)]
    names = _names(parts)
    reduce(both_suites, map(files.benchmarks, sources))
    _merged_by_target(parts, names, summary)
    _machines(sources, parts, names)


def _merge(folders: Sequence[Path], into: Path, summary: Summary) -> Merged:
    has_results = (into / "benchmarks.json").exists() or any(into.glob("*/*.json"))
    sources = [*([into] if has_results else []), *folders]
    suites, confirmed = reduce(both_suites, map(files.benchmarks, sources)), _merged_confirmations(sources)
    parts = [part for source in sources for path in _result_files(source) for part in _parts(path)]
    old_parts = [part for part in parts if part.path.parents[1] == into]
    names = _names(parts)
    drafts = _merged_by_target(parts, names, summary)
    profiles = merged_profiles(sources, names, drafts)
    before = _merged_by_target(old_parts, names, summary)  # merged with itself, since asv writes the same values in two ways
    moved = {part.target(names) for part in old_parts if not part.is_whole or part.folder != part.target(names).parent.name}
    for name, document in {Path("benchmarks.json"): suites, **_machines(sources, parts, names)}.items():
        writing.write_readable(into / name, document)
    grown = [name for name in before if not files.same(drafts[name], before[name])]
    new = [name for name in drafts if name not in before]
    for name in {*grown, *new, *moved}:
        writing.write_result(into / name, drafts[name])
    for name, text in confirmed.items():
        writing.replace(into / name, text)
    for name, content in profiles.items():
        if not (into / name).exists() or (into / name).read_bytes() != content:
            writing.replace(into / name, content)
    elsewhere = {name.name for name in profiles}  # of these, the folder's own belonged to results that are another machine's now
    for path in into.glob(f"*/*{functions.ENDING}"):
        if path.name in elsewhere and path.relative_to(into) not in profiles:
            path.unlink()
    _remove({part.path for part in old_parts} - {into / name for name in drafts})
    return Merged(len(new), len(grown), len(drafts) - len(new) - len(grown), tuple(_warnings(parts, names)))


def _folders_of_results(folder: Path) -> list[Path]:
    """Return a folder of results, or those in it. Raises TensorcopyError where there are none.

    GitHub downloads one artifact into the folder itself, and several into a folder each.
    """
    if (folder / "benchmarks.json").is_file():
        return [folder]
    inner = sorted(path.parent for path in folder.glob("*/benchmarks.json"))
    if not inner:
        raise TensorcopyError(
            "not a folder of results",
            got=f"{folder}, without benchmarks.json",
            allowed="a folder as tensorcopy measure and asv write it",
            next="check the path: it is the folder that contains the machines' folders, or several such folders",
        )
    return inner


def _result_files(source: Path) -> list[Path]:
    return sorted(path for path in source.glob("*/*.json") if path.name not in files.NOT_RESULTS)


def _parts(path: Path) -> list[_Part]:
    """Return the parts of a result file by hardware. Raises TensorcopyError."""
    document = files.result(path)
    with files.damage_named(path):
        by_identity = divided(document)
    return [_Part(path, identity or _unknown(path.parent), part, len(by_identity) == 1) for identity, part in by_identity.items()]


def _unknown(folder: Path) -> str:
    """Return what stands for the identity of a host that recorded none."""
    machine = files.machine(folder)
    return f"{UNKNOWN_NAME}-{hashlib.sha256(files.canonical([machine.get(name) for name in HARDWARE]).encode()).hexdigest()}"


def _names(parts: Iterable[_Part]) -> dict[tuple[str, str], str]:
    """Return the merged machine's name for each folder and hardware.

    A folder whose name an earlier merge has suffixed counts as the folder without the suffix, if there is one: the names then depend on all
    passes, and not on the order of merging.
    """
    by_key: dict[tuple[str, str], list[str]] = {}
    for part in parts:
        by_key.setdefault((part.folder, part.hardware), []).append(earliest(part.document))
    folders = {folder for folder, _ in by_key}
    original: dict[tuple[str, str], tuple[str, str]] = {}
    for folder, hardware in by_key:
        name = without_suffix(folder, hardware)
        original[folder, hardware] = (name if name in folders else folder, hardware)
    starts: dict[tuple[str, str], str] = {}
    for key, started in by_key.items():
        starts[original[key]] = min([*started, starts.get(original[key], max(started))])
    names = machine_names(starts)
    return {key: names[original[key]] for key in by_key}


def _merged_by_target(parts: Iterable[_Part], names: Names, summary: Summary) -> dict[Path, Document]:
    """Return the merged result files by their path in the merged folder."""
    groups: dict[Path, list[_Part]] = {}
    for part in parts:
        groups.setdefault(part.target(names), []).append(part)
    documents = {}
    for target in sorted(groups):
        with files.damage_named(groups[target][-1].path):
            first, *others = [renamed(part.document, target.parent.name) for part in groups[target]]
            documents[target] = reduce(lambda older, newer: merged(older, newer, summary), others, merged(first, first, summary))
    return documents


def _machines(sources: Iterable[Path], parts: Iterable[_Part], names: Names) -> dict[Path, Document]:
    """Return every machine.json of the merged folder.

    Where a folder is divided, the hardware is that in the provenance.
    """
    hardware_in: dict[Path, dict[str, Document]] = {}
    for part in parts:
        hardware_in.setdefault(part.path.parent, {})[part.hardware] = part.document["ledger"]
    versions: dict[Path, list[Document]] = {}
    for path in sorted(path for source in sources for path in source.glob("*/machine.json")):
        of_folder = hardware_in.get(path.parent, {})
        for hardware, provenance in of_folder.items():
            name = names[path.parent.name, hardware]
            machine = {**files.machine(path.parent), "machine": name}
            if len(of_folder) > 1 and "hardware" in provenance:
                machine |= {name: str(provenance[name]) for name in HARDWARE if name in provenance}
                machine["num_cpu"] = str(provenance["hardware"]["processors"])
            versions.setdefault(Path(name) / path.name, []).append(machine)
        if not of_folder:
            versions.setdefault(Path(path.parent.name) / path.name, []).append(files.machine(path.parent))
    return {name: files.fullest(documents) for name, documents in versions.items()}


def _warnings(parts: Iterable[_Part], names: Names) -> list[TensorcopyError]:
    """Return a warning for each machine whose folder belongs to another one."""
    holders = {name: hardware for (_, hardware), name in names.items()}
    renamed_keys = sorted({(part.folder, part.hardware) for part in parts if part.folder in holders})
    return [
        two_machines(folder, holders[folder], hardware, names[folder, hardware], "nothing; or measure the other one with its own --machine")
        for folder, hardware in renamed_keys
        if names[folder, hardware] != folder
    ]


def _remove(paths: Iterable[Path]) -> None:
    """Remove files whose passes are in other files, and folders that are left empty."""
    for path in paths:
        path.unlink()
        if not any(other.name not in files.NOT_RESULTS for other in path.parent.iterdir()):
            path.with_name("machine.json").unlink(missing_ok=True)
            path.parent.rmdir()


def _merged_confirmations(sources: Sequence[Path]) -> dict[Path, str]:
    """Return the merged confirmations of all sources, by their path in the merged folder.

    Each has the identity of its machine, so it stays where it is when results move to another name.
    """
    texts: dict[Path, list[str]] = {}
    for source in sources:
        for path in sorted(source.glob(f"*/{confirmations.FILE}")):
            texts.setdefault(path.relative_to(source), []).append(confirmations.text(path))
    return {name: confirmations.merged_lines(versions) for name, versions in texts.items()}


def both_suites(first: Document, second: Document) -> Document:
    """Return two benchmarks.json as one.

    Of a suite in both the higher version wins; of one version, the one with more parameters.
    """
    both = {**first, **second}
    for name in first.keys() & second.keys() - {"version"}:
        both[name] = max(
            first[name],
            second[name],
            key=lambda suite: (version_order(suite["version"]), case_count(suite["params"]), files.canonical(suite)),
        )
    return both


# Merge the function profiles beside result files.
#
# A profile is taken as a whole. Of several of one release, machine and environment, the one with the most cases stays, and of these the
# last one taken; so the order of merging makes no difference.


def merged_profiles(sources: Iterable[Path], names: Names, results: Collection[Path]) -> dict[Path, bytes]:
    """Return the profiles of all sources by their path in the merged folder; those without a result are left out.

    results : the merged result files

    Raises TensorcopyError for a damaged profile.
    """
    beside = {functions.path_of(result) for result in results}
    best: dict[Path, tuple[int, str, bytes]] = {}
    for path in (path for source in sources for path in sorted(source.glob(f"*/*{functions.ENDING}"))):
        profiles, folder = functions.read(path), path.parent.name
        of_folder = {name for (other, _), name in names.items() if other == folder}
        only = of_folder.pop() if len(of_folder) == 1 else folder  # for a result without identity
        target = Path(names.get((folder, str(profiles.provenance["identity"])), only)) / path.name
        if target in beside:
            rank = len(profiles.cases), str(profiles.provenance["started"]), path.read_bytes()
            best[target] = max(rank, best.get(target, rank))
    return {target: content for target, (_, _, content) in best.items()}


# Add a new pass to a folder of results.
#
# asv writes a pass into a draft, which began as a copy of the results. Others may have added passes to the results meanwhile. So only the
# new pass is taken from the draft, and merged into the file that is there now (`merge_results`).


def add_pass(draft: Path, new: Document, target: Path, summary: Summary, report_wait: ReportWait = ignore_wait) -> None:
    """Add the pass of a draft to a result file, with the suites and the machine that the draft describes.

    draft, target : paths of result files, in their folders of results; `target` need not exist
    new : what the pass has measured, see `merge_results.of_passes`
    summary : computes asv's own statistics of samples

    The result file is written last: with it, the pass counts as stored. Raises TensorcopyError where the results are damaged or cannot be
    locked, or the new pass does not fit the earlier ones, and OSError; the pass is then not stored.
    """
    into, source = target.parents[1], draft.parents[1]
    with one_writer(into, report_wait):
        document = merged(files.result(target) if os.path.lexists(target) else new, new, summary)
        suites, machine = files.benchmarks(source), files.machine(draft.parent)
        if os.path.lexists(into / "benchmarks.json"):
            suites = both_suites(files.benchmarks(into), suites)
        if os.path.lexists(target.with_name("machine.json")):
            machine = files.fullest([files.machine(target.parent), machine])
        writing.write_readable(into / "benchmarks.json", suites)
        writing.write_readable(target.with_name("machine.json"), machine)
        try:
            writing.write_result(target, document)
        except FileProblem as error:
            raise TensorcopyError(
                f"the pass does not fit {files.displayed(target)}",
                got=error.got,
                allowed="the torch, the build and the numpy of its earlier passes",
                next="measure under another name with --machine",
            ) from error
