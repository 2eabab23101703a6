"""Let two environments or revisions take turns until every case is exact enough, or the time is over.

Precision decides how long a case is measured, not significance: who measures until something is significant will find something.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from tensorcopy.campaign import Campaign
from tensorcopy.errors import TensorcopyError
from tensorcopy.judge import comparisons
from tensorcopy.judge.comparisons import Comparison, Question
from tensorcopy.judge.paired import MARGIN, Change, Reason
from tensorcopy.measure import plan, taking
from tensorcopy.measure.plan import Measurement
from tensorcopy.measure.side_benchmarks import Benchmark
from tensorcopy.measure.taking import Job
from tensorcopy.numbers import counted
from tensorcopy.results.cases import Case, cases_of

# launches; after each but the last, only cases that are not exact enough get as many again. With a first stage of four, variances are
# known so badly that more than 5 % of families of cases have a false alarm
STAGES = (8, 16, 32, 64)
HISTORY = "here"  # the name of a history that is read once
FOLDER = "now"  # beside the environments: what was measured for one answer is not a part of the history
NAMED = 3  # undecided cases that are named
UNDECIDED = (Reason.INTERVAL_TOO_WIDE, Reason.TOO_FEW_LAUNCHES)  # what more launches can decide

EXACT = 0.5  # share of the margin, at most, that half of an interval is of a case which gets no more launches

Take = Callable[[int, Sequence[Case]], bool]


def judged(
    sides: Sequence[Measurement],
    job: Job,
    *,
    title: str = "",
    most: int = STAGES[-1],
    margin: float | None = None,
    resumes: bool = False,
    say: Callable[[str], object] = lambda _: None,
) -> Comparison | None:
    """Take launches of two sides until every case is exact enough, and return their comparison; None where one has no launch.

    job : selects the cases of the first stage; one launch is taken even if its time is over
    title : ends each step of the progress
    most : launches
    margin : see `Question`
    resumes : whether stored launches of both sides count
    say : called with a sentence on how many launches there may be, and after each stage on the cases that get more

    Raises TensorcopyError where a side cannot be measured, and for a damaged file where one has no launch.
    """
    before, after = (side.place for side in sides)
    stages = (*(stage for stage in STAGES if stage < most), most)
    taken = 0

    def take(stage: int, cases: Collection[Case]) -> bool:
        nonlocal taken
        selected = replace(job, selection=plan.expression_of(sorted(cases, key=str))) if cases else job
        if resumes:
            taken = max(taken, _stored(sides, selected))
        while taken < stage and not (taken and job.is_over):
            taken += 1
            report = job.step(f"launch {taken} of at most {most}{title}")
            taking.take_launch(sides, selected, all_or_none=True, report_progress=report)
        return taken >= stage

    def compared() -> Comparison | None:
        loaded = job.read()
        by_place = {result.place: result for history in job.own() for result in history.results}
        if before in by_place and after in by_place:
            question = Question(by_place[before], by_place[after], job.campaign.rules, margin)
            return comparisons.between(question)
        if loaded.problems:
            raise loaded.problems[0]
        return None

    if suites := job.suites(sides):
        is_known = not taking.varying(suites)
        minutes = plan.minutes(plan.seconds_of_side(suites) * len(sides) * (most if is_known else stages[0]), suites)
        early = "; fewer of a case that is exact before" if len(stages) > 1 else ""
        say(f"up to {counted(most, 'launch')} of {len(sides)} sides: {'at most ' if is_known else ''}{minutes}{early}")
    if not _take_values(sides, job):
        return compared()
    return in_stages(stages, take, compared, margin or MARGIN, lambda stage, cases: say(_left(stage, cases)))


def in_stages(
    stages: Sequence[int],
    take: Take,
    compared: Callable[[], Comparison | None],
    margin: float,
    leave: Callable[[int, Sequence[Case]], object] = lambda stage, cases: None,
) -> Comparison | None:
    """Return the comparison after as many stages as it needs; None without a launch.

    stages : the numbers of launches after which it is seen which cases get more
    take : takes launches of some cases, or of all for none, until there are so many; returns whether there are
    compared : compares what there is
    leave : called with a stage but the last, and the cases that get more
    """
    wide: list[Case] = []
    comparison = None
    for stage in stages:
        complete = take(stage, wide)
        comparison = compared()
        if comparison is None:
            return None
        wide = [case for case, change in comparison.changes.items() if is_wide(change, EXACT * margin)]
        if not wide or not complete:
            break
        if stage < stages[-1]:
            leave(stage, wide)
    return comparison


def is_wide(change: Change, half: float) -> bool:
    """Return whether a time was compared less exactly than half of an interval, as a share, says; also with too few launches."""
    if not change.timed or change.reason not in (Reason.CHANGED, Reason.WITHIN_MARGIN, *UNDECIDED):
        return False
    return change.interval is None or (change.interval[1] / change.interval[0]) ** 0.5 - 1 > half


def _left(stage: int, wide: Sequence[Case]) -> str:
    """Return how many cases get more launches after a stage, and the names of a few."""
    names, more = ", ".join(case.name for case in wide[:NAMED]), len(wide) - NAMED
    what = f"{counted(len(wide), 'case')} not exact enough after {counted(stage, 'launch')}"
    return f"{what}: {names}{f' and {more} more' if more > 0 else ''}"


def _take_values(sides: Sequence[Measurement], job: Job) -> bool:
    """Take the launches of tracked values that two sides lack, and return whether there is something to time."""
    for side in sides:
        if suites := taking.varying(job.suites([side], timed=False)):
            taking.take_counts([side], job.only(suites), suites, count=taking.OF_VALUES)
    return any(job.suites([side]) for side in sides)


def _stored(sides: Sequence[Measurement], job: Job) -> int:
    """Return how many launches have both sides with every selected case."""
    places = {side.place for side in sides}
    both = [each for each in job.stored() if places <= {side.place for side in each.sides}]
    counts = plan.launch_counts(both, job.suites(sides))
    return min(counts[place] for place in places)


def cases(sides: Sequence[Measurement], job: Job) -> Iterator[Case]:
    """Yield the selected timed cases of the newest side."""
    for suite in job.suites(sides).values():
        of_suite = _cases(suite)
        yield from (of_suite[index] for index in suite.selected.values())


def known_cases(job: Job) -> Iterator[Case]:
    """Yield every case of the suites that a job has asked for, also of devices that are not here."""
    for suites in job.sides.described.values():
        for suite in suites.values():
            yield from _cases(suite)


def _cases(suite: Benchmark) -> Sequence[Case]:
    return cases_of(suite.name, tuple(suite.param_names), tuple(map(tuple, suite.params)))


def sides(names: Sequence[str], campaign: Campaign, pythons: Sequence[str]) -> list[Measurement]:
    """Return what two names such as "2.14.1" or "2.15.0@3.11" are measured as, on the same Python unless a name has one.

    Raises TensorcopyError for a name that is no release, or cannot be installed here, or twice the same.
    """
    releases = [campaign.releases.find(name.partition("@")[0]) for name in names]
    shared = [python for python in pythons if all(release.runs_on(python) for release in releases)]
    chosen = [plan.select([name], campaign, shared or pythons)[0][0] for name in names]
    if chosen[0] == chosen[1]:
        raise TensorcopyError("nothing to compare", got=f"{names[0]} and {names[1]}", allowed="two releases", next="name another")
    return chosen
