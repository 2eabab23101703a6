"""Write results: one writer at a time, each file as a whole, each pass added to what is there.

The lock is a file in the folder itself, so it is the same one through a link, from two checkouts and for two users. The operating system
releases it when its process ends, even where the process is killed. Readers need no lock: every file is replaced as a whole.
"""

from __future__ import annotations

import glob
import json
import math
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import zip_longest
from pathlib import Path
from typing import Any

from tensorcopy.errors import TensorcopyError
from tensorcopy.results import files
from tensorcopy.results.passes import NANO
from tensorcopy.worker.processes import WAITING

LOCK = ".lock"
NOTICE = 1.0  # seconds after which a wait is reported
PATIENCE = 600.0  # seconds: merging a long history takes one minute

ReportWait = Callable[[str], None]


def ignore_wait(_message: str) -> None:
    """Report nothing."""


@contextmanager
def one_writer(directory: Path, report_wait: ReportWait = ignore_wait, patience: float = PATIENCE) -> Iterator[None]:
    """Hold the lock of a folder of results, which is made if it is missing.

    report_wait : called once with a sentence if the lock is not free
    patience : in seconds

    Raises TensorcopyError where another process keeps the lock for longer; OSError for a folder that cannot be written.
    """
    import filelock  # an environment of an old torch, which only reads, lacks it

    make_folder(directory)
    shared = directory.stat().st_mode & 0o022  # whoever may write the folder may take its lock, whatever the umask
    lock = filelock.FileLock(directory.resolve() / LOCK, mode=0o644 | shared)
    notice = min(NOTICE, patience)
    try:
        lock.acquire(timeout=notice)
    except filelock.Timeout:
        report_wait(f"{WAITING}{directory.name}/, which another process is writing")
        try:
            lock.acquire(timeout=patience - notice)
        except filelock.Timeout as error:
            raise TensorcopyError(
                f"{directory.name}/ is being written by another process",
                got=f"{LOCK} still locked after {patience:.0f} s",
                allowed="one writer at a time",
                next="wait until it has ended, then repeat",
                repair="wait until it has ended",
            ) from error
    try:
        yield
    finally:
        lock.release()


# Replace files as a whole: a reader, a crash or a full disk sees the old file or the new one, nothing between.

ENDING = ".new"  # of a file that is being written
OLD = 3600.0  # seconds: writing a file takes one at most


