"""`asv run` and `asv continuous`: releases take turns, and each launch becomes a file.

asv itself would measure one release after the other, each with another state of the machine. `asv run` measures releases beside the
reference release, `asv continuous` two releases beside each other. What is printed looks as asv's users know it.
"""

from __future__ import annotations

import re
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import isfinite, nan
from pathlib import Path
from typing import Any

import tabulate
from asv import environment, util
from asv.benchmarks import Benchmarks
from asv.commands.continuous import Continuous
from asv.commands.run import Run
from asv.console import log
from asv.machine import Machine, MachineCollection
from asv.repo import NoSuchNameError, get_repo
from asv.results import Results as AsvResults
from asv.results import get_filename
from asv.runner import log_benchmark_result
from asv_runner.console import color_print

from tensorcopy.analysis import comparisons, paired
from tensorcopy.analysis.paired import Change, Verdict
from tensorcopy.asv_plugin import projection
from tensorcopy.asv_plugin.commands import exit_on_error, paths_of
from tensorcopy.asv_plugin.environment import _MeasuringEnvironment
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import launch, plan
from tensorcopy.measure.plan import Measurement
from tensorcopy.measure.taking import Job, take_counts, take_launches, unpaired
from tensorcopy.numbers import counted
from tensorcopy.releases import release_table
from tensorcopy.releases.release_table import Release
from tensorcopy.results import launches, reader, series_key
from tensorcopy.results.cases import Case, cases_of
from tensorcopy.results.launches import Launch
from tensorcopy.results.reader import Result, Results
from tensorcopy.worker import hardware

