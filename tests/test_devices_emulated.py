"""A device that fails is named and never taken for an absent one; a run without the device that was asked for stores nothing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

from tests import emulated_cuda
from tests.conftest import ROOT, require

pytestmark = pytest.mark.slow

STATE = "from tensorcopy.worker import devices; state = devices.state('cuda'); print(state.usability.value, state.reason, sep=': ')"
IN_A_FORK = f"""
import os, torch
torch.cuda.is_available()
if os.fork() == 0:
    {STATE}
else:
    os.wait()
"""


@pytest.fixture(scope="module")
def on_cuda(tmp_path_factory):
    """Run Python, or a command of tensorcopy, with the emulated device."""
    require(not emulated_cuda.missing(), emulated_cuda.missing())
    cuda = emulated_cuda.build(tmp_path_factory.mktemp("emulated-cuda"))

    def run(*arguments, cwd=ROOT, variables=(), **switches):
        environment = {
            **os.environ,
            "PYTHONPATH": str(cwd),
            "TENSORCOPY_EMULATED": "allowed",
            **cuda.variables(**switches),
            **dict(variables),
        }
        return subprocess.run([sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=False)

    return run


@pytest.mark.parametrize(
    ("switches", "code", "expected"),
    [
        ({}, STATE, r"usable: "),
        ({"CUDA_NO_KERNELS": 1}, STATE, r"failing: \w+: CUDA error: no kernel image is available"),
        ({"CUDA_MEMORY_MB": 1}, STATE, r"failing: OutOfMemoryError: CUDA out of memory"),
        ({"CUDA_LOST_AFTER": 0}, STATE, r"failing: \w+: CUDA unknown error"),
        ({}, IN_A_FORK, r"failing: cuda was used before this process was forked"),
        (
            {"CUDA_CAPABILITY": "6.0"},
            STATE,
            r"unsupported: torch \S+ has no kernels for Emulated CUDA device 0 \(sm_60\), only for .*sm_90",
        ),
        ({"CUDA_DRIVER": 11040}, STATE, r"unsupported: the driver is too old for torch \S+: The NVIDIA driver .*found version 11040"),
        ({"CUDA_DEVICES": 0}, STATE, r"absent: RuntimeError: No CUDA GPUs are available"),
    ],
    ids=["usable", "no kernels", "out of memory", "lost", "forked", "old wheel", "old driver", "no device"],
)
def test_absence_and_failure_differ_and_the_first_line_is_kept(on_cuda, switches, code, expected):
    """torch itself answers `is_available()` with False, or with an error in the first use."""
    done = on_cuda("-c", code, **switches)
    assert re.match(expected, done.stdout), done.stdout + done.stderr


@pytest.mark.parametrize("command", [("check",), ("advise", "--device", "cuda"), ("plot", "copies", "--device", "cuda")], ids=" ".join)
def test_a_device_that_fails_is_an_error_of_every_command_that_uses_it(on_cuda, command):
    """One line, and exit code 2; `check` without a device looks at all of them."""
    done = on_cuda("-m", "tensorcopy.cli", *command, CUDA_NO_KERNELS=1)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "tensorcopy: cuda is there and fails: got " in done.stderr
    assert "no kernel image is available for execution on the device; allowed: cpu; next: " in done.stderr
    assert "Traceback" not in done.stderr


MEASURE = (
    "-m",
    "tensorcopy.cli",
    "measure",
    "--interpreter",
    "same",
    "--passes",
    "1",
    "--machine",
    "box",
    "--bench",
    r"^floors.OnDevice.*\b1024\b",
)


def test_measuring_cuda_without_it_stores_nothing(on_cuda, checkout):
    """Exit code 2 and one line with the reason, for --device, for suites that name a device, and for a machine of runners.toml."""
    runners = checkout.root / ".github" / "runners.toml"
    before = runners.read_text()
    runs = [((), ("--device", "cuda")), ((), ("--bench", "1024, 'cuda'"))]
    done = [on_cuda(*MEASURE, *options, cwd=checkout.root, CUDA_DEVICES=0) for _, options in runs]
    runners.write_text(before + '\n[[runner]]\nmachine = "box"\nlabels = ["cuda"]\ndevice = "cuda"\n')
    try:
        done.append(on_cuda(*MEASURE, "--bench", "floors.Control", cwd=checkout.root, CUDA_DEVICES=0))
    finally:
        runners.write_text(before)
    for each in done:
        assert each.returncode == 2, each.stdout + each.stderr
        assert "tensorcopy: there is no cuda here: got RuntimeError: No CUDA GPUs are available; allowed: cpu; next: " in each.stderr
    assert not list((checkout.root / "results").glob("box/*py*"))


def test_a_run_in_which_every_case_is_skipped_is_no_success(on_cuda, checkout):
    """Neither the first of a release nor one beside earlier passes."""
    options = (*MEASURE, "--bench", "OnDevice.*(1|2)")
    first = on_cuda(*options, cwd=checkout.root, CUDA_DEVICES=0)
    assert first.returncode == 2, first.stdout + first.stderr
    assert not list((checkout.root / "results").glob("box/*py*"))
    assert on_cuda(*MEASURE, "--bench", "floors.Control", cwd=checkout.root, CUDA_DEVICES=0).returncode == 0
    (path,) = (checkout.root / "results").glob("box/*py*")
    before = path.read_bytes()
    second = on_cuda(*options, cwd=checkout.root, CUDA_DEVICES=0)
    assert second.returncode == 2, second.stdout + second.stderr
    assert path.read_bytes() == before
    path.unlink()


def test_the_provenance_has_the_gpu_and_what_changes_its_numbers(on_cuda, checkout):
    """The second of two devices."""
    variables = {"CUDA_VISIBLE_DEVICES": "1", "PYTORCH_CUDA_ALLOC_CONF": "backend:native", "CUDA_LAUNCH_BLOCKING": "1"}
    options = (*MEASURE, "--device", "cuda")
    done = on_cuda(*options, cwd=checkout.root, variables=variables, CUDA_DEVICES=2, CUDA_OPERATION_US=20)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = (checkout.root / "results").glob("box/*py*")
    ledger = json.loads(path.read_text())["ledger"]
    path.unlink()
    assert ledger["accelerators"] == {"cuda": "Emulated CUDA device 1"}
    assert variables.items() <= ledger["settings"].items()
    assert ledger["driver"] == "580.0.0"
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
from tensorcopy.worker.probes import timer_crosscheck
root = Path("benchmarks").absolute()
timer_crosscheck.main([str(root), "cuda", "no such suite"])  # prints what it would time on
case = next(case for case in timer_crosscheck.timed_cases(root, "cuda") if case.suite.startswith("copies.Throughput"))
for reference in ("Timer", "events"):
    print(timer_crosscheck.ratio(root, case, "cuda", reference, 1))
timer_crosscheck._in_a_process(lambda: [1 / 0])
"""


