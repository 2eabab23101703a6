"""`asv find`: search torch releases, and the builds between them, for the one with which a benchmark changed.

Each step compares both ends and the middle, by stored launches where these tell in which half the time changed, else by new launches of all
three. These are kept beside the environments: a history with more launches where something looked like a change would be biased.
"""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import log as ln
from pathlib import Path
from shlex import quote
from typing import Any

from asv.commands.find import draw_graph
from asv.console import log
from asv.repo import get_repo

from tensorcopy.asv_plugin import comparing, job_of_options, projection
from tensorcopy.asv_plugin.commands import campaign
from tensorcopy.errors import TensorcopyError
from tensorcopy.judge import comparisons
from tensorcopy.judge.comparisons import Comparison, Question
from tensorcopy.judge.paired import ALPHA, LEAST_SPREAD, Reason
from tensorcopy.measure import plan, settings, taking
from tensorcopy.measure.plan import Measurement
from tensorcopy.numbers import ratio_interval, ratio_text
from tensorcopy.releases import environments, wheel_index
from tensorcopy.results import histories, reader
from tensorcopy.results.cases import Case
from tensorcopy.results.reader import Results

LAUNCHES = 8  # of a step that stored ones do not decide: enough to see a difference of 2 %
FOLDER = "find"  # beside the environments


def search(builds: Sequence[str], sizes_of: Callable[[str, str, str], Sequence[float] | None]) -> list[str]:
    """Return between which builds, in order, a time changed: two, or more where a step told neither half.

    sizes_of : of the changes from an end to the middle and on to the other end, 0 where not significant; None to skip the middle
    """
    left = list(builds)
    while len(left) > 2:
        middle = len(left) // 2
        step = left[0], left[middle], left[-1]
        log.info(f"Testing {draw_graph(*map(builds.index, step), len(builds))}")
        sizes = sizes_of(*step)
        if sizes is None:
            del left[middle]
        elif any(sizes):
            left = left[: middle + 1] if sizes[0] > sizes[1] else left[middle:]
        else:
            break
    return left


@dataclass
class Search:
    """A search for an increase of a time, or a decrease."""

    sign: int  # of the log ratio that is searched for
    job: taking.Job
    sources: Sequence[tuple[Path, str]]  # folder of results and name of the history of launches that may be stored
    sides: dict[str, Measurement]  # by version
    added: ExitStack  # removes what only the search installed
    case: Case = field(init=False)  # that `start` chooses

    def start(self, ends: Sequence[str]) -> bool:
        """Choose the case that changed most between the ends, and return whether one changed significantly."""
        for (whole,) in self.looks(ends):
            names = projection.names([each for folder, *_ in self.sources for each in self.read(folder).launches])
            selected = [case for case, each in whole.changes.items() if each.timed and re.search(self.job.selection, names[case])]
            if changed := [case for case in selected if self.size(whole, case)]:
                self.case = max(changed, key=lambda case: self.size(whole, case))
                self.job = replace(self.job, selection=plan.expression_of([self.case]))
                log.info(f"{names[self.case]}: {self.ratio(whole)}")
                return True
            if selected and all(whole.changes[case].interval for case in selected):
                break
        return False

    def sizes(self, low: str, middle: str, high: str) -> Sequence[float] | None:
        """Return by how much the time changed in either half, see `search`."""
        try:
            for steps in self.looks([low, middle, high], margin=LEAST_SPREAD):
                change, sizes = steps[0].changes.get(self.case), [self.size(step, self.case) for step in steps]
                if change and change.reason in (Reason.FAILED_AFTER, Reason.NOT_MEASURED_AFTER):
                    log.warning(f"torch {middle} is skipped: {change.failure}")
                    return None
                if any(sizes):
                    return sizes
        except TensorcopyError as error:
            log.warning(str(error))
            if self.sides.get(middle) in (None, *self.job.sides.failed):
                return None
        return 0.0, 0.0

    def looks(self, versions: Sequence[str], **judging: Any) -> Iterator[list[Comparison]]:
        """Yield the comparisons of neighbours by the launches of each source, and last by new ones. Raises TensorcopyError."""
        for source in (*self.sources, None):
            folder, name = source or self._take([self._side(version) for version in versions])
            stored = (result for history in self.read(folder).histories if history.name == name for result in history.results)
            by_version = {each.version: each for each in stored if not each.revision}
            if by_version.keys() >= {*versions}:
                pairs = pairwise(by_version[version] for version in versions)
                yield [comparisons.between(Question(*pair, self.job.campaign.rules, **judging)) for pair in pairs]

    def read(self, folder: Path) -> Results:
        """Return what a folder of launches has."""
        return reader.load_results(folder, self.job.campaign.releases)

    def size(self, step: Comparison, case: Case) -> float:
        """Return by how much a case changed in the direction of the search, as a log ratio; 0 where that is not significant.

        Each source, and the new launches, is a chance of a false alarm: together they have that of one comparison.
        """
        change = step.changes.get(case)
        is_certain = change and change.reason is Reason.CHANGED and (change.p or 0.0) * (1 + len(self.sources)) <= ALPHA
        return max(0.0, self.sign * ln(change.size)) if change and is_certain else 0.0

    def ratio(self, step: Comparison) -> str:
        """Return the ratio of the times, with its interval, as `compare` has it."""
        question, (before, after) = Question(step.before, step.after, self.job.campaign.rules), step.labels
        change = comparisons.between(question).changes[self.case]
        interval = f" ({ratio_interval(change.interval)})" if change.interval else ""
        return f"{ratio_text(change.size)}{interval} from {before} to {after}, in {min(change.launches)} launches of {step.after.history}"

    def _side(self, version: str) -> Measurement:
        """Return a side; that of a build which is in no table is read from its wheel. Raises TensorcopyError."""
        if version not in self.sides:
            side = replace(next(iter(self.sides.values())), release=wheel_index.release(version))
            if not side.is_installed(self.job.paths):
                self.added.callback(environments.remove, side.path(self.job.paths))
            self.sides[version] = side
        return self.sides[version]

    def _take(self, sides: Sequence[Measurement]) -> tuple[Path, str]:
        """Take launches of these sides, and return where they are stored. Raises TensorcopyError."""
        plan.confirm_installing(sides, self.job.paths, len(sides), log.info)
        if not self.job.suites(sides):
            raise self.job.nothing_selected()
        folder = self.job.results
        for number in range(LAUNCHES):
            if self.job.is_over:
                break
            report = self.job.step(f"{LAUNCHES} launches of {', '.join(map(str, sides))}", number, LAUNCHES)
            folder = self.job.folder_of(taking.take_launch(sides, self.job, all_or_none=True, report_progress=report))
        log.flush()
        return folder.parent, folder.name


