"""Advice for the user's own machine: the code to type, its cost and its caveats.

With torch, every matching method is observed and timed on the spot, in a separate process (`worker.probes.quick_bench`). Without torch
the answer is that of the chooser's page, which comes with the package as shipped.json, written by `tensorcopy readme`. Both are chosen by
`analysis.advice.recommend`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tensorcopy.analysis.advice import matching, recommend
from tensorcopy.analysis.advice.matching import CopyRequest
from tensorcopy.analysis.advice.recommend import Option
from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import interpreters
from tensorcopy.report.i18n import translate
from tensorcopy.report.local.advice import FASTEST, Advice, MatchingMethod
from tensorcopy.report.units import count
from tensorcopy.results import baseline
from tensorcopy.results.load import Case, Result
from tensorcopy.results.passes import PassSamples, timing
from tensorcopy.results.reading import json_file

SHIPPED = Path(__file__).with_name("shipped.json")
KINDS = {"tensor": "tensor", "numpy": "ndarray", "ndarray": "ndarray"}  # by the name that users type
NUMEL = 2**17


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
    report_progress: Callable[[float, str], None] = lambda share, doing: None,
) -> Advice:
    """Return the code to type for a float32 tensor `x`, measured here in some seconds.

    to : "tensor", or "numpy" for an ndarray
    independent : with its own storage; otherwise sharing the storage of x
    keep_graph : whether gradients shall flow back to x
    requires_grad : whether x requires grad
    numel : number of elements of x
    device : device of x
    shipped : answer from the results shipped with the package, even if torch is installed
    interpreter : the Python whose torch is measured; "same" for the running one
    report_progress : called with the finished share (0 to 1) and the current step; `show_progress` prints them

    Raises TensorcopyError for a request that cannot be answered.
    """
    request = _request(to, independent, keep_graph, requires_grad, device)
    if not 1 <= numel <= 2**62:
        raise TensorcopyError("not a number of elements", got=f"{numel:g}", allowed="1 or more", next="numel=2**17")
    if shipped or not can_measure(interpreter):
        return _as_shipped(request, int(numel))
    parameters = {"to": request.to, "device": device, "numel": int(numel), "requires_grad": requires_grad}
    benchmark = interpreters.run_probe(
        interpreters.executable(interpreter),
        "tensorcopy.worker.probes.quick_bench",
        json.dumps(parameters),
        report_progress=report_progress,
    )
    report_progress(1.0, "finished")
    return of_benchmark(benchmark, request, int(numel))


def can_measure(interpreter: str = "same") -> bool:
    """Return whether torch is installed.

    For another interpreter than the running one this is assumed.
    """
    return interpreter != "same" or find_spec("torch") is not None


def of_benchmark(benchmark: Mapping[str, Any], request: CopyRequest, numel: int) -> Advice:
    """Return the advice from the output of `quick_bench`.

    Each round counts as a pass."""
    timings = {}
    for method, rounds in benchmark["rounds"].items():
        case = recommend.case_of(benchmark["methods"][method], method, request, numel)
        timings[case] = timing([PassSamples((seconds,)) for seconds in rounds])
        baseline_case = baseline.case_of(case)
        if baseline_case:
            timings[baseline_case] = timing([PassSamples((seconds,)) for seconds in benchmark["baseline"]])
    options = recommend.options_by_size(_result(benchmark, timings), request).get(numel, ())
    return _advice(request, numel, [_matching_method(option) for option in options], _why(request, options), "here", benchmark)


def _result(benchmark: Mapping[str, Any], timings: dict[Case, Any]) -> Result:
    return Result(Path("here"), "here", "", benchmark["python"], "", "here", timings, methods=benchmark["methods"])


def _request(to: str, independent: bool, keep_graph: bool, requires_grad: bool, device: str) -> CopyRequest:
    if to not in KINDS:
        raise TensorcopyError("unknown target", got=repr(to), allowed="tensor or numpy", next="tensorcopy advise --to numpy")
    has_graph = KINDS[to] == "tensor" and requires_grad
    if keep_graph and not has_graph:
        raise TensorcopyError(
            "there is no graph to keep",
            got="an ndarray" if to != "tensor" else "an x that requires no grad",
            allowed="a tensor, of an x that requires grad",
            next="add --requires-grad, or remove --keep-graph",
        )
    return CopyRequest(KINDS[to], independent, keep_graph if has_graph else None, requires_grad, device)


def _why(request: CopyRequest, options: Sequence[Option]) -> str:
    key, placeholders = recommend.reason(request, options)
    return translate(key, **placeholders)


def _matching_method(option: Option) -> MatchingMethod:
    change = option.change
    return MatchingMethod(
        method=option.method,
        code=option.code,
        seconds=option.timing.median if option.timing else None,
        multiple=option.multiple,
        verdict="" if option.timing is None else FASTEST if change is None else change.verdict.value,
        ratio=change.ratio if change else None,
        caveats=tuple(translate(key, detail=detail) for key, detail in option.caveats),
    )


def _advice(
    request: CopyRequest, numel: int, choices: Iterable[MatchingMethod], why: str, measured: str, source: Mapping[str, Any]
) -> Advice:
    return Advice(request, numel, tuple(choices), why, measured, source["torch"], source["on"], source["day"], source.get("quiet"))


def shipped(result: Result, others: Sequence[Result]) -> dict[str, Any]:
    """Return the content of shipped.json: the advice from a result at every size.

    others : as for `recommend.options_by_size`
    """
    answers = []
    for device in recommend.devices(result):
        for request in matching.requests(device):
            by_size = recommend.options_by_size(result, request, others)
            matches = {match.method: match for options in by_size.values() for match in map(_matching_method, options)}
            answers.append(
                {
                    "request": asdict(request),
                    "methods": {name: {"code": match.code, "caveats": match.caveats} for name, match in matches.items()},
                    "sizes": {
                        str(numel): {"why": _why(request, options), "choices": [_row(_matching_method(option)) for option in options]}
                        for numel, options in by_size.items()
                    },
                }
            )
    provenance = result.provenance
    on = {"cpu": provenance["cpu"], **provenance["accelerators"]}
    return {"torch": provenance["torch"], "on": on, "day": provenance["started"][:10], "answers": answers}


def _row(match: MatchingMethod) -> list[Any]:
    """Return the fields that depend on the size, as `_as_shipped` reads them."""
    seconds, multiple, ratio = (None if value is None else float(f"{value:.4g}") for value in (match.seconds, match.multiple, match.ratio))
    return [match.method, seconds, multiple, match.verdict, ratio]


def _as_shipped(request: CopyRequest, numel: int) -> Advice:
    try:
        return _shipped_advice(json_file.read(SHIPPED), request, numel)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TensorcopyError(
            "the shipped results cannot be read",
            got=f"{SHIPPED.name}: {type(error).__name__}: {error}",
            allowed="the file of the package",
            next="install tensorcopy again, or tensorcopy readme in a checkout",
        ) from error


def _shipped_advice(document: dict[str, Any], request: CopyRequest, numel: int) -> Advice:
    for answer in document["answers"]:
        if answer["request"] == asdict(request) and answer["sizes"]:
            measured = recommend.nearest_size(numel, map(int, answer["sizes"]))
            at_size, methods = answer["sizes"][str(measured)], answer["methods"]
            matches = [
                MatchingMethod(name, methods[name]["code"], seconds, multiple, verdict, ratio, tuple(methods[name]["caveats"]))
                for name, seconds, multiple, verdict, ratio in at_size["choices"]
            ]
            source = {**document, "on": document["on"][request.device]}
            return _advice(request, measured, matches, at_size["why"], "shipped", source)
    devices = dict.fromkeys(answer["request"]["device"] for answer in document["answers"])
    raise TensorcopyError(
        f"no results were shipped for {request.device}",
        got=f"{request.device}, {count(numel)} elements",
        allowed=", ".join(devices),
        next="install torch in the same environment to measure here",
    )
