"""Nothing says slower or faster of a time whose interval includes no change, or that went the other way: pages, feed, terminal."""

import re
from collections.abc import Iterator, Mapping
from html import unescape

import pytest

from tensorcopy.cli import main
from tests import launch_files
from tests.site import world
from tests.site.reading import read

SIGNS = {"slower": "+", "faster": "−", "▲": "+", "▼": "−"}
SIGNED = re.compile(r"([+−])[\d.]+(?= %| ±)")
INTERVAL = re.compile(r"([+−]?[\d.]+) %,? \(?([+−]?[\d.]+) (?:to|…) ([+−]?[\d.]+) %")
COLOURED = re.compile(r'<(span|td|b|small|text)\b[^>]*class="?(?:v )?(slower|faster)\b[^>]*>(.*?)(?=</\1>|<td|<tr)', re.DOTALL)
LISTED = re.compile(r"<(li|title|summary)\b[^>]*>(.*?)(?=</\1>|<li\b|</ul>)", re.DOTALL)


def text_of(html: str) -> str:
    """Return the text of HTML, with plain spaces."""
    return re.sub(r"[\u202f\u2009\xa0]", " ", unescape(re.sub(r"<[^>]*>", "", html))).strip()


def holds(word: str, text: str) -> bool:
    """Return whether all changes in a text have the sign of a word, and all intervals exclude no change and hold their size."""
    for numbers in INTERVAL.findall(text):
        size, low, high = (float(number.replace("−", "-")) for number in numbers)
        if not (low <= size <= high and (low >= 0 or high <= 0)):
            return False
    halves = re.search(r"([\d.]+) ± ([\d.]+)", text)  # of an interval that is not symmetric
    return set(SIGNED.findall(text)) <= {SIGNS[word]} and (not halves or float(halves[1]) > 0.9 * float(halves[2]))


def claims(site: Mapping[str, str]) -> Iterator[tuple[str, str, bool]]:
    """Yield each claim of speed in the pages and the feed of a site that has a size: its address, its text, and whether it holds."""
    for address, text in site.items():
        if address.endswith((".html", ".xml")) and "docs/" not in address:
            told = [(word, text_of(html)) for _, word, html in COLOURED.findall(text)]
            for _, html in LISTED.findall(text):
                words = re.findall(r"\b(?:slower|faster)\b", text_of(html))
                told += [(words[0], text_of(html).partition(words[0])[2])] if len(words) == 1 else []
            yield from ((address, said, holds(word, said)) for word, said in told if SIGNED.search(said))


def false_claims(site: Mapping[str, str], least: int) -> list[tuple[str, str]]:
    """Return the claims of a site that do not hold; there are at least so many that do."""
    told = list(claims(site))
    assert sum(holding for *_, holding in told) >= least
    return [(address, text) for address, text, holding in told if not holding]


def test_a_change_is_told_and_one_that_goes_the_other_way_is_seen(world_files):
    """With the words exchanged, each claim is a false one."""
    assert false_claims(world_files, 12) == []
    exchanged = {"slower": "faster", "faster": "slower"}
    words = re.compile(r"\b(slower|faster)\b")
    site = {address: words.sub(lambda word: exchanged[word[0]], text) for address, text in world_files.items()}
    assert [claim for claim in claims(site) if claim[2]] == []


@pytest.mark.parametrize(("counts", "word"), [(800, "fewer"), (1250, "more")])
def test_a_case_with_other_instructions_and_the_same_time_is_not_called_faster_or_slower(tmp_path, monkeypatch, capsys, counts, word):
    """On no page, not in the feed and in no line of the terminal."""
    releases, methods = ["2.13.0", "2.14.1", "2.15.0"], ("m0", "m1", "m2")
    results = tmp_path / "results"
    launch_files.write(results, {f"copies.BySize.time_copy {method} 16": dict.fromkeys(releases, 1.0) for method in methods}, noise=0.002)
    for release, count in zip(releases, (1000, 1000, counts)):
        counted = {f"instructions.BySize.track_instructions {method} 16 False": count for method in methods}
        launch_files.write_counts(results, release, counted, methods=dict.fromkeys(methods, launch_files.observed()))
    site = world.files_of(results)
    assert list(claims(site)) == []
    assert "<entry>" not in site["slowdowns.xml"]
    pair = read(site["compare/2.14.1..2.15.0.html"]).text
    assert "0 slower · 0 faster · 3 unchanged" in pair
    assert re.search(rf"\b3 of 3 cases execute {word}|3 of 3 execute {word}", pair)
    monkeypatch.chdir(tmp_path)
    compared = [["compare", *releases[1:], "--format", form] for form in ("text", "markdown", "json", "csv")]
    for arguments in (*compared, ["history"], ["history", "--open"], ["history", "^instructions.* m0 "]):
        assert main(arguments) == 0
        printed = " ".join(capsys.readouterr().out.split())
        told = re.sub(r"none of \d+ cases slower, none faster|None of \d+ cases on .* is slower", "", printed)
        assert not re.search("slower|faster|▲|▼", told), arguments
