"""The ledger comes into asv's result files when asv has written its last.

asv has no place for it: every field of an environment becomes a filter, and with it a line of its own, on asv's site. It ignores what
it does not know at a file's top level, and drops it when it writes the file again; hence at the end of the process.
"""

from __future__ import annotations

import atexit
import time
from functools import cache
from pathlib import Path
from typing import Any

from importlib_metadata import version

from tensorcopy import results
from tensorcopy.errors import TensorcopyError

Reports = dict[tuple[str, str], dict[str, Any]]


@cache
def ledgers_to_stamp(results_dir: str) -> Reports:
    """The reports by (SHA, environment name) that will be written into this run's files under `results_dir`."""
    reports: Reports = {}
    atexit.register(_stamp, Path(results_dir).absolute(), reports, time.time())
    return reports


def _stamp(results_dir: Path, reports: Reports, started: float) -> None:
    for (sha, environment), report in reports.items():
        for path in results_dir.glob(f"*/{sha[:8]}-{environment}.json"):
            if path.stat().st_mtime < started - 1:  # not of this run: another machine's, or of another day
                continue
            try:
                if results.holds_nothing(path):
                    path.unlink()  # this release cannot be on this Python: asv has noted so for every case
                else:
                    report["ledger"] = {**report["ledger"], "asv": version("asv")}
                    results.stamp(path, report, started)
            except TensorcopyError as error:
                print(error)
