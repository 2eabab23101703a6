"""`asv continuous` and `asv compare`: what changed between two releases or git revisions, in asv's table.

`asv continuous` lets both take turns until every case is decided, `asv compare` judges stored launches.
"""

from __future__ import annotations

import re
from argparse import Namespace
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import inf, isfinite, nan
from typing import Any, NoReturn

import tabulate
from asv import util
from asv.console import log
from asv.repo import NoSuchNameError, get_repo
from asv_runner.console import color_print

from tensorcopy.asv_plugin import job_of_options, projection
from tensorcopy.asv_plugin.commands import campaign, paths_of
from tensorcopy.campaign import Campaign
from tensorcopy.errors import TensorcopyError
from tensorcopy.judge import comparisons
from tensorcopy.judge.comparisons import Comparison, Question
from tensorcopy.judge.paired import ALPHA, MARGIN, Change, Verdict
from tensorcopy.measure import now, revisions, settings
from tensorcopy.measure.plan import Measurement
from tensorcopy.measure.revisions import Revision
from tensorcopy.measure.taking import Job
from tensorcopy.numbers import counted, level, percent, quantity, ratio_interval, ratio_text
from tensorcopy.releases import release_table
from tensorcopy.results import reader, select
from tensorcopy.results.launches import Launch
from tensorcopy.results.result import Result
from tensorcopy.worker.devices import DEVICES

MARKS = {  # asv's, with which an unknown case would stand among those that stayed the same
    **{Verdict.SLOWER: "+", Verdict.FASTER: "-", Verdict.UNCHANGED: " ", Verdict.EQUAL: " "},
    **{Verdict.UNKNOWN: "?", Verdict.HIGHER: "^", Verdict.MORE: "^", Verdict.LOWER: "v", Verdict.FEWER: "v"},
}
GROUPS = {  # titles of `asv continuous --split`, by mark
    "-": "Benchmarks that have improved:",
    " ": "Benchmarks that have stayed the same:",
    "+": "Benchmarks that have got worse:",
    "!": "Benchmarks that fail now:",
    "^v": "Values that are higher (^) or lower (v):",
    "?": "Benchmarks that are undecided, or cannot be compared:",
}


def continuous(conf: Any, options: Namespace) -> int:
    """Measure two releases or revisions beside each other until every case is decided, and print the table of changes.

    Returns asv's exit code: 1 where a case is slower, 2 where a side cannot be measured.
    """
    _check_factor(options)
    repo = get_repo(conf)
    after = repo.get_hash_from_name(options.branch)
    try:
        before = repo.get_hash_from_parent(after) if options.base is None else repo.get_hash_from_name(options.base)
    except NoSuchNameError as error:
        raise util.UserError(f"{options.branch} has no parent") from error
    if before == after:
        raise TensorcopyError("nothing to compare", got=f"{after[:8]} twice", allowed="two releases or revisions", next="name another")
    if _are_alike(before, after, campaign()):
        return 0
    given = settings.from_environment()
    names = (options.base or f"{options.branch}^", options.branch)
    rows: list[_CaseLine] = []
    with job_of_options.job(conf, options, given) as job:
        of_environments = pairs(conf, options, job, (before, after), names)
        if isinstance(of_environments[0][0], Revision):
            job = job_of_options.beside_environments(job)
        for sides in of_environments:
            comparison = _judged(sides, job, options)
            if job.sides.failed or comparison is None:
                for problem in job.sides.failed.values():
                    log.error(str(problem))
                return 2
            place = sides[0].environment if len(of_environments) > 1 else ""
            rows += _lines(comparison, job.read().launches, job.selection, options, place)
    _print_changes(rows, ((before, names[0]), (after, names[1])), options)
    worse, sentences = _summary(rows)
    color_print("")
    for sentence in sentences:
        color_print(sentence, "red" if worse else "green")
    return int(worse)


def _summary(rows: Sequence[_CaseLine]) -> tuple[bool, list[str]]:
    """Return whether a case is slower or fails now, and what `asv continuous` prints below its table."""
    marks = {row.mark for row in rows if not row.change.accepted}
    worse = bool(marks & {"+", "!"})
    sentences = []
    if worse or "-" in marks:
        sentences = ["SOME BENCHMARKS HAVE CHANGED SIGNIFICANTLY.", f"PERFORMANCE {'DECREASED' if worse else 'INCREASED'}."]
    elif any(row.mark not in "?^v" for row in rows):
        sentences = ["BENCHMARKS NOT SIGNIFICANTLY CHANGED."]
    of_timed = Counter(row.change.timed for row in rows if row.change.reason in now.UNDECIDED)
    alone = sum(row.change.reason not in now.UNDECIDED for row in rows if row.change.verdict is Verdict.UNKNOWN)
    of = f"of {len(rows)}"
    sentences += [f"{counted(of_timed[True], 'case')} {of} undecided, more launches needed: -a rounds=N"] if of_timed[True] else []
    sentences += (
        [f"{counted(of_timed[False], 'case')} {of} tracked, with values that vary from launch to launch"] if of_timed[False] else []
    )
    values = sum(row.mark in "^v" for row in rows)
    sentences += [f"{counted(values, 'case')} {of} tracked, with a value that is higher or lower"] if values else []
    sentences += [f"{counted(alone, 'case')} {of} cannot be compared: failed, skipped, or on one side only"] if alone else []
    return worse, sentences


