"""The sections of docs/findings.md: what was found out about the change of a method between two releases. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tensorcopy.releases import release_table

ABOUT = re.compile(r"^`(.+?)`, torch (\S+) → (\S+),", re.MULTILINE)  # what a finding is about, as docs/tools/readme.py writes it
PULL = re.compile(r"pytorch/pytorch#(\d+)")


@dataclass(frozen=True)
class Finding:
    """A section of docs/findings.md.

    pulls : the number and the address of each pull request that it names
    address : of its section on the site
    """

    title: str
    code: str
    before: str
    after: str
    pulls: tuple[tuple[str, str], ...]
    address: str = ""

    def is_about(self, code: str, before: str, after: str) -> bool:
        """Return whether what it explains of a method came between two releases."""
        order = release_table.in_order({self.before, self.after, before, after}).index
        return code == self.code and order(before) <= order(self.before) and order(self.after) <= order(after)


def read(text: str) -> Iterator[Finding]:
    """Yield the findings that name a method and two releases, in the order of the Markdown."""
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        if about := ABOUT.search(section):
            pulls = tuple((number, f"https://github.com/pytorch/pytorch/pull/{number}") for number in dict.fromkeys(PULL.findall(section)))
            yield Finding(section.partition("\n")[0].replace("`", ""), about[1], about[2], about[3], pulls)
