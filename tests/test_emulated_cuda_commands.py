"""The commands on a CUDA device, from the first check of a machine to the pages; and what the emulated device never does to results."""

from __future__ import annotations

import json
import re
import struct
import subprocess
import sys

import pytest

from tests.conftest import Checkout, copied
from tests.emulated_cuda.readings import COUNTERS

pytestmark = pytest.mark.slow

MACHINE = "gpu-box"
CASES = r"('(detach_clone|detach_numpy_copy|device to device)', |Latency.time_transfer\()1024, 'cuda'|time_wait\('cuda'"
SUITES = {
    *("conversions.Latency.time_conversion", "copies.Latency.time_copy", "copies.Throughput.time_copy"),
    *("floors.OnDevice.time_transfer", "floors.Latency.time_transfer"),
}
WAIT = "floors.WaitAlone.time_wait"
MEASURE = ("measure", "--interpreter", "same", "--machine", MACHINE, "--no-confirm", "--bench", CASES)
OPERATION_US = 500  # microseconds that a copy takes
OPERATION, CONTEXT = OPERATION_US * 1e-6, 0.2  # seconds that a copy and a context take
ALLOWED = {"TENSORCOPY_EMULATED": "allowed"}
LINE = re.compile(r"tensorcopy: [^\n]+: got [^\n]+; allowed: [^\n]+; next: [^\n]+\n")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Checkout:
    """A copy of this checkout without results."""
    return copied(tmp_path_factory, results=["none"])


@pytest.fixture(scope="module")
def refused(checkout, emulated_cuda, tmp_path_factory) -> tuple[subprocess.CompletedProcess[str], int]:
    """A measurement on the emulated device that nothing allows, and the operations on the device until it is refused."""
    counters = tmp_path_factory.mktemp("cuda") / "counters"
    done = checkout.run(
        "tensorcopy", *MEASURE, "--passes", "1", **emulated_cuda.variables(CUDA_COUNTERS=counters, CUDA_OPERATION_US=OPERATION_US)
    )
    counted = dict(zip(COUNTERS, struct.unpack(f"{len(COUNTERS)}Q", counters.read_bytes()), strict=True))
    return done, counted["copies"] + counted["kernels"]


