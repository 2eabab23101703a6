"""One run: from a request to the launches that it asks for, for every command that measures. Prints nothing.

Every launch is a file of its own, which is created when it has ended. So an interrupted launch leaves nothing, and a run that begins counts
the files that are there, and takes the launches that are missing.
"""

from __future__ import annotations

import platform
import re
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from time import monotonic
from typing import Any

from tensorcopy import files
from tensorcopy.campaign import Campaign
from tensorcopy.configuration import Paths
from tensorcopy.errors import DiskError, TensorcopyError
from tensorcopy.judge import comparisons
from tensorcopy.judge.comparisons import Comparison, Question
from tensorcopy.judge.paired import Change, Reason
from tensorcopy.measure import launch, plan, settings, sides
from tensorcopy.measure.launch import Benchmark
from tensorcopy.measure.plan import Request, Task
from tensorcopy.measure.process import Program, SideFailed, shuffled
from tensorcopy.measure.sides import Side
from tensorcopy.numbers import counted
from tensorcopy.releases import environments, interpreters
from tensorcopy.results import function_profiles, histories, launches, reader
from tensorcopy.results.cases import Case, some
from tensorcopy.results.histories import History
from tensorcopy.results.launches import Launch, Place
from tensorcopy.results.result import Result
from tensorcopy.results.suite_specs import INSTRUCTIONS
from tensorcopy.worker import hardware, nvidia
from tensorcopy.worker.processes import ReportProgress, ignore_progress

# Half of the interval of a difference of two neighbours above which a case of a history gets as many launches again, up to 2^20 elements
# and beyond. The first halves the undecided cases up to 2^14, which take a third of the time
WIDE, WIDE_LARGE = 0.011, 0.02
EXACT = 0.5  # of a margin: half of an interval that decides a comparison
# Launches that begin a comparison which is measured for one answer. With four, variances are known so badly that more than 5 % of families
# of cases have a false alarm
FIRST = 8


