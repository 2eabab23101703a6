"""A name selects a result, and two names select results of one machine."""

import csv
import json
import re
from argparse import Namespace
from datetime import timedelta

import pytest
from asv.config import Config

from tensorcopy.asv_plugin import comparing, finding
from tensorcopy.cli import main
from tensorcopy.copying.shipped import shipped
from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import release_table
from tensorcopy.results import reader, select
from tensorcopy.results.result import answering_machine
from tensorcopy.site import facts
from tests import launch_files

BEFORE, NEWEST = release_table.load()[-2:]
CASE = "copies.BySize.time_copy clone_detach 16"
EARLY, LATE = launch_files.START, launch_files.START + timedelta(days=1)


def measure(folder, *results):
    """Write results given as (release, machine, python, started)."""
    for release, machine, python, started in results:
        side = f"{release.version}@{python}"
        launch_files.write(folder, {CASE: {side: 1.0}}, launches=1, machine=machine, start=started, identity=f"of {machine}")


@pytest.fixture
def folder(tmp_path):
    """Two Pythons and releases on one machine; later one Python on another."""
    results = [(release, "both", python, EARLY) for release in (BEFORE, NEWEST) for python in ("3.9", "3.11")]
    measure(tmp_path, *results, (NEWEST, "later", "3.11", LATE))
    return tmp_path


def selected(before, after, folder, machine=""):
    """Return (release, machine, python) of both sides."""
    pair = select.pair(before, after, folder, release_table.load(), machine)
    return [(result.sha, result.machine, result.python) for result in (pair.before, pair.after)]


def test_two_pythons_are_compared_on_a_machine_that_has_both(folder):
    """Although another machine has measured one of them later."""
    version = NEWEST.version
    assert selected(f"{version}@3.11", f"{version}@3.9", folder) == [(NEWEST.sha, "both", "3.11"), (NEWEST.sha, "both", "3.9")]
    assert selected(f"{version}@3.9", f"{version}@3.11", folder) == [(NEWEST.sha, "both", "3.9"), (NEWEST.sha, "both", "3.11")]


def test_two_releases_are_compared_on_a_machine_that_has_both(folder):
    """On its newest Python, or the newest that both share: a change of Python is none of torch."""
    assert selected(BEFORE.version, f"v{NEWEST.version}", folder) == [(BEFORE.sha, "both", "3.11"), (NEWEST.sha, "both", "3.11")]
    older = [(release, "mixed", "3.9", LATE) for release in (BEFORE, NEWEST)]
    measure(folder, (BEFORE, "both", "3.12", LATE), (NEWEST, "mixed", "3.11", LATE), *older)
    assert selected(BEFORE.version, NEWEST.version, folder, "both") == [(BEFORE.sha, "both", "3.11"), (NEWEST.sha, "both", "3.11")]
    assert selected(BEFORE.version, NEWEST.version, folder, "mixed") == [(BEFORE.sha, "mixed", "3.9"), (NEWEST.sha, "mixed", "3.9")]


def test_without_a_shared_machine_the_error_names_the_machines(tmp_path):
    """The next step names one machine per side, and works."""
    measure(tmp_path, (BEFORE, "first", "3.11", EARLY), (NEWEST, "second", "3.11", LATE))
    with pytest.raises(TensorcopyError, match="no machine has measured both sides") as caught:
        select.pair(BEFORE.version, NEWEST.version, tmp_path, release_table.load())
    assert caught.value.got == f"{BEFORE.version} on first; {NEWEST.version} on second"
    assert selected(*caught.value.next.split(), tmp_path) == [(BEFORE.sha, "first", "3.11"), (NEWEST.sha, "second", "3.11")]


def test_the_machine_can_be_given_for_both_sides(folder):
    """A release that it has not measured is an error that lists what there is."""
    with pytest.raises(TensorcopyError, match=rf"no such result: got {BEFORE.version}; allowed: torch {NEWEST.version} on later; "):
        select.pair(BEFORE.version, NEWEST.version, folder, release_table.load(), "later")


@pytest.mark.parametrize("names", [(NEWEST.version,) * 2, (NEWEST.version, f"{NEWEST.version}@3.9"), (f"{NEWEST.version}@later",) * 2])
def test_a_result_is_not_compared_with_itself(folder, names):
    """Every case would be unchanged, as if it had been measured twice: also where one side names the Python of both."""
    with pytest.raises(TensorcopyError, match=f"both sides are the same result: got torch {NEWEST.version}, Python"):
        select.pair(*names, folder, release_table.load())


