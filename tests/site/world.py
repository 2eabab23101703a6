"""A small world of launches whose every change is known: a CPU over five releases, and a GPU over three on another machine.

The comment beside a case is what becomes of it. `site_of` returns what is published of a folder of results.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from tensorcopy.campaign import Campaign
from tensorcopy.copying.shipped import shipped
from tensorcopy.results import function_profiles, reader
from tensorcopy.site import build, facts
from tensorcopy.site.facts import Site
from tests import launch_files
from tests.launch_files import START, observed

RELEASES = ["2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0"]
SMALL, LARGE = 2**7, 2**17
CARD = {"accelerators": {"cuda": "Card 9000"}, "driver": "580.1", "gpu": {"name": "Card 9000", "clock_mhz": 1980}}
ERROR = "RuntimeError: a | of <b>this</b> & that"
WARNING = "UserWarning: To copy construct from a tensor, it is recommended to use another way"

CODES = {
    "clone_detach": "x.clone().detach()",
    "detach_clone": "x.detach().clone()",
    "new_tensor": "x.new_tensor(x)",
    "tensor": "torch.tensor(x)",
    "empty_like_copy": "torch.empty_like(x).copy_(x)",
    "detach_numpy_copy": "x.detach().numpy().copy()",
    "detach_clone_numpy": "x.detach().clone().numpy()",
    "detach_to_cpu_copy_numpy": 'x.detach().to("cpu", copy=True).numpy()',
    "numpy_force": "x.numpy(force=True)",
    "clone": "x.clone()",
    "cpu": "x.cpu()",
}


def times(*microseconds: float | str | None) -> dict[str, Any]:
    """Return the times of a case by release, the newest last; None where it is skipped."""
    return {release: time for release, time in zip(RELEASES[-len(microseconds) :], microseconds) if time is not None}


COPY, GRAD = "copies.BySize.time_copy", "copies.ByGrad.time_copy"
CPU = {
    f"{COPY} detach_clone {SMALL}": times(1.0, 1.0, 1.0, 1.0, 1.0),  # the same with each release
    f"{COPY} clone_detach {SMALL}": times(1.02, 1.02, None, 0.9, 0.9),  # not measured with 2.13.0, faster with 2.14.1
    f"{COPY} new_tensor {SMALL}": times(2.0, 2.0, 2.0, 1.93, 2.0),  # back to an earlier level
    f"{COPY} tensor {SMALL}": times(2.0, 2.0, 2.0, 2.0, 2.2),  # slower with 2.15.0, by more instructions: new
    f"{COPY} empty_like_copy {SMALL}": times(1.5, 1.8, 2.0, 1.8, 1.8),  # slower since 2.12.1, and more with 2.13.0 alone
    f"{COPY} tensor 16": times(2.0, 2.6, 1.8, 2.0, 2.1),  # the same, by less than its changes before
    f"{COPY} tensor 1024": times(2.0, 2.0, 2.0, 2.0, None),  # skipped with 2.15.0
    f"{COPY} detach_clone {LARGE}": times(13.0, 15.0, 13.0, 13.0, 13.0),  # slower with 2.12.1, taken back by 2.13.0
    f"{COPY} clone_detach {LARGE}": times(13.1, 13.1, 13.1, 13.1, 13.1),
    f"{COPY} tensor {LARGE}": times(10.0, 10.0, 10.0, 10.0, 10.0),  # faster than the recommended form, but it warns
    f"{GRAD} detach_clone {SMALL} True": times(1.0, 1.0, 1.0, 1.0, 1.0),
    f"{GRAD} clone_detach {SMALL} True": times(1.5, 1.5, 1.5, 1.5, 1.5),
    f"{GRAD} tensor {SMALL} True": times(2.0, 2.0, 2.0, 2.0, 2.0),
    f"{GRAD} detach_clone {LARGE} True": times(13.0, 13.0, 13.0, 13.0, 13.0),
    f"{GRAD} clone_detach {LARGE} True": times(13.7, 13.7, 13.7, 13.7, 13.7),
    f"conversions.BySize.time_conversion detach_numpy_copy {SMALL}": times(0.8, 0.8, 0.8, 0.8, 0.8),
    f"conversions.BySize.time_conversion detach_clone_numpy {SMALL}": times(1.8, 1.8, 1.8, 1.8, ERROR),  # fails with 2.15.0
    f"{COPY} clone {SMALL}": times(0.7, 0.7, 0.7, 0.7, 0.7),
    f"{GRAD} clone {SMALL} True": times(1.2, 1.2, 1.2, 1.2, 1.2),
}
NOISY = {  # not decided
    f"{COPY} {method} {2**20}": times(90.0, 90.0, 90.0, 90.0, 90.0) for method in ("detach_clone", "clone_detach", "tensor")
}
INSTRUCTIONS = {  # with the last three releases: the two before were not counted
    f"instructions.BySize.track_instructions detach_clone {SMALL} False": (1000, 1000, 1000),
    f"instructions.BySize.track_instructions new_tensor {SMALL} False": (5000, 5000, 5000),
    f"instructions.BySize.track_instructions tensor {SMALL} False": (5000, 5000, 5600),
}
CUDA = {
    f"copies.Throughput.time_copy detach_clone {SMALL} cuda": times(8.0, 8.0, 8.0),
    f"copies.Throughput.time_copy clone_detach {SMALL} cuda": times(8.1, 8.1, 8.1),
    f"copies.Throughput.time_copy tensor {SMALL} cuda": times(12.0, 12.0, 12.0),
    f"copies.Latency.time_copy detach_clone {SMALL} cuda": times(12.0, 12.0, 12.0),
    f"transfers.Latency.time_transfer detach_to_cpu_copy_numpy {SMALL} cuda": times(18.0, 18.0, 18.0),
    f"conversions.Latency.time_conversion detach_clone_numpy {SMALL} cuda": times(25.0, 25.0, 30.0),  # slower with 2.15.0
    f"conversions.Latency.time_conversion numpy_force {SMALL} cuda": times(18.1, 18.1, 18.1),
}


def methods(*devices: str) -> dict[str, Any]:
    """Return what each method of the world was observed to do on some devices."""
    own = {
        "clone": {"with_grad": {"keeps_graph": True, "requires_grad": True, "is_leaf": False}},
        "tensor": {"both": {"warns": WARNING}},
        "cpu": {"both": {"shares_storage": True}, "with_grad": {"keeps_graph": True, "requires_grad": True}},
    }
    rows = {}
    for name, code in CODES.items():
        to_host, seen = "numpy" in name, own.get(name, {})
        group = (
            "alternative" if name == "detach_to_cpu_copy_numpy" else "conversion" if to_host else "primitive" if name == "clone" else "copy"
        )
        row = observed(group, code)
        plain = row["observed"]["cpu"]["plain"] | ({"gives": "ndarray"} if to_host else {}) | seen.get("both", {})
        outcomes = {"plain": plain, "with_grad": plain | seen.get("with_grad", {})}
        rows[name] = {**row, "observed": dict.fromkeys(devices, outcomes)}
    rows["numpy_force"]["observed"] = {
        device: {kind: {**outcome, "shares_storage": device == "cpu"} for kind, outcome in of_device.items()}
        for device, of_device in rows["numpy_force"]["observed"].items()
    }
    return rows


def write(folder: Path) -> Path:
    """Write the launches, counts and profiles of the world below a folder, and return it."""
    launch_files.write(folder, CPU, machine="box", noise=0.002, reference="2.13.0")
    launch_files.write(folder, NOISY, machine="box", noise=0.2, reference="2.13.0", start=START + timedelta(days=1))
    launch_files.write(folder, CUDA, machine="card", noise=0.004, launches=6, start=START + timedelta(days=2), **CARD)
    for number, release in enumerate(RELEASES[2:]):
        counts = {name: of_case[number] for name, of_case in INSTRUCTIONS.items()}
        launch_files.write_counts(folder, release, counts, methods=methods("cpu"), machine="box")
        peaks = {"detach_clone_numpy": 8 << 20 if release == "2.13.0" else 4 << 20, "detach_to_cpu_copy_numpy": 0}
        memory = {f"memory.Device.track_peak {method} 1048576 cuda": peak for method, peak in peaks.items()}
        memory |= {f"memory.Host.track_peak {method} 1048576 cuda": 4 << 20 for method in peaks}
        launch_files.write_counts(folder, release, memory, methods=methods("cuda"), machine="card", **CARD)
    for release, parsing in (("2.13.0", 1000.0), ("2.14.1", 1000.0), ("2.15.0", 1600.0)):
        cases = {"tensor": parsing, "new_tensor": 1000.0, "detach_clone": 1000.0}
        write_profile(folder / "box", release, {f"{method} {SMALL} float32 contiguous": each for method, each in cases.items()})
    return folder


def write_profile(folder: Path, release: str, cases: Mapping[str, float]) -> None:
    """Write the functions of a release: of each case 4,000 instructions of a copy, and those of parsing its arguments."""
    side = launch_files.side(release)
    names = ("torch", "torch_sha", "python", "libc", "tensorcopy")
    rows = {name: {"instructions": 4000.0 + each, "functions": [0, 4000.0, 1, 1, each, 2]} for name, each in cases.items()}
    profiles = {
        "version": function_profiles.VERSION,
        **{name: side.provenance[name] for name in names},
        "valgrind": "3.19.0",
        "started": START.isoformat(),
        "functions": [["libtorch_cpu", "at::native::copy_"], ["libtorch_python", "torch::PythonArgParser::parse"]],
        "cases": rows,
    }
    sha, environment, _ = side.place
    function_profiles.write(folder, sha, environment, profiles)


def site_of(folder: Path, campaign: Campaign | None = None, **options: Any) -> Site:
    """Return what is published of a folder of results; options : as of `facts.site`."""
    campaign = campaign or shipped()
    return facts.site(campaign, reader.load_results(folder, campaign).histories, **options)


def files_of(folder: Path, campaign: Campaign | None = None, root: str = "", **options: Any) -> dict[str, str]:
    """Return every file of the site of a folder of results by address."""
    return dict(build.files(site_of(folder, campaign, **options), root))
