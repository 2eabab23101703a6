"""The table of releases behind asv's interface of a repository."""

import subprocess

import pytest
from asv.repo import NoSuchNameError, get_repo

from tensorcopy.measure import git
from tensorcopy.releases import release_table

ROWS = release_table.load()


class Conf:
    dvcs, repo, project = "torch-releases", "tensorcopy/releases.toml", "tensorcopy"


@pytest.fixture
def repo(campaign_of_asv):
    repo = get_repo(Conf)
    repo.why_not_here = None
    return repo


def names(repo, hashes):
    return [repo.get_name_from_hash(sha) for sha in hashes]


@pytest.mark.parametrize(
    ("range", "expected"),
    [
        ("v2.5.1^!", ["v2.5.1"]),
        ("v2.5.1", ["v2.5.1"]),
        ("v2.9.1..v2.12.1", ["v2.12.1", "v2.11.0", "v2.10.0"]),
        (f"{ROWS[-3].tag}..", [ROWS[-1].tag, ROWS[-2].tag]),
        ("..v1.9.1", ["v1.9.1", "v1.9.0"]),
    ],
)
def test_ranges_follow_git(repo, range, expected):
    """Releases come newest first, without the start of the range."""
    assert names(repo, repo.get_hashes_from_range(range)) == expected


def test_releases_are_ordered_by_version_not_by_date(repo):
    """A patch release after the next minor release must not look like a change there."""
    assert names(repo, repo.get_branch_commits("releases")) == [release.tag for release in ROWS][::-1]


def test_the_parent_is_the_previous_release(repo):
    """`asv continuous` compares with it; the first release has none."""
    assert repo.get_name_from_hash(repo.get_hash_from_parent(ROWS[-1].tag)) == ROWS[-2].tag
    with pytest.raises(NoSuchNameError):
        repo.get_hash_from_parent(ROWS[0].tag)


@pytest.mark.parametrize("name", ["v9", "v9.9.9", "9.9", "no-such-branch"])
def test_an_unknown_name_ends_asv_with_exit_code_2(repo, caplog, name):
    """`asv show` alone would print nothing."""
    with pytest.raises(SystemExit) as caught:
        repo.get_hash_from_name(name)
    assert caught.value.code == 2
    assert f"unknown torch release or git revision: got '{name}'" in caplog.text


def test_a_tag_with_the_name_of_a_release_is_told(repo, caplog, tmp_path, monkeypatch):
    """Once: `asv compare v2.8.0 v2.15.0` is of torch, where versions of the package may have been meant."""
    monkeypatch.chdir(tmp_path)
    subprocess.run(
        "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one && git tag v2.8.0", shell=True, check=True
    )
    own = git.commit("HEAD")
    for _ in range(2):
        assert [repo.get_hash_from_name(name) for name in ("v2.8.0", "v2.7.1")] == [ROWS.find(name).sha for name in ("2.8.0", "2.7.1")]
    assert [record.message for record in caplog.records] == ["v2.8.0 is torch 2.8.0; the tag of this repository is refs/tags/v2.8.0"]
    assert repo.get_hash_from_name("refs/tags/v2.8.0") == own


def test_a_range_skips_releases_that_cannot_be_installed(repo, caplog):
    """The log names them. A single release that cannot be installed is an error."""
    repo.why_not_here = lambda release: "no Python 3.9" if "1.9" in release.tag else ""
    assert names(repo, repo.get_hashes_from_range("..v1.10.2")) == ["v1.10.2"]
    assert "torch 1.9.0 is skipped: no Python 3.9" in caplog.text
    with pytest.raises(SystemExit) as caught:
        repo.get_hashes_from_range("v1.9.0^!")
    assert caught.value.code == 2
    assert "torch 1.9.0 cannot be measured here: got no Python 3.9" in caplog.text


def test_a_range_whose_releases_are_all_skipped_is_no_error(repo, caplog):
    """The log names every release."""
    repo.why_not_here = lambda release: "no network"
    with pytest.raises(SystemExit) as caught:
        repo.get_hashes_from_range("..v1.10.2")
    assert caught.value.code == 0
    assert caplog.text.count("is skipped: no network") == 3
