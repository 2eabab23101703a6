"""Let asv measure into a draft, and add its pass to the results at exit.

asv writes a result file again and again, with what it read at its start: passes that others store meanwhile would be lost, and a killed run
would leave half a pass. So asv works on a copy. At exit the pass gets its provenance and record, and is merged into the results. asv has no
field for these: a field of an environment would become a filter on asv's site and split the graphs. asv ignores other keys at a file's top
level, but drops them whenever it writes the file again; hence at the end of the process.
"""

from __future__ import annotations

import atexit
import json
import os
import secrets
import shutil
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

from asv.util import truncate_float_list
from asv_runner.statistics import compute_stats
from filelock import FileLock, Timeout

from tensorcopy.asv_plugin.commands import end_on
from tensorcopy.errors import DiskError, TensorcopyError, of_os_error
from tensorcopy.results import files, writing
from tensorcopy.results.merge import add_pass
from tensorcopy.results.merge_results import Document, merged, of_passes

# environment variables with which tensorcopy passes the selection of suites, the shard and the pass's id through asv
SELECTION, SHARD, PASS = "TENSORCOPY_SELECTION", "TENSORCOPY_SHARD", "TENSORCOPY_PASS"
DRAFTS, UNSTORED = "drafts", "unstored"  # folders beside the environments
CHANGES = "drafts.lock"  # beside them: held while a draft begins, while those of ended processes are removed, and while one is kept
LIVE = ".live.lock"  # in a draft: held by its process. A draft without it is never removed
NUMBER = 1  # asv's calls in a sample: the suites loop inside each


@dataclass(frozen=True)
class _Pending:
    """Data to write into the result files of one release in one environment.

    report : provenance, methods and article
    record : of this pass
    journal : control readings that the suites write
    journal_start : size of the journal in bytes before this run
    before : the content of the draft's result files before this run
    """

    report: dict[str, Any]
    record: dict[str, Any]
    journal: Path
    journal_start: int
    before: dict[Path, bytes]


@dataclass(frozen=True)
class Draft:
    """A copy of the folder `results`, into which this process measures.

    live : the lock that this process holds while it lives
    pending : what is measured, by SHA and environment
    """

    results: Path
    folder: Path
    live: FileLock
    pending: dict[tuple[str, str], _Pending] = field(default_factory=dict)

    def result_files(self, sha: str, environment: str) -> list[Path]:
        """Return the result files of all machines: asv does not pass the machine's name to an environment."""
        return list(self.folder.glob(f"*/{sha[:8]}-{environment}.json"))


_drafts: list[Draft] = []  # of this process


def stamp_at_exit(conf: Any, sha: str, environment: str, report: dict[str, Any], journal: Path) -> None:
    """Let asv write into a draft, and store what it measures as a pass at exit.

    conf : asv's configuration, whose folder of results becomes the draft
    report : provenance, methods and article

    Only the files of this release and environment that asv changes are affected.
    """
    results, workplace = Path(conf.results_dir).absolute(), Path(conf.env_dir).absolute().parent
    draft = next((draft for draft in _drafts if results in (draft.results, draft.folder)), None)
    if draft is None:
        draft = begin_draft(results, workplace, f"{pass_id()}-{os.getpid()}")
        _drafts.append(draft)
        atexit.register(store, draft)
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
    before = {path: path.read_bytes() for path in draft.result_files(sha, environment)}
    journal_start = journal.stat().st_size if journal.exists() else 0
    draft.pending.setdefault((sha, environment), _Pending({**report, "ledger": provenance}, record, journal, journal_start, before))


def pass_id() -> str:
    """Return a new name of a pass: its start, and digits that no other pass has."""
    return f"{datetime.now(timezone.utc):%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"


def begin_draft(results: Path, workplace: Path, name: str) -> Draft:
    """Copy a folder of results into a new draft below `workplace`, and remove the drafts of processes that have ended.

    The name of a process says little: in two containers, two processes have the same one. So a draft is alive while its lock is held.
    """
    folder = workplace / DRAFTS / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _lock_of_drafts(workplace):
        for other in folder.parent.iterdir():
            if (other / LIVE).exists():
                lock = FileLock(other / LIVE)
                with suppress(Timeout, OSError):  # another user's draft is left to that user
                    lock.acquire(timeout=0)
                    shutil.rmtree(other, ignore_errors=True)
                    lock.release()
        folder.mkdir()
        live = FileLock(folder / LIVE, thread_local=False)
        live.acquire()
    for path in (results / "benchmarks.json", *results.glob("*/*.json")):
        if path.is_file():
            copy = folder / path.relative_to(results)
            copy.parent.mkdir(exist_ok=True)
            shutil.copyfile(path, copy)
    return Draft(results, folder, live)


def _lock_of_drafts(workplace: Path) -> FileLock:
    """Return the lock of all drafts: whoever may write the folder may take it, whatever the umask."""
    return FileLock(workplace / CHANGES, mode=0o644 | workplace.stat().st_mode & 0o022)


