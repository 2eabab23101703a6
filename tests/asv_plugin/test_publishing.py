"""The site that `asv publish` writes, how it ends, and what `dashboard` says of one that has failed."""

import re
import shutil
import signal
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from tensorcopy import configuration
from tensorcopy.asv_plugin import publishing
from tensorcopy.cli.measure import _publish
from tensorcopy.copying.shipped import of_folder, shipped
from tensorcopy.errors import TensorcopyError
from tensorcopy.site import build
from tests.conftest import ROOT
from tests.repositories import run as git


def test_the_dashboard_ends_as_an_asv_publish_that_fails(monkeypatch, tmp_path):
    """In one line; here the site would replace a file."""
    shutil.copy(ROOT / "asv.conf.json", tmp_path)
    (tmp_path / "site").touch()
    monkeypatch.setenv(build.OWN, "")  # which it sets
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TensorcopyError, match=r"asv publish replaces the folder of the site: got .*site; "):
        _publish(shipped(), configuration.paths(), "box")


def test_a_damaged_configuration_ends_asv_in_one_line(tmp_path):
    """What asv itself reads without an error, before it knows this plugin."""
    (tmp_path / "asv.conf.json").write_text((ROOT / "asv.conf.json").read_text().replace('"html_dir": "site"', '"html_dir": 5'))
    completed = subprocess.run([sys.executable, "-m", "asv", "publish"], cwd=tmp_path, check=False, capture_output=True, text=True)
    shown = completed.stdout + completed.stderr
    assert completed.returncode == 2, shown
    assert re.fullmatch(r".*asv.conf.json cannot be read: got Expected .*`\$\.html_dir`.*\n", shown)


@pytest.fixture
def site(tmp_path, monkeypatch) -> Path:
    """The folder of a site, in a project, in a folder."""
    folder = tmp_path / "project" / "site"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder.parent)
    for name in publishing.OF_A_SITE:
        (folder / name).write_text("old")
    return folder


def publish(site: Path, write: publishing.Writer) -> int:
    """Let asv publish what `write` writes."""
    paths = configuration.paths({"html_dir": str(site), "env_dir": ".asv/env"})
    return publishing.publish(write, of_folder(Path.cwd()), paths, Namespace())


def texts(site: Path) -> list[str]:
    """Return the texts of the site; no other folder of a site is beside it."""
    assert sorted(path.name for path in site.parent.iterdir()) == [".site.lock", "site"]
    return [path.read_text() for path in site.iterdir()]


def test_a_site_is_replaced_when_the_new_one_is_whole(site):
    """Until then readers have the old one. Nothing else is written, neither asv's graphs nor its feed."""

    def write(campaign, results, new):
        (new / "index.html").write_text("new")
        assert (site / "index.html").read_text() == "old"
        assert (campaign, results) == (of_folder(site.parent), site.parent / "results")
        return [], []

    assert publish(site, write) == 0
    assert texts(site) == ["new"]


def test_a_site_stays_where_publishing_fails(site):
    def fail(campaign, results, new):
        (new / "index.html").write_text("new")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        publish(site, fail)
    assert {*texts(site)} == {"old"}


def test_a_site_without_what_cannot_be_read_is_written_and_has_exit_code_2(site, caplog):
    """`asv gh-pages` pushes none of it. A warning changes no exit code."""
    problems = []

    def write(campaign, results, new):
        for name in publishing.OF_A_SITE:
            (new / name).write_text("new")
        return problems, [TensorcopyError("a warning", got="a", allowed="b", next="c")]

    assert publish(site, write) == 0
    problems.append(TensorcopyError("damaged", got="a", allowed="b", next="c"))
    assert publish(site, write) == 2
    assert [record.getMessage()[:9] for record in caplog.records if record.levelname != "INFO"] == ["a warning", "a warning", "damaged: "]
    assert {*texts(site)} == {"new"}


def test_a_site_that_holds_results_or_is_a_link_is_not_replaced(site):
    """The launches would be lost, or the link to them."""
    link = site.with_name("link")
    link.symlink_to(site)
    for values in ({"results_dir": str(site / "results")}, {"html_dir": str(link)}):
        paths = configuration.paths({"html_dir": str(site), **values})
        with pytest.raises(TensorcopyError, match="asv publish replaces the folder of the site"):
            publishing.publish(lambda *_: pytest.fail("it ran"), of_folder(Path.cwd()), paths, Namespace())


KILLED = """
import os, signal
from argparse import Namespace
from tensorcopy import configuration
from tensorcopy.asv_plugin import publishing
from tensorcopy.copying.shipped import shipped
write = lambda campaign, results, new: ((new / "half").touch(), os.kill(os.getpid(), signal.SIGKILL))
publishing.publish(write, shipped(), configuration.paths({"html_dir": "site"}), Namespace())
"""


def test_a_site_stays_where_publishing_is_killed(site):
    """The next one takes the lock and removes what is half written."""
    assert subprocess.run([sys.executable, "-c", KILLED], check=False).returncode == -signal.SIGKILL
    assert {path.read_text() for path in site.iterdir()} == {"old"}
    assert [path.name for path in (site.parent / ".site.new").iterdir()] == ["half"]

    def write(campaign, results, new):
        assert [*new.iterdir()] == []
        return [], []

    publish(site, write)
    assert texts(site) == []


def test_two_programs_do_not_publish_at_once(site):
    """The second ends in one line."""

    def write(campaign, results, new):
        with pytest.raises(TensorcopyError, match="another asv publish is running"):
            publish(site, lambda *_: pytest.fail("it ran"))
        return [], []

    publish(site, write)


def test_gh_pages_has_a_commit_for_each_site(site, no_other_repository, monkeypatch):
    """Also in a folder of a repository: asv fetches the branch from the current folder, which has to be the top. Then it is rewritten."""
    top = site.parent.parent
    git(top, "init", "-q", "-b", "main", ".")
    for name, value in {"name": "a", "email": "a@example.org"}.items():
        git(top, "config", f"user.{name}", value)
        for role in ("AUTHOR", "COMMITTER"):
            monkeypatch.setenv(f"GIT_{role}_{name.upper()}", value)
    paths = configuration.paths({"html_dir": "site"})
    for text, rewrite, commits in (("one", False, 1), ("two", False, 2), ("two", False, 2), ("three", True, 1)):
        monkeypatch.chdir(site.parent)

        def write(campaign, results, new, text=text):
            for name in publishing.OF_A_SITE:
                (new / name).write_text(text)
            return [], []

        assert publishing.gh_pages(write, of_folder(Path.cwd()), paths, Namespace(no_push=True, rewrite=rewrite)) == 0
        assert len(git(top, "log", "--format=%h", "gh-pages").splitlines()) == commits
        assert git(top, "show", "gh-pages:index.html") == text
    assert (site / "index.html").read_text() == "three"


def test_gh_pages_needs_a_repository(site, no_other_repository):
    with pytest.raises(TensorcopyError, match="gh-pages is a branch: got no git repository"):
        publishing.gh_pages(lambda *_: pytest.fail("it ran"), of_folder(Path.cwd()), configuration.paths({}), Namespace())


def test_preview_lets_asv_serve_the_site(site, monkeypatch):
    served = []
    monkeypatch.setattr(publishing.Preview, "run", lambda conf, port, browser: served.append((conf.html_dir, port, browser)))
    paths = configuration.paths({"html_dir": "site"})
    assert publishing.preview(of_folder(Path.cwd()), paths, Namespace(port=65535, browser=True)) == 0
    assert served == [(str(site), 65535, True)]
