"""Measure passes: several short ones of each release, in random order, or one of each with the site at the end.

asv measures a pass in a copy of the results, and the plugin adds the finished pass to the file that is there then (`asv_plugin.stamp`).
After an interruption each pass is therefore stored completely or not, and the same command measures the missing ones. Prints nothing, and
reports its progress through callbacks.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from math import inf
from pathlib import Path
from random import Random
from statistics import median
from time import monotonic

from filelock import FileLock, Timeout

from tensorcopy.asv_plugin import program
from tensorcopy.asv_plugin.configuration import Paths, write_configuration
from tensorcopy.asv_plugin.program import ReportProgress
from tensorcopy.asv_plugin.stamp import pass_id
from tensorcopy.errors import DiskError, TensorcopyError, after
from tensorcopy.measure.plan import Measurement, Shard, groups, missing_passes, pass_order, timed_suites, without_absent
from tensorcopy.measure.progress import Progress, Reporter
from tensorcopy.releases import environments
from tensorcopy.results import files, reader, suite_specs
from tensorcopy.results.reader import Result
from tensorcopy.results.suite_specs import OWN
from tensorcopy.worker import declarations

# A pass is one process tree. Times vary between processes more than within one: beyond two samples, another pass tells more.
ONE_ROUND = {"rounds": 1, "repeat": 2}
FEW_SAMPLES = {"rounds": 1, "repeat": 3}  # of the dashboard's quick pass
SAMPLES = 10  # in a full one: the suites' rounds times their repeat
INSTALL, PASS = 30.0, 60.0  # expected seconds on two cores
INSTALL_FIRST, CHECK, MEASURE, MEASURE_QUICK, PUBLISH = 45.0, 6.0, 90.0, 15.0, 35.0  # in the dashboard's job


@dataclass(frozen=True)
class Job:
    """The suites of a pass and the place of its results.

    machine : its name in results
    suites : a regular expression on asv's names
    attributes : of asv's benchmarks
    shard : the part of a sharded run
    device : that must be usable; "" for none
    """

    paths: Paths
    machine: str
    suites: str
    attributes: Mapping[str, int] = field(default_factory=lambda: ONE_ROUND)
    shard: Shard | None = None
    device: str = ""


def measure_all(
    measurements: Sequence[Measurement],
    job: Job,
    *,
    passes: int,
    max_environments: int,
    random: Random,
    report_progress: Callable[[Progress], None],
    until: float = inf,
) -> list[TensorcopyError]:
    """Measure the missing passes of every measurement, and return the errors.

    A measurement that fails does not stop the others.

    passes : the number that each measurement shall have in the end
    max_environments : how many environments may be on the disk together; with more releases, each finished group is removed
    until : when no further pass begins, on the clock of `time.monotonic`; the pass that runs then is finished
    """
    problems: list[TensorcopyError] = []
    all_groups = groups(measurements, max_environments)
    for number, group in enumerate(all_groups):
        wanted = dict.fromkeys(group, passes)
        wanted[group[-1]] += number * passes  # the anchor is measured again with every group
        missing = {each: _missing(each, job, wanted[each]) for each in group}
        with after(problems):
            problems += _measure_group(pass_order(missing, random), job, report_progress, until)
        if monotonic() >= until:
            break  # the environments are needed for the rest
        if len(all_groups) > 1:
            for measurement in group[:-1]:
                environments.remove(measurement.path(job.paths))
    return problems


def passes_left(measurements: Sequence[Measurement], job: Job, *, passes: int, max_environments: int) -> int:
    """Return how many passes `measure_all` with the same arguments would take."""
    wanted = dict.fromkeys(measurements, passes)
    all_groups = groups(measurements, max_environments)
    wanted[all_groups[0][-1]] *= len(all_groups)
    return sum(_missing(each, job, wanted[each]) for each in measurements)


def _missing(measurement: Measurement, job: Job, wanted: int) -> int:
    return missing_passes(measurement.file(job.paths, job.machine), job.suites, wanted, job.shard, job.device)


def _measure_group(
    order: Sequence[Measurement], job: Job, report_progress: Callable[[Progress], None], until: float
) -> Iterator[TensorcopyError]:
    """Measure passes in this order.

    A measurement that stores nothing is not tried again. Raises DiskError: the next pass could not be stored either.
    """
    failed: set[Measurement] = set()
    durations: list[float] = []
    for number, measurement in enumerate(order):
        if monotonic() >= until:
            return
        if measurement in failed:
            continue
        seconds = median(durations) if durations else PASS
        stages = [
            (
                f"torch {each.release.version} on Python {each.python}, pass {turn} of {len(order)}",
                seconds + (0 if each.is_installed(job.paths) else INSTALL),
            )
            for turn, each in enumerate(order, 1)
        ]
        reporter = Reporter(stages, report_progress)

        def installing(_share: float, elapsed: float, _detail: str, reporter: Reporter = reporter, number: int = number) -> None:
            reporter.at(number, 0.0, elapsed, "checking the installation")  # asv prints nothing meanwhile

        began, installed = monotonic(), measurement.is_installed(job.paths)
        path = measurement.file(job.paths, job.machine)
        stored = files.records(path) if path.exists() else []
        try:
            measure_pass(measurement, job, installing, partial(reporter.at, number))
        except DiskError:
            raise
        except TensorcopyError as error:
            if not path.exists() or files.records(path) == stored:  # else only some cases failed, and the next pass is taken
                failed.add(measurement)
            yield error
        if installed:
            durations.append(monotonic() - began)


@contextmanager
def measuring_lock(folder: Path) -> Iterator[None]:
    """Allow one measurement at a time in a checkout.

    Two would slow each other down and share `.asv/pass`. The operating system releases the lock when its process ends, even where
    the process is killed. Raises TensorcopyError while another process holds it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / "measuring.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise TensorcopyError(
            "another process is measuring in this checkout",
            got=f"{error.lock_file} locked",
            allowed="one measurement at a time",
            next="wait until it has ended",
        ) from error
    try:
        yield
    finally:
        lock.release()