def store(draft: Draft) -> None:
    """Store the passes of a draft, and remove it.

    Passes that cannot be stored are kept beside the drafts, and asv ends with exit code 2.
    """
    errors: dict[Path, Exception] = {}
    unstored: dict[Path, Document] = {}  # {} for a pass that cannot be read
    for (sha, environment), pending in draft.pending.items():
        for path in draft.result_files(sha, environment):
            try:
                before = pending.before.get(path, b"")
                if path.read_bytes() == before or not (before or _has_numbers(path)):
                    continue  # asv has not changed it, or made an empty one
                unstored[path] = {}
                document = json.loads(before or b"{}")
                stamped = writing.stamped(files.read(path), pending.report, document, pending.record, _journal_lines(pending, sha))
                unstored[path] = new = of_passes(stamped, stamped["passes"][-1:])
                target = draft.results / path.relative_to(draft.folder)
                (record,) = new["passes"]
                if target.exists() and not (record["suites"] or record.get("counts")):
                    name, step = files.displayed(target), "repeat it with --append-samples"
                    print(f"{name} keeps its earlier times: this run recorded no samples; next: {step}")
                add_pass(path, new, target, summary, lambda message: print(message, flush=True))
                del unstored[path]
            except Exception as error:  # whatever it is, the pass was measured
                unstored.setdefault(path, {})
                errors[path] = error
    if not unstored:
        draft.live.release()
        shutil.rmtree(draft.folder, ignore_errors=True)
        return
    whole = _reduce(draft, unstored)
    place = draft.folder.parents[1] / UNSTORED / draft.folder.name
    with suppress(OSError), _lock_of_drafts(draft.folder.parents[1]):
        draft.live.release()
        (draft.folder / LIVE).unlink(missing_ok=True)
        place.parent.mkdir(exist_ok=True)
        draft.folder.rename(place)  # needs no room
    kept = place if place.exists() else draft.folder
    end_on([_named(error, kept, is_whole=path in whole) for path, error in errors.items()])


def _has_numbers(path: Path) -> bool:
    """Return whether any case of a result file was neither skipped nor failed."""
    return any(files.number(value) is not None for row in files.read(path)["results"].values() for value in row[0] or ())


def _reduce(draft: Draft, unstored: dict[Path, Document]) -> set[Path]:
    """Let a draft have only the passes that are not stored, each as a file that can be merged. Return these files.

    Every other result file is removed, with the machines that only they have: that frees room on a full disk. asv's own file, without the
    pass's provenance, stays where it cannot be replaced, under a name that `merge` does not read.
    """
    try:
        for folder in (path for path in draft.folder.iterdir() if path.is_dir()):
            wanted = {path for path in unstored if path.parent == folder}
            for path in folder.iterdir():
                if path not in wanted and not (wanted and path.name == "machine.json"):
                    path.unlink()
            if not wanted:
                folder.rmdir()
    except OSError:
        return set()
    whole = set()
    for path, new in unstored.items():
        try:
            writing.write_result(path, merged(new, new, summary))
            whole.add(path)
        except Exception:  # the error that is shown is the one before
            with suppress(OSError):
                path.replace(path.with_name(f"{path.name}.asv"))
    return whole


def _named(error: Exception, place: Path, *, is_whole: bool) -> TensorcopyError:
    """Return the error to show for a pass that could not be stored: it names the folder that has the pass.

    is_whole : whether the pass can be merged
    """
    known = error if isinstance(error, TensorcopyError) else of_os_error(error) if isinstance(error, OSError) else None
    known = known or TensorcopyError(
        "a measured pass could not be stored",
        got=f"{type(error).__name__}: {error}",
        allowed="results that can be read and written",
        next="repair them, then repeat",
        repair="repair them",
    )
    if not is_whole:
        step = f"{known.repair or known.next}; the pass is kept in {place} as asv wrote it, without its provenance"
    elif known.repair:
        step = f"{known.repair}, then tensorcopy merge {place}"
    else:  # such as a pass with another numpy than the file has, which cannot be merged into it
        step = f"{known.next}; the pass is kept in {place}"
    if (place / LIVE).exists():  # on a disk that became read-only, the draft could not be moved
        step = f"{step}; copy that folder before the next run, which removes it"
    kind = DiskError if isinstance(known, DiskError) else TensorcopyError
    return kind(known.what, got=known.got, allowed=known.allowed, next=step)


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


def summary(samples: list[float]) -> tuple[float, dict[str, Any]]:
    """Return the median in seconds, and asv's statistics by column.

    The columns have names like "stats_ci_99_a".

    `samples` must not be empty.
    """
    median, stats = compute_stats(samples, NUMBER)
    return median, {f"stats_{name}": truncate_float_list(value) for name, value in stats.items()}