ROUNDS = paired.FEWEST  # launches of `asv run`: with fewer, no difference is judged
PAIRED_ROUNDS = 8  # of `asv continuous`: the differences of two releases have a standard error below 1 %
DOTS = 60  # of a launch, on a terminal
EXISTING_ONLY = "a launch has every case of its releases"
MARKS = {Verdict.SLOWER: "+", Verdict.FASTER: "-", Verdict.UNCHANGED: " ", Verdict.UNKNOWN: " "}
GROUPS = {  # titles of `asv continuous --split`, by mark
    "-": "Benchmarks that have improved:",
    " ": "Benchmarks that have stayed the same:",
    "+": "Benchmarks that have got worse:",
    "!": "Benchmarks that fail now:",
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
ATTRIBUTES = ("rounds", "cpu_affinity")  # of asv's -a that a launch has


def measure_in_turns() -> None:
    """Let `asv run` and `asv continuous` take launches."""
    for command, measure in ((Run, _run), (Continuous, _continuous)):

        def measured(conf: Any, options: Any, measure: Callable[[Any, Namespace], int] = measure) -> int:
            with exit_on_error():
                return measure(conf, options)

        command.run_from_conf_args = measured


def _run(conf: Any, options: Namespace) -> int:
    """Measure releases beside the reference, print their times, and return asv's exit code: 2 where a case has failed."""
    with _job(conf, options) as job:
        environments, stored = _environments(conf, options), reader.load_results(job.paths.results).results
        measured = {(each.sha, each.environment) for each in stored if each.machine == job.machine and each.timings}
        chosen = _measurements(environments, _releases(conf, options, {sha for sha, _ in measured}))
        if options.skip_existing or options.skip_existing_commits:
            chosen = [each for each in chosen if each.place not in measured]
        if not chosen:
            log.info("every release that can be measured here has a result")
            return 0
        reference = plan.reference(job.paths.pythons)
        if reference and (reference.is_installed(job.paths) or not any(each.interpreter for each in chosen)):
            job = replace(job, reference=reference)
        timed, counting = (job.suites(chosen, timed=timed) for timed in (True, False))
        if not timed and not counting:
            raise TensorcopyError(
                "no benchmark is selected",
                got=f"--bench {' '.join(options.bench or ())}",
                allowed="a regular expression on names",
                next="asv check",
            )
        failed = False
        for group in plan.groups(chosen, job.reference, sys.maxsize):
            taken = _taken(group, job, _rounds(options, ROUNDS)) if timed else []
            if counting:
                log.info("Counting")
                counts, problems = take_counts(group, job, counting, report_progress=lambda _: log.dot())
                taken += counts
                for problem in problems:
                    log.error(str(problem))
                failed |= bool(problems)
            for measurement in group:
                failed |= measurement in job.failed or _print_values(conf, measurement, taken, {*timed, *counting}, job)
    return 2 if failed else 0


def _continuous(conf: Any, options: Namespace) -> int:
    """Measure two releases beside each other, print the table of changes, and return asv's exit code: 1 where a case is slower."""
    if options.factor <= 1:
        raise TensorcopyError(
            "a change of this factor is none", got=f"--factor {options.factor:g}", allowed="more than 1", next="leave --factor out: 1.1"
        )
    repo = get_repo(conf)
    try:
        after = release_table.find(repo.get_hash_from_name(options.branch))
        before = release_table.find(repo.get_hash_from_parent(after.sha) if options.base is None else repo.get_hash_from_name(options.base))
    except NoSuchNameError as error:
        raise util.UserError(f"Unknown commit {error}") from error
    environments = _environments(conf, options)
    reasons = {each: each.why_not(before) or each.why_not(after) for each in environments}
    usable = [each for each, reason in reasons.items() if not reason]
    if not usable:
        raise TensorcopyError(
            "no environment has both releases",
            got="; ".join(reasons.values()),
            allowed="a Python that both have wheels for",
            next=f"tensorcopy compare {before.version} {after.version}, by way of other releases",
        )
    rows: list[_Line] = []
    with _job(conf, options) as job:
        for each in usable:
            sides = [each.measurement(before), each.measurement(after)]
            taken = _taken(sides, job, _rounds(options, PAIRED_ROUNDS))
            if job.failed:
                return 2
            rows += _lines(taken[-1], _results(sides, job), job.selection, options, each.name if len(usable) > 1 else "")
    _print_changes(rows, (before, after), options)
    marks = {row.mark for row in rows}
    worse, better = bool(marks & {"+", "!"}), "-" in marks
    color = "red" if worse else "green"
    color_print("")
    color_print("SOME BENCHMARKS HAVE CHANGED SIGNIFICANTLY." if worse or better else "BENCHMARKS NOT SIGNIFICANTLY CHANGED.", color)
    if worse or better:
        color_print(f"PERFORMANCE {'DECREASED' if worse else 'INCREASED'}.", color)
    if undecided := sum(row.change.verdict is Verdict.UNKNOWN for row in rows):
        color_print(f"{counted(undecided, 'case')} of {len(rows)} would need more launches: -a rounds=N")
    return int(worse)


@contextmanager
def _job(conf: Any, options: Namespace) -> Iterator[Job]:
    """Yield the launches that options ask for; their folder is a temporary one where they are not kept.

    Raises TensorcopyError for options that a launch cannot have.
    """
    for name, (usual, why, next_step) in REFUSED_OPTIONS.items():
        value = getattr(options, name, usual[0])
        if value not in usual:
            shown = f"--{name.replace('_', '-')}" + ("" if isinstance(value, bool) else f" {value}")
            raise TensorcopyError("asv cannot measure releases in turns with this option", got=shown, allowed=why, next=next_step)
    attributes = options.attribute or {}
    if others := {*attributes} - {*ATTRIBUTES}:
        raise TensorcopyError(
            "a launch takes turns of a millisecond, whatever a benchmark's attributes are",
            got=", ".join(f"-a {name}={attributes[name]}" for name in sorted(others)),
            allowed="-a rounds=N, the number of launches, and -a cpu_affinity=CORE",
            next="leave it out",
        )
    cores = attributes.get("cpu_affinity") or [None]
    if len(cores) > 1:
        raise TensorcopyError(
            "a launch has all its releases on one core",
            got=f"--cpu-affinity {','.join(map(str, cores))}",
            allowed="one core",
            next=f"--cpu-affinity {cores[0]}",
        )
    paths = paths_of(conf)
    machine = _machine(options.machine, reader.load_results(paths.results))
    selection = "|".join(f"(?:{expression})" for expression in options.bench or ())
    kept = not (options.quick or getattr(options, "dry_run", False))
    with tempfile.TemporaryDirectory() as folder:
        yield Job(paths, machine, selection, core=cores[0], folder=None if kept else Path(folder))


def _rounds(options: Namespace, usual: int) -> int:
    """Return the number of launches."""
    return 1 if options.quick else (options.attribute or {}).get("rounds", usual)


def _taken(sides: Sequence[Measurement], job: Job, rounds: int) -> list[Launch]:
    """Take launches of these sides, beside the job's reference; what cannot be measured is logged, and `job.failed` has it."""
    for each in (*sides, *([job.reference] if job.reference else [])):
        if not each.is_installed(job.paths):
            log.info(f"Installing torch {each.release.version} on Python {each.python}")
    names = ", ".join(f"{each.release.tag} [{each.environment}]" for each in sides) if len(sides) < 4 else f"{len(sides)} releases"
    beside = f" beside {job.reference.release.tag}" if job.reference and job.reference not in sides else ""
    taken: list[Launch] = []
    for number in range(rounds):
        log.info(f"Launch {number + 1} of {rounds}: {names}{beside}")
        taken += take_launches(sides, job, report_case=lambda done, of, suite: log.dot() if done % max(1, of // DOTS) == 0 else None)
    log.flush()
    for error in job.failed.values():
        log.error(str(error))
    if unpaired(taken):
        log.warning(f"no release took turns with {names}: its times are compared with other such ones only, in wide intervals")
    return taken


def _machine(named: str | None, results: Results) -> str:
    """Return this machine's name in results: the one that is asked for or in asv's list, unless other hardware has results under it."""
    try:
        name = named or MachineCollection.load(Machine.get_unique_machine_name())["machine"]
    except util.UserError:  # it is not listed; launches have what the list would have
        name = Machine.get_unique_machine_name()
    holders = {result.machine: result.series_key.identity for result in results.results}
    return series_key.measured_as(name, hardware.identity(), holders)


def _environments(conf: Any, options: Namespace) -> list[_MeasuringEnvironment]:
    environments: list[_MeasuringEnvironment] = list(environment.get_environments(conf, options.env_spec))
    if not environments:
        raise TensorcopyError(
            "no environment to measure in", got=f"-E {' '.join(options.env_spec)}", allowed="release:N.N", next="asv setup prints the names"
        )
    return environments


def _releases(conf: Any, options: Namespace, measured: set[str]) -> list[Release]:
    """Return the releases of asv's range; measured : the SHAs of those that this machine has times of."""
    repo = get_repo(conf)
    named = options.range
    old: list[str] | None = None
    if named is None:
        shas = [repo.get_hash_from_name(None)]
    elif named == "NEW":
        old = sorted(measured)
        shas = repo.get_new_branch_commits(conf.branches, old)
    elif named == "EXISTING":
        shas = [sha for sha in repo.get_branch_commits(None) if sha in measured]
    elif named in ("ALL", "TAGS"):
        shas = repo.get_branch_commits(None)
    else:
        shas = repo.get_hashes_from_range(named)
    if options.date_period is not None:
        shas = repo.filter_date_period(shas, options.date_period, old)
    if options.steps is not None:
        shas = util.pick_n(shas, options.steps)
    return [release_table.find(sha) for sha in shas]


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
                next=f"-E release:{release.pythons[1]}",
            )
        for each, reason in reasons.items():
            if reason:
                log.warning(f"torch {release.version} is skipped in {each.name}: {reason}")
        measurements += [each.measurement(release) for each in usable]
    return list(dict.fromkeys(measurements))


def _print_values(conf: Any, measurement: Measurement, taken: Sequence[Launch], suites: Collection[str], job: Job) -> bool:
    """Print the times and counts of a release as asv does, and return whether a case has failed in these launches."""
    release, (result,) = measurement.release, _results([measurement], job)
    documents = projection.documents(replace(reader.load_results(job.results), results=(result,)))
    with tempfile.TemporaryDirectory() as folder:
        projection.write(documents, Path(folder))
        values = AsvResults.load(str(Path(folder) / get_filename(job.machine, release.sha, measurement.environment)))
    described = [each for name, each in documents["benchmarks.json"].items() if name in suites]
    benchmarks = Benchmarks(conf, described, regex=job.selection)
    log.info(f"For {conf.project} commit {get_repo(conf).get_decorated_hash(release.sha, 8)}:")
    with log.indent():
        log.info(f"Benchmarking {measurement.environment}")
        with log.indent():
            for name in sorted(values.get_result_keys(benchmarks)):
                log.info(name, reserve_space=True)
                log_benchmark_result(values, benchmarks[name])
    failures: dict[str, bool] = {}
    for each in taken:
        numbers = [str(number) for number, side in enumerate(each.sides) if (side.sha, side.environment) == measurement.place]
        for name, suite in each.suites.items():
            for by_side in suite.failed.values():
                failures |= {f"{name}: {by_side[number]}": True for number in (*numbers, launches.ALL) if numbers and number in by_side}
    for failure in failures:
        log.error(failure)
    return bool(failures)


def _results(measurements: Sequence[Measurement], job: Job) -> list[Result]:
    """Return the results of measurements on this machine."""
    results = [each for each in reader.load_results(job.results).results if each.machine == job.machine and not each.revision]
    by_place = {(each.sha, each.environment): each for each in results}
    return [by_place[each.place] for each in measurements]


@dataclass(frozen=True)
class _Line:
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
        before, after = (util.human_value(nan if value is None else value, change.unit) for value in (change.before, change.after))
        ratio = "n/a"
        if change.ratio is not None:
            doubtful = self.mark == " " and max(change.ratio, 1 / change.ratio) > self.factor
            ratio = f"{'~' if doubtful else ''}{change.ratio:.2f}"
        if change.interval is not None and isfinite(change.interval[1]):
            ratio += " ({:.2f} to {:.2f})".format(*change.interval)
        return [self.mark, before, "failed" if self.mark == "!" else after, ratio, self.name]


def _lines(taken: Launch, sides: Sequence[Result], selection: str, options: Namespace, place: str) -> list[_Line]:
    """Return a line for each selected case of a launch; place : the environment, where there are several."""
    before, after = sides
    changes = comparisons.between(before, after, margin=options.factor - 1).changes
    lines = []
    for text, case in _names(taken, selection):
        if case in changes:
            fails = case in before.timings and case in after.failures and case not in after.timings
            mark = "!" if fails else MARKS[changes[case].verdict]
            lines.append(_Line(mark, f"{text} [{place}]" if place else text, changes[case], options.factor))
    return lines


def _names(taken: Launch, selection: str) -> list[tuple[str, Case]]:
    """Return the selected cases of a launch, with asv's names."""
    return [
        (text, case)
        for name, suite in taken.suites.items()
        for text, case in zip(
            launch.names_of(name, suite.params), cases_of(name, tuple(suite.param_names), tuple(map(tuple, suite.params)))
        )
        if re.search(selection, text)
    ]


def _print_changes(rows: Sequence[_Line], releases: tuple[Release, Release], options: Namespace) -> None:
    """Print the table of changes as `asv continuous` does."""
    shown = [row for row in rows if not (options.only_changed and row.mark == " ")]
    if options.sort == "ratio":
        shown.sort(key=lambda row: -row.ratio if isfinite(row.ratio) else 0.0)
    elif options.sort == "name":
        shown.sort(key=lambda row: row.name)
    before, after = (f"[{release.sha[:8]}] <{release.tag}>" for release in releases)
    headers = ["Change", f"Before {before}", f"After {after}", f"Ratio ({1 - paired.ALPHA:.0%} interval)", "Benchmark (Parameter)"]
    groups = GROUPS if options.split else {"".join(GROUPS): "All benchmarks:"}
    for marks, title in groups.items():
        cells = [row.cells() for row in shown if row.mark in marks]
        if cells:
            if not options.only_changed or options.split:
                color_print(f"\n{title}\n")
            color_print(tabulate.tabulate(cells, headers=headers, tablefmt="github"))
