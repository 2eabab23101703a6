"""Let asv measure into a draft, and add its pass to the results at exit.

asv writes a result file again and again, with what it read at its start: passes that others store meanwhile would be lost, and a killed run
would leave half a pass. So asv works on a copy. At exit the pass gets its provenance and record, and is merged into the results. asv has no
field for these: a field of an environment would become a filter on asv's site and split the graphs. asv ignores other keys at a file's top
level, but drops them whenever it writes the file again; hence at the end of the process.
"""

from __future__ import annotations

import atexit
import glob
import os
import platform
import secrets
import shutil
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil

from tensorcopy.asv_plugin.exits import end_on
from tensorcopy.asv_plugin.statistics import summary
from tensorcopy.errors import DiskError, TensorcopyError, of_os_error
from tensorcopy.results import files
from tensorcopy.results.merging.add import add_pass

# environment variables with which tensorcopy passes the selection of suites, the shard and the pass's id through asv
SELECTION, SHARD, PASS = "TENSORCOPY_SELECTION", "TENSORCOPY_SHARD", "TENSORCOPY_PASS"
DRAFTS, UNSTORED = "drafts", "unstored"  # folders beside the environments


@dataclass(frozen=True)
class _Pending:
    """Data to write into the result files of one release in one environment.

    report : provenance, methods and article
    record : of this pass
    journal : control readings that the suites write
    journal_start : size of the journal in bytes before this run
    texts_before : the draft's result files before this run
    """

    report: dict[str, Any]
    record: dict[str, Any]
    journal: Path
    journal_start: int
    texts_before: dict[Path, str]


@dataclass(frozen=True)
class _Draft:
    """A copy of the folder `results` that asv writes into; pending data by SHA and environment."""

    results: Path
    folder: Path
    pending: dict[tuple[str, str], _Pending] = field(default_factory=dict)


_drafts: list[_Draft] = []  # of this process


def stamp_at_exit(conf: Any, sha: str, environment: str, report: dict[str, Any], journal: Path) -> None:
    """Let asv write into a draft, and store what it measures as a pass at exit.

    conf : asv's configuration, whose folder of results becomes the draft
    report : provenance, methods and article

    Only the files of this release and environment that asv changes are affected.
    """
    draft = _draft_of(Path(conf.results_dir).absolute(), Path(conf.env_dir).absolute().parent)
    conf.results_dir = str(draft.folder)
    now = datetime.now(timezone.utc)
    provenance = {**report["ledger"], "asv": version("asv"), "started": now.isoformat(timespec="seconds")}
    record = {
        "id": os.environ.get(PASS) or pass_id(),
        "started": provenance["started"],
        "selection": os.environ.get(SELECTION, ""),
        **({"shard": os.environ[SHARD]} if os.environ.get(SHARD) else {}),
        "ledger": provenance,
    }
    texts_before = {path: path.read_text(encoding="utf-8") for path in _files(draft.folder, sha, environment)}
    journal_start = journal.stat().st_size if journal.exists() else 0
    pending = _Pending({**report, "ledger": provenance}, record, journal, journal_start, texts_before)
    draft.pending.setdefault((sha, environment), pending)


def pass_id() -> str:
    """Return a new name of a pass: its start, and digits that no other pass has."""
    return f"{datetime.now(timezone.utc):%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"


@cache
def _draft_of(results: Path, workplace: Path) -> _Draft:
    """Return the draft of a folder of results; the folder of a draft is its own draft.

    The first call copies the results, and registers storing at exit. Copies that killed runs have left are removed.
    """
    for draft in _drafts:
        if draft.folder == results:
            return draft
    (workplace / DRAFTS).mkdir(parents=True, exist_ok=True)
    host = f"@{platform.node()}"  # others may share the checkout
    for folder in (workplace / DRAFTS).glob(f"*{glob.escape(host)}"):
        process = folder.name.partition("@")[0].rpartition("-")[2]
        if process.isdecimal() and not psutil.pid_exists(int(process)):
            shutil.rmtree(folder, ignore_errors=True)
    draft = _Draft(results, workplace / DRAFTS / f"{pass_id()}-{os.getpid()}{host}")
    draft.folder.mkdir()
    for path in (results / "benchmarks.json", *results.glob("*/*.json")):
        if path.is_file():
            copy = draft.folder / path.relative_to(results)
            copy.parent.mkdir(exist_ok=True)
            shutil.copyfile(path, copy)
    _drafts.append(draft)
    atexit.register(_store, draft)
    return draft


