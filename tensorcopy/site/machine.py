"""Results as the pages show them: series, the histories of a machine, and the cost of each method at each size. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tensorcopy.campaign import NO_RULES, VerdictRules
from tensorcopy.judge import case_history, comparisons, groups
from tensorcopy.judge.case_history import CaseHistory, Standing, standing
from tensorcopy.judge.comparisons import Comparison, Question
from tensorcopy.judge.groups import OpenRegression, ReleaseChange
from tensorcopy.numbers import extent
from tensorcopy.releases import release_table
from tensorcopy.releases.release_table import Release
from tensorcopy.results import function_profiles, suite_specs
from tensorcopy.results.cases import Case, counted_case, own_groups
from tensorcopy.results.effects import Timing
from tensorcopy.results.function_profiles import Profiles
from tensorcopy.results.result import Result, SeriesKey, answering_machine, by_history, by_series, shown_history
from tensorcopy.results.suite_specs import NUMEL, N
from tensorcopy.site import addresses
from tensorcopy.site.changes import CaseChange, CountedChange, ProfileKey, changes_of_case, counted_changes, profiles_of
from tensorcopy.worker.devices import DEVICES

HISTORY_NUMELS = (2**10, 2**20)  # one where the dispatcher dominates, one where the memory does


@dataclass(frozen=True)
class Series:
    """The results of one machine, Python and build in order of release; at least one.

    releases : of each result
    """

    results: tuple[Result, ...]
    releases: tuple[Release, ...]

    @property
    def key(self) -> SeriesKey:
        """Machine, Python and build."""
        return self.results[-1].series_key

    @property
    def machine(self) -> str:
        """The machine's name."""
        return self.results[-1].machine

    @property
    def environment(self) -> str:
        """Python and build: "py3.11-cuda"."""
        return self.results[-1].environment

    @property
    def newest(self) -> Result:
        """The newest result."""
        return self.results[-1]

    def complete(self, device: str = "") -> Result:
        """Return the newest result with method rows and timed copies, on a device or any; without such a result, the newest of all."""
        copied = [result for result in self.results if result.methods and any(case.spec.headline for case in _timed(result, device))]
        return copied[-1] if copied else self.newest

    def release_of(self, result: Result) -> Release:
        """Return the release of one of its results."""
        return next(release for release in self.releases if release.sha == result.sha)

    @cached_property
    def cases(self) -> frozenset[Case]:
        """The cases that have a history on it."""
        return frozenset(case_history.cases([self.results]))


def _timed(result: Result, device: str) -> list[Case]:
    """Return the compared cases of a result that were timed on a device; on any for ""."""
    return [case for case in result.timings if case.spec.compared and device in ("", case.device)]


def series_of_results(results: Sequence[Result]) -> list[Series]:
    """Return every series, the machine that measured last first, then by newest release and Python; those of interpreters are its last.

    Results of an unknown SHA are omitted, and those beside numpy 2, which are in no history.
    """
    shown = [result for result in results if result.timings or result.failures or any(case.tracked for case in result.counts)]
    groups = by_series(result for result in shown if not result.series_key.has_numpy_2)
    all_series = [Series(tuple(group), tuple(result.release for result in group if result.release)) for group in groups.values()]
    last_started: dict[str, str] = {}
    for key, group in groups.items():
        started = max(str(result.provenance["started"]) for result in group)
        last_started[key.machine] = max(started, last_started.get(key.machine, ""))
    all_series.sort(
        key=lambda series: (
            *(not series.key.is_beside_history, series.releases[-1]),
            *(release_table.minor(series.key.python), series.key.build),
        ),
        reverse=True,
    )
    all_series.sort(key=lambda series: (last_started[series.machine], series.machine), reverse=True)
    return all_series


def release_versions(all_series: Sequence[Series]) -> list[str]:
    """Return every release of any of the series, in order of version."""
    return [release.version for release in sorted({release for series in all_series for release in series.releases})]


@dataclass(frozen=True)
class SizeCost:
    """A method at one size.

    fastest : has the lowest time
    among_fastest : fastest, or tied with the fastest
    apart : its launches cannot compare it with the fastest, see `comparisons.rank`
    """

    timing: Timing | None
    fastest: bool
    among_fastest: bool
    apart: bool = False


