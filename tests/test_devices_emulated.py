"""A device that fails is named and never taken for an absent one; a run without the device that was asked for stores nothing."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

# each state in a process forked from one that has imported torch and used no device
STATES = """
import json, os, sys, torch
from tensorcopy.worker import devices
for name, switches in json.loads(sys.argv[1]).items():
    if os.fork() == 0:
        os.environ.update(switches)
        if name == "forked":
            torch.cuda.is_available()
        if name == "forked" and os.fork():
            os.wait()
        else:
            state = devices.state("cuda")
            print(name, state.usability.value, state.reason, sep=": ", flush=True)
        os._exit(0)
    os.wait()
"""
EXPECTED = {
    "usable": ({}, r"usable: $"),
    "no kernels": ({"NO_KERNELS": 1}, r"failing: \w+: CUDA error: no kernel image is available"),
    "out of memory": ({"MEMORY_MB": 1}, r"failing: OutOfMemoryError: CUDA out of memory"),
    "lost": ({"LOST_AFTER": 0}, r"failing: \w+: CUDA unknown error"),
    "forked": ({}, r"failing: cuda was used before this process was forked"),
    "old wheel": ({"CAPABILITY": 6.0}, r"unsupported: torch \S+ has no kernels for Emulated CUDA device 0 \(sm_60\), only for .*sm_90"),
    "old driver": ({"DRIVER": 11040}, r"unsupported: the driver is too old for torch \S+: The NVIDIA driver .*found version 11040"),
    "no device": ({"DEVICES": 0}, r"absent: RuntimeError: No CUDA GPUs are available"),
}  # by state: the emulated device's switches, and what is printed


@pytest.fixture(scope="module")
def states(emulated_cuda) -> dict[str, str]:
    """What each state prints."""
    switches = {name: {f"EMULATED_CUDA_{key}": str(value) for key, value in own.items()} for name, (own, _) in EXPECTED.items()}
    done = emulated_cuda.run("-c", STATES, json.dumps(switches))
    return dict(line.split(": ", 1) for line in done.stdout.splitlines() if ": " in line)


@pytest.mark.parametrize("name", EXPECTED)
def test_absence_and_failure_differ_and_the_first_line_is_kept(states, name):
    """torch itself answers `is_available()` with False, or with an error in the first use."""
    assert re.match(EXPECTED[name][1], states[name]), states


@pytest.mark.parametrize("command", [("check",), ("advise", "--device", "cuda"), ("plot", "copies", "--device", "cuda")], ids=" ".join)
def test_a_device_that_fails_is_an_error_of_every_command_that_uses_it(emulated_cuda, command):
    """One line, and exit code 2; `check` without a device looks at all of them."""
    done = emulated_cuda.run("-m", "tensorcopy", *command, CUDA_NO_KERNELS=1)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "tensorcopy: cuda is there and fails: got " in done.stderr
    assert "no kernel image is available for execution on the device; allowed: cpu; next: " in done.stderr
    assert "Traceback" not in done.stderr


ALLOWED = {"TENSORCOPY_EMULATED": "allowed"}
ON_DEVICE = ("--bench", r"^floors.OnDevice.*\b1024\b")


@pytest.fixture(scope="module")
def measure(checkout, emulated_cuda):
    """Measure one pass of this interpreter's torch, and return the process and the result files of its machine."""

    def run(machine, *options, variables=(), **switches):
        command = ("measure", "--interpreter", "same", "--passes", "1", "--machine", machine, *options)
        done = checkout.run("tensorcopy", *command, **{**ALLOWED, **emulated_cuda.variables(**switches), **dict(variables)})
        return done, list((checkout.root / "results").glob(f"{machine}/*py*"))

    return run


def test_measuring_cuda_without_it_stores_nothing(measure):
    """Exit code 2 and one line with the reason."""
    done, results = measure("without", *ON_DEVICE, "--device", "cuda", CUDA_DEVICES=0)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "tensorcopy: there is no cuda here: got RuntimeError: No CUDA GPUs are available; allowed: cpu; next: " in done.stderr
    assert not results


def test_a_run_in_which_every_case_is_skipped_is_no_success(measure):
    """Neither the first of a release nor one beside earlier passes.

    A torch without kernels measures the CPU, and says so: the device was not asked for.
    """
    skipped = ("--bench", r"OnDevice.*\b(1|2)\b")
    first, results = measure("old-wheel", *skipped, CUDA_CAPABILITY="6.0")
    assert first.returncode == 2, first.stdout + first.stderr
    assert not results
    done, (path,) = measure("old-wheel", "--bench", "floors.Control", CUDA_CAPABILITY="6.0")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"torch \S+ is not measured on cuda: torch \S+ has no kernels for Emulated CUDA device 0 \(sm_60\)", done.stdout)
    before = path.read_bytes()
    assert json.loads(before)["ledger"]["unsupported"].keys() == {"cuda"}
    second, _ = measure("old-wheel", *skipped, CUDA_CAPABILITY="6.0")
    assert second.returncode == 2, second.stdout + second.stderr
    assert path.read_bytes() == before


# what a machine lacks that has only an interpreter with torch
NO_UV = "def find_uv_bin():\n    raise SystemExit('uv was asked')\n"
OTHER_PYTHONS = {"asv.conf.json": (r'\["3.11", "3.9"\]', '["3.6", "3.5"]')}