def test_the_processes_that_verify_a_device_can_use_it_and_show_what_they_raise(on_cuda):
    """torch.utils.benchmark asks for CUDA when it is imported: in the parent, it would make every forked process fail."""
    done = on_cuda("-c", CROSSCHECK, CUDA_OPERATION_US=500)
    head, *ratios = done.stdout.splitlines() or [done.stderr]
    assert '"on": "' in head, done.stderr
    assert [0.5 < float(line) < 2 for line in ratios] == [True, True], done.stdout + done.stderr
    assert "in <lambda>" in done.stderr
    assert done.stderr.endswith("RuntimeError: ZeroDivisionError: division by zero\n")


def test_check_prints_why_a_device_cannot_be_used(on_cuda):
    """It checks the others."""
    done = on_cuda("-m", "tensorcopy.cli", "check", CUDA_CAPABILITY="6.0")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(
        r"^cuda is not checked: torch \S+ has no kernels for Emulated CUDA device 0 \(sm_60\), only for ", done.stdout, re.MULTILINE
    )


def test_verify_names_the_device_that_fails(on_cuda):
    """Before anything is timed, in any interpreter that has torch."""
    done = on_cuda("-m", "tensorcopy.cli", "verify", "--interpreter", "same", "--device", "cuda", CUDA_DEVICES=0)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("tensorcopy: there is no cuda here: got RuntimeError: No CUDA GPUs are available; ")


