"""`asv run`: releases take turns beside the reference release, git revisions beside each other, and each launch becomes a file.

asv itself would measure one after the other, each with another state of the machine. What is printed looks as asv's users know it.
"""

from __future__ import annotations

import sys
import tempfile
from argparse import Namespace
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from asv import util
from asv.benchmarks import Benchmarks
from asv.console import log
from asv.repo import get_repo
from asv.results import Results as AsvResults
from asv.results import get_filename
from asv.runner import log_benchmark_result

from tensorcopy.asv_plugin import job_of_options, projection
from tensorcopy.asv_plugin.environment import MeasuringEnvironment
from tensorcopy.errors import TensorcopyError
from tensorcopy.judge import paired
from tensorcopy.measure import plan, revisions, settings, taking
from tensorcopy.measure.plan import Measurement
from tensorcopy.measure.revisions import Revision
from tensorcopy.measure.run import take
from tensorcopy.measure.taking import Job
from tensorcopy.numbers import counted
from tensorcopy.releases.environments import known_pythons
from tensorcopy.releases.release_table import Release
from tensorcopy.results import reader
from tensorcopy.results.launches import Place
from tensorcopy.worker import nvidia
from tensorcopy.worker.devices import cpu_model

ROUNDS = paired.FEWEST  # launches of `asv run`: with fewer, no difference is judged
HASHFILE = "HASHFILE:"  # begins a range


def run(conf: Any, options: Namespace) -> int:
    """Measure releases beside the reference, or revisions beside each other, print their times, and return asv's exit code.

    It is 2 where a case has failed.
    """
    given = settings.from_environment()
    with job_of_options.job(conf, options, given) as job:
        chosen = _chosen(job_of_options.environments(conf, options), get_repo(conf), options, job, is_resumed=bool(given.launches))
        if not chosen:
            log.info("every release that can be measured here has a result")
            return 0
        of_revisions = isinstance(chosen[0], Revision)
        if of_revisions:
            job = job_of_options.beside_environments(job)
        else:
            if job.sides.device == "cuda":
                chosen, lines = plan.runnable(chosen, nvidia.visible_gpus()[0])
                for line in lines:
                    log.warning(line)
            job = replace(job, reference=_reference(chosen, job))
        every = [*chosen, *filter(None, [job.reference])]
        size = (0 if of_revisions else given.environments) or len(every)  # revisions share environments
        plan.confirm_installing(every, job.paths, size, lambda text: (log.info(text), log.flush()))
        timed, counting = job.all_suites(chosen)
        there = taking.Missing(chosen, job, 0, timed).counts()
        launches = given.launches or max(there[each.place] for each in chosen) + job_of_options.rounds(options, ROUNDS)
        missing = taking.Missing(chosen, job, launches, timed, given.shard)
        parallel = given.parallel or plan.parallel(min(size, len(every)), job.sides.devices)
        for line in _intentions(missing, there, taking.outlook(missing, size, parallel, twice=False), is_resumed=bool(given.launches)):
            log.info(line)
        taken = take(
            missing,
            most=size,
            counts=counting or None,
            with_functions=not (options.bench or options.quick or of_revisions),
            parallel=parallel,
        )
        log.flush()
        for error in taken.problems:
            log.error(str(error))
        for warning in (*taken.without, *taken.notes):
            log.warning(str(warning))
        failed = bool(taken.problems)
        for measurement in chosen:
            if measurement not in job.sides.failed:
                failed |= _print_values(conf, measurement, {*timed, *counting}, job)
    return 2 if failed else 0


def _intentions(missing: taking.Missing, there: Mapping[Place, int], outlook: Sequence[str], *, is_resumed: bool) -> list[str]:
    """Return what a run is about to do: to take launches, also of what was measured before, or none.

    there : launches, by side; outlook : those that are missing; is_resumed : whether it was asked for a number of them in all
    """
    if not missing.suites:
        return []
    before = sum(there[each.place] > 0 for each in missing.measurements)
    again = f"{before} of {counted(len(missing.measurements), 'side')} measured before: --skip-existing adds no launch to those"
    return [*([again] if before and outlook and not is_resumed else []), *(outlook or ["no launch is missing, and none is taken"])]


def _reference(chosen: Sequence[Measurement], job: Job) -> Measurement | None:
    """Return what is in every launch: of several interpreters the newest; beside a single one the reference only if it is installed."""
    alone = any(each.interpreter for each in chosen)
    if alone and (len(chosen) > 1 or not job.paths.environments.exists()):
        return plan.joining(chosen)
    reference = plan.reference(job.campaign.releases, job.paths.pythons)
    return reference if reference and (reference.is_installed(job.paths) or not alone) else None