@pytest.fixture(scope="module")
def measured(checkout, gpu, refused):
    """One pass on the device, and its result file."""
    done = checkout.run(
        "tensorcopy", *MEASURE, "--passes", "1", **ALLOWED, **gpu.variables(CUDA_OPERATION_US=OPERATION_US, CUDA_CONTEXT_MS=200)
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = (checkout.root / "results" / MACHINE).glob("*-cuda-interpreter.json")
    return path


def test_results_of_an_emulated_device_are_refused_before_they_are_measured(checkout, refused):
    """By the name of the device, in one line; nothing is stored."""
    done, _ = refused
    assert done.returncode == 2
    assert LINE.fullmatch(done.stderr)
    assert "is refused: it is of an emulated device: got Emulated CUDA device 0; allowed: times of a real device" in done.stderr


def test_a_pass_has_the_device_in_its_provenance_and_its_times(gpu, measured):
    """Each time of a case has an operation, and nothing that happens once."""
    result = json.loads(measured.read_text())
    assert result["ledger"]["accelerators"]["cuda"].startswith("Emulated CUDA" if gpu.is_emulated else "")
    column = result["result_columns"].index("samples")
    samples = {
        suite: [sample for samples in row[column] for sample in samples or ()]
        for suite, row in result["results"].items()
        if column < len(row)
    }
    assert set(samples) >= {*SUITES, WAIT}
    if gpu.is_emulated:
        assert 0 < min(samples[WAIT]) < OPERATION
        assert all(OPERATION * 0.97 <= min(samples[suite]) < CONTEXT for suite in SUITES), samples


def test_the_pages_show_the_device(checkout, gpu, measured):
    """As a machine, as a history and in its data."""
    published = checkout.run("asv", "publish", **ALLOWED)
    assert published.returncode == 0, published.stdout
    name = json.loads(measured.read_text())["ledger"]["accelerators"]["cuda"]
    site = checkout.root / "site"
    for page in (site / "machines" / f"{MACHINE}.html", site / "index.html"):
        assert name in page.read_text(encoding="utf-8"), page
    sizes = [path.read_text(encoding="utf-8") for path in site.glob("sizes/**/*.html")]
    assert any(re.search(r"Synchronising cuda takes [\d.]+ [µn]s\.", text) for text in sizes)
    assert "cuda" in (site / "history" / MACHINE / "times.js").read_text(encoding="utf-8")


def test_results_of_an_emulated_device_are_refused_by_merge_and_publish(checkout, emulated_cuda, measured, gpu, tmp_path):
    """Neither adds one of their numbers."""
    if not gpu.is_emulated:
        pytest.skip("the pass was measured on a real device")
    merged = checkout.run("tensorcopy", "merge", "results", "--into", str(tmp_path / "merged"))
    assert merged.returncode == 2
    assert "is refused: it is of an emulated device" in merged.stderr
    assert not list(tmp_path.glob("merged/*/*"))
    published = checkout.run("asv", "publish")
    assert published.returncode == 2
    assert f"results/{MACHINE}/{measured.name} is refused: it is of an emulated device" in published.stdout
    assert not (checkout.root / "site" / "machines" / f"{MACHINE}.html").exists()
    (note,) = re.findall(r"[^<>]*Emulated[^<>]*", (checkout.root / "site" / "index.html").read_text(encoding="utf-8"))
    assert "is refused: it is of an emulated device" in note


def test_a_device_that_is_lost_in_mid_pass_is_named_and_nothing_is_lost(checkout, emulated_cuda, refused, measured, tmp_path):
    """The pass before keeps its samples, and a page can still be made."""
    before = json.loads(measured.read_text())
    lost_after = refused[1] + 50  # while the first case is measured
    switches = emulated_cuda.variables(CUDA_COUNTERS=tmp_path / "counters", CUDA_LOST_AFTER=lost_after, CUDA_OPERATION_US=OPERATION_US)
    done = checkout.run("tensorcopy", *MEASURE, "--passes", "2", **ALLOWED, **switches)
    assert done.returncode == 2, done.stdout + done.stderr
    assert LINE.fullmatch(done.stderr)
    assert "CUDA error: unspecified launch failure" in done.stderr
    after = json.loads(measured.read_text())
    assert after["passes"][0] == before["passes"][0]
    column = before["result_columns"].index("samples")
    for suite, row in before["results"].items():
        if column < len(row):
            for earlier, later in zip(row[column], after["results"][suite][column], strict=True):
                assert not earlier or later[: len(earlier)] == earlier, suite


# more passes would be taken until there are enough for a verdict, and each commit would compile torch: neither is tested here
ONE_PASS = """
import sys
from tensorcopy import cli
from tensorcopy.ci import pull_request
pull_request.FEWEST = 0
pull_request.environments.bytecode_in = lambda folder: {}
sys.exit(cli.main(sys.argv[1:]))
"""


def test_two_commits_are_compared_on_the_device(checkout, gpu, tmp_path):
    """`ci pull-request --device cuda` measures the device's cases of both, and no other."""
    for command in (("init", "-q"), ("add", "--all"), *(("commit", "-q", "--allow-empty", "-m", name) for name in ("base", "head"))):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *command], cwd=checkout.root, check=True)
    options = ("--device", "cuda", "--interpreter", "same", "--passes", "1", "--bench", r"Throughput.*'detach_clone', 1024,")
    command = ("ci", "pull-request", "--base", "HEAD~1", *options, "--out", str(tmp_path / "out"))
    variables = {**checkout.environment, **ALLOWED, **gpu.variables(CUDA_OPERATION_US=OPERATION_US)}
    done = subprocess.run(
        [sys.executable, "-c", ONE_PASS, *command], cwd=checkout.root, env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 3), done.stdout + done.stderr  # one pass decides nothing
    document = json.loads((tmp_path / "out" / "comparison.json").read_text())
    assert document["device"] == "cuda"
    (pair,) = document["pairs"]
    assert pair["failures"] == []
    (change,) = pair["comparison"]["changes"]
    assert change["parameters"]["device"] == "cuda"
    if gpu.is_emulated:
        assert all(OPERATION * 0.97 <= change[side] < 20 * OPERATION for side in ("before", "after"))


