"""Which machine is measured, which is warned of and which is refused, and by which name."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tensorcopy.cli import main
from tensorcopy.measure import host_probe, preflight
from tensorcopy.measure.host_probe import Gpu, Host
from tensorcopy.measure.preflight import GIB, Level

QUIET = Host(16, 0.01, (), 100 * GIB, 500 * GIB, "performance", False, False)
IDLE = Gpu("NVIDIA H200", "580.1", 139 * GIB, 0.0, (), 345, 1980, 31, True, (), False)


def levels(host: Host = QUIET, gpus: list[Gpu] | None = None, device: str = "cuda") -> dict[str, Level]:
    """By what was looked at, where it is not fine."""
    found = preflight.findings(host, [IDLE] if gpus is None else gpus, "the driver shows no GPU", device)
    assert all(bool(one.next) == (one.level is not Level.FINE) for one in found)
    return {one.what: one.level for one in found if one.level is not Level.FINE}


def test_a_quiet_machine_is_fit():
    assert levels() == {}


@pytest.mark.parametrize(
    ("change", "what", "level"),
    [
        ({"busy": 0.3, "busiest": ("cc1plus",)}, "other load", Level.WARNED),
        ({"busy": 0.9, "busiest": ("cc1plus",)}, "other load", Level.REFUSED),
        ({"memory": GIB}, "memory", Level.REFUSED),
        ({"disk": GIB}, "disk", Level.WARNED),
        ({"governor": "powersave"}, "frequency", Level.WARNED),
        ({"battery": True}, "power", Level.WARNED),
    ],
)
def test_what_is_wrong_with_a_host_is_named(change, what, level):
    assert levels(replace(QUIET, **change)) == {what: level}


@pytest.mark.parametrize(
    ("change", "what", "level"),
    [
        ({"busy": 0.5, "others": ("python",)}, "GPU 0 load", Level.REFUSED),
        ({"others": ("python",)}, "GPU 0 load", Level.WARNED),
        ({"memory": GIB}, "GPU 0 memory", Level.REFUSED),
        ({"slowed": ("heat",)}, "GPU 0 clock", Level.WARNED),
        ({"persistent": False}, "GPU 0 driver", Level.WARNED),
        ({"divided": True}, "GPU 0", Level.WARNED),
    ],
)
def test_what_is_wrong_with_a_gpu_is_named(change, what, level):
    """And is nothing to somebody who measures the CPU."""
    assert levels(gpus=[replace(IDLE, **change)]) == {what: level}
    assert levels(gpus=[replace(IDLE, **change)], device="cpu") == {}


def test_without_a_gpu_cuda_is_refused_and_the_cpu_is_not():
    assert levels(gpus=[]) == {"GPU": Level.REFUSED}
    assert levels(gpus=[], device="cpu") == {}


def test_this_machine_is_seen_as_it_is():
    """Somebody else's work is noticed, by its name."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
        try:
            seen = host_probe.host(Path("no/such/folder"))
        finally:
            other.kill()
    assert seen.busy > 0.5 / seen.cores
    assert any(name.startswith("python") for name in seen.busiest)
    assert 0 < seen.memory < 2**50
    assert 0 < seen.disk < 2**60


def test_no_driver_is_a_reason(capsys):
    """Where there is a GPU, its readings are numbers of one."""
    gpus, reason = host_probe.gpus()
    if not gpus:
        assert reason
        assert main(["machine", "--device", "cuda"]) == 1
        assert f"this machine is not fit to be measured, GPU: {reason}; next: " in capsys.readouterr().err
    for gpu in gpus:
        assert gpu.memory > 0
        assert 0 < gpu.clock <= gpu.most_clock
