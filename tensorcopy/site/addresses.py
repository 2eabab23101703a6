"""Where every page lies: addresses that stay, for others link to them. Pure.

An address is relative to the site's root, with "/" between its parts. What comes from results (machines, environments, parameters) is cut
to letters, digits, ".", "_" and "-"; where that loses something, a digest of the whole keeps two apart.
"""

from __future__ import annotations

import re
from hashlib import sha256

from tensorcopy.analysis.comparisons import version
from tensorcopy.analysis.recommend import CopyRequest
from tensorcopy.results.load import Case, Result

LANDING = "index.html"
CHOOSER = "choose/index.html"
HISTORIES = "history/index.html"
COMPARISONS = "compare/index.html"
SIZES = "sizes/index.html"
SEMANTICS = "semantics.html"
MEMORY = "memory.html"
MACHINES = "machines.html"
REPORT_CARD = "report-card.html"
GLOSSARY = "glossary.html"
DOCS = "docs/index.html"
DATA = "data.html"
EXPLORER = "explorer.html"
FEED = "changes.xml"
BADGE = "badge.svg"
SCHEMA = "result.schema.json"
DATA_SCHEMA = "data.schema.json"
CARD_DATA = "report-card.json"

LONGEST = 60  # characters of a part


def translated(address: str, language: str) -> str:
    """The same page in another language than English."""
    return address if language == "en" else f"{language}/{address}"


def of_doc(name: str) -> str:
    """A page of docs/, by the name of its file: "guide", and "guide.ja" for the Japanese one."""
    stem, _, language = name.partition(".")
    address = GLOSSARY if stem == "glossary" else f"docs/{part(stem.lower())}.html"
    return translated(address, language or "en")


def of_method(method: str) -> str:
    return f"methods/{part(method)}.html"


def of_case(machine: str, case: Case) -> str:
    """A case's history, on one machine."""
    suite = case.suite.rpartition(".")[0] or case.suite
    return f"history/{part(machine)}/{part(suite)}/{part('-'.join(value for _, value in case.parameters) or 'all')}.html"


def of_sizes(result: Result) -> str:
    return f"sizes/{part(result.machine)}/{part(result.environment)}/{part(version(result))}.html"


def of_pair(one: Result, other: Result) -> str:
    """The comparison of two results: of releases, or of environments or machines with the same release."""
    places = [(one.machine, other.machine), (one.environment, other.environment), (version(one), version(other))]
    return f"compare/{'/'.join(part(left) if left == right else f'{part(left)}..{part(right)}' for left, right in places)}.html"


def of_request(request: CopyRequest, numel: int) -> str:
    """An answer of the chooser."""
    graph = {None: "", False: "-cut", True: "-kept"}[request.keeps_graph]
    words = [
        request.device,
        request.to,
        ("own" if request.own else "shared") + graph,
        "grad" if request.requires_grad else "plain",
        str(numel),
    ]
    return f"choose/{part('-'.join(words))}.html"


def data(address: str, ending: str) -> str:
    """The data beside a page."""
    return f"{address.removesuffix('.html')}.{ending}"


def relative(here: str, there: str) -> str:
    """A link from the page at `here` to the one at `there`."""
    up = here.count("/")
    same = 0
    mine, others = here.split("/")[:-1], there.split("/")[:-1]
    while same < min(len(mine), len(others)) and mine[same] == others[same]:
        same += 1
    return "../" * (up - same) + "/".join(there.split("/")[same:])


def part(text: str) -> str:
    """A text as one part of an address."""
    safe = re.sub(r"[^A-Za-z0-9._-]+|\.(?=(html|json|csv)$)", "-", text).lstrip(".")[:LONGEST]
    return safe if safe and safe == text else f"{safe.rstrip('-')}-{sha256(text.encode()).hexdigest()[:8]}".lstrip(".-")