def compare(conf: Any, options: Namespace) -> int:
    """Print the table of changes between two releases or revisions that were measured, and return 0."""
    _check_factor(options)
    if not options.use_stats:
        raise TensorcopyError("a change cannot be told without statistics", got="--no-stats", allowed="intervals", next="leave it out")
    own, paths, repo = campaign(), paths_of(conf), get_repo(conf)
    shas = [repo.get_hash_from_name(name) for name in (options.revision1, options.revision2)]
    of_release = [own.releases.of(sha) is not None for sha in shas]
    if any(of_release) != all(of_release):
        _refuse_mixture((options.revision1, options.revision2), of_release)
    if _are_alike(shas[0], shas[1], own):
        return 0
    loaded = reader.load_results(paths.results if all(of_release) else revisions.results_of(paths), own.releases)
    for problem in loaded.problems:
        log.warning(str(problem))
    asked, command = settings.from_environment().device or "", f"asv compare {options.revision1} {options.revision2}"
    if all(of_release):
        names = [own.releases.version(sha) for sha in shas]
        selected = select.pair(names[0], names[1], loaded, own.releases, options.machine or "", asked, command=command, unit="")
        before, after = selected.before, selected.after
    else:
        before, after = _revisions(shas, loaded.results, options)
    question = Question(before, after, own.rules, margin=options.factor - 1)
    comparison = comparisons.between(question).selected(device=asked)
    devices = {case.device for case in comparison.changes}
    color_print(f"On {after.history}: {', '.join(each for each in DEVICES if each in devices)}")
    rows = _lines(comparison, loaded.launches, "", options)
    _print_changes(rows, ((shas[0], options.revision1), (shas[1], options.revision2)), options)
    return 0


def _revisions(shas: Sequence[str], results: Sequence[Result], options: Namespace) -> tuple[Result, Result]:
    """Return the results of two revisions under one torch, in one history: with the newest release. Raises TensorcopyError."""
    by_place: dict[tuple[str, str], dict[str, Result]] = {}
    for result in results:
        if options.machine in (None, result.history):
            by_place.setdefault((result.history, result.version), {})[result.revision] = result
    shared = [(of[shas[0]], of[shas[1]]) for of in by_place.values() if all(sha in of for sha in shas)]
    if not shared:
        raise TensorcopyError(
            "no history has both",
            got=f"{options.revision1} and {options.revision2}",
            allowed="two releases, or two git revisions, with results",
            next=f"asv continuous {options.revision1} {options.revision2}",
        )
    return max(shared, key=lambda each: release_table.minor(each[1].version))


def _are_alike(before: str, after: str, own: Campaign) -> bool:
    """Return whether no file that is measured differs between two revisions, and print that."""
    if own.releases.of(before) or own.releases.of(after) or revisions.differ(before, after, own):
        return False
    color_print(f"No file that is measured differs between {before[:8]} and {after[:8]}.")
    return True


def _check_factor(options: Namespace) -> None:
    if not 1 < options.factor < inf:
        raise TensorcopyError(
            "no change is of this factor",
            got=f"--factor {options.factor:g}",
            allowed="more than 1, and finite",
            next="leave --factor out: 1.1",
        )


def _refuse_mixture(names: tuple[str, str], of_release: Sequence[bool]) -> NoReturn:
    revision = names[of_release.index(False)]
    raise TensorcopyError(
        "a release of torch cannot be compared with a git revision",
        got=" and ".join(names),
        allowed="two releases, or two git revisions under one torch",
        next=f"asv continuous {revision}~1 {revision}",
    )


def pairs(conf: Any, options: Namespace, job: Job, shas: tuple[str, str], names: tuple[str, str]) -> list[tuple[Measurement, Measurement]]:
    """Return the two sides in each environment that has both releases; of revisions, under the newest torch. Raises TensorcopyError."""
    environments = job_of_options.environments(conf, options)
    before, after = (job.campaign.releases.of(sha) for sha in shas)
    if before is None and after is None:
        first, second = job_of_options.revisions_of(environments, dict(zip(names, shas)), job)
        first, note = revisions.with_suites_of(first, second, job)
        if note:
            log.warning(note)
        return [(first, second)]
    if before is None or after is None:
        _refuse_mixture(names, (before is not None, after is not None))
    reasons = {each: each.why_not(before) or each.why_not(after) for each in environments}
    usable = [each for each, reason in reasons.items() if not reason]
    if not usable:
        raise TensorcopyError(
            "no environment has both releases",
            got="; ".join(reasons.values()),
            allowed="a Python that both have wheels for",
            next=f"tensorcopy compare {before.version} {after.version}, by way of other releases",
        )
    return [(each.measurement(before), each.measurement(after)) for each in usable]


