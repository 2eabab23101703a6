"""From samples to times: the cases of a result file, their samples by pass, and the time that follows. Pure.

A pass is one run of the suites in one process tree: one draw of memory layout and machine drift. A result keeps a record of each pass, in
order, beside asv's own samples, to which asv only appends:

"id", "started", "selection" : a unique name, ISO 8601 in UTC, and the regular expression of the suites that were run
"shard" : which part of a run over several machines it belongs to, if any
"left_out" : why the pass is kept but excluded, if it was excluded by hand
"ledger" : its `provenance`
"counts" : per suite its version, and per case its count (`results.related`)
"suites" : per suite its version, and per case, in asv's order, how many samples were added and the control beside each in whole
    nanoseconds. "interruptions": by the number of a case, for each sample its page faults per call, major page faults and involuntary
    context switches; a case with few switches and nothing else is omitted
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import product
from math import log
from statistics import fmean, median, quantiles
from typing import Any

from tensorcopy.results import files, suite_specs
from tensorcopy.results.files import LONGEST_SAMPLE, SHORTEST_SAMPLE
from tensorcopy.results.suite_specs import SuiteSpec
from tensorcopy.worker import control

PASSES = 40  # of a release by default: the accuracy report shows which changes they reveal
ENOUGH = 3  # passes, whose median tolerates one bad pass

Part = tuple[str, list[float], list[int]]  # a pass's id ("" before the first record), its samples in seconds, their control in nanoseconds


@dataclass(frozen=True, slots=True)  # a site has a million of them
class PassSamples:
    """One case in one pass.

    samples : in seconds
    control : seconds that the control took beside each sample; () where it was not recorded
    limit : the greatest control that counts as quiet on that machine, in seconds
    control_exponent : how the case follows the control (`control_exponent`); None where that is unknown
    excluded : why the pass is kept but not used; "" where it is used
    name : the pass's id; "" for samples that asv took without tensorcopy
    quiet : the samples that were taken while the machine was quiet
    """

    samples: tuple[float, ...]
    control: tuple[float, ...] = ()
    limit: float = float("inf")
    control_exponent: float | None = None
    excluded: str = ""
    name: str = ""
    quiet: tuple[float, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        quiet, control, limit = self.samples, self.control, self.limit
        if control and len(control) == len(quiet) and max(control) > limit:
            quiet = tuple([sample for sample, reading in zip(quiet, control) if reading <= limit])
        object.__setattr__(self, "quiet", quiet)

    @property
    def pairs(self) -> tuple[tuple[float, float], ...]:
        """Each sample with its control; empty where no control was recorded."""
        return tuple(zip(self.samples, self.control)) if len(self.control) == len(self.samples) else ()

    @property
    def speed_corrected(self) -> tuple[float, ...]:
        """Every sample corrected to the machine's quiet speed.

        As measured where the exponent or the control is unknown.
        """
        if self.control_exponent is None:
            return self.samples
        corrected = (at_quiet_speed(sample, reading, self.limit, self.control_exponent) for sample, reading in self.pairs)
        return tuple(corrected) or self.samples


@dataclass(frozen=True)
class Timing:
    """One case as measured, in seconds per call.

    median : of the passes' medians, at the machine's quiet speed
    low, high : the lowest and the highest median of a pass; for a single pass the range of its samples
    by_pass : every pass, including excluded ones
    """

    median: float
    low: float
    high: float
    by_pass: tuple[PassSamples, ...] = ()

    @property
    def samples(self) -> tuple[float, ...]:
        """Every sample as it was taken, in order."""
        return tuple(sample for pass_samples in self.by_pass for sample in pass_samples.samples)

    @cached_property
    def usable(self) -> tuple[PassSamples, ...]:
        """The passes that can be compared: not excluded, with at least one quiet sample."""
        usable = tuple([pass_samples for pass_samples in self.by_pass if not pass_samples.excluded and pass_samples.quiet])
        return self.by_pass if len(usable) == len(self.by_pass) else usable

    @cached_property
    def logs(self) -> tuple[float, ...]:
        """The time of each usable pass, in log seconds."""
        return tuple(log(median(pass_samples.quiet)) for pass_samples in self.usable)

    @property
    def disturbed(self) -> bool:
        """Whether no pass is usable.

        The time is then corrected to the quiet speed, as far as the exponent is known.
        """
        return bool(self.by_pass) and not self.usable


def timing(by_pass: Sequence[PassSamples]) -> Timing:
    """Return the time of a case from its passes, each of which has a sample."""
    used = samples_used(by_pass)
    medians = [median(samples) for samples in used]
    spread = medians if len(medians) > 1 else used[0]
    return Timing(median(medians), min(spread), max(spread), tuple(by_pass))


def samples_used(by_pass: Sequence[PassSamples]) -> list[tuple[float, ...]]:
    """Return the samples of each pass that make up a case's time.

    Each pass has at least one sample. Where `ENOUGH` passes have quiet samples, their median tolerates a bad one (the control shows what
    disturbs the interpreter, not what disturbs the memory), and only quiet samples are used. Otherwise all passes that are not excluded are
    used, or all where every one is excluded, at the quiet speed.
    """
    included = [pass_samples for pass_samples in by_pass if not pass_samples.excluded] or list(by_pass)
    quiet = [pass_samples.quiet for pass_samples in included if pass_samples.quiet]
    return quiet if len(quiet) >= ENOUGH else [pass_samples.quiet or pass_samples.speed_corrected for pass_samples in included]


def split_by_pass(records: Iterable[Mapping[str, Any]], suite: str, index: int, samples: list[float]) -> list[Part]:
    """Return a case's samples by pass, in order.

    index : of the case in its suite, in asv's order
    samples : all samples of the case, as asv keeps them: those of the passes, one after another, and before them those without a record
    Raises ValueError where the records count more samples than there are.
    """
    counted = []
    for record in records:
        row = record["suites"].get(suite)
        if row and index < len(row["samples"]) and row["samples"][index]:  # a parameter that was added later has no place in it
            counted.append((record["id"], row["samples"][index], row["control_ns"][index]))
    begin = len(samples) - sum(count for _, count, _ in counted)
    if begin < 0:
        raise ValueError(f"{len(samples)} samples, {len(samples) - begin} in passes")
    parts: list[Part] = [("", samples[:begin], [])] if begin else []
    for name, count, readings in counted:
        parts.append((name, samples[begin : begin + count], readings))
        begin += count
    return parts


# Decide which samples are quiet and which passes are excluded.
#
# Both are decided by the control, a calculation that no torch can change and that is timed beside every sample (`worker.control`). Its
# readings are comparable on one machine and Python, so each function takes the pass records of one machine and Python.

NANO = 1e-9
FEWEST_CONTROLS = 8  # below which the quartiles of the passes' controls are too uncertain to exclude a pass
FAR = 3.0  # widths of the middle half beyond it, where a normal value lies once in 400,000


def quiet_limit(records: Iterable[Mapping[str, Any]]) -> float:
    """Return the greatest control that counts as quiet, in seconds."""
    return control.limit(reading * NANO for record in records for reading in _readings(record))


def excluded_passes(records: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return why a pass is kept but not used, by the pass's id.

    A record may exclude its pass itself (key "left_out"). Otherwise a pass is excluded when the median of its control lies more than `FAR`
    widths of the middle half outside the middle half of all passes' medians.
    """
    records = list(records)
    reasons = {record["id"]: record["left_out"] for record in records if record.get("left_out")}
    medians = {record["id"]: median(readings) for record in records if (readings := _readings(record)) and record["id"] not in reasons}
    if len(medians) >= FEWEST_CONTROLS:
        first, _, third = quantiles(medians.values(), n=4)
        for name, middle in medians.items():
            if not first - FAR * (third - first) <= middle <= third + FAR * (third - first):
                reasons[name] = f"its control, {middle / 1000:.1f} µs, is far from the others' {first / 1000:.1f} to {third / 1000:.1f} µs"
    return reasons