MEMORY = """
import torch
from tensorcopy.worker.probes import allocations
from tensorcopy.worker.registry.methods import METHODS
method = METHODS["numpy_from_dlpack"].on["cuda"]
print(allocations.on_host(method, torch.ones(1024, device="cuda")).nbytes)
print(allocations.on_device(method, torch.ones(1024, device="cuda")).nbytes)
"""


def test_the_memory_of_a_method_that_numpy_refuses_is_counted(on_cuda):
    """np.from_dlpack raises for CUDA memory, and has allocated nothing by then."""
    done = on_cuda("-c", MEMORY)
    assert done.stdout.split() == ["0", "0"], done.stderr


WAITS = """
import timeit, torch
from tensorcopy.worker import devices
torch.ones(1, device="cuda")
for wait in (devices.waiter("cuda"), torch.cuda.synchronize):
    print(min(timeit.repeat(wait, number=10_000, repeat=5)))
"""


def test_a_latency_does_not_contain_torchs_python_wrapper(on_cuda):
    """The wait of the suites is bound to the stream: a release that changes `torch.cuda.synchronize` changes no copy's time."""
    done = on_cuda("-c", WAITS)
    bound, wrapped = map(float, done.stdout.split())
    assert 4 * bound < wrapped, done.stderr


def test_releases_that_the_driver_cannot_run_are_refused_before_they_are_installed(on_cuda, checkout):
    """Exit code 2 and one line; `releases --device cuda` has the reason beside each release."""
    measured = on_cuda("-m", "tensorcopy.cli", "measure", "2.15.0", "--device", "cuda", cwd=checkout.root, NVML_DRIVER="550.54.14")
    assert measured.returncode == 2, measured.stdout + measured.stderr
    assert "can run none of these releases: got CUDA 13.2 needs driver R580 or newer, and this one is 550.54.14; " in measured.stderr
    listed = on_cuda("-m", "tensorcopy.cli", "releases", "--device", "cuda", variables={"COLUMNS": "250"}, NVML_DRIVER="550.54.14")
    rows = {line.split()[0]: line.rstrip() for line in listed.stdout.splitlines()}
    assert rows["2.15.0"].endswith("CUDA 13.2 needs driver R580 or newer, and this one is 550.54.14")
    assert rows["2.10.0"].endswith(" runs")
    assert rows["1.9.0"].endswith("no kernels for sm_90, only for sm_37, sm_50, sm_60, sm_70")


def test_a_torch_without_kernels_measures_the_cpu_and_says_so(on_cuda, checkout):
    """The device was not asked for."""
    done = on_cuda(*MEASURE, "--bench", "floors.Control", cwd=checkout.root, CUDA_CAPABILITY="6.0", variables={"COLUMNS": "250"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"torch \S+ is not measured on cuda: torch \S+ has no kernels for Emulated CUDA device 0 \(sm_60\)", done.stdout)
    (path,) = (checkout.root / "results").glob("box/*py*")
    assert json.loads(path.read_text())["ledger"]["unsupported"].keys() == {"cuda"}
    path.unlink()


def test_an_interpreter_needs_neither_uv_nor_the_pythons_of_the_configuration(on_cuda, checkout):
    """uv is replaced by a program that fails, and asv.conf.json names Pythons that are not there."""
    bin_folder = checkout.root / "bin"
    bin_folder.mkdir()
    (bin_folder / "uv.py").write_text("def find_uv_bin():\n    raise SystemExit('uv was asked')\n")
    variables = {"PYTHONPATH": f"{checkout.root}:{bin_folder}"}
    configuration = checkout.root / "asv.conf.json"
    before = configuration.read_text()
    configuration.write_text(before.replace('["3.11", "3.9"]', '["3.6", "3.5"]'))
    try:
        done = on_cuda(*MEASURE, "--device", "cuda", cwd=checkout.root, variables=variables, CUDA_OPERATION_US=20)
    finally:
        configuration.write_text(before)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = (checkout.root / "results").glob("box/*py*")
    path.unlink()
