"""The ledger comes into asv's result files when asv has written its last.

asv has no place for it: every field of an environment becomes a filter, and with it a line of its own, on asv's site. It ignores what
it does not know at a file's top level, and drops it when it writes the file again; hence at the end of the process.
"""

from __future__ import annotations

import atexit
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tensorcopy import results
from tensorcopy.errors import TensorcopyError


@dataclass(frozen=True)
class _Pending:
    """What is to be written into the files of one release in one environment, and what those held before this run."""

    report: dict[str, Any]
    before: dict[Path, str]


def stamp_at_exit(results_dir: str, sha: str, environment: str, report: dict[str, Any]) -> None:
    """Have `report` written into the files of this release and environment that asv writes from now on."""
    folder = Path(results_dir).absolute()
    started = datetime.now(timezone.utc).isoformat(timespec="seconds")
    report = {**report, "ledger": {**report["ledger"], "asv": version("asv"), "started": started}}
    before = {path: path.read_text(encoding="utf-8") for path in _files(folder, sha, environment)}
    _all(folder).setdefault((sha, environment), _Pending(report, before))


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
                if results.holds_nothing(path):
                    path.unlink()  # this release cannot be on this Python: asv has noted so for every case
                else:
                    results.stamp(path, one.report, before)
            except TensorcopyError as error:
                print(error)