def replace(path: Path, content: str | bytes) -> None:
    """Write a file as a whole: an interrupted write leaves the old one.

    content : a text, which is written as UTF-8, or bytes

    It is on the disk before the file gets its name, so that it also survives a power failure. Raises OSError; the new file is then removed,
    as far as that is possible.
    """
    make_folder(path.parent)
    for leftover in path.parent.glob(f"{glob.escape(path.name)}.*{ENDING}"):  # of killed writers
        with suppress(OSError):  # another user's stays
            if leftover.lstat().st_mtime < time.time() - OLD:
                leftover.unlink()
    # on the same file system, so that the rename is one act; of this call only, as others may write the same file without a lock
    draft = path.with_name(f"{path.name}.{os.getpid()}-{secrets.token_hex(4)}{ENDING}")
    try:
        with draft.open("xb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError:
        with suppress(OSError):
            draft.unlink()
        raise
    if os.name != "nt":
        with suppress(OSError):
            descriptor = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Make a folder that those may write who may write the one above it, whatever the umask.

    In a folder like /tmp, where everybody may write, the umask decides.
    """
    for missing in reversed([each for each in (folder, *folder.parents) if not each.exists()]):
        missing.mkdir(exist_ok=True)
        mode = missing.parent.stat().st_mode
        if mode & 0o022 and not mode & stat.S_ISVTX:
            with suppress(OSError):
                missing.chmod(missing.stat().st_mode | mode & 0o022)


# What a run of asv added: its files get provenance, observations and a record of the pass.

SAMPLE_DIGITS = 5  # of a sample in seconds
FEW_SWITCHES = 10  # involuntary ones in a sample of 5 ms, as on a busy machine
Samples = Mapping[str, Sequence["list[float] | None"]]  # by suite and case


def write_result(path: Path, document: dict[str, Any]) -> None:
    """Replace a result file as a whole: an interrupted write leaves the old one.

    Raises TensorcopyError for a document that violates the schema.
    """
    if violation := files.fault(document):
        raise files.damaged(path, violation)
    replace(path, json.dumps(document, separators=(",", ":")))


def write_readable(path: Path, document: dict[str, Any]) -> None:
    """Write benchmarks.json or machine.json, unless its values are unchanged.

    Indented, as asv writes them.
    """
    if not path.exists() or not files.same(files.read(path), document):
        replace(path, json.dumps(document, indent=4, sort_keys=True) + "\n")


def samples_of(document: dict[str, Any]) -> dict[str, list[list[float] | None]]:
    """Return every suite's samples by case."""
    return {suite: row["samples"] for suite, row in files.rows_of(document).items() if row.get("samples")}


def stamped(
    document: dict[str, Any],
    report: dict[str, Any],
    earlier: dict[str, Any],
    record: dict[str, Any] | None = None,
    journal: Iterable[str] = (),
) -> dict[str, Any]:
    """Return asv's result file with provenance, observations and a pass's record.

    document : as asv has written it, which changes
    earlier : the file before this run, {} for none; asv has dropped the keys that are not its own
    record : the pass without its suites
    journal : the control's readings, see `suites_added`

    Cases that had numbers before and were skipped or failed now keep them: asv forgets a case's samples then.
    """
    document = {**document, **report}
    counts = _counts_added(files.rows_of(earlier), files.rows_of(document))
    if earlier:
        _keep_measured(document, earlier)
    if record is not None:
        old, new = samples_of(earlier), samples_of(document)
        records = still_valid(earlier.get("passes", ()), old, new)
        versions = {suite: row["version"] for suite, row in files.rows_of(document).items()}
        record = {**record, "suites": suites_added(old, new, versions, journal), **({"counts": counts} if counts else {})}
        document["passes"] = [*records, record]
    document["version"] = document.pop("version")  # last, as asv writes it
    places = [document["result_columns"].index(column) for column in ("result", "samples")]
    for row in document["results"].values():
        for place in places:
            if place < len(row):
                row[place] = _rounded(row[place])
    return document


def _rounded(value: Any) -> Any:
    """Return a number, or each number of nested lists, rounded to `SAMPLE_DIGITS`: a clock is no finer."""
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(f"{value:.{SAMPLE_DIGITS}g}") if isinstance(value, float) and math.isfinite(value) else value


def _counts_added(before: dict[str, dict[str, Any]], after: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the counts of this run, by suite; null for a case that was skipped.

    asv keeps the last count of a case only.
    """
    counts = {}
    for suite, row in after.items():
        ran = row.get("started_at") != before.get(suite, {}).get("started_at")
        # bytes stay whole numbers, which are not rounded
        values = [None if files.number(each) is None else each for each in row["result"] or ()] if ran and not row.get("samples") else []
        if any(value is not None for value in values):
            counts[suite] = {"version": row["version"], "values": _rounded(values)}
    return counts


def _keep_measured(document: dict[str, Any], before: dict[str, Any]) -> None:
    """Restore the cases that `document` lost since `before`.

    Where the suite's version or parameters have changed, its old numbers are dropped.
    """
    columns = document["result_columns"]
    by_case = [column for column in columns if column in ("result", "samples") or column.startswith("stats_")]
    for suite, values in document["results"].items():
        new = dict(zip_longest(columns, values))
        old = dict(zip_longest(before["result_columns"], before["results"].get(suite, ())))
        if not old["result"] or (new["params"], new["version"]) != (old["params"], old["version"]):
            continue
        count = len(old["result"])
        results = new["result"] or [None] * count
        lost = [index for index in range(count) if files.number(results[index]) is None and files.number(old["result"][index]) is not None]
        for column in by_case if lost else ():
            cells = new[column] or [None] * count
            new[column] = [(old[column] or [None] * count)[i] if i in lost else cells[i] for i in range(count)]
        document["results"][suite] = [new[column] for column in columns]


def suites_added(before: Samples, after: Samples, versions: Mapping[str, str], journal: Iterable[str]) -> dict[str, Any]:
    """Return a new record's `suites`: the new samples and their control.

    before, after : samples by suite and case
    versions : by suite
    journal : lines "copies.BySize 17 0 0 2 8.61e-06", one per sample, in order: suite, case, page faults per call, major page faults,
        involuntary context switches, and control in seconds
    """
    readings = _readings(journal)
    suites = {}
    for suite, cases in after.items():
        counts = [_count_new(old, new) for old, new in zip_longest(before.get(suite) or [], cases)]
        if any(counts):
            rows = [readings.get((suite.rpartition(".")[0], index), []) for index in range(len(counts))]
            rows = [row[-count:] if count and len(row) >= count else [] for row, count in zip(rows, counts)]
            interruptions = {str(index): [reading[1:] for reading in row] for index, row in enumerate(rows)}  # minor, major, switches
            interruptions = {
                index: row for index, row in interruptions.items() if any(any(each[:2]) or each[2] > FEW_SWITCHES for each in row)
            }
            suites[suite] = {
                "version": versions[suite],
                "samples": counts,
                "control_ns": [[reading[0] for reading in row] for row in rows],
                **({"interruptions": interruptions} if interruptions else {}),
            }
    return suites


def _readings(journal: Iterable[str]) -> dict[tuple[str, int], list[list[int]]]:
    """Return the readings of each case: control in nanoseconds, then interruptions.

    A line that is cut off is skipped: its sample then has no control.
    """
    readings: dict[tuple[str, int], list[list[int]]] = {}
    for words in (line.split() for line in journal):
        if len(words) == 6:
            suite, index, *interruptions, seconds = words
            row = [round(float(seconds) / NANO), *map(int, interruptions)]
            readings.setdefault((suite, int(index)), []).append(row)
    return readings


def still_valid(records: Iterable[Mapping[str, Any]], before: Samples, after: Samples) -> Iterator[dict[str, Any]]:
    """Yield the earlier records without samples that asv has replaced.

    A pass that lost all its samples is dropped.

    asv replaces samples in `asv run` without --append-samples and for a suite's new version.
    """
    for record in records:
        suites = {}
        for suite, row in record["suites"].items():
            old, new = before.get(suite) or [], after.get(suite) or []
            appended = [i < len(old) and i < len(new) and _starts_with(new[i], old[i]) for i in range(len(row["samples"]))]
            if any(count and valid for count, valid in zip(row["samples"], appended)):
                kept = {str(index) for index, valid in enumerate(appended) if valid}
                suites[suite] = {
                    **row,
                    "samples": [count if valid else 0 for count, valid in zip(row["samples"], appended)],
                    "control_ns": [readings if valid else [] for readings, valid in zip(row["control_ns"], appended)],
                }
                if "interruptions" in row:
                    suites[suite]["interruptions"] = {index: each for index, each in row["interruptions"].items() if index in kept}
        if suites or not record["suites"]:
            yield {**record, "suites": suites}


def _count_new(old: list[float] | None, new: list[float] | None) -> int:
    """Return how many samples of `new` are not in `old`.

    asv appends to the old ones or replaces them.
    """
    return len(new or ()) - (len(old or ()) if _starts_with(new, old) else 0)


def _starts_with(new: list[float] | None, old: list[float] | None) -> bool:
    return (new or [])[: len(old or ())] == (old or [])
