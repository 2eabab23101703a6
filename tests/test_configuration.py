"""asv's configuration and its list of machines."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from asv.config import Config
from asv.machine import Machine, MachineCollection

from tensorcopy import configuration
from tensorcopy.errors import TensorcopyError
from tensorcopy.results import writing
from tests.conftest import ROOT


@pytest.fixture
def machine_file(tmp_path, monkeypatch):
    """asv's list of machines, in a temporary home directory."""
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path / ".asv-machine.json"


def test_registering_a_machine_fills_every_field(machine_file):
    """`asv machine --yes` would save only the name."""
    configuration.register_machine("box")
    machine = json.loads(machine_file.read_text())["box"]
    assert set(machine) == {"machine", "os", "arch", "cpu", "num_cpu", "ram"}
    assert all(machine.values())
    assert not any(character.isdigit() for character in machine["os"])  # a kernel version would split asv's graphs at every update


def test_the_list_of_machines_keeps_what_another_checkout_adds(machine_file, monkeypatch):
    """It is read again under a lock."""
    listed, count = configuration._listed_machines, 0

    def read(path):
        nonlocal count
        machines, count = listed(path), count + 1
        if count == 1:  # another process comes between
            path.write_text(json.dumps({"other": {"machine": "other"}, "version": 1}))
        return machines

    monkeypatch.setattr(configuration, "_listed_machines", read)
    configuration.register_machine("box")
    assert sorted(json.loads(machine_file.read_text())) == ["box", "other", "version"]


def test_asv_never_empties_its_list_of_machines(machine_file, monkeypatch):
    """Of asv itself, a run that is killed at its start would leave an empty list."""
    monkeypatch.setattr(Machine, "save", Machine.save)
    monkeypatch.setattr(MachineCollection, "save", MachineCollection.save)
    configuration.register_machine("other")
    configuration.register_machine("box")
    configuration.write_machines_as_a_whole()
    before = machine_file.stat()
    machine = Machine.load(machine_name="box")
    assert (machine_file.stat().st_ino, machine_file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    Machine.load(machine_name="box", ram="lots")
    after = json.loads(machine_file.read_text())
    assert machine_file.stat().st_ino != before.st_ino
    assert (after["box"], after["other"]["machine"]) == ({**vars(machine), "ram": "lots"}, "other")


def test_asv_describes_the_machine_as_the_one_writer_of_the_results(tmp_path, monkeypatch, capsys):
    """It does so before it measures, in the results themselves. What its list does not have stays."""
    path = tmp_path / "box" / "machine.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"machine": "box", "cpu": "Box 9000", "ram": "8", "version": 1}))
    monkeypatch.setattr(Machine, "save", Machine.save)
    monkeypatch.setattr(MachineCollection, "save", MachineCollection.save)
    configuration.write_machines_as_a_whole()
    monkeypatch.setattr(writing, "NOTICE", 0.05)
    with ThreadPoolExecutor(1) as pool, writing.one_writer(tmp_path):
        machine = Machine()
        machine.__dict__ |= {"machine": "box", "cpu": "Box 9001", "ram": ""}
        saving = pool.submit(machine.save, str(tmp_path))
        time.sleep(0.2)
        assert "9000" in path.read_text()
    saving.result()
    assert capsys.readouterr().out.startswith(f"waiting for {tmp_path.name}/, which another process is writing")
    assert json.loads(path.read_text()) == {"machine": "box", "cpu": "Box 9001", "ram": "8", "version": 1}


def test_paths_come_from_asvs_configuration(monkeypatch):
    """asv.conf.json of the current folder names them."""
    monkeypatch.chdir(ROOT)
    paths = configuration.paths()
    assert (paths.results, paths.html, paths.environments) == (ROOT / "results", ROOT / "site", ROOT / ".asv" / "env")
    assert paths.pythons == ("3.11", "3.9")


def test_a_staging_configuration_differs_only_in_the_place_of_results(tmp_path, monkeypatch):
    """The environments and suites remain those of this checkout."""
    monkeypatch.chdir(ROOT)
    path = configuration.write_configuration(tmp_path / "pass", tmp_path / "pass" / "results")
    monkeypatch.chdir(tmp_path)
    conf = Config.load(str(path))
    assert conf.results_dir == str(tmp_path / "pass" / "results")
    assert (conf.env_dir, conf.benchmark_dir) == (str(ROOT / ".asv" / "env"), str(ROOT / "benchmarks"))


def test_a_damaged_list_of_machines_is_named(machine_file):
    """asv keeps it in the home directory."""
    machine_file.write_text('{"box": ')
    with pytest.raises(TensorcopyError, match=r"asv's list of machines cannot be read: .*; next: remove .*\.asv-machine\.json"):
        configuration.register_machine("box")