def _readings(record: Mapping[str, Any]) -> list[int]:
    """Return the control beside every sample of a pass, in nanoseconds."""
    return [reading for row in record["suites"].values() for readings in row["control_ns"] for reading in readings]


# Exclude a pass of a case that met page faults which its other passes did not.
#
# An allocator may keep the memory of a large tensor or give it back to the system after every call, as the layout of the process has it.
# In the second state every call touches new pages, and the system clears each: the case takes many times as long, in that pass only.
# Faults that all passes have, such as of a tensor too large to keep, belong to the case.

TIMES_AS_LONG = 2.0  # passes of one case differ by hundredths; with the faults of every call by 2 to 18 times
TIMES_AS_MANY = 4.0  # page faults per call, and as many more: passes in one state differ by some, and a few faults cost little
FEWEST_OTHERS = 3  # their median tolerates one bad pass
FEWEST_LEFT = 3  # passes that must remain, as many as a comparison needs; and more than half of all: else the faults are the case's own


@dataclass(frozen=True)
class FaultedPass:
    """One case in one pass.

    time : in seconds
    faults : page faults per call, the mean of its samples; None where they were not recorded
    """

    time: float
    faults: float | None


def fault_reasons(passes: Sequence[FaultedPass]) -> list[str]:
    """Return why each pass of a case is excluded; "" where it is not.

    Passes without recorded faults are neither excluded nor compared with.
    """
    known = [(number, each.time, each.faults) for number, each in enumerate(passes) if each.faults is not None]
    excluded = {}
    for number, time, faults in known:
        others = [(other_time, other_faults) for other, other_time, other_faults in known if other != number]
        if faults and len(others) >= FEWEST_OTHERS:
            usual, usual_faults = (median(values) for values in zip(*others))
            if time >= TIMES_AS_LONG * usual and faults >= TIMES_AS_MANY * (1 + usual_faults):
                excluded[number] = (
                    f"its calls took {time / usual:.1f} times as long as in the other passes, with {faults:.0f} page faults "
                    f"each instead of {usual_faults:.0f}"
                )
    if len(known) - len(excluded) < max(FEWEST_LEFT, len(known) // 2 + 1):
        excluded = {}
    return [excluded.get(number, "") for number in range(len(passes))]


# Correct samples taken on a busy machine to its quiet speed.
#
# On a machine whose neighbours slow it down for minutes, waiting for quiet is not enough. The control shows how slow the machine was beside
# every sample, and the time of each case goes as the control to its own exponent: near 1 for a call that is mostly interpreter, near 0
# for one that waits for memory. The exponent is fitted within each release of the machine's own results, so that no release's speed enters.

FEWEST_SAMPLES = 3  # quiet and disturbed ones each, for a release to count: their median tolerates one bad sample
FEWEST_RELEASES = 3  # their median tolerates one odd release
QUIET_SPREAD = 1.18  # the limit over the usual quiet control: the limit lies a quarter above the lowest, the usual one 6 %

Pairs = Sequence[tuple[float, float]]  # of a sample and the control beside it, both in seconds


def control_exponent(releases: Iterable[Pairs], limit: float) -> float | None:
    """Return the exponent e, 0 to 1, in time ∝ control ** e.

    None where fewer than three releases determine it.

    The median over releases of log(disturbed / quiet sample) over log(disturbed / quiet control), of medians.
    releases : each release's samples with their control; limit : the greatest control that counts as quiet
    """
    exponents = []
    for pairs in releases:
        quiet = [pair for pair in pairs if pair[1] <= limit]
        disturbed = [pair for pair in pairs if pair[1] > limit]
        if len(quiet) >= FEWEST_SAMPLES and len(disturbed) >= FEWEST_SAMPLES:
            slowdown = log(median(pair[0] for pair in disturbed) / median(pair[0] for pair in quiet))
            exponents.append(slowdown / log(median(pair[1] for pair in disturbed) / median(pair[1] for pair in quiet)))
    return min(1.0, max(0.0, median(exponents))) if len(exponents) >= FEWEST_RELEASES else None


def at_quiet_speed(sample: float, control: float, limit: float, exponent: float) -> float:
    """Return a sample corrected to the machine's quiet speed, in seconds.

    A quiet sample is returned unchanged.
    """
    return sample if control <= limit else sample * (limit / QUIET_SPREAD / control) ** exponent


# The numbers of one result file: samples by case and pass, and counts by case.

GREATEST_NUMEL = 2**62  # elements that a tensor may have


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
    def spec(self) -> SuiteSpec:
        """What its suite is."""
        return suite_specs.find(self.suite)

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


def numbers(
    document: dict[str, Any], suites: dict[str, Any], rule: QuietRule
) -> tuple[dict[Case, tuple[PassSamples, ...]], dict[Case, float], dict[Case, tuple[float, ...]]]:
    """Return the samples of every timed case, the value of every counted one, and its counts in the passes that recorded one.

    Suites of an earlier version than that of benchmarks.json are skipped. Raises ValueError for a later one, and for a time that cannot be.
    """
    samples: dict[Case, tuple[PassSamples, ...]] = {}
    counts: dict[Case, float] = {}
    repeats: dict[Case, tuple[float, ...]] = {}
    interruptions = {
        record["id"]: {suite: row["interruptions"] for suite, row in record["suites"].items() if "interruptions" in row}
        for record in document["passes"]
    }
    interruptions = {name: of_pass for name, of_pass in interruptions.items() if of_pass}  # without any, a pass has none recorded
    for suite, values in document["results"].items():
        row = dict(zip(document["result_columns"], values))
        if suite not in suites:
            continue
        version, current = row["version"], suites[suite]["version"]
        if version.isdecimal() and current.isdecimal() and int(version) > int(current):
            raise ValueError(f"{suite} has version {version}, and version {current} in benchmarks.json")
        if version != current:
            continue
        timed = suites[suite].get("type", "time") == "time"
        cases = _cases(suite, tuple(suites[suite]["param_names"]), tuple(map(tuple, row["params"])))
        by_pass = [record["counts"][suite] for record in document["passes"] if suite in record.get("counts", {})]
        recorded_counts = [of["values"] for of in by_pass if of["version"] == version and len(of["values"]) == len(cases)]
        for index, case in enumerate(cases):
            value = files.number(files.cell(row, "result", index))
            if value is None:  # failed or skipped
                continue
            if timed:
                recorded = files.cell(row, "samples", index)
                if not recorded and not SHORTEST_SAMPLE < value < LONGEST_SAMPLE:
                    raise ValueError(f"a sample of {value!r} seconds")
                seconds = [float(sample) for sample in recorded or (value,)]
                parts = tuple(
                    PassSamples(tuple(taken), tuple(map(_in_seconds, readings)), rule.limit, None, rule.excluded.get(name, ""), name)
                    if name
                    else PassSamples(tuple(taken))
                    for name, taken, readings in split_by_pass(document["passes"], suite, index, seconds)
                )
                samples[case] = _without_page_faults(parts, interruptions, suite, index) if interruptions else parts
            else:
                counts[case] = value
                repeats[case] = tuple(values[index] for values in recorded_counts if values[index] is not None)
    return samples, counts, repeats


@lru_cache(maxsize=2**16)
def _in_seconds(nanoseconds: int) -> float:
    """Return a reading in seconds; equal readings share one number, since there are as many as samples."""
    return nanoseconds * NANO


def _without_page_faults(
    by_pass: tuple[PassSamples, ...], interruptions: Mapping[str, Mapping[str, Any]], suite: str, index: int
) -> tuple[PassSamples, ...]:
    """Return the passes of a case; those with the page-fault artefact are excluded."""
    faults = []  # per call; None where they were not recorded
    for part in by_pass:
        recorded = interruptions.get(part.name, {}).get(suite, {}).get(str(index))
        known = part.name in interruptions and not part.excluded
        faults.append((fmean(sample[0] for sample in recorded) if recorded else 0.0) if known else None)
    if not any(faults):
        return by_pass
    reasons = fault_reasons([FaultedPass(median(part.quiet or part.samples), fault) for part, fault in zip(by_pass, faults)])
    return tuple(replace(part, excluded=reason) if reason and not part.excluded else part for part, reason in zip(by_pass, reasons))


@lru_cache(maxsize=512)  # a suite has the same cases in almost every file
def _cases(suite: str, names: tuple[str, ...], params: tuple[tuple[str, ...], ...]) -> tuple[Case, ...]:
    """Return a suite's cases in asv's order; a suite without parameters is one case.

    A `numel` of a third-party suite that is not a number of elements has another name. Raises ValueError for one that no tensor has.
    """
    if not suite_specs.find(suite).shipped:
        names = tuple("numel_" if name == "numel" and not all(map(_is_numel, values)) else name for name, values in zip(names, params))
    for name, values in zip(names, params):
        for text in values if name == "numel" else ():
            if not _is_numel(text):
                raise ValueError(f"numel {text[:20]!r}")
    return tuple(Case(suite, tuple(zip(names, texts, strict=True))) for texts in product(*map(_without_quotes, params)))


def _without_quotes(values: tuple[str, ...]) -> tuple[str, ...]:
    """Return a parameter's values without the quotes of texts, where these are not what tells two values apart, as 1 and '1'."""
    bare = tuple(value.strip("'") for value in values)
    return bare if len(set(bare)) == len(set(values)) else values


def _is_numel(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= len(str(GREATEST_NUMEL)) and 0 < int(text) <= GREATEST_NUMEL
