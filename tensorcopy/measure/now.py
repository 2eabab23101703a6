"""Let two environments or revisions take turns until every case is decided or the time is over."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from tensorcopy.campaign import Campaign
from tensorcopy.errors import TensorcopyError
from tensorcopy.judge import comparisons
from tensorcopy.judge.comparisons import Comparison, Question
from tensorcopy.judge.paired import Reason
from tensorcopy.measure import plan, taking
from tensorcopy.measure.plan import Measurement
from tensorcopy.measure.side_benchmarks import Benchmark
from tensorcopy.measure.taking import Job
from tensorcopy.numbers import counted
from tensorcopy.results.cases import Case, cases_of

LOOKS = (4, 8, 16, 32, 64)  # launches after which the cases are judged
MACHINE = "here"  # the machine's name in results that are read once
FOLDER = "now"  # beside the environments: what was measured for one answer is not a part of the history
NAMED = 3  # undecided cases that are named
UNDECIDED = (Reason.INTERVAL_TOO_WIDE, Reason.TOO_FEW_LAUNCHES)  # what more launches can decide

Take = Callable[[int, Sequence[Case]], bool]


def judged(
    sides: Sequence[Measurement],
    job: Job,
    *,
    title: str = "",
    most: int = LOOKS[-1],
    margin: float,
    everywhere: bool = False,
    resumes: bool = False,
    say: Callable[[str], object] = lambda _: None,
) -> Comparison | None:
    """Take launches of two sides until every case is decided, and return their comparison; None where one has no launch.

    job : selects the cases of the first look; one launch is taken even if its time is over
    title : ends each step of the progress
    most : launches, the last of the looks
    margin, everywhere : see `Question`
    resumes : whether stored launches of both sides count
    say : called with a sentence on how many launches there may be, and after each look on the cases that are undecided

    Raises TensorcopyError where a side cannot be measured, and for a damaged file where one has no launch.
    """
    before, after = (side.place for side in sides)
    looks = (*(look for look in LOOKS if look < most), most)
    job = replace(job, looks=len(looks))
    taken = 0

    def take(look: int, cases: Collection[Case]) -> bool:
        nonlocal taken
        selected = replace(job, selection=plan.expression_of(sorted(cases, key=str))) if cases else job
        if resumes:
            taken = max(taken, _stored(sides, selected))
        while taken < look and not (taken and job.is_over):
            taken += 1
            report = job.step(f"launch {taken} of at most {most}{title}")
            taking.take_launch(sides, selected, all_or_none=True, report_progress=report)
        return taken >= look

    def compared() -> Comparison | None:
        loaded = job.read()
        by_place = {each.place: each for each in loaded.results if each.machine == job.machine}
        if before in by_place and after in by_place:
            question = Question(by_place[before], by_place[after], job.campaign.rules, margin, everywhere, len(looks))
            return comparisons.between(question)
        if loaded.problems:
            raise loaded.problems[0]
        return None

    if suites := job.suites(sides):
        is_known = not taking.varying(suites)
        minutes = plan.minutes(plan.seconds_of_side(suites) * len(sides) * (most if is_known else looks[0]), suites)
        early = "; fewer of a case that is decided before" if len(looks) > 1 else ""
        say(f"up to {counted(most, 'launch')} of {len(sides)} sides: {'at most ' if is_known else ''}{minutes}{early}")
    if not _take_values(sides, job):
        return compared()
    return judge(looks, take, compared, lambda look, cases: say(_left(look, cases)))


def judge(
    looks: Sequence[int],
    take: Take,
    compared: Callable[[], Comparison | None],
    leave: Callable[[int, Sequence[Case]], object] = lambda look, cases: None,
) -> Comparison | None:
    """Return the comparison after as many looks as it needs; None without a launch.

    looks : the numbers of launches after which is judged
    take : takes launches of some cases, or of all for none, until there are so many; returns whether there are
    compared : compares what there is, as one of so many looks
    leave : called with a look but the last, and the cases that it leaves undecided

    A case that a look decides is not timed again. Who judges after each launch, until something is significant, will find something. At
    fixed looks, which share the chance of a false alarm, it stays what it was: whichever look is the last, and however many launches it
    leaves a case. So all cases have the verdict of the last look, and whoever reads the launches later judges the same.
    """
    undecided: list[Case] = []
    comparison = None
    for look in looks:
        complete = take(look, undecided)
        comparison = compared()
        if comparison is None:
            return None
        undecided = [case for case, change in comparison.changes.items() if change.timed and change.reason in UNDECIDED]
        if not undecided or not complete:
            break
        if look < looks[-1]:
            leave(look, undecided)
    return comparison


def _left(look: int, undecided: Sequence[Case]) -> str:
    """Return how many cases a look leaves undecided, and the names of a few."""
    names, more = ", ".join(case.name for case in undecided[:NAMED]), len(undecided) - NAMED
    return f"{counted(len(undecided), 'case')} undecided after {counted(look, 'launch')}: {names}{f' and {more} more' if more > 0 else ''}"


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
        raise TensorcopyError(
            "nothing to compare", got=f"{names[0]} and {names[1]}", allowed="two releases or Pythons", next="name another"
        )
    return chosen
