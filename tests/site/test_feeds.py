"""The Atom feeds: what a reader shows, when, and under which id."""

import re
from dataclasses import replace
from datetime import timedelta

import feedparser
import pytest

from tensorcopy.copying.shipped import shipped
from tensorcopy.site import addresses, render
from tensorcopy.site.feeds import feeds
from tests import launch_files
from tests.conftest import NEW, measured

TABLE = tuple(replace(NEW, version=f"2.{minor}.0", sha=f"{minor:x}" * 40) for minor in range(1, 10))
MEASURED, AGAIN = "2026-11-21", "2027-01-05"


@pytest.fixture
def content():
    """A history with a slowdown at 2.4.0 that stays, and with one at 2.3.0 until 2.7.0; that and the newest were measured again later."""
    results = [
        measured(release, {("a", 16): 2e-6 if index > 2 else 1e-6, ("a", 2**20): 2e-3 if 1 < index < 6 else 1e-3})
        for index, release in enumerate(TABLE)
    ]
    for number in (6, 8):
        results[number] = replace(results[number], launches=(*results[number].launches, f"{AGAIN}T08:00:00+00:00"))
    return render.content(shipped(), results)


def parsed(content):
    """Return both feeds of a site: of all changes, and of the slowdowns with the newest release."""
    texts = dict(feeds(content))
    changes, new = (feedparser.parse(texts[address].encode()) for address in (addresses.FEED, addresses.NEW_FEED))
    assert not changes.bozo
    assert not new.bozo
    return changes, new


def test_a_subscriber_to_new_slowdowns_gets_one_entry_for_a_release(content):
    """Its id and its day stay when more is measured; the next release brings another one, or none."""
    newest = TABLE[-1]
    slower = measured(newest, {("a", 16): 2.5e-6, ("a", 2**20): 1e-3})
    entries = []
    for again in ((), (f"{AGAIN}T08:00:00+00:00",)):
        results = [each for each in content.machine.results if each.version != newest.version]
        after = replace(slower, launches=(*slower.launches, *again))
        text = dict(feeds(render.content(shipped(), [*results, after])))[addresses.NEW_FEED]
        (entry,) = feedparser.parse(text.encode()).entries
        assert entry.title == "torch 2.9.0 on cpu: 1 method slower in 1 case, up to +25.0 % (+23.9 to +26.1 %)"
        assert "code of a: +25.0 %" in entry.summary
        assert entry.link == "compare/box/py3.11-cuda/2.8.0..2.9.0.html"
        entries.append((entry.id, entry.updated))
    assert entries[0] == entries[1]
    assert entries[0][1][:10] == MEASURED
    assert feedparser.parse(dict(feeds(content))[addresses.NEW_FEED].encode()).entries == []  # 2.9.0 as it is brought nothing


def test_a_new_slowdown_has_the_day_of_the_first_launch_that_timed_it(tmp_path):
    """Counts of the release came earlier, and further launches later."""
    cases = {"copies.BySize.time_copy tensor 16": {"2.7.1": 1.0, "2.8.0": 1.0, "2.9.1": 1.3}}
    days = [launch_files.START + timedelta(days=day) for day in (2, 5)]
    launch_files.write_counts(tmp_path, "2.9.1", {"instructions.BySize.track_instructions tensor 16 False": 1000})
    for start in days:
        launch_files.write(tmp_path, cases, start=start)
        text = dict(feeds(render.content(shipped(), launch_files.load(tmp_path))))[addresses.NEW_FEED]
        (entry,) = feedparser.parse(text.encode()).entries
        assert entry.updated[:10] == days[0].date().isoformat()
        assert re.search(r"; largest: .*\. The new ones against 2\.7\.1: 1 slower\.$", entry.summary)


def on_the_web(content, source="", site=""):
    return replace(content, web=addresses.WebAddresses.of_configuration(source, site))


def test_the_feeds_are_atom(content):
    """Every entry says what changed at which release."""
    changes, new = parsed(content)
    assert changes.version == new.version == "atom10"
    assert changes.feed.author == "tensorcopy"
    assert [entry.title for entry in changes.entries] == [
        "torch 2.7.0 on cpu: 1 of 1 copies at numel > 2¹⁴ faster, −50.0 % (−50.4 to −49.5 %)",
        "torch 2.4.0 on cpu: 1 of 1 copies at numel ≤ 2¹⁴ slower, +100.0 % (+98.2 to +101.8 %)",
        "torch 2.3.0 on cpu: 1 of 1 copies at numel > 2¹⁴ slower, +100.0 % (+98.2 to +101.8 %)",
    ]
    ids = [each.id for feed in (changes, new) for each in (feed.feed, *feed.entries)]
    assert len(ids) == len(set(ids)) == 5


@pytest.mark.parametrize("name", ["source", "site"])
def test_two_forks_share_no_id(content, name):
    """A reader that follows both would hide the entries of one."""
    ids = []
    for owner in ("a", "b"):
        both = parsed(on_the_web(content, **{name: f"https://example.org/{owner}/tensorcopy"}))
        ids.append({each.id for feed in both for each in (feed.feed, *feed.entries)})
    assert len(ids[0]) == len(ids[1]) == 5
    assert not ids[0] & ids[1]


def test_an_id_stays_when_the_site_gets_an_address(content):
    """A reader would show every entry again."""
    before, after = (parsed(on_the_web(content, "https://example.org/a", site))[0] for site in ("", "https://a.example/"))
    assert [entry.id for entry in before.entries] == [entry.id for entry in after.entries]


def test_an_entry_is_dated_by_its_finding(content):
    """By the newest launch of either release, not by the release, which may be years old: a reader would never show it."""
    changes, _ = parsed(content)
    assert TABLE[0].date.isoformat() < MEASURED
    assert [entry.updated[:10] for entry in changes.entries] == [AGAIN, MEASURED, MEASURED]
    assert changes.feed.updated[:10] == AGAIN


def test_links_are_absolute_where_the_site_has_an_address(content):
    """A reader knows no other address than the feed's."""
    for feed in parsed(on_the_web(content, site="https://a.example/b")):
        links = [link.href for each in (feed.feed, *feed.entries) for link in each.links]
        assert links
        assert all(link.startswith("https://a.example/b/") for link in links)
    changes, _ = parsed(content)
    assert changes.entries[0].link == "compare/box/py3.11-cuda/2.6.0..2.7.0.html"