def test_a_folder_selects_its_newest_release(folder, tmp_path):
    """And FOLDER:RELEASE another one; machines of different folders may differ."""
    other = tmp_path / "other"
    measure(other, (BEFORE, "elsewhere", "3.11", EARLY))
    assert selected(str(other), NEWEST.version, folder)[0] == (BEFORE.sha, "elsewhere", "3.11")
    sides = selected(f"{folder}:{BEFORE.version}@3.9", str(folder), other)
    assert sides == [(BEFORE.sha, "both", "3.9"), (NEWEST.sha, "both", "3.9")]


@pytest.mark.parametrize("name", ["", " ", f":{NEWEST.version}"])
def test_a_name_that_a_shell_left_empty_is_refused(folder, monkeypatch, name):
    """It does not stand for the current folder."""
    monkeypatch.chdir(folder)
    with pytest.raises(TensorcopyError, match="no result is named: got"):
        select.pair(name, NEWEST.version, folder, release_table.load())


def test_a_folder_of_one_machine_is_no_folder_of_results(folder, tmp_path):
    """The error names the release in the folder around it."""
    with pytest.raises(TensorcopyError, match=f"nothing to compare: .*; next: {tmp_path}:RELEASE@both"):
        select.pair(str(folder / "both"), str(folder / "later"), folder, release_table.load())


def test_machines_of_two_folders_are_the_same_only_with_the_same_identity(tmp_path):
    """Their name alone does not make them so: of the other folder's machines, the one of the same hardware is taken."""
    first, second, other = tmp_path / "first", tmp_path / "second", "ba9876543210"
    before, newest = {CASE: {BEFORE.version: 1.0}}, {CASE: {NEWEST.version: 1.0}}
    launch_files.write(first, before, identity="0123456789ab", start=EARLY)
    launch_files.write(second, newest, identity=other, start=LATE)
    pair = select.pair(str(first), str(second), tmp_path, release_table.load())
    assert [result.provenance["identity"] for result in (pair.before, pair.after)] == ["0123456789ab", other]
    launch_files.write(first, before, machine="fast", identity=other, start=EARLY)
    launch_files.write(second, newest, machine="fast", identity=other, start=EARLY)
    pair = select.pair(str(first), str(second), tmp_path, release_table.load())
    assert [result.machine for result in (pair.before, pair.after)] == ["fast", "fast"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (f"{NEWEST.version}@weekly", "unknown side: got '.*@weekly'; allowed: @ and one of 3.11, 3.9, both, cuda, later"),
        (f"{NEWEST.version}@3.13", r"no such result: got .*@3\.13; allowed: Python 3\.9, 3\.11 on both, later; "),
        ("1.0.0", "1.0.0"),
        ("nowhere:", "no such folder of results: got nowhere"),
        ("nowhere/here", "no such folder of results: got nowhere/here"),
    ],
    ids=["unknown word", "Python without results", "unknown release", "no folder", "no path"],
)
def test_a_name_that_selects_nothing_is_an_error(folder, name, message):
    with pytest.raises(TensorcopyError, match=message):
        select.pair(name, NEWEST.version, folder, release_table.load())


def test_the_newest_result_is_that_of_the_machine_with_the_longest_history(folder):
    """Although another has measured last; unless release, machine or Python restrict the choice."""
    results = reader.load_results(folder).results
    assert select.newest(results).machine == "both"
    assert select.newest(results, machine="later").machine == "later"
    newest = select.newest(results, python="3.9")
    assert (newest.sha, newest.machine) == (NEWEST.sha, "both")
    assert select.newest(results, BEFORE.version).sha == BEFORE.sha


GPU_CASE = "copies.Throughput.time_copy clone_detach 16 cuda"


@pytest.fixture
def two_devices(tmp_path, monkeypatch):
    """A machine with three releases on its CPU, and one with two on its GPU and one on its CPU that measured later, of one name each."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    older, before, newest = (release.version for release in release_table.load()[-3:])
    folder = tmp_path / "results"
    launch_files.write(folder, {CASE: dict.fromkeys((older, before, newest), 1.0)}, machine="with-cpu", identity="c", start=EARLY)
    on_gpu = {GPU_CASE: {before: 1.0, newest: 2.0}, CASE: {before: 1.0, newest: 0.5}}
    launch_files.write(folder, on_gpu, machine="with-gpu", identity="d", start=LATE, accelerators={"cuda": "NVIDIA H9"})
    return folder


@pytest.mark.parametrize(("device", "machine"), [("cpu", "with-cpu"), ("cuda", "with-gpu")])
def test_the_machine_of_a_device_is_the_one_with_its_longest_history(two_devices, device, machine):
    """In the terminal, whatever it asks, and on the site: newer launches of a GPU do not take the CPU's place."""
    results = reader.load_results(two_devices).results
    assert answering_machine(results, device) == machine
    assert select.pair(BEFORE.version, NEWEST.version, two_devices, release_table.load(), device=device).after.machine == machine
    assert select.newest(results, device=device).machine == machine
    assert {result.machine for axis in select.history(results, device=device) for result in axis} == {machine}
    assert facts.site(shipped(), results).answering[device].name == machine


