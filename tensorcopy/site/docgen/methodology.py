"""The produced parts of docs/methodology.md, from results and from docs/agreement.json. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import combinations
from math import exp, log
from statistics import mean, median, quantiles
from typing import Any

from tensorcopy.analysis.comparisons import NOT_TORCHS
from tensorcopy.measure import injected_slowdowns
from tensorcopy.releases.release_table import Release
from tensorcopy.report.units import duration, size
from tensorcopy.results import noise
from tensorcopy.results.load import Case, Result
from tensorcopy.results.noise import DriftModel
from tensorcopy.results.passes import PassSamples, Timing, left_out, timing

INSTRUCTIONS = "instructions.ByMethod.track_instructions"
NUMEL = 2**20  # of the memory suites
TO_NUMPY = ("detach_numpy_copy", "clone_detach_numpy", "detach_clone_numpy", "detach_to_cpu_copy_numpy")  # independent on every device
FEWEST = 3  # passes of a release, of which the earlier are compared with the later


def agreement(kept: Mapping[str, Any]) -> str:
    """What `tensorcopy verify --keep` found: asv's time over torch's Timer's, by suite."""
    lines = ["| asv over the reference | cases | median | least | greatest |", "|---|--:|--:|--:|--:|"]
    for name, row in kept["suites"].items():
        lines.append(f"| {name} | {row['cases']} | {row['median']:.3f} | {row['least']:.3f} | {row['greatest']:.3f} |")
    return "\n".join(
        [*lines, "", f"torch {kept['torch']} on {kept['on']}, {kept['day']}: the median over all cases is {kept['median']:.3f}."]
    )


def quiet(results: Sequence[Result]) -> str:
    """How quiet the machine was, how much the cases follow its pace, and which passes are left out."""
    timings = [one for result in results for one in result.timings.values()]
    by_pass = [pass_samples for one in timings for pass_samples in one.by_pass]
    readings = [reading for pass_samples in by_pass for reading in pass_samples.control]
    share = sum(reading <= pass_samples.limit for pass_samples in by_pass for reading in pass_samples.control) / max(len(readings), 1)
    powers = sorted({(r.python, case): one.by_pass[0].power for r in results for case, one in r.timings.items()}.items(), key=str)
    known = [power for _, power in powers if power is not None]
    low, middle, high = quantiles(known, n=4) if len(known) > 1 else (0.0, 0.0, 0.0)
    records = {record["id"]: record for result in results for record in result.passes if _timed(record)}
    disturbed = sum(one.disturbed for one in timings)
    lines = [
        f"{len(readings):,} samples in {len(records)} passes of {len(results)} results; {share:.0%} of the samples were taken while the "
        f"machine was quiet, and {disturbed:,} of {len(timings):,} times have no quiet sample. {len(known)} of {len(powers)} cases are "
        f"known to follow the control, with a power of {middle:.2f} in the median (the middle half: {low:.2f} to {high:.2f})."
    ]
    said, far = [], 0
    for python in sorted({result.python for result in results}):
        some = [record for result in results if result.python == python for record in result.passes if _timed(record)]
        said += [record["left_out"] for record in some if record.get("left_out")]
        far += len(left_out(some)) - sum(bool(record.get("left_out")) for record in some)
    if said:
        lines.append(f"- {len(said)} passes are left out, as their records say: {'; '.join(sorted(set(said)))}.")
    if far:
        lines.append(f"- {far} passes are left out because their control is far from that of the others.")
    return "\n".join(lines)


def drifts(results: Sequence[Result]) -> str:
    """How the machine's mood went from pass to pass, and how much the cases follow it."""
    told = [_steady(results, one) for one in {result.python: result for result in results}.values()]
    strays = [100 * (exp(value) - 1) for drift in told for value in drift.drifts.values()]
    powers = [power for drift in told for power in drift.powers.values()]
    if len(strays) < 2 or len(powers) < 2:
        return "No pass's mood is known."
    least, *_, greatest = quantiles(strays, n=20)
    low, middle, high = quantiles(powers, n=4)
    return (
        f"Of {len(strays)} passes in {len(results)} results nine in ten were in a mood between {least:+.1f} % and {greatest:+.1f} %. "
        f"{len(powers)} cases are known to follow it, by a power of {middle:.2f} in the median (the middle half: {low:.2f} to {high:.2f})."
    )


def _steady(results: Sequence[Result], one: Result) -> DriftModel:
    """What all results of one machine tell of all that torch can change."""
    told = [result for result in results if noise.same_machine(result, one)]
    return noise.fit_drift(told, {case for result in told for case in result.timings if not case.suite.startswith(NOT_TORCHS)})


