"""Recommend a method: those that do what is requested, fastest first, with their caveats.

What a method does is what was observed when that result was measured, and what it costs is what it cost then. The landing page, README,
the chooser's pages and `tensorcopy advise` all show what this module returns.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, log
from statistics import median
from typing import Any

from tensorcopy.campaign import LAYOUTS
from tensorcopy.judge import comparisons
from tensorcopy.judge.paired import Change
from tensorcopy.results import suite_specs
from tensorcopy.results.cases import DEFAULTS, ITEMSIZE, Case, memory_case
from tensorcopy.results.effects import Timing
from tensorcopy.results.result import Result

GROUPS = ("copy", "conversion", "primitive", "alternative", "transfer")
# the usual form, by what is made, whether it has its own storage, and whether it keeps the graph
USUAL = {
    ("tensor", True, False): "detach_clone",
    ("tensor", True, True): "clone",
    ("tensor", False, False): "detach",
    ("ndarray", True, False): "detach_numpy_copy",
    ("ndarray", False, False): "numpy",
}
FIRST = "1.9.0"  # the first release in the table: a method as old as that needs no caveat
WITHOUT_GRAD = ("int64", "bool", "int32", "uint8")
NOT_IN_NUMPY = ("bfloat16",)
NUMEL = 2**17  # elements, where a reader names no size
FASTER = 1.05  # times as fast as the usual form, at least, is another that is recommended in its place
FASTER_BY = 50e-9  # seconds, also at least


@dataclass(frozen=True)
class CopyRequest:
    """A request for something made of a tensor `x`.

    to : "tensor" or "ndarray"
    own : whether it shall have its own storage, or share that of x
    keeps_graph : whether gradients shall flow back to x; None if there is no graph: x requires no grad, or an ndarray is wanted
    requires_grad : whether x does
    device, dtype, layout : of x
    """

    to: str
    own: bool
    keeps_graph: bool | None
    requires_grad: bool
    device: str
    dtype: str = DEFAULTS["dtype"]
    layout: str = DEFAULTS["layout"]

    @property
    def is_common(self) -> bool:
        """Whether x is a contiguous tensor of float32."""
        return (self.dtype, self.layout) == (DEFAULTS["dtype"], DEFAULTS["layout"])

    @property
    def of_common(self) -> CopyRequest:
        """The same request for such a tensor."""
        return replace(self, dtype=DEFAULTS["dtype"], layout=DEFAULTS["layout"])

    @property
    def tensor(self) -> str:
        """The dtype and the layout of x in words: "int64", "float32, strided"."""
        return ", ".join([self.dtype, *([self.layout] if self.layout != DEFAULTS["layout"] else [])])

    @property
    def name(self) -> str:
        """What the address of its answers is made of: "cpu-tensor-own-cut-grad"."""
        graph = {None: "", False: "-cut", True: "-kept"}[self.keeps_graph]
        return "-".join([self.device, self.to, ("own" if self.own else "shared") + graph, "grad" if self.requires_grad else "plain"])

    @property
    def usual(self) -> str:
        """The method that is the usual form of it; "" where there is none."""
        return USUAL.get((self.to, self.own, bool(self.keeps_graph)), "")

    @property
    def axes(self) -> dict[str, str]:
        """The parameters of the cases that time it, besides the method and the size: those that its suites have."""
        values = {"requires_grad": str(self.requires_grad), "dtype": self.dtype, "layout": self.layout}
        on_device = {"device": self.device} if self.device != "cpu" else {}
        return {**on_device, **{name: value for name, value in values.items() if value != DEFAULTS[name]}}


def requests(device: str) -> list[CopyRequest]:
    """Return all possible requests on a device, in order."""
    result = []
    for to in ("tensor", "ndarray"):
        for own in (True, False):
            for requires_grad in (False, True):
                graphs: tuple[bool | None, ...] = (False, True) if to == "tensor" and requires_grad else (None,)
                result += [CopyRequest(to, own, graph, requires_grad, device) for graph in graphs]
    return result


def common_request(to: str, device: str) -> CopyRequest:
    """Return the most common request: for an independent tensor or ndarray, out of the graph of an x that requires grad.

    Its answer does the same for an x that requires no grad.
    """
    return CopyRequest(to, own=True, keeps_graph=False if to == "tensor" else None, requires_grad=True, device=device)


def matches(row: Mapping[str, Any], request: CopyRequest) -> bool:
    """Return whether a method was observed to do what is requested."""
    observed = (row.get("observed") or {}).get(request.device)
    if not observed:
        return False
    outcome, with_grad = observed["with_grad" if request.requires_grad else "plain"], observed["with_grad"]
    # a view of a leaf that requires grad is not a leaf
    returns_x = with_grad["shares_storage"] and with_grad["keeps_graph"] and with_grad["is_leaf"]
    return (
        (request.to != "ndarray" or request.dtype not in NOT_IN_NUMPY)
        and not outcome["raises"]
        and not returns_x
        and outcome["dtype"] == "same"
        and outcome["gives"] == request.to
        and not outcome.get("changes")
        and not outcome.get("unobserved")
        and (outcome["layout"] in ("same", "contiguous") or outcome["layout"].startswith("("))  # has strides
        and (request.to != "tensor" or outcome["device"] == "same")
        and outcome["shares_storage"] is not request.own
        and (request.keeps_graph is None or outcome["keeps_graph"] is request.keeps_graph)
    )


def caveats(row: Mapping[str, Any], request: CopyRequest) -> Iterable[tuple[str, str]]:
    """Yield what to know about a method that matches a request: a key of words.toml, and its detail."""
    observed = row["observed"][request.device]
    outcome = observed["with_grad" if request.requires_grad else "plain"]
    if outcome["warns"]:
        yield "warns", str(outcome["warns"])
    if outcome["requires_grad"] and not outcome["keeps_graph"]:
        yield "own_gradient", ""
    if outcome["layout"] != "same" or (request.own and request.layout == "strided"):  # the strides of a tensor with gaps are never kept
        yield "contiguous", ""
    if outcome["shares_storage"]:
        yield "writes", ""
    on_cpu = row["observed"].get("cpu", observed)
    if request.own and on_cpu["with_grad" if request.requires_grad else "plain"]["shares_storage"]:
        yield "shares_on_cpu", ""
    if row.get("since", FIRST) != FIRST:
        yield "since", str(row["since"])
    if row.get("caveat"):
        yield str(row["caveat"]), ""
    if request.requires_grad:
        return
    with_grad = observed["with_grad"]  # what differs once x requires grad
    if with_grad["raises"]:
        yield "grad_raises", str(with_grad["raises"]).partition(":")[0]
    elif with_grad["keeps_graph"]:
        yield "grad_flows", ""
    elif with_grad["requires_grad"]:
        yield "grad_own", ""
    if with_grad["warns"] and not outcome["warns"]:
        yield "grad_warns", str(with_grad["warns"])


@dataclass(frozen=True)
class Option:
    """A method that matches a request, at one size.

    case : that times it
    timing : None if it was not measured
    multiple : the time over the memcpy baseline; None if either was not measured
    change : from the fastest option to this one; None for the fastest, and without a timing
    judged : whether there are enough launches to tell which option is the fastest
    caveats : a key of words.toml and a detail each: "warns" with the text, "own_gradient", "contiguous", "writes", "since",
        "timed_without_grad", "shares_on_cpu" where the same code shares the storage of a tensor on the CPU, "device_copy" where an ndarray
        was seen to take memory on the device, and for a tensor that requires no grad what differs once it does: "grad_raises",
        "grad_warns", "grad_flows", "grad_own"
    usual : whether it is the form that is recommended unless another is clearly faster
    """

    method: str
    code: str
    case: Case
    timing: Timing | None
    multiple: float | None
    change: Change | None
    caveats: tuple[tuple[str, str], ...]
    judged: bool = True
    usual: bool = False

    @property
    def among_fastest(self) -> bool:
        """True for the fastest option, and for those that are tied with it."""
        return self.rank in ("fastest", "tied")

    @property
    def rank(self) -> str:
        """ "fastest", "tied" with it or another word of `comparisons.rank`; "" if it was not measured, or in too few launches."""
        return comparisons.rank(self.change) if self.timing and self.judged else ""

    @property
    def time(self) -> float:
        """Seconds per call; infinite if it was not measured."""
        return self.timing.seconds if self.timing else inf

    @property
    def discouraged(self) -> bool:
        """Whether it warns, shares storage on the CPU, or takes memory on the device for an ndarray: it never replaces the usual form."""
        return any(key in ("warns", "shares_on_cpu", "device_copy") for key, _ in self.caveats)

    def clearly_faster(self, other: Option) -> bool:
        """Whether it is among the fastest, and faster than one that is certainly slower, by at least `FASTER` and `FASTER_BY`."""
        is_faster = other.time >= FASTER * self.time and other.time - self.time >= FASTER_BY
        return is_faster and self.among_fastest and other.rank == "slower"


def devices(result: Result) -> list[str]:
    """Return the devices on which methods were observed, the CPU first."""
    observed = {device for row in result.methods.values() for device in row.get("observed") or {}}
    return sorted(observed, key=lambda device: (device != "cpu", device))


def _sizes(result: Result, request: CopyRequest) -> list[int]:
    """Return the sizes at which copies and conversions were timed for such a tensor."""
    axes = request.axes
    suites = {suite_specs.timed_by_size(group, request.device, axes=(*axes,)) for group in ("copy", "conversion")}
    parameters = [dict(case.parameters) for case in result.timings if case.suite in suites and case.device == request.device]
    return sorted({int(each["numel"]) for each in parameters if {**each, **axes} == each and len(each) == len(axes) + 2})


def of_other_tensors(result: Result, request: CopyRequest) -> list[CopyRequest]:
    """Return the same request for a tensor of each other dtype, and of each other layout, that has times: of copies and conversions.

    Its times are those of a tensor that requires no grad. Integers never do.
    """
    if not request.own:
        return []
    dtypes = [dtype for dtype in ITEMSIZE if not (request.requires_grad and dtype in WITHOUT_GRAD)]
    others = [*(replace(request, dtype=dtype) for dtype in dtypes), *(replace(request, layout=layout) for layout in LAYOUTS)]
    return [other for other in others if not other.is_common and _sizes(result, replace(other, requires_grad=False))]


def nearest_tensor(request: CopyRequest, measured: Collection[CopyRequest]) -> CopyRequest:
    """Return the measured request whose tensor is most like that of a request: of its layout, then with as many bytes in an element."""

    def distance(other: CopyRequest) -> tuple[bool, float, bool]:
        return other.layout != request.layout, abs(log(ITEMSIZE[other.dtype] / ITEMSIZE[request.dtype])), other.dtype != request.dtype

    return min(measured, key=distance)


def recommended(result: Result, request: CopyRequest) -> Option | None:
    """Return what to use where no size is named; None where no method matches, or no size was measured."""
    return next(iter(options_without_size(result, request)), None)


def options_without_size(result: Result, request: CopyRequest) -> tuple[Option, ...]:
    """Return the methods for a request where no size is named, the recommended one first: at the measured size nearest to `NUMEL`."""
    by_size = options_by_size(result, request)
    return by_size[nearest_size(NUMEL, by_size)] if by_size else ()


def options_by_size(result: Result, request: CopyRequest) -> dict[int, tuple[Option, ...]]:
    """Return the matching methods at each size, the recommended one first.

    The others follow by time, then those without a time; of another dtype or layout, for which few methods are timed, these are left out.
    The usual form is recommended unless another one that is not discouraged is clearly faster; of several it is the one that is
    not among the fastest at the smallest share of sizes. Where there are too few launches to tell, it is the form that
    is recommended at the nearest size at which there are enough. One that was not timed at a size is recommended there where it is at the
    nearest size at which it was timed, and clearly faster there than what else would be recommended.
    """
    groups = {group: number for number, group in enumerate(GROUPS)}  # user-defined ones come last
    by_group = sorted(result.methods, key=lambda name: groups.get(result.methods[name].get("group", ""), len(GROUPS)))
    names = [name for name in by_group if matches(result.methods[name], request)]
    timed = _timed(result, request, names)
    rows = {numel: _options(result, request, timed, names, numel) for numel in _sizes(result, timed)}
    measured = {name: [row[name] for row in rows.values() if row[name].timing] for name in names}
    shares = {name: _share_slower(options) for name, options in measured.items()}
    times = {name: median([log(option.time) for option in options] or [inf]) for name, options in measured.items()}

    def rank(option: Option) -> tuple[bool, bool, bool, float, float]:
        order = shares[option.method] if option.among_fastest else option.time
        return option.timing is None, option.discouraged, not option.among_fastest, order, times[option.method]

    firsts: dict[int, Option | None] = {}
    for numel, row in rows.items():
        options = sorted(row.values(), key=rank)
        firsts[numel] = options[0] if options else None
        for usual in (option for option in options if option.usual):
            faster = [option for option in options if not option.discouraged and option.clearly_faster(usual)]
            firsts[numel] = faster[0] if faster else usual
    judged = {numel: first.method for numel, first in firsts.items() if first and any(option.rank for option in rows[numel].values())}
    answers = {}
    for numel, row in rows.items():
        if judged and numel not in judged and (other := row[judged[nearest_size(numel, judged)]]).timing:
            firsts[numel] = other
        first = firsts[numel]
        for name, options in measured.items():
            if first and first.timing and not row[name].timing and options:
                size = nearest_size(numel, [numel for numel in rows if rows[numel][name].timing])
                if judged.get(size) == name and rows[size][name].clearly_faster(rows[size][first.method]):
                    first = row[name]
        shown = [option for option in row.values() if request.is_common or option.timing or option is first]
        answers[numel] = tuple(sorted(shown, key=lambda option: (option is not first, option.time)))
    return answers


def _timed(result: Result, request: CopyRequest, names: Sequence[str]) -> CopyRequest:
    """Return the request whose times answer one: itself, or the same for a tensor that requires no grad.

    The latter is returned where the usual form was not timed with grad; where it does not match, where no method was. A tensor that
    requires grad is timed on the CPU only, with a part of the methods, and not in a quick measurement.
    """
    usual = [name for name in names if name == request.usual]
    cases = (case_of(result.methods[name], name, request, numel) for name in usual or names for numel in _sizes(result, request))
    return request if any(case in result.timings for case in cases) else replace(request, requires_grad=False)


def _share_slower(options: Sequence[Option]) -> float:
    """Return the share of sizes at which a method is not among the fastest; 1 for one that was not measured."""
    return sum(not option.among_fastest for option in options) / len(options) if options else 1.0


def reason(request: CopyRequest, options: Sequence[Option]) -> tuple[str, dict[str, Any]]:
    """Return a key of words.toml and its placeholders: why the first is recommended."""
    measured = sum(option.timing is not None for option in options)
    if request.to == "ndarray" and request.dtype in NOT_IN_NUMPY:
        return "not_in_numpy", {"dtype": request.dtype}
    if not options and request.to == "ndarray" and not request.own and request.device != "cpu":
        return "no_shared_ndarray", {"device": request.device}
    if not options:
        return ("use_x" if request.keeps_graph and not request.own else "no_match"), {}
    if options[0].timing is None:
        return ("reason_unmeasured" if not measured else "reason_usual_unmeasured" if options[0].usual else "reason_other_size"), {}
    if measured == 1:
        return ("reason_only" if len(options) == 1 else "reason_only_timed"), {}
    if not options[0].judged:
        return "reason_few_launches", {"measured": measured}
    if options[0].change is None:
        return "reason_fastest", {"measured": measured}
    if options[0].usual:
        return "reason_usual", {}
    return ("reason_tied" if options[0].among_fastest else "reason_no_warning"), {}


def nearest_size(numel: int, sizes: Iterable[int]) -> int:
    """Return the size that is nearest by ratio."""
    return min(sizes, key=lambda size: max(size / numel, numel / size))


def code(row: Mapping[str, Any], device: str) -> str:
    """Return a method's code for `device`, as it was when the result was measured."""
    return str(row["code" if device == "cpu" else "code_on_accelerator"])


