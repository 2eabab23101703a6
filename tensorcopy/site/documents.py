"""The documents of docs/ as Markdown: their headings, their code, and the findings that pages link to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.anchors import anchors_plugin
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

from tensorcopy.releases import release_table
from tensorcopy.site.content import Content

ABOUT = re.compile(r"^`(.+?)`, torch (\S+) → (\S+),", re.MULTILINE)  # what a finding is about, as docs/tools/readme.py writes it
PULL = re.compile(r"pytorch/pytorch#(\d+)")


@dataclass(frozen=True)
class Finding:
    """A section of docs/findings.md: what was found out about the change of a method between two releases.

    pulls : the number and the address of each pull request that it names
    address : of the section in the repository; "" where that is unknown
    """

    title: str
    code: str
    before: str
    after: str
    pulls: tuple[tuple[str, str], ...]
    address: str

    def is_about(self, code: str, before: str, after: str) -> bool:
        """Return whether what it explains of a method came between two releases."""
        order = release_table.in_order({self.before, self.after, before, after}).index
        return code == self.code and order(before) <= order(self.before) and order(self.after) <= order(after)


def findings(content: Content) -> tuple[Finding, ...]:
    """Return the findings that name a method and two releases, in the order of docs/findings.md."""
    text = content.docs.get("findings", "")
    found = []
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        if about := ABOUT.search(section):
            anchor, title = next(headings(parse(f"## {section}"), "h2"))
            pulls = tuple((number, f"https://github.com/pytorch/pytorch/pull/{number}") for number in dict.fromkeys(PULL.findall(section)))
            found.append(Finding(title, about[1], about[2], about[3], pulls, content.web.of_file(f"docs/findings.md#{anchor}")))
    return tuple(found)


def parser() -> MarkdownIt:
    """Return the parser of documents, which highlights code."""
    return MarkdownIt("js-default", {"highlight": _highlighted}).enable("table").use(anchors_plugin, max_level=3)


def parse(markdown: str) -> list[Token]:
    """Return the tokens of a document."""
    text = re.sub(r"^<!--.*?-->$", "", markdown, flags=re.MULTILINE)
    return parser().parse(re.sub(r"(?<=[\u3000-\uffef])\n *(?=[\u3000-\uffef])", "", text))  # Japanese has no spaces between lines


def _highlighted(code: str, name: str, attributes: str) -> str:
    """Return code as spans with Pygments' classes, which the stylesheet colours."""
    try:
        lexer = get_lexer_by_name("pycon" if code.startswith(">>>") else name or "text")
    except ClassNotFound:
        return ""
    return str(highlight(code, lexer, HtmlFormatter(nowrap=True)))


def headings(tokens: Sequence[Token], level: str) -> Iterator[tuple[str, str]]:
    """Yield each heading's anchor and text."""
    for opening, content in zip(tokens, tokens[1:]):
        if opening.type == "heading_open" and opening.tag == level:
            yield str(opening.attrs["id"]), "".join(child.content for child in content.children or ())
