"""git commands: what differs between two commits, and the files of a commit in a folder."""

import shutil

import pytest

from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import git
from tests.repositories import commit_all, run


@pytest.fixture
def repository(no_other_repository, tmp_path, monkeypatch):
    """A repository of one commit as the current folder."""
    folder = tmp_path / "repository"
    (folder / "benchmarks").mkdir(parents=True)
    (folder / "benchmarks" / "one").touch()
    monkeypatch.chdir(folder)
    run(folder, "init", "-q", "-b", "main")
    commit_all(folder, "one")
    return folder


def test_a_file_that_moves_differs_in_both_places(repository):
    """One that leaves the benchmarks changes what is measured, wherever it goes."""
    run(repository, "mv", "benchmarks/one", "moved")
    commit_all(repository, "move")
    assert git.changed(git.commit("HEAD~1"), git.commit("HEAD")) == ["benchmarks/one", "moved"]


def test_a_commit_is_checked_out_again_where_that_was_interrupted(repository, tmp_path):
    """Or its folder was removed."""
    folder = tmp_path / "revisions" / "main"
    git.check_out(git.commit("main"), folder)
    assert (folder / "benchmarks" / "one").exists()
    shutil.rmtree(folder)
    git.check_out(git.commit("main"), folder)
    folder.with_name("main.complete").unlink()
    (folder / "benchmarks" / "one").unlink()
    git.check_out(git.commit("main"), folder)
    assert (folder / "benchmarks" / "one").exists()


def test_a_revision_has_its_submodules(repository, tmp_path, monkeypatch):
    """The address of a submodule may be relative to origin, which is not this repository."""
    monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "file")  # git refuses submodules in folders, unless it is asked
    library = tmp_path / "hub" / "library"
    library.mkdir(parents=True)
    run(library, "init", "-q")
    (library / "module.py").touch()
    commit_all(library, "one")
    run(repository, "remote", "add", "origin", str(tmp_path / "hub" / "project"))
    run(repository, "submodule", "add", "-q", "../library", "library")
    commit_all(repository, "with a submodule")
    git.check_out(git.commit("HEAD"), tmp_path / "revision")
    assert (tmp_path / "revision" / "library" / "module.py").exists()


def test_an_error_shows_what_was_fatal_and_not_the_advice_after_it(repository):
    with pytest.raises(TensorcopyError, match=r"the branch b of origin: got fatal: 'origin' does not appear to be a git repository;"):
        git.fetch_branch("b")


def test_a_name_is_found_or_not(repository, tmp_path, monkeypatch):
    """Also outside a repository, where no name is a revision."""
    assert git.commit("main") == git.printed("rev-parse", "main") != ""
    for name in ("no-such-branch", "--help", ""):
        with pytest.raises(TensorcopyError, match=rf"git cannot provide the commit {name}: got "):
            git.commit(name)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TensorcopyError, match="git cannot provide the commit main: got fatal: not a git repository"):
        git.commit("main")
