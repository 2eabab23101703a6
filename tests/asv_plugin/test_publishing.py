"""How tensorcopy ends asv, and what `dashboard` says of one that has failed."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from tensorcopy import configuration
from tensorcopy.asv_plugin import publishing
from tensorcopy.cli.measure import _publish
from tensorcopy.copying.shipped import shipped
from tensorcopy.errors import TensorcopyError
from tests.conftest import ROOT


def test_the_dashboard_quotes_an_asv_publish_that_fails(monkeypatch, tmp_path):
    """Its last line, in one line; here the site would replace a file."""
    shutil.copy(ROOT / "asv.conf.json", tmp_path)
    (tmp_path / "site").touch()
    (tmp_path / "tensorcopy").mkdir()
    shutil.copy(ROOT / "tensorcopy/releases.toml", tmp_path / "tensorcopy")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TensorcopyError, match=r"asv publish failed: got asv publish replaces the folder of the site: got .*site, a file"):
        _publish(shipped(), configuration.paths())


def test_a_damaged_configuration_ends_asv_in_one_line(tmp_path):
    """What asv itself reads without an error, before it knows this plugin."""
    (tmp_path / "asv.conf.json").write_text((ROOT / "asv.conf.json").read_text().replace('"html_dir": "site"', '"html_dir": 5'))
    completed = subprocess.run([sys.executable, "-m", "asv", "publish"], cwd=tmp_path, check=False, capture_output=True, text=True)
    shown = completed.stdout + completed.stderr
    assert completed.returncode == 2, shown
    assert re.fullmatch(r".*asv.conf.json cannot be read: got Expected .*`\$\.html_dir`.*\n", shown)


@pytest.fixture
def site(tmp_path, monkeypatch) -> Path:
    """The folder of a site, in a project."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "site").mkdir()
    for name in (*publishing.OF_A_SITE, "index.html"):
        (tmp_path / "site" / name).write_text("old")
    return tmp_path / "site"


def publish(site: Path, run: Callable[..., object]) -> SimpleNamespace:
    """Publish by a stand-in for asv, which writes into the folder that it is told; return asv's configuration."""
    conf = SimpleNamespace(html_dir=str(site), results_dir="results", env_dir=".asv/env", pythons=["3.11"])
    publishing._run(conf, run=run)
    return conf


def test_a_site_is_replaced_when_the_new_one_is_whole(site):
    """Until then readers have the old one."""

    def write(conf, **_):
        Path(conf.html_dir).mkdir()
        (Path(conf.html_dir) / "index.html").write_text("new")
        assert (site / "index.html").read_text() == "old"

    conf = publish(site, write)
    assert [path.read_text() for path in site.iterdir()] == ["new"]
    assert sorted(path.name for path in site.parent.iterdir()) == [".asv", "site"]
    assert conf.html_dir == str(site)


def test_a_site_stays_where_publishing_fails(site):
    def fail(conf, **_):
        Path(conf.html_dir).mkdir()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        publish(site, fail)
    assert {path.read_text() for path in site.iterdir()} == {"old"}
    assert sorted(path.name for path in site.parent.iterdir()) == [".asv", "site"]


def test_two_programs_do_not_publish_at_once(site, capsys):
    """The second ends in one line."""

    def write(conf, **_):
        with pytest.raises(SystemExit):
            publish(site, lambda **_: pytest.fail("it ran"))
        Path(conf.html_dir).mkdir()

    publish(site, write)
