"""`asv run` and `asv continuous`: releases take turns, and each launch becomes a file.

asv itself would measure one release after the other, each with another state of the machine. `asv run` measures releases beside the
reference release, `asv continuous` two releases beside each other. What is printed looks as asv's users know it.
"""

from __future__ import annotations

import re
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
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
from tensorcopy.configuration import Paths
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import launch, plan
from tensorcopy.measure.plan import Measurement
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
EXISTING_ONLY = "a launch has every case of its releases"
MARKS = {Verdict.SLOWER: "+", Verdict.FASTER: "-", Verdict.UNCHANGED: " ", Verdict.INCONCLUSIVE: " "}
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


@dataclass(frozen=True)
class _Order:
    """What the options of a command ask for.

    machine : its name in results
    selection : a regular expression on asv's names; "" for every case
    rounds, turns : launches, and turns of a case in each
    core : to pin to; None for any
    saved : whether launches are kept
    """

    paths: Paths
    machine: str
    selection: str
    rounds: int
    turns: int
    core: int | None
    saved: bool

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """Yield the folder into which launches are written: a temporary one where they are not kept."""
        if self.saved:
            yield self.paths.results
            return
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder)


def measure_in_turns() -> None:
    """Let `asv run` and `asv continuous` take launches."""
    for command, measure in ((Run, _run), (Continuous, _continuous)):

        def measured(conf: Any, options: Any, measure: Callable[[Any, Namespace], int] = measure) -> int:
            with exit_on_error():
                return measure(conf, options)

        command.run_from_conf_args = measured


def _run(conf: Any, options: Namespace) -> int:
    """Measure releases beside the reference, print their times, and return asv's exit code: 2 where a case has failed."""
    order = _order(conf, options, ROUNDS)
    environments = _environments(conf, options)
    known = reader.load_results(order.paths.results).results
    measured = {(result.sha, result.environment) for result in known if result.machine == order.machine and result.timings}
    releases = _releases(conf, options, {sha for sha, _ in measured})
    chosen = _measurements(environments, releases)
    if options.skip_existing or options.skip_existing_commits:
        chosen = [each for each in chosen if each.place not in measured]
    if not chosen:
        log.info("every release that can be measured here has a result")
        return 0
    reference = _reference(chosen, order)
    failed = False
    with order.folder() as folder:
        for group in plan.groups(chosen, reference, sys.maxsize):
            sides = list(dict.fromkeys([*group, *([reference] if reference else [])]))
            taken = _take(sides, order, folder, reference)
            loaded = reader.load_results(folder)
            for measurement in group:
                failed |= _print_times(conf, measurement, taken[-1], loaded, order)
    return 2 if failed else 0


def _continuous(conf: Any, options: Namespace) -> int:
    """Measure two releases beside each other, print the table of changes, and return asv's exit code: 1 where a case is slower."""
    if options.factor <= 1:
        raise TensorcopyError(
            "a change of this factor is none", got=f"--factor {options.factor:g}", allowed="more than 1", next="leave --factor out: 1.1"
        )
    order = _order(conf, options, PAIRED_ROUNDS)
    repo = get_repo(conf)
    try:
        after = release_table.find(repo.get_hash_from_name(options.branch))
        before = release_table.find(repo.get_hash_from_parent(after.sha) if options.base is None else repo.get_hash_from_name(options.base))
    except NoSuchNameError as error:
        raise TensorcopyError(
            "no such release", got=str(error), allowed="a tag such as v2.15.0, or a SHA", next="tensorcopy list releases"
        ) from error
    rows: list[_Line] = []
    environments = _environments(conf, options)
    usable = [each for each in environments if not (each.why_not(before) or each.why_not(after))]
    if not usable:
        raise TensorcopyError(
            "no environment has both releases",
            got="; ".join(dict.fromkeys(filter(None, (each.why_not(release) for each in environments for release in (before, after))))),
            allowed="a Python that both have wheels for",
            next=f"asv run {before.tag}^! and asv run {after.tag}^!, then tensorcopy compare {before.version} {after.version}",
        )
    with order.folder() as folder:
        for each in usable:
            sides = [each.measurement(before), each.measurement(after)]
            taken = _take(sides, order, folder, None)
            rows += _lines(
                taken[-1], _sides(sides, reader.load_results(folder), order), options, order, each.name if len(usable) > 1 else ""
            )
    _print_changes(rows, (before, after), options)
    color_print("")
    marks = {row.mark for row in rows}
    if marks & {"+", "!"}:
        color_print("SOME BENCHMARKS HAVE CHANGED SIGNIFICANTLY.", "red")
        color_print("PERFORMANCE DECREASED.", "red")
    elif "-" in marks:
        color_print("SOME BENCHMARKS HAVE CHANGED SIGNIFICANTLY.", "green")
        color_print("PERFORMANCE INCREASED.", "green")
    else:
        color_print("BENCHMARKS NOT SIGNIFICANTLY CHANGED.", "green")
    undecided = sum(row.change.verdict is Verdict.INCONCLUSIVE for row in rows)
    if undecided:
        color_print(f"{counted(undecided, 'case')} of {len(rows)} would need more launches: -a rounds=N")
    return int(bool(marks & {"+", "!"}))


