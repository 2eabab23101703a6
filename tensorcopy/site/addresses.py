"""The address of every page, and where the site and its repository are on the web. Addresses are stable: other sites link to them.

An address is relative to the site's root, with "/" between its parts. Text from results (machines, environments, parameters) is reduced
to letters, digits, ".", "_" and "-"; where that drops a character, a digest of the full text keeps addresses distinct.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

from tensorcopy.configuration import web_address
from tensorcopy.measure import git
from tensorcopy.results.cases import Case
from tensorcopy.results.result import Result

UNKNOWN_SOURCE = "https://github.com/-owner-/tensorcopy"  # no account of GitHub can have that name; in docs/ and where no origin is known
LANDING = "index.html"
CHOOSER = "choose/index.html"
HISTORIES = "history/index.html"
COUNTS = "history/counts.html"
COMPARISONS = "compare/index.html"
REGRESSIONS = "regressions/index.html"
SIZES = "sizes/index.html"
SEMANTICS = "semantics.html"
ARTICLE = "article.html"
MACHINES = "machines.html"
GLOSSARY = "glossary.html"
DOCS = "docs/index.html"
DATA = "data.html"
FEED = "changes.xml"
NEW_FEED = "slowdowns.xml"
BADGE = "regressions.svg"
SCHEMA = "launch.schema.json"
MISSING = "404.html"  # what a web server answers for an address without a page
ACCURACY = "docs/measurement.html#accuracy"

MAX_SLUG = 60  # characters


def translated(address: str, language: str) -> str:
    """Return the address of a page in another language; English pages have no prefix."""
    return address if language == "en" else f"{language}/{address}"


def of_doc(name: str) -> str:
    """Return the address of a page of docs/ from its file name.

    "guide" is the English page, "guide.ja" the Japanese one.
    """
    stem, _, language = name.partition(".")
    address = GLOSSARY if stem == "glossary" else f"docs/{slug(stem.lower())}.html"
    return translated(address, language or "en")


def of_method(method: str) -> str:
    """Return the address of a method's page."""
    return f"methods/{slug(method)}.html"


def of_choice(request: str, tensors: object) -> str:
    """Return the address of the chooser's answer to a request for tensors of one size, or for "tensors" of every dtype and layout."""
    return f"choose/{slug(request)}-{tensors}.html"


def of_case(machine: str, case: Case, *, in_full: bool = False) -> str:
    """Return the address of a case's history on one machine.

    A suite of memory counts three quantities of a case; the peak has the address without the quantity's name.

    in_full : with the whole name of the case, which no other case has, in place of the values of its parameters
    """
    values = case.name if in_full else "-".join(value for _, value in case.parameters) or "all"
    return f"history/{slug(machine)}/{slug(case.spec.page)}/{slug(values)}.html"


def of_explorer(machine: str) -> str:
    """Return the address of the history explorer of one machine."""
    return f"history/{slug(machine)}/index.html"


def of_index(machine: str, quantity: str) -> str:
    """Return the address of the index of one machine's "cases" or "counts", where another machine has the main one."""
    return f"history/{slug(machine)}/{quantity}.html"


def of_history_data(machine: str, quantity: str) -> str:
    """Return the address of the script with a machine's whole history: its "times" or its "counts"."""
    return f"history/{slug(machine)}/{quantity}.js"


def of_machine(name: str) -> str:
    """Return the address of a machine's page."""
    return f"machines/{slug(name)}.html"


def of_comparisons(machine: str) -> str:
    """Return the address of the index of one machine's comparisons."""
    return f"compare/{slug(machine)}/index.html"


def of_regressions(machine: str) -> str:
    """Return the address of the open regressions of one machine."""
    return f"regressions/{slug(machine)}.html"


def of_sizes(result: Result) -> str:
    """Return the address of a result's page of time over size."""
    return f"sizes/{slug(result.machine)}/{slug(result.environment)}/{slug(result.version)}.html"


