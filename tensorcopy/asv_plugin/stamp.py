"""Add provenance and a record of the pass to asv's result files at exit.

asv has no field for them: a field of an environment would become a filter on asv's site and split the graphs. asv ignores other keys at a
file's top level, but drops them whenever it writes the file again; hence at the end of the process.
"""

from __future__ import annotations

import atexit
import os
import secrets
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tensorcopy.asv_plugin.exits import pass_on
from tensorcopy.errors import TensorcopyError
from tensorcopy.results import files

# environment variables with which tensorcopy passes the selection of suites and the shard through asv
SELECTION, SHARD = "TENSORCOPY_SELECTION", "TENSORCOPY_SHARD"


@dataclass(frozen=True)
class _Pending:
    """Data to write into the result files of one release in one environment.

    report : provenance, methods and article
    record : of this pass
    journal : control readings that the suites write
    journal_start : size of the journal in bytes before this run
    texts_before : the result files before this run
    """

    report: dict[str, Any]
    record: dict[str, Any]
    journal: Path
    journal_start: int
    texts_before: dict[Path, str]


def stamp_at_exit(results_dir: str, sha: str, environment: str, report: dict[str, Any], journal: Path) -> None:
    """Add `report` and a record of this pass to asv's result files at exit.

    Only the files of this release and environment that asv changes are affected.
    """
    folder = Path(results_dir).absolute()
    now = datetime.now(timezone.utc)
    provenance = {**report["ledger"], "asv": version("asv"), "started": now.isoformat(timespec="seconds")}
    record = {
        "id": f"{now:%Y%m%dT%H%M%S}-{secrets.token_hex(4)}",
        "started": provenance["started"],
        "selection": os.environ.get(SELECTION, ""),
        **({"shard": os.environ[SHARD]} if os.environ.get(SHARD) else {}),
        "ledger": provenance,
    }
    texts_before = {path: path.read_text(encoding="utf-8") for path in _files(folder, sha, environment)}
    journal_start = journal.stat().st_size if journal.exists() else 0
    pending = _Pending({**report, "ledger": provenance}, record, journal, journal_start, texts_before)
    _pending_of(folder).setdefault((sha, environment), pending)


@cache
def _pending_of(results_dir: Path) -> dict[tuple[str, str], _Pending]:
    """Return the pending data of a folder of results, by SHA and environment.

    The first call registers its writing at exit.
    """
    pending: dict[tuple[str, str], _Pending] = {}
    atexit.register(_stamp, results_dir, pending)
    return pending


def _files(results_dir: Path, sha: str, environment: str) -> list[Path]:
    """Return the result files of all machines.

    asv does not pass the machine's name to an environment.
    """
    return list(results_dir.glob(f"*/{sha[:8]}-{environment}.json"))


def _stamp(results_dir: Path, pending_by_key: dict[tuple[str, str], _Pending]) -> None:
    for (sha, environment), pending in pending_by_key.items():
        for path in _files(results_dir, sha, environment):
            text_before = pending.texts_before.get(path, "")
            if path.read_text(encoding="utf-8") == text_before:
                continue  # of another machine
            try:
                if not text_before and files.is_empty(path):
                    path.unlink()  # asv has skipped every case: this release has no wheel for this Python
                else:
                    files.stamp(path, pending.report, text_before, pending.record, _journal_lines(pending, sha))
            except TensorcopyError as error:
                print(error)  # asv's log is closed by now
                pass_on(error)


def _journal_lines(pending: _Pending, sha: str) -> list[str]:
    """Return the lines that this run has added to the journal on one release.

    asv may interleave releases.
    """
    if not pending.journal.exists():
        return []
    with pending.journal.open("rb") as journal:
        journal.seek(pending.journal_start)
        lines = [line.split(" ", 1) for line in journal.read().decode().splitlines()]
    return [line[1] for line in lines if line[0] == sha[:8] and len(line) == 2]
