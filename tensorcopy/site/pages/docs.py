"""docs/ as pages: Markdown to HTML, with highlighted code and drawings. A link that leads nowhere is an error, not a dead link.

Links between pages of docs/ lead to each other here too; those to other files of the repository are left as text, for they are no pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from html import unescape

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape
from mdit_py_plugins.anchors import anchors_plugin
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

from tensorcopy.errors import TensorcopyError
from tensorcopy.report.i18n import LANGUAGES
from tensorcopy.site import addresses, filters
from tensorcopy.site.charts import method_drawings
from tensorcopy.site.model.content import Content
from tensorcopy.site.page import Page

ELSEWHERE = re.compile(r"^(https?:|\.\.?/|[A-Z]+\.md|known_changes|[\w/]+\.(py|sh|json|toml)$)")


def pages(content: Content) -> Iterator[Page]:
    """A page for each file, in the languages that it has. Raises TensorcopyError for a link that leads nowhere."""
    pictures = method_drawings.of_methods(content.methods)
    parsed = {name: _parse(text) for name, text in content.docs.items()}
    anchors = {name: _anchors(tokens) for name, tokens in parsed.items()}
    for name, tokens in parsed.items():
        stem, _, language = name.partition(".")
        languages = {one: addresses.of_doc(other) for one in LANGUAGES if (other := _named(stem, one)) in content.docs}
        address = addresses.of_doc(name)
        _lead(tokens, name, address, anchors)
        yield Page(
            address,
            "manual.html",
            _title(tokens) or stem,
            {"text": _rendered(tokens, pictures), "sections": _sections(tokens)},
            language or "en",
            languages if len(languages) > 1 else {},
        )


def _named(stem: str, language: str) -> str:
    return stem if language == "en" else f"{stem}.{language}"


def _parser() -> MarkdownIt:
    return MarkdownIt("js-default", {"highlight": _highlighted}).enable("table").use(anchors_plugin, max_level=3)


def _parse(markdown: str) -> list[Token]:
    text = re.sub(r"^<!--.*?-->$", "", markdown, flags=re.MULTILINE)
    return _parser().parse(re.sub(r"(?<=[\u3000-\uffef])\n(?=[\u3000-\uffef])", "", text))  # Japanese has no spaces between lines


def _highlighted(code: str, name: str, attributes: str) -> str:
    """A block of code as spans with Pygments' classes, whose colours the stylesheet has."""
    try:
        lexer = get_lexer_by_name("pycon" if code.startswith(">>>") else name or "text")
    except ClassNotFound:
        return ""
    return str(highlight(code, lexer, HtmlFormatter(nowrap=True)))


def _inline(tokens: Sequence[Token]) -> Iterator[Token]:
    for token in tokens:
        yield from token.children or ()


def _anchors(tokens: Sequence[Token]) -> set[str]:
    return {str(token.attrs["id"]) for token in tokens if "id" in token.attrs}


def _headings(tokens: Sequence[Token], level: str) -> Iterator[tuple[str, str]]:
    """Each heading's anchor and text."""
    for opening, content in zip(tokens, tokens[1:]):
        if opening.type == "heading_open" and opening.tag == level:
            yield str(opening.attrs["id"]), "".join(child.content for child in content.children or ())


def _title(tokens: Sequence[Token]) -> str:
    return next((text for _, text in _headings(tokens, "h1")), "")


def _sections(tokens: Sequence[Token]) -> list[tuple[str, str]]:
    return list(_headings(tokens, "h2"))


def _lead(tokens: Sequence[Token], name: str, here: str, anchors: Mapping[str, set[str]]) -> None:
    """Let every link lead to a page of the site, or be text."""
    text_until = ""
    for token in _inline(tokens):
        if token.type == "link_open":
            target = unescape(str(token.attrs["href"]))
            found = _target(target, name, here, anchors)
            if found is None:
                token.tag, token.attrs, text_until = "span", {}, "link_close"
            else:
                token.attrs["href"] = found
        elif token.type == text_until:
            token.tag, text_until = "span", ""


def _target(target: str, name: str, here: str, anchors: Mapping[str, set[str]]) -> str | None:
    """Where a link leads from the page `here`; None where that is no page."""
    if target.startswith(("http:", "https:")):
        return target
    path, _, anchor = target.partition("#")
    other = path.removeprefix("../").removesuffix(".md") if path else name
    known = other if other in anchors else other.lower()  # CHANGELOG.md
    if known in anchors and (not anchor or anchor in anchors[known]):
        there = addresses.relative(here, addresses.of_doc(known)) if path else ""
        return f"{there}#{anchor}" if anchor else there
    if known not in anchors and ELSEWHERE.match(path):
        return None
    raise TensorcopyError(
        f"docs/{name}.md has a link that leads nowhere",
        got=target,
        allowed="a file beside it, and a heading in it",
        next="mend the link",
    )


def _aligned(tokens: Sequence[Token]) -> None:
    """A column's alignment as a class: a page has no styles of its own."""
    for token in tokens:
        if "style" in token.attrs:
            token.attrs = {"class": str(token.attrs["style"]).removeprefix("text-align:")}


def _rendered(tokens: list[Token], pictures: Mapping[str, str]) -> Markup:
    _aligned(tokens)
    parser = _parser()
    parser.add_render_rule("code_inline", lambda renderer, some, index, options, environment: _code(some[index].content))
    parser.add_render_rule("image", lambda renderer, some, index, options, environment: _image(some[index], pictures))
    html = parser.renderer.render(tokens, parser.options, {})
    html = html.replace("<table>", '<div class="scroll" tabindex="0" role="region" aria-label="table"><table class="words">')
    html = html.replace("</table>", "</table></div>").replace("<pre>", '<pre tabindex="0">')
    return Markup(html)  # noqa: S704 - the parser escapes HTML, and the text is our own


def _code(text: str) -> str:
    return f"<code>{filters.breakable(text) if '(' in text else escape(text)}</code>"


def _image(token: Token, pictures: Mapping[str, str]) -> str:
    """A drawing, or nothing where this torch was not looked at: the text beside it says the same."""
    name = str(token.attrs["src"]).removeprefix("drawings/").removesuffix(".svg")
    return re.sub(r'aria-label="[^"]*"', lambda _: f'aria-label="{escape(token.content)}"', pictures.get(name, ""), count=1)
