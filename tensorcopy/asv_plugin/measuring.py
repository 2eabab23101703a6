"""`asv run`, `asv continuous` and `asv compare`: releases or git revisions take turns, and each launch becomes a file.

asv itself would measure one after the other, each with another state of the machine. `asv run` measures releases beside the reference
release, and revisions beside each other; `asv continuous` measures two until every case is decided. What is printed looks as asv's users
know it.
"""

from __future__ import annotations

import re
import sys
import tempfile
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import inf, isfinite, nan
from pathlib import Path
from time import monotonic
from typing import Any, NoReturn

import tabulate
from asv import environment, util
from asv.benchmarks import Benchmarks
from asv.commands.compare import Compare
from asv.commands.continuous import Continuous
from asv.commands.run import Run
from asv.console import log
from asv.machine import Machine, MachineCollection
from asv.repo import NoSuchNameError, get_repo
from asv.results import Results as AsvResults
from asv.results import get_filename
from asv.runner import log_benchmark_result
from asv_runner.console import color_print

from tensorcopy.asv_plugin import projection
from tensorcopy.asv_plugin.commands import campaign, paths_of
from tensorcopy.asv_plugin.ending import exit_on_error, keeps
from tensorcopy.asv_plugin.environment import _MeasuringEnvironment
from tensorcopy.campaign import Campaign
from tensorcopy.errors import TensorcopyError
from tensorcopy.judge import comparisons, paired
from tensorcopy.judge.comparisons import Comparison, Question
from tensorcopy.judge.paired import Change, Verdict
from tensorcopy.measure import git, now, plan, revisions, run, settings, taking
from tensorcopy.measure.plan import Measurement
from tensorcopy.measure.revisions import Revision
from tensorcopy.measure.taking import Job, Sides
from tensorcopy.numbers import counted, quantity, ratio_interval, ratio_text
from tensorcopy.projects import runners
from tensorcopy.releases.environments import known_pythons
from tensorcopy.releases.release_table import Release
from tensorcopy.report.sentences import acknowledged_text, failures, levels
from tensorcopy.results import machine_names, reader, select
from tensorcopy.results.launches import Launch, Place
from tensorcopy.results.reader import Results
from tensorcopy.results.result import Result
from tensorcopy.worker import hardware, nvidia
from tensorcopy.worker.devices import DEVICES

ROUNDS = paired.FEWEST  # launches of `asv run`: with fewer, no difference is judged
DOTS = 60  # of a launch, on a terminal
HASHFILE = "HASHFILE:"  # begins a range
SHORT_SHA = re.compile(r"[0-9a-f]{8}\b")
EXISTING_ONLY = "a launch has every case of its releases"
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
# options of asv that need its own way of measuring: the attribute, values that say nothing else than the usual way, and why not
REFUSED_OPTIONS = {
    "profile": ((False,), "the functions of a release are counted, not sampled", "tensorcopy why CASE A B, or asv profile BENCHMARK"),
    "set_commit_hash": ((None,), "a launch is stored under the SHA that torch reports", "-E interpreter:same"),
    "parallel": ((1,), "a launch has all its releases on one core", "leave --parallel out"),
    "launch_method": ((None, "auto", "forkserver"), "each case is timed in a fork of a process that has imported torch", "leave it out"),
    "durations": ((0,), "a launch has no duration of a benchmark", "leave --durations out"),
    "skip_existing_successful": ((False,), EXISTING_ONLY, "--skip-existing-commits"),
    "skip_existing_failed": ((False,), EXISTING_ONLY, "--skip-existing-commits"),
}


def measure_in_turns() -> None:
    """Let `asv run` and `asv continuous` take launches, and `asv compare` judge them."""
    for command, act in ((Run, _run), (Continuous, _continuous), (Compare, _compare)):
        let(command, act)


def let(command: Any, act: Callable[[Any, Namespace], int]) -> None:
    """Let a command of asv do what `act` does with its configuration and options, and end in one line where that raises an error."""

    def acted(conf: Any, options: Namespace) -> int:
        keeps("complete launches are kept")
        with exit_on_error():
            return act(conf, options)

    command.run_from_conf_args = acted


