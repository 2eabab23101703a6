"""Nothing says slower or faster of a time whose interval includes no change, or that went the other way: pages, data, feeds, terminal."""

import csv
import re
from collections.abc import Iterator, Mapping
from io import StringIO
from math import log

import pytest

from tensorcopy.cli import main
from tensorcopy.judge.paired import MARGIN
from tensorcopy.releases import release_table
from tests import launch_files
from tests.pages import site_of, text_of

SIGNS = {"slower": "+", "faster": "−", "▲": "+", "▼": "−"}
SIGNED = re.compile(r"([+−])[\d.]+(?= %| ±)")
INTERVAL = re.compile(r"([+−]?[\d.]+) %,? \(?([+−]?[\d.]+) (?:to|…) ([+−]?[\d.]+) %")
COLOURED = re.compile(r'<(span|td|b|small|text)\b[^>]*class="?(?:v )?(slower|faster)\b[^>]*>(.*?)(?=</\1>|<td|<tr)', re.DOTALL)
LISTED = re.compile(r"<(li|title|summary)\b[^>]*>(.*?)(?=</\1>|<li\b|</ul>)", re.DOTALL)
STEPS = re.compile(r'\[\d+,([\d.]+),"([^"]+)","((?:slower|faster)[^"]*)"')


def holds(word: str, text: str) -> bool:
    """Return whether all changes in a text have the sign of a word, and all intervals exclude no change and hold their size."""
    for numbers in INTERVAL.findall(text):
        size, low, high = (float(number.replace("−", "-")) for number in numbers)
        if not (low <= size <= high and (low >= 0 or high <= 0)):
            return False
    halves = re.search(r"([\d.]+) ± ([\d.]+)", text)  # of an interval that is not symmetric
    return set(SIGNED.findall(text)) <= {SIGNS[word]} and (not halves or float(halves[1]) > 0.9 * float(halves[2]))


def claims(site: Mapping[str, str]) -> Iterator[tuple[str, str, bool]]:
    """Yield each claim of speed in the pages, feeds and data of a site: its address, its text, and whether it holds."""
    for address, text in site.items():
        if address.endswith(".csv"):
            for row in csv.DictReader(StringIO(text)):
                yield from ((address, str(row), holding) for holding in of_row(row))
        elif address.endswith((".html", ".xml", ".js")) and "docs/" not in address:
            for _, word, html in COLOURED.findall(text):
                if SIGNED.search(text_of(html)):
                    yield address, text_of(html), holds(word, text_of(html))
            for row in re.findall(r'<tr class="?(?:slower|faster)"?>.*?(?=<tr|</table)', text, re.DOTALL):
                cells = [text_of(cell) for cell in re.split(r"<t[hd]\b[^>]*>", row)[1:]]
                yield address, str(cells), holds(cells[1], f"{cells[2]} ({cells[3]})")
            for _, html in LISTED.findall(text):
                words = re.findall(r"\b(?:slower|faster)\b", text_of(html))
                if len(words) == 1:
                    yield address, text_of(html), holds(words[0], text_of(html).partition(words[0])[2])
            for ratio, size, sentence in STEPS.findall(text):
                word = sentence.partition(" ")[0]
                yield address, sentence, holds(word, f"{text_of(size)} {text_of(sentence)}") and (float(ratio) > 1) is (word == "slower")


def of_row(row: Mapping[str, str]) -> Iterator[bool]:
    """Yield whether each claim of a row of data holds."""
    if row.get("time_low"):
        low, ratio, high = (log(float(row[name])) for name in ("time_low", "time_ratio", "time_high"))
        margin = log(1 + MARGIN) + 1e-4  # data is rounded
        may_be = {"slower": low > 0, "faster": high < 0, "unchanged": -margin <= low and high <= margin, "unknown": True}
        yield low <= ratio <= high and may_be[row["time_verdict"]]


def false_claims(site: Mapping[str, str], least: int) -> list[tuple[str, str]]:
    """Return the claims of a site that do not hold; there are at least so many that do."""
    told = list(claims(site))
    assert sum(holding for *_, holding in told) >= least
    return [(address, text) for address, text, holding in told if not holding]


RELEASES = [release.version for release in release_table.load() if release.kind == "release"][-6:]
METHODS = ("m0", "m1", "m2")


def written(folder, times, counts) -> dict[str, str]:
    """Return the site of three cases with so many microseconds and instructions from the fourth release on; one and 1000 before."""
    cases = {f"copies.BySize.time_copy {method} 16": dict(zip(RELEASES, [1.0] * 3 + [times] * 3)) for method in METHODS}
    launch_files.write(folder, cases, noise=0.002)
    for number, release in enumerate(RELEASES):
        counted = {f"instructions.BySize.track_instructions {method} 16 False": counts if number > 2 else 1000 for method in METHODS}
        launch_files.write_counts(folder, release, counted, methods={method: launch_files.observed() for method in METHODS})
    return site_of(launch_files.load(folder))


@pytest.mark.parametrize(("times", "word"), [(1.2, "slower"), (0.8, "faster")])
def test_a_change_is_told_and_one_that_goes_the_other_way_is_seen(tmp_path, times, word):
    """In pages and in feeds: with the other word in its place, each would be a false claim."""
    site, other = written(tmp_path, times, 1000), {"slower": "faster", "faster": "slower"}[word]
    assert false_claims(site, 20) == []
    wrong = false_claims({address: text.replace(word, other) for address, text in site.items()}, 0)
    assert {address.rpartition(".")[2] for address, _ in wrong} >= {"html", "xml"}


@pytest.mark.parametrize("counts", [800, 1250])
def test_a_case_with_other_instructions_and_the_same_time_is_not_called_faster_or_slower(tmp_path, monkeypatch, capsys, counts):
    """On no page, in no feed, in no file and in no line of the terminal; the instructions are fewer or more."""
    site, word = written(tmp_path / "results", 1.0, counts), "fewer" if counts < 1000 else "more"
    assert list(claims({address: text for address, text in site.items() if not address.endswith(".csv")})) == []
    assert false_claims(site, 0) == []
    (pair,) = [text for address, text in site.items() if f"{RELEASES[2]}..{RELEASES[3]}.html" in address]
    assert "Time: 3 unchanged, 0 unknown." in pair
    assert "Instructions: more in {}, fewer in {} of 3 timed cases.".format(*((0, 3) if word == "fewer" else (3, 0))) in pair
    assert site["changes.xml"].count("<entry>") == site["slowdowns.xml"].count("<entry>") == 0
    assert f"{word} instructions in 3 of 3 cases" in text_of(site["history/counts.html"])
    monkeypatch.chdir(tmp_path)
    compared = [["compare", *RELEASES[2:4], "--format", form] for form in ("text", "markdown", "json", "csv")]
    for arguments in (*compared, ["history"], ["history", "--open"], ["history", "^instructions.* m0 "]):
        assert main(arguments) == 0
        printed = " ".join(capsys.readouterr().out.split())
        told = re.sub(r"none of \d+ cases slower, none faster|None of \d+ cases on .* is slower", "", printed)
        assert not re.search("slower|faster|▲|▼", told), arguments
