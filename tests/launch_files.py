"""Launch files for tests: real ones, made from the times that a test names.

    launch_files.write(tmp_path, {"copies.BySize.time_copy tensor 16": {"2.14.1": 1.0, "2.15.0": 1.2}})
    before, after = launch_files.load(tmp_path, "2.14.1", "2.15.0")

A case is a suite and its parameters, "numel=16" where the table of suites does not name them. Releases are those of the table, or
others such as "1.0.0"; "2.8.0@3.9" is one on Python 3.9, "2.8.0#main" has a revision of a project.
"""

import random
import zlib
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from itertools import product
from math import exp
from pathlib import Path
from types import MappingProxyType
from typing import Any, Union

from msgspec import UNSET
from msgspec.structs import replace

from tensorcopy.copying.shipped import shipped
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import launch
from tensorcopy.measure.launch import Benchmark, Turns
from tensorcopy.measure.process import Program
from tensorcopy.releases import release_table
from tensorcopy.results import histories, launches, reader
from tensorcopy.results.cases import Case
from tensorcopy.results.effects import Effects
from tensorcopy.results.launches import Launch, Place
from tensorcopy.results.result import Result
from tensorcopy.results.suite_specs import SuiteSpec

START = datetime(2026, 11, 21, 8, tzinfo=timezone.utc)
EVERY = timedelta(minutes=10)  # a launch
TURNS = 3  # of a case and side; they differ by a thousandth
LAUNCHES = 12
COMMON = 0.05  # standard deviation of what a launch has in common, as a share of a time
Times = Union[float, str, Sequence["float | None"]]

PROVENANCE = {
    "torch": "2.15.0+cu132",
    "torch_sha": "d0f2af8b66b20da4baa50644c0cd3f887a2eae2e",
    "build": "cuda",
    "cuda": "13.2",
    "numpy": "1.26.4",
    "asv_runner": "0.3.2",
    "python": "3.11.7",
    "compiler": "GCC 12.2.0",
    "tensorcopy": "0.1.0",
    "os": "Linux",
    "arch": "x86_64",
    "libc": "glibc 2.36",
    "cpu": "Box 9000",
    "cores": 2,
    "cpu_capability": "AVX2",
    "governor": "",
    "cpu_quota": None,
    "hugepages": "madvise",
    "threads": 2,
    "accelerators": {},
    "driver": "",
    "settings": {},
    "hardware": {
        "family": "6",
        "model": "85",
        "stepping": "4",
        "flags": ["avx", "avx2", "fma"],
        "caches": ["L1 Data 32K", "L1 Instruction 32K", "L2 Unified 1024K", "L3 Unified 32768K"],
        "processors": 2,
        "hypervisor": "unknown",
        "memory_gib": 15.6,
        "microcode": "0x1",
    },
}

SEEN = {
    "gives": "tensor",
    "shares_storage": False,
    "keeps_graph": False,
    "is_leaf": True,
    "requires_grad": False,
    "device": "same",
    "dtype": "same",
    "layout": "same",
    "warns": "",
    "raises": "",
}  # observed of an independent tensor out of the graph


def write(
    folder: Path,
    cases: Mapping[str, Mapping[str, Times]],
    *,
    sides: Mapping[str, Mapping[str, Any]] | None = None,
    launches: int = LAUNCHES,
    noise: float = 0.005,
    reference: str = "",
    machine: str = "box",
    start: datetime = START,
    in_turns: bool = False,
    **provenance: Any,
) -> list[Path]:
    """Write launches of times below `folder`, as `tensorcopy measure` does, and return their paths.

    cases : by name, the microseconds of each side: a number, about which launches vary by `noise`; a number for each launch, taken as it
        is, with None where the side was not measured; or a text, with which the case fails on that side. A side without a time for a case
        skips it
    sides : what differs in the provenance of a side, such as {"2.15.0": {"numpy": "2.0.0"}}; those of `cases` need not be named
    launches : their number, unless a case has a number for each; the seconds of one vary by `COMMON` for all sides together
    reference : the side that is marked as the reference
    in_turns : of a single side, whether its methods took turns
    provenance : what differs on all sides, such as cpu="…"
    """
    names = list(dict.fromkeys([*(sides or {}), *(side for times in cases.values() for side in times)]))
    per_launch = [len(each) for times in cases.values() for each in times.values() if isinstance(each, (list, tuple))]
    number_of_launches = max(per_launch, default=launches)
    made = [side(name, **{**provenance, **(sides or {}).get(name, {})}) for name in names]
    seed = zlib.crc32(f"{machine} {names} {sorted(cases)} {start}".encode())
    chance = random.Random(seed)
    made_launches = []
    for number in range(number_of_launches):
        disturbance = chance.gauss(0, COMMON)
        by_case: dict[str, list[Turns]] = {}
        for text, times in cases.items():
            by_case[text] = []
            as_they_are = any(isinstance(time, (list, tuple)) for time in times.values())
            for name in names:
                time = times.get(name)
                own = Turns(calls=1000, among_methods=in_turns)
                if isinstance(time, str):
                    own = Turns(failed=time)
                elif isinstance(time, (float, int)):
                    own.seconds = _turns(time * exp(chance.gauss(0, noise) + (0 if as_they_are else disturbance)))
                elif time is None or number >= len(time) or time[number] is None:
                    own = Turns(skipped="not here")
                else:
                    own.seconds = _turns(time[number])
                by_case[text].append(own)
        marked = names.index(reference) if reference else UNSET
        described, places = _suites(by_case)
        suites = launch.stored(described, {places[text]: turns for text, turns in by_case.items()})
        moment = start + number * EVERY
        made_launches.append(_launch(made, machine, moment, seed + number, kind="times", reference=marked, suites=suites))
    return _written(folder, made_launches)


