"""How tensorcopy ends asv, and what `dashboard` says of one that has failed."""

import re
import shutil
import subprocess
import sys

import pytest

from tensorcopy import configuration
from tensorcopy.cli.measure import _publish
from tensorcopy.copying.shipped import shipped
from tensorcopy.errors import TensorcopyError
from tests.conftest import ROOT


def test_the_dashboard_quotes_an_asv_publish_that_fails(monkeypatch, tmp_path):
    """Its last line, in one line; here the plugin of the pages is missing."""
    plugin, written = ', ".tensorcopy.site.publisher"', (ROOT / "asv.conf.json").read_text()
    (tmp_path / "asv.conf.json").write_text(written.replace(plugin, ""))
    (tmp_path / "tensorcopy").mkdir()
    shutil.copy(ROOT / "tensorcopy/releases.toml", tmp_path / "tensorcopy")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TensorcopyError, match=r"asv publish failed: got asv publish has no pages .*: got asv.conf.json without the plugin"):
        _publish(shipped(), configuration.paths())


def test_a_damaged_configuration_ends_asv_in_one_line(tmp_path):
    """What asv itself reads without an error, before it knows this plugin."""
    (tmp_path / "asv.conf.json").write_text((ROOT / "asv.conf.json").read_text().replace('"html_dir": "site"', '"html_dir": 5'))
    completed = subprocess.run([sys.executable, "-m", "asv", "publish"], cwd=tmp_path, check=False, capture_output=True, text=True)
    shown = completed.stdout + completed.stderr
    assert completed.returncode == 2, shown
    assert re.fullmatch(r".*asv.conf.json cannot be read: got Expected .*`\$\.html_dir`.*\n", shown)


def test_an_interruption_ends_asv_in_one_line():
    program = "from tensorcopy.asv_plugin import commands; commands.end_in_one_line(); raise KeyboardInterrupt"
    completed = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert (completed.returncode, completed.stderr) == (130, "")
    assert completed.stdout == "interrupted; complete launches are kept\n"
