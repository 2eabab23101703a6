"""`asv run` and `asv continuous`: releases take turns beside the reference release, git revisions beside each other, a file a launch."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any

from asv.console import log
from asv.util import pick_n

from tensorcopy import configuration
from tensorcopy.asv_plugin import commands, reading
from tensorcopy.asv_plugin.commands import Log
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
from tensorcopy.results import reader
from tensorcopy.worker import nvidia
from tensorcopy.worker.hardware import own_processor

HASHFILE = "HASHFILE:"  # begins a range
FIRST_LOOK = 4  # launches of a comparison, which decide what is clear


def run(conf: Any, options: Namespace) -> int:
    """Measure what a range means and print the values; return 2 where something has failed."""
    repo, paths, given = TorchReleases(), configuration.paths(vars(conf)), settings.from_environment()
    chosen, interpreters = _chosen(repo, options, paths)
    if not chosen:
        log.info("every release that can be measured here has a result")
        return 0
    of_commits, needs = bool(chosen[0].revision), settings.needs(given.device)
    if interpreters:
        reference = max(chosen, key=lambda each: each.release) if len(chosen) > 1 else None
    else:
        reference = None if of_commits else sides.reference(repo.campaign.releases, paths.pythons)
    if needs == "cuda":
        chosen, lines = sides.runnable(chosen, nvidia.visible_gpus()[0])
        for line in lines:
            log.warning(line)
        reference = reference if reference and not sides.runnable([reference, *chosen], nvidia.visible_gpus()[0])[1] else None
    with commands.kept(options, measuring.revisions_folder(paths) if of_commits else None) as folder:
        asked = _request(chosen, options, given, folder)
        launches = given.launches or commands.rounds(options, paired.FEWEST)
        outcome = _measured(
            replace(
                asked,
                reference=reference,
                needs=needs,
                launches=launches,
                most=1 if options.quick else 0,
                again=not given.launches,
                newest=not of_commits,
                functions=not (of_commits or options.quick) and (repo.campaign.is_shipped or not options.bench),
                shard=given.shard or (1, 1),
                parallel=given.parallel or 0,
                environments=0 if of_commits else given.environments or 0,  # commits share environments
            ),
            repo,
            paths,
        )
        lines = [line for result in outcome.results for line in result.failed(outcome.suites)]
        histories = [
            replace(each, results=tuple(result for result in outcome.results if result in each.results)) for each in outcome.histories
        ]
        reading.print_values(conf, histories, asked.selection)
    for line in lines:
        log.error(line)
    return 2 if outcome.problems or lines else 0


def continuous(conf: Any, options: Namespace) -> int:
    """Let two releases or revisions take turns until every case is exact enough, and print what changed; return 1 where a case is worse."""
    repo, paths, given = TorchReleases(), configuration.paths(vars(conf)), settings.from_environment()
    after = repo.find(options.branch)
    before = repo.before(after, options.branch) if options.base is None else repo.find(options.base)
    names = (options.base or f"{options.branch}^", options.branch)
    if before == after:
        raise TensorcopyError("nothing to compare", got=f"{names[1]} twice", allowed="two releases or revisions", next="name another")
    reading.require_one_kind(before, after, names)
    pythons, interpreters = _environments(options, paths)
    if isinstance(before, str) and isinstance(after, str):
        if not sides.differ(before, after, repo.campaign):
            log.info(f"no file that is measured differs between {before[:8]} and {after[:8]}")
            return 0
        paths_of_both = replace(paths, pythons=tuple(pythons))
        commits = {names[0]: before, names[1]: after}
        both = sides.of_commits(commits, repo.campaign, paths_of_both, interpreter=next(iter(interpreters), ""))
    else:
        both = _releases([each for each in (before, after) if isinstance(each, Release)], pythons, interpreters, repo)
        if len({side.python for side in both}) > 1 or len(both) < len(names):
            got, following = " and ".join(map(str, both)), f"tensorcopy compare {' '.join(names)}, by way of other releases"
            raise TensorcopyError("no Python has both releases", got=got, allowed="one that both have wheels for", next=following)
    margin = options.factor - 1
    with commands.kept(options, measuring.revisions_folder(paths) if isinstance(after, str) else None) as folder:
        most = commands.rounds(options, settings.ENOUGH)
        request = replace(
            _request(both, options, given, folder),
            launches=min(FIRST_LOOK, most),
            most=most,
            half=margin * measuring.EXACT,
            again=isinstance(after, Release),
            together=True,
            newest=False,
            counts=None,
        )
        _measured(request, repo, paths)
        comparison = measuring.compared(request, repo.campaign, paths, margin)
    if comparison is None:
        raise TensorcopyError("nothing was compared", got="no launch of both", allowed="more time", next="raise TENSORCOPY_FOR")
    return reading.print_comparison(replace(comparison, labels=names if isinstance(after, str) else comparison.labels), options)


def _request(chosen: Sequence[Side], options: Namespace, given: Namespace, folder: Path | None) -> Request:
    return Request(
        tuple(chosen),
        selection=commands.selection(options),
        device=given.device or "",
        history=commands.history(options),
        machine=commands.machine(),
        folder=folder,
        until=monotonic() + (given.budget or inf),
    )


def _measured(request: Request, repo: TorchReleases, paths: Paths) -> RunOutcome:
    """Measure, and log what is done and what went wrong. Raises TensorcopyError."""
    measuring.confirm_installing(request, repo.campaign, paths, lambda line: (log.info(line), log.flush()))
    try:
        outcome = measuring.run(request, repo.campaign, paths, say=log.info, report_progress=Log())
    finally:
        log.flush()
    for problem in outcome.problems:
        log.error(str(problem))
    for note in outcome.notes:
        log.warning(note)
    return outcome


def _environments(options: Namespace, paths: Paths) -> tuple[list[str], list[str]]:
    """Return the Pythons and the interpreters that -E names, or the Pythons of asv.conf.json. Raises TensorcopyError for another kind."""
    named = [each.partition(":")[::2] for each in options.env_spec]
    others = [
        f"{kind}:{python}" for kind, python in named if kind not in ("release", "interpreter") or (kind == "interpreter" and not python)
    ]
    if others:
        allowed, following = "release:N.N or interpreter:PYTHON, of which the torch is measured", "leave -E out, or -E interpreter:same"
        raise TensorcopyError("torch cannot be measured there", got=f"-E {others[0].strip(':')}", allowed=allowed, next=following)
    pythons = [python for kind, python in named if kind == "release" and python]
    return pythons or list(paths.pythons), [python for kind, python in named if kind == "interpreter"]


def _chosen(repo: TorchReleases, options: Namespace, paths: Paths) -> tuple[list[Side], bool]:
    """Return what asv's range means: releases, or commits under the newest torch; and whether in interpreters. Raises TensorcopyError."""
    pythons, interpreters = _environments(options, paths)
    loaded = reader.load_results(paths.results, repo.campaign)
    own = measuring.own_histories(loaded, commands.history(options), [own_processor()])
    measured = {result.sha for history in own for result in history.results if result.timings}
    named, found = options.range, list[Release | str]()
    if named is None and interpreters:
        return sides.in_interpreters(interpreters, repo.campaign), True
    if named == sides.NEW:
        found += sides.new(repo.campaign.releases, measured)
        if measured.issuperset(each.sha for each in found if isinstance(each, Release)) and not settings.from_environment().launches:
            return [], False
    elif named == "EXISTING":
        found += [release for release in repo.campaign.releases if release.sha in measured]
    elif named and named.startswith(HASHFILE):
        found += [each for line in _lines(named.removeprefix(HASHFILE)) for each in repo.range(line)]
    else:
        found += [repo.find(None)] if named is None else repo.range(named)
    if options.steps:
        found = pick_n(found[::-1], options.steps)[::-1]  # the newest first, as asv does
    if not found:
        raise TensorcopyError(
            "nothing to measure", got=f"no release in {named}", allowed="a range of releases or commits", next="asv run NEW"
        )
    if commits := {each[:8]: each for each in found if isinstance(each, str)}:
        of_commits = sides.of_commits(
            commits, repo.campaign, replace(paths, pythons=tuple(pythons)), interpreter=next(iter(interpreters), "")
        )
        return of_commits, bool(interpreters)
    skips = options.skip_existing or options.skip_existing_commits
    releases = [each for each in found if isinstance(each, Release) and not (skips and each.sha in measured)]
    return _releases(releases, pythons, interpreters, repo) if releases else [], bool(interpreters)