def _files(results_dir: Path, sha: str, environment: str) -> list[Path]:
    """Return the result files of all machines.

    asv does not pass the machine's name to an environment.
    """
    return list(results_dir.glob(f"*/{sha[:8]}-{environment}.json"))


def _store(draft: _Draft) -> None:
    """Store the passes of a draft, and remove it. Ends asv with exit code 2 where that fails."""
    errors = []
    for (sha, environment), pending in draft.pending.items():
        for path in _files(draft.folder, sha, environment):
            text_before = pending.texts_before.get(path, "")
            try:
                if path.read_text(encoding="utf-8") != text_before and (text_before or not files.is_empty(path)):
                    _store_pass(draft, path, pending, _journal_lines(pending, sha))
            except (TensorcopyError, OSError) as error:
                errors.append(error if isinstance(error, TensorcopyError) else of_os_error(error) or error)
    shutil.rmtree(draft.folder, ignore_errors=True)
    end_on(errors)


def _store_pass(draft: _Draft, path: Path, pending: _Pending, journal: list[str]) -> None:
    """Add provenance and the record to a file of a draft, and its pass to the results.

    A pass that cannot be added is kept beside the drafts.
    """
    text_before = pending.texts_before.get(path, "")
    target = draft.results / path.relative_to(draft.folder)
    try:
        files.stamp(path, pending.report, text_before, pending.record, journal)
        if target.exists() and not _has_numbers(files.records(path)[-1]):
            print(f"{files.displayed(target)} keeps its earlier times: this run recorded no samples; next: repeat it with --append-samples")
        add_pass(path, target, text_before, "asv run", summary, lambda message: print(message, flush=True))
    except (TensorcopyError, OSError) as error:
        known = error if isinstance(error, TensorcopyError) else of_os_error(error)
        if known is None:
            raise
        unstored = draft.folder.parents[1] / UNSTORED / draft.folder.name
        _keep(draft.folder, path, unstored)
        kind = DiskError if isinstance(known, DiskError) else TensorcopyError
        if kind is DiskError:
            next_step = f"{known.next.partition(', then repeat')[0]}, then tensorcopy merge {unstored}"
        else:  # such as a pass with another numpy than the file has, which cannot be merged into it
            next_step = f"measure under another name with --machine; the pass is kept in {unstored}"
        raise kind(known.what, got=known.got, allowed=known.allowed, next=next_step) from error


def _has_numbers(record: dict[str, Any]) -> bool:
    """Return whether a pass recorded samples or counts."""
    return bool(record["suites"] or record.get("counts"))


def _keep(draft: Path, path: Path, unstored: Path) -> None:
    """Move a result file with its machine and suites out of a draft: a rename needs no space."""
    (unstored / path.parent.name).mkdir(parents=True, exist_ok=True)
    for name in (path, path.with_name("machine.json"), draft / "benchmarks.json"):
        name.replace(unstored / name.relative_to(draft))


def _journal_lines(pending: _Pending, sha: str) -> list[str]:
    """Return the lines that this run has added to the journal on one release.

    asv may interleave releases.
    """
    if not pending.journal.exists():
        return []
    with pending.journal.open("rb") as journal:
        journal.seek(pending.journal_start)
        lines = [line.split(" ", 1) for line in journal.read().decode(errors="replace").splitlines()]
    return [line[1] for line in lines if line[0] == journal_mark(sha) and len(line) == 2]


def journal_mark(sha: str) -> str:
    """Return the first word of this process's lines about a release: another asv may write the same journal."""
    return f"{sha[:8]}.{os.getpid()}"