@dataclass(frozen=True)
class CostTable:
    """The methods of one group on one device, by size.

    numels : the sizes: of operations with inputs, the values of n
    cases : `cases[j][i]` is method i at size j
    costs : `costs[i][j]` is method i at size j
    baselines : `baselines[j]` is the memcpy baseline at size j
    by : the parameter of the size, `NUMEL` or `N`
    """

    group: str
    device: str
    numels: tuple[int, ...]
    methods: tuple[str, ...]
    cases: tuple[tuple[Case, ...], ...]
    costs: tuple[tuple[SizeCost, ...], ...]
    baselines: tuple[Timing | None, ...]
    by: str = NUMEL


@dataclass(frozen=True)
class Machine:
    """A machine with its results.

    series : the first has the newest release on the newest Python
    rules : of the campaign
    beside : results with numpy 2, which no history shows
    """

    series: tuple[Series, ...]
    rules: VerdictRules = NO_RULES
    beside: tuple[Result, ...] = ()

    @property
    def name(self) -> str:
        """The machine's name in results/."""
        return self.series[0].machine

    @cached_property
    def releases(self) -> list[str]:
        """Every release of any of its series, in order of version."""
        return release_versions(self.series)

    @cached_property
    def result(self) -> Result:
        """The newest result of the first series, see `Series.complete`."""
        return self.series[0].complete()

    @property
    def newest(self) -> Release:
        """The release of that result."""
        return self.series[0].release_of(self.result)

    @cached_property
    def methods(self) -> dict[str, Any]:
        """Every method's row: those of the newest result, then those that only others have."""
        rows = dict(self.result.methods)
        for result in reversed(self.results):
            rows.update({name: row for name, row in result.methods.items() if name not in rows})
        return rows

    @cached_property
    def joined_series(self) -> list[Series]:
        """The series whose histories are joined, one for each Python: as `tensorcopy history` chooses them."""
        shown = shown_history(by_history(self.results))
        return [series for series in self.series if series.key.joined == shown]

    @cached_property
    def pictured(self) -> list[list[Case]]:
        """The cases of each picture over the releases: the methods of a group on the CPU, at a small and a large size."""
        pictures = []
        for group in groups_of(self.result):
            for by in (NUMEL, N):
                suite = suite_specs.timed_by_size(group, by=by)
                cases = [case for case in self.cases if case.suite == suite and self.group(case) == group]
                sizes = sorted({int(case[by]) for case in cases})
                shown = HISTORY_NUMELS if by == NUMEL else dict.fromkeys((*sizes[:1], *sizes[-1:]))
                pictures += [[case for case in cases if case[by] == str(size)] for size in shown if size in sizes]
        return pictures

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """Every case that torch can change, in the joined histories; those of the newest result come first.

        They are known without the histories, which take long: the pages of a machine link to the cases of others.
        """
        return tuple(case_history.cases([series.results for series in self.joined_series]))

    @cached_property
    def _known(self) -> frozenset[Case]:
        return frozenset(self.cases)

    def has(self, case: Case) -> bool:
        """Return whether a case has a history."""
        return case in self._known

    @cached_property
    def history(self) -> dict[Case, CaseHistory]:
        """Each case over the releases, the Pythons joined."""
        joined = case_history.joined([series.results for series in self.joined_series], self.rules)
        return {case: joined[case] for case in self.cases}

    @cached_property
    def changes_by_release(self) -> list[ReleaseChange]:
        """The changes of each group of cases, in order of release."""
        return groups.changes_by_release(self.history)

    @cached_property
    def standings(self) -> dict[Case, Standing]:
        """Where each timed case stands with the newest release."""
        return {case: each for case, history in self.history.items() if (each := standing(history))}

    @cached_property
    def regressions(self) -> list[OpenRegression]:
        """The methods that are slower with the newest release than with their best one."""
        return groups.open_regressions(self.standings.values())

    @cached_property
    def open_cases(self) -> dict[Case, OpenRegression]:
        """Each open case with those of its method that are as old."""
        parts = (part for regression in self.regressions for part in regression.by_age.values())
        return {standing.history.case: part for part in parts for standing in part.standings}

    @property
    def counts_instructions(self) -> bool:
        """Whether instructions were counted on this machine."""
        return any(case.spec.metric == suite_specs.INSTRUCTIONS for case in self.cases)

    @cached_property
    def case_changes(self) -> dict[Case, tuple[CaseChange, ...]]:
        """The changes of each case, as every page shows them."""
        return {case: changes_of_case(history) for case, history in self.history.items()}

    @cached_property
    def causes(self) -> dict[ProfileKey, CountedChange]:
        """The changes of the instructions whose functions were counted, by result and profiled case."""
        changes = counted_changes([series.results for series in self.series])
        return {key: change for key, change in changes.items() if change.name in self.profiled}

    @cached_property
    def profiled(self) -> dict[str, Case]:
        """The case under whose name functions are counted; of several, the first."""
        return {function_profiles.name_of(case): case for case in reversed(self.cases)}

    @cached_property
    def profiles(self) -> dict[tuple[Any, ...], Profiles]:
        """The functions of each result that has them, by its place."""
        return {result.place: profiles for result in self.results if (profiles := profiles_of(result))}

    @cached_property
    def counted_methods(self) -> frozenset[str]:
        """The methods whose functions were counted."""
        return frozenset(name.partition(" ")[0] for profiles in self.profiles.values() for name in profiles.cases)

    @cached_property
    def timed_by_count(self) -> dict[Case, Case]:
        """The timed case on whose page a counted case is shown; of several, one by size or with grad."""
        timed: dict[Case, Case] = {}
        for case in sorted(self.cases, key=lambda case: case.spec.rank):
            counted = counted_case(case)
            if counted is not None and self.has(counted):
                timed.setdefault(counted, case)
        return timed

    def count_of(self, case: Case) -> Case | None:
        """Return the counted case that is shown on the page of a timed one; None without one."""
        counted = counted_case(case)
        return counted if counted is not None and self.has(counted) else None

    def case_address(self, case: Case) -> str:
        """Return the address of a case's history; a count may be on the page of a time."""
        if not self.has(case):
            return addresses.HISTORIES
        timed = self.timed_by_count.get(case)
        return f"{self.pages[timed]}#{suite_specs.INSTRUCTIONS}" if timed else self.pages[case]

    @cached_property
    def pages(self) -> dict[Case, str]:
        """The address of each case's own page; they differ in more than the case of letters, which macOS and Windows ignore."""
        pages, taken = dict[Case, str](), set[str]()
        for case in self.cases:
            address = addresses.of_case(self.name, case)
            pages[case] = addresses.of_case(self.name, case, in_full=True) if address.lower() in taken else address
            taken.add(address.lower())
        return pages

    @property
    def results(self) -> tuple[Result, ...]:
        """The results of all series."""
        return tuple(result for series in self.series for result in series.results)

    @property
    def listed(self) -> list[Result]:
        """The results of all series and those beside them, the newest release first, and of each the newest Python."""
        listed = [(release, result) for series in self.series for release, result in zip(series.releases, series.results)]
        listed += [(result.release, result) for result in self.beside if result.release]
        return [result for _, result in sorted(listed, key=lambda row: (row[0], row[1].series_key.order, row[1].build), reverse=True)]

    @cached_property
    def builds(self) -> set[str]:
        """The builds of its results."""
        return {series.key.build for series in self.series}

    @cached_property
    def by_release(self) -> list[Result]:
        """A result for each release in order, from the first series that has it."""
        first = {result.version: result for result in reversed(self.results)}
        return [first[release] for release in self.releases]

    @cached_property
    def with_sizes(self) -> dict[str, Result]:
        """The results that have a page of time over size, by address: the newest one, and that of each device."""
        results = [self.result, *(each.result for each in self.devices.values())]
        return {addresses.of_sizes(result): result for result in results}

    @property
    def provenance(self) -> dict[str, Any]:
        """The environment of the newest result."""
        return self.result.provenance

    @cached_property
    def devices(self) -> dict[str, DeviceResults]:
        """Its results on each device that has times or tracked values, the CPU first."""
        every = {device: DeviceResults(self, device) for device in DEVICES}
        return {device: each for device, each in every.items() if each.measured}

    def code(self, method: str, device: str = "cpu") -> str:
        """Return a method's code as the registry had it when this machine measured."""
        row = self.methods.get(method, {})
        return str(row.get("code" if device == "cpu" else "code_on_accelerator", method))

    def group(self, case: Case) -> str:
        """Return the group of a case's method: "copy", "conversion", or that of an own operation."""
        return str(self.methods.get(case["method"], {}).get("group", case.spec.methods))

    def case_code(self, case: Case) -> str:
        """Return the code that a case times; the name of a suite that is not of methods."""
        method = dict(case.parameters).get("method", "")
        return self.code(method, case.device) if method and case.spec.shipped else case.spec.label

    @property
    def failures(self) -> dict[Case, str]:
        """What cases raised in their last launch with the newest release."""
        return {case: text for case, text in self.series[0].newest.failures.items() if self.has(case)}

    def launches_of(self, result: Result, device: str = "") -> str:
        """Return in how many launches a case of a result was measured, on a device or any: "12", or "8 to 12"."""
        return extent(result.timings[case].launches for case in _timed(result, device))


