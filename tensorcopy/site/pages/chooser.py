"""The chooser: a page for each request and size, joined by plain links."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from tensorcopy.analysis import recommend
from tensorcopy.analysis.recommend import CopyRequest, Option
from tensorcopy.report.numbers import count
from tensorcopy.report.words import LANGUAGES
from tensorcopy.site import addresses
from tensorcopy.site.content import Content
from tensorcopy.site.machine import Machine
from tensorcopy.site.page import Page, translator

FIRST = recommend.common_request("tensor", "cpu")

Answers = Mapping[CopyRequest, Mapping[int, Sequence[Option]]]  # by request, then by size


@dataclass(frozen=True)
class Choice:
    """A possible answer to a question. chosen : it is this page's"""

    text: str | Markup
    address: str
    chosen: bool


@dataclass(frozen=True)
class Question:
    """A question with its answers as links."""

    text: Markup
    choices: list[Choice]


def pages(content: Content) -> Iterator[Page]:
    """Yield a page for each request and size, and the first page, in every language."""
    answers = _answers(content.machine) if content.machine else {}
    for request, by_size in answers.items():
        for numel in by_size:
            yield from _answer_pages(addresses.of_request(request, numel), content.machine, answers, request, numel)
    first = FIRST if FIRST in answers else next(iter(answers), None)
    if first is None:
        yield from _empty_pages()
    else:
        yield from _answer_pages(
            addresses.CHOOSER, content.machine, answers, first, recommend.nearest_size(recommend.NUMEL, answers[first])
        )


def _answers(machine: Machine) -> Answers:
    """Return the answers to every request that was measured at any size."""
    answers = {
        request: recommend.options_by_size(machine.result, request, machine.series[0].results)
        for device in recommend.devices(machine.result)
        for request in recommend.requests(device)
    }
    return {request: by_size for request, by_size in answers.items() if by_size}


def _empty_pages() -> Iterator[Page]:
    yield from _pages(addresses.CHOOSER, {language: {"machine": None} for language in LANGUAGES})


def _answer_pages(address: str, machine: Machine | None, answers: Answers, request: CopyRequest, numel: int) -> Iterator[Page]:
    options = answers[request][numel]
    reason, placeholders = recommend.reason(request, options)
    values = {
        language: {
            "machine": machine,
            "options": options,
            "questions": _Questions(answers, request, numel, language).all(),
            "reason": translator(language)(reason, **placeholders),
        }
        for language in LANGUAGES
    }
    yield from _pages(address, values)


def _pages(address: str, values: Mapping[str, Mapping[str, Any]]) -> Iterator[Page]:
    """Yield a page in every language; `values` are by language."""
    languages = {language: addresses.translated(address, language) for language in LANGUAGES}
    for language, translated in languages.items():
        title, reason, options = str(translator(language)("chooser")), values[language].get("reason"), values[language].get("options")
        description = f"{options[0].code}: {reason}" if options else ""
        yield Page(translated, "choose.html", title, values[language], language, languages, description)


@dataclass(frozen=True)
class _Questions:
    """The questions of one page; each answer links to the page with that answer."""

    answers: Answers
    request: CopyRequest
    numel: int
    language: str

    def all(self) -> list[Question]:
        """Return every question that this request raises."""
        questions = [
            self._question("q_to", ("tensor", {"to": "tensor"}), ("ndarray", {"to": "ndarray"})),
            self._question("q_storage", ("own", {"own": True}), ("shared", {"own": False})),
            self._question("q_grad", ("yes", {"requires_grad": True}), ("no", {"requires_grad": False})),
        ]
        if self.request.keeps_graph is not None:
            questions.append(self._question("q_graph", ("cut", {"keeps_graph": False}), ("kept", {"keeps_graph": True})))
        translate, sizes = translator(self.language), self.answers[self.request]
        devices = [(device, self._changed(device=device)) for device in dict.fromkeys(request.device for request in self.answers)]
        questions.append(Question(translate("q_device"), [self._choice(*device) for device in devices if device[1] in self.answers]))
        numels = [Choice(count(numel), self._address(self.request, numel), numel == self.numel) for numel in sizes]
        return [*questions, Question(translate("q_numel"), numels)]

    def _question(self, name: str, *choices: tuple[str, dict[str, Any]]) -> Question:
        translate = translator(self.language)
        requests = [(translate(text), self._changed(**fields)) for text, fields in choices]
        return Question(translate(name), [self._choice(text, request) for text, request in requests if request in self.answers])

    def _choice(self, text: str | Markup, request: CopyRequest) -> Choice:
        return Choice(text, self._address(request, self.numel), request == self.request)

    def _address(self, request: CopyRequest, numel: int) -> str:
        address = addresses.of_request(request, recommend.nearest_size(numel, self.answers[request]))
        return addresses.translated(address, self.language)

    def _changed(self, **fields: Any) -> CopyRequest:
        """Return the request with another answer.

        `keeps_graph` is None when there is no graph to keep.
        """
        values = {**vars(self.request), **fields}
        has_graph = values["to"] == "tensor" and values["requires_grad"]
        values["keeps_graph"] = (values["keeps_graph"] or False) if has_graph else None
        return CopyRequest(**values)
