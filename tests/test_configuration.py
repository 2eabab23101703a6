"""asv.conf.json, read without asv."""

import pytest

from tensorcopy import configuration
from tensorcopy.cli import main
from tensorcopy.errors import TensorcopyError
from tests import launch_files
from tests.conftest import ROOT


def test_paths_come_from_asvs_configuration(monkeypatch):
    """asv.conf.json of the current folder names them; it has comments."""
    monkeypatch.chdir(ROOT)
    paths = configuration.paths()
    assert (paths.results, paths.html, paths.environments) == (ROOT / "results", ROOT / "site", ROOT / ".asv" / "env")
    assert paths.pythons == ("3.11", "3.9")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "neither a project nor a checkout .* next: tensorcopy init"),
        ("{", r"asv.conf.json cannot be read"),
        ("[1]", "cannot be read"),
        (r'{"results_dir": "a\u0000b"}', r"cannot be read: .*\$\.results_dir"),
        (r'{"env_dir": "\ud800"}', r"cannot be read: .*\$\.env_dir"),
        (r'{"pythons": ["3.11\u0000"]}', r"cannot be read: .*\$\.pythons"),
    ],
    ids=["missing", "damaged", "no object", "a null character", "half a character", "a Python"],
)
def test_a_folder_without_a_usable_configuration_is_an_error(monkeypatch, tmp_path, text, message):
    monkeypatch.chdir(tmp_path)
    if text is not None:
        (tmp_path / "asv.conf.json").write_text(text)
    with pytest.raises(TensorcopyError, match=message):
        configuration.paths()


def test_every_command_reads_the_folder_of_the_configuration(every_python, monkeypatch, tmp_path, capsys):
    """Those that measure write there."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "asv.conf.json").write_text((ROOT / "asv.conf.json").read_text().replace("{", '{"results_dir": "elsewhere",', 1))
    launch_files.write_small(tmp_path / "elsewhere", "2.14.1", "2.15.0")
    for command in (["compare", "2.14.1", "2.15.0"], ["history"], ["history", "--open"]):
        assert main(command) == 0, capsys.readouterr().err
    assert configuration.paths().results == tmp_path / "elsewhere"


@pytest.mark.parametrize("command", ["compare 2.14.1 2.15.0", "history", "why a 2.14.1 2.15.0", "measure 2.15.0", "dashboard --no-serve"])
def test_a_run_below_the_project_says_where_its_folder_is(monkeypatch, tmp_path, capsys, command):
    """Reading commands have a folder without a configuration, which would be empty here."""
    (tmp_path / "asv.conf.json").write_text((ROOT / "asv.conf.json").read_text())
    (tmp_path / "benchmarks" / "deep").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "benchmarks" / "deep")
    assert main(command.split()) == 2
    assert "; next: cd ../..\n" in capsys.readouterr().err
