"""The chooser: a page for each request and size, joined by plain links."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tensorcopy.copying import recommend
from tensorcopy.copying.recommend import CopyRequest, Option
from tensorcopy.numbers import count
from tensorcopy.report.words import translate
from tensorcopy.results.suite_specs import NUMEL
from tensorcopy.site import addresses
from tensorcopy.site.content import Content
from tensorcopy.site.machine import DeviceResults
from tensorcopy.site.page import Page, parameters

FIRST = recommend.common_request("tensor", "cpu")

Answers = Mapping[CopyRequest, Mapping[int, Sequence[Option]]]  # by request, then by size


def pages(content: Content) -> Iterator[Page]:
    """Yield a page for each request and size, and the first page."""
    answers, measured = _answers(content.devices), {each.device: each for each in content.devices}
    shown: list[tuple[str, CopyRequest | None, int]] = [
        (of_request(request, numel), request, numel) for request, by_size in answers.items() for numel in by_size
    ]
    first = FIRST if FIRST in answers else next(iter(answers), None)
    shown.append((addresses.CHOOSER, first, recommend.nearest_size(recommend.NUMEL, answers[first]) if first else 0))
    for address, request, numel in shown:
        values: dict[str, Any] = {"measured": None}
        title = "Which method do I need?"
        description = "Which method to use, by result, memory, gradient, device and size, as it was measured."
        if request:
            options = answers[request][numel]
            name, placeholders = recommend.reason(request, options)
            values = {
                "measured": measured[request.device],
                "request": request,
                "options": options,
                "questions": _questions(answers, request, numel),
                "reason": translate(name, **placeholders),
            }
            if address != addresses.CHOOSER:
                title = f"{title} {_asked(request, numel)}"
                code = f"{options[0].code}. " if options else ""
                description = f"{_asked(request, numel)}: {code}{values['reason']}"
        yield Page(address, "choose.html", title, values, description=description)


def _asked(request: CopyRequest, numel: int) -> str:
    """Return a request in words: "A tensor, independent, x requires grad, gradient cut, 2¹⁰ elements on cpu"."""
    words = [
        "A tensor" if request.to == "tensor" else "An ndarray",
        "independent" if request.own else "shared",
        "x requires grad" if request.requires_grad else "x without grad",
        {None: "", False: "gradient cut", True: "gradient flows"}[request.keeps_graph],
        f"{parameters([(NUMEL, str(numel))])} on {request.device}",
    ]
    return ", ".join(filter(None, words))


def _answers(devices: Sequence[DeviceResults]) -> Answers:
    """Return the answers to every request that was measured at any size."""
    answers = {request: recommend.options_by_size(each.result, request) for each in devices for request in recommend.requests(each.device)}
    return {request: by_size for request, by_size in answers.items() if by_size}


def _questions(answers: Answers, request: CopyRequest, numel: int) -> list[dict[str, Any]]:
    """Return the questions that a request raises; each choice that was measured is a link to its page, this page's own is chosen."""

    def question(asked: str, choices: Iterable[tuple[str, CopyRequest, int]]) -> dict[str, Any]:
        links = [
            {
                "text": text,
                "address": of_request(other, recommend.nearest_size(size, answers[other])),
                "chosen": (other, size) == (request, numel),
            }
            for text, other, size in choices
            if other in answers
        ]
        return {"text": asked, "choices": links}

    fields: dict[str, tuple[str, dict[str, Any]]] = {
        "I want": ("to", {"a tensor": "tensor", "an ndarray": "ndarray"}),
        "Memory": ("own", {"independent": True, "shared with x": False}),
        "x requires grad": ("requires_grad", {"yes": True, "no": False}),
        **({"Gradient to x": ("keeps_graph", {"cut": False, "flows": True})} if request.keeps_graph is not None else {}),
    }
    devices = dict.fromkeys(request.device for request in answers)
    return [
        *(
            question(asked, ((text, _changed(request, field, value), numel) for text, value in values.items()))
            for asked, (field, values) in fields.items()
        ),
        question("Device of x", ((device, _changed(request, "device", device), numel) for device in devices)),
        question("Elements", ((count(size), request, size) for size in answers[request])),
    ]


def _changed(request: CopyRequest, field: str, value: Any) -> CopyRequest:
    """Return the request with another answer.

    `keeps_graph` is None when there is no graph to keep.
    """
    values = {**vars(request), field: value}
    has_graph = values["to"] == "tensor" and values["requires_grad"]
    values["keeps_graph"] = (values["keeps_graph"] or False) if has_graph else None
    return CopyRequest(**values)


def of_request(request: CopyRequest, numel: int) -> str:
    """Return the address of the chooser's answer to a request at one size."""
    graph = {None: "", False: "-cut", True: "-kept"}[request.keeps_graph]
    words = [
        request.device,
        request.to,
        ("own" if request.own else "shared") + graph,
        "grad" if request.requires_grad else "plain",
        str(numel),
    ]
    return f"choose/{addresses.slug('-'.join(words))}.html"