def measure_pass(measurement: Measurement, job: Job, report_install: ReportProgress, report_measure: ReportProgress) -> None:
    """Measure one pass and store it as a whole. A skipped case would still cost a process, so the last pass tells which devices to ask.

    Raises TensorcopyError, also where only some cases failed: the others are stored.
    """
    target, name = measurement.file(job.paths, job.machine), pass_id()
    with measuring_lock(job.paths.environments.parent):
        records = files.result(target)["passes"] if os.path.lexists(target) else []  # a pass could not be added to a damaged file
        run = program.Run(
            release=measurement.release.tag,
            environment=measurement.tool,
            selection=job.suites,
            cases=job.suites + without_absent(records, job.device),
            attributes=job.attributes,
            machine=job.machine,
            shard=str(job.shard or ""),
            pass_id=name,
            device=job.device,
        )
        program.measure(run, write_configuration(job.paths.environments.parent / "pass", job.paths.results), report_install, report_measure)
    if not (target.exists() and any(record["id"] == name for record in files.records(target))):
        raise TensorcopyError(
            f"no result was stored of torch {measurement.release.version} on Python {measurement.python}",
            got="a run of asv that measured no case",
            allowed=f"suites that match {job.suites!r} and can run there",
            next=f"run asv run {measurement.release.tag}^! -E {measurement.tool} --bench … --show-stderr to see why",
        )


def not_measured(measurements: Sequence[Measurement], paths: Paths, machine: str) -> list[str]:
    """Return a line for each device that is there and that a release's torch could not use in its last pass."""
    lines = []
    for measurement in measurements:
        path = measurement.file(paths, machine)
        try:
            unsupported = files.result(path)["ledger"].get("unsupported", {})
        except TensorcopyError:  # it is missing, or measuring has named it
            continue
        lines += [f"torch {measurement.release.version} is not measured on {device}: {reason}" for device, reason in unsupported.items()]
    return lines


def already_measured(results: tuple[Result, ...], measurement: Measurement, machine: str, quick: bool) -> Result | None:
    """Return this machine's result of a measurement, if it is complete.

    A complete result has the suites and as many samples as would be measured now; of a project, any times.
    """
    key = (machine, measurement.release.sha, measurement.environment)
    result = next((result for result in results if (result.machine, result.sha, result.environment) == key), None)
    if result is None or declarations.project():
        return result if result and result.timings else None
    specs = [spec for spec in suite_specs.table().values() if spec.timed and spec.methods != OWN and "device" not in spec.parameters]
    if not {case.suite for case in result.timings}.issuperset(spec.name for spec in specs if spec.quick or not quick):
        return None
    samples = min(len(timing.samples) for case, timing in result.timings.items() if case.spec.quick)
    return result if quick or samples >= SAMPLES else None


def measure_and_publish(
    measurements: list[Measurement], paths: Paths, machine: str, quick: bool, report_progress: Callable[[Progress], None]
) -> tuple[TensorcopyError, ...]:
    """Measure, publish the site, and return the errors.

    An error of one release or result file does not stop the others. New samples are added to earlier ones. Raises TensorcopyError where
    the site cannot be published.
    """
    stages: list[tuple[str, float]] = []
    for measurement in measurements:
        version, installed = measurement.release.version, environments.is_complete(measurement.path(paths))
        stages += [(f"checking torch {version}", CHECK) if installed else (f"installing torch {version}", INSTALL_FIRST)]
        stages += [(f"measuring torch {version}", MEASURE_QUICK if quick else MEASURE)]
    reporter = Reporter([*stages, ("publishing the site", PUBLISH)], report_progress)
    quick_suites = "|".join(re.escape(spec.label) for spec in suite_specs.table().values() if spec.quick)
    suites = rf"^({quick_suites})\." if quick and not declarations.project() else timed_suites()
    job = Job(paths, machine, suites, FEW_SAMPLES if quick else {})
    problems: list[TensorcopyError] = []
    for number, measurement in enumerate(measurements):
        install, measure = 2 * number, 2 * number + 1
        reporter.at(install)
        try:
            with after(problems):
                measure_pass(measurement, job, partial(reporter.waiting_at, install), partial(reporter.at, measure))
        except DiskError:
            raise
        except TensorcopyError as error:
            problems.append(error)
    reporter.at(len(stages))
    loaded = reader.load_results(paths.results)
    with after(problems):
        if loaded.unpublishable:
            raise loaded.unpublishable[0]  # asv would remove the site and then stop at this file
        program.publish()
    reporter.at(len(stages), 1.0, PUBLISH)
    return (*problems, *loaded.problems)