def test_of_equal_histories_the_machine_that_measured_last_answers(folder):
    """And none does for a device that no machine has."""
    results = reader.load_results(folder).results
    alike = [result for result in results if result.sha == NEWEST.sha]
    assert answering_machine(alike, "cpu") == answering_machine(alike) == "later"
    assert answering_machine(results, "mps") == ""


COMMANDS = (f"compare {BEFORE.version} {NEWEST.version}", "history", "list times", "history --open")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("device", "where"), [("", "with-cpu, cpu"), ("cuda", "with-gpu, cuda")])
def test_the_first_line_names_the_machine_and_the_device(two_devices, capsys, command, device, where):
    """The CPU's by default; a machine that is named answers for its CPU too."""
    selection = ["--device", device] if device else []
    assert main([*command.split(), *selection]) == 0
    assert f"({where})" in capsys.readouterr().out.splitlines()[0]
    assert main([*command.split(), *selection, "--machine", "with-gpu"]) == 0
    assert f"(with-gpu, {device or 'cpu'})" in capsys.readouterr().out.splitlines()[0]


@pytest.mark.parametrize(
    ("selection", "following"),
    [("--device mps", "--device cpu"), ("--device cuda --machine with-cpu", "--device cuda")],
)
@pytest.mark.parametrize("command", [*COMMANDS[:3], f"why detach {BEFORE.version} {NEWEST.version}"])
def test_an_unmeasured_device_is_an_error_whose_next_command_works(two_devices, capsys, command, selection, following):
    """It says which devices were measured, and where."""
    assert main([*command.split(), *selection.split()]) == 2
    error = capsys.readouterr().err
    (following_command,) = re.findall(r"; next: tensorcopy (.*)\n", error)
    assert f"got {selection}; allowed: cpu (with-cpu), cuda (with-gpu); " in error
    assert following_command == f"{command} {following}"
    if not command.startswith("why"):  # for which nothing was profiled here
        assert main(following_command.split()) == 0


def test_a_device_selects_its_cases_in_every_format(two_devices, capsys):
    """On a machine with both the CPU's by default, and a line says what is left out."""
    command = ["compare", BEFORE.version, NEWEST.version, "--machine", "with-gpu"]
    for selection, case, verdict in (([], CASE, "faster"), (["--device", "cuda"], GPU_CASE, "slower")):
        shown = {}
        for form in ("text", "markdown", "json", "csv"):
            assert main([*command, *selection, "--format", form]) == 0
            shown[form] = capsys.readouterr().out
        name = launch_files.case(case).name
        device = launch_files.case(case).device
        document = json.loads(shown["json"])
        assert [(row["case"], row["time_verdict"]) for row in document["changes"]] == [(name, verdict)]
        assert document["device"] == device
        (row,) = csv.DictReader(shown["csv"].splitlines())
        assert (row["case"], row["device"], row["time_verdict"]) == (name, device, verdict)
        for form in ("text", "markdown"):
            assert name in shown[form].replace("\xa0", " ")
            assert f"(with-gpu, {device})" in shown[form]
            (other,) = {"cpu", "cuda"} - {device}
            assert f"cases on {other} are not among these" in shown[form]


BYTES = "memory.Host.track_peak detach_clone 1048576"