def of_comparison(before: Result, after: Result) -> str:
    """Return the address of the comparison of two results.

    A part that differs is written "before..after".
    """
    pairs = [(before.machine, after.machine), (before.environment, after.environment), (before.version, after.version)]
    return f"compare/{'/'.join(slug(left) if left == right else f'{slug(left)}..{slug(right)}' for left, right in pairs)}.html"


def of_release(version: str) -> str:
    """Return the address of what a release changed on every device."""
    return f"releases/{slug(version)}.html"


def of_cause(before: Result, after: Result, name: str) -> str:
    """Return the address of the functions behind a change; `name` is that of the profiled case."""
    releases = f"{slug(before.version)}..{slug(after.version)}"
    return f"why/{slug(after.machine)}/{slug(after.environment)}/{releases}/{slug(name.replace(' ', '-'))}.html"


def data(address: str, ending: str) -> str:
    """Return the address of the data file beside a page."""
    return f"{address.removesuffix('.html')}.{ending}"


def of_machine_data(machine: str) -> str:
    """Return the address of a machine's data file."""
    return f"data/{slug(machine)}.csv"


def relative(source: str, target: str) -> str:
    """Return the relative link from the page at `source` to `target`; an address on another host as it is."""
    if "://" in target:
        return target
    source_folders, target_folders = source.split("/")[:-1], target.split("/")[:-1]
    shared = 0
    while shared < min(len(source_folders), len(target_folders)) and source_folders[shared] == target_folders[shared]:
        shared += 1
    return "../" * (len(source_folders) - shared) + "/".join(target.split("/")[shared:])


def of_section(name: str) -> str:
    """Return the anchor of a section of cases, such as "Own-operations"."""
    return slug(name.replace(" ", "-"))


@lru_cache(maxsize=8192)  # the same names are in many links
def slug(text: str) -> str:
    """Return a text as one safe part of an address."""
    safe = re.sub(r"[^A-Za-z0-9._-]+|\.(?=(html|json|csv)$)", "-", text).lstrip(".")[:MAX_SLUG]
    return safe if safe and safe == text else f"{safe.rstrip('-')}-{sha256(text.encode()).hexdigest()[:8]}".lstrip(".-")


@dataclass(frozen=True)
class WebAddresses:
    """The addresses of the repository and of the site's root; "" for an unknown one.

    source : as a browser opens it, and as `git clone` takes it
    site : ends with "/"
    """

    source: str = ""
    site: str = ""

    @classmethod
    def of_configuration(cls, source: str, site: str) -> WebAddresses:
        """Return the addresses that the configuration names."""
        return cls(source, f"{site.rstrip('/')}/" if site else "")

    @classmethod
    def of_checkout(cls, source: str, site: str, environment: Mapping[str, str], folder: Path = Path()) -> WebAddresses:
        """Return the addresses that the configuration names.

        Without a `source`, it is the repository of the running GitHub workflow, or else git's origin. A fork thus links to itself.
        """
        workflow = "{GITHUB_SERVER_URL}/{GITHUB_REPOSITORY}".format_map(environment) if "GITHUB_REPOSITORY" in environment else ""
        origin = git.printed("-C", str(folder), "config", "--get", "remote.origin.url")
        return cls.of_configuration(source or workflow or web_address(origin), site)

    def from_anywhere(self, address: str) -> str:
        """Return the link to a page from an unknown depth: by the site's path, or else as three folders deep, where comparisons are."""
        return f"{urlsplit(self.site).path if self.site else '../../../'}{address}"

    def of_file(self, path: str) -> str:
        """Return the address of a file of the repository, "docs/api.md#plot"; "" when the repository's own is unknown."""
        return f"{self.source}/blob/HEAD/{path}" if self.source else ""

    def absolute(self, address: str) -> str:
        """Return the full address of a page; "" when the site's own is unknown."""
        return f"{self.site}{address.removesuffix('index.html')}" if self.site else ""


NOWHERE = WebAddresses()
