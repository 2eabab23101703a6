"""Advice for the user's own machine: the code to type, its cost and its caveats.

With torch, every matching method is observed and timed on the spot, in a separate process (`inside.timing`). Without torch
the answer is that of the chooser's page, which comes with the package as shipped.json, written with the documentation. Both are chosen by
`recommend`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from tensorcopy import files
from tensorcopy.campaign import LAYOUTS
from tensorcopy.copying import reasons, recommend
from tensorcopy.copying.recommend import CopyRequest, Option
from tensorcopy.copying.shipped import of_folder
from tensorcopy.errors import TensorcopyError
from tensorcopy.numbers import count, duration, percent, signed_interval, two_digits
from tensorcopy.releases import interpreters
from tensorcopy.results.cases import ITEMSIZE, Case, baseline_case
from tensorcopy.results.effects import Column, Effects
from tensorcopy.results.result import Result
from tensorcopy.worker.devices import DEVICES

SHIPPED = Path(__file__).with_name("shipped.json")
KINDS = {"tensor": "tensor", "numpy": "ndarray", "ndarray": "ndarray"}  # by the name that users type
WIDTH = 40  # columns of the current step of a progress, so that a shorter one covers a longer one


@dataclass(frozen=True)
class MatchingMethod:
    """A method that does what is requested.

    seconds : per call; None if it was not measured
    multiple : the time over the memcpy baseline; None if either was not measured
    verdict : "fastest", "tied" with the fastest, "likely slower", "slower" or "not compared", see `comparisons.rank`; "" without a time
    interval : of the time over the fastest time, 95 %; None for the fastest and without a time
    caveats : a sentence each
    """

    method: str
    code: str
    seconds: float | None
    multiple: float | None
    verdict: str
    interval: tuple[float, float] | None
    caveats: tuple[str, ...]


@dataclass(frozen=True)
class Advice:
    """The advice for a tensor `x`; converted to a string it is the code to type.

    choices : all matching methods, the recommended one first; empty if no method matches
    why : why the first one is recommended
    request : that it answers; of the shipped results that of the nearest tensor that was measured
    numel : elements that it was measured with
    measured : "here", or "shipped" with the package
    torch, on, day : the release, the processor and the date of the measurement
    left_out : the reason, by name, why an own operation was not measured: it fails, or its result does not have the values of x
    """

    request: CopyRequest
    numel: int
    choices: tuple[MatchingMethod, ...]
    why: str
    measured: str
    torch: str
    on: str
    day: str
    left_out: Mapping[str, str]

    @property
    def code(self) -> str:
        """The code to type; "" if no method matches."""
        return self.choices[0].code if self.choices else ""

    def __str__(self) -> str:
        return self.code

    def document(self) -> dict[str, Any]:
        """Return the advice as plain values."""
        return {"code": self.code, **asdict(self)}


def cost(choice: MatchingMethod) -> str:
    """Return the time of a method, also as a multiple of memcpy, as far as it was measured."""
    multiple = f"{two_digits(choice.multiple)}× memcpy" if choice.multiple else ""
    return ", ".join(filter(None, [duration(choice.seconds) if choice.seconds else "", multiple]))


def against_fastest(choice: MatchingMethod) -> str:
    """Return the verdict on a method's time against the fastest, with the interval of the difference."""
    return f"{choice.verdict} {signed_interval(choice.interval, digits=0)}" if choice.interval else choice.verdict


def origin(advice: Advice) -> str:
    """Return where an advice's times come from: release, machine, tensor and day."""
    request = advice.request
    grad = "requires grad" if request.requires_grad else "no grad"
    layout = "" if request.layout == "contiguous" else f"{request.layout} "
    tensor = f"{count(advice.numel)} {layout}{request.dtype} on {request.device}, {grad}, one thread"
    where = "measured here" if advice.measured == "here" else "from the shipped results, not measured here"
    return f"{where}: torch {advice.torch}, {advice.on}, {tensor}, {advice.day}"


