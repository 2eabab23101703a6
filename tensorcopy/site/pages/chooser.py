"""The chooser: a page for each wish and size, in every language, joined by plain links."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tensorcopy.analysis import recommend
from tensorcopy.analysis.recommend import Option, Wish
from tensorcopy.report.units import count
from tensorcopy.site import addresses
from tensorcopy.site.model.machine import Machine
from tensorcopy.site.model.site_data import Book
from tensorcopy.site.page import Page
from tensorcopy.site.translate import LANGUAGES, speaker

FIRST = Wish(to="tensor", own=True, keeps_graph=False, requires_grad=True, device="cpu")  # what most people come for
AT = 2**17  # of the sizes measured the nearest to it is shown first


def pages(book: Book) -> Iterator[Page]:
    machine = book.machine
    if machine is None:
        yield from _pages(addresses.CHOOSER, {"machine": None, "options": (), "questions": ()})
        return
    found = {
        wish: answers
        for device in recommend.devices(machine.result)
        for wish in recommend.wishes(device)
        if (answers := recommend.advised(machine.result, wish, machine.series[0].results))
    }
    sizes = {wish: list(answers) for wish, answers in found.items()}
    for wish, answers in found.items():
        for numel, options in answers.items():
            yield from _asked(addresses.of_wish(wish, numel), machine, wish, numel, options, sizes)
    first = FIRST if FIRST in found else next(iter(found), None)
    if first is None:  # nothing of what it asks was measured
        yield from _pages(addresses.CHOOSER, {"machine": None, "options": (), "questions": ()})
    else:
        numel = recommend.near(AT, sizes[first])
        yield from _asked(addresses.CHOOSER, machine, first, numel, found[first][numel], sizes)


def _asked(
    address: str, machine: Machine, wish: Wish, numel: int, options: Sequence[Option], sizes: dict[Wish, list[int]]
) -> Iterator[Page]:
    yield from _pages(address, {"machine": machine, "options": options}, wish, numel, sizes)


def _pages(
    address: str, values: dict[str, Any], wish: Wish | None = None, numel: int = 0, sizes: dict[Wish, list[int]] | None = None
) -> Iterator[Page]:
    languages = {language: addresses.translated(address, language) for language in LANGUAGES}
    for language, translated in languages.items():
        say, told = speaker(language), dict(values)
        if wish:
            told["questions"] = _questions(wish, numel, sizes or {}, language)
            reason, places = recommend.because(values["options"])
            told["because"] = say(reason, **places)
        yield Page(translated, "choose.html", str(say("chooser")), told, language, languages)


def _questions(wish: Wish, numel: int, sizes: dict[Wish, list[int]], language: str) -> list[tuple[Any, list[tuple[Any, str, bool]]]]:
    """Each question with its answers: the text, where it leads, and whether it is the one given here."""
    say = speaker(language)

    def link(to: Wish, at: int = numel) -> str:
        return addresses.translated(addresses.of_wish(to, recommend.near(at, sizes[to])), language)

    def asked(name: str, *answers: tuple[str, Wish]) -> tuple[Any, list[tuple[Any, str, bool]]]:
        return say(name), [(say(text), link(to), to == wish) for text, to in answers if to in sizes]

    def changed(**fields: Any) -> Wish:
        """The wish with another answer; whether there is a graph to keep follows from the others."""
        now = {**vars(wish), **fields}
        has_graph = now["to"] == "tensor" and now["requires_grad"]
        now["keeps_graph"] = (now["keeps_graph"] or False) if has_graph else None
        return Wish(**now)

    found = [
        asked("q_to", ("tensor", changed(to="tensor")), ("ndarray", changed(to="ndarray"))),
        asked("q_storage", ("own", changed(own=True)), ("shared", changed(own=False))),
        asked("q_grad", ("yes", changed(requires_grad=True)), ("no", changed(requires_grad=False))),
    ]
    if wish.keeps_graph is not None:
        found.append(asked("q_graph", ("cut", changed(keeps_graph=False)), ("kept", changed(keeps_graph=True))))
    devices = dict.fromkeys(other.device for other in sizes)
    found.append(
        (
            say("q_device"),
            [(device, link(changed(device=device)), device == wish.device) for device in devices if changed(device=device) in sizes],
        )
    )
    found.append((say("q_numel"), [(count(size), link(wish, size), size == numel) for size in sizes[wish]]))
    return found
