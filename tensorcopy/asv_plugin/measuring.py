"""`asv run` and `asv continuous`: releases take turns beside the reference release, two revisions with each other, a file a launch."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from typing import Any

from asv.console import log

from tensorcopy import configuration
from tensorcopy.asv_plugin import commands, reading
from tensorcopy.asv_plugin.repository import TorchReleases
from tensorcopy.configuration import Paths
from tensorcopy.errors import TensorcopyError
from tensorcopy.judge import paired
from tensorcopy.measure import run as measuring
from tensorcopy.measure import settings, sides
from tensorcopy.measure.plan import Request
from tensorcopy.measure.run import RunOutcome
from tensorcopy.measure.sides import Side
from tensorcopy.releases.release_table import Release


def run(repo: TorchReleases, conf: Any, options: Namespace) -> int:
    """Measure the releases that a range means and print their values; return 2 where something has failed."""
    paths, launches = configuration.paths(vars(conf)), settings.variable("TENSORCOPY_LAUNCHES", settings.launch_count, 0)
    interpreters = _interpreters(options)
    measured = measuring.measured_here(commands.history(options), repo.campaign, paths)
    is_all = options.range is None and bool(interpreters)
    named = [] if is_all else _named(repo, options, measured, adds=not launches)
    if not (named or is_all):
        log.info("every release that can be measured here has a result")
        return 0
    chosen, reference, lines = sides.asked(named, interpreters, repo.campaign, paths.pythons, measured)
    for line in lines:
        log.warning(line)
    with commands.kept(options, None) as folder:
        request = Request(
            tuple(chosen),
            reference,
            **commands.fields(options, folder),
            launches=launches or commands.rounds(options, paired.FEWEST),
            most=1 if options.quick else 0,
            again=not launches,
            functions=not options.quick and (repo.campaign.is_shipped or not options.bench),
        )
        outcome = _measured(request, repo, paths)
        failed = [line for result in outcome.results for line in result.failed(outcome.suites)]
        log.flush()
        reading.print_values(outcome.histories, request.selection)
    for line in failed:
        log.error(line)
    return 2 if outcome.problems or failed else 0


def continuous(repo: TorchReleases, conf: Any, options: Namespace) -> int:
    """Let two releases or revisions take turns until every case is exact enough, and print what changed; return 1 where a case is worse."""
    paths, after = configuration.paths(vars(conf)), repo.find(options.branch)
    before = repo.before(after, options.branch) if options.base is None else repo.find(options.base)
    names = (options.base or f"{options.branch}^", options.branch)
    if before == after:
        raise TensorcopyError("nothing to compare", got=f"{names[1]} twice", allowed="two releases or revisions", next="name another")
    reading.require_one_kind(before, after, names)
    interpreters = _interpreters(options)
    of_commits, both = isinstance(before, str), list[Side]()
    if isinstance(before, str) and isinstance(after, str):
        if reading.are_alike(before, after, repo):
            return 0
        both = sides.of_commits({names[0]: before, names[1]: after}, repo.campaign, paths, next(iter(interpreters), ""))
    elif isinstance(before, Release) and isinstance(after, Release):
        of_interpreters = sides.in_interpreters(interpreters, repo.campaign, [before.version, after.version]) if interpreters else []
        found = of_interpreters or sides.pair(before, after, paths.pythons)
        both = [next(side for side in found if side.release == release) for release in (before, after)]
    margin, most = options.factor - 1, commands.rounds(options, settings.ENOUGH)
    with commands.kept(options, measuring.revisions_folder(paths) if of_commits else None) as folder:
        request = Request(
            tuple(both),
            **commands.fields(options, folder),
            launches=min(measuring.FIRST, most),
            most=most,
            half=margin * measuring.EXACT,
            again=not of_commits,
            together=True,
        )
        comparison = measuring.compared(request, _measured(request, repo, paths), repo.campaign, margin)
    return reading.print_comparison(replace(comparison, labels=names) if of_commits else comparison, options)


def _measured(request: Request, repo: TorchReleases, paths: Paths) -> RunOutcome:
    """Measure, and log what is done and what went wrong. Raises TensorcopyError."""
    try:
        outcome = measuring.run(request, repo.campaign, paths, say=log.info, report_progress=commands.logged())
    finally:
        log.flush()
    for problem in outcome.problems:
        log.error(str(problem))
    for note in outcome.notes:
        log.warning(note)
    return outcome


def _interpreters(options: Namespace) -> list[str]:
    """Return the interpreters that -E names. Raises TensorcopyError for another kind of environment."""
    named = [each.partition(":") for each in options.env_spec]
    if others := [f"{kind}:{python}".strip(":") for kind, _, python in named if kind != "interpreter" or not python]:
        allowed, following = "interpreter:PYTHON, whose torch is measured", "-E interpreter:same, or tensorcopy measure 2.15.0@3.9"
        raise TensorcopyError("torch cannot be measured there", got=f"-E {others[0]}", allowed=allowed, next=following)
    return [python for _, _, python in named]


def _named(repo: TorchReleases, options: Namespace, measured: set[str], *, adds: bool) -> list[str]:
    """Return what asv's range means as `sides.asked` takes it; nothing where all is measured, and launches are added.

    Raises TensorcopyError.
    """
    releases = repo.campaign.releases
    if options.range == sides.NEW:
        return [] if adds and measured.issuperset(each.sha for each in sides.new(releases, measured)) else [sides.NEW]
    found = repo.range(options.range or releases[-1].tag)
    if not found:
        allowed, got = "a range of releases", f"no release in {options.range}"
        raise TensorcopyError("nothing to measure", got=got, allowed=allowed, next="asv run NEW")
    skips = options.skip_existing or options.skip_existing_commits
    return [each.version for each in found if not (skips and each.sha in measured)]
