"""`asv run` and `asv continuous`: releases take turns beside the reference release, two revisions with each other, a file a launch."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
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
    pythons, interpreters = _environments(options, paths)
    chosen = _chosen(repo, options, paths, pythons, interpreters, adds=not launches)
    if not chosen:
        log.info("every release that can be measured here has a result")
        return 0
    reference = sides.newest(chosen) if interpreters else sides.reference(chosen, repo.campaign.releases, paths.pythons)
    with commands.kept(options, None) as folder:
        request, skipped = measuring.requested(
            chosen,
            reference,
            **commands.fields(options, folder),
            launches=launches or commands.rounds(options, paired.FEWEST),
            most=1 if options.quick else 0,
            again=not launches,
            functions=not options.quick and (repo.campaign.is_shipped or not options.bench),
        )
        for line in skipped:
            log.warning(line)
        outcome = _measured(request, repo, paths)
        failed = [line for result in outcome.results for line in result.failed(outcome.suites)]
        shown = [replace(each, results=tuple(own for own in outcome.results if own in each.results)) for each in outcome.histories]
        log.flush()
        reading.print_values(shown, request.selection)
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
    pythons, interpreters = _environments(options, paths)
    of_commits, both = isinstance(before, str), list[Side]()
    if isinstance(before, str) and isinstance(after, str):
        if reading.are_alike(before, after, repo):
            return 0
        own = replace(paths, pythons=tuple(pythons))
        both = sides.of_commits({names[0]: before, names[1]: after}, repo.campaign, own, next(iter(interpreters), ""))
    elif isinstance(before, Release) and isinstance(after, Release):
        found = _releases([before, after], pythons, interpreters, repo) if interpreters else sides.pair(before, after, pythons)
        both = [next(side for side in found if side.release == release) for release in (before, after)]
    margin, most = options.factor - 1, commands.rounds(options, settings.ENOUGH)
    with commands.kept(options, measuring.revisions_folder(paths) if of_commits else None) as folder:
        request, skipped = measuring.requested(
            both,
            None,
            **commands.fields(options, folder),
            launches=min(measuring.FIRST, most),
            most=most,
            half=margin * measuring.EXACT,
            again=not of_commits,
            together=True,
        )
        if skipped:
            raise TensorcopyError("no comparison on this GPU", got=skipped[0], allowed="two that it can run", next="name another")
        comparison = measuring.compared(request, _measured(request, repo, paths), repo.campaign, margin)
    return reading.print_comparison(replace(comparison, labels=names) if of_commits else comparison, options)


def _measured(request: Request, repo: TorchReleases, paths: Paths) -> RunOutcome:
    """Measure, and log what is done and what went wrong. Raises TensorcopyError."""
    measuring.confirm_installing(request, repo.campaign, paths, lambda line: (log.info(line), log.flush()))
    try:
        outcome = measuring.run(request, repo.campaign, paths, say=log.info, report_progress=commands.logged())
    finally:
        log.flush()
    for problem in outcome.problems:
        log.error(str(problem))
    for note in outcome.notes:
        log.warning(note)
    return outcome


def _environments(options: Namespace, paths: Paths) -> tuple[list[str], list[str]]:
    """Return the Pythons and the interpreters that -E names, or the Pythons of asv.conf.json. Raises TensorcopyError for another kind."""
    named = {"release": list[str](), "interpreter": list[str]()}
    for kind, _, python in (each.partition(":") for each in options.env_spec):
        if kind not in named or (kind == "interpreter" and not python):
            allowed, following = "release:N.N or interpreter:PYTHON, of which the torch is measured", "leave -E out, or -E interpreter:same"
            got = "-E " + f"{kind}:{python}".strip(":")
            raise TensorcopyError("torch cannot be measured there", got=got, allowed=allowed, next=following)
        named[kind] += filter(None, [python])
    return named["release"] or list(paths.pythons), named["interpreter"]


def _chosen(
    repo: TorchReleases, options: Namespace, paths: Paths, pythons: Sequence[str], interpreters: Sequence[str], *, adds: bool
) -> list[Side]:
    """Return the releases that asv's range means; none where all are measured, and launches are added. Raises TensorcopyError."""
    named = options.range
    if named is None and interpreters:
        return sides.in_interpreters(interpreters, repo.campaign)
    measured = {result.sha for result in measuring.measured_here(commands.history(options), repo.campaign, paths) if result.timings}
    found = sides.new(repo.campaign.releases, measured) if named == sides.NEW else repo.range(named or repo.campaign.releases[-1].tag)
    if not found:
        allowed, got = "a range of releases", f"no release in {named}"
        raise TensorcopyError("nothing to measure", got=got, allowed=allowed, next="asv run NEW")
    if named == sides.NEW and measured.issuperset(each.sha for each in found) and adds:
        return []
    skips = options.skip_existing or options.skip_existing_commits
    releases = [each for each in found if not (skips and each.sha in measured)]
    return _releases(releases, pythons, interpreters, repo) if releases else []


def _releases(releases: Sequence[Release], pythons: Sequence[str], interpreters: Sequence[str], repo: TorchReleases) -> list[Side]:
    """Return releases in the interpreters that have them, or on the first Python that has most of them. Raises TensorcopyError."""
    versions = [release.version for release in releases]
    if interpreters:
        return sides.in_interpreters(interpreters, repo.campaign, versions)
    of_all = [python for python in pythons if all(release.runs_on(python) for release in releases)]
    able, lines = sides.choose(versions, repo.campaign, of_all or pythons)
    for line in lines:
        log.warning(line)
    return able