def _judged(sides: tuple[Measurement, Measurement], job: Job, options: Namespace) -> Comparison | None:
    """Take launches of two sides until every case is decided, and return their comparison; None where one cannot be measured."""
    most = job_of_options.rounds(options, settings.ENOUGH)
    names = " and ".join(each.name if isinstance(each, Revision) else each.release.tag for each in sides)
    under = f" under {sides[0].release.tag}" if isinstance(sides[0], Revision) else ""
    try:
        title = f" of {names}{under} [{sides[0].environment}]"
        comparison = now.judged(sides, job, title=title, most=most, margin=options.factor - 1, say=log.info)
        if comparison is None:
            raise job.nothing_selected()
        return comparison
    except TensorcopyError:
        if not job.sides.failed:
            raise
        return None
    finally:
        log.flush()


@dataclass(frozen=True)
class _CaseLine:
    """A line of the table of `asv continuous`."""

    mark: str
    name: str
    change: Change
    factor: float

    @property
    def ratio(self) -> float:
        return nan if self.change.ratio is None else self.change.ratio

    def cells(self) -> list[str]:
        """Return the cells of the table; a ratio that is not significant begins with ~, as asv's."""
        change = self.change
        before, after = (
            util.human_value(nan if value is None else value, change.unit) if change.timed else quantity(value, change.unit) or "n/a"
            for value in (change.before, change.after)
        )
        ratio = "n/a"
        if change.ratio is not None:
            doubtful = change.verdict is Verdict.UNKNOWN and not 1 / self.factor <= change.ratio <= self.factor
            ratio = f"{'~' if doubtful else ''}{ratio_text(change.ratio)}"
        if change.interval is not None and isfinite(change.interval[1]):
            ratio += f" ({ratio_interval(change.interval)})"
        name = f"{self.name}; accepted: {change.accepted}" if change.accepted else self.name
        return [self.mark, before, "failed" if self.mark == "!" else after, ratio, name]


def _lines(comparison: Comparison, launches: Collection[Launch], selection: str, options: Namespace, place: str = "") -> list[_CaseLine]:
    """Return a line for each selected case of a comparison.

    launches : that describe the suites; place : the environment, where there are several
    """
    before, after = comparison.before, comparison.after
    lines = []
    for case, text in projection.names(launches).items():
        if case in comparison.changes and re.search(selection, text):
            change = comparison.changes[case]
            fails = case in before.timings and case in after.failures and case not in after.timings
            mark = "!" if fails else MARKS[change.verdict]  # a tracked value is neither better nor worse
            lines.append(_CaseLine(mark, f"{text} [{place}]" if place else text, change, options.factor))
    return lines


def _print_changes(rows: Sequence[_CaseLine], sides: Sequence[tuple[str, str]], options: Namespace) -> None:
    """Print the table of changes as asv does; sides : SHA and name of both."""
    shown = [row for row in rows if not (options.only_changed and row.mark in " ?")]
    if options.sort == "ratio":
        shown.sort(key=lambda row: -row.ratio if isfinite(row.ratio) else 0.0)
    elif options.sort == "name":
        shown.sort(key=lambda row: row.name)
    before, after = (f"[{sha[:8]}] <{name}>" for sha, name in sides)
    ratio = f"Ratio ({level(1 - ALPHA)} interval)" if any(row.change.has_interval for row in rows) else "Ratio"
    headers = ["Change", f"Before {before}", f"After {after}", ratio, "Benchmark (Parameter)"]
    groups = GROUPS if options.split else {"".join(GROUPS): "All benchmarks:"}
    for marks, title in groups.items():
        cells = [row.cells() for row in shown if row.mark in marks]
        if cells:
            if not options.only_changed or options.split:
                color_print(f"\n{title}\n")
            color_print(tabulate.tabulate(cells, headers=headers, tablefmt="github"))
    if rows:
        color_print(f"\n{_legend(options.factor)}")


def _legend(factor: float) -> str:
    """Return how the table differs from that of `tensorcopy compare`, whose margin is another, and from asv's."""
    counts = f"A change counts from a factor of {factor:g} on (--factor); for tensorcopy compare from {percent(MARGIN)} on."
    return f"{counts} ?: not decided, more launches would tell, or not compared."
