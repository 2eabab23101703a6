"""Divide samples by pass, and compute the time that follows. Pure.

A pass is one run of the suites in one process tree: one draw of memory layout and machine drift. A result keeps a record of each pass, in
order, beside asv's own samples, to which asv only appends:

"id", "started", "selection" : a unique name, ISO 8601 in UTC, and the regular expression of the suites that were run
"shard" : which part of a run over several machines it belongs to, if any
"left_out" : why the pass is kept but excluded, if it was excluded by hand
"ledger" : its `provenance`
"counts" : per suite its version, and per case its count (`results.counts`)
"suites" : per suite its version, and per case, in asv's order, how many samples were added and the control beside each in whole
    nanoseconds. "interruptions": by the number of a case, for each sample its page faults per call, major page faults and involuntary
    context switches; a case with few switches and nothing else is omitted
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest
from math import log
from statistics import median
from typing import Any

from tensorcopy.results.noise.quiet import NANO
from tensorcopy.results.noise.speed import at_quiet_speed

PASSES = 40  # of a release by default: the accuracy report shows which changes they reveal
FEW_SWITCHES = 10  # involuntary ones in a sample of 5 ms, as on a busy machine
ENOUGH = 3  # passes, whose median tolerates one bad pass

Samples = Mapping[str, Sequence["list[float] | None"]]  # by suite and case
Part = tuple[str, list[float], list[int]]  # a pass's id ("" before the first record), its samples in seconds, their control in nanoseconds


@dataclass(frozen=True, slots=True)  # a site has a million of them
class PassSamples:
    """One case in one pass.

    samples : in seconds
    control : seconds that the control took beside each sample; () where it was not recorded
    limit : the greatest control that counts as quiet on that machine, in seconds
    control_exponent : how the case follows the control (`noise.speed`); None where that is unknown
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


def added(before: Samples, after: Samples, versions: Mapping[str, str], journal: Iterable[str]) -> dict[str, Any]:
    """Return a new record's `suites`: the new samples and their control.

    before, after : samples by suite and case
    versions : by suite
    journal : lines "copies.BySize 17 0 0 2 8.61e-06", one per sample, in order: suite, case, page faults per call, major page faults,
        involuntary context switches, and control in seconds
    """
    readings = _readings(journal)
    suites = {}
    for suite, cases in after.items():
        counts = [_count_new(old, new) for old, new in zip_longest(before.get(suite) or [], cases)]
        if any(counts):
            rows = [readings.get((suite.rpartition(".")[0], index), []) for index in range(len(counts))]
            rows = [row[-count:] if count and len(row) >= count else [] for row, count in zip(rows, counts)]
            interruptions = {str(index): [reading[1:] for reading in row] for index, row in enumerate(rows)}
            interruptions = {index: row for index, row in interruptions.items() if any(map(_is_interrupted, row))}
            suites[suite] = {
                "version": versions[suite],
                "samples": counts,
                "control_ns": [[reading[0] for reading in row] for row in rows],
                **({"interruptions": interruptions} if interruptions else {}),
            }
    return suites


def _is_interrupted(interruptions: Sequence[int]) -> bool:
    """Return whether a sample had page faults, or more context switches than most."""
    minor, major, switches = interruptions
    return bool(minor or major or switches > FEW_SWITCHES)


def _readings(journal: Iterable[str]) -> dict[tuple[str, int], list[list[int]]]:
    """Return the readings of each case: control in nanoseconds, then interruptions.

    A line that is cut off is skipped: its sample then has no control.
    """
    readings: dict[tuple[str, int], list[list[int]]] = {}
    for words in (line.split() for line in journal):
        if len(words) == 6:
            suite, index, *interruptions, seconds = words
            row = [round(float(seconds) / NANO), *map(int, interruptions)]
            readings.setdefault((suite, int(index)), []).append(row)
    return readings


def still_valid(records: Iterable[Mapping[str, Any]], before: Samples, after: Samples) -> Iterator[dict[str, Any]]:
    """Yield the earlier records without samples that asv has replaced.

    A pass that lost all its samples is dropped.

    asv replaces samples in `asv run` without --append-samples and for a suite's new version.
    """
    for record in records:
        suites = {}
        for suite, row in record["suites"].items():
            old, new = before.get(suite) or [], after.get(suite) or []
            appended = [i < len(old) and i < len(new) and _starts_with(new[i], old[i]) for i in range(len(row["samples"]))]
            if any(count and valid for count, valid in zip(row["samples"], appended)):
                suites[suite] = {
                    **row,
                    "samples": [count if valid else 0 for count, valid in zip(row["samples"], appended)],
                    "control_ns": [readings if valid else [] for readings, valid in zip(row["control_ns"], appended)],
                    **_interruptions_of(row, [index for index, valid in enumerate(appended) if valid]),
                }
        if suites or not record["suites"]:
            yield {**record, "suites": suites}


def _interruptions_of(row: Mapping[str, Any], indices: Sequence[int]) -> dict[str, Any]:
    """Return the interruptions of these cases of a suite's record, if it has any."""
    if "interruptions" not in row:
        return {}
    return {"interruptions": {str(index): row["interruptions"][str(index)] for index in indices if str(index) in row["interruptions"]}}


def _count_new(old: list[float] | None, new: list[float] | None) -> int:
    """Return how many samples of `new` are not in `old`.

    asv appends to the old ones or replaces them.
    """
    return len(new or ()) - (len(old or ()) if _starts_with(new, old) else 0)


def _starts_with(new: list[float] | None, old: list[float] | None) -> bool:
    return (new or [])[: len(old or ())] == (old or [])
