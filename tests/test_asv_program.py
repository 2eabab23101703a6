"""`asv publish` as a subprocess, and how the plugin ends asv."""

import json
import subprocess
import sys

import pytest

from tensorcopy.asv_plugin import commands, program, publisher
from tensorcopy.asv_plugin.program import _failure
from tensorcopy.errors import TensorcopyError

ERROR = TensorcopyError("no torch", got="none", allowed="one", next="install it")


def test_an_error_of_the_plugin_reaches_the_caller_unchanged(monkeypatch, tmp_path):
    """A real `asv publish` without the plugin of the pages raises it with its four parts."""
    (tmp_path / "asv.conf.json").write_text(
        '{"version": 1, "repo": "releases.toml", "dvcs": "torch-releases", "plugins": [".tensorcopy.asv_plugin"], "html_dir": "site"}'
    )
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TensorcopyError) as caught:
        program.publish()
    assert caught.value.what == "asv publish has no pages of tensorcopy to write"
    assert caught.value.next == "add that plugin to asv.conf.json"


def test_the_plugin_writes_its_first_error_into_the_callers_file(monkeypatch, tmp_path, caplog):
    """A later error may be its consequence. The log has the error in one line."""
    monkeypatch.setenv(commands.ERROR_FILE, str(tmp_path / "error.json"))
    with pytest.raises(SystemExit) as caught, commands.exit_on_error():
        raise ERROR
    commands.pass_on(TensorcopyError("another", got="", allowed="", next=""))
    assert caught.value.code == 2
    assert json.loads((tmp_path / "error.json").read_text()) == ERROR.document()
    assert str(ERROR) in caplog.text


def test_an_interruption_ends_asv_in_one_line():
    program = "from tensorcopy.asv_plugin import commands; commands.end_in_one_line(); raise KeyboardInterrupt"
    completed = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert (completed.returncode, completed.stderr) == (130, "")
    assert completed.stdout == "interrupted; complete launches are kept\n"


@pytest.mark.parametrize(
    ("lines", "got"),
    [
        (["Traceback", "ModuleNotFoundError: No module named 'x'", "asv: more"], "ModuleNotFoundError: No module named 'x'"),
        (["PermissionError: [Errno 13] Permission denied: 'x'", "asv: more"], "PermissionError: [Errno 13] Permission denied: 'x'"),
        (["OSError: [Errno 28] No space left on device", "asv: more"], "No space left on device"),
        (["first", "· second", "", "·· third"], "second third"),
    ],
    ids=["an exception", "a file that is not permitted", "a full disk", "asv's last lines"],
)
def test_a_failure_names_its_most_specific_cause(lines, got):
    assert _failure(lines).got == got


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