def write_counts(
    folder: Path,
    side_name: str,
    cases: Mapping[str, float | Sequence[float]],
    *,
    machine: str = "box",
    methods: Mapping[str, Any] | None = None,
    article: Mapping[str, Any] | None = None,
    units: Mapping[str, str] | None = None,
    start: datetime = START,
    **provenance: Any,
) -> list[Path]:
    """Write launches of counts of one release below `folder`: as many as a case has repeats; return their paths.

    cases : by name, the count or its repeats
    methods : what was observed of methods, such as {"tensor": observed("copy")}
    article : of the article's statements
    units : that third-party suites declare for what they track
    """
    repeats = {name: values if isinstance(values, (list, tuple)) else [values] for name, values in cases.items()}
    made, made_launches = side(side_name, **provenance), []
    seed = zlib.crc32(f"{machine} {side_name} counts {sorted(cases)} {start}".encode())
    for number in range(max(map(len, repeats.values()), default=1)):
        suites: dict[str, launches.StoredSuite] = {}
        described, places = _suites(repeats, dict.fromkeys((name.split()[0] for name in repeats), "unit") | dict(units or {}))
        for name, values in repeats.items():
            if number < len(values):
                suite, index = places[name]
                stored = suites.setdefault(suite, described[suite].stored())
                stored.values[str(index)] = float(values[number])
        observed = {"methods": dict(methods or {}), "article": dict(article or {})}
        moment = start + timedelta(seconds=number)
        made_launches.append(_launch([made], machine, moment, seed + number, kind="counts", suites=suites, **observed))
    return _written(folder, made_launches)


METHODS = {"clone_detach": "x.clone().detach()", "detach_clone": "x.detach().clone()", "detach_numpy_copy": "x.detach().numpy().copy()"}


def write_small(folder: Path, *sides: str, launches: int = 4, **options: Any) -> list[Path]:
    """Write launches of times of some sides together, and a launch of counts of each, with a few cases of several suites.

    options : machine, start, reference and provenance, as for `write`
    """
    copies = [f"copies.BySize.time_copy {method} {numel}" for method in ("clone_detach", "detach_clone") for numel in (1, 16)]
    others = ["conversions.BySize.time_conversion detach_numpy_copy 16", "floors.ByBytes.time_memcpy fresh 64"]
    times = {case: {name: 1.0 + place + number / 10 for number, name in enumerate(sides)} for place, case in enumerate([*copies, *others])}
    paths = write(folder, times, launches=launches, **options)
    methods = {name: observed("conversion" if "numpy" in name else "copy", code) for name, code in METHODS.items()}
    options.pop("reference", None)
    for number, name in enumerate(sides):
        counted = {
            "instructions.BySize.track_instructions clone_detach 16 False": 1000 + number,
            "memory.Host.track_peak detach_clone 16 cpu": 64,
        }
        paths += write_counts(folder, name, counted, methods=methods, article={"cpu": {"statements": 3, "hold": 3, "fail": []}}, **options)
    return paths


def load(folder: Path, *names: str) -> list[Result]:
    """Return the results of sides by name, such as "2.15.0" or "2.15.0@3.9"; every result without a name."""
    results = [*reader.load_results(folder, shipped()).results]
    if not names:
        return results
    wanted = [made.place for made in map(side, names)]
    return [next(result for result in results if (result.sha, result.environment, result.revision) == each) for each in wanted]