@dataclass
class Run:
    """A run: what it has measured, and what went wrong."""

    request: Request
    campaign: Campaign
    paths: Paths
    say: Callable[[str], object]
    report_progress: ReportProgress
    opened: dict[Side, Program] = field(default_factory=dict)
    failed: dict[Side, TensorcopyError] = field(default_factory=dict)  # sides that cannot be measured
    suites: dict[str, Benchmark] = field(default_factory=dict)  # with the cases that are selected
    stored: list[Launch] = field(default_factory=list)  # of earlier runs; those that cannot be read have no part in a plan
    launches: list[Launch] = field(default_factory=list)  # of this one
    left: int = 0  # launches of times that the time did not suffice for
    problems: list[TensorcopyError] = field(default_factory=list)  # all that went wrong
    notes: dict[str, None] = field(default_factory=dict)  # what a user has to know of it
    installed: int = 0  # environments

    @property
    def folder(self) -> Path:
        """The folder of histories."""
        return self.request.folder or self.paths.results

    @property
    def is_over(self) -> bool:
        """Whether no further launch begins."""
        return monotonic() >= self.request.until

    @property
    def provenances(self) -> dict[Place, Mapping[str, Any]]:
        """The provenance of the sides that are open."""
        return {side.place: each.provenance for side, each in self.opened.items()}

    def own(self) -> list[History]:
        """Return the histories to which launches of this run can belong: the one of a name, or those of this processor."""
        processors = {hardware.processor(str(of["cpu"]), of["hardware"]) for of in self.provenances.values()}
        return own_histories(self.folder, self.campaign, self.request.history, processors)

    def tasks(self, request: Request, suites: Mapping[str, Benchmark], *kinds: str) -> list[Task]:
        """Return what is missing of these suites; kinds : of tasks."""
        found = plan.tasks(request, self.failed, suites, [*self.stored, *self.launches], self.provenances, self.campaign)
        return [task for task in found if task.kind in kinds]

    def begin(self) -> None:
        """Say what will be installed, then open a side that tells the suites.

        It is an installed one, or else the newest. Raises TensorcopyError where there is no such side or no suite, and DiskError.
        """
        files.require_room(self.folder)
        if self.request.needs == "cuda":
            self.leave_out()
        every = [*self.request.sides, *filter(None, [self.request.reference])]
        lacking = [each for each in every if not each.is_installed(self.campaign, self.paths)]
        missing = {each.path(self.campaign, self.paths): each for each in lacking}.values()
        self.installed = len(missing)
        if missing:
            folder = next(each for each in (self.paths.environments, *self.paths.environments.parents) if each.exists())
            needed = sum(environments.gigabytes(each.release) for each in missing)
            size = f"about {needed} GB, and " if needed else ""
            self.say(f"{counted(len(missing), 'environment')} to install: {size}{shutil.disk_usage(folder).free / 1e9:.0f} GB are free")
        self.share_suites()
        for side in sorted(self.request.sides, key=lambda side: (side.is_installed(self.campaign, self.paths), side.release), reverse=True):
            self.open([side])
            if side in self.opened:
                break
        else:
            raise next(iter(self.failed.values()))
        self.select()
        self.stored += [each for history in self.own() for each in history.launches]
        if line := plan.outlook(self.tasks(self.request, self.suites, "times", "counts")):
            self.say(line)

    def leave_out(self) -> None:
        """Leave out what no GPU here can run. Raises TensorcopyError where that is every release, or one of two to compare."""
        gpus, request = nvidia.visible_gpus(), self.request
        reasons = sides.unable([*request.sides, *filter(None, [request.reference])], gpus)
        lines = [f"torch {side.release.version} is skipped: {reasons[side]}" for side in request.sides if side in reasons]
        if len(lines) == len(request.sides) or (lines and request.together):
            what = f"{' and '.join(dict.fromkeys(gpu.name for gpu in gpus))} cannot run what is to be measured"
            allowed = "a release whose CUDA the driver supports, with kernels for this GPU"
            following = f"name another release, install a newer driver, or set {environments.BACKEND} to an older CUDA, such as cu126"
            raise TensorcopyError(what, got=lines[-1], allowed=allowed, next=following)
        for line in lines:
            self.say(line)
        able = tuple(side for side in request.sides if side not in reasons)
        self.request = replace(request, sides=able, reference=None if request.reference in reasons else request.reference)

    def share_suites(self) -> None:
        """Let the earlier of two commits run its own suites where it cannot import those of the later one.

        So a benchmark whose body has changed is the same on both sides, unless that is impossible. Raises DiskError.
        """
        before, revision = self.request.sides[0], self.request.sides[0].revision
        if revision is None or revision.suites_from == revision.folder:
            return
        self.open(self.request.sides)
        (after,) = self.request.sides[1:]
        earlier = {path: revision.folder / path.relative_to(revision.suites_from) for path in self.opened[after].suites.rglob("*.py")}
        if reasons := [f"{what}: {why}" for what, why in self.opened[before].broken.items() if what not in self.opened[after].broken]:
            self.notes[f"{revision.name} runs its own suites: {reasons[0]}"] = None
            own = replace(before, revision=replace(revision, suites_from=revision.folder))
            del self.opened[before]
            self.request = replace(self.request, sides=(own, after))
        elif edited := [path.name for path, own in earlier.items() if own.is_file() and own.read_bytes() != path.read_bytes()]:
            self.notes[f"{some(edited)} differs: both commits ran the later one's suites, so that this change is not compared"] = None

    def open(self, wanted: Iterable[Side]) -> None:
        """Open sides, installed unless they are; those that cannot be measured are `failed`, or raise it where both are needed.

        Raises DiskError.
        """
        closed = [each for each in dict.fromkeys(wanted) if each not in self.opened and each not in self.failed]
        for number, side in enumerate(closed):
            act = "checking" if side.is_installed(self.campaign, self.paths) else "installing"
            self.report_progress(number / len(closed), f"{act} {side}")
            try:
                self.opened[side] = sides.opened(side, self.campaign, self.paths, self.request.needs)
            except TensorcopyError as error:
                if self.request.together or isinstance(error, DiskError):
                    raise
                self.failed[side] = error

    def select(self) -> None:
        """Take note of the cases that a request selects of open sides, and of what cannot be imported. Raises TensorcopyError."""
        able = [self.opened[side] for side in dict.fromkeys([*self.request.sides, *self.opened]) if side in self.opened]
        devices = {device for each in able for device in each.provenance["accelerators"]}
        errors = []
        for what, why in {what: why for each in able for what, why in each.broken.items()}.items():
            name = re.search(r"No module named '(\w+)", why)
            following = f'requires = ["{name[1]}"] in [project] of tensorcopy.toml, or the package that has it' if name else "correct it"
            what, allowed = f"{what} of the suites cannot be measured", "what asv can import and make"
            errors.append(TensorcopyError(what, got=why, allowed=allowed, next=following))
        try:
            self.suites |= plan.wanted(self.request, launch.merged(able)[0], devices)
        except TensorcopyError as error:
            raise errors[0] if errors else error from error
        if self.request.selection or self.request.case:
            self.notes |= dict.fromkeys(map(str, errors))
        else:
            self.problems += [each for each in errors if str(each) not in map(str, self.problems)]

    def take_all(self) -> None:
        """Take what all sides lack, and more of the cases that are not exact enough."""
        request, suites = self.request, self.suites
        self.open(filter(None, [*request.sides, request.reference]))
        self.select()
        if request.together:  # a comparison shows both, however soon it ends
            self.take(self.tasks(request, suites, "counts"))
        self.left = self.take(self.tasks(request, suites, "times"))
        target, most = request.launches, request.most or 2 * request.launches
        while target < most and not self.is_over and (cases := self.wide()):
            what = f"{counted(len(cases), 'case')} not exact enough after {counted(target, 'launch')}"
            self.say(f"{what}: {some([case.name for case in cases])}")
            target = min(2 * target, most)
            of_history = plan.timed(suites, newest=False)
            texts = [text for suite in of_history.values() for text, index in suite.selected.items() if suite.cases[index] in cases]
            of_wide = launch.selected(of_history, texts, timed=True)
            self.left = self.take(self.tasks(replace(request, launches=target, again=False), of_wide, "times"))
        if not request.together:
            self.take(self.tasks(request, suites, "counts"))
        if request.functions and not hardware.missing_valgrind() and not self.is_over:
            self.take_functions()

    def wide(self) -> list[Case]:
        """Return the cases that are not exact enough between two neighbours.

        A case is chosen by the width of its interval, whatever the difference is: a choice by the verdict would have to share the chance
        of a false alarm.
        """
        of_sides = [[result for result in history.results if result.place in self.provenances] for history in self.own()]
        pairs = [Question(before, after, self.campaign.rules) for results in of_sides for before, after in pairwise(results)]
        changes = [each for question in pairs for each in comparisons.between(question).changes.items()]
        return sorted({case for case, change in changes if is_wide(case, change, self.request.half)}, key=str)

    def take(self, tasks: Sequence[Task]) -> int:
        """Take the launches of tasks, that which lacks most first, at random among equal ones; return how many are left."""
        done, total, title = 0, max(1, sum(task.launches for task in tasks)), ""

        def report(part: float, doing: str) -> None:
            self.report_progress((done + part) / total, f"{title}: {doing}")

        while True:
            tasks = [task.without(self.failed) for task in tasks]
            left = {number: task.launches for number, task in enumerate(tasks)}
            # a comparison has one launch of times, however long its sides took to start
            is_first = self.request.together and tasks[0].kind == "times" and "times" not in [each.kind for each in self.launches]
            if not any(left.values()) or (self.is_over and not is_first):
                return sum(left.values())
            number = max(shuffled(left), key=left.__getitem__)
            title = f"{tasks[number]}, launch {done + 1} of {total}"
            if taken := self.take_one(tasks[number], report):  # or else a side has failed; its error is noted
                done, tasks[number] = done + 1, tasks[number].after_one()
                if len(self.launches) == 1 and (line := plan.failures([taken], self.suites)):
                    self.say(line)

    def take_one(self, task: Task, report: ReportProgress) -> Launch | None:
        """Take a launch and write it into its history; None where a side does not start.

        Raises TensorcopyError for a named history of other conditions, and DiskError.
        """
        files.require_room(self.folder)
        host = re.sub(r"[^\w.+-]", "-", platform.node()).strip("._+-")[: settings.LONGEST_NAME] or "host"
        programs, fields = [self.opened[side] for side in task.sides], dict[str, Any]()
        if task.kind == "counts":
            fields = dict(programs[0].observed)
        elif self.request.reference in task.sides and len(programs) > 1:
            fields = {"reference": task.sides.index(self.request.reference)}
        try:
            taken = launch.take(programs, host, task.cases, kind=task.kind, report_progress=report, **fields)
        except SideFailed as error:
            if self.request.together:
                raise
            self.failed |= {side: error for side, program in zip(task.sides, programs) if program.place == error.program.place}
            return None
        conditions = histories.conditions_of(taken, requires=self.campaign.requires)
        named = self.request.history
        name = named or self.request.machine or host
        folder, is_new = histories.folder_of(self.folder, conditions, name, is_named=bool(named))
        launches.write(folder, taken)
        self.launches.append(taken)
        if is_new and self.request.folder is None:
            self.notes[f"a new history begins: {folder.name} ({conditions})"] = None
        return taken

    def take_functions(self) -> None:
        """Count the functions of each release whose instructions were counted, and that has none; write a file of each."""
        instructions = {name for name, suite in self.suites.items() if suite.spec.metric == INSTRUCTIONS}
        there = {side.place for each in (*self.stored, *self.launches) if instructions & each.suites.keys() for side in each.sides}
        folders = {each.conditions.environment: each.folder for each in reversed(self.own())}
        counted_sides = [each for each in self.request.sides if each in self.opened and each.place in there and each.environment in folders]
        for number, side in enumerate(counted_sides):
            of_side = folders[side.environment], *side.place[:2]
            if function_profiles.paths_of(*of_side):
                continue
            self.report_progress(number / len(counted_sides), f"functions of {side}")
            try:
                function_profiles.write(*of_side, functions(self.opened[side], self.campaign.profiler))
            except DiskError:
                raise  # the next file could not be stored either
            except TensorcopyError as error:
                self.problems.append(error)

    def end(self) -> None:
        """Take note of what a user has to know of it."""
        reference = self.request.reference
        if reference in self.failed and reference not in self.request.sides and not isinstance(self.failed[reference], SideFailed):
            self.notes[f"without the reference: {self.failed.pop(reference)}"] = None  # it cannot be installed here
        for side, each in self.opened.items():
            for device, reason in each.provenance.get("unsupported", {}).items():
                self.notes[f"torch {side.release.version} is not measured on {device}: {reason}"] = None
        if any(each.kind == "times" and len(each.sides) == 1 for each in self.launches) and not self.request.together:
            others = "measure takes turns with a reference, several --interpreter with each other"
            self.notes[f"measured alone, and compared with no other release: {others}"] = None
        if self.is_over and self.left:
            self.notes[f"stopped at the end of its time: {counted(self.left, 'launch')} left; the same command takes them"] = None
        if self.is_over and self.installed:
            self.notes["a part of the time went into installing; the same command has all of it now"] = None
        self.problems = [*dict.fromkeys([*self.failed.values(), *self.problems])]

    @cached_property
    def counts(self) -> dict[Side, int]:
        """The launches that each side has now of every case that all releases have."""
        of_history = plan.timed(self.suites, newest=False) or plan.timed(self.suites, newest=True)
        there = plan.counts([*self.stored, *self.launches], of_history, self.provenances)
        return {side: plan.fewest(there, side, of_history) for side in self.request.sides}

    @cached_property
    def histories(self) -> list[History]:
        """The histories to which its launches belong, each with the results of the sides."""
        places = {side.place for side in self.request.sides}
        return [replace(each, results=tuple(own for own in each.results if own.place in places)) for each in self.own()]

    @property
    def results(self) -> list[Result]:
        """The results of the sides, as far as they have launches."""
        return [result for history in self.histories for result in history.results]


