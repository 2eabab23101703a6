"""Which findings about a machine are warnings and which are refused."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from ctypes import c_uint
from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pynvml
import pytest

from tensorcopy.cli import main
from tensorcopy.measure import readiness
from tensorcopy.measure.readiness import GIB, Host, Level
from tensorcopy.releases import environments, release_table
from tensorcopy.worker import nvidia
from tensorcopy.worker.devices import DEVICES
from tensorcopy.worker.nvidia import Gpu

QUIET = Host(0.01, (), 100 * GIB, 500 * GIB, "performance", False, False)
IDLE = Gpu("NVIDIA H200", "580.1", 139 * GIB, 0.0, (), 345, 1980, 31, True, (), False)


NONE = "the driver lists no GPU"


DENIED = 4  # the status "Insufficient Permissions" of NVIDIA's management library


@pytest.fixture
def gpus_with(monkeypatch) -> Callable[..., None]:
    """Return a function that replaces the management library by one whose GPUs have these names."""

    def replace_library(*names: str) -> None:
        monkeypatch.setattr(pynvml, "nvmlLib", library_with(names))
        monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})

    return replace_library


def library_with(names: Sequence[str]) -> SimpleNamespace:
    """Return a management library whose GPUs have these names; one without a name may not be used."""

    def write(value: object) -> Callable[..., int]:
        return lambda *arguments: setattr(arguments[-1]._obj, "value", value) or 0

    def handle(index: c_uint, written: object) -> int:
        written._obj.value = index.value + 1
        return 0 if names[index.value] else DENIED

    def text(value: str) -> Callable[..., int]:
        return lambda *arguments: setattr(arguments[-2], "value", value.encode()) or 0

    return SimpleNamespace(
        nvmlInitWithFlags=lambda flags: 0,
        nvmlShutdown=lambda: 0,
        nvmlSystemGetDriverVersion=text("580.1"),
        nvmlDeviceGetCount_v2=write(len(names)),
        nvmlDeviceGetHandleByIndex_v2=handle,
        nvmlDeviceGetUUID=text("GPU-aa"),
        nvmlDeviceGetName=lambda handle, buffer, _: text(names[handle.value - 1])(buffer, _),
    )


def levels(host: Host = QUIET, gpus: list[Gpu] | None = None, device: str = "cuda") -> dict[str, Level]:
    """Return the findings that are not OK, by subject."""
    findings = readiness.findings(host, [IDLE] if gpus is None else gpus, "the driver lists no GPU", device)
    assert all(bool(finding.advice) == (finding.level is not Level.OK) for finding in findings)
    return {finding.subject: finding.level for finding in findings if finding.level is not Level.OK}


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (None, [0, 1, 2]),
        ("", []),
        ("1", [1]),
        ("2,0", [2, 0]),
        ("0,7,1", [0]),
        ("GPU-bb", [1]),
        ("GPU-", []),
        ("MIG-1", []),
    ],
)
def test_the_visible_gpus_are_those_of_cuda(selection, expected):
    """CUDA_VISIBLE_DEVICES has numbers or beginnings of identifiers; CUDA ignores what follows a wrong one."""
    identifiers = ["GPU-aa", "GPU-bb", "GPU-cc"]
    assert nvidia.selected([0, 1, 2], selection, lambda gpu: identifiers[gpu]) == expected


def test_a_mig_instance_is_a_warning_and_named(monkeypatch, gpus_with):
    """NVIDIA's management library does not list it among the GPUs."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "MIG-5c0f5e0e-0000")
    gpus_with("NVIDIA H200")
    gpus, reason = nvidia.visible_gpus()
    assert (gpus, reason) == ([], "CUDA_VISIBLE_DEVICES selects a MIG instance, which cannot be checked")
    (finding,) = [each for each in readiness.findings(QUIET, gpus, reason, "cuda") if each.level is not Level.OK]
    assert (finding.subject, finding.observed, finding.level) == ("GPU", reason, Level.WARNING)


