"""Torch releases, asked as asv asks a repository."""

from __future__ import annotations

import pytest
from asv.repo import NoSuchNameError, get_repo

from tensorcopy.asv_plugin.repository import TorchReleases
from tensorcopy.releases import release_table


class Conf:
    dvcs, repo, project = "torch-releases", "tensorcopy/releases.toml", "tensorcopy"


@pytest.fixture
def repo(monkeypatch):
    monkeypatch.setattr(TorchReleases, "servable", None)
    return get_repo(Conf)


def names(repo, hashes):
    return [repo.get_name_from_hash(one) for one in hashes]


def test_asv_finds_the_class_by_the_configuration(repo):
    """ "dvcs" in asv.conf.json names it."""
    assert isinstance(repo, TorchReleases)


@pytest.mark.parametrize(
    ("range", "expected"),
    [
        ("v2.5.1^!", ["v2.5.1"]),
        ("v2.5.1", ["v2.5.1"]),
        ("v2.9.1..v2.12.1", ["v2.12.1", "v2.11.0", "v2.10.0"]),
        ("v2.13.0..", ["v2.15.0", "v2.14.1"]),
        ("..v1.9.1", ["v1.9.1", "v1.9.0"]),
    ],
)
def test_a_range_is_as_gits(repo, range, expected):
    """Newest first, the first end left out."""
    assert names(repo, repo.get_hashes_from_range(range)) == expected


def test_order_is_by_version_not_by_date(repo):
    """Patches that came out after the next minor release must not look like a step."""
    revisions = repo.get_revisions(set(repo.get_tags().values()))
    ordered = sorted(revisions, key=revisions.get)
    assert names(repo, ordered) == [release.tag for release in release_table.load()]
    assert repo.get_branch_commits("releases") == ordered[::-1]


def test_the_parent_is_the_release_before(repo):
    """`asv continuous v2.15.0` compares with it; the first has none."""
    assert repo.get_name_from_hash(repo.get_hash_from_parent("v2.15.0")) == "v2.14.1"
    with pytest.raises(NoSuchNameError):
        repo.get_hash_from_parent("v1.9.0")


def test_new_is_whatever_has_no_result(repo):
    """Also a release that was left out while a later one was measured."""
    existing = [release.sha for release in release_table.load() if release.version != "2.2.2"]
    assert names(repo, repo.get_new_branch_commits(["releases"], existing)) == ["v2.2.2"]


def test_nothing_new_is_no_error(repo):
    """`asv run NEW` on a complete history."""
    with pytest.raises(SystemExit) as caught:
        repo.get_new_branch_commits(["releases"], [release.sha for release in release_table.load()])
    assert caught.value.code == 0


def test_dates_are_javascripts(repo):
    """Milliseconds, midnight UTC."""
    assert repo.get_date(release_table.find("1.9.0").sha) == 1623715200000


def test_an_unknown_release_ends_asv_with_2(repo, caplog):
    """One line, four parts."""
    with pytest.raises(SystemExit) as caught:
        repo.get_hashes_from_range("v9.9.9^!")
    assert caught.value.code == 2
    assert "unknown torch release: got 'v9.9.9'; allowed: 1.9.0 to 2.15.0" in caplog.text


@pytest.mark.parametrize("name", ["v9", "v9.9.9", "9.9"])
def test_what_looks_like_a_release_and_is_none_ends_asv_with_2(repo, caplog, name):
    """`asv compare v9 v2.15.0`; any other name is asv's to complain of."""
    with pytest.raises(SystemExit) as caught:
        repo.get_hash_from_name(name)
    assert caught.value.code == 2
    assert f"unknown torch release: got '{name}'" in caplog.text
    with pytest.raises(NoSuchNameError):
        repo.get_hash_from_name("main")


def test_a_range_leaves_out_what_cannot_be_installed_by_name(repo, monkeypatch, caplog):
    """And goes on; asked for alone, it is an error."""
    monkeypatch.setattr(TorchReleases, "servable", staticmethod(lambda r: "no Python 3.9" if r.version.startswith("1.9") else ""))
    assert names(repo, repo.get_hashes_from_range("..v1.10.2")) == ["v1.10.2"]
    assert "torch 1.9.0 is skipped: no Python 3.9" in caplog.text
    with pytest.raises(SystemExit) as caught:
        repo.get_hashes_from_range("v1.9.0^!")
    assert caught.value.code == 2
    assert "torch 1.9.0 cannot be measured here: got no Python 3.9" in caplog.text


def test_a_range_of_which_nothing_is_left_is_no_error(repo, monkeypatch, caplog):
    """Everything was left out by name."""
    monkeypatch.setattr(TorchReleases, "servable", staticmethod(lambda release: "no network"))
    with pytest.raises(SystemExit) as caught:
        repo.get_hashes_from_range("..v1.10.2")
    assert caught.value.code == 0
    assert caplog.text.count("is skipped: no network") == 3