@dataclass(frozen=True)
class DeviceResults:
    """The results of a machine on one device, as pages that tell devices apart show them.

    Nothing is judged again: verdicts are those of the machine, of which these are the cases on the device.
    """

    machine: Machine
    device: str

    @cached_property
    def measured(self) -> tuple[Result, ...]:
        """The results with a time or a tracked value on the device, series by series."""
        return tuple(result for result in self.machine.results if any(map(self._has, (*result.timings, *result.counts))))

    def _has(self, case: Case) -> bool:
        return case.device == self.device and case.spec.compared and (case.spec.timed or bool(case.tracked))

    @cached_property
    def series(self) -> Series:
        """The first series that has such a result, with these alone."""
        for series in self.machine.series:
            pairs = [(result, release) for result, release in zip(series.results, series.releases) if result in self.measured]
            if pairs:
                return Series(tuple(result for result, _ in pairs), tuple(release for _, release in pairs))
        return self.machine.series[0]

    @cached_property
    def result(self) -> Result:
        """The newest result on the device, see `Series.complete`."""
        return self.series.complete(self.device)

    @property
    def newest(self) -> Release:
        """The release of that result."""
        return self.series.release_of(self.result)

    @cached_property
    def latest(self) -> Comparison | None:
        """The comparison of the newest release with the one before, of cases on the device; None of a single release."""
        if len(self.series.results) < 2:
            return None
        before, after = self.series.results[-2:]
        return comparisons.between(Question(before, after, self.machine.rules)).selected(device=self.device)

    @property
    def launches(self) -> str:
        """In how many launches a case of the newest result was measured: "12", or "8 to 12"."""
        return self.machine.launches_of(self.result, self.device)

    @property
    def day(self) -> str:
        """The day of the newest launch that timed anything on the device."""
        results = self.result, *self.measured
        return max(result.day_of(case for case in result.timings if case.device == self.device) for result in results)

    @property
    def hardware(self) -> str:
        """The vendor's name of the device."""
        return self.result.hardware(self.device)

    @cached_property
    def history(self) -> dict[Case, CaseHistory]:
        """Each timed or tracked case on the device over the releases."""
        return {case: history for case, history in self.machine.history.items() if self._has(case)}

    @cached_property
    def releases(self) -> tuple[str, ...]:
        """Every release of that history, the oldest first."""
        return tuple(case_history.releases_of(self.history.values()))

    @cached_property
    def has_copies(self) -> bool:
        """Whether its newest result has timed copies or conversions."""
        return any(case.spec.headline and self._has(case) for case in self.result.timings)

    @cached_property
    def costs(self) -> tuple[CostTable, ...]:
        """The cost of each method at each size with the newest release, by group."""
        return tuple(table for group in suite_specs.headline_groups() if (table := costs(self.result, group, self.device)).methods)

    @cached_property
    def standings(self) -> dict[Case, Standing]:
        """Where each timed case on the device stands with the newest release."""
        return {case: each for case, each in self.machine.standings.items() if case.device == self.device}

    @cached_property
    def regressions(self) -> list[OpenRegression]:
        """The methods that are slower with the newest release than with their best one."""
        return [each for each in self.machine.regressions if each.worst.history.case.device == self.device]

    @property
    def anchor(self) -> str:
        """The anchor of its part of the page of open regressions."""
        return f"on-{self.device}"

    def regression_anchor(self, regression: OpenRegression) -> str:
        """Return there that of a method's open cases of one age; those of the newest age have that of the method."""
        method, age = regression.method, regression.worst.age
        whole = next(each for each in self.regressions if each.method == method)
        name = method if age is next(iter(whole.by_age)) else f"{method}-{age.value}"
        return addresses.slug(name if self.device == "cpu" else f"{name}-{self.device}")

    @cached_property
    def is_compared(self) -> bool:
        """Whether a change of any time or tracked value on the device could be seen."""
        return any(history.is_compared for history in self.history.values())


