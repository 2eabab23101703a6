"""What asv is told of this machine."""

from __future__ import annotations

import json

import pytest

from tensorcopy.asv_plugin import configuration


@pytest.fixture
def file(tmp_path, monkeypatch):
    """asv's list of machines, in a home of its own."""
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path / ".asv-machine.json"


def test_a_machine_is_registered_with_every_field(file):
    """asv by itself would save the name and ask for the rest."""
    configuration.register("box")
    known = json.loads(file.read_text())["box"]
    assert set(known) == {"machine", "os", "arch", "cpu", "num_cpu", "ram"}
    assert all(known.values())
    assert not any(character.isdigit() for character in known["os"])  # no kernel version: it would begin a new line on every update


def test_a_known_machine_stays_as_it_is(file):
    """Its fields are somebody's choice."""
    file.write_text(json.dumps({"box": {"machine": "box", "ram": "lots"}, "version": 1}))
    configuration.register("box")
    assert json.loads(file.read_text())["box"]["ram"] == "lots"


def test_the_only_known_machine_is_not_taken_for_another(file, monkeypatch):
    """asv gives a host that it does not know the only entry it has; results would go under its name."""
    monkeypatch.setattr("asv.machine._get_unique_machine_name", lambda: "host")
    file.write_text(json.dumps({"box": {"machine": "box"}, "version": 1}))
    configuration.register("host")
    assert json.loads(file.read_text())["host"]["machine"] == "host"


def test_places_are_asvs(monkeypatch):
    """From asv.conf.json of the current folder."""
    from tests.conftest import ROOT

    monkeypatch.chdir(ROOT)
    paths = configuration.paths()
    assert (paths.results, paths.html, paths.environments) == (ROOT / "results", ROOT / "site", ROOT / ".asv" / "env")
    assert paths.pythons == ("3.11", "3.9")
