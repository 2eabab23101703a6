"""Which method for which wish: what does as asked, fastest first, with what to beware of. From one result alone. Pure.

What a method does is what it was observed to do when that result was measured; what it costs is what it cost there. The
chooser's pages say what this module says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, log
from statistics import median
from typing import Any

from tensorcopy.analysis.two_sample import Change, Samples, Verdict, judge
from tensorcopy.results import baseline, noise
from tensorcopy.results.load import Case, Result
from tensorcopy.results.noise import DriftModel
from tensorcopy.results.passes import Timing

GROUPS = ("copy", "conversion", "primitive", "alternative")
SUITES = {
    "copy": "copies.{}.time_copy",
    "conversion": "conversions.{}.time_conversion",
    "primitive": "primitives.{}.time_primitive",
    "alternative": "alternatives.{}.time_alternative",
}
OWN = "own.{}.time_own"  # of every other group: somebody's own operations
ALONE = ("primitive", "alternative")  # not timed with and without grad
ON_DEVICE = {"copy": "Throughput", "conversion": "Latency"}  # a conversion ends on the host, and so waits by itself
FIRST = "1.9.0"  # a method that is as old as the table needs no word about its age


@dataclass(frozen=True)
class CopyRequest:
    """What somebody wants made of a tensor `x`.

    to : "tensor" or "ndarray"
    own : with storage of its own, or sharing x's
    keeps_graph : whether a gradient shall reach x; None where there is no graph: x requires no grad, or an ndarray is wanted
    requires_grad : whether x does
    device : where x lies
    """

    to: str
    own: bool
    keeps_graph: bool | None
    requires_grad: bool
    device: str


@dataclass(frozen=True)
class Option:
    """A method that does as wished, at one size.

    timing : None where it was not measured
    multiple : of the floor; None where either was not measured
    change : from the least time to this one, judged; None for the least itself, and without a time
    caveats : what a reader may not expect, as a word and a detail: "warns" with the text, "own_gradient", "contiguous", "writes", "since"
    """

    method: str
    code: str
    timing: Timing | None
    multiple: float | None
    change: Change | None
    caveats: tuple[tuple[str, str], ...]

    @property
    def among_fastest(self) -> bool:
        """Whether none is surely faster."""
        return self.timing is not None and (self.change is None or self.change.verdict is not Verdict.SLOWER)


def requests(device: str) -> list[CopyRequest]:
    """Every wish that can be had on a device, in order."""
    found = []
    for to in ("tensor", "ndarray"):
        for own in (True, False):
            for requires_grad in (False, True):
                graphs: tuple[bool | None, ...] = (False, True) if to == "tensor" and requires_grad else (None,)
                found += [CopyRequest(to, own, graph, requires_grad, device) for graph in graphs]
    return found


def devices(result: Result) -> list[str]:
    """Where tensors lay when this result was measured, the CPU first."""
    seen = {device for row in result.methods.values() for device in row.get("observed") or {}}
    return sorted(seen, key=lambda device: (device != "cpu", device))


def numels(result: Result, request: CopyRequest) -> list[int]:
    """The sizes at which a wish can be answered with a cost: of tensors that require grad those of that suite."""
    for requires_grad in (request.requires_grad, False):
        suites = {suite_of(group, request.device, requires_grad) for group in ("copy", "conversion")}
        found = {int(case["numel"]) for case in result.timings if case.suite in suites and case.device == request.device}
        if found:
            return sorted(found)
    return []


def advised(result: Result, request: CopyRequest, beside: Iterable[Result] = ()) -> dict[int, tuple[Option, ...]]:
    """By size, the methods that do as wished: the one to take first, then by time, then those without one.

    The one to take does not warn, if there is such a one; none is surely faster here, if that can be had too; and of several such
    it is the one that is surely beaten at the smallest share of its sizes.
    beside : results of the same machine, Python and build, which know how far passes stray
    """
    fit = [name for name in _known(result) if _does(result.methods[name], request)]
    there = list(beside)
    rows = {numel: _options(result, request, fit, numel, there) for numel in numels(result, request)}
    judged = {name: [not row[name].among_fastest for row in rows.values() if row[name].timing] for name in fit}
    beaten = {name: sum(some) / len(some) if some else 1.0 for name, some in judged.items()}
    times = {name: median([log(row[name].timing.median) for row in rows.values() if row[name].timing] or [inf]) for name in fit}  # type: ignore[union-attr]

    def place(option: Option) -> tuple[bool, bool, bool, float, float]:
        warns = any(word == "warns" for word, _ in option.caveats)
        surely = beaten[option.method] if option.among_fastest else _time(option)
        return option.timing is None, warns, not option.among_fastest, surely, times[option.method]

    return {numel: tuple(sorted(row.values(), key=place)) for numel, row in rows.items()}


def because(options: Sequence[Option]) -> tuple[str, dict[str, int]]:
    """Why the first of the options is the one to take: the name of a text in words.toml, and what stands in its places."""
    measured = sum(option.timing is not None for option in options)
    if not options:
        return "none_fits", {}
    if options[0].timing is None:
        return "because_unmeasured", {}
    if len(options) == 1:
        return "because_only", {}
    if not options[0].among_fastest:
        return "because_quiet", {}
    return ("because_least", {"measured": measured}) if options[0].change is None else ("because_contender", {})


def near(numel: int, sizes: Iterable[int]) -> int:
    """Of the sizes the nearest, by ratio."""
    return min(sizes, key=lambda size: max(size / numel, numel / size))


def against_fastest(result: Result, cases: Sequence[Case], beside: Iterable[Result] = ()) -> dict[Case, Change | None]:
    """How each measured case's time stands to the least of them, judged all together; None for the least itself."""
    measured = [case for case in cases if case in result.timings]
    if not measured:
        return {}
    least = min(measured, key=lambda case: result.timings[case].median)
    around = [one for one in beside if one.path != result.path]
    drift = noise.fit_drift([result, *(one for one in around if noise.same_machine(one, result))], measured)
    others = {case: (_side(result, least, drift), _side(result, case, drift)) for case in measured if case != least}
    return {least: None, **judge(others, noise=drift.noise(around, others))}


