"""`asv compare`, `asv find` and `asv show`: what stored launches say, in tables."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from math import log as ln
from operator import itemgetter
from pathlib import Path
from typing import Any

from asv.console import log
from rich.console import Console

from tensorcopy.asv_plugin import commands, repository
from tensorcopy.campaign import Campaign
from tensorcopy.configuration import Paths
from tensorcopy.errors import TensorcopyError
from tensorcopy.judge import case_history, comparisons
from tensorcopy.judge.comparisons import Comparison, Question
from tensorcopy.judge.paired import MARGIN, Reason
from tensorcopy.measure import run as measuring
from tensorcopy.measure import settings
from tensorcopy.numbers import duration, percent, quantity, ratio_text
from tensorcopy.releases.release_table import Release
from tensorcopy.report import comparison as comparison_report
from tensorcopy.report import table
from tensorcopy.results import reader, select
from tensorcopy.results.cases import Case, names_of
from tensorcopy.results.histories import History
from tensorcopy.results.launches import newest_suites
from tensorcopy.results.result import Result


def compare(campaign: Campaign, paths: Paths, options: Namespace) -> int:
    """Print what changed between two releases or revisions that were measured, and return 0, as asv does."""
    names = (options.revision1, options.revision2)
    releases, commits = repository.pair(names, campaign)
    device, margin = settings.variable("TENSORCOPY_DEVICE", settings.device_name, ""), options.factor - 1
    if commits and repository.are_alike(commits, campaign):
        return 0
    if commits:
        first, second = _of_commits(commits, _loaded(measuring.revisions_folder(paths), campaign).results, names)
        comparison = replace(comparisons.between(Question(first, second, campaign.rules, margin)), labels=names)
    else:
        loaded, (before, after) = _loaded(paths.results, campaign), (each.version for each in releases)
        command = f"asv compare {' '.join(names)}"
        pair = select.pair(before, after, loaded, campaign.releases, options.machine or "", device, command=command)
        comparison = case_history.between(Question(pair.before, pair.after, campaign.rules, margin), pair.history.results)
        device = pair.device
    print_comparison(comparison.selected(device=device), options)
    return 0


def _loaded(folder: Path, campaign: Campaign) -> reader.Results:
    """Return the results of a folder, and log a warning for each launch that cannot be read."""
    loaded = reader.load_results(folder, campaign)
    for problem in loaded.problems:
        log.warning(str(problem))
    return loaded


def _of_commits(commits: Sequence[str], results: Iterable[Result], names: Sequence[str]) -> list[Result]:
    """Return the results of two commits under one torch in one history: the newest release. Raises TensorcopyError where none has both."""
    by_place: dict[tuple[str, str, str], dict[str, Result]] = {}
    for result in results:
        by_place.setdefault((result.history, result.environment, result.version), {})[result.revision] = result
    both = [[of[commit] for commit in commits] for of in by_place.values() if of.keys() >= {*commits}]
    if not both:
        following = f"asv continuous {' '.join(names)}"
        raise TensorcopyError("no launch has both", got=" and ".join(names), allowed="revisions that took turns", next=following)
    return max(both, key=lambda of: (of[1].release, max(of[1].launches)))


def print_comparison(comparison: Comparison, options: Namespace) -> int:
    """Print the table of changes with asv's options, and return 1 where a case is slower, or fails now."""
    made, sections = comparison_report.report(comparison), []
    keys: dict[str, Callable[[Any], Any]] = {"ratio": lambda row: -(row.change.ratio or 0.0), "name": lambda row: row.name}
    for each in (each for each in made.sections if each.rows and not (options.only_changed and each.folded)):
        first = each.rows[0].change
        title = "fails now" if first.reason is Reason.FAILED_AFTER else str(first.verdict.value)
        rows = sorted(each.rows, key=keys[options.sort]) if options.sort in keys else each.rows
        sections.append(replace(each, rows=rows, title=each.title or title if options.split else each.title))
    counts_from = f"A change counts from a factor of {options.factor:g} on (--factor); for tensorcopy compare from {percent(MARGIN)} on."
    _print(replace(made, sections=sections, notes=[*made.notes, counts_from]))
    return int(comparison.has_slower or any(each.reason is Reason.FAILED_AFTER for each in comparison.changes.values()))