@pytest.mark.parametrize(
    ("names", "seen", "reason"),
    [(["", "NVIDIA H200"], ["NVIDIA H200"], ""), (["", ""], [], "NVIDIA's management library: Insufficient Permissions"), ([], [], NONE)],
    ids=["one of two", "none of two", "no GPU"],
)
def test_a_gpu_without_permission_hides_no_other(monkeypatch, gpus_with, names, seen, reason):
    """In a container, the driver lists the GPUs of others too."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    gpus_with(*names)
    gpus, why = nvidia.visible_gpus()
    assert ([gpu.name for gpu in gpus], why) == (seen, reason)


def test_the_readings_of_a_gpu_are_those_of_the_library(monkeypatch, gpus_with):
    """A reading that its driver does not report is one that disturbs nothing."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    gpus_with("NVIDIA H200")

    def processes(handle: object, count: object, written: Any) -> int:
        if written is None:
            count._obj.value = 1
            return pynvml.NVML_ERROR_INSUFFICIENT_SIZE
        written[0].pid, count._obj.value = 2**31, 1
        return 0

    readings = {
        "MemoryInfo": lambda handle, memory: setattr(memory._obj, "free", 5 * GIB) or 0,
        "UtilizationRates": lambda handle, load: setattr(load._obj, "gpu", 50) or 0,
        "ClockInfo": lambda handle, kind, clock: setattr(clock._obj, "value", 345 + kind.value) or 0,
        "CurrentClocksEventReasons": lambda handle, reasons: setattr(reasons._obj, "value", 0x4 | 0x40) or 0,
        "MigMode": lambda handle, current, pending: setattr(current._obj, "value", 1) or 0,
        "ComputeRunningProcesses_v3": processes,
    }
    for name, function in readings.items():
        setattr(pynvml.nvmlLib, f"nvmlDeviceGet{name}", function)
    (gpu,), reason = nvidia.visible_gpus()
    read = {"free": 5 * GIB, "busy": 0.5, "processes": (f"process {2**31}",), "clock": 346, "slowed_by": ("heat", "power cap")}
    assert gpu == replace(IDLE, **read, divided=True, max_clock=0, temperature=0)
    assert reason == ""


def test_a_busy_process_is_listed_though_an_idle_one_has_its_name():
    """The busiest first, and none below a fifth of a processor."""
    shares = [("python3", 0.9), ("python3", 0.0), ("cc1plus", 1.0), ("sshd", 0.01)]
    assert readiness.busiest(shares) == ("cc1plus", "python3")


@pytest.mark.parametrize(
    ("boost", "no_turbo", "expected"), [("1", "", True), ("0", "", False), ("", "0", True), ("", "1", False), ("", "", None)]
)
def test_the_boost_of_a_processor_is_read_from_either_driver(tmp_path, boost, no_turbo, expected):
    """One says whether it is on, the other whether it is off."""
    for name, text in {"cpufreq/boost": boost, "intel_pstate/no_turbo": no_turbo}.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    host = readiness.host(Path(), seconds=0.01, processors=tmp_path)
    assert host.boost is expected
    (frequency,) = [each.observed for each in readiness.findings(host, [], "", "cpu") if each.subject == "frequency"]
    assert frequency == "unknown" + {True: ", boost on", False: ", boost off", None: ""}[expected]