def run(
    request: Request,
    campaign: Campaign,
    paths: Paths,
    *,
    say: Callable[[str], object] = lambda line: None,
    report_progress: ReportProgress = ignore_progress,
) -> Run:
    """Take the launches that a request lacks, and more of the cases that are not exact enough.

    say : is told in lines what will be installed, before it is, what will be taken, and which cases fail
    report_progress : is told what the run does

    Raises TensorcopyError where nothing can be measured, and DiskError.
    """
    of = Run(request, campaign, paths, say, report_progress)
    of.begin()
    try:
        of.take_all()
    except KeyboardInterrupt:
        if line := plan.failures(of.launches, of.suites):
            say(line)
        raise
    except DiskError as error:
        error.earlier = [*dict.fromkeys([*of.failed.values(), *of.problems])]
        raise
    of.end()
    return of


def is_wide(case: Case, change: Change, half: float | None) -> bool:
    """Return whether a time was compared less exactly than half of an interval, as a share, says; None for what a history shall have."""
    if not change.timed or change.reason not in (Reason.CHANGED, Reason.WITHIN_MARGIN, Reason.INTERVAL_TOO_WIDE, Reason.TOO_FEW_LAUNCHES):
        return False
    if not change.interval:
        return half is not None
    if half is None:
        half = WIDE_LARGE if comparisons.kind(case)[1] == len(comparisons.KINDS) else WIDE
    return bool((change.interval[1] / change.interval[0]) ** 0.5 - 1 > half)