def find(conf: Any, options: Namespace) -> int:
    """Print between which releases or builds a benchmark changed, and return asv's exit code."""
    (first, _, last), bench = options.range.partition(".."), options.bench
    repo, given = get_repo(conf), settings.from_environment()
    shas = [repo.get_hash_from_name(first), *repo.get_hashes_from_range(options.range)[::-1]]
    releases = [release for sha in shas if (release := campaign().releases.of(sha))]
    if len({*releases}) < 2:
        allowed, following = "A..B of two releases of torch, B later than A", f"asv find v2.14.1..v2.15.0 {quote(bench)}"
        raise TensorcopyError("nothing to search", got=options.range, allowed=allowed, next=following)
    exact = [f"^{re.escape(bench)}$"] if "(" in bench else []  # a name as `asv compare` prints it
    options.bench = [settings.checked("benchmark_name", settings.expression, bench), *exact]
    options.quick, options.attribute = options.skip_save, None  # as `asv run` calls it
    with job_of_options.job(conf, options, given) as job, ExitStack() as added:
        side, _ = comparing.pairs(conf, options, job, (shas[0], shas[-1]), (first, last))[0]
        sides = {each.version: replace(side, release=each) for each in releases if each.runs_on(side.python)}
        job = replace(job, folder=job.folder or job.paths.environments.parent / FOLDER)
        loaded = reader.load_results(job.paths.results, job.campaign.releases)
        able = [each for each in histories.ranked(loaded.histories, given.device or "cpu") if options.machine in (None, each.name)]
        found_before = [(job.results, each.name) for each in job.own() if each.conditions.environment == side.environment]
        sources = [*((job.paths.results, each.name) for each in able), *found_before]
        finding = Search(-1 if options.invert else 1, job, sources, sides, added)
        direction, inverted = ("improvement", "") if options.invert else ("regression", " --invert")
        if not finding.start([releases[0].version, releases[-1].version]):
            got, allowed = f"no significant {direction} of {bench} in {options.range}", "two ends between which a time differs"
            following = f"asv find{inverted} {options.range} {quote(bench)}, or other ends"
            raise TensorcopyError(f"no {direction} to search for", got=got, allowed=allowed, next=following)
        found = search([*sides], finding.sizes)
        if len(found) == 2:
            try:
                found = search(wheel_index.between(found[0], found[1], side.python, job.campaign.releases), finding.sizes)
            except TensorcopyError as error:  # the index cannot be reached
                log.warning(str(error))
        for (step,) in finding.looks([found[0], found[-1]], margin=LEAST_SPREAD):
            if finding.size(step, finding.case):
                earlier = f", or in {', '.join(found[1:-1])} before it" if found[1:-1] else ""
                log.info(f"{direction.capitalize()} found: {step.after.sha[:8]} <v{found[-1]}>{earlier}")
                log.info(finding.ratio(step))
                break
    return 0