def test_findings_are_text_without_markup(monkeypatch, capsys):
    """Such as the brackets in the name of a process."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(readiness, "host", lambda *_: replace(QUIET, busy=0.3, busiest=("[red]", "a[/]b")))
    assert main(["machine"]) == 0
    assert "warning other load 30 % of the processors in use, by [red], a[/]b wait until [red], a[/]b has ended" in " ".join(
        capsys.readouterr().out.split()
    )


@pytest.mark.parametrize(
    ("host", "gpu", "device", "expected"),
    [
        *(({}, {}, device, {}) for device in DEVICES),
        ({"busy": 0.3, "busiest": ("cc1plus",)}, {}, "cuda", {"other load": Level.WARNING}),
        ({"busy": 0.9, "busiest": ("cc1plus",)}, {}, "cuda", {"other load": Level.REFUSED}),
        ({"memory": 3 * GIB}, {}, "cuda", {"memory": Level.REFUSED}),
        ({"memory": 3 * GIB}, {}, "cpu", {}),  # measuring the CPU needs less
        ({"memory": GIB}, {}, "cpu", {"memory": Level.REFUSED}),
        ({"disk": 6 * GIB}, {}, "cuda", {"disk": Level.WARNING}),
        ({"governor": "powersave"}, {}, "cuda", {"frequency": Level.WARNING}),
        ({"battery": True}, {}, "cuda", {"power": Level.WARNING}),
        ({}, {"busy": 0.5, "processes": ("python",)}, "cuda", {"GPU 0 load": Level.REFUSED}),
        ({}, {"busy": readiness.GPU_BUSY}, "cuda", {"GPU 0 load": Level.REFUSED}),
        ({}, {"busy": 0.5, "processes": ("python",)}, "cpu", {}),  # for which a GPU does not matter
        ({}, {"processes": ("python",)}, "cuda", {"GPU 0 load": Level.WARNING}),
        ({}, {"free": 3 * GIB}, "cuda", {"GPU 0 memory": Level.REFUSED}),
        ({}, {"slowed_by": ("heat",)}, "cuda", {"GPU 0 clock": Level.WARNING}),
        ({}, {"persistent": False}, "cuda", {"GPU 0 driver": Level.WARNING}),
        ({}, {"divided": True}, "cuda", {"GPU 0": Level.WARNING}),
        ({}, {"hidden": "Insufficient Permissions"}, "cuda", {"GPU 0 load": Level.WARNING}),
    ],
)
def test_what_disturbs_times_is_a_warning_and_what_makes_them_wrong_is_refused(host, gpu, device, expected):
    assert levels(replace(QUIET, **host), [replace(IDLE, **gpu)], device) == expected


def loops(*levels, spread=0.01, disturbed=0.0):
    """Return the times of loops: so many windows at each level, which vary, and of which a share ends after another process ran."""
    chance = Random(5)
    seconds = [level * (1 + abs(chance.gauss(0, spread))) for windows, level in levels for _ in range(windows * readiness.WINDOW)]
    return [each * (4.0 if chance.random() < disturbed else 1.0) for each in seconds]


@pytest.mark.parametrize(
    ("times", "ratio", "slow"),
    [
        (loops((120, 2.3e-3), (80, 3.34e-3)), 1.45, 0.4),
        (loops((95, 2.3e-3), (5, 3.34e-3), disturbed=0.3), 1.45, 0.05),
        (loops((100, 2.3e-3), (100, 3.34e-3), spread=0.1, disturbed=0.5), 1.45, 0.5),
        (loops((198, 2.3e-3), (2, 3.34e-3)), 1.0, 0.0),  # an interruption of 20 ms
        (loops(*((1, 2.3e-3 * 1.002**number) for number in range(200))), 1.0, 0.0),  # a clock that drifts
        ([], 1.0, 0.0),
    ],
    ids=["late", "for a moment", "noisy", "interrupted", "drift", "none"],
)
def test_two_speeds_of_a_processor_are_told_from_what_disturbs_loops(times, ratio, slow):
    """Of a virtual machine whose other hardware thread is busy for seconds at a time, the same loop takes 1.45 times as long."""
    found = readiness.speeds(times)
    assert (found.ratio, found.slow) == (pytest.approx(ratio, abs=0.03), pytest.approx(slow, abs=0.02))


def test_the_machine_says_what_follows_from_two_speeds(monkeypatch, capsys):
    """It is a warning: what takes turns is compared all the same."""
    monkeypatch.setenv("COLUMNS", "200")
    host = replace(QUIET, speeds=readiness.Speeds(1.452, 0.38))
    assert levels(host, device="cpu") == {"speed": Level.WARNING}
    monkeypatch.setattr(readiness, "host", lambda *_: host)
    assert main(["machine"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "speed two levels: a loop takes 1.45 times as long for 38 % of 2 s compare only what took turns" in text
    assert main(["machine", "--strict"]) == 1


def test_a_loop_is_timed_again_and_again_for_two_seconds():
    """By a clock that only the test moves: each reading is half a second later."""
    readings = iter(number / 2 for number in range(100))
    assert readiness.loop_times(2.0, lambda: next(readings)) == [0.5, 0.5]


@pytest.mark.parametrize(
    ("version", "driver", "capability", "reason"),
    [
        ("2.15.0", "580.65.06", (9, 0), ""),
        ("2.15.0", "575.51.03", (9, 0), "CUDA 13.2 needs driver R580 or newer, and this one is 575.51.03"),
        ("2.10.0", "570.86.10", (9, 0), ""),
        ("1.13.1", "580.65.06", (8, 0), ""),
        ("1.12.1", "580.65.06", (8, 0), "no kernels for sm_80, only for sm_37, sm_50, sm_60, sm_70"),
        ("2.1.2", "580.65.06", (9, 0), ""),
        ("2.0.1", "580.65.06", (9, 0), "no kernels for sm_90, only for sm_37, sm_50, sm_60, sm_70, sm_75, sm_80, sm_86"),
        ("2.15.0", "580.65.06", None, ""),
    ],
)
def test_a_release_needs_a_driver_and_kernels(version, driver, capability, reason):
    """An A100 can run torch from 1.13 on, an H200 from 2.1 on; CUDA 13 needs R580. One of the visible GPUs is enough."""
    release, gpu = release_table.load().find(version), replace(IDLE, driver=driver, capability=capability)
    assert environments.why_not_on(release, driver, capability) == environments.why_no_gpu(release, [gpu]) == reason
    assert environments.why_no_gpu(release, [gpu, replace(IDLE, driver="999.1", capability=None)]) == ""


def test_the_host_probe_reads_load_memory_and_disk():
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        try:
            host = readiness.host(Path("no/such/folder"), seconds=0.2)
        finally:
            busy.kill()
    assert host.busy > 0.2 / (os.cpu_count() or 1)
    assert 0 < host.memory < 2**50
    assert 0 < host.disk < 2**60