def machines(results: Sequence[Result], rules: VerdictRules = NO_RULES) -> list[Machine]:
    """Return every machine, the one that measured last first.

    Results of an unknown SHA are omitted.
    """
    by_machine: dict[str, list[Series]] = {}
    for series in series_of_results(results):
        by_machine.setdefault(series.machine, []).append(series)
    beside = [result for result in results if result.series_key.has_numpy_2 and result.release]
    return [
        Machine(tuple(group), rules, tuple(result for result in beside if result.machine == name)) for name, group in by_machine.items()
    ]


def longest_history(measured: Sequence[Machine], device: str = "") -> Machine | None:
    """Return which of some machines answers for a device, or for any, by the rule of the terminal: `answering_machine`."""
    answering = answering_machine((result for machine in measured for result in machine.results), device)
    return next((machine for machine in measured if machine.name == answering), None)


def groups_of(result: Result) -> list[str]:
    """Return the groups with a table by size: copies, conversions, own operations."""
    return [*suite_specs.headline_groups(), *own_groups(result.methods)]


def case_of(group: str, method: str, numel: int, device: str, by: str = NUMEL) -> Case:
    """Return the case of a method at one size: contiguous float32 without grad, or the inputs that an operation declares."""
    device_parameter = () if device == "cpu" else (("device", device),)
    return Case(suite_specs.timed_by_size(group, device, by=by), (("method", method), (by, str(numel)), *device_parameter))


