"""One run: from a request to the launches that it asks for, for every command that measures. Prints nothing.

Every launch is a file of its own, which is created when it has ended. So an interrupted launch leaves nothing, and a run that begins counts
the files that are there; what is left then follows from the launches that it takes.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from itertools import pairwise
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Any

from tensorcopy.campaign import Campaign
from tensorcopy.configuration import Paths
from tensorcopy.errors import DiskError, TensorcopyError
from tensorcopy.judge import comparisons
from tensorcopy.judge.comparisons import Comparison, Question
from tensorcopy.judge.paired import Change, Reason
from tensorcopy.measure import git, launch, plan, sides
from tensorcopy.measure.launch import Benchmark
from tensorcopy.measure.plan import Request, Task
from tensorcopy.measure.process import SideFailed, shuffled, usable_cores
from tensorcopy.measure.sides import Opened, Side
from tensorcopy.numbers import counted
from tensorcopy.releases import environments, interpreters
from tensorcopy.results import function_profiles, histories, launches, reader
from tensorcopy.results.cases import Case, some
from tensorcopy.results.histories import History
from tensorcopy.results.launches import Launch, Place
from tensorcopy.results.result import Result
from tensorcopy.results.suite_specs import INSTRUCTIONS
from tensorcopy.worker import hardware
from tensorcopy.worker.processes import ReportProgress, ignore_progress

# Half of the interval of a difference of two neighbours above which a case of a history gets as many launches again, up to 2^20 elements
# and beyond. The first halves the undecided cases up to 2^14, which take a third of the time
WIDE, WIDE_LARGE = 0.011, 0.02
EXACT = 0.5  # of a margin: half of an interval that decides a comparison
# Launches that begin a comparison which is measured for one answer. With four, variances are known so badly that more than 5 % of families
# of cases have a false alarm
FIRST = 8
UNDECIDED = (Reason.INTERVAL_TOO_WIDE, Reason.TOO_FEW_LAUNCHES)  # what more launches can decide
UNASKED = 2  # environments that are installed without a question: two releases to compare
SIDE_GIGABYTES = 0.5  # of memory, of the process of a side with its fork
LONGEST_NAME = 64  # characters of a folder's: file systems allow 255
NAMED = 3  # cases that a line shows

ALONE = (
    "measured alone: its methods are ranked, and it is compared with no other release; tensorcopy measure takes turns with a reference, "
    "and several --interpreter with each other"
)


@dataclass(frozen=True)
class RunOutcome:
    """What a run has brought."""

    suites: Mapping[str, Benchmark]  # with the cases that were selected
    counts: Mapping[Side, int]  # launches that each side has now of every case that all releases have
    results: tuple[Result, ...]  # of the sides, as far as they have launches
    histories: tuple[History, ...]  # to which the launches belong
    problems: tuple[TensorcopyError, ...]  # all that went wrong
    notes: tuple[str, ...]  # what a user has to know of it


@dataclass
class _Run:
    """A run that is under way."""

    request: Request
    campaign: Campaign
    paths: Paths
    say: Callable[[str], object]
    report_progress: ReportProgress
    opened: dict[Side, Opened] = field(default_factory=dict)
    failed: dict[Side, TensorcopyError] = field(default_factory=dict)  # sides that cannot be measured
    suites: dict[str, Benchmark] = field(default_factory=dict)  # the selected ones
    stored: list[Launch] = field(default_factory=list)  # of earlier runs; those that cannot be read have no part in a plan
    launches: list[Launch] = field(default_factory=list)  # of this one
    left: int = 0  # launches that the time did not suffice for
    problems: list[TensorcopyError] = field(default_factory=list)
    notes: dict[str, None] = field(default_factory=dict)

    @property
    def results(self) -> Path:
        """The folder of histories."""
        return self.request.folder or self.paths.results

    @property
    def is_over(self) -> bool:
        """Whether no further launch begins."""
        return monotonic() >= self.request.until

    def own(self) -> list[History]:
        """Return the histories to which launches of this run can belong: the one of a name, or those of this processor."""
        processors = {hardware.processor(str(of["cpu"]), of["hardware"]) for of in self.provenances().values()}
        loaded = reader.load_results(self.results, self.campaign)
        return own_histories(loaded, self.request.history, processors or {hardware.own_processor()})

    def tasks(self, divided: Sequence[Sequence[Side]], request: Request, suites: Mapping[str, Benchmark]) -> list[Task]:
        """Return what groups of sides lack of these suites."""
        return plan.tasks(request, divided, suites, [*self.stored, *self.launches], self.provenances(), self.campaign)

    def provenances(self) -> dict[Place, Mapping[str, Any]]:
        """Return the provenance of the sides that are open."""
        return {side.place: each.program.provenance for side, each in self.opened.items()}

    def open(self, wanted: Iterable[Side]) -> list[Side]:
        """Return those of some sides that can be measured, installed unless they are; the others are `failed`. Raises DiskError.

        Installed ones are started at the same time.
        """
        wanted = [*dict.fromkeys(wanted)]
        closed = [each for each in wanted if each not in self.opened and each not in self.failed]
        there = [each for each in closed if each.is_installed(self.campaign, self.paths)]
        missing = [each for each in closed if each not in there]

        def open_one(side: Side) -> None:
            try:
                self.opened[side] = sides.opened(side, self.campaign, self.paths, self.request.needs)
            except DiskError:
                raise
            except TensorcopyError as error:
                self.failed[side] = error

        if there:
            self.report_progress(0.0, f"checking {counted(len(there), 'environment')}")
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                [*pool.map(open_one, there)]
        for number, side in enumerate(missing):
            self.report_progress(number / len(missing), f"installing {side}")
            open_one(side)
        return [each for each in wanted if each in self.opened]

    def select(self, able: Sequence[Side]) -> None:
        """Take note of the cases that a request selects of open sides, and of what cannot be imported. Raises TensorcopyError."""
        of_programs = [(self.opened[side].program, self.opened[side].suites) for side in able]
        devices = {device for program, _ in of_programs for device in program.provenance["accelerators"]}
        errors = []
        for what, why in {what: why for side in able for what, why in self.opened[side].broken.items()}.items():
            name = re.search(r"No module named '(\w+)", why)
            following = f'requires = ["{name[1]}"] in [project] of tensorcopy.toml, or the package that has it' if name else "correct it"
            what, allowed = f"{what} of the suites cannot be measured", "what asv can import and make"
            errors.append(TensorcopyError(what, got=why, allowed=allowed, next=following))
        try:
            self.suites |= plan.wanted(self.request, launch.merged(of_programs)[0], devices)
        except TensorcopyError as error:
            raise errors[0] if errors else error from error
        if self.request.selection or self.request.case:
            self.notes |= dict.fromkeys(map(str, errors))
        else:
            self.problems += [each for each in errors if str(each) not in map(str, self.problems)]

    def keep(self, taken: Launch, notes: Iterable[str]) -> None:
        """Write a launch into its history. Raises TensorcopyError for a named one of other conditions."""
        conditions = histories.conditions_of(taken, histories.environment_of(taken), self.campaign.requires)
        assert conditions is not None
        named = self.request.history
        folder, is_new = histories.folder_of(
            self.results, conditions, named or self.request.machine or machine_name(), is_named=bool(named)
        )
        launches.write(folder, taken)
        self.launches.append(taken)
        if is_new and self.request.folder is None:
            self.notes[f"a new history begins: {folder.name} ({conditions})"] = None
        self.notes |= dict.fromkeys(notes)


def run(
    request: Request,
    campaign: Campaign,
    paths: Paths,
    *,
    say: Callable[[str], object] = lambda line: None,
    report_progress: ReportProgress = ignore_progress,
) -> RunOutcome:
    """Take the launches that a request lacks, and more of the cases that are not exact enough.

    say : is told in lines what will be installed and taken, and which cases fail
    report_progress : is told what the run does

    Raises TensorcopyError where nothing can be measured, and DiskError.
    """
    of = _Run(request, campaign, paths, say, report_progress)
    launches.require_room(of.results)
    request = of.request = _with_suites_of_the_last(of)
    for revision in filter(None, (side.revision for side in request.sides)):
        if pointers := git.pointers(revision.folder):
            of.notes[f"{revision.name} has pointers of Git LFS in place of {some(pointers)}: install git-lfs, and repeat"] = None
    # of releases one tells the suites: an installed one, or else the newest
    preferred = sorted(request.sides, key=lambda side: (side.is_installed(campaign, paths), side.release), reverse=True)
    able = of.open(request.sides) if request.together else next(filter(None, (of.open([side]) for side in preferred)), [])
    if len(able) < (len(request.sides) if request.together else 1):
        raise next(iter(of.failed.values()))
    of.select(able)
    of.stored += [each for history in of.own() for each in history.launches]
    every, divided = {*request.sides, *filter(None, [request.reference])}, plan.groups(request)
    size = min(request.environments or len(every), len(every))
    batches = [divided] if size == len(every) else [[group] for group in divided]
    parallel = request.parallel or _parallel(size, of)
    is_once = request.shard != (1, 1) or request.most == request.launches
    more = "" if is_once else "; then up to as many again of the cases that are not exact enough"
    for line in plan.outlook(of.tasks(divided, request, of.suites), of.suites, parallel, more):
        say(line)
    try:
        for number, batch in enumerate(batches):
            _take_batch(of, batch, parallel)
            if of.is_over:
                break  # the environments are needed for the rest
            kept = {request.reference, *(side for group in batches[number + 1 : number + 2] for side in group[0])}
            for side in batch[0] if len(batches) > 1 else ():
                if side not in kept and not side.interpreter:
                    environments.remove(side.path(campaign, paths))
                    of.opened.pop(side, None)
    except KeyboardInterrupt:
        if line := plan.failures(of.launches, of.suites):
            say(line)
        raise
    except DiskError as error:
        error.earlier = [*dict.fromkeys([*of.failed.values(), *of.problems])]
        raise
    return _outcome(of)


def _with_suites_of_the_last(of: _Run) -> Request:
    """Return a request in which the earlier of two commits runs its own suites where it cannot import those of the later one.

    So a benchmark whose body has changed is the same on both sides, unless that is impossible. Raises DiskError.
    """
    request, (before, *others) = of.request, of.request.sides
    revision = before.revision
    if revision is None or revision.suites_from == revision.folder or len(of.open(request.sides)) < len(request.sides):
        return request
    of_others = {what for side in others for what in of.opened[side].broken}
    reasons = [f"{what}: {why}" for what, why in of.opened[before].broken.items() if what not in of_others]
    if not reasons:
        return request
    of.notes[f"{revision.name} runs its own suites: {reasons[0]}"] = None
    own = replace(before, revision=replace(revision, suites_from=revision.folder))
    del of.opened[before]
    return replace(request, sides=(own, *others))


def _take_batch(of: _Run, divided: Sequence[Sequence[Side]], parallel: int) -> None:
    """Take what is missing of groups whose environments are on the disk together."""
    request = of.request
    able = of.open(side for group in divided for side in group)
    if request.reference in of.failed and request.reference not in request.sides:
        of.notes[f"without the reference: {of.failed.pop(request.reference)}"] = None
    if not able:
        return
    of.select(able)
    divided = [tuple(side for side in group if side in able) for group in divided]
    of_kind = {kind: [task for task in of.tasks(divided, request, of.suites) if task.kind == kind] for kind in ("times", "counts")}
    if request.together:  # a comparison shows both, however soon it ends
        _take(of, of_kind["counts"], 1)
    left = _take(of, of_kind["times"], parallel)
    target, most = request.launches, request.most or 2 * request.launches
    while target < most and not left and not of.is_over and request.shard == (1, 1):
        cases = wide(of.own(), {side.place for side in able}, of)
        if not cases:
            break
        names, further = ", ".join(case.name for case in cases[:NAMED]), len(cases) - NAMED
        what = f"{counted(len(cases), 'case')} not exact enough after {counted(target, 'launch')}"
        of.say(f"{what}: {names}{f' and {further} more' if further > 0 else ''}")
        target = min(2 * target, most)
        of_wide = plan.only(plan.timed(of.suites, newest=False), cases)
        left = _take(of, of.tasks(divided, replace(request, launches=target, again=False, counts=None), of_wide), parallel)
    of.left += left
    if not request.together:
        _take(of, of_kind["counts"], 1)
    if request.functions and not hardware.missing_valgrind() and not of.is_over:
        _take_functions(of, [side for side in able if side in request.sides])


def _take(of: _Run, tasks: Sequence[Task], parallel: int) -> int:
    """Take the launches of tasks, that which lacks most first, at random among equal ones; return how many are left."""
    tasks = [task for task in tasks if task.launches]
    done, total = 0, sum(task.launches for task in tasks)
    while tasks:
        is_first = of.request.together and tasks[0].kind == "times" and all(each.kind == "counts" for each in of.launches)
        if of.is_over and not is_first:  # a comparison has one launch of times, however long its sides took to start
            break
        left = {number: task.launches for number, task in enumerate(tasks)}
        chosen: list[int] = []
        while len(chosen) < parallel and max(left.values()) > 0:
            chosen.append(max(shuffled(left), key=left.__getitem__))
            left[chosen[-1]] -= 1
        title = f"{tasks[chosen[0]].name}, launch {done + 1} of {max(total, done + 1)}"
        brought = _take_together(of, [tasks[number] for number in chosen], title, done / max(total, 1), 1 / max(total, 1))
        for number, taken in zip(chosen, brought):
            if taken is None:  # a side has failed; its error is noted
                continue
            done += 1
            if error := plan.in_vain(tasks[number], taken, of.suites):
                of.problems.append(error)
                tasks[number] = replace(tasks[number], left={})
            tasks[number] = tasks[number].after(taken, of.suites)
            if len(of.launches) == 1 and (line := plan.failures([taken], of.suites)):
                of.say(line)
        tasks = [task.without([side for side in task.sides if side in of.failed]) for task in tasks]
        tasks = [task for task in tasks if task.launches and not (of.request.together and of.failed)]
    return sum(task.launches for task in tasks)


def _take_together(of: _Run, tasks: Sequence[Task], title: str, done: float, share: float) -> list[Launch | None]:
    """Take a launch of each task, all at the same time, each on another core, and return them; None where a side does not start.

    They begin together, so that the state of the page cache is drawn anew before. An interrupt ends all of them at their next case.
    """
    interrupted, cores = Event(), usable_cores()

    def take(task: Task, core: int | None, is_first: bool) -> Launch | None:
        def report(part: float, doing: str) -> None:
            if interrupted.is_set():
                raise KeyboardInterrupt
            if is_first:
                of.report_progress(done + part * share, f"{title}: {doing}")

        programs, fields = [of.opened[side].program for side in task.sides], dict[str, Any]()
        if task.kind == "counts":
            fields = {name: of.opened[task.sides[0]].report.get(name, {}) for name in ("methods", "article")}
        elif of.request.reference in task.sides and len(programs) > 1:
            fields = {"reference": task.sides.index(of.request.reference)}
        try:
            taken, notes = launch.take(programs, machine_name(), task.cases, kind=task.kind, core=core, report_progress=report, **fields)
        except SideFailed as error:
            of.failed |= {side: error for side, program in zip(task.sides, programs) if program is error.program}
            return None
        of.keep(taken, notes)
        return taken

    launches.require_room(of.results)
    if len(tasks) == 1 or len(cores) < len(tasks):
        return [take(task, None, True) for task in tasks]
    with ThreadPoolExecutor(len(tasks)) as pool:
        waiting = [pool.submit(take, task, core, number == 0) for number, (task, core) in enumerate(zip(tasks, shuffled(cores)))]
        try:
            ended, _ = wait(waiting, return_when=FIRST_EXCEPTION)
            for error in filter(None, (each.exception() for each in ended)):
                raise error
            return [each.result() for each in waiting]
        except BaseException:
            interrupted.set()
            raise


def wide(of_run: Sequence[History], places: Collection[Place], of: _Run) -> list[Case]:
    """Return the cases that are not exact enough between two neighbours among some sides.

    A case is chosen by the width of its interval, whatever the difference is: a choice by the verdict would have to share the chance of a
    false alarm.
    """
    found = dict[Case, None]()
    for history in of_run:
        for before, after in pairwise(result for result in history.results if result.place in places):
            changes = comparisons.between(Question(before, after, of.campaign.rules)).changes
            found |= {case: None for case, change in changes.items() if is_wide(case, change, of.request.half)}
    return sorted(found, key=str)


def is_wide(case: Case, change: Change, half: float | None) -> bool:
    """Return whether a time was compared less exactly than half of an interval, as a share, says; None for what a history shall have."""
    if not change.timed or change.reason not in (Reason.CHANGED, Reason.WITHIN_MARGIN, *UNDECIDED):
        return False
    if not change.interval:
        return half is not None
    if half is None:
        half = WIDE_LARGE if comparisons.kind(case)[1] == len(comparisons.KINDS) else WIDE
    return bool((change.interval[1] / change.interval[0]) ** 0.5 - 1 > half)


def _take_functions(of: _Run, able: Sequence[Side]) -> None:
    """Count the functions of each release whose instructions were counted, and that has none; write a file of each."""
    instructions = {name for name, suite in of.suites.items() if suite.spec.metric == INSTRUCTIONS}
    there = {side.place for each in (*of.stored, *of.launches) if instructions & each.suites.keys() for side in each.sides}
    folders, profiled = {each.conditions.environment: each.folder for each in reversed(of.own())}, 0
    lacking = [side for side in able if side.place in there and side.environment in folders]
    lacking = [side for side in lacking if not function_profiles.paths_of(folders[side.environment], *side.place[:2])]
    for number, side in enumerate(lacking):
        of.report_progress(number / len(lacking), f"functions of {side}")
        try:
            document = functions(of.opened[side], of.campaign.profiler)
            function_profiles.write(function_profiles.path_of(folders[side.environment], *side.place[:2]), document)
            profiled += 1
        except DiskError:
            raise  # the next file could not be stored either
        except TensorcopyError as error:
            of.problems.append(error)
    if profiled:
        of.notes[f"functions of {counted(profiled, 'release')} counted"] = None


def functions(opened: Opened, profiler: str, pattern: str = "") -> dict[str, Any]:
    """Return the functions of a side's cases, as `results.function_profiles.Profiles` describes them.

    profiler : the probe that counts them
    pattern : a regular expression on the names of cases; default: all

    Raises TensorcopyError where no case runs.
    """
    began = datetime.now(timezone.utc).isoformat(timespec="seconds")
    document = interpreters.run_probe(opened.program.python, profiler, pattern, variables=opened.program.variables)
    if not document["cases"]:
        raise TensorcopyError("no case runs", got=pattern, allowed="a case that this torch runs", next="another release")
    provenance = opened.report["provenance"]
    of_release = {name: provenance[name] for name in ("torch", "torch_sha", "python", "libc", "tensorcopy")}
    return {"version": function_profiles.VERSION, **of_release, "started": began, **document}


def _outcome(of: _Run) -> RunOutcome:
    """Return what a run has brought."""
    request, own = of.request, of.own()
    of_history = plan.timed(of.suites, newest=False) or plan.timed(of.suites, newest=True)
    there = plan.counts([*of.stored, *of.launches], of_history, of.provenances())
    places = {side.place for side in request.sides}
    for side, each in of.opened.items():
        for device, reason in each.program.provenance.get("unsupported", {}).items():
            of.notes[f"torch {side.release.version} is not measured on {device}: {reason}"] = None
    if any(each.kind == "times" and len(each.sides) == 1 for each in of.launches) and not request.together:
        of.notes[ALONE] = None
    if of.is_over and of.left:
        of.notes[f"stopped at the end of its time: {counted(of.left, 'launch')} left; the same command takes them"] = None
    return RunOutcome(
        suites=of.suites,
        counts={side: plan.fewest(there, side, of_history) for side in request.sides},
        results=tuple(result for history in own for result in history.results if result.place in places),
        histories=tuple(own),
        problems=tuple(dict.fromkeys([*of.failed.values(), *of.problems])),
        notes=tuple(of.notes),
    )


def compared(request: Request, outcome: RunOutcome, campaign: Campaign, margin: float | None = None) -> Comparison | None:
    """Return how the two sides of a request compare; None where one has no result; margin : see `Question`."""
    by_place = {result.place: result for result in outcome.results}
    before, after = (by_place.get(side.place) for side in request.sides)
    return comparisons.between(Question(before, after, campaign.rules, margin)) if before and after else None


def now_folder(paths: Paths) -> Path:
    """Return a new folder for launches of one answer, which are no part of a history."""
    return paths.environments.parent / "now" / launches.new_id()


def revisions_folder(paths: Paths) -> Path:
    """Return the folder of the launches of git commits."""
    return paths.environments.parent / "revisions" / "results"


def machine_name() -> str:
    """Return the name of this machine: of the histories that begin here, unless a user names one."""
    return re.sub(r"[^\w.+-]", "-", platform.node()).strip("._+-")[:LONGEST_NAME] or "host"


def own_histories(loaded: reader.Results, name: str, processors: Collection[str]) -> list[History]:
    """Return the history of a name, or for "" those of some models of processors."""
    return [each for each in loaded.histories if (each.name == name if name else each.conditions.processor in processors)]


def _parallel(number: int, of: _Run) -> int:
    """Return how many launches of so many sides are taken at a time: one for two cores, as far as memory suffices; one on a device."""
    if any(each.program.provenance["accelerators"] for each in of.opened.values()):
        return 1
    from psutil import virtual_memory

    fitting = int(virtual_memory().available / (SIDE_GIGABYTES * 1e9 * number))
    return max(1, min(len(usable_cores()) // 2, fitting))


def confirm_installing(request: Request, campaign: Campaign, paths: Paths, say: Callable[[str], object]) -> None:
    """Say how many environments a request installs and how large they are; ask at a terminal where they are more than `UNASKED`.

    Raises TensorcopyError where the disk does not hold so many, and where the user declines.
    """
    every = [*request.sides, *filter(None, [request.reference])]
    missing = [*{each.path(campaign, paths): each for each in every if not each.is_installed(campaign, paths)}.values()]
    count = min(request.environments or len(missing), len(missing))
    if not count:
        return
    folder = next(each for each in (paths.environments, *paths.environments.parents) if each.exists())
    free = shutil.disk_usage(folder).free / 1e9
    sizes = sorted((environments.gigabytes(folder, each.release, each.python) for each in missing), reverse=True)
    needed = sum(sizes[:count])
    size = f": about {needed} GB, and" if needed else ";"
    sentence = f"{counted(count, 'environment')} {'is' if count == 1 else 'are'} to be installed{size} {free:.0f} GB are free"
    say(sentence)
    fewer = "name fewer releases, or tensorcopy measure --environments 3, which removes each as soon as it is measured"
    if count > UNASKED and needed > free:
        raise TensorcopyError("the disk is too small", got=sentence, allowed="room for them together", next=f"free some space, {fewer}")
    if count > UNASKED and request.asks and sys.stdin.isatty() and sys.stdout.isatty():
        try:
            answer = input("Install them? [y/N] ").strip()
        except EOFError:  # Ctrl-D
            answer = ""
        if answer.lower() not in ("y", "yes"):
            raise TensorcopyError("nothing was installed", got=repr(answer), allowed="y", next=fewer)
