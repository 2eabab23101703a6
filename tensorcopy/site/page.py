"""Pages and data files before they are rendered, the texts of a page in its language, and code and cases as pages show them. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup, escape

from tensorcopy.numbers import count
from tensorcopy.report.words import texts, translate
from tensorcopy.results.cases import Case

Translate = Callable[..., Markup]
NAMED_BY_VALUE = (
    "device",
    "dtype",
    "layout",
    "memory",
    "method",
    "nbytes",
    "quantity",
    "way",
)  # parameters whose values tell what they are
COUNTED = {  # by metric, as a part of a name
    "instructions": "instructions",
    "allocated": "bytes allocated",
    "peak": "peak memory",
    "allocations": "allocations",
    "device_allocated": "device bytes allocated",
    "device_peak": "device peak memory",
    "device_allocations": "device allocations",
    "cuda_peak": "CUDA peak memory",
}
ISSUE = re.compile(r"https?://[\w./#?=&;%+-]*[\w/]|(?P<name>(?:[\w-]+/)?[\w.-]*\w)#(?P<number>\d+)\b", re.ASCII)
SHORT_NAME = 5  # characters: "x", "np", "torch"


@dataclass(frozen=True)
class Page:
    """A page to be rendered from a template.

    address : relative to the site's root
    values : variables of the template
    description : a sentence for search engines, which no other page has
    languages : addresses of the same page by language, including this one; empty where it exists in one language only
    """

    address: str
    template: str
    title: str
    values: Mapping[str, Any] = field(default_factory=dict)
    language: str = "en"
    languages: Mapping[str, str] = field(default_factory=dict)
    description: str = ""


@dataclass(frozen=True)
class File:
    """A data file beside the pages."""

    address: str
    text: str


def translator(language: str) -> Translate:
    """Return a function from a text's name and its placeholders to the text.

    The values of placeholders are escaped.
    """

    def translate(name: str, /, **values: object) -> Markup:
        return Markup(texts()[name][language]).format(**values)  # noqa: S704 - words.toml is ours; values are escaped

    return translate


def code_markup(code: str) -> Markup:
    """Return code as a <code> element that may wrap between calls."""
    return Markup("<code>{}</code>").format(breakable(code))


def with_links(text: str) -> Markup:
    """Return a text whose addresses, and issues such as "pytorch#1" and "owner/name#2", are links."""
    parts, end = list[Markup](), 0
    for found in ISSUE.finditer(text):
        name = found["name"] or ""
        repository = name if "/" in name else f"{name}/{name}"
        address = f"https://github.com/{repository}/issues/{found['number']}" if name else found[0]
        parts += [escape(text[end : found.start()]), Markup('<a href="{}" rel="external noreferrer">{}</a>').format(address, found[0])]
        end = found.end()
    return Markup("").join([*parts, escape(text[end:])])


def breakable(code: str) -> Markup:
    """Allow line breaks before each call, but never after a name as short as `x` or `torch`."""
    head, *calls = code.split(".")
    if calls and len(head) <= SHORT_NAME:
        head, *calls = f"{head}.{calls[0]}", *calls[1:]
    return Markup("<wbr>.").join([head, *calls])


def circumstances(case: Case, language: str = "en") -> str:
    """Say what a case measures besides its method: "2¹⁷ elements, float16", "2¹⁰ elements, cuda, in a row".

    With the method's code, or the suite's name where it has no methods, it is the name by which readers know a case: no other case of a
    machine has the same. In another language than English, of a time. Those of a third-party suite are shown as in a terminal.
    """
    if not case.spec.shipped:
        return ", ".join(f"{name}={value}" for name, value in case.parameters) or "without parameters"
    shown = parameters([(name, value) for name, value in case.parameters if name != "method"], language)
    return translate("and", language).join(filter(None, [shown, waiting(case, language), counted(case)])) or "default parameters"


def waiting(case: Case, language: str = "en") -> str:
    """Return when a device is waited for, of a case that a suite times after each call and another one after many; "" for others."""
    spec = case.spec
    if not (spec.shipped and spec.timed) or spec.to_host or spec.wait or case.device == "cpu":
        return ""
    return translate("waited_for_after_each_call" if spec.latency else "in_a_row", language)


def counted(case: Case) -> str:
    """Return what a suite counts or tracks of a case; "" for a time, and for a third-party suite, whose name says it."""
    return COUNTED.get(case.spec.metric, "") if case.spec.shipped else ""


def environment_text(name: str) -> str:
    """Format an environment, such as "py3.11-cuda": "Python 3.11, cuda build"."""
    python, _, build = name.partition("-")
    return f"Python {python.removeprefix('py')}, {build} build"


def parameters(named: Iterable[tuple[str, str]], language: str = "en") -> str:
    """Format parameters: "2¹⁷ elements, float16"."""
    return translate("and", language).join(_parameter(name, value, language) for name, value in named)


def _parameter(name: str, value: str, language: str) -> str:
    if name == "numel":
        return translate("element" if value == "1" else "elements", language, numel=count(int(value)))
    if name == "requires_grad":
        return translate("requires_grad" if value == "True" else "no_grad", language)
    return value if name in NAMED_BY_VALUE else f"{name}={value}"
