"""Which sample came from which pass, what the control read beside it, and the time that follows. Pure.

A pass is one run of the suites in one process tree: one draw of memory layout and of the machine's mood. A result keeps a record of each,
in order, beside asv's own samples, which asv only ever appends to:

id, started, selection : a name of its own, ISO 8601 in UTC, and which suites were asked for
shard : which part of a run over several machines it belongs to, where it is one
left_out : why it is kept but not judged, where somebody has said so
ledger : what was there (`provenance`)
suites : per suite its version, and per case, in asv's order, how many samples were added and the control beside each in whole nanoseconds
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from math import log
from statistics import median, quantiles
from typing import Any

from tensorcopy.results import pace
from tensorcopy.worker import control

NANO = 1e-9
FEWEST_PASSES = 8  # from which it is known what is usual
FAR = 3.0
PASSES = 40  # of a release, unless somebody asks for another number: what the judge sees then is on its report card
ENOUGH = 3  # passes, of which a median holds when one goes wrong

Samples = Mapping[str, list[list[float] | None]]  # by suite and case


@dataclass(frozen=True)
class PassSamples:
    """A case in a pass.

    samples : in seconds
    control : seconds that the control took beside each sample; () where it was not noted
    limit : the greatest control that counts as quiet on that machine, in seconds
    power : how the case follows the control (`pace`); None where nobody knows
    left_out : why the pass is kept but not judged; "" where it is
    name : the pass's id; "" where asv alone has measured
    """

    samples: tuple[float, ...]
    control: tuple[float, ...] = ()
    limit: float = float("inf")
    power: float | None = None
    left_out: str = ""
    name: str = ""

    @property
    def pairs(self) -> tuple[tuple[float, float], ...]:
        """Each sample with its control; none where none was noted."""
        return tuple(zip(self.samples, self.control)) if len(self.control) == len(self.samples) else ()

    @property
    def quiet(self) -> tuple[float, ...]:
        """The samples that were taken while the machine was quiet."""
        return tuple(sample for sample, reading in self.pairs if reading <= self.limit) if self.pairs else self.samples

    @property
    def quieted(self) -> tuple[float, ...]:
        """Every sample as it would have been at the machine's quiet pace; as it was, where that is not known."""
        if self.power is None or not self.pairs:
            return self.samples
        return tuple(pace.quieted(sample, reading, self.limit, self.power) for sample, reading in self.pairs)


@dataclass(frozen=True)
class Timing:
    """One case as measured: seconds per call.

    median : of the passes' medians, at the machine's quiet pace
    low, high : the least and the greatest median of a pass; of one pass alone the range of its samples
    by_pass : every pass, also those that are left out
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
    def judged(self) -> tuple[PassSamples, ...]:
        """The passes that say something of torch: not left out, with a quiet sample."""
        return tuple(pass_samples for pass_samples in self.by_pass if not pass_samples.left_out and pass_samples.quiet)

    @cached_property
    def logs(self) -> tuple[float, ...]:
        """The time of each pass that says something of torch, in log seconds."""
        return tuple(log(median(pass_samples.quiet)) for pass_samples in self.judged)

    @property
    def disturbed(self) -> bool:
        """Whether no pass says anything of torch; the time is then what it would have been at the quiet pace, as far as that is known."""
        return bool(self.by_pass) and not self.judged


def timing(by_pass: Sequence[PassSamples]) -> Timing:
    """The time of a case from its visits, of which each has a sample."""
    used = counted(by_pass)
    medians = [median(samples) for samples in used]
    spread = medians if len(medians) > 1 else used[0]
    return Timing(median(medians), min(spread), max(spread), tuple(by_pass))


def counted(by_pass: Sequence[PassSamples]) -> list[tuple[float, ...]]:
    """Each pass's samples that count, of visits of which each has one.

    Of passes with quiet samples where there are enough of them for one that went wrong not to matter: the control sees what disturbs the
    interpreter, not what disturbs the memory. Else of all passes that are kept, at the quiet pace.
    """
    kept = [pass_samples for pass_samples in by_pass if not pass_samples.left_out] or list(by_pass)
    quiet = [pass_samples.quiet for pass_samples in kept if pass_samples.quiet]
    return quiet if len(quiet) >= ENOUGH else [pass_samples.quiet or pass_samples.quieted for pass_samples in kept]


def by_pass(
    records: Iterable[Mapping[str, Any]], suite: str, index: int, samples: Sequence[float], limit: float, left_out: Mapping[str, str]
) -> tuple[PassSamples, ...]:
    """A case's samples by pass. Samples before the first record, as asv alone would leave them, are a visit without control.

    left_out : by pass, why it is
    """
    parts = []
    for record in records:
        row = record["suites"].get(suite)
        if row and index < len(row["samples"]) and row["samples"][index]:  # a parameter that came later has no place in it
            readings = tuple(reading * NANO for reading in row["control_ns"][index])
            parts.append((row["samples"][index], readings, record["id"]))
    begin = len(samples) - sum(count for count, _, _ in parts)
    found = [PassSamples(tuple(samples[:begin]))] if begin > 0 else []
    for count, readings, name in parts:
        found.append(PassSamples(tuple(samples[begin : begin + count]), readings, limit, left_out=left_out.get(name, ""), name=name))
        begin += count
    return tuple(pass_samples for pass_samples in found if pass_samples.samples)


def limits(records: Iterable[Mapping[str, Any]]) -> float:
    """The greatest control that counts as quiet, from every pass of one machine and Python."""
    return control.limit(reading * NANO for record in records for reading in _readings(record))


def left_out(records: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Why a pass of one machine and Python is kept but not judged, by its id: it says so itself, or its control is far from the others'.

    Far is more than three times the middle half's width beyond that half, of the passes' medians.
    """
    found = {record["id"]: record["left_out"] for record in records if record.get("left_out")}
    medians = {record["id"]: median(readings) for record in records if (readings := _readings(record)) and record["id"] not in found}
    if len(medians) >= FEWEST_PASSES:
        first, _, third = quantiles(medians.values(), n=4)
        for name, middle in medians.items():
            if not first - FAR * (third - first) <= middle <= third + FAR * (third - first):
                found[name] = f"its control, {middle / 1000:.1f} µs, is far from the others' {first / 1000:.1f} to {third / 1000:.1f} µs"
    return found


