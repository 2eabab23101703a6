"""`asv run` and `asv continuous`: releases take turns beside the reference release, two revisions with each other, a file a launch."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from functools import cache

from asv.console import log

from tensorcopy.asv_plugin import commands, reading, repository
from tensorcopy.campaign import Campaign
from tensorcopy.configuration import Paths
from tensorcopy.errors import TensorcopyError
from tensorcopy.judge import paired
from tensorcopy.measure import run as measuring
from tensorcopy.measure import settings, sides
from tensorcopy.measure.plan import Request
from tensorcopy.measure.run import Run


def run(campaign: Campaign, paths: Paths, options: Namespace) -> int:
    """Measure the releases that a range means and print their values; return 2 where something has failed."""
    interpreters, launches = _interpreters(options), settings.variable("TENSORCOPY_LAUNCHES", settings.launch_count, 0)
    if options.range == sides.NEW:
        named = [sides.NEW]
    elif options.range is None and interpreters:
        named = []  # all that they have
    else:
        named = [each.version for each in repository.of_range(options.range or campaign.releases[-1].tag, campaign)]
    measured = measuring.measured_here(options.machine or "", campaign, paths)
    chosen, reference, lines = sides.asked(named, interpreters, campaign, paths.pythons, measured)
    for line in lines:
        log.warning(line)
    request = Request(
        tuple(chosen),
        reference,
        **commands.fields(options, paths),
        launches=launches or commands.rounds(options, paired.FEWEST),
        most=1 if options.quick else 0,
        again=not launches,
        functions=not options.quick and (campaign.is_shipped or not options.bench),
    )
    outcome = _measured(request, campaign, paths)
    reading.print_values(outcome.histories, request.selection)
    failed = [line for result in outcome.results for line in result.failed(outcome.suites)]
    for line in failed:
        log.error(line)
    return 2 if outcome.problems or failed else 0


def continuous(campaign: Campaign, paths: Paths, options: Namespace) -> int:
    """Let two releases or revisions take turns until every case is exact enough, and print what changed; return 1 where a case is worse."""
    names = (options.base or f"{options.branch}^", options.branch)
    releases, commits = repository.pair(names, campaign)
    interpreters, fields = _interpreters(options), commands.fields(options, paths)
    if commits and repository.are_alike(commits, campaign):
        return 0
    if commits:
        both = sides.of_commits(dict(zip(names, commits)), campaign, paths, next(iter(interpreters), ""))
        fields["folder"] = fields["folder"] or measuring.revisions_folder(paths)
    elif interpreters:
        found = {each.release: each for each in sides.in_interpreters(interpreters, campaign, [each.version for each in releases])}
        both = [found[each] for each in releases]
    else:
        both = sides.pair(releases[0], releases[1], paths.pythons)
    margin, most = options.factor - 1, commands.rounds(options, settings.ENOUGH)
    request = Request(
        tuple(both),
        **fields,
        launches=min(measuring.FIRST, most),
        most=most,
        half=margin * measuring.EXACT,
        again=not commits,
        together=True,
    )
    comparison = measuring.compared(request, _measured(request, campaign, paths), campaign, margin)
    return reading.print_comparison(replace(comparison, labels=names) if commits else comparison, options)


def _measured(request: Request, campaign: Campaign, paths: Paths) -> Run:
    """Measure, and log what is done, each stage once, and what went wrong. Raises TensorcopyError."""
    say = cache(log.info)
    outcome = measuring.run(request, campaign, paths, say=say, report_progress=lambda _, doing: say(doing.partition(": ")[0]))
    for problem in outcome.problems:
        log.error(str(problem))
    for note in outcome.notes:
        log.warning(note)
    log.flush()
    return outcome


def _interpreters(options: Namespace) -> list[str]:
    """Return the interpreters that -E names. Raises TensorcopyError for another kind of environment."""
    if others := [each for each in options.env_spec if not each.startswith("interpreter:")]:
        allowed, following = "interpreter:PYTHON, whose torch is measured", "-E interpreter:same, or tensorcopy measure 2.15.0@3.9"
        raise TensorcopyError("torch cannot be measured there", got=f"-E {others[0]}", allowed=allowed, next=following)
    return [each.removeprefix("interpreter:") for each in options.env_spec]
