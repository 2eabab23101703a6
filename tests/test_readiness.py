"""Which findings about a machine are warnings and which are refused."""

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
    """Return the findings that are not OK, by subject."""
    findings = preflight.findings(host, [IDLE] if gpus is None else gpus, "the driver lists no GPU", device)
    assert all(bool(finding.advice) == (finding.level is not Level.OK) for finding in findings)
    return {finding.subject: finding.level for finding in findings if finding.level is not Level.OK}


def test_a_quiet_machine_has_no_warning():
    assert levels() == {}


@pytest.mark.parametrize(
    ("change", "subject", "level"),
    [
        ({"busy": 0.3, "busiest": ("cc1plus",)}, "other load", Level.WARNING),
        ({"busy": 0.9, "busiest": ("cc1plus",)}, "other load", Level.REFUSED),
        ({"memory": GIB}, "memory", Level.REFUSED),
        ({"disk": GIB}, "disk", Level.WARNING),
        ({"governor": "powersave"}, "frequency", Level.WARNING),
        ({"battery": True}, "power", Level.WARNING),
    ],
)
def test_a_disturbed_host_is_reported(change, subject, level):
    assert levels(replace(QUIET, **change)) == {subject: level}


@pytest.mark.parametrize(
    ("change", "subject", "level"),
    [
        ({"busy": 0.5, "processes": ("python",)}, "GPU 0 load", Level.REFUSED),
        ({"processes": ("python",)}, "GPU 0 load", Level.WARNING),
        ({"memory": GIB}, "GPU 0 memory", Level.REFUSED),
        ({"slowed_by": ("heat",)}, "GPU 0 clock", Level.WARNING),
        ({"persistent": False}, "GPU 0 driver", Level.WARNING),
        ({"divided": True}, "GPU 0", Level.WARNING),
    ],
)
def test_a_disturbed_gpu_is_reported(change, subject, level):
    """For measuring the CPU it does not matter."""
    assert levels(gpus=[replace(IDLE, **change)]) == {subject: level}
    assert levels(gpus=[replace(IDLE, **change)], device="cpu") == {}


def test_without_a_gpu_only_cuda_is_refused():
    assert levels(gpus=[]) == {"GPU": Level.REFUSED}
    assert levels(gpus=[], device="cpu") == {}


def test_the_host_probe_reports_another_busy_process():
    """Its name is listed, and its load counts."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        try:
            host = host_probe.host(Path("no/such/folder"))
        finally:
            busy.kill()
    assert host.busy > 0.5 / host.cores
    assert any(name.startswith("python") for name in host.busiest)
    assert 0 < host.memory < 2**50
    assert 0 < host.disk < 2**60


def test_the_gpu_probe_returns_gpus_or_a_reason(capsys):
    """The readings of a GPU are plausible."""
    gpus, reason = host_probe.gpus()
    if not gpus:
        assert reason
        assert main(["machine", "--device", "cuda"]) == 1
        assert f"this machine is unfit for measuring, GPU: {reason}; next: " in capsys.readouterr().err
    for gpu in gpus:
        assert gpu.memory > 0
        assert 0 < gpu.clock <= gpu.max_clock
