"""git commands: the fork point of a head, and the files of a commit in a folder."""

import shutil

import pytest

from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import git
from tests.repositories import commit_all, run


@pytest.fixture
def commits(no_other_repository, tmp_path, monkeypatch):
    """A repository of three commits: a base, a head, and a later commit on main."""
    folder = tmp_path / "repository"
    for name in ("benchmarks", "results"):
        (folder / name).mkdir(parents=True)
    monkeypatch.chdir(folder)
    run(folder, "init", "-q", "-b", "main")
    for name, branch in (("one", []), ("two", ["-b", "head"]), ("three", ["main"])):
        if branch:
            run(folder, "checkout", "-q", *branch)
        (folder / "benchmarks" / name).write_text(name)
        (folder / "results" / name).write_text(name)
        commit_all(folder, name)
    return folder


def test_a_file_that_moves_differs_in_both_places(commits):
    """One that leaves the benchmarks changes what is measured, wherever it goes."""
    before = git.commit("HEAD")
    run(commits, "mv", "benchmarks/one", "results/moved")
    commit_all(commits, "move")
    assert git.changed(before, git.commit("HEAD")) == ["benchmarks/one", "results/moved"]


def test_a_commit_is_checked_out_again_where_that_was_interrupted(commits, tmp_path):
    """Or its folder was removed."""
    folder = tmp_path / "revisions" / "head"
    git.check_out(git.commit("head"), folder)
    assert sorted(path.name for path in (folder / "benchmarks").iterdir()) == ["one", "two"]
    shutil.rmtree(folder)
    git.check_out(git.commit("head"), folder)
    folder.with_name("head.complete").unlink()
    (folder / "benchmarks" / "two").unlink()
    git.check_out(git.commit("head"), folder)
    assert (folder / "benchmarks" / "two").exists()


@pytest.mark.parametrize("name", ["no-such-branch", "--help", ""])
def test_an_unknown_commit_is_an_error(commits, name):
    with pytest.raises(TensorcopyError, match=rf"git cannot provide the commit {name}: got "):
        git.commit(name)


def test_a_revision_has_its_submodules(commits, tmp_path, monkeypatch):
    """The address of a submodule may be relative to origin, which is not this repository."""
    monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "file")  # git refuses submodules in folders, unless it is asked
    library = tmp_path / "hub" / "library"
    library.mkdir(parents=True)
    run(library, "init", "-q")
    (library / "module.py").touch()
    commit_all(library, "one")
    run(commits, "remote", "add", "origin", str(tmp_path / "hub" / "project"))
    run(commits, "submodule", "add", "-q", "../library", "library")
    commit_all(commits, "with a submodule")
    git.check_out(git.commit("HEAD"), tmp_path / "revision")
    assert (tmp_path / "revision" / "library" / "module.py").exists()


def test_an_error_shows_what_was_fatal_and_not_the_advice_after_it(commits):
    with pytest.raises(TensorcopyError, match=r"the branch b of origin: got fatal: 'origin' does not appear to be a git repository;"):
        git.fetch_branch("b")


def test_a_name_is_found_or_not(commits, tmp_path, monkeypatch):
    """Also outside a repository, where no name is a revision."""
    assert git.find("head") == git.commit("head")
    assert [git.find(name) for name in ("no-such-branch", "--help", "", "a\0b")] == ["", "", "", ""]
    monkeypatch.chdir(tmp_path)
    assert git.find("main") == ""
