"""Errors and progress of asv as a subprocess."""

from __future__ import annotations

import json

import pytest

from tensorcopy.asv_plugin import commands, configuration, program, publisher
from tensorcopy.asv_plugin.program import Run, _failure, _PhaseReader
from tensorcopy.errors import TensorcopyError
from tests.conftest import ROOT

ERROR = TensorcopyError("no torch", got="none", allowed="one", next="install it")


def ignore(share, elapsed, suite):
    pass


def test_an_error_of_the_plugin_reaches_the_caller_unchanged(monkeypatch, tmp_path):
    """A real `asv run` of an unknown release raises it with its four parts."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("HOME", str(tmp_path))  # asv's list of machines
    configuration.register_machine("box")
    config = configuration.write_configuration(tmp_path, tmp_path / "results")
    with pytest.raises(TensorcopyError) as caught:
        program.measure(Run("v9.9.9", "release:3.11", "^copies", "^copies", {}, "box"), config, ignore, ignore)
    assert (caught.value.what, caught.value.got) == ("unknown torch release", "'v9.9.9'")


def test_the_plugin_writes_its_first_error_into_the_callers_file(monkeypatch, tmp_path, caplog):
    """A later error may be its consequence. The log has the error in one line."""
    monkeypatch.setenv(commands.ERROR_FILE, str(tmp_path / "error.json"))
    with pytest.raises(SystemExit) as caught, commands.exit_on_error():
        raise ERROR
    commands.pass_on(TensorcopyError("another", got="", allowed="", next=""))
    assert caught.value.code == 2
    assert json.loads((tmp_path / "error.json").read_text()) == ERROR.document()
    assert str(ERROR) in caplog.text


@pytest.mark.parametrize(
    ("lines", "got"),
    [
        (["[50.00%] ··· copies.BySize.time_copy failed", "· threads.Copies.time_copy failed", "end"],
         "failures in copies.BySize.time_copy, threads.Copies.time_copy"),
        (["[50.00%] ··· a.B.time_c failed", "Traceback", "torch.AcceleratorError: CUDA error: unknown", "ValueError: 1"],
         "failures in a.B.time_c: torch.AcceleratorError: CUDA error: unknown"),
        (["Traceback", "ModuleNotFoundError: No module named 'x'", "asv: more"], "ModuleNotFoundError: No module named 'x'"),
        (["·· x: got a; allowed: b; next: c", "ValueError: 1"], "ValueError: 1"),
        (["[50.00%] ··· a.B.time_c failed", "PermissionError: [Errno 13] Permission denied: '/dev/cpu_dma_latency'"],
         "failures in a.B.time_c: PermissionError: [Errno 13] Permission denied: '/dev/cpu_dma_latency'"),
        (["PermissionError: [Errno 13] Permission denied: 'x'", "asv: more"], "PermissionError: [Errno 13] Permission denied: 'x'"),
        (["OSError: [Errno 28] No space left on device", "asv: more"], "No space left on device"),
        (["first", "· second", "", "·· third"], "second third"),
    ],
    ids=["failed cases", "a failed case with its exception", "an exception", "a line that only resembles an error",
         "a failed case that quotes the system", "a file that is not permitted", "a full disk", "asv's last lines"],
)  # fmt: skip
def test_a_failure_names_its_most_specific_cause(lines, got):
    """The order: failed cases, exception, asv's last lines."""
    assert _failure("asv run failed", lines, next="look").got == got


def test_progress_is_read_from_asvs_output():
    """asv prints a share only while it measures."""
    installing, measuring = [], []
    reader = _PhaseReader(lambda *report: installing.append(report), lambda *report: measuring.append(report))
    for line in ("· Installing", "", "·· Benchmarking release-py3.11", "[12.50%] ··· Running (copies.BySize.time_copy--).", ""):
        reader.read(line)
    assert [(share, suite) for share, _, suite in installing] == [(0.0, "")] * 2
    assert [(share, suite) for share, _, suite in measuring] == [(0.125, "copies.BySize")]


@pytest.mark.parametrize(("writes", "line"), [(True, str(ERROR)), (False, "no pages of tensorcopy to write")], ids=["a fault", "no plugin"])
def test_a_site_that_cannot_be_written_ends_asv_with_exit_code_2(monkeypatch, tmp_path, caplog, writes, line):
    """In one line, without a traceback. Without the second plugin, `asv publish` would write asv's files only."""

    def write(results_dir, html_dir):
        raise ERROR

    monkeypatch.setattr(publisher, "_writers", [write] if writes else [])
    conf = type("Conf", (), {"html_dir": str(tmp_path), "results_dir": str(tmp_path)})
    with pytest.raises(SystemExit, match="2"):
        publisher.Pages.publish(conf, None, None, None, None)
    assert line in caplog.text
