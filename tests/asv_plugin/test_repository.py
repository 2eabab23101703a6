"""Releases and git revisions, as a user of asv names them."""

import pytest

from tensorcopy.asv_plugin.repository import TorchReleases
from tensorcopy.copying.shipped import shipped
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import git
from tensorcopy.releases import release_table
from tests.repositories import AUTHOR
from tests.repositories import run as run_git

ROWS = release_table.load()


@pytest.fixture
def repo():
    return TorchReleases(shipped())


@pytest.mark.parametrize(
    ("range", "expected"),
    [
        ("v2.5.1^!", ["v2.5.1"]),
        ("v2.5.1", ["v2.5.1"]),
        ("v2.9.1..v2.12.1", ["v2.10.0", "v2.11.0", "v2.12.1"]),
        (f"{ROWS[-3].tag}..", [ROWS[-2].tag, ROWS[-1].tag]),
        ("..v1.9.1", ["v1.9.0", "v1.9.1"]),
        ("v2.15.0..v2.8.0", []),
        ("ALL", [release.tag for release in ROWS]),
    ],
)
def test_ranges_follow_git(repo, range, expected):
    """Releases come without the start of the range, by version and not by date: a patch may follow the next minor release."""
    assert [release.tag for release in repo.range(range)] == expected


def test_the_parent_is_the_previous_release(repo):
    """`asv continuous` compares with it; the first release has none."""
    assert repo.before(ROWS[-1], ROWS[-1].tag) == ROWS[-2]
    with pytest.raises(TensorcopyError, match=r"v1\.9\.0 has no parent"):
        repo.before(ROWS[0], ROWS[0].tag)


@pytest.mark.parametrize("name", ["v9", "v9.9.9", "9.9", "no-such-branch", "-x", "a\0b"])
def test_an_unknown_name_is_refused(repo, name):
    with pytest.raises(TensorcopyError, match=r"unknown torch release or git revision: got '.*; next: tensorcopy history"):
        repo.find(name)


def test_without_git_a_revision_is_unknown_and_git_is_named(repo, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(TensorcopyError, match=r"got 'HEAD'; .*; next: apt install git"):
        repo.find("HEAD")


@pytest.fixture
def commits(repo, no_other_repository, tmp_path, monkeypatch) -> list[str]:
    """The SHAs of three commits in the current folder, the oldest first; the first has the tag v2.8.0."""
    monkeypatch.chdir(tmp_path)
    run_git(tmp_path, "init", "-q", ".")
    shas = []
    for message in ("one", "two", "three"):
        run_git(tmp_path, *AUTHOR, "commit", "-q", "--allow-empty", "-m", message)
        shas.append(git.commit("HEAD"))
    run_git(tmp_path, "tag", "v2.8.0", shas[0])
    return shas


def test_a_tag_with_the_name_of_a_release_is_told(repo, commits, caplog):
    """`asv compare v2.8.0 v2.15.0` is of torch, where versions of the package may have been meant."""
    assert [repo.find(name) for name in ("v2.8.0", "v2.7.1")] == [ROWS.find(name) for name in ("2.8.0", "2.7.1")]
    assert [record.message for record in caplog.records] == ["v2.8.0 is torch 2.8.0; the tag of this repository is refs/tags/v2.8.0"]
    assert repo.find("refs/tags/v2.8.0") == commits[0]


def test_a_range_has_no_revisions(repo, commits):
    """They are compared, two at a time; the parent of one is git's."""
    assert repo.before(commits[1], "HEAD~1") == commits[0]
    for text in ("HEAD", "HEAD~2..HEAD", "v2.15.0..HEAD", "..HEAD"):
        with pytest.raises(TensorcopyError, match="a git revision is in no range: got "):
            repo.range(text)