def advise(
    to: str = "tensor",
    *,
    independent: bool = True,
    keep_graph: bool = False,
    requires_grad: bool = False,
    numel: float = recommend.NUMEL,
    device: str = "cpu",
    dtype: str = "float32",
    layout: str = "contiguous",
    shipped: bool = False,
    interpreter: str = "same",
    report_progress: Callable[[float, str], None] = lambda share, doing: None,
) -> Advice:
    """Return the code to type for a tensor `x`, measured here in some seconds.

    to : "tensor", or "numpy" for an ndarray
    independent : with its own storage; otherwise sharing the storage of x
    keep_graph : whether gradients shall flow back to x
    requires_grad : whether x requires grad
    numel : number of elements of x, 2 ** 17 by default
    device : device of x
    dtype : of x, such as "float16"
    layout : of x: "contiguous", "transposed", "strided" (x[::2]) or "channels_last"
    shipped : answer from the shipped results, even if torch is installed
    interpreter : the Python whose torch is measured; "same" for the running one
    report_progress : called with the finished share (0 to 1) and the current step, such as `show_progress`

    Raises TensorcopyError for a request that cannot be answered.
    """
    if to not in KINDS:
        raise TensorcopyError("unknown target", got=repr(to), allowed="tensor or numpy", next="tensorcopy advise --to numpy")
    has_graph = KINDS[to] == "tensor" and requires_grad
    if keep_graph and not has_graph:
        raise TensorcopyError(
            "there is no graph to keep",
            got="an ndarray" if to != "tensor" else "an x that requires no grad",
            allowed="a tensor, of an x that requires grad",
            next="leave out --keep-graph" if to != "tensor" else "add --requires-grad, or leave out --keep-graph",
        )
    request = CopyRequest(KINDS[to], independent, keep_graph if has_graph else None, requires_grad, device, dtype, layout)
    _check_tensor(request)
    try:
        is_size = 1 <= numel <= 2**62
    except TypeError:
        is_size = False
    if not is_size:
        raise TensorcopyError("not a number of elements", got=repr(numel), allowed="1 or more", next="numel=2**17")
    if shipped or not can_measure(interpreter):
        return as_shipped(request, int(numel))
    if layout in ("transposed", "channels_last") and numel != 16 and numel % 1024:
        raise TensorcopyError(
            f"a {layout} x of another size is not measured",
            got=f"{numel:g} elements",
            allowed="16, or a multiple of 1024",
            next=f"--numel {max(1, round(numel / 1024)) * 1024}",
        )
    parameters = {
        "to": request.to,
        "device": device,
        "numel": int(numel),
        "requires_grad": requires_grad,
        "dtype": dtype,
        "layout": layout,
    }
    own = of_folder(Path.cwd())
    benchmark = interpreters.run_probe(
        interpreters.executable(interpreter),
        "tensorcopy.copying.inside.timing",
        "request",
        json.dumps(parameters),
        variables={**os.environ, **own.variables()},
        report_progress=report_progress,
    )
    benchmark["left_out"] = {**{name: error.reason for name, error in own.left_out.items()}, **benchmark["left_out"]}
    report_progress(1.0, "finished")
    return of_benchmark(benchmark, request, int(numel))


def _check_tensor(request: CopyRequest) -> None:
    """Raise TensorcopyError for a dtype or layout that torch lacks, or a tensor that no method can copy."""
    for name, value, allowed in (("dtype", request.dtype, ITEMSIZE), ("layout", request.layout, LAYOUTS)):
        if value not in allowed:
            raise TensorcopyError(f"unknown {name}", got=repr(value), allowed=", ".join(allowed), next=f"--{name} {next(iter(allowed))}")
    if request.requires_grad and request.dtype in recommend.WITHOUT_GRAD:
        raise TensorcopyError(
            "only floating and complex numbers require grad",
            got=f"{request.dtype} that requires grad",
            allowed=", ".join(dtype for dtype in ITEMSIZE if dtype not in recommend.WITHOUT_GRAD),
            next="leave out --requires-grad",
        )
    if request.to == "ndarray" and request.dtype in recommend.NOT_IN_NUMPY:
        raise TensorcopyError(
            f"numpy has no {request.dtype}",
            got=f"an ndarray of {request.dtype}",
            allowed=", ".join(dtype for dtype in ITEMSIZE if dtype not in recommend.NOT_IN_NUMPY),
            next="x.detach().float().numpy(), an independent ndarray of float32",
        )


def can_measure(interpreter: str = "same") -> bool:
    """Return whether torch is installed.

    For another interpreter than the running one this is assumed.
    """
    return interpreter != "same" or find_spec("torch") is not None


