"""The way of docs/gpu-runner.md for a machine with a Python with torch, and no network."""

import os
import subprocess
import sys
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tensorcopy.releases import uv
from tests.conftest import ROOT, Checkout, copied, require

pytestmark = pytest.mark.weekly

GUIDE = (ROOT / "docs" / "gpu-runner.md").read_text(encoding="utf-8")
COLLECT = '-m pip wheel --wheel-dir wheels ".[dashboard]" hatchling editables'
INSTALL = '-m pip install --no-index --find-links wheels --editable ".[dashboard]"'
MEASURE = ("--history", "h200", "--launches", "1", "--bench", r"copies.BySize.*'detach_clone', 1024")
NOWHERE = "http://127.0.0.1:9"
OFFLINE = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "PIP_INDEX_URL", "UV_INDEX_URL"), NOWHERE)


def arguments(command: str) -> list[str]:
    """Return the arguments of a command of the guide."""
    assert f"python {command}\n" in GUIDE
    return [word.strip('"') for word in command.split()]


def needed_by(*names: str) -> dict[str, Distribution]:
    """Return these installed distributions and all that they need, by name."""
    needed: dict[str, Distribution] = {}
    missing = list(names)
    while missing:
        name = missing.pop()
        if name in needed:
            continue
        needed[name] = distribution(name)
        requirements = map(Requirement, needed[name].requires or ())
        missing += [each.name for each in requirements if each.marker is None or each.marker.evaluate({"extra": ""})]
    return needed


@pytest.fixture(scope="module")
def machine(tmp_path_factory) -> tuple[Checkout, Path]:
    """A checkout with the wheels that were collected for it, and the programs of a Python with torch, into which they are installed."""
    checkout, folder = copied(tmp_path_factory), tmp_path_factory.mktemp("machine")
    packages = folder / "packages"
    packages.mkdir()
    for each in needed_by("torch", "numpy").values():
        for name in {file.parts[0] for file in each.files or ()} - {"..", "__pycache__"}:
            if not (packages / name).exists():
                (packages / name).symlink_to(each.locate_file(name))
    subprocess.run([uv.find_uv_bin(), "venv", "--quiet", "--seed", "--python", sys.executable, folder / "python"], check=True)
    (site,) = folder.glob("python/lib/python3*/site-packages")
    (site / "torch.pth").write_text(f"{packages}\n")  # of the machine, which has only torch, numpy and what they need
    programs = folder / "python" / "bin"
    python = programs / "python"
    collected = subprocess.run([python, *arguments(COLLECT)], cwd=checkout.root, capture_output=True, text=True, check=False)
    require(collected.returncode == 0, f"pip cannot reach the package index: {collected.stderr}")
    environment = {name: value for name, value in checkout.environment.items() if name not in ("PYTHONPATH", "UV_CACHE_DIR")}
    path = os.pathsep.join([str(programs), *(each for each in os.environ["PATH"].split(os.pathsep) if not (Path(each) / "uv").exists())])
    offline = Checkout(checkout.root, {**environment, **OFFLINE, "PATH": path, "PIP_NO_COMPILE": "1"})
    subprocess.run([python, *arguments(INSTALL)], cwd=offline.root, env=offline.environment, capture_output=True, check=True)
    return offline, programs


def run(checkout: Checkout, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a program of the machine."""
    return subprocess.run(command, cwd=checkout.root, env=checkout.environment, capture_output=True, text=True, check=False)


def test_a_machine_without_a_network_measures_its_torch(machine):
    """The commands of the guide, on the CPU, and the pages."""
    checkout, programs = machine
    measured = run(checkout, str(programs / "tensorcopy"), "measure", "--interpreter", "same", *MEASURE)
    assert measured.returncode == 0, measured.stdout + measured.stderr
    published = run(checkout, str(programs / "asv"), "publish")
    assert published.returncode == 0, published.stdout + published.stderr
    assert (checkout.root / "site" / "data" / "cpu" / "detach_clone.json").exists()
