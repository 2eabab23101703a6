"""What several tests need: the shipped results, and a small result of known numbers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path
from statistics import median
from types import SimpleNamespace

import pytest

from tensorcopy.analysis import comparisons
from tensorcopy.analysis.two_sample import MARGIN
from tensorcopy.releases import environments, uv
from tensorcopy.releases.release_table import Release
from tensorcopy.results import select
from tensorcopy.results.load import Case, Result
from tensorcopy.results.passes import PassSamples, timing

ROOT = Path(__file__).resolve().parent.parent


PROVENANCE = {
    "torch": "2.15.0+cu132",
    "torch_sha": "d0f2af8b66b20da4baa50644c0cd3f887a2eae2e",
    "build": "cuda",
    "cuda": "13.2",
    "numpy": "1.26.4",
    "asv": "0.6.6",
    "asv_runner": "0.3.2",
    "python": "3.11.7",
    "tensorcopy": "0.1.0",
    "os": "Linux",
    "arch": "x86_64",
    "libc": "glibc 2.36",
    "cpu": "Box 9000",
    "cores": 2,
    "cpu_capability": "AVX2",
    "governor": "",
    "cpu_quota": None,
    "hugepages": "madvise",
    "threads": 2,
    "accelerators": {},
    "driver": "",
    "settings": {},
    "started": "2026-11-21T08:00:00+00:00",
}


@pytest.fixture
def results_dir(tmp_path: Path) -> Path:
    """A results folder as asv writes it: one machine, one release, three cases of one suite, one of them skipped."""
    folder = tmp_path / "results"
    (folder / "box").mkdir(parents=True)
    suites = {"copies.BySize.time_copy": {"version": "1", "param_names": ["method", "numel"]}, "version": 2}
    (folder / "benchmarks.json").write_text(json.dumps(suites))
    (folder / "box" / "machine.json").write_text(json.dumps({"machine": "box", "version": 1}))
    columns = (
        "result params version started_at duration stats_ci_99_a stats_ci_99_b stats_q_25 stats_q_75 stats_number stats_repeat samples"
    )
    row = [
        [1e-6, 2e-6, float("nan")],
        [["'clone_detach'", "'tensor'", "'detach_clone'"], ["16"]],
        "1",
        0,
        1.0,
        [0.9e-6, None, None],
        [1.1e-6, None, None],
        None,
        None,
        None,
        None,
        [[0.9e-6, 1e-6, 1.1e-6], None, None],
    ]
    document = {
        "commit_hash": "d0f2af8b66b20da4baa50644c0cd3f887a2eae2e",
        "env_name": "py3.11-cuda",
        "date": 0,
        "params": {"machine": "box", "python": "3.11", "build": "cuda"},
        "python": "3.11",
        "requirements": {"build": "cuda"},
        "env_vars": {},
        "result_columns": columns.split(),
        "results": {"copies.BySize.time_copy": row},
        "durations": {},
        "ledger": PROVENANCE,
        "passes": [],
        "version": 2,
    }
    (folder / "box" / "d0f2af8b-py3.11-cuda.json").write_text(json.dumps(document))
    return folder


def measured_in_passes(
    folder: Path, release: Release, times: dict[str, list[float]], machine: str = "box", python: str = "3.11", **provenance: object
) -> Path:
    """A result file of copies with 16 elements: for each method the factor of a microsecond that each of its passes took; its path.

    A pass has three samples, a thousandth apart, with a quiet control.
    """
    suite = "copies.BySize.time_copy"
    (folder / machine).mkdir(parents=True, exist_ok=True)
    params = [[f"'{method}'" for method in times], ["16"]]
    known = {suite: {"version": "3", "param_names": ["method", "numel"], "params": params, "type": "time"}, "version": 2}
    (folder / "benchmarks.json").write_text(json.dumps(known))
    (folder / machine / "machine.json").write_text(json.dumps({"machine": machine, "version": 1}))
    samples = [[1e-6 * factor * (1 + part / 1000) for factor in factors for part in (-1, 0, 1)] for factors in times.values()]
    full = {**PROVENANCE, "torch": f"{release.version}+cu13", "torch_sha": release.sha, "python": f"{python}.7", **provenance}
    passes = [
        {
            "id": f"pass-{number}",
            "started": "2026-11-21T08:00:00+00:00",
            "selection": "",
            "ledger": full,
            "suites": {suite: {"version": "3", "samples": [3] * len(times), "control_ns": [[8600] * 3] * len(times)}},
        }
        for number in range(max(len(factors) for factors in times.values()))
    ]
    row = [[median(some) for some in samples], params, "3", 0, 1.0, samples]
    document = {
        "commit_hash": release.sha,
        "env_name": f"py{python}-cuda",
        "date": 0,
        "params": {"machine": machine, "python": python, "build": "cuda"},
        "python": python,
        "requirements": {},
        "env_vars": {},
        "result_columns": ["result", "params", "version", "started_at", "duration", "samples"],
        "results": {suite: row},
        "durations": {},
        "ledger": full,
        "passes": passes,
        "version": 2,
    }
    path = folder / machine / f"{release.sha[:8]}-py{python}-cuda.json"
    path.write_text(json.dumps(document))
    return path


def compared(before: str, after: str, folder: Path, margin: float = MARGIN):
    """Two results by name, judged."""
    pair = select.pair(before, after, folder)
    return comparisons.between(pair.before, pair.after, pair.beside, margin=margin)


OLD = Release("1.0.0", date(2020, 1, 1), "a" * 40, ("3.8", "3.9"), "1.26.4", "https://example.org/1")
NEW = Release("2.0.0", date(2021, 1, 1), "b" * 40, ("3.9", "3.12"), "1.26.4", "https://example.org/2")


SEEN = {
    "gives": "tensor",
    "shares_storage": False,
    "keeps_graph": False,
    "is_leaf": True,
    "requires_grad": False,
    "device": "same",
    "dtype": "same",
    "layout": "same",
    "warns": "",
    "raises": "",
}  # of an independent tensor out of the graph


def measured(
    release: Release, times: dict[tuple[str, int], float], machine: str = "box", python: str = "3.11", **provenance: str
) -> Result:
    """A result of `release` with times by (method, numel), each known to 1 % by five passes."""
    timings = {}
    for (method, numel), time in times.items():
        suite = "conversions.BySize.time_conversion" if "numpy" in method else "copies.BySize.time_copy"
        by_pass = [PassSamples((time * (1 + part / 200),)) for part in range(-2, 3)]
        timings[Case(suite, (("method", method), ("numel", str(numel))))] = timing(by_pass)
    methods = {
        method: {
            "group": "copy",
            "code": f"code of {method}",
            "code_on_accelerator": f"code of {method} there",
            "since": "1.9.0",
            "observed": {"cpu": {"plain": SEEN, "with_grad": SEEN}},
        }
        for method, _ in times
    }
    return Result(
        path=Path("results") / machine / f"{release.sha[:8]}-py{python}-cuda.json",
        machine=machine,
        sha=release.sha,
        python=python,
        build="cuda",
        environment=f"py{python}-cuda",
        timings=timings,
        provenance={**PROVENANCE, "torch": f"{release.version}+cu1", "torch_sha": release.sha, "python": f"{python}.7", **provenance},
        methods=methods,
        article={"cpu": {"statements": 3, "hold": 3, "fail": []}},
    )


@pytest.fixture(scope="session")
def checkout(tmp_path_factory):
    """A copy of this checkout, as git has it, and how to run a command in it. tests/test_the_whole_way.py finds nothing installed in it."""
    return copied(tmp_path_factory)


@pytest.fixture(scope="session")
def workshop(tmp_path_factory):
    """Another, in which something may be installed by now."""
    return copied(tmp_path_factory)


def copied(tmp_path_factory):
    if environments.expected_build() != "cuda":
        pytest.skip("the table's numbers of PyPI's default wheels are for Linux x86-64")
    missing = [python for python in ("3.9", "3.11") if uv.find_python(python) is None]
    if missing:
        give_up = pytest.fail if os.environ.get("CI") else pytest.skip  # CI must not be green without it
        give_up(f"uv finds no Python {' and '.join(missing)} here")
    root = tmp_path_factory.mktemp("checkout")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    cache = subprocess.run([uv._program(), "cache", "dir"], capture_output=True, text=True, check=True).stdout.strip()
    home = Path.home()
    environment = {
        **os.environ,
        "HOME": str(tmp_path_factory.mktemp("home")),  # asv keeps its list of machines there
        "UV_CACHE_DIR": cache,
        "PYENV_ROOT": os.environ.get("PYENV_ROOT", str(home / ".pyenv")),
        "PYTHONPATH": str(root),
        **environments.bytecode_in(tmp_path_factory.mktemp("cache")),
        "COLUMNS": "200",
    }

    def run(program: str, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", {"tensorcopy": "tensorcopy.cli"}.get(program, program), *arguments]
        return subprocess.run(command, cwd=root, env={**environment, **more}, capture_output=True, text=True, check=False)

    return SimpleNamespace(root=root, run=run, environment=environment)