def functions(program: Program, profiler: str, pattern: str = "") -> dict[str, Any]:
    """Return the functions of a side's cases, as `results.function_profiles.Profiles` describes them.

    profiler : the probe that counts them
    pattern : a regular expression on the names of cases; default: all

    Raises TensorcopyError where no case runs.
    """
    began = datetime.now(timezone.utc).isoformat(timespec="seconds")
    document = interpreters.run_probe(program.python, profiler, pattern, variables=program.variables)
    if not document["cases"]:
        raise TensorcopyError("no case runs", got=pattern, allowed="a case that this torch runs", next="another release")
    of_release = {name: program.provenance[name] for name in ("torch", "torch_sha", "python", "libc", "tensorcopy")}
    return {"version": function_profiles.VERSION, **of_release, "started": began, **document}


def compared(request: Request, outcome: Run, campaign: Campaign, margin: float | None = None) -> Comparison:
    """Return how the two sides of a request compare in the cases that it selects; margin : see `Question`.

    Raises TensorcopyError where one has no launch.
    """
    by_place = {result.place: result for result in outcome.results}
    if lacking := [side for side in request.sides if side.place not in by_place]:
        got, allowed = f"no launch of {lacking[0]}", "one of both"
        raise TensorcopyError("nothing was compared", got=got, allowed=allowed, next="repeat with more time")
    before, after = (by_place[side.place] for side in request.sides)
    comparison = comparisons.between(Question(before, after, campaign.rules, margin))
    asked = {suite.cases[index] for suite in outcome.suites.values() for index in suite.selected.values()}
    return replace(comparison, changes={case: change for case, change in comparison.changes.items() if case in asked})


def revisions_folder(paths: Paths) -> Path:
    """Return the folder of the launches of git commits."""
    return paths.environments.parent / "revisions" / "results"


def measured_here(history: str, own: Campaign, paths: Paths) -> set[str]:
    """Return the SHAs of the releases that were timed here: in the history of a name, or for "" in those of this processor."""
    return {result.sha for each in own_histories(paths.results, own, history) for result in each.results if result.timings}


def own_histories(folder: Path, campaign: Campaign, name: str, processors: Collection[str] = ()) -> list[History]:
    """Return the history of a name, or for "" those of some models of processors; of this one, where none is named."""
    of = processors or {hardware.own_processor()}
    loaded = reader.load_results(folder, campaign).histories
    return [each for each in loaded if (each.name == name if name else each.conditions.processor in of)]
