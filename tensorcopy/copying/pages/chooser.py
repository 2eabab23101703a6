"""The chooser: a page for each request and size, and one for each request by dtype and layout of x, joined by plain links."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tensorcopy.copying import recommend
from tensorcopy.copying.recommend import CopyRequest, Option
from tensorcopy.numbers import count, size
from tensorcopy.report.words import translate
from tensorcopy.results.cases import ITEMSIZE
from tensorcopy.results.suite_specs import NUMEL
from tensorcopy.site import addresses
from tensorcopy.site.content import Content
from tensorcopy.site.machine import DeviceResults
from tensorcopy.site.page import Page, parameters

TITLE = "Which method do I need?"
FIRST = recommend.common_request("tensor", "cpu")


@dataclass(frozen=True)
class Answer:
    """What a page shows of a request at one size.

    options : the matching methods, the recommended one first
    """

    request: CopyRequest
    numel: int
    options: Sequence[Option]

    @property
    def reason(self) -> str:
        """Why the first one is recommended, or why there is none."""
        name, placeholders = recommend.reason(self.request, self.options)
        return translate(name, **placeholders)

    @property
    def size(self) -> str:
        """The size in words: "2¹⁴ elements"."""
        return parameters([(NUMEL, str(self.numel))])

    @property
    def anchor(self) -> str:
        """The name of its place on the page by dtype and layout."""
        return f"{self.request.dtype}-{self.request.layout}-{self.numel}"

    @property
    def address(self) -> str:
        """Its page, and for another tensor than a contiguous one of float32 its place there."""
        request = self.request
        return addresses.of_choice(request.name, self.numel) if request.is_common else f"{_by_tensor(request)}#{self.anchor}"


Answers = Mapping[CopyRequest, Mapping[int, Answer]]  # by request, then by size
OtherAnswers = Mapping[CopyRequest, Sequence[Answer]]  # of a request for tensors of other dtypes and layouts


def pages(content: Content) -> Iterator[Page]:
    """Yield a page for each request and size, the first page, and one for each request that was timed for other dtypes and layouts."""
    answers, measured = _answers(content.devices), {each.device: each for each in content.devices}
    others = {request: of for request in answers if (of := _of_other_tensors(measured[request.device], request))}
    shown: list[tuple[str, Answer | None]] = [(answer.address, answer) for by_size in answers.values() for answer in by_size.values()]
    first = answers.get(FIRST) or next(iter(answers.values()), None)
    shown.append((addresses.CHOOSER, first[recommend.nearest_size(recommend.NUMEL, first)] if first else None))
    for address, answer in shown:
        values: dict[str, Any] = {"measured": None}
        title, description = TITLE, "Which method to use, by result, memory, gradient, device and size, as it was measured."
        if answer:
            request = answer.request
            elsewhere = [other for other in others if replace(request, device=other.device) == other and other != request]
            values = {
                "measured": measured[request.device],
                "questions": [*_questions(answers, request, answer.numel), *_tensor_question(answer, others)],
                "answers": [answer],
                "day": _day(measured[request.device], [answer]),
                "only_common": request not in others,
                "elsewhere": next(((other.device, _by_tensor(other)) for other in elsewhere), None),
            }
            if address != addresses.CHOOSER:
                asked = _asked(request, answer.size)
                title = f"{title} {asked}"
                code = f"{answer.options[0].code}. " if answer.options else ""
                description = f"{asked}: {code}{answer.reason}"
        yield Page(address, "choose.html", title, values, description=description)
    for request, of_others in others.items():
        yield _page_by_tensor(answers, request, others, of_others, measured[request.device])


def _page_by_tensor(
    answers: Answers, request: CopyRequest, others: OtherAnswers, of_others: Sequence[Answer], results: DeviceResults
) -> Page:
    """Return the page with what to use for each other dtype and layout that was timed, and with the nearest of them to the others."""
    timed = [request, *dict.fromkeys(answer.request for answer in of_others)]
    nearest: dict[tuple[int, str], list[str]] = {}
    for dtype, nbytes in ITEMSIZE.items():
        other = replace(request, dtype=dtype)
        if other not in timed and not (request.requires_grad and dtype in recommend.WITHOUT_GRAD):
            nearest.setdefault((nbytes, recommend.nearest_tensor(other, timed).dtype), []).append(dtype)
    sizes = {answer.numel for answer in of_others}
    values = {
        "measured": results,
        "questions": _questions(answers, request, None, others),
        "common": [answer for numel, answer in answers[request].items() if numel in sizes],
        "answers": of_others,
        "day": _day(results, of_others),
        "nearest": [(_with_bytes(dtypes), _with_bytes([dtype])) for (_, dtype), dtypes in nearest.items()],
    }
    asked = _asked(request, "by dtype and layout")
    title = f"{TITLE} {asked}"
    tensors = ", ".join(each.tensor for each in timed[1:])
    description = f"{asked}: what to type for an x that is {tensors}, and what it costs beside the alternatives."
    return Page(_by_tensor(request), "choose.html", title, values, description=description)


def _day(results: DeviceResults, answers: Iterable[Answer]) -> str:
    """Return the day of the newest launch whose times some answers show."""
    return results.result.day_of(option.case for answer in answers for option in answer.options)


def _with_bytes(dtypes: Sequence[str]) -> str:
    """Return dtypes of one size with it: "float64, complex64 (8 B an element)"."""
    return f"{', '.join(dtypes)} ({size(ITEMSIZE[dtypes[0]])} an element)"


def _asked(request: CopyRequest, of: str) -> str:
    """Return a request in words: "A tensor, independent, x requires grad, gradient cut, 2¹⁰ elements on cpu"; of : the size."""
    words = [
        "A tensor" if request.to == "tensor" else "An ndarray",
        "independent" if request.own else "shared",
        "x requires grad" if request.requires_grad else "x without grad",
        {None: "", False: "gradient cut", True: "gradient flows"}[request.keeps_graph],
        f"{of} on {request.device}",
    ]
    return ", ".join(filter(None, words))


def _answers(devices: Sequence[DeviceResults]) -> Answers:
    """Return the answers to every request that was measured at any size."""
    options = {request: recommend.options_by_size(each.result, request) for each in devices for request in recommend.requests(each.device)}
    return {
        request: {numel: Answer(request, numel, options) for numel, options in by_size.items()}
        for request, by_size in options.items()
        if by_size
    }


def _of_other_tensors(results: DeviceResults, request: CopyRequest) -> list[Answer]:
    """Return the answers to a request for each other dtype and layout that was timed, at each size."""
    return [
        Answer(other, numel, options)
        for other in recommend.of_other_tensors(results.result, request)
        for numel, options in recommend.options_by_size(results.result, other).items()
    ]


def _questions(answers: Answers, request: CopyRequest, numel: int | None, others: Collection[CopyRequest] = ()) -> list[dict[str, Any]]:
    """Return the questions that a request raises; each choice that was measured is a link to its page, this page's own is chosen.

    numel : None on a page by dtype and layout; others : the requests that have one
    """

    def address(other: CopyRequest, size: int | None) -> str:
        if size is None and other in others:
            return _by_tensor(other)
        return addresses.of_choice(other.name, recommend.nearest_size(size or recommend.NUMEL, answers[other]))

    def question(asked: str, choices: Iterable[tuple[str, CopyRequest, int | None]]) -> dict[str, Any]:
        links = [
            {"text": text, "address": address(other, size), "chosen": (other, size) == (request, numel)}
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
        *([question("Elements", ((count(size), request, size) for size in answers[request]))] if numel is not None else []),
    ]


def _tensor_question(answer: Answer, others: OtherAnswers) -> list[dict[str, Any]]:
    """Return the question for the dtype and layout of x, whose other choices are places on another page; none where no other was timed."""
    request = answer.request
    by_request: dict[CopyRequest, list[Answer]] = {}
    for each in others.get(request, ()):
        by_request.setdefault(each.request, []).append(each)
    if not by_request:
        return []
    links = [{"text": f"{request.dtype}, {request.layout}", "address": answer.address, "chosen": True}]
    for other, of_other in by_request.items():
        numel = recommend.nearest_size(answer.numel, [each.numel for each in of_other])
        text = other.dtype if other.dtype != request.dtype else other.layout
        links.append({"text": text, "address": next(each.address for each in of_other if each.numel == numel), "chosen": False})
    return [
        {
            "text": "Dtype, layout",
            "choices": [*links, {"text": "another", "address": f"{_by_tensor(request)}#another", "chosen": False}],
        }
    ]


def _changed(request: CopyRequest, field: str, value: Any) -> CopyRequest:
    """Return the request with another answer.

    `keeps_graph` is None when there is no graph to keep.
    """
    values = {**vars(request), field: value}
    has_graph = values["to"] == "tensor" and values["requires_grad"]
    values["keeps_graph"] = (values["keeps_graph"] or False) if has_graph else None
    return CopyRequest(**values)


def _by_tensor(request: CopyRequest) -> str:
    """Return the address of the answers to a request by dtype and layout of x."""
    return addresses.of_choice(request.name, "tensors")
