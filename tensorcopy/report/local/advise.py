"""Advice for the reader's own machine: which code to type, why, what it costs there, what to beware of. Needs neither torch nor asv.

Where torch is, every method that does as asked is seen and timed there and then, in a process of its own (`quick_bench`). Where it
is not, the answer is that of the chooser's page, which comes with the package: shipped.json, written by `tensorcopy readme`. Either way it
is `recommend` that judges.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tensorcopy.analysis import recommend
from tensorcopy.analysis.recommend import CopyRequest, Option
from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import interpreters
from tensorcopy.report.i18n import said
from tensorcopy.report.units import count
from tensorcopy.results import baseline
from tensorcopy.results.load import Case, Result
from tensorcopy.results.passes import PassSamples, timing

SHIPPED = Path(__file__).with_name("shipped.json")
KINDS = {"tensor": "tensor", "numpy": "ndarray", "ndarray": "ndarray"}  # what is wanted, as it may be typed
NUMEL = 2**17
FASTEST = "fastest"


@dataclass(frozen=True)
class Choice:
    """A method that does as asked.

    seconds : per call; None where it was not measured
    multiple : of the floor; None where either was not measured
    verdict : beside the least time: "least" itself, "slower", "same" or "inconclusive"; "" without a time
    ratio : over the least time, where there are two
    caveats : what one may not expect, a sentence each
    """

    method: str
    code: str
    seconds: float | None
    multiple: float | None
    verdict: str
    ratio: float | None
    caveats: tuple[str, ...]


@dataclass(frozen=True)
class Advice:
    """What to type for a tensor `x`. As text it is the code.

    choices : everything that does as asked, the one to take first; empty where nothing does
    why : why that one
    numel : elements that it was measured at
    measured : "here", or "shipped" with the package
    torch, on, day : with which release, on which processor, when
    """

    request: CopyRequest
    numel: int
    choices: tuple[Choice, ...]
    why: str
    measured: str
    torch: str
    on: str
    day: str

    @property
    def code(self) -> str:
        """What to type; "" where nothing does as asked."""
        return self.choices[0].code if self.choices else ""

    def __str__(self) -> str:
        return self.code

    def document(self) -> dict[str, Any]:
        """As plain values."""
        return {"code": self.code, **asdict(self)}


def advise(
    to: str = "tensor",
    *,
    independent: bool = True,
    keep_graph: bool = False,
    requires_grad: bool = False,
    numel: float = NUMEL,
    device: str = "cpu",
    shipped: bool = False,
    interpreter: str = "same",
    tell: Callable[[float, str], None] = lambda share, doing: None,
) -> Advice:
    """Which code to type for a tensor `x` of float32, measured here in some five seconds.

    to : "tensor", or "numpy" for an ndarray
    independent : with storage of its own; else sharing that of x
    keep_graph : whether a gradient shall reach x
    requires_grad : whether x does
    numel : elements of x
    device : where x lies
    shipped : answer from what was shipped with the package, also where torch is
    interpreter : whose torch is asked; "same" for the running one's
    tell : hears the share that is done (0 to 1) and what is being done

    Raises TensorcopyError for what is not to be had.
    """
    request = _wish(to, independent, keep_graph, requires_grad, device)
    if not 1 <= numel <= 2**62:
        raise TensorcopyError("no number of elements", got=f"{numel:g}", allowed="1 or more", next="numel=2**17")
    if shipped or not can_measure(interpreter):
        return _as_shipped(request, int(numel))
    asked = {"to": request.to, "device": device, "numel": int(numel), "requires_grad": requires_grad}
    tried = interpreters.asked(interpreters.executable(interpreter), "tensorcopy.worker.probes.quick_bench", json.dumps(asked), tell=tell)
    return of_trial(tried, request, int(numel))


def can_measure(interpreter: str = "same") -> bool:
    """Whether there is a torch to be asked; of another interpreter than the running one it is supposed."""
    return interpreter != "same" or find_spec("torch") is not None


def of_trial(tried: Mapping[str, Any], request: CopyRequest, numel: int) -> Advice:
    """What `quick_bench` found, judged as a result is; each round counts as a pass."""
    timings = {}
    for method, rounds in tried["rounds"].items():
        case = recommend.case_of(tried["methods"][method], method, request, numel)
        timings[case] = timing([PassSamples((seconds,)) for seconds in rounds])
        floor = baseline.of(case)
        if floor:
            timings[floor] = timing([PassSamples((seconds,)) for seconds in tried["floor"]])
    options = recommend.advised(_result(tried, timings), request).get(numel, ())
    return _advice(request, numel, [_choice(option) for option in options], _why(options), "here", tried)


def _result(tried: Mapping[str, Any], timings: dict[Case, Any]) -> Result:
    return Result(Path("here"), "here", "", tried["python"], "", "here", timings, methods=tried["methods"])


def _wish(to: str, independent: bool, keep_graph: bool, requires_grad: bool, device: str) -> CopyRequest:
    if to not in KINDS:
        raise TensorcopyError("nothing is copied to that", got=repr(to), allowed="tensor or numpy", next="tensorcopy advise --to numpy")
    has_graph = KINDS[to] == "tensor" and requires_grad
    if keep_graph and not has_graph:
        raise TensorcopyError(
            "there is no graph to keep",
            got="an ndarray" if to != "tensor" else "an x that requires no grad",
            allowed="a tensor, of an x that requires grad",
            next="ask with --requires-grad, or without --keep-graph",
        )
    return CopyRequest(KINDS[to], independent, keep_graph if has_graph else None, requires_grad, device)


def _why(options: Sequence[Option]) -> str:
    reason, places = recommend.because(options)
    return said(reason, **places)


def _choice(option: Option) -> Choice:
    change = option.change
    return Choice(
        method=option.method,
        code=option.code,
        seconds=option.timing.median if option.timing else None,
        multiple=option.multiple,
        verdict="" if option.timing is None else FASTEST if change is None else change.verdict.value,
        ratio=change.ratio if change else None,
        caveats=tuple(said(word, detail=detail) for word, detail in option.caveats),
    )


def _advice(request: CopyRequest, numel: int, choices: Iterable[Choice], why: str, measured: str, source: Mapping[str, Any]) -> Advice:
    return Advice(request, numel, tuple(choices), why, measured, source["torch"], source["on"], source["day"])


def shipped(result: Result, beside: Sequence[Result]) -> dict[str, Any]:
    """shipped.json: what the chooser says of a result, at every size. `beside` as `recommend.advised` takes it."""
    answers = []
    for device in recommend.devices(result):
        for request in recommend.requests(device):
            found = recommend.advised(result, request, beside)
            rows = {choice.method: choice for options in found.values() for choice in map(_choice, options)}
            answers.append(
                {
                    "wish": asdict(request),
                    "methods": {name: {"code": row.code, "beware": row.caveats} for name, row in rows.items()},
                    "sizes": {
                        str(numel): {"why": _why(options), "choices": [_plain(_choice(option)) for option in options]}
                        for numel, options in found.items()
                    },
                }
            )
    provenance = result.provenance
    on = {"cpu": provenance["cpu"], **provenance["accelerators"]}
    return {"torch": provenance["torch"], "on": on, "day": provenance["started"][:10], "answers": answers}


def _plain(choice: Choice) -> list[Any]:
    def figure(value: float | None) -> float | None:
        return None if value is None else float(f"{value:.4g}")

    return [choice.method, figure(choice.seconds), figure(choice.multiple), choice.verdict, figure(choice.ratio)]


def _as_shipped(request: CopyRequest, numel: int) -> Advice:
    document = json.loads(SHIPPED.read_text(encoding="utf-8"))
    for answer in document["answers"]:
        if answer["wish"] == asdict(request) and answer["sizes"]:
            at = recommend.near(numel, map(int, answer["sizes"]))
            found, methods = answer["sizes"][str(at)], answer["methods"]
            choices = [
                Choice(name, methods[name]["code"], seconds, multiple, verdict, ratio, tuple(methods[name]["beware"]))
                for name, seconds, multiple, verdict, ratio in found["choices"]
            ]
            return _advice(request, at, choices, found["why"], "shipped", {**document, "on": document["on"][request.device]})
    devices = dict.fromkeys(answer["wish"]["device"] for answer in document["answers"])
    raise TensorcopyError(
        f"nothing was shipped for {request.device}",
        got=f"{request.device}, {count(numel)} elements",
        allowed=", ".join(devices),
        next="install torch beside tensorcopy, and it is measured here",
    )
