"""The documents of docs/ that are pages. A dead link of any document is an error. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from html import unescape
from itertools import chain, groupby

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape
from mdit_py_plugins.anchors import anchors_plugin
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

from tensorcopy.copying.drawings import draw_methods
from tensorcopy.errors import TensorcopyError
from tensorcopy.site.facts import Site
from tensorcopy.site.views import Page

UNKNOWN = "https://github.com/-owner-/tensorcopy"  # the repository, in documents
CLONE = "file:///path/of/your/clone"  # what stands for it where it is unknown
DESCRIPTIONS = {  # of the documents that are pages: what readers of results look up
    "index": "Every document about tensorcopy: what a copy shares, how it is measured, how to read a page, what the words mean.",
    "guide": "detach(), clone(), cpu(), numpy(): what a copy of a PyTorch tensor shares, where gradients go, which one to use when.",
    "guide.ja": "detach() と clone()、cpu()、numpy()：PyTorch のテンソルのコピーは何を共有し、勾配はどこへ流れるか。",
    "measurement": "How tensorcopy measures: releases in turns, intervals, verdicts, and how accurate they are.",
    "reading": "How to read a chart, a table and a comparison of tensorcopy.",
    "glossary": "The words of tensorcopy: launch, interval, smallest detectable change, history.",
    "glossary.ja": "tensorcopy の用語：コピー、リーフ、計算グラフ、測定、区間。",
    "own-operation": "Measure code of your own over torch releases: an asv suite in your project, two commits, pull requests.",
    "gpu-runner": "Measure your own machine, a GPU on a cluster or without a network, or a runner of GitHub.",
    "ci": "Measure in continuous integration: pull requests, new torch releases, pages.",
    "article": "detach() and clone() in PyTorch: the article that began this, each printed value checked on every release.",
}


def pages(site: Site) -> Iterator[Page]:
    """Yield a page for each document of `DESCRIPTIONS`, with the drawings of methods. Raises TensorcopyError for a dead link."""
    drawings = draw_methods(site.methods)
    parser = MarkdownIt("js-default", {"highlight": _highlighted}).enable("table").use(anchors_plugin, max_level=3)
    parser.add_render_rule("image", lambda renderer, tokens, index, options, environment: _drawing(tokens[index], drawings, site.docs))
    texts = {name: re.sub(r"^<!--.*?-->$", "", text, flags=re.MULTILINE) for name, text in site.docs.items() if not name.endswith(".svg")}
    parsed = {name: parser.parse(text.replace(UNKNOWN, site.source or CLONE)) for name, text in texts.items()}
    anchors = {name: {str(token.attrs["id"]) for token in tokens if "id" in token.attrs} for name, tokens in parsed.items()}
    for name, tokens in parsed.items():
        _resolve(tokens, partial(_link, name, site.source, anchors))
        if name in DESCRIPTIONS:
            yield _page(name, tokens, parser, {other for other in parsed if other.partition(".")[0] == name.partition(".")[0]})


def _page(name: str, tokens: list[Token], parser: MarkdownIt, translations: set[str]) -> Page:
    for token in tokens:
        token.attrs.pop("style", None)  # of a column: the pages' policy forbids inline styles
    opening = '<div class="scroll" tabindex="0" role="group" aria-label="table"><table class="words">'
    html = parser.renderer.render(tokens, parser.options, {}).replace("<table>", opening).replace("</table>", "</table></div>")
    text = Markup(html.replace("<pre>", '<pre tabindex="0">'))  # noqa: S704 - the parser escapes what a document has
    starts = [(token, after.content) for token, after in zip(tokens, tokens[1:]) if token.nesting == 1]
    headings = [(str(token.attrs["id"]), title) for token, title in starts if token.tag == "h2"]
    languages = {other.partition(".")[2] or "en": f"docs/{other}.html" for other in sorted(translations & DESCRIPTIONS.keys())}
    return Page(
        f"docs/{name}.html",
        "document.html",
        next((title for token, title in starts if token.tag == "h1"), name).replace("`", ""),
        DESCRIPTIONS[name],
        {"text": text, "headings": headings, "translations": languages},
        name.partition(".")[2] or "en",
    )


def _resolve(tokens: list[Token], link: Callable[[str], str]) -> None:
    """Point every link at a page or a file of the repository, or turn it into text; without a line of such text alone."""
    for block in tokens:
        for token in (links := [each for each in block.children or () if each.type == "link_open"]):
            target = link(unescape(str(token.attrs["href"])))
            token.attrs = {"href": target} if target else {}
        lines = [[*line] for _, line in groupby(block.children or (), key=lambda each: each.type == "softbreak")]
        kept = [line for line in lines if line[0].type != "link_open" or any(each.attrs for each in line if each.type == "link_open")]
        block.children = [*chain.from_iterable(kept)] if links else block.children


def _link(name: str, source: str, anchors: Mapping[str, set[str]], target: str) -> str:
    """Return the link of a document. Raises TensorcopyError for a dead one."""
    path, _, anchor = target.partition("#")
    document = path.removesuffix(".md") if path else name
    if target.startswith(("http:", "https:")):
        return target
    if path == "../README.md":
        return "../index.html"  # which has the same answers
    if document in anchors and (not anchor or anchor in anchors[document]):
        is_page = document in DESCRIPTIONS
        return f"{document}.html{target[len(path) :]}" if is_page else f"{source}/blob/HEAD/docs/{target}" if source else ""
    if document not in anchors and not path.endswith(".html"):
        return f"{source}/blob/HEAD/{posixpath.normpath(f'docs/{target}')}" if source else ""
    raise TensorcopyError(
        f"docs/{name}.md has a dead link", got=target, allowed="a file beside it, or a heading in one", next="correct the link"
    )


def _highlighted(code: str, name: str, attributes: str) -> str:
    """Return code as spans with Pygments' classes."""
    try:
        lexer = get_lexer_by_name("pycon" if code.startswith(">>>") else name or "text")
    except ClassNotFound:
        return ""
    return str(highlight(code, lexer, HtmlFormatter(nowrap=True)))


def _drawing(token: Token, drawings: Mapping[str, str], docs: Mapping[str, str]) -> str:
    """Return a drawing of a method or a figure of docs/ with its label, or nothing where neither is there."""
    source = str(token.attrs["src"])
    drawing = drawings.get(source.removeprefix("drawings/").removesuffix(".svg"), "") or docs.get(source, "")
    labelled = re.sub(r'aria-label="[^"]*"', lambda _: f'aria-label="{escape(token.content)}"', drawing, count=1)
    return re.sub(r"<style>.*?</style>", "", labelled, flags=re.DOTALL)  # its colours are those of the page, whose policy forbids others