def _readings(record: Mapping[str, Any]) -> list[int]:
    """The control beside every sample of a pass, in nanoseconds."""
    return [reading for row in record["suites"].values() for readings in row["control_ns"] for reading in readings]


def added(before: Samples, after: Samples, versions: Mapping[str, str], journal: Iterable[str]) -> dict[str, Any]:
    """A new record's `suites`: per suite and case, the samples that are new since `before`, and the control that the journal has for them.

    before, after : samples by suite and case
    versions : by suite
    journal : lines "copies.BySize 17 8.61e-06": suite, case and control in seconds, one for each sample, in order
    """
    readings: dict[tuple[str, int], list[int]] = {}
    for line in journal:
        if line.count(" ") != 2:
            continue  # cut off: its sample then has no control
        suite, index, seconds = line.split()
        readings.setdefault((suite, int(index)), []).append(round(float(seconds) / NANO))
    suites = {}
    for suite, cases in after.items():
        counts = [_new(old, new) for old, new in zip_longest(before.get(suite) or [], cases)]
        if any(counts):
            known = [readings.get((suite.rpartition(".")[0], index), []) for index in range(len(counts))]
            suites[suite] = {
                "version": versions[suite],
                "samples": counts,
                "control_ns": [list(row[-count:]) if count and len(row) >= count else [] for row, count in zip(known, counts)],
            }
    return suites


def kept(
    records: Iterable[Mapping[str, Any]], before: Mapping[str, list[list[float] | None]], after: Mapping[str, list[list[float] | None]]
) -> list[dict[str, Any]]:
    """Earlier records, without the cases whose samples asv has replaced (`asv run` without --append-samples, a suite's new version), and
    without a pass of which nothing is left.
    """
    found = []
    for record in records:
        suites = {}
        for suite, row in record["suites"].items():
            old, new = before.get(suite) or [], after.get(suite) or []
            there = [i < len(old) and i < len(new) and _starts_with(new[i], old[i]) for i in range(len(row["samples"]))]
            if any(count and stays for count, stays in zip(row["samples"], there)):
                suites[suite] = {
                    **row,
                    "samples": [count if stays else 0 for count, stays in zip(row["samples"], there)],
                    "control_ns": [readings if stays else [] for readings, stays in zip(row["control_ns"], there)],
                }
        if suites or not record["suites"]:
            found.append({**record, "suites": suites})
    return found


def _new(old: list[float] | None, new: list[float] | None) -> int:
    """How many samples of `new` are not in `old`, which it continues or replaces."""
    return len(new or ()) - (len(old or ()) if _starts_with(new, old) else 0)


def _starts_with(new: list[float] | None, old: list[float] | None) -> bool:
    return (new or [])[: len(old or ())] == (old or [])