def test_an_interpreter_needs_nothing_else_and_the_provenance_has_its_gpu(checkout, measure):
    """uv is replaced by a program that fails, and asv.conf.json names Pythons that are not there. The second of two devices is measured."""
    (checkout.root / "bin").mkdir()
    (checkout.root / "bin" / "uv.py").write_text(NO_UV)
    settings = {"CUDA_VISIBLE_DEVICES": "1", "PYTORCH_CUDA_ALLOC_CONF": "backend:native", "CUDA_LAUNCH_BLOCKING": "1"}
    variables = {**settings, "PYTHONPATH": f"{checkout.root}:{checkout.root / 'bin'}"}
    with checkout.edited(OTHER_PYTHONS):
        done, results = measure("two", *ON_DEVICE, "--device", "cuda", variables=variables, CUDA_DEVICES=2, CUDA_OPERATION_US=20)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = results
    ledger = json.loads(path.read_text())["ledger"]
    assert ledger["accelerators"] == {"cuda": "Emulated CUDA device 1"}
    assert settings.items() <= ledger["settings"].items()
    assert ledger["driver"] == "580.0.0" or Path("/proc/driver/nvidia/version").exists()  # which has a real one
    gpu = ledger["gpu"]
    assert gpu["clock_mhz"] == 1755  # of a device at work; 345 of an idle one
    assert (gpu["index"], gpu["capability"], gpu["max_clock_mhz"], gpu["power_limit_w"], gpu["ecc"], gpu["mig"]) == (
        1,
        "9.0",
        1980,
        700.0,
        True,
        False,
    )


CROSSCHECK = """
from pathlib import Path
from docs.tools import timer_crosscheck
root = Path("benchmarks").absolute()
timer_crosscheck.main([str(root), "cuda", "no such suite"])  # prints what it would time on
case = next(case for case in timer_crosscheck.timed_cases(root, "cuda") if case.suite.startswith("copies.Throughput"))
for reference in ("Timer", "events"):
    print(timer_crosscheck.ratio(root, case, "cuda", reference, 1))
timer_crosscheck._in_a_process(lambda: [1 / 0])
"""


def test_the_processes_that_verify_a_device_can_use_it_and_show_what_they_raise(emulated_cuda):
    """torch.utils.benchmark asks for CUDA when it is imported: in the parent, it would make every forked process fail."""
    done = emulated_cuda.run("-c", CROSSCHECK, CUDA_OPERATION_US=500)
    head, *ratios = done.stdout.splitlines() or [done.stderr]
    assert '"on": "' in head, done.stderr
    assert [0.1 < float(line) < 10 for line in ratios] == [True, True], done.stdout + done.stderr  # a queue is read in a hundredth
    assert "in <lambda>" in done.stderr
    assert done.stderr.endswith("RuntimeError: ZeroDivisionError: division by zero\n")


def test_check_prints_why_a_device_cannot_be_used(emulated_cuda):
    """It checks the others."""
    done = emulated_cuda.run("-m", "tensorcopy", "check", CUDA_CAPABILITY="6.0")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(
        r"^cuda is not checked: torch \S+ has no kernels for Emulated CUDA device 0 \(sm_60\), only for ", done.stdout, re.MULTILINE
    )


def test_verify_names_the_device_that_fails(emulated_cuda):
    """Before anything is timed, in any interpreter that has torch."""
    done = emulated_cuda.run("-m", "docs.tools.verify", "--interpreter", "same", "--device", "cuda", CUDA_DEVICES=0)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("verify: there is no cuda here: got RuntimeError: No CUDA GPUs are available; ")


WAITS = """
import timeit, torch
from tensorcopy.worker import devices
torch.ones(1, device="cuda")
for wait in (devices.waiter("cuda"), torch.cuda.synchronize):
    print(min(timeit.repeat(wait, number=10_000, repeat=5)))
"""


def test_a_latency_does_not_contain_torchs_python_wrapper(emulated_cuda):
    """The wait of the suites is bound to the stream: a release that changes `torch.cuda.synchronize` changes no copy's time."""
    done = emulated_cuda.run("-c", WAITS)
    bound, wrapped = map(float, done.stdout.split())
    assert 4 * bound < wrapped, done.stderr


def test_releases_that_the_driver_cannot_run_are_refused_before_they_are_installed(checkout, emulated_cuda):
    """Exit code 2 and one line; `releases --device cuda` has the reason beside each release."""
    variables = {**emulated_cuda.variables(NVML_DRIVER="550.54.14"), "COLUMNS": "250"}
    measured = checkout.run("tensorcopy", "measure", "2.15.0", "--device", "cuda", **variables)
    assert measured.returncode == 2, measured.stdout + measured.stderr
    assert "can run none of these releases: got CUDA 13.2 needs driver R580 or newer, and this one is 550.54.14; " in measured.stderr
    listed = checkout.run("tensorcopy", "list", "releases", "--device", "cuda", **variables)
    rows = {line.split()[0]: line.rstrip() for line in listed.stdout.splitlines()}
    assert rows["2.15.0"].endswith("CUDA 13.2 needs driver R580 or newer, and this one is 550.54.14")
    assert rows["2.10.0"].endswith(" runs")
    assert rows["1.9.0"].endswith("no kernels for sm_90, only for sm_37, sm_50, sm_60, sm_70")