def methods_of(result: Result, group: str, device: str) -> list[str]:
    """Return the measured methods of a group on a device, in the order of the results."""
    return list(dict.fromkeys(case["method"] for case in _cases_by_size(result, group, device, NUMEL)))


def all_costs(result: Result) -> list[CostTable]:
    """Return the tables of every group of one result, by device and parameter of the size."""
    places = [(group, device, by) for device in DEVICES for group in groups_of(result) for by in (NUMEL, N)]
    tables = [costs(result, *place, between=True) for place in places]
    return [table for table in tables if table.methods]


def costs(result: Result, group: str, device: str, by: str = NUMEL, *, between: bool = False, only: Collection[int] = ()) -> CostTable:
    """Return the table of one result.

    between : also of the sizes that are timed with the newest release only; only : of these sizes, by default of all
    """
    measured = _cases_by_size(result, group, device, by)
    if between and by == NUMEL:
        suite = suite_specs.timed_between(group, device)
        measured += [case for case in result.timings if case.suite == suite and case.device == device]
    measured = [case for case in measured if not only or int(case[by]) in only]
    known = {(case["method"], int(case[by])): case for case in measured}
    methods, numels = list(dict.fromkeys(method for method, _ in known)), sorted({numel for _, numel in known})
    at_size = {numel: [known.get((method, numel)) or case_of(group, method, numel, device, by) for method in methods] for numel in numels}
    changes = {numel: comparisons.against_fastest(result, cases) for numel, cases in at_size.items()}
    rows = []
    for index in range(len(methods)):
        row = []
        for numel in numels:
            case = at_size[numel][index]
            change = changes[numel].get(case)
            rank = comparisons.rank(change) if case in changes[numel] else ""
            timing, among = result.timings.get(case), rank in ("fastest", "tied")
            row.append(SizeCost(timing, fastest=rank == "fastest", among_fastest=among, apart=rank == comparisons.NOT_COMPARED))
        rows.append(tuple(row))
    baselines = tuple(result.baseline_timing(at_size[numel][0]) for numel in numels)
    return CostTable(group, device, tuple(numels), tuple(methods), tuple(map(tuple, at_size.values())), tuple(rows), baselines, by)


def _cases_by_size(result: Result, group: str, device: str, by: str) -> list[Case]:
    suite = suite_specs.timed_by_size(group, device, by=by)
    cases = [case for case in result.timings if case.suite == suite and (device == "cpu" or case["device"] == device)]
    is_own = suite_specs.find(suite).methods == suite_specs.OWN
    return [case for case in cases if not is_own or result.methods.get(case["method"], {}).get("group") == group]