def find(campaign: Campaign, paths: Paths, options: Namespace) -> int:
    """Print between which neighbours a case changed most that the name selects, by the launches of one history; return 0."""
    bench = options.bench
    pattern = re.escape(bench) if "(" in bench else commands.selection(options)  # a name as asv prints it, or an expression
    releases = campaign.releases.select(options.range)
    if len(releases) == 1:
        following = f"asv find v2.8.0..v2.15.0 {bench}"
        raise TensorcopyError("nothing to search", got=options.range, allowed="A..B of two releases, B later than A", next=following)
    first, last = releases[0].version, releases[-1].version
    loaded, command = _loaded(paths.results, campaign), f"tensorcopy measure {options.range}"
    pair = select.pair(first, last, loaded, campaign.releases, options.machine or "", command=command)
    history, left = pair.history, [each for each in pair.history.results if each.release in releases]
    names, sign, what = asv_names(history), -1 if options.invert else 1, "improvement" if options.invert else "regression"
    found = [
        (sign * ln(change.size), names[case], change, before, after)
        for before, after in pairwise(left)
        for case, change in comparisons.between(Question(before, after, campaign.rules)).changes.items()
        if change.timed and change.reason is Reason.CHANGED and sign * ln(change.size) > 0 and re.search(pattern, names.get(case, ""))
    ]
    if not found:
        got, allowed = f"none of {bench} in {options.range} of {history.name}", "releases between which a time differs"
        raise TensorcopyError(f"no {what} to search for", got=got, allowed=allowed, next="other ends, or --invert")
    _, name, change, before, after = max(found, key=itemgetter(0))
    interval = f" ({' to '.join(map(ratio_text, change.interval))})" if change.interval else ""
    log.info(f"{name}: {ratio_text(change.size)}{interval} from {before.version} to {after.version}, in {history.name}")
    log.info(f"{what.capitalize()} found: {after.sha[:8]} <v{after.version}>")
    return 0


def show(campaign: Campaign, paths: Paths, options: Namespace) -> int:
    """Print the values of a release or git revision, or without one which have results, and return 0."""
    found = repository.find(options.commit, campaign) if options.commit else ""
    sha, shown = found.sha if isinstance(found, Release) else found, list[History]()
    for history in (each for folder in (paths.results, measuring.revisions_folder(paths)) for each in _loaded(folder, campaign).histories):
        results = tuple(each for each in history.results if sha in ("", each.revision or each.sha))
        if results and options.machine in (None, history.name):
            shown.append(replace(history, results=results))
    if not shown:
        raise TensorcopyError("no such result", got=options.commit or "none", allowed="one that was measured", next="asv show")
    if sha:
        print_values(shown, commands.selection(options))
        return 0
    rows = [
        (each.revision[:8] or campaign.releases.find(each.version).tag, each.sha[:8], history.name, each.environment)
        for history in shown
        for each in history.results
    ]
    _print(table.of_cells("", ("commit", "torch", "history", "environment"), rows, "llll"))
    return 0


def print_values(histories: Iterable[History], selection: str = "") -> None:
    """Print the values of results: of each case that asv's names select the time, half of its 95 % interval, and its launches."""
    for history in histories:
        names = {case: name for case, name in asv_names(history).items() if re.search(selection, name)}
        for result in history.results:
            times, rows = result.timings, list[tuple[str, ...]]()
            for case, name in names.items():
                if case in times:
                    half = times[case].interval[1] / times[case].seconds - 1
                    rows.append((name, duration(times[case].seconds), percent(half, 1) if half else "", str(times[case].launches), ""))
                elif case in result.counts:
                    rows.append((name, quantity(result.counts[case], case.spec.unit), "", "", ""))
                elif case in result.failures:
                    rows.append((name, "", "", "", f"failed: {result.failures[case]}"))
            of = f"{result.revision[:8]} with " if result.revision else ""
            heading = f"{of}torch {result.version} on Python {result.python}, {history.name}"
            _print(table.of_cells(heading, ("benchmark", "value", "±", "launches", ""), rows, "lrrrl"))


def asv_names(history: History) -> dict[Case, str]:
    """Return asv's name of every case: "copies.BySize.time_copy('tensor', 16)"."""
    suites = newest_suites(history.launches).items()
    return {case: text for name, suite in suites for case, text in zip(history.cases[name], names_of(name, suite.params))}


def _print(report: table.Report) -> None:
    console = Console(highlight=False)
    for line in table.terminal(report, console.width if console.is_terminal else table.PIPED, everything=True):
        console.print(line, soft_wrap=True)
