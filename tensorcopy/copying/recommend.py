"""Recommend a method: a request and what was observed and timed in, a table of methods by size out.

`advise`, README, the pages of the site, the article and the page about memory all read `table`. They differ in the `Evidence`: what
`inside.timing` returns, or the launches of a release (`of_result`), which come with the package as shipped.json.

The recommended method is the usual form, fixed before anything is timed. Only a method without a caveat of its own, significantly faster
than the usual form, takes its place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, log
from statistics import fmean, median
from typing import Any

import numpy as np
from msgspec import Struct

from tensorcopy.copying import BASELINE, LAYOUTS
from tensorcopy.copying.shipped import memory_case
from tensorcopy.errors import TensorcopyError
from tensorcopy.judge import methods
from tensorcopy.judge.methods import AS_FAST_WITHIN, Ratio, Word
from tensorcopy.judge.paired import FEWEST
from tensorcopy.numbers import count, extent, two_digits
from tensorcopy.results.cases import DEFAULTS, ITEMSIZE, Case, baseline_case
from tensorcopy.results.effects import ALONE
from tensorcopy.results.launches import method_code
from tensorcopy.results.result import Result
from tensorcopy.worker.devices import DEVICES
from tensorcopy.worker.turns import usual

# the usual form, by what is made, whether it has its own storage, and whether it keeps the graph
USUAL = {
    ("tensor", True, False): "detach_clone",
    ("tensor", True, True): "clone",
    ("tensor", False, False): "detach",
    ("ndarray", True, False): "detach_numpy_copy",
    ("ndarray", False, False): "numpy",
}
USUAL_ON_ACCELERATOR = {("ndarray", True, False): "detach_to_cpu_copy_numpy"}  # no copy on the device, one on the host
FIRST = "1.9.0"  # the first release in the table: a method as old as that needs no caveat
WITHOUT_GRAD = ("int64", "bool", "int32", "uint8")
NOT_IN_NUMPY = ("bfloat16",)
NUMEL = 2**17  # elements, where a reader names no size
FASTER, FASTER_BY = 1.05, 50e-9  # times as fast as the usual form and seconds, at least, is another that is recommended in its place
PARTS = 6  # of the turns that are taken here, which say how much a time varies as launches do: of each the fastest third counts
CAVEATS = {"pinned": "is in pinned memory, to be read only after the wait; torch keeps it for later tensors"}  # by a row's caveat


@dataclass(frozen=True)
class CopyRequest:
    """A request for something made of a tensor `x`."""

    to: str  # "tensor" or "ndarray"
    own: bool  # whether it shall have its own storage, or share that of x
    keeps_graph: bool | None  # whether gradients shall flow back to x; None without a graph: x requires no grad, or an ndarray is wanted
    requires_grad: bool  # whether x does
    device: str  # of x, as its dtype and layout
    dtype: str = DEFAULTS["dtype"]
    layout: str = DEFAULTS["layout"]

    @property
    def usual(self) -> str:
        """The method that is the usual form of it; "" where there is none."""
        forms = USUAL if self.device == "cpu" else USUAL | USUAL_ON_ACCELERATOR
        return forms.get((self.to, self.own, bool(self.keeps_graph)), "")

    def check(self) -> None:
        """Raise TensorcopyError for a dtype or layout that torch lacks, or a tensor that no method can copy."""
        if self.device not in DEVICES:
            raise TensorcopyError("unknown device", got=repr(self.device), allowed=", ".join(DEVICES), next="name one of them")
        for name, value, known in (("dtype", self.dtype, ITEMSIZE), ("layout", self.layout, LAYOUTS)):
            if value not in known:
                raise TensorcopyError(f"unknown {name}", got=repr(value), allowed=", ".join(known), next=f"--{name} {next(iter(known))}")
        if self.requires_grad and self.dtype in WITHOUT_GRAD:
            floating = ", ".join(dtype for dtype in ITEMSIZE if dtype not in WITHOUT_GRAD)
            what, got = "only floating and complex numbers require grad", f"{self.dtype} that requires grad"
            raise TensorcopyError(what, got=got, allowed=floating, next="leave out --requires-grad")
        if self.to == "ndarray" and self.dtype in NOT_IN_NUMPY:
            numbers, following = ", ".join(each for each in ITEMSIZE if each not in NOT_IN_NUMPY), "x.detach().float().numpy()"
            what = f"numpy has no {self.dtype}"
            raise TensorcopyError(what, got=f"an ndarray of {self.dtype}", allowed=numbers, next=f"{following}, an independent ndarray")


def requests(device: str) -> list[CopyRequest]:
    """Return all possible requests for a contiguous tensor of float32 on a device, in order."""
    kinds = [(to, own, grad) for to in ("tensor", "ndarray") for own in (True, False) for grad in (False, True)]
    graphs = {("tensor", True): (False, True)}  # by target and whether x requires grad
    return [CopyRequest(to, own, keeps, grad, device) for to, own, grad in kinds for keeps in graphs.get((to, grad), (None,))]


def common_request(to: str, device: str) -> CopyRequest:
    """Return the most common one: an independent tensor or ndarray, out of the graph of an x that requires grad."""
    return CopyRequest(to, own=True, keeps_graph=False if to == "tensor" else None, requires_grad=True, device=device)


class Timed(Struct, frozen=True):
    """The seconds per call of methods for a tensor."""

    numel: int
    requires_grad: bool
    dtype: str
    layout: str
    seconds: dict[str, float]  # by method, and of the memcpy baseline
    launches: dict[str, list[float | None]]  # by method, those of each launch, None where it lacks the method; here of parts of the turns

    @property
    def tensor(self) -> tuple[str, str, bool]:
        """What its size leaves open: dtype, layout and whether it requires grad."""
        return self.dtype, self.layout, self.requires_grad


class Evidence(Struct, frozen=True):
    """What was observed and timed of the methods on a device."""

    measured: str  # "here" or "shipped"
    torch: str  # the release
    on: str  # the hardware
    day: str
    methods: dict[str, dict[str, Any]]  # as `conformance.observed_on` returns them
    timed: list[Timed]
    copying: list[str] = []  # methods that take memory on the device beside the ndarray that they return
    left_out: dict[str, str] = {}  # by name, why a method was not timed here


def of_benchmark(document: Mapping[str, Any], request: CopyRequest) -> Evidence:
    """Return the evidence that `timing.time_methods` returns; a part of the turns counts as a launch."""
    timed = []
    for numel, turns in document["times"].items():
        size = max(1, len(turns[BASELINE]) // PARTS)
        firsts = range(0, size * (len(turns[BASELINE]) // size), size)
        parts = {name: [usual(each[first : first + size]) for first in firsts] for name, each in turns.items()}
        seconds = {name: exp(fmean(map(log, each))) for name, each in parts.items()}
        timed.append(Timed(int(numel), request.requires_grad, request.dtype, request.layout, seconds, dict(parts)))
    torch, on, day, observed = (document[name] for name in ("torch", "on", "day", "methods"))
    return Evidence("here", torch, on, day, observed, timed, left_out=document["left_out"])


def of_result(result: Result, device: str) -> Evidence:
    """Return the evidence of a release's launches, their seconds with four digits, as shipped.json has them.

    Where no other release was in a launch, only methods that took turns with each other are of one launch.
    """
    timed, used = dict[tuple[Any, ...], Timed](), list[Case]()
    of_launches: dict[tuple[Any, ...], dict[str, dict[tuple[Any, ...], float]]] = {}
    for case, timing in result.timings.items():
        values = {**DEFAULTS, "requires_grad": "False", **dict(case.parameters)}
        name, row = values.get("method", ""), result.methods.get(values.get("method", ""))
        if not row or case.device != device or not case.spec.by_size:
            continue
        key = int(values["numel"]), values["requires_grad"] == "True", values["dtype"], values["layout"]
        place = timed.setdefault(key, Timed(*key, {}, {}))
        used.append(case)
        place.seconds[name] = timing.seconds
        if (baseline := baseline_case(case)) in result.timings:
            place.seconds.setdefault(BASELINE, result.timings[baseline].seconds)
        turns = result.effects.turns
        numbers: Any = [0] * len(result.logs)
        if result.group(case) == ALONE:
            numbers = [name] * len(numbers) if turns is None else turns[:, result.effects.cases[case]].tolist()
        logs = enumerate(zip(numbers, result.logs_of(case).tolist()))
        of_launches.setdefault(key, {})[name] = {(launch, n): float(f"{exp(size):.4g}") for launch, (n, size) in logs if not np.isnan(size)}
    for key, by_name in of_launches.items():
        together = list(dict.fromkeys(launch for launches in by_name.values() for launch in launches))
        timed[key].launches.update({name: [launches.get(launch) for launch in together] for name, launches in by_name.items()})
    copying = [name for name in result.methods if result.counts.get(memory_case("device_peak", name, device))]
    torch, day = str(result.provenance["torch"]), result.days(used)[1]
    return Evidence("shipped", torch, result.hardware(device), day, result.methods, list(timed.values()), copying)


@dataclass(frozen=True)
class MatchingMethod:
    """A method that does what is requested."""

    method: str
    code: str
    caveats: tuple[str, ...]  # what to know of it, each the rest of a sentence: "exists since torch 1.13.0 only"
    more: tuple[str, ...] = ()  # of these, what the usual form has not


@dataclass(frozen=True)
class Cell:
    """The time of a method at a size."""

    seconds: float  # per call
    multiple: float | None  # of the time of the memcpy baseline; None where there is none
    against: Ratio | None  # to the recommended method; None of that itself, and where no launch has both


Rows = Mapping[str, MatchingMethod]  # by method


@dataclass(frozen=True)
class SizeColumn:
    """The methods at a size."""

    numel: int
    recommended: str
    why: str  # it is recommended: a sentence or two, with code in backticks
    cells: Mapping[str, Cell]  # by method, of those that were timed at this size


@dataclass(frozen=True)
class Table:
    """The methods that do what is requested, by size."""

    request: CopyRequest
    timed: CopyRequest  # the same for the tensor that was timed: the nearest one, of another dtype or layout or without grad
    rows: tuple[MatchingMethod, ...]  # the recommended one first, see `code`, then from the fastest on; those without a time last
    columns: tuple[SizeColumn, ...]  # from the smallest size on
    why: str  # the first row is recommended, where there are no columns; where there are no rows, what to do instead
    notes: tuple[str, ...]  # about the times, a sentence each, with code in backticks
    evidence: Evidence

    @property
    def code(self) -> str:
        """The code that is recommended at most sizes; "" if no method matches."""
        return self.rows[0].code if self.rows else ""

    def row(self, method: str) -> MatchingMethod:
        """Return the row of a method."""
        return next(row for row in self.rows if row.method == method)

    def nearest(self, numel: int) -> SizeColumn | None:
        """Return the column whose size is the nearest; None where nothing was timed."""
        return min(self.columns, key=lambda column: abs(log(column.numel / numel)), default=None)


def table(evidence: Evidence, request: CopyRequest) -> Table:
    """Return the methods that do what is requested, with what is recommended at each size.

    The tensor is the nearest one for which the usual form was timed; where it was for none, there are no times. Columns are the sizes at
    which it was, so that no method without a time is recommended over one that has it. Where a size has too few launches, the
    recommendation is that of the nearest size with more.
    """
    matching = {name: row for name, row in evidence.methods.items() if matches(row, request)}
    rows = {name: _row(name, row, request, is_copying=name in evidence.copying) for name, row in matching.items()}
    if not rows:
        return Table(request, request, (), (), _instead(request), (), evidence)
    times = {name: [each for each in evidence.timed if name in each.seconds] for name in rows}
    form = request.usual if request.usual in rows else min(rows, key=lambda name: (not times[name], len(rows[name].caveats)))
    rows = {name: replace(row, more=tuple(each for each in row.caveats if each not in rows[form].caveats)) for name, row in rows.items()}
    if not times[form]:
        why = f"{'The usual form. It' if form == request.usual else 'It matches, and'} was not timed."
        return Table(request, request, (*sorted(rows.values(), key=lambda row: row.method != form),), (), why, (), evidence)
    nearest = min(times[form], key=lambda each: _distance(each, request))
    sizes = sorted((each for each in times[form] if each.tensor == nearest.tensor), key=lambda each: each.numel)
    measured = replace(request, dtype=nearest.dtype, layout=nearest.layout, requires_grad=nearest.requires_grad)
    # the methods among which one is slower: those for the tensor that was timed, so that two requests say the same of one measurement
    timed = measured if nearest.requires_grad else replace(measured, keeps_graph=None)
    family = rows.keys() | {name for name, row in evidence.methods.items() if matches(row, timed)}
    columns = _columns(rows, family, form, sizes, has_baseline=request.own)
    most = max(rows, key=lambda name: (sum(column.recommended == name for column in columns), name == form))

    def order(row: MatchingMethod) -> tuple[bool, bool, float]:
        """Sort by the time, as a multiple of the shortest, over the sizes that have it."""
        having = [column.cells for column in columns if row.method in column.cells]
        logs = [log(cells[row.method].seconds / min(cell.seconds for cell in cells.values())) for cells in having]
        return row.method != most, not logs, fmean(logs or [0])

    ordered = (*sorted(rows.values(), key=order),)
    return Table(request, measured, ordered, columns, "", (*_notes(request, measured, ordered, columns),), evidence)


def _distance(timed: Timed, request: CopyRequest) -> tuple[Any, ...]:
    """Return how far a tensor is from the requested one: by layout, bytes of an element, dtype and grad, in this order."""
    nbytes = abs(log(ITEMSIZE[timed.dtype] / ITEMSIZE[request.dtype]))
    return timed.layout != request.layout, nbytes, timed.dtype != request.dtype, timed.requires_grad != request.requires_grad


def _columns(rows: Rows, family: Collection[str], form: str, sizes: Sequence[Timed], *, has_baseline: bool) -> tuple[SizeColumn, ...]:
    """Return the columns of the sizes of a tensor.

    family : the methods among which one is called slower or faster
    form : the usual form, or what stands for it
    has_baseline : whether memcpy does the same work
    """
    launches = {each.numel: {name: of for name, of in each.launches.items() if name in family} for each in sizes}

    def compared_with(first: str, numel: int) -> dict[str, Ratio]:
        return {name: ratio for name, ratio in methods.ratios(launches[numel], first).items() if name in rows}

    enough = [each for each in sizes if any(sum(map(bool, seconds)) >= FEWEST for seconds in launches[each.numel].values())]
    against = {each.numel: compared_with(form, each.numel) for each in enough}
    recommended = {each.numel: _recommended(rows, form, each, sizes, against[each.numel]) for each in enough}
    tempting = _tempting(rows, against)
    columns = []
    for each in sizes:
        numel, times = each.numel, {name: each.seconds[name] for name in rows if name in each.seconds}
        able = [near for near, name in recommended.items() if name in times or name == form]
        nearest = min(able, key=lambda near: abs(log(near / each.numel)), default=0)
        first = recommended.get(numel) or recommended.get(nearest, form)
        of_first = against[numel] if first == form and numel in against else compared_with(first, numel)
        if numel not in recommended:
            where = f"at {elements(count(nearest))}" if nearest else "the usual form"
            why = f"Not enough measurements at this size. Recommended as {where}."
        elif first != form:
            why = f"{two_digits(1 / against[numel][first].ratio)} × as fast as `{rows[form].code}`, the usual form."
        else:
            why = _why_usual(of_first, [rows[name] for name, numels in tempting.items() if numel in numels])
        scale = each.seconds.get(BASELINE) if has_baseline else None
        cells = {name: Cell(time, time / scale if scale else None, of_first.get(name)) for name, time in times.items()}
        columns.append(SizeColumn(numel, first, why, cells))
    return (*columns,)


def _recommended(rows: Rows, form: str, timed: Timed, sizes: Sequence[Timed], against: Mapping[str, Ratio]) -> str:
    """Return the method that is recommended at a size.

    It is the usual form, unless one without further caveats is significantly faster by `FASTER` and `FASTER_BY`; of several within `FASTER`
    of the fastest, the one that takes least over all sizes.
    """
    faster = [name for name, each in against.items() if each.word is Word.FASTER and not rows[name].more and FASTER * each.ratio <= 1]
    able = [name for name in faster if timed.seconds[form] * (1 - against[name].ratio) >= FASTER_BY]
    tied = [name for name in able if against[name].ratio <= FASTER * min(against[each].ratio for each in able)]
    return min(tied, key=lambda name: fmean(log(each.seconds[name]) for each in sizes if name in each.seconds), default=form)


def _tempting(rows: Rows, against: Mapping[int, Mapping[str, Ratio]]) -> dict[str, list[int]]:
    """Return the methods that are faster than the recommended one, and have caveats that it has not, with the sizes at which they are."""
    tempting = dict[str, list[int]]()
    for numel, of_size in against.items():
        for name, each in of_size.items():
            if rows[name].more and each.word is Word.FASTER and each.ratio * FASTER <= 1:
                tempting.setdefault(name, []).append(numel)
    return tempting


def _why_usual(against: Mapping[str, Ratio], tempting: Sequence[MatchingMethod]) -> str:
    """Return why the usual form is recommended at a size; tempting : the methods that are faster there."""
    words = [each.word for each in against.values() if each.word is not Word.TOO_FEW_LAUNCHES]
    if not words:
        return "The usual form." if against else "The only matching method that was timed."
    if tempting:
        row = min(tempting, key=lambda row: against[row.method].ratio)
        return f"`{row.code}` is {two_digits(1 / against[row.method].ratio)} × as fast, but {row.more[0]}. This form is safe everywhere."
    if unknown := words.count(Word.NOT_TOLD_APART):
        some, none = f"Some of the {len(words)} other methods cannot", f"None of {len(words)} other methods can"
        others = some if unknown < len(words) else none if unknown > 1 else "The other method cannot"
        return f"The usual form. {others} be told apart from it."
    return f"{'The fastest' if {*words} == {Word.SLOWER} else 'As fast as the fastest'} of {len(against) + 1} methods."


def _notes(request: CopyRequest, measured: CopyRequest, ordered: Sequence[MatchingMethod], columns: Sequence[SizeColumn]) -> Iterator[str]:
    """Yield what to know of the times of a table, a sentence each; ordered : the recommended row first."""
    rows = {row.method: row for row in ordered}
    first = [column for column in columns if column.recommended == ordered[0].method]
    ratios = {column.numel: {name: cell.against for name, cell in column.cells.items() if cell.against} for column in first}
    tempting = _tempting(rows, ratios)
    if each := [(ratios[numel][name].ratio, name) for name, numels in tempting.items() for numel in numels]:
        ratio, name = min(each)
        largest = max(tempting[name])
        to = f" up to {elements(count(largest))}" if largest < columns[-1].numel else ""
        yield f"`{rows[name].code}` is up to {two_digits(1 / ratio)} × as fast{to}, but {rows[name].more[0]}."
    if (measured.dtype, measured.layout) != (request.dtype, request.layout):
        yield f"Timed with {measured.dtype}, {measured.layout} only."
    if measured.requires_grad is not request.requires_grad:
        yield f"Timed for a tensor that requires {'grad' if measured.requires_grad else 'no grad'}."
    if untimed := [f"`{row.code}`" for row in ordered if not any(row.method in column.cells for column in columns)]:
        yield f"{', '.join(untimed)} {'was' if len(untimed) == 1 else 'were'} not timed here."
    if unknown := [each for against in ratios.values() for each in against.values() if each.word is Word.NOT_TOLD_APART]:
        launches, seen = extent(each.launches for each in unknown), two_digits(median(each.seen for each in unknown if each.seen))
        alike = f"not told apart from `{ordered[0].code}`"
        which = f"Of the {len(unknown)} methods × sizes {alike}, half" if len(unknown) > 1 else f"The one {alike}"
        yield f"{which} would have been noticed only at {seen} × its time or more ({launches} launches)."


@dataclass(frozen=True)
class Answer:
    """What to use for a tensor `x`; converted to a string it is the code to type."""

    code: str  # "" if no method matches
    why: str
    numel: int  # elements for which it was timed; as asked where nothing was
    table: Table
    column: SizeColumn | None  # of the table, for that size; None where nothing was timed

    def __str__(self) -> str:
        return self.code


def answer(evidence: Evidence, request: CopyRequest, numel: int = NUMEL) -> Answer:
    """Return what to use for a tensor of a size: what the table recommends at the nearest size."""
    of_request = table(evidence, request)
    if column := of_request.nearest(numel):
        return Answer(of_request.row(column.recommended).code, column.why, column.numel, of_request, column)
    return Answer(of_request.code, of_request.why, numel, of_request, None)


def others(of: Table) -> dict[str, Table]:
    """Return the tables of the same request for each other dtype and layout that was timed, by these: "float32, transposed"."""
    tensors = dict.fromkeys((each.dtype, each.layout) for each in of.evidence.timed)
    made = [table(of.evidence, replace(of.request, dtype=dtype, layout=layout)) for dtype, layout in tensors]
    timed = [each for each in made if each.timed == each.request and each.request != of.request and each.columns]
    return {f"{each.request.dtype}, {each.request.layout}": each for each in timed}


def elsewhere(of: Table) -> dict[str, dict[CopyRequest, float]]:
    """Return by code what is recommended where x has another layout: the requests, each with the largest ratio of the method of this table.

    Only where the recommended method of this table takes longer by what matters. Layouts are timed without grad.
    """
    found = dict[str, dict[CopyRequest, float]]()
    plain = replace(of, request=replace(of.request, requires_grad=False, keeps_graph=None))
    for other in others(plain).values() if of.rows else ():
        pairs = [cell.against for column in other.columns if (cell := column.cells.get(of.rows[0].method)) and cell.against]
        ratio = max((each.ratio for each in pairs if each.word is Word.SLOWER), default=1.0)
        if ratio >= AS_FAST_WITHIN and other.code != of.code and other.request.layout != of.request.layout:
            found.setdefault(other.code, {})[other.request] = ratio
    return found


def compared(of: Table, method: str) -> str:
    """Return in words how a method compares with the recommended one over the sizes: "slower" where it is at any.

    "" where it is recommended itself at all at which it was timed.
    """
    having = [column for column in of.columns if method in column.cells]
    if having and all(column.recommended == method for column in having):
        return ""
    words = {against.word for column in having if (against := column.cells[method].against)} - {Word.TOO_FEW_LAUNCHES}
    if not words:
        return Word.TOO_FEW_LAUNCHES.value if having else "not timed"
    if words <= {Word.AS_FAST, Word.FASTER}:
        return "at least as fast" if Word.FASTER in words else Word.AS_FAST.value
    undecided = "as fast or cannot be told apart" if Word.AS_FAST in words else "cannot be told apart"
    return Word.SLOWER.value if Word.SLOWER in words else undecided


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
        and not (outcome["raises"] or returns_x or outcome.get("changes") or outcome.get("unobserved"))
        and (outcome["dtype"], outcome["gives"]) == ("same", request.to)
        and (outcome["layout"] in ("same", "contiguous") or outcome["layout"].startswith("("))  # has strides
        and (request.to != "tensor" or outcome["device"] == "same")
        and outcome["shares_storage"] is not request.own
        and (request.keeps_graph is None or outcome["keeps_graph"] is request.keeps_graph)
    )


def _row(name: str, row: Mapping[str, Any], request: CopyRequest, *, is_copying: bool) -> MatchingMethod:
    """Return a matching method with its caveats; is_copying : whether it takes memory on the device beside the ndarray."""
    observed, kind = row["observed"][request.device], "with_grad" if request.requires_grad else "plain"
    outcome, with_grad = observed[kind], observed["with_grad"]
    caveats = {  # sentence by sentence, whether it holds
        f"warns: {outcome['warns']}": outcome["warns"],
        "returns a leaf that requires grad": outcome["requires_grad"] and not outcome["keeps_graph"],
        # the strides of a tensor with gaps are never kept
        "does not keep strides: the result is contiguous": outcome["layout"] != "same" or (request.own and request.layout == "strided"),
        "shares memory: writing to one changes the other": outcome["shares_storage"],
        "shares memory if x is on the CPU": request.own and row["observed"].get("cpu", observed)[kind]["shares_storage"],
        "takes the memory of x on the device once more": is_copying and request.to == "ndarray",
        f"exists since torch {row['since']} only": row["since"] != FIRST,
        CAVEATS.get(row.get("caveat", ""), ""): row.get("caveat"),
    }
    if not request.requires_grad:  # what differs once it does
        caveats |= {
            f"raises {str(with_grad['raises']).partition(':')[0]} once x requires grad": with_grad["raises"],
            "stays in the graph once x requires grad": with_grad["requires_grad"] and with_grad["keeps_graph"],
            "requires grad itself once x does": with_grad["requires_grad"] and not with_grad["keeps_graph"],
            f"warns once x requires grad: {with_grad['warns']}": with_grad["warns"] and not outcome["warns"],
        }
    return MatchingMethod(name, method_code(row, request.device), tuple(sentence for sentence, holds in caveats.items() if holds))


def elements(sizes: str) -> str:
    """Return sizes with what they count: "2⁰–2¹⁴ elements", "1 element"."""
    return "1 element" if sizes == count(1) else f"{sizes} elements"


def _instead(request: CopyRequest) -> str:
    """Return what to do where no method matches."""
    if request.to == "ndarray" and not request.own and request.device != "cpu":
        return f"No ndarray shares memory with a tensor on {request.device}: numpy reads host memory only. Choose an independent one."
    is_x = request.keeps_graph and not request.own
    return "Use x itself: it shares its storage and stays in the graph." if is_x else "No method in tensorcopy does this."
