"""What an upgrade to the newest release changes is what the comparison of both says, whether it has a page or not."""

import re
from dataclasses import replace
from datetime import date

import pytest

from tensorcopy.copying.pages.landing import Upgrade, UpgradeTally, own_machine, upgrades
from tensorcopy.copying.shipped import shipped
from tensorcopy.releases.release_table import Release
from tensorcopy.results.cases import Case
from tensorcopy.site import render
from tensorcopy.site.content import Content
from tests.conftest import measured

TABLE = tuple(
    Release(f"2.{minor}.0", date(2024, 1, minor), f"{minor:x}" * 40, ("3.9", "3.12"), "1.26.4", f"https://example.org/{minor}")
    for minor in range(1, 10)
)
CHANGED = 5  # the index of the first release that is slower


def stepped(factor: float, before: float = 1e-6) -> Content:
    """Return the content of a history whose copy `a` changes by a factor; its copy `b` and its conversion do not."""
    results = [
        measured(release, {("a", 16): before * (factor if index >= CHANGED else 1), ("b", 16): 2e-6, ("a_numpy", 16): 3e-6})
        for index, release in enumerate(TABLE)
    ]
    return render.content(shipped(), results)


def upgrade(content: Content, before: int, after: int) -> Upgrade:
    """Return the upgrade between two releases of the table, by index."""
    versions = TABLE[before].version, TABLE[after].version
    return next(row for row in upgrades(content, content.devices[0]) if (row.before, row.after) == versions)


def without_comparisons(content: Content, monkeypatch) -> Content:
    """Return content in which no two releases have a comparison page."""
    monkeypatch.setattr(Content, "comparison_address", lambda self, before, after: "")
    return content


@pytest.mark.parametrize(
    ("factor", "before", "after", "copies"),
    [
        (1.5, 0, 8, UpgradeTally(1, 0, 2)),
        (1.5, CHANGED - 1, 8, UpgradeTally(1, 0, 2)),
        (1.5, CHANGED, 8, UpgradeTally(0, 0, 2)),
        (1 / 1.5, 0, 8, UpgradeTally(0, 1, 2)),
        (1.02, 0, 8, UpgradeTally(0, 0, 2)),
    ],
    ids=["from long before", "from just before", "from after it", "faster", "below the margin"],
)
def test_an_upgrade_counts_what_changed_until_the_newest_release(monkeypatch, factor, before, after, copies):
    """A change counts from 3 % on."""
    row = upgrade(without_comparisons(stepped(factor), monkeypatch), before, after)
    assert (row.copies, row.conversions, row.address) == (copies, UpgradeTally(0, 0, 1), "")


def test_a_case_counts_only_where_both_releases_have_it(monkeypatch):
    """A method that came later is no case of an earlier upgrade."""
    content = stepped(1.0)
    results = list(content.machine.results)
    results[0].timings.pop(Case("copies.BySize.time_copy", (("method", "b"), ("numel", "16"))))
    content = without_comparisons(render.content(shipped(), results), monkeypatch)
    assert upgrade(content, 0, 8).copies.cases == 1
    assert upgrade(content, 1, 8).copies.cases == 2


def newcomer(release: Release, factor: float) -> Content:
    """Return the content of a history, and of a machine that has measured one release since."""
    history = [measured(row, {("a", 2**14): 3e-6, ("b", 2**14): 4e-6}) for row in TABLE]
    times = {("a", 2**14): 3e-6 * factor, ("b", 2**14): 9e-6}
    return render.content(shipped(), [*history, measured(release, times, machine="laptop", started="2027-01-01T00:00:00+00:00")])


def test_a_machine_with_one_release_does_not_replace_a_history():
    """It is shown beside it: its fastest copy, against the same copy with the same release; indexes are about the history."""
    content = newcomer(TABLE[-1], 1.12)
    own = own_machine(content, content.devices[0])
    assert content.machine.name == "box"
    assert [machine.name for machine in content.machines] == ["laptop", "box"]
    assert (own.results.machine.name, own.copy.code, own.copy.case["numel"]) == ("laptop", "code of a", str(2**14))
    assert own.copy.time == pytest.approx(3.36e-6, rel=0.01)
    assert own.ratio == pytest.approx(1.12)
    site = dict(render.files(content))
    assert "All cases on box" in site["history/index.html"]
    assert re.findall(r'<option value="([^"]+)" selected', site["compare/index.html"]) == ["box/py3.11-cuda"]
    assert '<a href="laptop/index.html">laptop</a>' in site["compare/index.html"]


def test_a_release_that_the_history_lacks_has_no_ratio():
    """Times with different releases are not compared."""
    content = newcomer(TABLE[-1], 1.12)
    content = render.content(
        shipped(), [result for result in content.machines[1].results if result.sha != TABLE[-1].sha] + list(content.machines[0].results)
    )
    assert own_machine(content, content.devices[0]).ratio is None


def test_the_only_machine_is_not_shown_beside_itself():
    """Nor is one that measured before the shown machine."""
    only, content = stepped(1.0), newcomer(TABLE[-1], 1.0)
    assert own_machine(only, only.devices[0]) is None
    earlier = [replace(row, provenance={**row.provenance, "started": "2020-01-01T00:00:00+00:00"}) for row in content.machines[0].results]
    content = render.content(shipped(), [*content.machine.results, *earlier])
    assert own_machine(content, content.devices[0]) is None
