"""Selection, order and resumption of passes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
import torch

from tensorcopy import configuration
from tensorcopy.configuration import Paths
from tensorcopy.cli import main
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import plan, run_passes
from tensorcopy.measure.plan import Measurement
from tensorcopy.releases import release_table, uv
from tensorcopy.results import reader, suite_specs
from tensorcopy.worker import nvidia
from tensorcopy.worker.declarations import CHECKOUT
from tensorcopy.worker.nvidia import Gpu
from tests.conftest import measured_in_passes

TIMES = {"clone_detach": [1.0, 1.01, 0.99]}
FIVE = [Measurement(release, "3.11") for release in release_table.load()[-5:]]
OLD_GPU = Gpu("NVIDIA H200", "550.54.14", 2**37, 0.0, (), 345, 1980, 31, True, (), False, capability=(9, 0))


def test_each_round_of_passes_has_a_random_order():
    """No release has two passes before another has one, whatever the drift."""
    order = plan.pass_order(dict.fromkeys(FIVE, 3), Random(0))
    rounds = [order[start : start + len(FIVE)] for start in range(0, len(order), len(FIVE))]
    assert [Counter(releases) for releases in rounds] == [Counter(FIVE)] * 3
    assert len({tuple(releases) for releases in rounds}) > 1


def test_only_missing_passes_are_measured():
    """Releases that miss most passes come first."""
    order = plan.pass_order({FIVE[0]: 0, FIVE[1]: 1, FIVE[2]: 0, **dict.fromkeys(FIVE[3:], 2)}, Random(0))
    assert Counter(order) == {FIVE[1]: 1, **dict.fromkeys(FIVE[3:], 2)}
    assert set(order[: len(FIVE) - 3]) == set(FIVE[3:])


def test_groups_for_a_small_disk_share_the_newest_release():
    """It makes the groups comparable."""
    groups = plan.groups(FIVE, 3)
    assert groups == [[FIVE[0], FIVE[1], FIVE[4]], [FIVE[2], FIVE[3], FIVE[4]]]
    assert plan.groups(FIVE[::-1], 3)[0][-1] == FIVE[4]  # in whatever order they were named
    assert plan.groups(FIVE, 5) == [FIVE]
    assert all(len(group) <= 2 for group in plan.groups(FIVE, 2))


def test_a_range_may_name_its_python(monkeypatch):
    """Otherwise the configuration's first suitable Python is used.

    A release that is named twice is measured once.
    """
    monkeypatch.setattr(uv, "find_python", lambda python: Path(python))
    measurements, skipped = plan.select(["1.12.1..2.0.1", "2.0.1@3.9", "2.0.1"], ("3.11", "3.9"))
    assert [(measurement.release.version, measurement.python) for measurement in measurements] == [
        ("1.12.1", "3.9"),
        ("1.13.1", "3.11"),
        ("2.0.1", "3.11"),
        ("2.0.1", "3.9"),
    ]
    assert skipped == []


def test_a_release_without_its_python_is_skipped(monkeypatch):
    """The message names it. Where no release is left, this is an error."""
    monkeypatch.setattr(uv, "find_python", lambda python: Path(python) if python == "3.11" else None)
    measurements, skipped = plan.select(["1.12.1..1.13.1"], ("3.11", "3.9"))
    assert [measurement.release.version for measurement in measurements] == ["1.13.1"]
    assert skipped[0].startswith("torch 1.12.1 is skipped: it has wheels for Python 3.7 to 3.10")
    with pytest.raises(TensorcopyError, match="no release can be measured here"):
        plan.select(["1.12.1"], ("3.11", "3.9"))


BY_SIZE, PEAK = "copies.BySize.time_copy", "memory.Host.track_peak"


@pytest.fixture
def measured_file(tmp_path):
    """A result with three passes of one suite, measured on the CPU."""
    return measured_in_passes(tmp_path / "results", FIVE[-1].release, TIMES)


def changed(path, change):
    """Change a JSON document."""
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def test_only_complete_passes_count(measured_file):
    """A pass that is left out or without samples does not; a missing file has none."""
    assert plan.count_passes(measured_file, "^copies") == 3
    assert plan.count_passes(measured_file.with_name("none.json"), "^copies") == 0
    empty = {**json.loads(measured_file.read_text())["passes"][0], "id": "empty", "suites": {}}
    changed(measured_file, lambda document: document["passes"].append(empty))
    assert plan.count_passes(measured_file, "^copies") == 3
    changed(measured_file, lambda document: document["passes"][0].update(left_out="a build ran beside it"))
    assert plan.count_passes(measured_file, "^copies") == 2


def test_a_suite_whose_version_was_raised_is_measured_again(small_checkout):
    """As CONTRIBUTING says, in benchmarks.json: its numbers are no longer read. The other suites keep theirs."""
    paths = list((small_checkout / "results").glob("*/*-py*.json"))
    stored = {path: plan.count_passes(path, plan.timed_suites()) for path in paths}
    assert all(stored.values())
    assert [plan.missing_passes(path, plan.timed_suites(), passes) for path, passes in stored.items()] == [0] * len(stored)
    changed(small_checkout / "results" / "benchmarks.json", lambda suites: suites["copies.ByGrad.time_copy"].update(version="5"))
    assert [plan.missing_passes(path, plan.timed_suites(), passes) for path, passes in stored.items()] == list(stored.values())
    assert [plan.missing_passes(path, "^copies.BySize", passes) for path, passes in stored.items()] == [0] * len(stored)


@pytest.mark.parametrize("known", [True, False], ids=["asv has seen it", "asv has not seen it"])
def test_a_new_suite_is_measured_in_results_that_had_all_passes(small_checkout, monkeypatch, known):
    """Its cases are missing, although every pass had the same selection."""
    (path,) = (small_checkout / "results").glob(f"*/{release_table.load()[-1].sha[:8]}-py3.11-*.json")
    passes = plan.count_passes(path, plan.timed_suites())
    name = "copies.ByWeather.time_copy"
    if known:
        row = {"version": "1", "param_names": ["method"], "params": [["'clone_detach'"]], "type": "time"}
        changed(small_checkout / "results" / "benchmarks.json", lambda suites: suites.update({name: row}))
    else:
        table = {**suite_specs.table(), name: replace(suite_specs.find(BY_SIZE), name=name)}
        monkeypatch.setattr(suite_specs, "table", lambda: table)
    assert plan.missing_passes(path, plan.timed_suites(), passes) == passes
    assert plan.missing_passes(path, "^copies.BySize", passes) == 0


def test_cases_that_cannot_run_here_are_not_missing(small_checkout):
    """Suites of devices that are not there, and a suite that skipped every case."""
    (path,) = (small_checkout / "results").glob(f"*/{release_table.load()[-1].sha[:8]}-py3.11-*.json")
    suites = plan.passes_by_suite(path, "")
    assert "copies.Throughput.time_copy" not in suites
    assert {BY_SIZE, PEAK} <= suites.keys()

    def skip(document):
        row = document["results"][PEAK]
        row[0] = [float("nan")] * len(row[0])

    changed(path, skip)
    assert suites.keys() - plan.passes_by_suite(path, "").keys() == {PEAK}


def test_a_pass_that_counts_bytes_needs_no_samples(measured_file):
    """Its record has counts; an early record is known by its selection."""
    row = {"version": "1", "param_names": ["method"], "params": [["'a'"]], "type": "track"}
    changed(measured_file.parents[1] / "benchmarks.json", lambda suites: suites.update({PEAK: row}))
    assert plan.count_passes(measured_file, "^memory") == 0

    def count(document):
        document["results"][PEAK] = [[4096.0], [["'a'"]], "1", 0, 1.0, None]
        record = {**document["passes"][0], "suites": {}}
        document["passes"] += [
            {**record, "id": "early", "selection": "^memory"},
            {**record, "id": "late", "selection": "", "counts": {PEAK: {"version": "1", "values": [4096.0]}}},
        ]

    changed(measured_file, count)
    assert plan.count_passes(measured_file, "^memory") == 2
    assert plan.count_passes(measured_file, "^copies") == 3


class Run:
    """A result file to which shards add passes."""

    def __init__(self, folder: Path, machine: str) -> None:
        self.path = measured_in_passes(folder, FIVE[-1].release, {"tensor": [1.0]}, machine)

    def add_passes(self, shard: str, count: int) -> None:
        def add(document):
            records, samples = document["passes"], document["results"][BY_SIZE][-1]
            for _ in range(count):
                records.append({**records[0], "id": f"pass-{len(records)}", **({"shard": shard} if shard else {})})
                samples[0] += samples[0][:3]

        changed(self.path, add)


@pytest.mark.parametrize("merged", [True, False], ids=["one after the other", "at once"])
def test_shards_divide_the_missing_passes_of_a_run(tmp_path, merged):
    """Each measures its share, whether or not the other shards are merged.

    A later run with more passes measures the missing ones.
    """
    shared = Run(tmp_path, "box")
    runs = {number: shared if merged else Run(tmp_path / str(number), "box") for number in (1, 2, 3)}
    for run in {id(run): run for run in runs.values()}.values():
        run.add_passes("", 1)  # beside the first
    for passes, expected in ((10, [3, 3, 2]), (14, [1, 1, 2])):
        counts = []
        for number, run in runs.items():
            shard = plan.Shard(number, 3)
            count = plan.missing_passes(run.path, "^copies.BySize", passes, shard)
            run.add_passes(str(shard), min(count, 1))  # interrupted after the first
            remaining = plan.missing_passes(run.path, "^copies.BySize", passes, shard)
            assert remaining == max(0, count - 1)
            run.add_passes(str(shard), remaining)
            assert plan.missing_passes(run.path, "^copies.BySize", passes, shard) == 0
            counts.append(count)
        assert counts == expected
    if merged:
        assert plan.missing_passes(runs[1].path, "^copies.BySize", 14) == 0


def test_new_selects_the_newest_measured_release_and_all_later_ones(monkeypatch):
    """They are measured together. A machine without results measures the two newest."""
    monkeypatch.setattr(uv, "find_python", lambda python: Path(python))
    rows = release_table.load()
    for measured, first in (((rows[3].sha, rows[-3].sha), -3), ((), -2), ((rows[-1].sha,), -1)):
        measurements, _ = plan.select(["NEW"], ("3.11", "3.9"), measured)
        assert [measurement.release for measurement in measurements] == list(rows[first:])


def test_an_interpreter_is_measured_with_its_own_torch(worker_here, small_checkout, tmp_path, capsys):
    """Another release or a missing program is an error."""
    measurement = plan.in_interpreter("same")
    assert measurement.release.version == torch.__version__.partition("+")[0]
    assert measurement.tool == "interpreter:same"
    assert measurement.environment.endswith("-interpreter")
    assert measurement.is_installed(Paths(tmp_path, tmp_path, tmp_path, ()))
    assert main(["measure", "--interpreter", "same", "1.9.0"]) == 2
    assert f"this interpreter has another torch: got 1.9.0; allowed: {measurement.release.version}" in capsys.readouterr().err
    assert main(["measure", "--interpreter", "no-such-python"]) == 2
    assert "no such interpreter: got no-such-python" in capsys.readouterr().err


HERE, ELSEWHERE = "0123456789ab", "ba9876543210"


@pytest.mark.parametrize(
    ("identity", "machine", "measured"),
    [(HERE, "box", 3), (ELSEWHERE, "box-0123", 0), (None, "box-0123", 0)],
    ids=["this host", "another host", "a host that recorded none"],
)
def test_a_host_adds_to_its_own_results_only(small_checkout, monkeypatch, capsys, identity, machine, measured):
    """Under another name where another host has the name. The warning names both, and only its passes count."""
    release = FIVE[-1].release
    path = measured_in_passes(small_checkout / "results", release, TIMES, **({"identity": identity} if identity else {}))
    path.write_text(path.read_text().replace('"selection": ""', f'"selection": {json.dumps(plan.timed_suites())}'))
    jobs, names = [], []
    monkeypatch.setattr("tensorcopy.worker.hardware.identity", lambda: HERE)
    monkeypatch.setattr(plan, "select", lambda texts, pythons, shas: names.append(list(shas)) or ([FIVE[-1]], []))
    monkeypatch.setattr(configuration, "register_machine", names.append)
    monkeypatch.setattr(run_passes, "measure_all", lambda measurements, job, **rest: jobs.append(job) or [])
    assert main(["measure", "NEW", "--machine", "box"]) == 0
    assert (jobs[0].machine, names) == (machine, [[release.sha] if measured else [], machine])
    printed = capsys.readouterr()
    assert f"with {measured} passes each, in results/{machine}" in printed.out
    warned = "which is called box-0123 here; allowed: one machine per name"
    assert (warned in printed.err) == (machine != "box")


@pytest.mark.parametrize(("identity", "machine", "missing"), [(HERE, "box", 0), (ELSEWHERE, "box-0123", 1)], ids=["this host", "another"])
def test_the_dashboard_measures_what_this_host_lacks(small_checkout, monkeypatch, capsys, identity, machine, missing):
    """Another host's result of the same machine name is not this host's."""
    measured_in_passes(small_checkout / "results", FIVE[-1].release, TIMES, identity=identity)
    runs = []
    monkeypatch.setattr("tensorcopy.worker.hardware.identity", lambda: HERE)
    monkeypatch.setattr(plan, "select", lambda *_, **named: ([FIVE[-1]], []))
    here = [result for result in reader.load_results(small_checkout / "results").results if result.machine == "box"]
    monkeypatch.setattr(run_passes, "already_measured", lambda results, measurement, name, quick: here[0] if name == "box" else None)
    monkeypatch.setattr(run_passes, "measure_and_publish", lambda missing, paths, name, *rest: runs.append((len(missing), name)) or ())
    monkeypatch.setattr(configuration, "register_machine", lambda name: None)
    assert main(["dashboard", "--no-serve", "--machine", "box"]) == 0
    assert runs == [(missing, machine)]
    assert ("two machines are called box" in capsys.readouterr().err) == (machine != "box")


@pytest.mark.parametrize(
    ("ledger", "required", "gpus", "has_cuda"),
    [
        ({"accelerators": {"cuda": "NVIDIA H200"}}, "", [], True),
        ({"accelerators": {}}, "cuda", [], True),
        ({"cuda": "13.2"}, "", [OLD_GPU], True),
        ({"cuda": "13.2"}, "", [], False),
        ({"cuda": None}, "", [OLD_GPU], False),
        ({"cuda": "13.2", "unsupported": {"cuda": "no kernels"}}, "", [OLD_GPU], False),
    ],
    ids=["as before", "asked for", "was hidden", "none", "a build for the CPU", "no kernels"],
)
def test_the_next_pass_excludes_absent_devices(small_checkout, monkeypatch, ledger, required, gpus, has_cuda):
    """A skipped case would still cost a process. CUDA_VISIBLE_DEVICES may have hidden a GPU from the last pass; the CPU always runs."""
    path = measured_in_passes(small_checkout / "results", FIVE[-1].release, TIMES, **{"accelerators": {}, **ledger})
    measurement = Measurement(FIVE[-1].release, "3.11", build="cuda")
    assert measurement.file(configuration.paths(), "box") == path.absolute()
    runs = []
    monkeypatch.setattr(nvidia, "visible_gpus", lambda: (gpus, ""))
    monkeypatch.setattr(run_passes.program, "measure", lambda run, *_: runs.append(run))
    job = run_passes.Job(configuration.paths(), "box", plan.on_device("", required) if required else plan.timed_suites(), device=required)
    with pytest.raises(TensorcopyError, match="no result was stored"):  # by the stand-in for asv
        run_passes.measure_pass(measurement, job, lambda *_: None, lambda *_: None)
    (cases,) = [re.compile(run.cases) for run in runs]
    assert bool(cases.search("copies.Latency.time_copy('tensor', 16, 'cuda')")) == has_cuda
    assert bool(cases.search("copies.BySize.time_copy('tensor', 16)")) == (not required)
    assert not cases.search("copies.Latency.time_copy('tensor', 16, 'mps')")


@pytest.mark.parametrize("arguments", [("--device", "cuda"), ("--bench", "Latency.*'cuda'"), ()], ids=["option", "suites", "runners.toml"])
@pytest.mark.parametrize("backend", ["", "cu126"])
def test_a_required_gpu_selects_the_releases_before_they_are_installed(small_checkout, monkeypatch, capsys, arguments, backend):
    """The table describes the default wheels: where uv installs others, the check before measuring decides."""
    runners = small_checkout / ".github" / "runners.toml"
    runners.parent.mkdir()
    runners.write_text("" if arguments else '[[runner]]\nmachine = "box"\nlabels = ["cuda"]\ndevice = "cuda"\n')
    monkeypatch.setenv("UV_TORCH_BACKEND", backend)
    monkeypatch.setattr(nvidia, "visible_gpus", lambda: ([OLD_GPU], ""))
    monkeypatch.setattr(plan, "select", lambda *_: (FIVE[-1:], []))
    monkeypatch.setattr(configuration, "register_machine", lambda name: None)
    monkeypatch.setattr(run_passes, "measure_all", lambda *_, **__: [])
    assert main(["measure", "2.15.0", "--machine", "box", "--no-confirm", *arguments]) == (0 if backend else 2)
    refused = "NVIDIA H200 can run none of these releases: got CUDA 13.2 needs driver R580 or newer, and this one is 550.54.14; "
    printed = capsys.readouterr().err
    assert (refused in printed) == (not backend)
    assert ("or set UV_TORCH_BACKEND to an older CUDA" in printed) == (not backend)


@pytest.mark.parametrize("python", ["3", "abc", ""])
def test_a_wrong_python_is_an_error(small_checkout, capsys, python):
    """The message shows the form that is allowed."""
    assert main(["measure", f"2.0.1@{python}"]) == 2
    assert f"unknown Python: got '2.0.1@{python}'; allowed: RANGE@3.9;" in capsys.readouterr().err


HOLD = "import sys, time; from pathlib import Path; from tensorcopy.measure import run_passes"
HOLD += "\nwith run_passes.measuring_lock(Path(sys.argv[1])): print('locked', flush=True); time.sleep(60)"


def test_a_killed_measurement_releases_its_lock(tmp_path):
    """The operating system releases it, with whichever signal the process ends."""
    with subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True, cwd=CHECKOUT) as process:
        assert process.stdout.readline() == "locked\n"
        with pytest.raises(TensorcopyError, match="another process is measuring"), run_passes.measuring_lock(tmp_path):
            pass
        process.kill()
    with run_passes.measuring_lock(tmp_path):
        pass


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--passes", "0"], "got '0'; allowed: 1 to 1000"),
        (["--passes", "9" * 5000], "allowed: 1 to 1000"),
        (["--environments", "1"], "got 1; allowed: 2 or more"),
        *((["--shard", text], f"got '{text}'; allowed: 1/5 to 5/5") for text in ("3", "0/3", "4/3", "a/b", "1/0")),
        (["--machine=../box"], "allowed: up to 64 letters, digits and . _ + - after a letter or digit"),
    ],
    ids=lambda value: value[0][:20] if isinstance(value, list) else "",
)
def test_a_wrong_value_is_an_error(arguments, message, capsys):
    """argparse prints it, and exits with 2 before anything is measured."""
    with pytest.raises(SystemExit, match="2"):
        main(["measure", *arguments])
    assert message in capsys.readouterr().err
