"""The documents of docs/ that are pages: Markdown to HTML, with highlighted code and drawings.

A dead link of any document is an error. A link to a file that is no page leads to the repository, or is text where that is unknown.
"""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from html import unescape

from markdown_it.token import Token
from markupsafe import Markup, escape

from tensorcopy.copying.drawings import draw_methods
from tensorcopy.errors import TensorcopyError
from tensorcopy.report.words import LANGUAGES, translate
from tensorcopy.site import addresses, documents
from tensorcopy.site.addresses import WebAddresses
from tensorcopy.site.content import Content
from tensorcopy.site.page import Page, breakable

PAGES = ("index", "guide", "guide.ja", "measurement", "reading", "glossary", "glossary.ja")  # what readers of results look up
REPOSITORY_FILE = re.compile(r"^(https?:|\.\.?/|[A-Z]+\.md|[\w/]+\.(py|sh|json|toml)$)")

MIN_DESCRIPTION = 12  # characters: the link to another language is shorter


def pages(content: Content) -> Iterator[Page]:
    """Yield a page for each document of `PAGES`.

    Raises TensorcopyError for a dead link in any document.
    """
    drawings = draw_methods(content.methods)  # each gets its label from the document
    parsed = {name: documents.parse(text) for name, text in content.docs.items()}
    anchors = {name: {str(token.attrs["id"]) for token in tokens if "id" in token.attrs} for name, tokens in parsed.items()}
    for name, tokens in parsed.items():
        stem, _, language = name.partition(".")
        files = {language: stem if language == "en" else f"{stem}.{language}" for language in LANGUAGES}
        languages = {language: addresses.of_doc(file) for language, file in files.items() if file in content.docs and file in PAGES}
        _resolve_links(tokens, name, content.web, anchors)
        if name not in PAGES:
            continue
        yield Page(
            addresses.of_doc(name),
            "manual.html",
            next((text for _, text in documents.headings(tokens, "h1")), stem),
            {"text": _rendered(tokens, drawings, language or "en"), "sections": list(documents.headings(tokens, "h2"))},
            language or "en",
            languages if len(languages) > 1 else {},
            _description(tokens),
        )


def _description(tokens: Sequence[Token]) -> str:
    """Return the first paragraph that is more than a link, without its markup."""
    paragraphs = (content for opening, content in zip(tokens, tokens[1:]) if opening.type == "paragraph_open")
    texts = ("".join(" " if child.type == "softbreak" else child.content for child in paragraph.children or ()) for paragraph in paragraphs)
    return next((text for text in texts if len(text) > MIN_DESCRIPTION), "")


def _resolve_links(tokens: Sequence[Token], name: str, web: WebAddresses, anchors: Mapping[str, set[str]]) -> None:
    """Point every link of a document at a page of the site or a file of the repository, or turn it into text."""
    closing = ""
    for token in itertools.chain.from_iterable(block.children or () for block in tokens):
        if token.type == "link_open":
            link = _link(unescape(str(token.attrs["href"])), name, web, anchors)
            if not link:
                token.tag, token.attrs, closing = "span", {}, "link_close"
            else:
                token.attrs["href"] = link
        elif token.type == closing:
            token.tag, closing = "span", ""


def _link(target: str, name: str, web: WebAddresses, anchors: Mapping[str, set[str]]) -> str:
    """Return the link of a document to a page or to a file of the repository; "" where that is unknown."""
    if target.startswith(("http:", "https:")):
        return target
    path, _, anchor = target.partition("#")
    document = path.removesuffix(".md") if path else name
    if document in anchors and (not anchor or anchor in anchors[document]):
        if not path:
            return target
        if document in PAGES:
            return f"{addresses.relative(addresses.of_doc(name), addresses.of_doc(document))}{target[len(path) :]}"
        return web.of_file(f"docs/{target}")
    if document not in anchors and REPOSITORY_FILE.match(path):
        return web.of_file(posixpath.normpath(f"docs/{target}"))
    raise TensorcopyError(
        f"docs/{name}.md has a dead link",
        got=target,
        allowed="a file beside it, or a heading in one",
        next=f"correct the link in docs/{name}.md",
    )


def _rendered(tokens: list[Token], drawings: Mapping[str, str], language: str) -> Markup:
    for token in tokens:
        if "style" in token.attrs:  # of a column: the pages' policy forbids inline styles
            token.attrs = {"class": str(token.attrs["style"]).removeprefix("text-align:")}
    parser = documents.parser()
    parser.add_render_rule("code_inline", lambda renderer, tokens, index, options, environment: _code(tokens[index].content))
    parser.add_render_rule("image", lambda renderer, tokens, index, options, environment: _image(tokens[index], drawings))
    html = parser.renderer.render(tokens, parser.options, {})
    numbers = itertools.count(1)  # a page's regions have names of their own
    region = '<div class="scroll" tabindex="0" role="region" aria-label="{}"><table class="words">'
    html = re.sub("<table>", lambda _: region.format(translate("numbered_table", language, number=next(numbers))), html)
    html = html.replace("</table>", "</table></div>").replace("<pre>", '<pre tabindex="0">')
    return Markup(html)  # noqa: S704 - the parser escapes HTML, and the text is our own


def _code(text: str) -> str:
    """Return code that breaks between calls and between words, but not after the hyphen of an option."""
    if "(" in text:
        return f"<code>{breakable(text)}</code>"
    words = (f'<span class="name">{escape(word)}</span>' if "-" in word else escape(word) for word in text.split(" "))
    return f"<code>{' '.join(words)}</code>"


def _image(token: Token, drawings: Mapping[str, str]) -> str:
    """Return a drawing, or nothing when its method was not observed.

    The text beside it says the same.
    """
    name = str(token.attrs["src"]).removeprefix("drawings/").removesuffix(".svg")
    return re.sub(r'aria-label="[^"]*"', lambda _: f'aria-label="{escape(token.content)}"', drawings.get(name, ""), count=1)
