"""What the options of `asv run`, `asv continuous` and `asv find` ask for, as a job: environments, revisions, and launches to take."""

from __future__ import annotations

import re
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from asv import environment
from asv.console import log

from tensorcopy.asv_plugin.commands import campaign, paths_of
from tensorcopy.asv_plugin.environment import MeasuringEnvironment
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import git, plan, revisions, settings
from tensorcopy.measure.revisions import Revision
from tensorcopy.measure.taking import Job, Sides, after
from tensorcopy.projects import runners

EXISTING_ONLY = "a launch has every case of its releases"
SHORT_SHA = re.compile(r"[0-9a-f]{8}\b")
DOTS = 60  # of a launch, on a terminal
# options of asv that need its own way of measuring: the attribute, values that say nothing else than the usual way, and why not
REFUSED_OPTIONS = {
    "profile": ((False,), "the functions of a release are counted, not sampled", "tensorcopy why CASE A B"),
    "set_commit_hash": ((None,), "a launch is stored under the SHA that torch reports", "-E interpreter:same"),
    "parallel": ((1,), "a launch has all its releases on one core", "leave --parallel out"),
    "launch_method": ((None, "auto", "forkserver"), "each case is timed in a fork of a process that has imported torch", "leave it out"),
    "durations": ((0,), "a launch has no duration of a benchmark", "leave --durations out"),
    "skip_existing_successful": ((False,), EXISTING_ONLY, "--skip-existing-commits"),
    "skip_existing_failed": ((False,), EXISTING_ONLY, "--skip-existing-commits"),
}


class Log:
    """Log each new stage of a run, and a dot for each step of it."""

    def __init__(self) -> None:
        self._stage, self._dots = "", 0

    def __call__(self, done: float, doing: str) -> None:
        stage, _, _ = doing.partition(": ")
        if stage != self._stage:
            self._stage, self._dots = stage, 0
            log.info(stage if SHORT_SHA.match(stage) else f"{stage[:1].upper()}{stage[1:]}")
        elif int(done * DOTS) > self._dots:
            self._dots = int(done * DOTS)
            log.dot()


@contextmanager
def job(conf: Any, options: Namespace, given: Namespace) -> Iterator[Job]:
    """Yield the launches that options ask for; their folder is a temporary one where they are not kept.

    given : the settings that environment variables give

    Raises TensorcopyError for options that a launch cannot have.
    """
    for name, (usual, why, next_step) in REFUSED_OPTIONS.items():
        value = getattr(options, name, usual[0])
        if value not in usual:
            shown = f"--{name.replace('_', '-')}" + ("" if isinstance(value, bool) else f" {value}")
            raise TensorcopyError("asv cannot measure releases in turns with this option", got=shown, allowed=why, next=next_step)
    attributes = options.attribute or {}
    if others := {*attributes} - {"rounds"}:
        raise TensorcopyError(
            "a launch takes turns of a millisecond, whatever a benchmark's attributes are",
            got=", ".join(f"-a {name}={attributes[name]}" for name in sorted(others)),
            allowed="-a rounds=N, the number of launches",
            next="leave it out; taskset -c CORE before the command chooses its core",
        )
    if not 1 <= (number := attributes.get("rounds", 1)) <= settings.MOST_LAUNCHES:
        raise TensorcopyError(
            "no such number of launches", got=f"-a rounds={number}", allowed=f"1 to {settings.MOST_LAUNCHES}", next="leave it out"
        )
    own, paths = campaign(), paths_of(conf)
    history = settings.checked("--machine", settings.machine_name, options.machine) if options.machine is not None else ""
    selection = "|".join(f"(?:{settings.checked('--bench', settings.expression, each)})" for each in options.bench or ())
    selection = plan.on_device(selection, given.device) if given.device else selection
    kept = not (options.quick or getattr(options, "dry_run", False))
    with tempfile.TemporaryDirectory() as folder:
        sides, until = Sides(own, paths, given.device or runners.device_of(history)), after(given.budget)
        yield Job(sides, history, selection, folder=None if kept else Path(folder), until=until, report_progress=Log())


def rounds(options: Namespace, usual: int) -> int:
    """Return the number of launches."""
    return 1 if options.quick else (options.attribute or {}).get("rounds", usual)


def environments(conf: Any, options: Namespace) -> list[MeasuringEnvironment]:
    """Return the environments that options name. Raises TensorcopyError where there is none."""
    named: list[MeasuringEnvironment] = list(environment.get_environments(conf, options.env_spec))
    if not named:
        raise TensorcopyError(
            "no environment to measure in", got=f"-E {' '.join(options.env_spec)}", allowed="release:N.N", next="asv setup prints the names"
        )
    return named


def revisions_of(environments: Sequence[MeasuringEnvironment], commits: Mapping[str, str], job: Job) -> list[Revision]:
    """Return commits, by name, under the newest torch that one of the environments has. Raises TensorcopyError."""
    paths = replace(job.paths, pythons=tuple(each.python for each in environments))
    made = revisions.under_newest(commits, job.campaign, paths, interpreter=environments[0].interpreter)
    for each in made:
        if pointers := git.pointers(revisions.checked_out(each.commit, paths)):
            names = ", ".join(pointers[:3]) + (", …" if pointers[3:] else "")
            log.warning(f"{each.name} has pointers of Git LFS in place of files: {names}; install git-lfs, and repeat")
    return made


def beside_environments(job: Job) -> Job:
    """Return a job whose launches are of revisions, unless they are not kept."""
    return job if job.folder else replace(job, folder=revisions.results_of(job.paths))