def _options(result: Result, request: CopyRequest, timed: CopyRequest, names: Sequence[str], numel: int) -> dict[str, Option]:
    stands_for = [("timed_without_grad", "")] if timed.requires_grad is not request.requires_grad else []
    peaks = {name: result.counts.get(memory_case("device_peak", name, request.device), 0.0) for name in names}
    copies = {name: [("device_copy", "")] if peaks[name] and request.to == "ndarray" else [] for name in names}
    cases = {name: case_of(result.methods[name], name, timed, numel) for name in names}
    changes = comparisons.against_fastest(result, list(cases.values()))
    is_alone = sum(case in result.timings for case in cases.values()) == 1 < len(cases)  # the only one that was timed is not the fastest
    return {
        name: Option(
            method=name,
            code=code(result.methods[name], request.device),
            case=case,
            timing=result.timings.get(case),
            multiple=result.times_memcpy(case) if request.own else None,
            change=changes.get(case),
            judged=case in changes and not is_alone,
            caveats=(*caveats(result.methods[name], request), *copies[name], *(stands_for if case in result.timings else [])),
            usual=name == request.usual,
        )
        for name, case in cases.items()
    }


def case_of(row: Mapping[str, Any], method: str, request: CopyRequest, numel: int) -> Case:
    """Return the case that times a method for a request at a size.

    row : the method's entry in the result
    """
    axes = request.axes
    parameters = (("method", method), ("numel", str(numel)), *axes.items())
    return Case(suite_specs.timed_by_size(row.get("group", "copy"), request.device, axes=(*axes,)), parameters)
