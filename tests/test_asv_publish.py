"""How tensorcopy ends asv, and what `dashboard` says of one that has failed."""

import re
import shutil
import subprocess
import sys

import pytest

from tensorcopy import configuration
from tensorcopy.asv_plugin import publisher
from tensorcopy.cli.measure import _publish
from tensorcopy.errors import TensorcopyError
from tests.conftest import ROOT

ERROR = TensorcopyError("no torch", got="none", allowed="one", next="install it")


@pytest.mark.parametrize(
    ("replaced", "by", "text"),
    [
        (', ".tensorcopy.site.publisher"', "", "asv publish has no pages of tensorcopy to write: got asv.conf.json without the plugin"),
        ('"html_dir": "site"', '"html_dir": "."', "asv publish removes the folder of the site before it writes it"),
        ('"html_dir": "site"', '"html_dir": ".asv"', "asv publish removes .* got .asv, a folder that has env/ in it"),
    ],
    ids=["without the plugin of the pages", "a site that holds more", "a site that holds the environments"],
)
def test_the_dashboard_quotes_an_asv_publish_that_fails(monkeypatch, tmp_path, replaced, by, text):
    """Its last line, in one line."""
    written = (ROOT / "asv.conf.json").read_text()
    assert replaced in written
    (tmp_path / "asv.conf.json").write_text(written.replace(replaced, by))
    (tmp_path / "tensorcopy").mkdir()
    shutil.copy(ROOT / "tensorcopy/releases.toml", tmp_path / "tensorcopy")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TensorcopyError, match=f"asv publish failed: got {text}"):
        _publish(configuration.paths())


@pytest.mark.parametrize(("field", "value"), [("pythons", "3"), ("html_dir", "5"), ("env_dir", "[]")])
def test_a_damaged_configuration_ends_asv_in_one_line(tmp_path, field, value):
    """What asv itself reads without an error, before it knows this plugin."""
    written = re.sub(rf'"{field}": (\[[^]]*\]|"[^"]*")', f'"{field}": {value}', (ROOT / "asv.conf.json").read_text())
    (tmp_path / "asv.conf.json").write_text(written)
    completed = subprocess.run([sys.executable, "-m", "asv", "publish"], cwd=tmp_path, check=False, capture_output=True, text=True)
    shown = completed.stdout + completed.stderr
    assert completed.returncode == 2, shown
    assert shown.count("\n") == 1
    assert "asv.conf.json cannot be read: got Expected" in shown
    assert f"`$.{field}`" in shown


def test_an_interruption_ends_asv_in_one_line():
    program = "from tensorcopy.asv_plugin import commands; commands.end_in_one_line(); raise KeyboardInterrupt"
    completed = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert (completed.returncode, completed.stderr) == (130, "")
    assert completed.stdout == "interrupted; complete launches are kept\n"


@pytest.mark.parametrize(("writes", "line"), [(True, str(ERROR)), (False, "no pages of tensorcopy to write")], ids=["a fault", "no plugin"])
def test_a_site_that_cannot_be_written_ends_asv_with_exit_code_2(monkeypatch, tmp_path, caplog, writes, line):
    """In one line, without a traceback. Without the second plugin, `asv publish` would write asv's files only."""

    def write(results_dir, html_dir):
        raise ERROR

    monkeypatch.setattr(publisher, "_writers", [write] if writes else [])
    conf = type("Conf", (), {"html_dir": str(tmp_path), "results_dir": str(tmp_path), "env_dir": str(tmp_path), "pythons": ()})
    with pytest.raises(SystemExit, match="2"):
        publisher.Pages.publish(conf, None, None, None, None)
    assert line in caplog.text