def code(row: Mapping[str, Any], device: str) -> str:
    """A method's code for a tensor on `device`, as the registry had it then."""
    return str(row["code" if device == "cpu" else "code_on_accelerator"])


def _known(result: Result) -> list[str]:
    return sorted(
        result.methods, key=lambda name: GROUPS.index(group) if (group := result.methods[name].get("group")) in GROUPS else len(GROUPS)
    )


def _does(row: Mapping[str, Any], request: CopyRequest) -> bool:
    seen = (row.get("observed") or {}).get(request.device)
    outcome = seen["with_grad" if request.requires_grad else "plain"] if seen else {"raises": "nobody looked"}
    return (
        not outcome["raises"]
        and outcome["gives"] == request.to
        and (request.to != "tensor" or outcome["device"] == "same")
        and outcome["shares_storage"] is not request.own
        and (request.keeps_graph is None or outcome["keeps_graph"] is request.keeps_graph)
    )


def _options(result: Result, request: CopyRequest, names: Sequence[str], numel: int, beside: Sequence[Result]) -> dict[str, Option]:
    cases = {name: case_of(result.methods[name], name, request, numel) for name in names}
    changes = against_fastest(result, list(cases.values()), beside)
    return {
        name: Option(
            method=name,
            code=code(result.methods[name], request.device),
            timing=result.timings.get(case),
            multiple=baseline.multiple(result, case) if request.own else None,
            change=changes.get(case),
            caveats=tuple(_beware(result.methods[name], request)),
        )
        for name, case in cases.items()
    }


def _beware(row: Mapping[str, Any], request: CopyRequest) -> Iterable[tuple[str, str]]:
    outcome = row["observed"][request.device]["with_grad" if request.requires_grad else "plain"]
    if outcome["warns"]:
        yield "warns", str(outcome["warns"])
    if outcome["requires_grad"] and not outcome["keeps_graph"]:
        yield "own_gradient", ""
    if outcome["layout"] != "same":
        yield "contiguous", ""
    if outcome["shares_storage"]:
        yield "writes", ""
    if row.get("since", FIRST) != FIRST:
        yield "since", str(row["since"])


def case_of(row: Mapping[str, Any], method: str, request: CopyRequest, numel: int) -> Case:
    """Where a result has the time of a method, of which `row` is what it says, for a wish at a size."""
    parameters = [("method", method), ("numel", str(numel))]
    group = row.get("group", "copy")
    if request.device != "cpu":
        parameters.append(("device", request.device))
    if request.requires_grad:  # the suites time it on the CPU only, and there copies and conversions only
        parameters.append(("requires_grad", "True"))
    return Case(suite_of(group, request.device, request.requires_grad), tuple(parameters))


def suite_of(group: str, device: str, requires_grad: bool = False) -> str:
    """Where the methods of a group are timed by size."""
    suite = SUITES.get(group, OWN)
    if device != "cpu":
        return suite.format(ON_DEVICE.get(group, "Throughput"))
    return suite.format("ByGrad" if requires_grad and group not in ALONE else "BySize")


def _side(result: Result, case: Case, drift: DriftModel) -> Samples:
    judged = drift.passes(case, result.timings[case])
    return Samples(judged, failure="" if judged else "the machine was never quiet")


def _time(option: Option) -> float:
    return option.timing.median if option.timing else inf