def _chosen(
    environments: Sequence[MeasuringEnvironment], repo: Any, options: Namespace, job: Job, *, is_resumed: bool
) -> list[Measurement]:
    """Return what asv's range means: releases in each environment that has them, or revisions under the newest torch.

    is_resumed : whether "NEW" without a new release means the newest two, to complete their launches
    """
    named = options.range
    loaded = reader.load_results(job.paths.results, job.campaign.releases)
    own = taking.own_histories(loaded, job.history, [cpu_model()])
    stored = [each for history in own for each in history.results if each.timings]
    measured = {each.sha for each in stored}
    if named is None:
        shas = [repo.get_hash_from_name(None)]
    elif named == plan.NEW:
        shas = [release.sha for release in plan.new(job.campaign.releases, measured)]
        if measured.issuperset(shas) and not is_resumed:
            return []
    elif named == "EXISTING":
        shas = [sha for sha in repo.get_branch_commits(None) if sha in measured]
    elif named in ("ALL", "TAGS"):
        shas = repo.get_branch_commits(None)
    elif named.startswith(HASHFILE):
        shas = [sha for name in _names_of(named.removeprefix(HASHFILE)) for sha in repo.get_hashes_from_range(name)]
    else:
        shas = repo.get_hashes_from_range(named)
    if options.date_period is not None:
        shas = repo.filter_date_period(shas, options.date_period, sorted(measured) if named == plan.NEW else None)
    if options.steps is not None:
        shas = util.pick_n(shas, options.steps)
    if not shas:
        raise TensorcopyError(
            "nothing to measure", got=f"no commit in {named}", allowed="a range of releases or commits", next="asv run NEW"
        )
    if job.campaign.releases.of(shas[0]) is None:
        chosen: Sequence[Measurement] = job_of_options.revisions_of(environments, {sha[:8]: sha for sha in reversed(shas)}, job)
        stored = [*reader.load_results(revisions.results_of(job.paths), job.campaign.releases).results]
    else:
        chosen = _measurements(environments, [job.campaign.releases.find(sha) for sha in shas])
        if named == "EXISTING":  # also of the Pythons
            chosen = [each for each in chosen if each.place in {result.place for result in stored}]
            if not chosen:
                names = ", ".join(each.name for each in environments)
                raise TensorcopyError("nothing to measure", got=f"no result in {names}", allowed="what was measured", next="asv run NEW")
    if options.skip_existing or options.skip_existing_commits:
        chosen = [each for each in chosen if each.place not in {result.place for result in stored}]
    return list(chosen)


def _names_of(file: str) -> list[str]:
    """Return the releases or commits that a file has, one a line; "-" means standard input. Raises TensorcopyError."""
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise TensorcopyError(
            "the file of hashes cannot be read",
            got=f"{file}: {getattr(error, 'strerror', '') or error}",
            allowed="a file with a release or commit on each line, or - for standard input",
            next="asv run NEW",
        ) from error
    return [name for line in text.splitlines() if (name := line.strip())]


def _measurements(environments: Sequence[MeasuringEnvironment], releases: Sequence[Release]) -> list[Measurement]:
    """Return each release in each environment that has it. Raises TensorcopyError for a release that none has."""
    measurements = []
    for release in releases:
        reasons = {each: each.why_not(release) for each in environments}
        usable = [each for each, reason in reasons.items() if not reason]
        if not usable:
            raise TensorcopyError(
                f"torch {release.version} cannot be measured here",
                got="; ".join(reasons.values()),
                allowed="a release that `tensorcopy list releases` shows as installable",
                next=f"-E release:{plan.python_for(release, known_pythons())}",
            )
        for each, reason in reasons.items():
            if reason and not each.interpreter:
                log.warning(f"torch {release.version} is skipped in {each.name}: {reason}")
        measurements += [each.measurement(release) for each in usable]
    return list(dict.fromkeys(measurements))


def _print_values(conf: Any, measurement: Measurement, suites: Collection[str], job: Job) -> bool:
    """Print the times and counts of a release as asv does, and return whether a case failed in its last launch.

    Nothing is printed of a release that has no launch yet: the time may end before its first.
    """
    found = [(each, result) for each in job.own() for result in each.results if result.place == measurement.place]
    if not found:
        return False
    history, result = found[-1]
    documents, commit = projection.documents([replace(history, results=(result,))]), result.revision or result.sha
    with tempfile.TemporaryDirectory() as folder:
        projection.write(documents, Path(folder))
        values = AsvResults.load(str(Path(folder) / get_filename(history.name, commit, measurement.environment)))
    described = [each for name, each in documents["benchmarks.json"].items() if name in suites]
    benchmarks = Benchmarks(conf, described, regex=job.selection)
    log.info(f"For {conf.project} commit {get_repo(conf).get_decorated_hash(commit, 8)}:")
    with log.indent():
        log.info(f"Benchmarking {measurement.environment}")
        with log.indent():
            for name in sorted(values.get_result_keys(benchmarks)):
                log.info(name, reserve_space=True)
                log_benchmark_result(values, benchmarks[name])
    failed = result.failed(suites)
    for line in failed:
        log.error(line)
    return bool(failed)
