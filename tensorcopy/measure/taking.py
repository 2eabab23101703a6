"""Take launches of environments, and those that are missing in a folder of results. Prints nothing.

Every launch is a file of its own, which is created when it has ended. So an interrupted launch leaves nothing, and resuming is counting the
files; they are counted anew before each launch, so that two programs may measure into one folder.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Any

from tensorcopy.campaign import Campaign
from tensorcopy.configuration import Paths
from tensorcopy.errors import DiskError, TensorcopyError
from tensorcopy.measure import launch, plan, side_benchmarks, side_process
from tensorcopy.measure.plan import Measurement, Shard
from tensorcopy.measure.side_benchmarks import Benchmark, Suites, devices_of, selected
from tensorcopy.measure.side_process import LocalSide, SideFailed, chance
from tensorcopy.numbers import counted
from tensorcopy.releases import environments
from tensorcopy.releases.environments import Environment
from tensorcopy.results import histories, launches, reader, suite_specs
from tensorcopy.results.cases import names_of, some
from tensorcopy.results.histories import History
from tensorcopy.results.launches import Launch, Place
from tensorcopy.results.reader import Results
from tensorcopy.worker.devices import cpu_model
from tensorcopy.worker.processes import ReportProgress, ignore_progress

LONGEST_NAME = 64  # characters of a folder's: file systems allow 255
NAMED = 3  # benchmarks that an error shows
OF_VALUES = 3  # launches that tell how much a tracked value varies; its benchmark may take minutes


class Taker:
    """What a run does in processes: open environments, list their benchmarks, and take launches of times and of counts."""

    suites_of = staticmethod(side_benchmarks.suites_of)
    take = staticmethod(launch.take)
    count = staticmethod(launch.count)

    def opened(self, measurement: Measurement, campaign: Campaign, paths: Paths) -> Environment:
        """Return the environment of a measurement. Raises TensorcopyError."""
        return measurement.opened(campaign, paths)


class Sides:
    """The environments that a run has opened, each once, and why others could not be opened."""

    def __init__(self, campaign: Campaign, paths: Paths, device: str = "", taker: Taker | None = None) -> None:
        """Open none yet; device : that each must be able to use, "" for none; taker : starts the processes."""
        self.campaign, self.paths, self.device, self.taker = campaign, paths, device, taker or Taker()
        self.opened: dict[Measurement, Environment] = {}
        self.failed: dict[Measurement, TensorcopyError] = {}
        self.described: dict[Hashable, dict[str, Benchmark]] = {}  # the benchmarks by `LocalSide.benchmarks`
        self.left: dict[str, str] = {}  # by benchmark, the command line of a process that it has left running, and that was ended
        self.begun: list[History] = []  # the histories that the run has begun

    def of(self, measurement: Measurement) -> LocalSide:
        """Return the side of a measurement. Raises TensorcopyError."""
        if measurement not in self.opened:
            environment = self.taker.opened(measurement, self.campaign, self.paths)
            environments.require(environment, self.device or "cpu")
            self.opened[measurement] = environment
        return measurement.side(self.opened[measurement], self.campaign, self.paths)

    def usable(self, measurements: Iterable[Measurement]) -> dict[Measurement, LocalSide]:
        """Return the sides that can be opened; the others are `failed`. Raises DiskError."""
        sides = {}
        for measurement in dict.fromkeys(measurements):
            if measurement in self.failed:
                continue
            try:
                sides[measurement] = self.of(measurement)
            except DiskError:
                raise
            except TensorcopyError as error:
                self.failed[measurement] = error
        return sides

    def open(self, measurements: Iterable[Measurement], report_progress: ReportProgress) -> None:
        """Open environments, and install those that are missing. Raises DiskError.

        Installed ones are asked for their provenance at the same time.
        """
        closed = [each for each in dict.fromkeys(measurements) if each not in self.opened and each not in self.failed]
        if installed := [each for each in closed if each.is_installed(self.paths)]:
            outdated = sum(map(self._is_outdated, installed))
            anew = f", installing {outdated} of them anew" if outdated else ""  # which takes a minute
            report_progress(0.0, f"checking {counted(len(installed), 'environment')}{anew}")
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                list(pool.map(lambda each: self.usable([each]), installed))
        closed = [each for each in closed if each not in installed]
        for number, measurement in enumerate(closed):
            report_progress(number / len(closed), f"installing {measurement}")
            self.usable([measurement])

    def _is_outdated(self, measurement: Measurement) -> bool:
        """Return whether opening an environment installs it anew; False where opening it will say why it cannot."""
        with suppress(TensorcopyError, OSError):
            return measurement.is_outdated(self.campaign, self.paths)
        return False

    @property
    def devices(self) -> set[str]:
        """The accelerators that an open environment can use."""
        return {device for environment in self.opened.values() for device in environment.report["provenance"]["accelerators"]}

    def provenances(self) -> dict[Place, Mapping[str, Any]]:
        """Return the provenance of each environment that is open."""
        return {each.place: environment.report["provenance"] for each, environment in self.opened.items()}

    def suites(self, side: LocalSide) -> dict[str, Benchmark]:
        """Return the benchmarks of a side by name. Raises SideFailed."""
        if side.benchmarks not in self.described:
            self.described[side.benchmarks] = self.taker.suites_of(side)
        return self.described[side.benchmarks]


@dataclass(frozen=True)
class Job:
    """What the launches of a run have in common.

    sides : the environments that they may have
    history : the name of the history that a user asks for; "" for that of the conditions, which has the name of this machine if it is new
    selection : a regular expression on asv's names; "" for every case
    reference : the side of every launch; None for launches without one
    newest : whether it is of the suites with which only the newest release is timed, or of all others
    folder : of launch files; None for that of asv.conf.json
    until : when no further launch begins, see `after`
    report_progress : is told what the run does
    """

    sides: Sides
    history: str = ""
    selection: str = ""
    reference: Measurement | None = None
    newest: bool = False
    folder: Path | None = None
    until: float = inf
    report_progress: ReportProgress = ignore_progress

    @property
    def campaign(self) -> Campaign:
        """The campaign whose suites the launches run."""
        return self.sides.campaign

    @property
    def paths(self) -> Paths:
        """The folders of the campaign."""
        return self.sides.paths

    @property
    def results(self) -> Path:
        """The folder of launch files."""
        return self.folder or self.paths.results

    @property
    def is_over(self) -> bool:
        """Whether no further launch begins."""
        return monotonic() >= self.until

    def read(self) -> Results:
        """Return what the folder of launch files has."""
        return reader.load_results(self.results, self.campaign.releases)

    def only(self, suites: Suites) -> Job:
        """Return the job with only the selected cases of these suites."""
        names = [re.escape(text) for suite in suites.values() for text in suite.selected]
        return replace(self, selection=f"^({'|'.join(names)})$")

    def open(self, measurements: Sequence[Measurement]) -> None:
        """Open environments, and install those that are missing, if a launch could be stored then. Raises DiskError."""
        if not all(each.is_installed(self.paths) for each in measurements):
            launches.require_room(self.results)
        self.sides.open(measurements, self.report_progress)

    def step(self, title: str, done: int = 0, of: int = 1) -> ReportProgress:
        """Return the function that reports the progress within a launch; done, of : launches."""
        return lambda share, suite: self.report_progress((done + share) / of, f"{title}: {suite}")

    def own(self) -> list[History]:
        """Return the histories to which launches of this run can belong: the one of a name, or those of this processor."""
        processors = {str(each["cpu"]) for each in self.sides.provenances().values()} or {cpu_model()}
        return own_histories(self.read(), self.history, processors)

    def stored(self) -> list[Launch]:
        """Return the launches of these histories; those that cannot be read have no part in a plan."""
        return [launch for history in self.own() for launch in history.launches]

    def counted(self) -> list[Launch]:
        """Return those of counts."""
        return [each for each in self.stored() if each.kind == "counts"]

    def folder_of(self, launch: Launch) -> Path:
        """Return the folder of the history to which a new launch belongs. Raises TensorcopyError for a named one of other conditions."""
        conditions = histories.conditions_of(launch, histories.environment_of(launch), self.campaign.requires)
        assert conditions is not None
        name = self.history or machine_name()
        folder, is_new = histories.folder_of(self.results, conditions, name, is_named=bool(self.history))
        if is_new:
            self.sides.begun.append(History(folder, conditions, (), ()))
        return folder

    def suites(self, measurements: Sequence[Measurement], *, timed: bool = True) -> dict[str, Benchmark]:
        """Return the benchmarks with selected cases of the newest of these measurements, as `side_benchmarks.selected`.

        An installed one is preferred. Raises TensorcopyError where none can be opened.
        """
        for measurement in sorted(measurements, key=lambda each: (each.is_installed(self.paths), each.release))[::-1]:
            for side in self.sides.usable([measurement]).values():
                return selected(self.sides.suites(side), self.selection, devices_of([side]), timed=timed, newest=self.newest)
        raise self.sides.failed[measurements[0]]

    def all_suites(self, measurements: Sequence[Measurement], *others: Suites) -> tuple[Suites, Suites]:
        """Return the timed suites of the selection, and those that count something.

        others : that are measured, too

        Raises TensorcopyError where there is no case.
        """
        timed, counting = (self.suites(measurements, timed=timed) for timed in (True, False))
        if not any((timed, counting, *others)):
            raise self.nothing_selected()
        return timed, counting

    def of_newest(self, measurements: Sequence[Measurement]) -> tuple[Job, list[Measurement], Suites]:
        """Return the job of the suites with which only the newest release is timed, that release of these, and the selected suites.

        No release and no suites where this host has measured a newer one, or the newest cannot be opened. Raises DiskError.
        """
        job = replace(self, newest=True)
        measured = {side.sha for launch in self.stored() for side in launch.sides}
        newest = [*self.sides.usable(plan.newest(measurements, self.campaign.releases, measured))]
        return job, newest, job.suites(newest) if newest else {}

    def nothing_selected(self) -> TensorcopyError:
        """Return the error of a selection without a case."""
        names = sorted({name for suites in self.sides.described.values() for name in suites if not suite_specs.find(name).newest})
        return TensorcopyError(
            "nothing to measure",
            got=f"no case that matches {self.selection!r}",
            allowed=f"a regular expression on names such as {', '.join(names[:NAMED])}",
            next="name one of these",
        )


def machine_name() -> str:
    """Return the name of this machine: of the histories that begin here, unless a user names one."""
    return re.sub(r"[^\w.+-]", "-", platform.node()).strip("._+-")[:LONGEST_NAME] or "host"


def own_histories(loaded: Results, name: str, processors: Collection[str]) -> list[History]:
    """Return the history of a name, or for "" those of some models of processors."""
    return [each for each in loaded.histories if (each.name == name if name else each.conditions.processor in processors)]


def after(seconds: float) -> float:
    """Return the time in so many seconds, on the clock of `Job.until`."""
    return monotonic() + seconds


def take_launch(
    measurements: Sequence[Measurement],
    job: Job,
    *,
    all_or_none: bool = False,
    core: int | None = None,
    report_progress: ReportProgress = ignore_progress,
) -> Launch:
    """Take a launch of these environments together, beside the job's reference, write it into the results, and return it.

    Everything that measures does so here: `tensorcopy measure`, `dashboard` and `compare --now`, and asv's own `asv run`, `asv
    continuous` and `asv find`. So a launch of `asv run v2.15.0^! --bench copies` is

        measurement, reason = plan.installable(release, paths.pythons)
        reference = plan.reference(campaign.releases, paths.pythons)
        take_launch([measurement], Job(Sides(campaign, paths), selection="copies", reference=reference))

    `asv continuous A B` names two measurements. An environment that cannot be opened, and a side that cannot start, is left out:
    `job.sides.failed` has its error. A launch that has one side only ranks its methods.

    all_or_none : whether no launch is taken without one of the sides
    core : to which the sides are pinned; by default one at random
    report_progress : is told the share of the cases that are timed, and the suite

    Raises the error of a side where none is left, or it must not be left out, and DiskError.
    """
    launches.require_room(job.results)
    failed = job.sides.failed
    while True:
        sides = job.sides.usable(measurements)
        if not sides or (all_or_none and len(sides) < len(measurements)):
            raise next(failed[each] for each in measurements if each in failed)
        if job.reference:
            sides |= job.sides.usable([job.reference])
        number = [*sides].index(job.reference) if job.reference in sides else None
        try:
            taken = job.sides.taker.take(
                [*sides.values()],
                machine_name(),
                selection=job.selection,
                newest=job.newest,
                reference=number,
                core=core,
                report_progress=report_progress,
                report_left=job.sides.left.setdefault,
            )
        except SideFailed as error:
            failed.update({each: error for each, side in sides.items() if side is error.side})
            continue
        launches.write(job.folder_of(taken), taken)
        return taken


@dataclass(frozen=True, eq=False)
class Missing:
    """The launches that a folder of results lacks.

    Every selected case of every measurement shall be in so many launches. A shard takes its share of those that are missing at the start.
    """

    measurements: Sequence[Measurement]
    job: Job
    launches: int
    suites: Suites
    shard: Shard | None = None

    @cached_property
    def _wanted(self) -> dict[Measurement, int]:
        """In how many launches each side shall be; a shard has its share of those that are missing at the first count."""
        if not self.shard:
            return dict.fromkeys(self.measurements, self.launches)
        counts = self.counts()
        lacking = {each: max(0, self.launches - counts[each.place]) for each in self.measurements}
        return {each: counts[each.place] + self.shard.share(count) for each, count in lacking.items()}

    def counts(self) -> Mapping[Place, int]:
        """Return in how many launches each side is now."""
        return plan.launch_counts(self.job.stored(), self.suites, opened=self.job.sides.provenances())

    def of(self, group: Sequence[Measurement]) -> int:
        """Return how many launches a group lacks now, or the reference, which is in all of them, where it is measured too."""
        counts = self.counts()
        if not self.suites:
            return 0  # only counts were selected
        own = [each for each in self.measurements if (each in group or each == self.job.reference) and each not in self.job.sides.failed]
        return max([0, *(self._wanted[each] - counts[each.place] for each in own)])


def outlook(missing: Missing, most: int, parallel: int, *, twice: bool) -> list[str]:
    """Return what a run will take: launches and minutes; nothing where none is missing.

    most : environments on the disk at a time; parallel : launches at a time; twice : whether inexact cases get as many again
    """
    reference = missing.job.reference
    counts: list[tuple[int, int]] = []  # launches, and their sides
    for group in plan.groups(missing.measurements, reference, most):
        of_launch = group if reference is None or reference in group else [*group, reference]
        counts.append((missing.of(group), len(of_launch)))
    launches = sum(count for count, _ in counts)
    if not launches:
        return []
    seconds = plan.seconds_of_side(missing.suites) * sum(count * sides for count, sides in counts) / parallel
    sides = sorted({sides for count, sides in counts if count})
    of = counted(sides[0], "side") if len(sides) == 1 else f"{sides[0]} to {sides[-1]} sides"
    at_a_time = f", {parallel} at a time" if parallel > 1 else ""
    more = "; then up to as many again of the cases that are not exact enough" if twice else ""
    return [f"{counted(launches, 'launch')} of {of}{at_a_time}: {plan.minutes(seconds, missing.suites)}{more}"]


def take_missing(
    missing: Missing,
    groups: Sequence[Sequence[Measurement]],
    *,
    together: bool,
    finish: Callable[[Sequence[Measurement]], object] = lambda _: None,
    parallel: int = 1,
) -> tuple[list[Launch], list[TensorcopyError]]:
    """Take the launches that are missing, and return them, and why some have brought a group no nearer to what it lacks.

    `missing.job.sides.failed` has what could not be measured.

    groups : of measurements that are sides of the same launches
    together : whether the environments of all groups have room on the disk: then their launches alternate at random. Otherwise each group
        is finished, and its environments are removed unless the next group has them
    finish : called with measurements that have all their launches, before their environments are removed
    parallel : launches at a time, each on another core
    """
    job, sides, taken, problems = missing.job, missing.job.sides, list[Launch](), list[TensorcopyError]()
    try:
        for number, joint in enumerate([groups] if together else [[group] for group in groups]):
            left = {place: missing.of(group) for place, group in enumerate(joint)}
            if any(left.values()) and not job.is_over:
                needed = [measurement for place, group in enumerate(joint) if left[place] for measurement in group]
                job.open([*needed, *filter(None, [job.reference])])
            while any(left.values()) and not job.is_over:
                places = _next(left, parallel)
                total = len(taken) + sum(left.values())
                title = f"{_name(joint[places[0]], job)}, launch {len(taken) + 1} of {total}"
                job.report_progress(len(taken) / total, title)
                documents = _take_together([joint[place] for place in places], job, job.step(title, len(taken), total))
                taken += documents
                now = {other: missing.of(each) for other, each in enumerate(joint)}
                if stuck := {place for place in places if now[place] >= left[place] > 0}:  # it would never end
                    problems += [_in_vain(joint[place], documents, missing) for place in stuck]
                    joint = [each for other, each in enumerate(joint) if other not in stuck]
                    now = {other: missing.of(each) for other, each in enumerate(joint)}
                left = now
            if job.is_over:
                break  # the environments are needed for the rest
            finish([measurement for group in (groups if together else [groups[number]]) for measurement in group])
            if not together:
                kept = {job.reference, *(groups[number + 1] if number + 1 < len(groups) else ())}
                for each in groups[number]:
                    if each not in kept and not each.interpreter:
                        environments.remove(each.path(job.paths))
                        sides.opened.pop(each, None)
    except DiskError as error:
        error.earlier = [*dict.fromkeys(sides.failed.values())]
        raise
    return taken, problems


def _in_vain(group: Sequence[Measurement], documents: Sequence[Launch], missing: Missing) -> TensorcopyError:
    """Return the error of launches after which a group lacks as many as before: they have other cases, or were taken otherwise."""
    there = {
        text
        for document in documents
        for name, stored in document.suites.items()
        for index, text in enumerate(names_of(name, stored.params))
        if any(stored.tells(str(index), number) for number in range(len(document.sides)))
    }
    lost = [text for suite in missing.suites.values() for text in suite.selected if text not in there]
    return TensorcopyError(
        f"a launch brought {_name(group, missing.job)} no nearer to what it lacks",
        got=f"nothing of {some(lost)}" if lost else "other conditions than in earlier launches",
        allowed="the same cases in each launch, under the same conditions",
        next="give parameters fixed texts, such as names that setup looks up; or repeat the command, which measures under those of now",
    )


def _next(left: Mapping[int, int], parallel: int) -> list[int]:
    """Return the groups of the next launches, one for each: those that lack most, at random among equal ones."""
    left, places = dict(left), list[int]()
    while len(places) < parallel and any(count > 0 for count in left.values()):
        most = max(left.values())
        places.append(chance.choice([place for place, count in left.items() if count == most]))
        left[places[-1]] -= 1
    return places


def _take_together(groups: Sequence[Sequence[Measurement]], job: Job, report_progress: ReportProgress) -> list[Launch]:
    """Take a launch of each group, all at the same time, each on another core, and return them; `job.sides.failed` has what failed.

    They begin together, so that the state of the page cache is drawn anew before. An interrupt ends all of them at their next case.
    """
    interrupted = Event()

    def take(group: Sequence[Measurement], core: int | None, report: ReportProgress) -> list[Launch]:
        def report_unless_interrupted(share: float, suite: str) -> None:
            if interrupted.is_set():
                raise KeyboardInterrupt
            report(share, suite)

        try:
            return [take_launch(group, job, core=core, report_progress=report_unless_interrupted)]
        except DiskError:
            raise
        except TensorcopyError as error:
            job.sides.failed.update({measurement: error for measurement in group if measurement not in job.sides.failed})
            return []

    cores = side_process.usable_cores()
    if len(groups) == 1 or len(cores) < len(groups):
        return [each for group in groups for each in take(group, None, report_progress)]
    reports = [report_progress, *[ignore_progress] * (len(groups) - 1)]
    with ThreadPoolExecutor(len(groups)) as pool:
        waiting = [pool.submit(take, *each) for each in zip(groups, chance.sample(cores, len(groups)), reports)]
        try:
            ended, _ = wait(waiting, return_when=FIRST_EXCEPTION)
            for error in filter(None, (each.exception() for each in ended)):
                raise error
            return [each for taken in waiting for each in taken.result()]
        except BaseException:
            interrupted.set()
            raise


def _name(group: Sequence[Measurement], job: Job) -> str:
    """Return what a launch of a group is called."""
    beside = f" beside torch {job.reference.release.version}" if job.reference and job.reference not in group else ""
    if len(group) == 1:
        return f"{group[0]}{beside}"
    return f"torch {group[0].release.version} to {group[-1].release.version} on Python {group[0].python}{beside}"


def varying(suites: Suites) -> dict[str, Benchmark]:
    """Return the suites whose values vary from launch to launch: what the table of suites does not describe is not known to be exact."""
    return {name: suite for name, suite in suites.items() if not suite_specs.find(name).shipped}


def rounds_of_counts(suites: Suites, count: int) -> list[Suites]:
    """Return the suites of each launch of counts that a release shall have: of the first all, of others those whose values vary."""
    values = varying(suites)
    return [suites, *([values] * (min(count, OF_VALUES) - 1) if values else [])]


def uncounted(measurements: Sequence[Measurement], job: Job, suites: Suites, number: int) -> list[Measurement]:
    """Return the measurements that have fewer than a number of launches of counts of these suites, or none of any."""
    stored = job.counted()
    counts = plan.launch_counts(stored, suites, "counts", opened=job.sides.provenances())
    there = {side.place for each in stored for side in each.sides}
    lacking = [each for each in measurements if each.place not in there or (suites and counts[each.place] < number)]
    return [each for each in dict.fromkeys(lacking) if each not in job.sides.failed]


def take_counts(
    measurements: Sequence[Measurement], job: Job, suites: Suites, *, count: int = 1
) -> tuple[list[Launch], list[TensorcopyError]]:
    """Take the launches of counts that each measurement lacks of these suites, and return them, and the errors.

    suites : that count something, or track a value; without any, a launch has what methods were observed to do
    count : of launches that tracked values shall have, at most `OF_VALUES`; an exact count is taken once
    """
    values, taken, problems = varying(suites), list[Launch](), list[TensorcopyError]()
    for number, wanted in enumerate(rounds_of_counts(suites, count), start=1):
        own = job if number == 1 else job.only(values)
        missing = uncounted(measurements, job, wanted, number)
        for place, measurement in enumerate(missing):
            if job.is_over:
                break
            title = f"counting {measurement}"
            job.report_progress(place / len(missing), title)
            launches.require_room(job.results)
            try:
                document = job.sides.taker.count(
                    job.sides.of(measurement),
                    machine_name(),
                    selection=own.selection,
                    observed=job.sides.opened[measurement].report,
                    report_progress=job.step(title, place, len(missing)),
                    report_left=job.sides.left.setdefault,
                )
                launches.write(job.folder_of(document), document)
                taken.append(document)
            except DiskError:
                raise
            except TensorcopyError as error:
                problems.append(error)
    return taken, [*dict.fromkeys(problems)]
