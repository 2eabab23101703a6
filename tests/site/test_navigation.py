"""Every page leads to every other kind of page, to the repository and to the other language."""

import re
from dataclasses import replace

import pytest

from tensorcopy.copying.shipped import shipped
from tensorcopy.site import addresses, publisher, render, writer
from tensorcopy.site.addresses import WebAddresses
from tests.conftest import NEW, ROOT, measured
from tests.pages import Tags, resolved, site_of

WEB = WebAddresses("https://example.org/someone/tensorcopy", "https://example.org/pages/")


@pytest.fixture(scope="module")
def site() -> dict[str, str]:
    """Return the pages of one small result, with the documentation, of a fork that is published."""
    content = render.content(shipped(), (measured(NEW, {("a", 2**10): 1e-6, ("b", 2**10): 2e-6}),), publisher.documentation(ROOT))
    return {address: text for address, text in render.files(replace(content, web=WEB)) if address.endswith(".html")}


def header(page: str) -> list[tuple[str, dict[str, str]]]:
    """Return the tags of a page's header with their attributes."""
    return Tags(page.split('<header class="top">')[1].split("</header>")[0]).tags


def nav_links(page: str) -> list[dict[str, str]]:
    return [attributes for tag, attributes in header(page.split('<div class="tools"')[0] + "</header>") if tag == "a"]


def test_the_header_of_every_page_has_the_same_links(site):
    """Few, so that it fits one row: the last leads to a list of all pages, the source stands beside them."""
    for address, page in site.items():
        shown = [attributes["href"] for attributes in nav_links(page)][1:]  # without the name of the site
        assert (len(shown), shown[-1]) == (6, WEB.source), address


@pytest.mark.parametrize("landing", ["index.html", "ja/index.html"])
def test_every_kind_of_page_is_two_clicks_away(site, landing):
    """The page of all pages lists each that has a fixed address, and the documents in the repository."""
    index = addresses.DOCS
    assert index in {resolved(landing, attributes["href"]) for attributes in nav_links(site[landing])}
    links = [attributes["href"] for tag, attributes in Tags(site[index]).tags if tag == "a"]
    listed = {resolved(index, link.partition("#")[0]) for link in links if not link.startswith(("http", "#"))}
    kinds = {
        addresses.CHOOSER,
        addresses.HISTORIES,
        addresses.COMPARISONS,
        addresses.REGRESSIONS,
        addresses.SIZES,
        addresses.SEMANTICS,
    }
    kinds |= {addresses.ARTICLE, addresses.MACHINES, addresses.GLOSSARY, addresses.DATA}
    assert {*kinds, *map(addresses.of_doc, ("guide", "reading", "measurement"))} <= listed
    assert {WEB.of_file(f"docs/{name}.md") for name in ("findings", "memory", "own-operation", "gpu-runner", "ci")} <= {*links}


def test_a_page_marks_its_place(site):
    """A page of the header is marked as the page itself, an answer of the chooser as part of its section."""
    marks = {mark["href"]: mark["aria-current"] for mark in nav_links(site["compare/index.html"]) if "aria-current" in mark}
    assert marks == {"index.html": "page"}
    marks = {mark["aria-current"] for mark in nav_links(site["choose/cpu-tensor-own-cut-grad-1024.html"]) if "aria-current" in mark}
    assert marks == {"true"}


def test_the_japanese_landing_page_leads_to_the_japanese_pages(site):
    """By their names in Japanese; the header says in English what leads to an English page."""
    links = [resolved("ja/index.html", attributes["href"]) for tag, attributes in Tags(site["ja/index.html"]).tags if tag == "a"]
    assert {"ja/article.html", "ja/docs/guide.html", "ja/glossary.html"} <= {*links}
    header_links = nav_links(site["ja/index.html"])[1:-1]
    assert all(
        link["lang"] == link["hreflang"] == "en" and not resolved("ja/index.html", link["href"]).startswith("ja/") for link in header_links
    )


def test_the_pages_in_two_languages_lead_to_each_other(site):
    """Landing page, article, guide and glossary, and no other."""
    translated = {"index.html", "article.html", "docs/guide.html", "glossary.html"}
    assert {address.removeprefix("ja/") for address in site if address.startswith("ja/")} == translated
    for address, page in site.items():
        tools = Tags(page.split('<div class="tools"')[1].split("</div>")[0].partition(">")[2]).tags
        switch = [resolved(address, attributes["href"]) for tag, attributes in tools if tag == "a"]
        other = address.removeprefix("ja/") if address.startswith("ja/") else f"ja/{address}"
        assert switch == ([other] if other in site else []), address


def test_a_page_describes_itself_to_other_sites(site):
    """Its title, its own description and its address."""
    for address, page in site.items():
        tags = Tags(page).tags
        properties = {attributes["property"]: attributes["content"] for tag, attributes in tags if "property" in attributes}
        assert properties["og:title"] == re.search(r"<title>(.*?) · tensorcopy</title>", page)[1].replace("&#39;", "'").replace(
            "&amp;", "&"
        )
        described = [attributes["content"] for _, attributes in tags if attributes.get("name") == "description"]
        assert properties.get("og:description", "") == "".join(described)
        assert properties["og:url"] == WEB.site + address.removesuffix("index.html")
        assert [attributes["href"] for _, attributes in tags if attributes.get("rel") == "canonical"] == [properties["og:url"]]
        (icon,) = [attributes["href"] for _, attributes in tags if attributes.get("rel") == "icon"]
        assert resolved(address, icon) in writer.ASSETS


def test_an_unpublished_checkout_names_no_address():
    """There is neither a canonical address nor a link to a repository that is not configured."""
    page = site_of((measured(NEW, {("a", 2**10): 1e-6}),))["index.html"]
    assert "og:url" not in page
    assert "https://" not in page.split("<header")[1].split("</header>")[0]


def test_the_pages_that_list_changes_name_the_feed(site):
    """For a reader that looks for one, whatever their description; a page of one case does not."""
    feeds: dict[str, set[str]] = {}
    for address, page in site.items():
        for _tag, attributes in Tags(page).tags:
            if attributes.get("type") == "application/atom+xml":
                feeds.setdefault(address, set()).add(resolved(address, attributes["href"]))
    indices = (addresses.HISTORIES, addresses.COMPARISONS, addresses.REGRESSIONS, addresses.of_comparisons("box"))
    assert feeds == {address: {addresses.FEED, addresses.NEW_FEED} for address in ("index.html", "ja/index.html", *indices)}