def repeated(results: Sequence[Result], releases: Mapping[str, Release]) -> str:
    """The earlier passes of each release against its later ones: the median over cases of the difference, before and after control."""
    lines = [
        "| torch | Python | passes | hours apart | cases | as sampled | after control | of that, drift |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    for result in results:
        halves = [pair for one in result.timings.values() if (pair := _halves(one))]
        if not halves:
            continue
        raw = [log(_as_sampled(later) / _as_sampled(earlier)) for earlier, later in halves]
        calm = [log(timing(later).median / timing(earlier).median) for earlier, later in halves]
        passes = max(len(earlier) + len(later) for earlier, later in halves)
        lines.append(
            f"| {releases[result.sha].version} | {result.python} | {passes} | {_hours(result):.1f} | {len(halves)} "
            f"| {_percent(median(map(abs, raw)))} | {_percent(median(map(abs, calm)))} | {_signed(median(calm))} |"
        )
    return "\n".join(lines)


def sets(results: Sequence[Result], variants: Sequence[Result]) -> str:
    """Whole sets of passes of one release against each other: the history's, and the known changes' two without a change."""
    unchanged = [one for one in variants if not injected_slowdowns.VARIANTS.get(one.machine, 1.0)]
    beside = [one for one in results for other in unchanged[:1] if noise.same_kind(one, other)]
    named = [*(("`results/`", one) for one in beside if one.sha == unchanged[0].sha), *((f"`{one.machine}`", one) for one in unchanged)]
    lines = [
        "| one set | another | passes | hours apart | cases | difference | of that, drift | in the usual mood | of that, drift |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for (name, one), (other_name, other) in combinations(named, 2):
        judged = [{case for case, timing in result.timings.items() if timing.judged} for result in (one, other)]
        cases = [case for case in one.timings if case in judged[0] & judged[1] and not case.suite.startswith(NOT_TORCHS)]
        hours = abs(mean(_starts(other)) - mean(_starts(one))) / 3600
        cells = [f"{name} | {other_name} | {len(_starts(one))} and {len(_starts(other))} | {hours:.1f} | {len(cases)}"]
        for drift in (noise.AS_MEASURED, noise.fit_drift([*beside, *variants], cases)):
            levels = [[median(drift.logs(case, result.timings[case])) for case in cases] for result in (one, other)]
            changes = [after - before for before, after in zip(*levels)]
            cells.append(f"{_percent(median(map(abs, changes)))} | {_signed(median(changes))}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", f"torch {unchanged[0].provenance['torch']}, Python {unchanged[0].python}."])


def memory(results: Sequence[Result], releases: Mapping[str, Release]) -> str:
    """What conversions allocate: on the host, and on a CUDA device, measured where there is one and else counted by torch's dispatcher."""
    shown, rows = TO_NUMPY, results[-1].methods
    codes = {name: (rows[name]["code"], rows[name]["code_on_accelerator"]) for name in shown}
    lines = []
    for title, on_device in (("On the host, of a tensor on the CPU", False), ("On the device, of a tensor on CUDA", True)):
        lines += [f"{title}: the peak above the input of {size(NUMEL * 4)}.", ""]
        lines += [f"| torch | {' | '.join(f'`{codes[name][on_device]}`' for name in shown)} | |", f"|---|{'--:|' * len(shown)}---|"]
        for versions, values, how in _alike(_peaks(result, shown, on_device) for result in _one_each(results, list(releases))):
            names = [releases[sha].version for sha in versions]
            span = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
            lines.append(f"| {span} | {' | '.join('–' if value is None else size(int(value)) for value in values)} | {how} |")
        lines.append("")
    return "\n".join(lines).rstrip()


def seen(results: Sequence[Result], releases: Mapping[str, Release]) -> str:
    """Some of what the history shows, with the ranges of the passes and the instructions beside it."""
    at = {(releases[result.sha].version, result.python): result for result in results}
    plain = Case("conversions.BySize.time_conversion", (("method", "detach_numpy_copy"), ("numel", "1")))
    grad = Case("copies.ByGrad.time_copy", (("method", "empty_like_copy"), ("numel", "16"), ("requires_grad", "True")))
    lines = ["| | from | to | time | instructions |", "|---|---|---|--:|--:|"]
    for what, case, before, after in (
        ("`x.detach().numpy().copy()`, numel 1", plain, ("1.9.0", "3.9"), ("2.0.1", "3.9")),
        ("`x.detach().numpy().copy()`, numel 1", plain, ("1.13.1", "3.11"), ("2.0.1", "3.11")),
        ("`x.detach().numpy().copy()`, numel 1", plain, ("2.0.1", "3.11"), ("2.15.0", "3.11")),
        ("`torch.empty_like(x).copy_(x)` with requires_grad, numel 16", grad, ("1.13.1", "3.11"), ("2.0.1", "3.11")),
        ("`torch.empty_like(x).copy_(x)` with requires_grad, numel 16", grad, ("2.0.1", "3.11"), ("2.15.0", "3.11")),
    ):
        one, other = at.get(before), at.get(after)
        if one and other and case in one.timings and case in other.timings:
            lines.append(
                f"| {what} | {before[0]}, Python {before[1]} | {after[0]} | {_change(one.timings[case], other.timings[case])} "
                f"| {_counted(one, other, case)} |"
            )
    newest = results[-1]
    first, second = (Case(grad.suite, (("method", name), *grad.parameters[1:])) for name in ("clone_detach", "detach_clone"))
    if first in newest.timings and second in newest.timings:
        lines.append(
            f"| with requires_grad, numel 16 | `x.clone().detach()` | `x.detach().clone()`, torch {releases[newest.sha].version} "
            f"| {_change(newest.timings[first], newest.timings[second])} | {_counted(newest, newest, first, second)} |"
        )
    return "\n".join(lines)


def provenance(schema: Mapping[str, Any]) -> str:
    """The ledger's fields, from result.schema.json."""
    fields = schema["$defs"]["ledger"]["properties"]
    return "\n".join(["| field | |", "|---|---|", *(f"| `{name}` | {field['description']} |" for name, field in fields.items())])


def _timed(record: Mapping[str, Any]) -> bool:
    return any(row["control_ns"] and any(row["control_ns"]) for row in record["suites"].values())


def _halves(one: Timing) -> tuple[tuple[PassSamples, ...], tuple[PassSamples, ...]] | None:
    """The earlier and the later passes of a case."""
    kept = [pass_samples for pass_samples in one.by_pass if not pass_samples.left_out]
    half = len(kept) // 2
    return (tuple(kept[:half]), tuple(kept[-half:])) if len(kept) >= FEWEST else None


def _as_sampled(by_pass: Sequence[PassSamples]) -> float:
    return median(median(pass_samples.samples) for pass_samples in by_pass)


def _hours(result: Result) -> float:
    starts = _starts(result)
    half = len(starts) // 2
    return (mean(starts[-half:]) - mean(starts[:half])) / 3600


def _starts(result: Result) -> list[float]:
    """When each timed pass that is kept began, in seconds."""
    records = [record for record in result.passes if _timed(record) and not record.get("left_out")]
    return [datetime.fromisoformat(record["started"]).timestamp() for record in records]


def _percent(logarithm: float) -> str:
    return f"{exp(logarithm) - 1:.1%}"


def _signed(logarithm: float) -> str:
    return f"{exp(logarithm) - 1:+.1%}"


def _one_each(results: Sequence[Result], order: Sequence[str]) -> list[Result]:
    """A result for each release, in their order: bytes do not hang on Python, and are not counted on each."""
    found: dict[str, Result] = {}
    for result in results:
        if result.counts or result.sha not in found:
            found[result.sha] = result
    return sorted(found.values(), key=lambda result: order.index(result.sha))


def _peaks(result: Result, methods: Sequence[str], on_device: bool) -> tuple[str, tuple[float | None, ...], str]:
    """A release's peaks in bytes, and how they were found."""

    def of(suite: str, *more: tuple[str, str]) -> tuple[float | None, ...]:
        return tuple(result.counts.get(Case(suite, (("method", name), ("numel", str(NUMEL)), *more))) for name in methods)

    if not on_device:
        return result.sha, of("memory.Host.track_peak", ("device", "cpu")), ""
    measured = of("memory.Device.track_peak", ("device", "cuda"))
    if any(value is not None for value in measured):
        return result.sha, measured, f"measured on {result.provenance['accelerators']['cuda']}"
    counted = of("memory.Counted.track_peak")
    known = any(value is not None for value in counted)
    return result.sha, counted, "counted by torch's dispatcher; not measured yet" if known else "not measured yet"


def _alike(
    rows: Iterator[tuple[str, tuple[float | None, ...], str]],
) -> Iterator[tuple[list[str], tuple[float | None, ...], str]]:
    """Neighbouring releases with the same values, together."""
    shas: list[str] = []
    last: tuple[tuple[float | None, ...], str] | None = None
    for sha, values, how in rows:
        if last is not None and (values, how) != last:
            yield shas, *last
            shas = []
        shas.append(sha)
        last = values, how
    if last is not None:
        yield shas, *last


def _change(before: Timing, after: Timing) -> str:
    """The ratio with its range: the extremes of the passes on either side."""
    return (
        f"×{after.median / before.median:.2f} ({after.low / before.high:.2f} … {after.high / before.low:.2f}): "
        f"{duration(before.median)} → {duration(after.median)}"
    )


def _counted(before: Result, after: Result, case: Case, other: Case | None = None) -> str:
    """The ratio of the instructions, which are counted at numel 16 whatever the case's."""
    found = []
    for result, of in ((before, case), (after, other or case)):
        grad = dict(of.parameters).get("requires_grad", "False")
        found.append(result.counts.get(Case(INSTRUCTIONS, (("method", of["method"]), ("numel", "16"), ("requires_grad", grad)))))
    return f"×{found[1] / found[0]:.2f}" if found[0] and found[1] else "–"
