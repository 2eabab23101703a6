"""The ledger comes into asv's result files when asv has written its last.

asv has no place for it: every field of an environment becomes a filter, and with it a line of its own, on asv's site. It ignores what
it does not know at a file's top level, and drops it when it writes the file again; hence at the end of the process.
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

from tensorcopy.errors import TensorcopyError
from tensorcopy.results import files

# the environment's variables by which whoever runs asv says what it asks for, and of what it is a part
SELECTION, SHARD = "TENSORCOPY_SELECTION", "TENSORCOPY_SHARD"


@dataclass(frozen=True)
class _Pending:
    """What is to be written into the files of one release in one environment, and what was there before this run."""

    report: dict[str, Any]
    record: dict[str, Any]
    journal: Path
    noted: int  # bytes of the journal that were there
    before: dict[Path, str]


def stamp_at_exit(results_dir: str, sha: str, environment: str, report: dict[str, Any], journal: Path) -> None:
    """Have `report` and this pass written into the files of this release and environment that asv writes from now on."""
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
    before = {path: path.read_text(encoding="utf-8") for path in _files(folder, sha, environment)}
    noted = journal.stat().st_size if journal.exists() else 0
    _all(folder).setdefault((sha, environment), _Pending({**report, "ledger": provenance}, record, journal, noted, before))


@cache
def _all(results_dir: Path) -> dict[tuple[str, str], _Pending]:
    pending: dict[tuple[str, str], _Pending] = {}
    atexit.register(_stamp, results_dir, pending)
    return pending


def _files(results_dir: Path, sha: str, environment: str) -> list[Path]:
    """On whichever machine: asv tells an environment not for which it runs."""
    return list(results_dir.glob(f"*/{sha[:8]}-{environment}.json"))


def _stamp(results_dir: Path, pending: dict[tuple[str, str], _Pending]) -> None:
    for (sha, environment), one in pending.items():
        for path in _files(results_dir, sha, environment):
            before = one.before.get(path, "")
            if path.read_text(encoding="utf-8") == before:
                continue  # another machine's
            try:
                if not before and files.holds_nothing(path):
                    path.unlink()  # this release cannot be on this Python: asv has noted so for every case
                else:
                    files.stamp(path, one.report, before, one.record, _lines(one, sha))
            except TensorcopyError as error:
                print(error)


def _lines(one: _Pending, sha: str) -> list[str]:
    """What the suites have written into the journal since, of this release: asv may run several by turns."""
    if not one.journal.exists():
        return []
    with one.journal.open("rb") as lines:
        lines.seek(one.noted)
        found = [line.split(" ", 1) for line in lines.read().decode().splitlines()]
    return [line[1] for line in found if line[0] == sha[:8] and len(line) == 2]
