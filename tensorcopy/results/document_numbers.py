"""The numbers of one result file: samples by case and pass, and counts by case."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import product
from statistics import median
from typing import Any

from tensorcopy.results import files, passes
from tensorcopy.results.noise import page_faults
from tensorcopy.results.noise.page_faults import FaultedPass
from tensorcopy.results.noise.quiet import NANO
from tensorcopy.results.passes import PassSamples
from tensorcopy.results.reading.rows import LONGEST, SHORTEST

# of tensorcopy's suites: each class has one function, whose name is left out where the suite is named
TIMED = ("alternatives", "article", "conversions", "copies", "floors", "own", "pages", "primitives", "threads")
TIMES = "alternative|conversion|copy|gather|memcpy|own|primitive|sum|transfer|wait"
SUITES = re.compile(
    rf"({'|'.join(TIMED)})\.\w+\.time_({TIMES})|instructions\.\w+\.track_instructions|memory\.\w+\.track_(allocated|allocations|peak)"
)
MOST = 2**62  # elements that a tensor may have


@dataclass(frozen=True)
class Case:
    """A timed call: a suite and its parameters, by name and as text.

    suite : such as "copies.BySize.time_copy"
    """

    suite: str
    parameters: tuple[tuple[str, str], ...]

    def __getitem__(self, name: str) -> str:
        return dict(self.parameters)[name]

    @cached_property
    def _hash(self) -> int:
        return hash((self.suite, self.parameters))

    def __hash__(self) -> int:
        return self._hash  # a case is looked up millions of times when a site is written

    def __reduce__(self) -> tuple[Any, ...]:
        return Case, (self.suite, self.parameters)  # without the hash: strings have another one in another process

    @property
    def suite_name(self) -> str:
        """The suite's name as it is shown: of tensorcopy's own without the function, "copies.BySize"."""
        return self.suite.rpartition(".")[0] if SUITES.fullmatch(self.suite) else self.suite

    @property
    def device(self) -> str:
        """The device of its tensor."""
        return dict(self.parameters).get("device", "cpu")


@dataclass(frozen=True)
class QuietRule:
    """What counts as quiet on one machine and Python.

    limit : the greatest control, in seconds; excluded : why a pass is excluded, by its id
    """

    limit: float
    excluded: Mapping[str, str]


ALL_QUIET = QuietRule(float("inf"), {})  # where no pass was recorded


def numbers(
    document: dict[str, Any], suites: dict[str, Any], rule: QuietRule
) -> tuple[dict[Case, tuple[PassSamples, ...]], dict[Case, float]]:
    """Return the samples of every timed case and the value of every counted one.

    Suites of another version than the current one are skipped.
    """
    samples: dict[Case, tuple[PassSamples, ...]] = {}
    counts: dict[Case, float] = {}
    interruptions = page_faults.recorded(document.get("passes", ()))
    for suite, values in document["results"].items():
        row = dict(zip(document["result_columns"], values))
        if suite not in suites or not _is_current(suite, row["version"], suites[suite]["version"]):
            continue
        timed = suites[suite].get("type", "time") == "time"
        for index, case in enumerate(_cases(suite, tuple(suites[suite]["param_names"]), tuple(map(tuple, row["params"])))):
            value = files.number(files.cell(row, "result", index))
            if value is None:  # failed or skipped
                continue
            if timed:
                seconds = [float(sample) for sample in files.cell(row, "samples", index) or _single(value)]
                by_pass = _by_pass(passes.split_by_pass(document.get("passes", ()), suite, index, seconds), rule)
                samples[case] = _without_page_faults(by_pass, interruptions, suite, index) if interruptions else by_pass
            else:
                counts[case] = value
    return samples, counts


def count_repeats(document: dict[str, Any], suites: dict[str, Any]) -> dict[Case, tuple[float, ...]]:
    """Return the counts of every pass, by case, for suites of the current version."""
    repeats: dict[Case, tuple[float, ...]] = {}
    for suite, row in files.rows_of(document).items():
        if suite not in suites or row["version"] != suites[suite]["version"]:
            continue
        cases = _cases(suite, tuple(suites[suite]["param_names"]), tuple(map(tuple, row["params"])))
        for record in document.get("passes", ()):
            counts = record.get("counts", {}).get(suite)
            if counts and counts["version"] == row["version"] and len(counts["values"]) == len(cases):
                for case, value in zip(cases, counts["values"]):
                    if value is not None:
                        repeats[case] = (*repeats.get(case, ()), value)
    return repeats


def _is_current(suite: str, version: str, current: str) -> bool:
    """Return whether a row has the version of benchmarks.json. Raises ValueError for a later one."""
    if version.isdecimal() and current.isdecimal() and int(version) > int(current):
        raise ValueError(f"{suite} has version {version}, and version {current} in benchmarks.json")
    return version == current


def _by_pass(parts: list[passes.Part], rule: QuietRule) -> tuple[PassSamples, ...]:
    by_pass = []
    for name, samples, readings in parts:
        if name:
            control = tuple(map(_seconds_of_control, readings))
            by_pass.append(PassSamples(tuple(samples), control, rule.limit, None, rule.excluded.get(name, ""), name))
        else:
            by_pass.append(PassSamples(tuple(samples)))
    return tuple(by_pass)


@lru_cache(maxsize=2**16)
def _seconds_of_control(nanoseconds: int) -> float:
    """Return a reading in seconds; equal readings share one number, since there are as many as samples."""
    return nanoseconds * NANO


def _without_page_faults(
    by_pass: tuple[PassSamples, ...], interruptions: Mapping[str, Mapping[str, Any]], suite: str, index: int
) -> tuple[PassSamples, ...]:
    """Return the passes of a case; those with the page-fault artefact are excluded."""
    faults = [
        page_faults.per_call(interruptions[part.name], suite, index) if part.name in interruptions and not part.excluded else None
        for part in by_pass
    ]
    if not any(faults):
        return by_pass
    reasons = page_faults.reasons([FaultedPass(median(part.quiet or part.samples), fault) for part, fault in zip(by_pass, faults)])
    return tuple(replace(part, excluded=reason) if reason and not part.excluded else part for part, reason in zip(by_pass, reasons))


@lru_cache(maxsize=512)  # a suite has the same cases in almost every file
def _cases(suite: str, names: tuple[str, ...], params: tuple[tuple[str, ...], ...]) -> tuple[Case, ...]:
    """Return a suite's cases in asv's order; a suite without parameters is one case."""
    if not SUITES.fullmatch(suite):
        names = tuple(map(_name_of_others, names, params))
    return tuple(Case(suite, _valid(tuple(zip(names, texts, strict=True)))) for texts in product(*map(_without_quotes, params)))


def _without_quotes(values: tuple[str, ...]) -> tuple[str, ...]:
    """Return a parameter's values without the quotes of texts, where these are not what tells two values apart, as 1 and '1'."""
    bare = tuple(value.strip("'") for value in values)
    return bare if len(set(bare)) == len(set(values)) else values


def _name_of_others(name: str, values: tuple[str, ...]) -> str:
    """Return the name of a parameter of a third-party suite: a `numel` that is not a number of elements has another one."""
    return "numel_" if name == "numel" and not all(map(_is_numel, values)) else name


def _is_numel(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= len(str(MOST)) and 0 < int(text) <= MOST


def _valid(parameters: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Return a case's parameters, checked.

    Raises ValueError for a number of elements that no tensor has.
    """
    numel = dict(parameters).get("numel", "1")
    if not _is_numel(numel):
        raise ValueError(f"numel {numel[:20]!r}")
    return parameters


def _single(value: float) -> tuple[float]:
    """Return the only sample of a case whose samples were not recorded. Raises ValueError for a value that no time can have."""
    if not SHORTEST < value < LONGEST:
        raise ValueError(f"a sample of {value!r} seconds")
    return (value,)
