"""The benchmarks of the sides of a launch, as asv describes them, and which of their cases are selected."""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from itertools import product
from math import prod
from typing import Any

from tensorcopy.measure.case_turns import ANOTHER
from tensorcopy.measure.side_process import LONGEST_START, LONGEST_VALUE, LocalSide, SideProcess, cannot_import, started
from tensorcopy.results import launches, suite_specs
from tensorcopy.results.cases import names_of
from tensorcopy.results.launches import TIMED, Suite
from tensorcopy.worker.devices import ACCELERATORS

LONGEST_PARAMETER = 200  # characters of a parameter's text, which is in the name of each case; of a longer one the first, and a digest
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # in the text of an object that has no other name


@dataclass(frozen=True)
class Benchmark:
    """A benchmark, as asv describes it.

    name : such as "copies.BySize.time_copy"
    timeout : seconds of a case; setup_cache_timeout : of what several benchmarks share; 0 where none are declared
    setup_cache_key : of what they share; None without it
    refused : why none of its cases can be run, or ""
    selected : the numbers of the selected cases by name
    """

    name: str
    version: str
    param_names: list[str]
    params: list[list[str]]
    unit: str = "seconds"
    type: str = "time"
    timeout: float = 0.0
    setup_cache_key: str | None = None
    setup_cache_timeout: float = 0.0
    refused: str = ""
    selected: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def names(self) -> list[str]:
        """The names of its cases, as asv writes them."""
        return names_of(self.name, self.params)

    @property
    def sizes(self) -> dict[str, int]:
        """The bytes of the tensors of its cases, as of float32, by the name of the case; 0 where no parameter tells them."""
        sizes = {}
        for text, values in zip(self.names, product(*self.params)):
            of_case = dict(zip(self.param_names, values))
            numel, nbytes = (of_case.get(key, "") for key in ("numel", "nbytes"))
            sizes[text] = 4 * int(numel) if numel.isdecimal() else int(nbytes) if nbytes.isdecimal() else 0
        return sizes

    def longest(self, of_case: float) -> float:
        """Return the seconds that a side may take for a case, with its setup_cache; of_case : where the benchmark declares none."""
        of_cache = (self.setup_cache_timeout or LONGEST_VALUE) if self.setup_cache_key else 0.0
        return of_cache + (self.timeout or of_case)

    def stored(self) -> Suite:
        """Return it as a launch stores it, still without times."""
        return Suite(version=self.version, param_names=self.param_names, params=self.params, unit=self.unit, type=self.type)


Suites = Mapping[str, Benchmark]  # by name


def suites_of(side: LocalSide) -> dict[str, Benchmark]:
    """Return the benchmarks of a side by name."""
    with started([side], draws_pages=False) as processes:
        return suites_of_sides([side], processes)[0]


def suites_of_sides(sides: Sequence[LocalSide], processes: Sequence[SideProcess]) -> tuple[dict[str, Benchmark], list[dict[str, int]]]:
    """Return the benchmarks of all sides by name, and for each side the number of each of its cases by name.

    Two revisions may have other benchmarks, or the same with other parameters; a later side describes what both have. Where an earlier
    side has another version of a benchmark, the values cannot be compared: it has `ANOTHER` in place of its case's number. Sides of the
    same suites are asked once. Raises SideFailed for one whose suites cannot be imported.
    """
    suites: dict[str, Benchmark] = {}
    of_place: dict[Hashable, dict[str, int]] = {}
    places = [side.benchmarks for side in sides]
    for number in sorted({place: number for number, place in enumerate(places)}.values()):
        process = processes[number]
        process.begin({"suites": True})
        answer = process.answer(LONGEST_START)
        if "suites" not in answer:
            raise cannot_import(sides[number], process.reason(answer))
        process.end_fork()
        indices = of_place[places[number]] = {}
        described = {each.name: each for each in map(_kept, reversed(answer["suites"]))}  # of two of one name asv runs the first
        for name, suite in reversed(described.items()):
            known = suites.get(name)
            if known and known.version != suite.version:
                for text, earlier in product(known.names, of_place.values()):
                    if text in earlier:
                        earlier[text] = ANOTHER
                known = None
            indices.update({text: index if suite.params else -1 for index, text in enumerate(suite.names)})
            suites[name] = suite
            if known and known.param_names == suite.param_names:
                params = [[*dict.fromkeys([*new, *old])] for new, old in zip(suite.params, known.params)]
                suites[name] = replace(suite, params=params)
    return suites, [of_place[place] for place in places]


def _kept(described: Mapping[str, Any]) -> Benchmark:
    """Return a benchmark that asv describes as a launch can keep it: with texts of limited length, and without addresses in memory.

    An address is another one in each process: no launch would have a case of the one before. One with too many cases, or with two of one
    name, is one case, which is refused.
    """

    def text(value: object, longest: int = LONGEST_PARAMETER) -> str:
        kept = ADDRESS.sub("", str(value).encode(errors="replace").decode())
        digest = f"… {sha256(kept.encode()).hexdigest()[:8]}"
        return kept if len(kept) <= longest else f"{kept[: longest - len(digest)]}{digest}"

    def name(key: str) -> str:
        return text(described[key], launches.LONGEST_NAME)

    def seconds(key: str) -> float:
        declared = described[key]
        return declared if isinstance(declared, (int, float)) and declared > 0 else 0.0

    params = [list(map(text, values)) for values in described["params"]]
    refused = ""
    if (cases := prod(map(len, params))) > launches.MOST_CASES:
        refused = f"it has {cases:,} cases: {launches.MOST_CASES:,} are allowed"
    for given, values in zip(described["params"], params):
        alike = [each for each in values if len({str(value) for value, kept in zip(given, values) if kept == each}) > 1]
        if alike:
            refused = f"parameters that differ in their addresses alone, which are others in each process: {alike[0]}"
    return Benchmark(
        name("name"),
        name("version"),
        param_names=[] if refused else [*map(text, described["param_names"])],
        params=[] if refused else params,
        unit=name("unit"),
        type=name("type"),
        timeout=seconds("timeout"),
        setup_cache_key=described["setup_cache_key"],
        setup_cache_timeout=seconds("setup_cache_timeout"),
        refused=refused,
    )


def selected(suites: Suites, selection: str, devices: Collection[str], *, timed: bool = True, newest: bool = False) -> dict[str, Benchmark]:
    """Return the benchmarks with selected cases, each with these.

    selection : a regular expression on the names of cases, as asv writes them
    devices : the accelerators that are there; cases that name another one are left out
    timed : whether to return those that are timed, or those that count something
    newest : whether to return those with which only the newest release is timed, or the others
    """
    absent = "|".join(device for device in ACCELERATORS if device not in devices)
    pattern, chosen = re.compile(rf"(?!.*'({absent})').*?(?:{selection})" if absent else f".*?(?:{selection})"), {}
    for name, suite in suites.items():
        cases = {text: index for index, text in enumerate(suite.names) if pattern.match(text)}
        if cases and (suite.type in TIMED, suite_specs.find(name).newest) == (timed, newest):
            chosen[name] = replace(suite, selected=cases)
    return chosen


def devices_of(sides: Iterable[LocalSide]) -> set[str]:
    """Return the accelerators that any of the sides can use."""
    return {device for side in sides for device in side.provenance.get("accelerators", ())}


def has_own_fork(suite: str) -> bool:
    """Return whether each case of a suite has a fork for itself: all but those of the table of suites, which leave nothing behind.

    These share one: a fork takes 30 ms, as long as the turns of a case or a count, and a CUDA context ten times as long.
    """
    return not suite_specs.find(suite).shipped
