"""asv.conf.json, read without asv."""

import pytest

from tensorcopy import configuration
from tensorcopy.errors import TensorcopyError
from tests.conftest import ROOT


def test_paths_come_from_asvs_configuration(monkeypatch):
    """asv.conf.json of the current folder names them; it has comments. What asv reads lies in a folder that git ignores."""
    monkeypatch.chdir(ROOT)
    paths = configuration.paths()
    assert (paths.results, paths.html, paths.environments) == (ROOT / "results", ROOT / "site", ROOT / ".asv" / "env")
    assert paths.projection == ROOT / ".asv" / "results"
    assert paths.pythons == ("3.11", "3.9")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "neither a project nor a checkout .* next: tensorcopy init"),
        ("{", r"asv.conf.json cannot be read"),
        ("[1]", "cannot be read"),
    ],
    ids=["missing", "damaged", "no object"],
)
def test_a_folder_without_a_usable_configuration_is_an_error(monkeypatch, tmp_path, text, message):
    monkeypatch.chdir(tmp_path)
    if text is not None:
        (tmp_path / "asv.conf.json").write_text(text)
    with pytest.raises(TensorcopyError, match=message):
        configuration.paths()