def case(text: str) -> Case:
    """Return a case by its name in tests."""
    suite, *words = text.split()
    spec = spec_of(suite)
    named = (word.partition("=")[::2] if "=" in word else (spec.parameters[place], word) for place, word in enumerate(words))
    return Case(spec, tuple(named))


def spec_of(suite: str, unit: str = "") -> SuiteSpec:
    """Return what a suite of the shipped campaign is, or another one, which is timed where it tracks no unit."""
    return shipped().specs.spec(suite, "track" if unit else "time", unit)


def result_of(effects: Effects, place: Place) -> Result:
    """Return a result that has times alone: those of a side in some effects."""
    sha, environment, revision = place
    release = release_table.load().of(sha) or release_table.load()[-1]
    provenance = {"torch": release.version, "cpu": "", "accelerators": {}}
    return Result(Path("made"), sha, environment, release, effects, revision, provenance=provenance)


def side(name: str, *, build: str = "cuda", **provenance: Any) -> Program:
    """Return a side by its name."""
    name, _, revision = name.partition("#")
    version, _, python = name.partition("@")
    python = python or "3.11"
    sha = sha_of(version)
    own = {"torch": f"{version}+cu132", "torch_sha": sha, "python": f"{python}.7", "build": build.partition("-")[0], **provenance}
    return Program((sha, f"py{python}-{build}", revision), Path(), Path(), provenance={**PROVENANCE, **own})


def sha_of(version: str) -> str:
    """Return the SHA of a release of the table; of any other version one that no release has."""
    known = {release.version: release.sha for release in release_table.load()}
    return known.get(version) or {"1.0.0": "a" * 40, "2.0.0": "b" * 40}.get(version) or f"{zlib.crc32(version.encode()):08x}" * 5


def observed(group: str = "copy", code: str = "", **seen: Any) -> dict[str, Any]:
    """Return a method as a launch of counts has it: what it was observed to do, with and without grad."""
    outcome = {**SEEN, **seen}
    return {
        "group": group,
        "code": code or "x.made()",
        "code_on_accelerator": code or "x.made()",
        "since": "1.9.0",
        "observed": {"cpu": {"plain": outcome, "with_grad": outcome}},
    }


def _turns(microseconds: float) -> list[float]:
    return [1e-6 * microseconds] * TURNS


def _launch(sides: Sequence[Program], machine: str, start: datetime, seed: int, **fields: Any) -> Launch:
    """Return a launch that has the same name whenever it is made."""
    made = launch.document(sides, machine, start, EVERY.total_seconds() / 2, **fields)
    return replace(made, id=f"{start:%Y%m%dT%H%M%S}-{seed % 2**32:08x}")


def _written(folder: Path, made: Sequence[Launch]) -> list[Path]:
    """Write launches of one set of conditions into the history of their machine, or where that has others into one of their own."""
    conditions, machine = histories.conditions_of(made[0]), made[0].machine
    try:
        of_history, _ = histories.folder_of(folder, conditions, machine, is_named=True)
    except TensorcopyError:
        of_history, _ = histories.folder_of(folder, conditions, machine)
    return [launches.write(of_history, each) for each in made]


def _suites(
    texts: Mapping[str, Any], units: Mapping[str, str] = MappingProxyType({})
) -> tuple[dict[str, Benchmark], dict[str, tuple[str, int]]]:
    """Return the suites that have these cases, and the place of each case."""
    cases = {text: case(text) for text in texts}
    described: dict[str, Benchmark] = {}
    places: dict[str, tuple[str, int]] = {}
    for suite in dict.fromkeys(each.suite for each in cases.values()):
        values_of = {text: dict(each.parameters) for text, each in cases.items() if each.suite == suite}
        names = [*next(iter(values_of.values()))]
        params = [[*dict.fromkeys(values[name] for values in values_of.values())] for name in names]
        order = [*product(*params)]
        places |= {text: (suite, order.index((*values.values(),))) for text, values in values_of.items()}
        spec, shown = spec_of(suite, units.get(suite, "")), [[each if _is_number(each) else f"'{each}'" for each in of] for of in params]
        unit, kind = spec.unit if spec.shipped else units.get(suite, spec.unit), "time" if spec.timed else "track"
        described[suite] = Benchmark(suite, spec, "1", names, shown, unit, kind)
    return described, places


def _is_number(text: str) -> bool:
    return text.lstrip("-").replace(".", "", 1).isdecimal() or text in ("True", "False")
