"""The pages as text: what they say, that they hold together, and that they ask nobody."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from io import StringIO
from pathlib import PurePosixPath
from urllib.parse import unquote

import feedparser
import jsonschema
import pytest

from tensorcopy.analysis.comparisons import version
from tensorcopy.releases import release_table
from tensorcopy.report import report_card
from tensorcopy.results import load
from tensorcopy.results.load import Case
from tensorcopy.site import addresses, publisher, render, translate
from tests.conftest import NEW, OLD, ROOT, measured

SHOWN = {"py3.9-cuda": ("1.9.0", "2.8.0"), "py3.11-cuda": ("2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.14.1", "2.15.0")}


@pytest.fixture(scope="module")
def shipped() -> dict[str, str]:
    """Every page and file, by address, of some of the shipped results."""
    found = tuple(one for one in load.load_results(ROOT / "results").results if version(one) in SHOWN.get(one.environment, ()))
    assert len(found) == sum(len(releases) for releases in SHOWN.values())
    card = json.loads((ROOT / report_card.FILE).read_text())
    return dict(render.files(render.content(found, card, publisher.documentation(ROOT))))


class Tags(HTMLParser):
    """Every tag with its attributes, the text, and tags that were not closed."""

    VOID = ("meta", "link", "br", "img", "wbr", "hr", "input")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags, self.open, self.text = [], [], ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def html(site: dict[str, str]) -> dict[str, Tags]:
    return {address: Tags(text) for address, text in site.items() if address.endswith(".html")}


def test_every_page_is_well_formed_and_speaks_its_language(shipped):
    """Every tag is closed where it should be; `lang` is set; a title and one heading of the first rank."""
    for address, page in html(shipped).items():
        assert page.open == [], address
        names = [tag for tag, _ in page.tags]
        assert names.count("h1") == 1, address
        (language,) = [attributes["lang"] for tag, attributes in page.tags if tag == "html"]
        assert language == ("ja" if address.startswith("ja/") else "en")


def test_every_page_asks_its_own_site_only(shipped):
    """Scripts, styles and pictures lie beside it; a strict policy says so to the browser; nothing is styled or scripted inline."""
    for address, page in html(shipped).items():
        policies = [attributes["content"] for tag, attributes in page.tags if attributes.get("http-equiv") == "Content-Security-Policy"]
        assert policies == [
            "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'"
        ]
        for tag, attributes in page.tags:
            asked = attributes.get("src") or (attributes.get("href") if tag == "link" else "") or ""
            assert "//" not in asked, (address, tag, attributes)
            assert "style" not in attributes, (address, tag)
            assert not [name for name in attributes if name.startswith("on")], (address, tag)
            assert tag != "script" or attributes.get("src", "").endswith("tensorcopy.js")
    css = (ROOT / "tensorcopy/site/tensorcopy.css").read_text()
    assert "url(" not in css
    assert "@import" not in css


def test_all_links_are_alive(shipped):
    """Every link inside the site leads to a page or a file of it, or to a place; another host's is one of PyTorch's notes, or in docs/."""
    follow_all_links(shipped, {*shipped, *render.OURS, addresses.EXPLORER})


def follow_all_links(site: dict[str, str], there: set[str]) -> None:
    """Fail where a link of a page leads nowhere. `there` is every file of the site."""
    parsed = html(site)
    outside = {release.notes for release in release_table.load()}
    outside |= {link for text in publisher.documentation(ROOT).values() for link in re.findall(r"https?://[^\s)>`]+", text)}
    ids = {address: {attributes["id"] for _, attributes in page.tags if "id" in attributes} for address, page in parsed.items()}
    for address, page in parsed.items():
        for tag, attributes in page.tags:
            link = attributes.get("href") if tag in ("a", "link") else attributes.get("src")
            if not link or link.startswith("data:"):
                continue
            if link.startswith(("https:", "http:")):
                assert link in outside, link
                continue
            path, _, place = link.partition("#")
            target = resolved(address, unquote(path)) if path else address
            assert target in there, (address, link)
            assert not place or place in ids[target], (address, link)


def resolved(address: str, link: str) -> str:
    """Where a relative link of a page leads."""
    parts: list[str] = list(PurePosixPath(address).parts[:-1])
    for part in link.split("/"):
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


def test_the_landing_page_answers_for_the_newest_release(shipped):
    """Which copy, which conversion, with what torch, on what; how it stands to the release before; at each size."""
    page = shipped["index.html"]
    answer = Tags(re.search(r'<p class="answer">(.*?)</p>', page, re.DOTALL)[1]).text
    assert answer.startswith("torch 2.15.0 on AMD EPYC: use x.detach().clone() for a tensor of its own, x.detach().numpy().copy() for")
    assert "since 2.14.1" in page.lower()
    assert "torch v2.15.0 against v2.14.1" in page
    for numel in ("2⁰", "2⁴", "2⁷", "2¹⁰", "2¹⁴", "2¹⁷", "2²⁰", "2²⁴"):
        assert page.count(f'<th scope="row">{numel}<br>') == 2
    assert "Not measured on cuda, mps, xpu yet" in page


def test_the_landing_page_is_small(shipped):
    """At most 100 kB with all it needs; and any page at most 400 kB."""
    ours = sum((ROOT / "tensorcopy" / "site" / name).stat().st_size for name in render.OURS)
    for language in ("", "ja/"):
        assert len(shipped[f"{language}index.html"].encode()) + ours <= 100_000
    assert max(len(text.encode()) for address, text in shipped.items() if address.endswith(".html")) <= 400_000


def test_addresses_stay(shipped):
    """Others link to these."""
    listed = {
        "index.html",
        "ja/index.html",
        "choose/index.html",
        "ja/choose/index.html",
        "choose/cpu-tensor-own-cut-grad-131072.html",
        "ja/choose/cpu-ndarray-own-plain-1024.html",
        "history/index.html",
        "history/epyc-2core/copies.BySize/detach_clone-1024.html",
        "history/epyc-2core/conversions.ByLayout/detach_numpy_copy-131072-strided.html",
        "compare/index.html",
        "compare/epyc-2core/py3.11-cuda/2.14.1..2.15.0.html",
        "compare/epyc-2core/py3.9-cuda..py3.11-cuda/2.8.0.html",
        "compare/epyc-2core/py3.11-cuda/2.14.1..2.15.0.csv",
        "sizes/index.html",
        "sizes/epyc-2core/py3.11-cuda/2.15.0.html",
        "sizes/epyc-2core/py3.11-cuda/2.15.0.csv",
        "methods/detach_clone.html",
        "semantics.html",
        "memory.html",
        "memory.csv",
        "machines.html",
        "report-card.html",
        "report-card.json",
        "glossary.html",
        "ja/glossary.html",
        "docs/index.html",
        "docs/guide.html",
        "ja/docs/guide.html",
        "docs/api.html",
        "docs/changelog.html",
        "data.html",
        "data/epyc-2core.csv",
        "data/epyc-2core.json",
        "result.schema.json",
        "data.schema.json",
        "changes.xml",
        "badge.svg",
    }
    assert listed <= set(shipped)


def test_every_pair_of_a_series_has_a_page(shipped):
    """Any two releases of one environment, from the earlier to the later."""
    for pair in ("1.9.0..2.8.0", "2.8.0..2.14.1", "2.8.0..2.15.0", "2.14.1..2.15.0"):
        python = "3.9" if pair.startswith("1") else "3.11"
        assert f"compare/epyc-2core/py{python}-cuda/{pair}.html" in shipped


def test_a_comparison_counts_and_shows_every_case(shipped):
    """As many in the tiles as in the data; each changed case with interval and p, each other with its change."""
    address = "compare/epyc-2core/py3.11-cuda/2.9.1..2.10.0"
    rows = list(csv.DictReader(StringIO(shipped[f"{address}.csv"])))
    page = shipped[f"{address}.html"]
    tiles = [int(number) for number in re.findall(r"<dd>(\d+)</dd>", page)]
    counts = [sum(row["verdict"] == verdict for row in rows) for verdict in ("slower", "faster", "same", "inconclusive")]
    assert tiles == counts
    assert sum(counts) > 150
    assert sum(counts[:2]) > 0
    assert page.count('<tr><th scope="row"><a href="../../../history/') == sum(counts[:2])
    assert page.count("<svg") == 1


def test_what_a_picture_says_stands_in_a_table_and_in_a_file(shipped):
    """On every page with a picture there is a table, and a link to data, but for the overview, whose cases have theirs."""
    for address, text in shipped.items():
        if '<svg xmlns="http://www.w3.org/2000/svg" class="plot"' in text and address.endswith(".html"):
            assert "<table" in text, address
            assert re.search(r'href="[^"]+\.csv"', text) or address == addresses.HISTORIES, address


def test_data_is_what_the_pages_say(shipped):
    """A time in the CSV is the one on the page; JSON holds no NaN and ledgers that its schema describes."""
    rows = list(csv.DictReader(StringIO(shipped["data/epyc-2core.csv"])))
    (row,) = [
        row
        for row in rows
        if row["torch"] == "2.15.0" and row["case"] == "conversions.BySize detach_numpy_copy numel=1024" and "3.11" in row["environment"]
    ]
    assert f"{float(row['median']) * 1e6:.2f} µs" in shipped["index.html"]
    document = json.loads(shipped["data/epyc-2core.json"], parse_constant=pytest.fail)
    jsonschema.Draft202012Validator(json.loads(shipped["data.schema.json"])).validate(document)
    schema = json.loads(shipped["result.schema.json"])
    for result in document["results"]:
        described = {"ledger": result["ledger"], "passes": [], "methods": result["methods"], "article": result["article"]}
        jsonschema.Draft202012Validator(schema).validate(described)


def test_the_feed_is_atom(shipped):
    """It parses without a complaint; every entry has an id of its own, a date and a link that is alive."""
    feed = feedparser.parse(shipped["changes.xml"].encode())
    assert not feed.bozo, feed.get("bozo_exception")
    assert feed.version == "atom10"
    assert feed.feed.id
    assert feed.feed.updated
    assert feed.feed.author == "tensorcopy"
    assert len({entry.id for entry in feed.entries}) == len(feed.entries) > 0
    for entry in feed.entries:
        assert entry.updated_parsed
        assert entry.title.startswith("torch ")
        assert entry.link in shipped


def test_languages_have_the_same_words():
    """Every text in both, with the same places."""
    for name, texts in translate.table().items():
        assert set(texts) == set(translate.LANGUAGES), name
        paths = [set(re.findall(r"{(\w+)}", text)) for text in texts.values()]
        assert paths[0] == paths[1], name


def test_the_japanese_pages_are_japanese(shipped):
    """Landing, chooser and glossary; each leads to the English one and back."""
    for address in render.TRANSLATED:
        page = shipped[addresses.translated(address, "ja")]
        assert len(re.findall("[ぁ-んァ-ン一-龥]", page)) > 100, address
        assert f'href="{addresses.relative(addresses.translated(address, "ja"), address)}"' in page
        assert f'href="{addresses.relative(address, addresses.translated(address, "ja"))}"' in shipped[address]


def test_both_glossaries_explain_the_same_words():
    """A row each, in the same order."""
    rows = [
        re.findall(r"^\| ([a-z][a-z, ]+?)(?:（.*?)? \|", (ROOT / "docs" / name).read_text(), re.MULTILINE)
        for name in ("glossary.md", "glossary.ja.md")
    ]
    assert [word.strip() for word in rows[0] if word != "word"] == [word.strip() for word in rows[1]]


def test_no_results_is_a_site_too():
    """Every page of the list is there and says how to come by some."""
    empty = dict(render.files(render.content(())))
    for address in ("index.html", "choose/index.html", "history/index.html", "compare/index.html", "sizes/index.html", "semantics.html"):
        assert "Nothing is measured yet" in empty[address]
        assert "uv run tensorcopy dashboard" in empty[address]
    assert all(page.open == [] for page in html(empty).values())
    assert not feedparser.parse(empty["changes.xml"].encode()).bozo


def test_one_release_is_a_site_too(monkeypatch):
    """There is nothing to compare it with, and the page says so."""
    monkeypatch.setattr("tensorcopy.releases.release_table.load", lambda: (OLD, NEW))
    one = dict(render.files(render.content((measured(NEW, {("a", 2**10): 1e-6, ("b", 2**10): 2e-6}),))))
    assert "nothing is compared yet" in one["index.html"]
    assert not [address for address in one if address.startswith("compare/") and address != "compare/index.html"]
    assert all(page.open == [] for page in html(one).values())


def on_cuda(release, times, **provenance):
    """A result with times on a CUDA device alone, and what was seen there."""
    result = measured(release, times, **provenance)
    timings = dict(result.timings)
    result.timings.clear()
    for case, timing in timings.items():
        suite = case.suite.replace("copies.BySize", "copies.Throughput").replace("conversions.BySize", "conversions.Latency")
        result.timings[Case(suite, (*case.parameters, ("device", "cuda")))] = timing
    for row in result.methods.values():
        row["observed"] = {"cuda": row["observed"]["cpu"]}
    result.provenance["accelerators"] = {"cuda": "Card 9000"}
    return result


def test_an_accelerator_speaks_for_itself(monkeypatch):
    """Its name, its code, its history; a time without grad is not given for a tensor with."""
    monkeypatch.setattr("tensorcopy.releases.release_table.load", lambda: (OLD, NEW))
    times = {("a", 2**10): 1e-6, ("b", 2**10): 2e-6, ("a_numpy", 2**10): 3e-6}
    site = dict(render.files(render.content([on_cuda(OLD, times), on_cuda(NEW, times)])))
    answer = Tags(re.search(r'<p class="answer">(.*?)</p>', site["index.html"], re.DOTALL)[1]).text
    assert answer == "torch 2.0.0 on Card 9000: use code of a there for a tensor of its own, code of a_numpy there for an ndarray."
    assert "code of a there on torch 2.0.0" in site["badge.svg"]
    history = site["history/box/copies.Throughput/a-1024-cuda.html"]
    assert "<title>code of a there, 2¹⁰ elements, cuda · tensorcopy</title>" in history
    assert "not measured yet" in site["choose/cuda-tensor-own-cut-grad-1024.html"]
    assert "1.00 µs" in site["choose/cuda-tensor-own-plain-1024.html"]
    follow_all_links(site, {*site, *render.OURS, addresses.EXPLORER})


def test_a_part_of_a_release_takes_no_page_away(monkeypatch):
    """Cases, methods and links of the others stay alive; a case may have no method."""
    monkeypatch.setattr("tensorcopy.releases.release_table.load", lambda: (OLD, NEW))
    whole, part = measured(OLD, {("a", 16): 1e-6, ("b", 16): 2e-6}), measured(NEW, {("a", 16): 1e-6})
    for result in (whole, part):
        result.timings[Case("copies.Other.time_copy", (("numel", "16"),))] = next(iter(result.timings.values()))
    site = dict(render.files(render.content([whole, part])))
    assert {"history/box/copies.BySize/b-16.html", "methods/b.html", "history/box/copies.Other/16.html"} <= set(site)
    follow_all_links(site, {*site, *render.OURS, addresses.EXPLORER})
    part.timings.clear()
    part.methods.clear()
    part.timings[Case("threads.ByThreads.time_copy", (("method", "a"), ("numel", "16"), ("threads", "2")))] = next(
        iter(whole.timings.values())
    )
    site = dict(render.files(render.content([part])))
    assert "Nothing is measured yet" in site["choose/index.html"]
    follow_all_links(site, {*site, *render.OURS, addresses.EXPLORER})


def test_a_machine_that_changed_is_no_news_of_torch(monkeypatch):
    """Neither on the landing page nor in the feed; the histories say what changed."""
    table = tuple(replace(NEW, version=f"2.{minor}.0", sha=f"{minor:x}" * 40) for minor in range(1, 9))
    monkeypatch.setattr("tensorcopy.releases.release_table.load", lambda: table)
    found = [
        measured(row, {("a", 16): 2e-6 if index > 3 else 1e-6}, hugepages="always" if index > 3 else "never")
        for index, row in enumerate(table)
    ]
    site = dict(render.files(render.content(found)))
    assert "<entry>" not in site["changes.xml"]
    assert "No step is seen" in site["index.html"]
    assert "The machine changed too: hugepages: never → always" in site["history/index.html"]
    calm = dict(render.files(render.content([replace(one, provenance={**one.provenance, "hugepages": "never"}) for one in found])))
    assert calm["changes.xml"].count("<entry>") == 1
    assert "1 of 1 cpu cases of up to 2¹⁴ elements slower, median × 2" in calm["index.html"].replace("\u202f", " ")


def test_a_build_of_its_own_at_a_releases_commit_is_that_release(monkeypatch):
    """Whatever it calls itself."""
    monkeypatch.setattr("tensorcopy.releases.release_table.load", lambda: (OLD, NEW))
    found = [measured(OLD, {("a", 16): 1e-6}), measured(NEW, {("a", 16): 1e-6}, hugepages="always")]
    found[1].provenance["torch"] = "2.0.0a0+git1234"
    assert "compare/box/py3.11-cuda/1.0.0..2.0.0.html" in dict(render.files(render.content(found)))


def test_the_command_for_more_evidence_names_the_machine(shipped):
    """There may be several."""
    assert "2.14.1@3.11@epyc-2core 2.15.0@3.11@epyc-2core" in shipped["compare/epyc-2core/py3.11-cuda/2.14.1..2.15.0.html"]


def test_text_from_results_is_escaped(monkeypatch):
    """A machine's name, its processor and a method are somebody's text; so is what no page may hold."""
    monkeypatch.setattr("tensorcopy.releases.release_table.load", lambda: (OLD, NEW))
    hostile = '"><script>alert(1)</script>\x00\x1b[31m../../x'
    times = {("a", 2**10): 1e-6, ("<b onclick=x>", 2**10): 2e-6}
    found = tuple(measured(release, times, machine=hostile, cpu="<i>cpu</i>") for release in (OLD, NEW))
    site = dict(render.files(render.content(found)))
    assert len(site) > 20
    for address, text in site.items():
        assert not {"", ".", ".."} & set(address.split("/")), address
        assert re.fullmatch(r"[A-Za-z0-9._/-]+", address), address
        if address.endswith(".html"):
            page = Tags(text)
            assert page.open == []
            assert "\x00" not in text
            assert "\x1b" not in text
            assert [attributes.get("src", "")[-13:] for tag, attributes in page.tags if tag == "script"] == ["tensorcopy.js"]
            assert not [tag for tag, attributes in page.tags if tag == "i" or "onclick" in attributes]
