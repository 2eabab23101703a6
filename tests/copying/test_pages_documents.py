"""The documents as pages, and the first page in Japanese."""

import re

import pytest

from tensorcopy import files
from tensorcopy.copying import pages
from tensorcopy.copying.shipped import shipped
from tensorcopy.errors import TensorcopyError
from tensorcopy.site import build, facts
from tests.conftest import ROOT
from tests.site import world
from tests.site.reading import Element, read, target

GUIDE = """# How `x` is copied

See [the index](index.md), [below](#second-part), [the answer](../README.md#the-answer),
[alone](../LICENSE); [too](../SECURITY.md)
[a file](../SECURITY.md), [a host](https://example.org/a) and [no page](findings.md).

<b>bold</b> & `<i>code</i>` <script>alert(1)</script>

| a | b |
|---|--:|
| 1 | 2 |

```python
x = "<tag>"
```

```
>>> x.clone()
```

    git clone https://github.com/-owner-/tensorcopy

![The method <clone>](drawings/clone.svg)

## Second part
## Third part
## Fourth part
## Fifth part
"""


def documents(source="https://github.com/o/t", **docs: str) -> dict[str, str]:
    """Return the files of a site without results and with these documents."""
    site = facts.site(shipped(), (), docs={"index": "# Index", "findings": "# Findings", **docs}, source=source)
    return dict(build.files(site))


def test_a_document_is_a_page_whose_links_lead_to_pages_and_files():
    page = read(documents(guide=GUIDE)["docs/guide.html"])
    hrefs = {link.text: link.attributes.get("href") for link in page.first("article").all("a")}
    assert hrefs["the index"] == "index.html"
    assert target("docs/guide.html", hrefs["below"]) == ("docs/guide.html", "second-part")
    assert hrefs["the answer"] == "../index.html"
    assert hrefs["a file"] == "https://github.com/o/t/blob/HEAD/SECURITY.md"
    assert "git clone https://github.com/o/t" in page.text
    assert hrefs["a host"] == "https://example.org/a"
    assert hrefs["no page"] == "https://github.com/o/t/blob/HEAD/docs/findings.md"
    assert page.first("title").text == "How x is copied · tensorcopy"
    contents = page.first("nav.contents").all("a")
    assert [link.text for link in contents] == ["Second part", "Third part", "Fourth part", "Fifth part"]
    assert page.by_id(str(contents[0].attributes["href"])[1:]).tag == "h2"
    assert "docs/findings.html" not in documents(guide=GUIDE)


def test_where_no_repository_is_known_a_link_to_its_files_is_text():
    page = read(documents(source="", guide=GUIDE)["docs/guide.html"]).first("article")
    linked = {link.text for link in page.all("a") if link.attributes.get("href") and link not in page.first("nav.contents").all("a")}
    assert linked == {"the index", "below", "the answer", "a host"}
    assert "a file" in page.text
    assert "alone; too" in read(documents(guide=GUIDE)["docs/guide.html"]).text
    assert "alone" not in page.text
    assert "git clone file:///path/of/your/clone" in page.text


def test_html_in_a_document_stays_text():
    """Its code too, and what it says of a picture."""
    page = documents(guide=GUIDE)["docs/guide.html"]
    article = read(page).first("article")
    assert "<b>bold</b> & <i>code</i> <script>alert(1)</script>" in article.text
    assert not article.all("b")
    assert not article.all("script")
    assert '"<tag>"' in article.text
    assert article.all("pre span"), "code is highlighted"
    assert not [each for each in read(page) if "style" in each.attributes]
    assert "<clone>" not in page


DEAD = {
    "a page": "[x](nowhere.html)",
    "a heading of it": "[x](#nowhere)",
    "a heading of another": "[x](index.md#nowhere)",
    "a heading of one that is no page": "[x](findings.md#nowhere)",
    "in a list": "- a\n- [x](#nowhere)",
    "in a table": "| a |\n|---|\n| [x](#nowhere) |",
}


@pytest.mark.parametrize("text", DEAD.values(), ids=DEAD)
def test_a_dead_link_is_an_error(text):
    """Also in a document that is no page."""
    for name in ("guide", "contributing"):
        with pytest.raises(TensorcopyError, match="dead link"):
            documents(**{name: f"# Title\n\n{text}"})


def test_a_document_and_its_translation_lead_to_each_other():
    made = documents(glossary="# Words", **{"glossary.ja": "# 用語"})
    english, japanese = read(made["docs/glossary.html"]), read(made["docs/glossary.ja.html"])
    assert japanese.first("html").attributes["lang"] == "ja"
    for page, other, name in ((english, "ja", "glossary.ja.html"), (japanese, "en", "glossary.html")):
        (link,) = (each for each in page.first("nav").all("a") if each.attributes.get("lang") == other)
        assert link.attributes["href"] == f"../docs/{name}"
        assert {each.attributes.get("hreflang") for each in page.all("link")} >= {other}


def test_every_document_of_the_repository_is_read():
    made = documents(**build.documents(ROOT))
    assert {address for address in made if address.startswith("docs/")} == {f"docs/{name}.html" for name in pages.documents.DESCRIPTIONS}


# Japanese

NAMES = "tensorcopy torch numpy PyTorch CPU CUDA GPU GitHub English clone ndarray Copy KiB MiB Box Card requires_grad True False"


def texts(element: Element, language: str = "en") -> list[tuple[str, str]]:
    """Return each text that a reader meets with its language; none of code, of drawings and of names."""
    language = str(element.attributes.get("lang") or language)
    found = [(language, str(element.attributes[name])) for name in ("aria-label", "data-label", "data-part") if name in element.attributes]
    if element.tag in ("code", "svg", "script", "pre"):
        return []
    for child in element.children:
        found += [(language, child)] if isinstance(child, str) else texts(child, language)
    return found


def english_in(page: str) -> set[str]:
    """Return the English words of a page's Japanese texts."""
    words = {
        word for language, text in texts(read(page).first("html")) if language == "ja" for word in re.findall(r"[A-Za-z_]{3,}|\bto\b", text)
    }
    return words - {*NAMES.split()}


def test_the_japanese_first_page_has_no_english_text(world_folder):
    """But code, names, and what is marked as English."""
    first, *others = (world.files_of(world_folder, **options)["ja/index.html"] for options in ({}, {"own": "box"}, {"own": "card"}))
    assert set().union(*map(english_in, (first, *others))) == set()
    assert english_in(first.replace("測定方法", "how it is measured")) != set()


def test_every_text_of_the_first_page_has_a_translation_and_each_stands_in_a_source():
    paths = [path for folder in ("tensorcopy", "benchmarks") for path in (ROOT / folder).rglob("*.*") if path.name != "ja.toml"]
    sources = [path.read_text(encoding="utf-8") for path in paths if path.suffix in (".html", ".py", ".toml")]
    known = files.read_toml(ROOT / "tensorcopy" / "copying" / "pages" / "ja.toml").keys()
    asked = {text for source in sources for text in re.findall(r'\b(?:t|mark)\("([^"]+)"', source)}
    assert len(asked) > 50
    assert asked - known == set()
    assert [text for text in known if not any(f'{text}"' in source for source in sources)] == []