@pytest.fixture
def counting_gpu(tmp_path, monkeypatch):
    """A machine that timed its GPU alone, and counted bytes on both devices; and one with a longer history of the CPU, without counts."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    folder, sides = tmp_path / "results", (BEFORE.version, NEWEST.version)
    launch_files.write(folder, {CASE: dict.fromkeys(("2.8.0", *sides), 1.0)}, machine="with-cpu", identity="c", start=EARLY)
    launch_files.write(folder, {GPU_CASE: dict.fromkeys(sides, 1.0)}, machine="with-gpu", identity="d", start=LATE)
    for number, side in enumerate(sides):
        counted = {f"{BYTES} cpu": 2**22 + number * 2**20, f"{BYTES} cuda": 2**22}
        launch_files.write_counts(folder, side, counted, machine="with-gpu", identity="d", start=LATE)
    return sides


@pytest.mark.parametrize("machine", [[], ["--machine", "with-gpu"]], ids=["", "with-gpu"])
@pytest.mark.parametrize(
    ("device", "result"), [("cpu", "Bytes: more in 1, "), ("cuda", "Bytes: equal in 1 of 1"), ("", "Bytes: more in 1, ")]
)
def test_the_machine_of_counts_is_one_that_has_them_on_the_device(counting_gpu, capsys, device, result, machine):
    """Whatever it has timed there: host bytes are counted on a machine that times its GPU alone. Times have another machine."""
    assert main(["compare", *counting_gpu, "--metric", "bytes", *(["--device", device] if device else []), *machine]) == 0
    printed = capsys.readouterr().out
    assert f"(with-gpu, {device or 'cpu'})" in printed.splitlines()[0]
    assert result in printed


def test_counts_of_a_device_that_was_not_timed_have_a_history_and_no_times(counting_gpu, capsys):
    """And what was not counted is an error whose next command works."""
    on_gpu = ["--device", "cpu", "--machine", "with-gpu"]
    assert main(["history", "memory.Host", *on_gpu]) == 0
    assert "(with-gpu, cpu)" in capsys.readouterr().out.splitlines()[0]
    assert main(["compare", *counting_gpu, *on_gpu]) == 2
    assert "no result on cpu: got --device cpu --machine with-gpu; allowed: cpu (with-cpu), cuda (with-gpu); " in capsys.readouterr().err
    assert main(["compare", *counting_gpu, "--metric", "bytes", "--device", "mps"]) == 2
    error = capsys.readouterr().err
    assert "no bytes were counted on mps on both sides: got --device mps; allowed: cpu (with-gpu), cuda (with-gpu); " in error
    (following,) = re.findall(r"; next: tensorcopy (.*)\n", error)
    assert main(following.split()) == 0


@pytest.mark.parametrize(
    ("device", "machine", "names"), [("", None, "with-cpu: cpu"), ("cuda", None, "with-gpu: cuda"), ("", "with-gpu", "with-gpu: cpu, cuda")]
)
def test_asv_takes_the_machine_of_the_device(two_devices, campaign_of_asv, monkeypatch, capsys, device, machine, names):
    """Of several, `asv compare` prints its name before the table, and `asv find` begins with its launches."""
    monkeypatch.setenv("TENSORCOPY_DEVICE", device)
    values = {"version": 1, "project": "tensorcopy", "repo": "releases.toml", "dvcs": "torch-releases", "branches": ["releases"]}
    asked = {"revision1": BEFORE.version, "revision2": NEWEST.version, "machine": machine, "env_spec": None, "factor": 1.03}
    options = Namespace(**asked, use_stats=True, only_changed=False, split=False, sort="default")
    comparing.compare(Config.from_json({**values, "environment_type": "release"}), options)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"On {names}"
    assert any("'cuda'" in line for line in lines) is ("cuda" in names)
    stored = reader.load_results(two_devices).results
    places = finding.measured_in(stored, NEWEST.sha, machine or "", device or "cpu")
    assert places[0][0] == names.partition(":")[0]
    assert len(places) == (1 if machine else 2)
    monkeypatch.setenv("TENSORCOPY_DEVICE", "mps")
    with pytest.raises(TensorcopyError, match=f"; next: asv compare {BEFORE.version} {NEWEST.version} with TENSORCOPY_DEVICE=c"):
        comparing.compare(Config.from_json({**values, "environment_type": "release"}), options)


def test_an_error_lists_each_kind_of_case_once(tmp_path, monkeypatch, capsys):
    """Without its sizes, though both sides have it at several: one method would fill the list."""
    monkeypatch.chdir(tmp_path)
    sides = {BEFORE.version: 1.0, NEWEST.version: 1.0}
    cases = [f"copies.BySize.time_copy {method} {numel}" for method in ("clone_detach", "tensor") for numel in (1, 16, 128, 1024)]
    launch_files.write(tmp_path / "results", dict.fromkeys(cases, sides))
    assert main(["compare", *sides, "--case", "nothing"]) == 3
    assert "; allowed: copies.BySize clone_detach, copies.BySize tensor; next: " in capsys.readouterr().err
