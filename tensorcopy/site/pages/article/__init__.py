"""The article's questions in its order, answered with what every release did."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from markupsafe import Markup

from tensorcopy.analysis.comparisons import version
from tensorcopy.site import addresses
from tensorcopy.site.charts import method_drawings
from tensorcopy.site.data_files.times_csv import times_csv
from tensorcopy.site.model.content import Content
from tensorcopy.site.model.machine import Machine
from tensorcopy.site.page import File, Page
from tensorcopy.site.pages.article import memory, statements, sweeps
from tensorcopy.site.pages.article.sweeps import Sweep
from tensorcopy.site.pages.semantics import result_by_release
from tensorcopy.site.translate import LANGUAGES, translator


def pages(content: Content) -> Iterator[Page | File]:
    """Yield the page in every language, and the times of its pictures as CSV."""
    machine = content.machine
    languages = {language: addresses.translated(addresses.ARTICLE, language) for language in LANGUAGES}
    pictures = {group: sweeps.of_machine(machine, group) for group in ("conversion", "copy")} if machine else {}
    standings = {group: [sweeps.standing(sweep) for sweep in shown] for group, shown in pictures.items()}
    for language, address in languages.items():
        translate = translator(language)
        values: dict[str, Any] = {"machine": machine}
        if machine:
            values |= {**_values(content, machine, language), "pictures": pictures, "standings": standings, "csv": _csv_address()}
        title = str(translate("article_title"))
        yield Page(address, "article.html", title, values, language, languages, str(translate("article_description")))
    if machine:
        yield File(_csv_address(), "".join(_csv(machine, pictures)))


def _values(content: Content, machine: Machine, language: str) -> dict[str, Any]:
    translate, results = translator(language), result_by_release(machine)
    drawings = method_drawings.of_methods(content.methods)
    return {
        "releases": [version(result) for result in results],
        "sections": statements.sections(results, language),
        "score": machine.result.article.get("cpu"),
        "drawings": {name: Markup(svg) for name, svg in drawings.items()},  # noqa: S704 - our own SVG
        "plot": lambda sweep, together: sweeps.plot(sweep, together, machine, str(translate("article_plot"))),
        "concluded": statements.marked(str(translate("article_concluded"))),
        "fastest": lambda sweep, standings: sweeps.fastest(sweep, standings, machine, translate),
        "conclusion": lambda sweep: sweeps.conclusion(sweep, translate),
        "codes": lambda sweep: [machine.code(method) for method in sweep.methods],
        "has_guide": "guide" in content.docs,
        "about": _about(content, language),
        "waste": memory.answer(machine, translate),
        "memory": memory.rows(results, translate),
    }


def _about(content: Content, language: str) -> str:
    """Return the anchor of the glossary's section about the article; "" for a glossary without one."""
    heading = str(translator(language)("article_heading"))
    name = "glossary" if language == "en" else f"glossary.{language}"
    return f"#{heading.lower()}" if f"## {heading}\n" in content.docs.get(name, "") else ""


def _csv_address() -> str:
    return addresses.data(addresses.ARTICLE, "csv")


def _csv(machine: Machine, pictures: dict[str, list[Sweep]]) -> Iterator[str]:
    """Yield the CSV of each sweep, with one header."""
    for number, sweep in enumerate(sweep for group in pictures.values() for sweep in group):
        text = times_csv(machine, list(sweep.cases.values()), [sweep.result])
        yield text if number == 0 else text.partition("\n")[2]