def test_verify_compares_asv_with_the_timer_and_with_events(checkout, gpu):
    """One turn of one size: how close they are on a loaded machine is not what is tested."""
    few = {
        "benchmarks/cases.py": (r"^ON_DEVICE = .*$", "ON_DEVICE = [2**10]"),
        "docs/tools/timer_crosscheck.py": (r"^DISAGREES = .*$", "PROCESSES, TURNS, STEADY, DISAGREES = 1, 1, 9.0, 2.0"),
    }
    with checkout.edited(few):
        options = ("--interpreter", "same", "--device", "cuda", "--bench", "^conversions.Latency")
        done = checkout.run("docs.tools.verify", *options, **gpu.variables(CUDA_OPERATION_US=OPERATION_US))
    assert done.returncode in (0, 1), done.stdout + done.stderr
    ratios = dict(re.findall(r"^conversions\.Latency, by (\w+) +3 +([\d.]+)", done.stdout, re.MULTILINE))
    assert ratios.keys() == {"Timer", "events"}, done.stdout + done.stderr
    assert all(1 / 3 < float(ratio) < 3 for ratio in ratios.values())


def test_check_finds_every_documented_behaviour(checkout, gpu):
    """On the device's own tensors."""
    done = checkout.run("tensorcopy", "check", "--device", "cuda", **gpu.variables(CUDA_OPERATION_US=1))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "every documented behaviour holds" in done.stdout


def test_plot_reads_the_device_and_not_its_queue(checkout, gpu):
    """Each time has at least one operation."""
    done = checkout.run("tensorcopy", "plot", "--device", "cuda", "--max", "2", "--json", **gpu.variables(CUDA_OPERATION_US=OPERATION_US))
    assert done.returncode == 0, done.stderr
    curves = json.loads(done.stdout)["curves"]
    fastest = min(point["low"] for curve in curves for point in curve["points"])
    assert fastest > 0
    if gpu.is_emulated:
        assert OPERATION * 0.97 <= fastest < 3 * OPERATION


def test_advise_reads_the_device_and_not_its_queue(checkout, gpu):
    """A copy on the device is one operation."""
    done = checkout.run(
        "tensorcopy", "advise", "--device", "cuda", "--numel", "2**10", "--json", **gpu.variables(CUDA_OPERATION_US=OPERATION_US)
    )
    assert done.returncode == 0, done.stderr
    seconds = [choice["seconds"] for choice in json.loads(done.stdout)["choices"] if choice["seconds"]]
    assert seconds
    if gpu.is_emulated:
        assert OPERATION * 0.97 <= min(seconds) < 3 * OPERATION


@pytest.mark.parametrize(
    ("switches", "code", "words"),
    [
        ({}, 0, "Emulated CUDA device 0"),
        ({"NVML_BUSY": 40}, 1, "40% busy"),
        ({"NVML_NO_DRIVER": 1}, 1, "Driver Not Loaded"),
        ({"NVML_PERSISTENCE": 0}, 0, "unloaded when idle"),
        ({"NVML_CLOCK_REASONS": 0x40}, 0, "slowed by heat"),
        ({"NVML_MIG": 1}, 0, "divided by MIG"),
        ({"NVML_DENIED": 1}, 0, "its processes cannot be listed: Insufficient Permissions"),
        ({"CUDA_DEVICES": 2, "NVML_BUSY": 40, "NVML_ONLY": 1}, 1, "GPU 1"),
        ({"CUDA_DEVICES": 2, "NVML_BUSY": 40, "NVML_ONLY": 0, "CUDA_VISIBLE_DEVICES": 1}, 0, "GPU 1"),
    ],
    ids=["quiet", "busy", "no driver", "persistence", "heat", "mig", "denied", "two devices", "the visible one"],
)
def test_machine_reads_the_gpus(emulated_cuda, monkeypatch, switches, code, words):
    """A visible GPU in use or without a driver is refused, the rest is a warning."""
    if "CUDA_VISIBLE_DEVICES" in switches:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", str(switches["CUDA_VISIBLE_DEVICES"]))
    done = emulated_cuda.run("-c", MACHINE_PROGRAM, **switches)
    assert done.returncode == code, done.stdout + done.stderr
    assert words in done.stdout + done.stderr


# the host's own load is not what is tested, and takes two seconds to measure
MACHINE_PROGRAM = """
import sys
from dataclasses import replace
from tensorcopy import cli
from tensorcopy.measure import readiness
readiness.OBSERVATION = 0.01
read = readiness.host
readiness.host = lambda folder: replace(read(folder), busy=0.0, memory=2**40, disk=2**40)
sys.exit(cli.main(["machine", "--device", "cuda"]))
"""