def _lines(file: str) -> list[str]:
    """Return the releases or commits that a file has, one a line; "-" means standard input. Raises TensorcopyError."""
    try:
        return (sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")).split()
    except (OSError, ValueError) as error:
        allowed, got = "a file with a release or commit on each line, or -", f"{file}: {getattr(error, 'strerror', '') or error}"
        raise TensorcopyError("the file of hashes cannot be read", got=got, allowed=allowed, next="asv run NEW") from error


def _releases(releases: Sequence[Release], pythons: Sequence[str], interpreters: Sequence[str], repo: TorchReleases) -> list[Side]:
    """Return releases in the interpreters that have them, or on the first Python that has most of them. Raises TensorcopyError for none."""
    if interpreters:
        able = [each for each in sides.in_interpreters(interpreters, repo.campaign) if each.release in releases]
        lacking = [each.tag for each in releases if each not in {side.release for side in able}]
        if not able:
            allowed, following = "a release that one of them has", "leave -E out, which installs the release"
            raise TensorcopyError("no interpreter has this torch", got=", ".join(lacking), allowed=allowed, next=following)
        if lacking:
            log.warning(f"{', '.join(lacking)}: no interpreter has it")
        return able
    of_all = [python for python in pythons if all(release.runs_on(python) for release in releases)]
    chosen, lines = sides.choose([release.version for release in releases], repo.campaign, of_all or pythons)
    for line in lines:
        log.warning(line)
    return chosen