def of_benchmark(benchmark: Mapping[str, Any], request: CopyRequest, numel: int) -> Advice:
    """Return the advice from the output of `timing.time_request`; a part of the turns counts as a launch."""
    seconds: dict[Case, Sequence[float]] = {}
    for method, times in benchmark["times"].items():
        case = recommend.case_of(benchmark["methods"][method], method, request, numel)
        seconds[case] = times
        if memcpy := baseline_case(case):
            seconds[memcpy] = benchmark["baseline"]
    logs = np.log(np.array(list(seconds.values())).T)[:, None, :]
    parts = tuple(map(str, range(len(logs))))
    cases = {case: place for place, case in enumerate(seconds)}
    effects = Effects(parts, {("", "here", ""): 0}, cases, logs, turns=np.zeros((len(parts), len(cases))))
    column = Column(effects, 0)
    result = Result(
        folder=Path("here"),
        machine="here",
        sha="",
        python=benchmark["python"],
        build="",
        environment="here",
        timings=column.timings(),
        methods=benchmark["methods"],
        column=column,
    )
    return of_options(request, numel, recommend.options_by_size(result, request).get(numel, ()), "here", benchmark)


def of_options(request: CopyRequest, numel: int, options: Sequence[Option], measured: str, source: Mapping[str, Any]) -> Advice:
    """Return the advice from the options at one size, the recommended one first.

    source : with "torch", "on" and "day", and "left_out" if own operations were measured
    """
    choices = tuple(
        MatchingMethod(
            method=option.method,
            code=option.code,
            seconds=option.timing.seconds if option.timing else None,
            multiple=option.multiple,
            verdict=option.rank,
            interval=option.change.interval if option.change else None,
            caveats=tuple(reasons.caveat(*each) for each in option.caveats),
        )
        for option in options
    )
    why, left_out = reasons.reason(request, options), source.get("left_out", {})
    return Advice(request, numel, choices, why, measured, source["torch"], source["on"], source["day"], left_out)


class _Source(Struct, frozen=True):
    """What was measured of a device: `Advice` has these fields too."""

    torch: str
    on: str
    day: str


class _Method(Struct, frozen=True):
    """A method's code and caveats."""

    code: str
    caveats: tuple[str, ...]


class _AtSize(Struct, frozen=True):
    """The advice at one size: of each choice its method, seconds, multiple, verdict and interval, as in `MatchingMethod`."""

    choices: list[tuple[str, float | None, float | None, str, tuple[float, float] | None]]
    why: str


class _Answer(Struct, frozen=True):
    """The advice for one request by size."""

    request: CopyRequest
    methods: dict[str, _Method]
    sizes: dict[int, _AtSize]


class _Shipped(Struct, frozen=True):
    """The content of shipped.json."""

    sources: dict[str, _Source]
    answers: list[_Answer]


def as_shipped(request: CopyRequest, numel: int, answers_in: Path = SHIPPED) -> Advice:
    """Return the advice from the answers in a file for the nearest tensor. Raises TensorcopyError where there is none."""
    try:
        document = msgspec.json.decode(files.read_bytes(answers_in), type=_Shipped)
        answers = {answer.request: answer for answer in document.answers if answer.sizes}
        alike = [each for each in answers if each.of_common == request.of_common]
        if alike:
            nearest = recommend.nearest_tensor(request, alike)
            answer = answers[nearest]
            measured = recommend.nearest_size(numel, answer.sizes)
            at_size, source = answer.sizes[measured], document.sources[request.device]
            matches = tuple(
                MatchingMethod(name, answer.methods[name].code, seconds, multiple, verdict, interval, answer.methods[name].caveats)
                for name, seconds, multiple, verdict, interval in at_size.choices
            )
            return Advice(nearest, measured, matches, at_size.why, "shipped", source.torch, source.on, source.day, left_out={})
        devices = list(document.sources)
    except (OSError, ValueError, KeyError) as error:
        raise TensorcopyError(
            "the shipped results cannot be read",
            got=f"{answers_in.name}: {type(error).__name__}: {error}",
            allowed="the file of the package",
            next="reinstall tensorcopy, or uv run python -m docs.tools.readme in a checkout",
        ) from error
    if request.device not in DEVICES:
        raise TensorcopyError("unknown device", got=repr(request.device), allowed=", ".join(DEVICES), next="name one of them")
    raise TensorcopyError(
        f"no results were shipped for {request.device}",
        got=f"{request.device}, {count(numel)} elements",
        allowed=", ".join(devices),
        next=f"tensorcopy advise --shipped --device {devices[0]}",
    )


def show_progress(share: float, doing: str) -> None:
    """Write the finished share (0 to 1) and the current step to stderr, over the line before.

    For `report_progress` of `advise` and `plot`, which write nothing by default.
    """
    sys.stderr.write(f"\r{percent(share, 0):>5}  {doing[:WIDTH]:<{WIDTH}}" + ("\n" if share >= 1 else ""))
    sys.stderr.flush()