def _run(conf: Any, options: Namespace) -> int:
    """Measure releases beside the reference, or revisions beside each other, print their times, and return asv's exit code.

    It is 2 where a case has failed.
    """
    given = settings.from_environment()
    with _job(conf, options, given) as job:
        chosen = _chosen(conf, options, job, is_resumed=bool(given.launches))
        if not chosen:
            log.info("every release that can be measured here has a result")
            return 0
        of_revisions = isinstance(chosen[0], Revision)
        if of_revisions:
            job = _beside_environments(job)
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
        launches = given.launches or max(there[each.place] for each in chosen) + _rounds(options, ROUNDS)
        missing = taking.Missing(chosen, job, launches, timed, given.shard)
        parallel = given.parallel or plan.parallel(min(size, len(every)), job.sides.devices)
        for line in _intentions(missing, there, taking.outlook(missing, size, parallel, twice=False), is_resumed=bool(given.launches)):
            log.info(line)
        taken = run.take(
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


class _Log:
    """Log each new stage of a run, and a dot for each step of it."""

    def __init__(self) -> None:
        self._stage, self._dots = "", 0

    def __call__(self, done: float, doing: str) -> None:
        stage, _, _ = doing.partition(": ")
        if stage != self._stage:
            self._stage, self._dots = stage, 0
            log.info(stage if SHORT_SHA.match(stage) else f"{stage[:1].upper()}{stage[1:]}")
        elif int(done * DOTS) > self._dots:
            self._dots = int(done * DOTS)
            log.dot()


def _continuous(conf: Any, options: Namespace) -> int:
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
    with _job(conf, options, given) as job:
        pairs = _pairs(conf, options, job, (before, after), names)
        if isinstance(pairs[0][0], Revision):
            job = _beside_environments(job)
        for sides in pairs:
            comparison = _judged(sides, job, options)
            if job.sides.failed or comparison is None:
                for problem in job.sides.failed.values():
                    log.error(str(problem))
                return 2
            place = sides[0].environment if len(pairs) > 1 else ""
            rows += _lines(comparison, job.read().launches, job.selection, options, place)
    _print_changes(rows, ((before, names[0]), (after, names[1])), options)
    worse, sentences = _summary(rows)
    color_print("")
    for sentence in sentences:
        color_print(sentence, "red" if worse else "green")
    return int(worse)


def _summary(rows: Sequence[_CaseLine]) -> tuple[bool, list[str]]:
    """Return whether a case is slower or fails now, and what `asv continuous` prints below its table."""
    marks = {row.mark for row in rows if not row.change.acknowledged}
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


def _compare(conf: Any, options: Namespace) -> int:
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
    named = [each.name for each in environment.get_environments(conf, options.env_spec, verbose=False)] if options.env_spec else None
    by_place: dict[tuple[str, str, str], dict[str, Result]] = {}
    for result in loaded.results:
        if options.machine in (None, result.machine) and (named is None or result.environment in named):
            torch = "" if all(of_release) else own.releases.version(result.sha)
            by_place.setdefault((result.machine, result.environment, torch), {})[result.revision or result.sha] = result
    shared = {place: (of[shas[0]], of[shas[1]]) for place, of in by_place.items() if all(sha in of for sha in shas)}
    if not shared:
        raise TensorcopyError(
            "no machine has measured both",
            got=f"{options.revision1} and {options.revision2}",
            allowed="two releases, or two git revisions, with results",
            next=f"asv continuous {options.revision1} {options.revision2}",
        )
    of_both = [result for of in by_place.values() for result in of.values() if result.machine in {machine for machine, _, _ in shared}]
    asked = settings.from_environment().device or ""
    device = select.device_of(
        of_both, asked, command=f"asv compare {options.revision1} {options.revision2} with", option="TENSORCOPY_DEVICE="
    )
    answering = select.longest_history(of_both, device)
    shared = {place: sides for place, sides in shared.items() if place[0] == answering}
    questions = {place: Question(before, after, own.verdicts, margin=options.factor - 1) for place, (before, after) in shared.items()}
    compared = {place: comparisons.between(question).selected(device=asked) for place, question in questions.items()}
    devices = {case.device for comparison in compared.values() for case in comparison.changes}
    color_print(f"On {answering}: {', '.join(each for each in DEVICES if each in devices)}")
    rows = [
        line
        for (_, place, torch), comparison in compared.items()
        for line in _lines(
            comparison, loaded.launches, "", options, " with torch ".join(filter(None, [place, torch])) if len(compared) > 1 else ""
        )
    ]
    _print_changes(rows, ((shas[0], options.revision1), (shas[1], options.revision2)), options)
    return 0


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


def _pairs(conf: Any, options: Namespace, job: Job, shas: tuple[str, str], names: tuple[str, str]) -> list[tuple[Measurement, Measurement]]:
    """Return the two sides in each environment that has both releases; of revisions, under the newest torch. Raises TensorcopyError."""
    environments = _environments(conf, options)
    before, after = (job.campaign.releases.of(sha) for sha in shas)
    if before is None and after is None:
        first, second = _revisions(environments, dict(zip(names, shas)), job)
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


def _revisions(environments: Sequence[_MeasuringEnvironment], commits: Mapping[str, str], job: Job) -> list[Revision]:
    """Return commits, by name, under the newest torch that one of the environments has. Raises TensorcopyError."""
    paths = replace(job.paths, pythons=tuple(each.python for each in environments))
    made = revisions.under_newest(commits, job.campaign, paths, interpreter=environments[0].interpreter)
    for each in made:
        if pointers := git.pointers(revisions.checked_out(each.commit, paths)):
            names = ", ".join(pointers[:3]) + (", …" if pointers[3:] else "")
            log.warning(f"{each.name} has pointers of Git LFS in place of files: {names}; install git-lfs, and repeat")
    return made


def _beside_environments(job: Job) -> Job:
    """Return a job whose launches are of revisions, unless they are not kept."""
    return job if job.folder else replace(job, folder=revisions.results_of(job.paths))


def _judged(sides: tuple[Measurement, Measurement], job: Job, options: Namespace) -> Comparison | None:
    """Take launches of two sides until every case is decided, and return their comparison; None where one cannot be measured."""
    most = _rounds(options, now.ENOUGH)
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


@contextmanager
def _job(conf: Any, options: Namespace, given: Namespace) -> Iterator[Job]:
    """Yield the launches that options ask for; their folder is a temporary one where they are not kept.

    given : the settings that environment variables give

    Raises TensorcopyError for options that a launch cannot have.
    """
    for name, (usual, why, next_step) in REFUSED_OPTIONS.items():
        value = getattr(options, name, usual[0])
        if value not in usual:
            shown = f"--{name.replace('_', '-')}" + ("" if isinstance(value, bool) else f" {value}")
            raise TensorcopyError("asv cannot measure releases in turns with this option", got=shown, allowed=why, next=next_step)
    attributes = options.attribute or {}
    if others := {*attributes} - {"rounds"}:
        raise TensorcopyError(
            "a launch takes turns of a millisecond, whatever a benchmark's attributes are",
            got=", ".join(f"-a {name}={attributes[name]}" for name in sorted(others)),
            allowed="-a rounds=N, the number of launches",
            next="leave it out; taskset -c CORE before the command chooses its core",
        )
    if not 1 <= (rounds := attributes.get("rounds", 1)) <= settings.MOST_LAUNCHES:
        raise TensorcopyError(
            "no such number of launches", got=f"-a rounds={rounds}", allowed=f"1 to {settings.MOST_LAUNCHES}", next="leave it out"
        )
    own, paths = campaign(), paths_of(conf)
    named = settings.checked("--machine", settings.machine_name, options.machine) if options.machine is not None else None
    machine = _machine(named, reader.load_results(paths.results, own.releases))
    selection = "|".join(f"(?:{settings.checked('--bench', settings.expression, each)})" for each in options.bench or ())
    selection = plan.on_device(selection, given.device) if given.device else selection
    kept = not (options.quick or getattr(options, "dry_run", False))
    with tempfile.TemporaryDirectory() as folder:
        sides, until = Sides(own, paths, given.device or runners.device_of(machine)), monotonic() + given.budget
        yield Job(sides, machine, selection, folder=None if kept else Path(folder), until=until, report_progress=_Log())


def _rounds(options: Namespace, usual: int) -> int:
    """Return the number of launches."""
    return 1 if options.quick else (options.attribute or {}).get("rounds", usual)


def _machine(named: str | None, results: Results) -> str:
    """Return this machine's name in results: the one that is asked for or in asv's list, unless other hardware has results under it."""
    try:
        name = named or MachineCollection.load(Machine.get_unique_machine_name())["machine"]
    except util.UserError:  # it is not listed; launches have what the list would have
        name = Machine.get_unique_machine_name()
    return machine_names.measured_as(name, hardware.identity(), results.holders)


def _environments(conf: Any, options: Namespace) -> list[_MeasuringEnvironment]:
    environments: list[_MeasuringEnvironment] = list(environment.get_environments(conf, options.env_spec))
    if not environments:
        raise TensorcopyError(
            "no environment to measure in", got=f"-E {' '.join(options.env_spec)}", allowed="release:N.N", next="asv setup prints the names"
        )
    return environments


def _chosen(conf: Any, options: Namespace, job: Job, *, is_resumed: bool) -> list[Measurement]:
    """Return what asv's range means: releases in each environment that has them, or revisions under the newest torch.

    is_resumed : whether "NEW" without a new release means the newest two, to complete their launches
    """
    environments, repo, named = _environments(conf, options), get_repo(conf), options.range
    stored = [
        each
        for each in reader.load_results(job.paths.results, job.campaign.releases).results
        if each.machine == job.machine and each.timings
    ]
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
        chosen: Sequence[Measurement] = _revisions(environments, {sha[:8]: sha for sha in reversed(shas)}, job)
        stored = [
            each
            for each in reader.load_results(revisions.results_of(job.paths), job.campaign.releases).results
            if each.machine == job.machine
        ]
    else:
        chosen = _measurements(environments, [job.campaign.releases.find(sha) for sha in shas])
        if named == "EXISTING":  # also of the Pythons
            chosen = [each for each in chosen if each.place in {result.place for result in stored}]
            if not chosen:
                names = ", ".join(each.name for each in environments)
                raise TensorcopyError(
                    "nothing to measure", got=f"no result of {job.machine} in {names}", allowed="what was measured", next="asv run NEW"
                )
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


def _measurements(environments: Sequence[_MeasuringEnvironment], releases: Sequence[Release]) -> list[Measurement]:
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
    loaded = job.read()
    result = next((each for each in loaded.results if each.machine == job.machine and each.place == measurement.place), None)
    if result is None:
        return False
    documents, commit = projection.documents([result], loaded.launches), result.revision or result.sha
    with tempfile.TemporaryDirectory() as folder:
        projection.write(documents, Path(folder))
        values = AsvResults.load(str(Path(folder) / get_filename(job.machine, commit, measurement.environment)))
    described = [each for name, each in documents["benchmarks.json"].items() if name in suites]
    benchmarks = Benchmarks(conf, described, regex=job.selection)
    log.info(f"For {conf.project} commit {get_repo(conf).get_decorated_hash(commit, 8)}:")
    with log.indent():
        log.info(f"Benchmarking {measurement.environment}")
        with log.indent():
            for name in sorted(values.get_result_keys(benchmarks)):
                log.info(name, reserve_space=True)
                log_benchmark_result(values, benchmarks[name])
    failed = failures(result, suites)
    for line in failed:
        log.error(line)
    return bool(failed)


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
        return [self.mark, before, "failed" if self.mark == "!" else after, ratio, f"{self.name}{acknowledged_text(change)}"]


def _lines(comparison: Comparison, launches: Collection[Launch], selection: str, options: Namespace, place: str) -> list[_CaseLine]:
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
    shown_levels = levels(row.change for row in rows)
    ratio = f"Ratio ({shown_levels} interval)" if shown_levels else "Ratio"
    headers = ["Change", f"Before {before}", f"After {after}", ratio, "Benchmark (Parameter)"]
    groups = GROUPS if options.split else {"".join(GROUPS): "All benchmarks:"}
    for marks, title in groups.items():
        cells = [row.cells() for row in shown if row.mark in marks]
        if cells:
            if not options.only_changed or options.split:
                color_print(f"\n{title}\n")
            color_print(tabulate.tabulate(cells, headers=headers, tablefmt="github"))
