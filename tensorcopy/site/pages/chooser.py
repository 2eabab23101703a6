"""The chooser: a page for each wish and size, in every language, joined by plain links."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tensorcopy.analysis import recommend
from tensorcopy.analysis.recommend import CopyRequest, Option
from tensorcopy.report.units import count
from tensorcopy.site import addresses
from tensorcopy.site.model.content import Content
from tensorcopy.site.model.machine import Machine
from tensorcopy.site.page import Page
from tensorcopy.site.translate import LANGUAGES, speaker

FIRST = CopyRequest(to="tensor", own=True, keeps_graph=False, requires_grad=True, device="cpu")  # what most people come for
AT = 2**17  # of the sizes measured the nearest to it is shown first


def pages(content: Content) -> Iterator[Page]:
    machine = content.machine
    if machine is None:
        yield from _pages(addresses.CHOOSER, {"machine": None, "options": (), "questions": ()})
        return
    found = {
        request: answers
        for device in recommend.devices(machine.result)
        for request in recommend.requests(device)
        if (answers := recommend.advised(machine.result, request, machine.series[0].results))
    }
    sizes = {request: list(answers) for request, answers in found.items()}
    for request, answers in found.items():
        for numel, options in answers.items():
            yield from _asked(addresses.of_request(request, numel), machine, request, numel, options, sizes)
    first = FIRST if FIRST in found else next(iter(found), None)
    if first is None:  # nothing of what it asks was measured
        yield from _pages(addresses.CHOOSER, {"machine": None, "options": (), "questions": ()})
    else:
        numel = recommend.near(AT, sizes[first])
        yield from _asked(addresses.CHOOSER, machine, first, numel, found[first][numel], sizes)


def _asked(
    address: str, machine: Machine, request: CopyRequest, numel: int, options: Sequence[Option], sizes: dict[CopyRequest, list[int]]
) -> Iterator[Page]:
    yield from _pages(address, {"machine": machine, "options": options}, request, numel, sizes)


def _pages(
    address: str,
    values: dict[str, Any],
    request: CopyRequest | None = None,
    numel: int = 0,
    sizes: dict[CopyRequest, list[int]] | None = None,
) -> Iterator[Page]:
    languages = {language: addresses.translated(address, language) for language in LANGUAGES}
    for language, translated in languages.items():
        say, told = speaker(language), dict(values)
        if request:
            told["questions"] = _questions(request, numel, sizes or {}, language)
            reason, places = recommend.because(values["options"])
            told["because"] = say(reason, **places)
        yield Page(translated, "choose.html", str(say("chooser")), told, language, languages)


def _questions(
    request: CopyRequest, numel: int, sizes: dict[CopyRequest, list[int]], language: str
) -> list[tuple[Any, list[tuple[Any, str, bool]]]]:
    """Each question with its answers: the text, where it leads, and whether it is the one given here."""
    say = speaker(language)

    def link(to: CopyRequest, at: int = numel) -> str:
        return addresses.translated(addresses.of_request(to, recommend.near(at, sizes[to])), language)

    def asked(name: str, *answers: tuple[str, CopyRequest]) -> tuple[Any, list[tuple[Any, str, bool]]]:
        return say(name), [(say(text), link(to), to == request) for text, to in answers if to in sizes]

    def changed(**fields: Any) -> CopyRequest:
        """The wish with another answer; whether there is a graph to keep follows from the others."""
        now = {**vars(request), **fields}
        has_graph = now["to"] == "tensor" and now["requires_grad"]
        now["keeps_graph"] = (now["keeps_graph"] or False) if has_graph else None
        return CopyRequest(**now)

    found = [
        asked("q_to", ("tensor", changed(to="tensor")), ("ndarray", changed(to="ndarray"))),
        asked("q_storage", ("own", changed(own=True)), ("shared", changed(own=False))),
        asked("q_grad", ("yes", changed(requires_grad=True)), ("no", changed(requires_grad=False))),
    ]
    if request.keeps_graph is not None:
        found.append(asked("q_graph", ("cut", changed(keeps_graph=False)), ("kept", changed(keeps_graph=True))))
    devices = dict.fromkeys(other.device for other in sizes)
    found.append(
        (
            say("q_device"),
            [(device, link(changed(device=device)), device == request.device) for device in devices if changed(device=device) in sizes],
        )
    )
    found.append((say("q_numel"), [(count(size), link(request, size), size == numel) for size in sizes[request]]))
    return found
