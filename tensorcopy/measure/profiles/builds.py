"""Count and time one call with any build of torch that can be installed, whether or not it is in the table of releases.

Measurements are kept in a file, so that a search that was interrupted goes on. Nothing is written into results or the table.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

from tensorcopy.asv_plugin.configuration import Paths
from tensorcopy.errors import DiskError, TensorcopyError
from tensorcopy.measure.profiles import take
from tensorcopy.releases import environments, interpreters, release_table, wheel_index
from tensorcopy.releases.environments import Environment
from tensorcopy.releases.release_table import Release
from tensorcopy.results import writing
from tensorcopy.results.profiles import profile_file
from tensorcopy.results.profiles.profile_file import Profile

TIMER = "tensorcopy.worker.probes.time_call"
PASSES = 10  # of each build that is measured in turns

Report = Callable[[str], None]  # called with the present step


@dataclass(frozen=True)
class Job:
    """A call, and where its measurements are kept.

    name : of the profiled case, such as "detach 1 float32 contiguous"
    identity : of this machine's hardware: measurements of another one are not used
    report : called with each step
    """

    name: str
    python: str
    paths: Paths
    identity: str
    report: Report

    @property
    def file(self) -> Path:
        """The file with the measurements."""
        return self.paths.environments.parent / "bisect" / f"{self.name.replace(' ', '-')}-py{self.python}-{self.identity}.json"


def count(job: Job, version: str) -> float | None:
    """Return the instructions of the call with a build; None where the build cannot be installed or does not run it."""
    counted = profile(job, version)
    return counted.instructions if counted else None


def profile(job: Job, version: str) -> Profile | None:
    """Return the functions of the call with a build; None where the build cannot be installed or does not run it."""
    stored = _read(job)
    if version not in stored["profiles"] and version not in stored["failed"]:
        job.report(f"torch {version}, counting")
        try:
            environment, remove = _environment(job, version)
            try:
                _keep(job, "profiles", version, take.profiled(environment, f"^{re.escape(job.name)}$"))
            finally:
                remove()
        except DiskError:
            raise
        except TensorcopyError as error:
            _keep(job, "failed", version, str(error))
    document = _read(job)["profiles"].get(version)
    try:
        return profile_file.of_document(document).of(job.name) if document else None
    except ValueError as error:
        raise _damaged(job, error) from error


def in_turns(job: Job, versions: Sequence[str]) -> dict[str, list[float]] | None:
    """Return the seconds per call of each pass, by build; None where a build cannot be installed or does not run the call.

    A pass is a process; the builds take turns, each in another place, so that a drift of the machine affects all alike.
    """
    key = " ".join(versions)
    opened: dict[str, tuple[Environment, Callable[[], None]]] = {}
    passes: list[dict[str, float]] = _read(job)["turns"].get(key, [])
    version = ""
    try:
        for version in versions if len(passes) < PASSES else ():
            opened[version] = _environment(job, version)
        for number in range(len(passes), PASSES):
            job.report(f"torch {', '.join(versions)}, pass {number + 1} of {PASSES}")
            seconds = {}
            for version in (*versions[number % len(versions) :], *versions[: number % len(versions)]):
                seconds[version] = _seconds(job, opened[version][0])
            passes.append(seconds)
            _keep(job, "turns", key, passes)
    except DiskError:
        raise
    except TensorcopyError as error:
        _keep(job, "failed", version, str(error))
        return None
    finally:
        for _, remove in opened.values():
            remove()
    return {version: [each[version] for each in passes] for version in versions}


def sha(job: Job, version: str) -> str:
    """Return the git SHA of a build that was measured."""
    counted = _read(job)["profiles"].get(version)
    return str(counted["torch_sha"]) if counted else _row(job, version).sha


def failures(job: Job) -> dict[str, str]:
    """Return why builds could not be measured, by version."""
    return dict(_read(job)["failed"])


def forget_failures(job: Job) -> None:
    """Let builds that could not be measured be tried again."""
    for version in failures(job):
        _keep(job, "failed", version, None)


def _seconds(job: Job, environment: Environment) -> float:
    """Return the seconds per call of one pass: its fastest sample, since other programs only add to it."""
    timed = interpreters.run_probe(environment.python, TIMER, job.name, variables=environment.variables())
    return float(min(timed["seconds"]))


def _environment(job: Job, version: str) -> tuple[Environment, Callable[[], None]]:
    """Return the environment of a build, and a function that removes it where nothing else needs it."""
    row, build = _row(job, version), environments.expected_build()
    path = environments.path_of(job.paths.environments, row, job.python, build)
    is_ours = row not in release_table.load() and not environments.is_complete(path)
    environment = environments.build(job.paths.environments, row, job.python, build)
    return environment, (lambda: shutil.rmtree(path)) if is_ours else (lambda: None)


def _row(job: Job, version: str) -> Release:
    """Return a build's row: of the table, or as its wheel reports it."""
    listed = next((row for row in release_table.load() if row.version == version), None)
    if listed:
        return listed
    if version not in _read(job)["rows"]:
        row = wheel_index.release(version, dated=False)
        _keep(job, "rows", version, {**asdict(row), "date": row.date.isoformat()})
    fields = _read(job)["rows"][version]
    tuples = {name: tuple(fields[name]) for name in ("pythons", "requires", "kernels")}
    return Release(**{**fields, **tuples, "date": date.fromisoformat(fields["date"])})


def _read(job: Job) -> dict[str, Any]:
    """Return the measurements so far. Raises TensorcopyError for a damaged file."""
    empty: dict[str, Any] = {"rows": {}, "profiles": {}, "turns": {}, "failed": {}}
    if not job.file.exists():
        return empty
    try:
        return {**empty, **json.loads(job.file.read_text(encoding="utf-8"))}
    except (ValueError, TypeError, RecursionError) as error:
        raise _damaged(job, error) from error


def _damaged(job: Job, error: Exception) -> TensorcopyError:
    return TensorcopyError(
        f"{job.file.name} cannot be read", got=str(error), allowed="the file as tensorcopy bisect writes it", next=f"remove {job.file}"
    )


def _keep(job: Job, kind: str, key: str, value: Any) -> None:
    """Write a measurement into the file; None removes it. What was written meanwhile stays."""
    stored = _read(job)
    stored[kind] = {name: old for name, old in stored[kind].items() if name != key} | ({} if value is None else {key: value})
    writing.replace(job.file, json.dumps(stored))