def _order(conf: Any, options: Namespace, rounds: int) -> _Order:
    """Return what the options ask for. Raises TensorcopyError for those that a launch cannot have."""
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
    paths, quick = paths_of(conf), options.quick
    return _Order(
        paths,
        _machine(options.machine, reader.load_results(paths.results)),
        "|".join(f"(?:{expression})" for expression in options.bench or ()),
        1 if quick else attributes.get("rounds", rounds),
        launch.FEWEST_TURNS if quick else launch.TURNS,
        cores[0],
        not (quick or getattr(options, "dry_run", False)),
    )


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
    elif named.startswith("HASHFILE:"):
        file = named.partition(":")[2]
        shas = [repo.get_hash_from_name(word) for word in (sys.stdin.read() if file == "-" else Path(file).read_text()).split()]
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


def _reference(chosen: Sequence[Measurement], order: _Order) -> Measurement | None:
    """Return the reference release; None, with a warning, beside an interpreter where it is not installed, as on a cluster."""
    reference = plan.reference(order.paths.pythons)
    if reference and (reference.is_installed(order.paths) or not any(each.interpreter for each in chosen)):
        return reference
    log.warning(f"unpaired: torch {plan.REFERENCE} is not here to take turns with, so the intervals are wide")
    return None


def _take(sides: Sequence[Measurement], order: _Order, folder: Path, reference: Measurement | None) -> list[Launch]:
    """Take the launches of these sides, and write each into a folder as soon as it has ended."""
    opened = []
    for each in sides:
        if not each.is_installed(order.paths):
            log.info(f"Installing torch {each.release.version} on Python {each.python}")
        opened.append(each.side(each.opened(order.paths), order.paths))
    names = " and ".join(f"{each.release.tag} [{each.environment}]" for each in sides)
    taken = []
    for number in range(order.rounds):
        log.info(f"Launch {number + 1} of {order.rounds}: {names} in turns" if len(sides) < 4 else f"Launch {number + 1} of {order.rounds}")
        one = launch.take(
            opened,
            order.machine,
            selection=order.selection,
            reference=sides.index(reference) if reference else None,
            turns=order.turns,
            core=order.core,
            report_case=lambda done, of, suite: log.dot() if done % max(1, of // 60) == 0 else None,
        )
        launches.write(folder, one)
        taken.append(one)
    log.flush()
    return taken


def _print_times(conf: Any, measurement: Measurement, taken: Launch, loaded: Results, order: _Order) -> bool:
    """Print the times of a release as asv does, and return whether a case has failed in the launch."""
    documents = projection.documents(replace(loaded, results=tuple(_sides([measurement], loaded, order))))
    release = measurement.release
    with tempfile.TemporaryDirectory() as folder:
        projection.write(documents, Path(folder))
        (machine,) = (path.parent.name for path in Path(folder).glob("*/machine.json"))
        times = AsvResults.load(str(Path(folder) / get_filename(machine, release.sha, measurement.environment)))
    described = [each for name, each in documents["benchmarks.json"].items() if name in taken.suites]
    benchmarks = Benchmarks(conf, described, regex=order.selection)
    log.info(f"For {conf.project} commit {get_repo(conf).get_decorated_hash(release.sha, 8)}:")
    with log.indent():
        log.info(f"Benchmarking {measurement.environment}")
        with log.indent():
            for name in sorted(times.get_result_keys(benchmarks)):
                log.info(name, reserve_space=True)
                log_benchmark_result(times, benchmarks[name])
    number = str([(side.sha, side.environment) for side in taken.sides].index(measurement.place))
    failures = {
        reason
        for suite in taken.suites.values()
        for by_side in suite.failed.values()
        for reason in (by_side.get(number), by_side.get(launches.ALL))
        if reason is not None
    }
    for reason in sorted(failures):
        log.error(reason)
    return bool(failures)


def _sides(measurements: Sequence[Measurement], loaded: Results, order: _Order) -> list[Result]:
    """Return the results of measurements on this machine."""
    by_place = {(each.sha, each.environment): each for each in loaded.results if each.machine == order.machine and not each.revision}
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


def _lines(taken: Launch, sides: Sequence[Result], options: Namespace, order: _Order, place: str) -> list[_Line]:
    """Return a line for each selected case of a launch; place : the environment, where there are several."""
    before, after = sides
    changes = comparisons.between(before, after, margin=options.factor - 1).changes
    lines = []
    for text, case in _names(taken, order.selection):
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
