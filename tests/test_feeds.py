"""The Atom feeds: what a reader shows, when, and under which id."""

from __future__ import annotations

from dataclasses import replace

import feedparser
import pytest

from tensorcopy.releases.release_table import ReleaseIndex
from tensorcopy.results import confirmations
from tensorcopy.results.confirmations import Confirmation, RepeatOutcome
from tensorcopy.results.passes import Case
from tensorcopy.site import addresses, render
from tensorcopy.site.feeds import feeds
from tests.conftest import NEW, measured

TABLE = tuple(replace(NEW, version=f"2.{minor}.0", sha=f"{minor:x}" * 40) for minor in range(1, 10))
SLOWER, FASTER = (Case("copies.BySize.time_copy", (("method", "a"), ("numel", str(numel)))) for numel in (16, 2**20))
MEASURED, REPEATED = "2026-11-21", "2027-01-05"


@pytest.fixture(autouse=True)
def releases(monkeypatch):
    """Releases of one old day."""
    monkeypatch.setattr("tensorcopy.releases.release_table.load", lambda: ReleaseIndex(TABLE))


@pytest.fixture
def content():
    """A history with a slowdown at 2.4.0 and a speedup at 2.7.0, both measured again later."""
    results = [
        measured(release, {("a", 16): 2e-6 if index > 2 else 1e-6, ("a", 2**20): 1e-3 if index > 5 else 2e-3})
        for index, release in enumerate(TABLE)
    ]
    repeated = {}
    for case, index, ratio in ((SLOWER, 3, 2.0), (FASTER, 6, 0.5)):
        before, after = results[index - 1 : index + 1]
        key = confirmations.key_of(before, after, case)
        names = (*("2.0.0", "2.0.0"), before.sha, after.sha, "3.11", "cuda", key[0])
        numbers = (ratio, ratio, (ratio * 0.99, ratio * 1.01), 4, (), (), RepeatOutcome.HELD, f"{REPEATED}T08:00:00+00:00")
        repeated[key] = Confirmation("box", case, "3", *names, *numbers)
    return render.content(results, confirmations=repeated)


def parsed(content):
    """Return both feeds of a site: of all changes, and of slowdowns."""
    texts = dict(feeds(content))
    changes, slowdowns = (feedparser.parse(texts[address].encode()) for address in (addresses.FEED, addresses.SLOWDOWNS))
    assert not changes.bozo
    assert not slowdowns.bozo
    return changes, slowdowns


def on_the_web(content, source="", site=""):
    return replace(content, web=addresses.WebAddresses.of_configuration(source, site))


def test_the_feeds_are_atom_and_one_has_the_slowdowns(content):
    """Every entry has a unique id, and says what changed at which release."""
    changes, slowdowns = parsed(content)
    assert changes.version == slowdowns.version == "atom10"
    assert changes.feed.id != slowdowns.feed.id
    assert changes.feed.author == "tensorcopy"
    assert [entry.title for entry in changes.entries] == [
        "torch 2.7.0: 1 of 1 copies at numel > 2¹⁴ faster, median −50.0 %",
        "torch 2.4.0: 1 of 1 copies at numel ≤ 2¹⁴ slower, median +100.0 %",
    ]
    assert [entry.id for entry in slowdowns.entries] == [changes.entries[1].id] != [changes.entries[0].id]


@pytest.mark.parametrize("name", ["source", "site"])
def test_two_forks_share_no_id(content, name):
    """A reader that follows both would hide the entries of one."""
    ids = []
    for owner in ("a", "b"):
        both = parsed(on_the_web(content, **{name: f"https://example.org/{owner}/tensorcopy"}))
        ids.append({each.id for feed in both for each in (feed.feed, *feed.entries)})
    assert len(ids[0]) == len(ids[1]) == 4
    assert not ids[0] & ids[1]


def test_an_id_stays_when_the_site_gets_an_address(content):
    """A reader would show every entry again."""
    before, after = (parsed(on_the_web(content, "https://example.org/a", site))[0] for site in ("", "https://a.example/"))
    assert [entry.id for entry in before.entries] == [entry.id for entry in after.entries]


def test_an_entry_is_dated_by_its_finding(content):
    """By the newest measurement that shows it, not by the release, which may be years old: a reader would never show it."""
    changes, _ = parsed(content)
    assert TABLE[0].date.isoformat() < MEASURED
    assert {entry.updated[:10] for entry in changes.entries} == {REPEATED}
    assert changes.feed.updated[:10] == REPEATED


def test_an_entry_that_a_count_confirms_is_dated_by_its_passes(content):
    """Nothing was measured again; a pass was added later to one of the two releases."""
    counted = Case("instructions.BySize.track_instructions", (("method", "a"), ("numel", "16"), ("requires_grad", "False")))
    results = [
        replace(result, counts={counted: 2000.0 if index > 2 else 1000.0}, passes=({"started": f"2026-12-0{index + 1}T08:00:00+00:00"},))
        for index, result in enumerate(content.machine.results)
    ]
    (entry,) = parsed(render.content(results))[0].entries
    assert entry.title.startswith("torch 2.4.0")
    assert entry.updated[:10] == "2026-12-04"


def test_links_are_absolute_where_the_site_has_an_address(content):
    """A reader knows no other address than the feed's."""
    for feed in parsed(on_the_web(content, site="https://a.example/b")):
        links = [link.href for each in (feed.feed, *feed.entries) for link in each.links]
        assert links
        assert all(link.startswith("https://a.example/b/") for link in links)
    changes, _ = parsed(content)
    assert changes.entries[0].link == "compare/box/py3.11-cuda/2.6.0..2.7.0.html"
