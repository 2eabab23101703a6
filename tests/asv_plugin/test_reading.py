"""What `asv show` prints of launches."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import pytest

from tensorcopy.asv_plugin import reading
from tensorcopy.asv_plugin.repository import TorchReleases
from tensorcopy.copying.shipped import shipped
from tensorcopy.measure import git
from tensorcopy.results import reader
from tests import launch_files

COPY = "copies.BySize.time_copy"
CONF = Namespace(results_dir="results", html_dir="site", env_dir=".asv/env", pythons=["3.11"])


@pytest.fixture
def show(tmp_path, monkeypatch, capsys):
    """A function that returns the lines of `asv show`, their words by the first of them; four launches of two releases, and a count."""
    monkeypatch.chdir(tmp_path)
    times = {f"{COPY} tensor 16": {"2.14.1": 2.0, "2.15.0": 2.4}, f"{COPY} clone 16": {"2.14.1": 1.0, "2.15.0": "RuntimeError: no"}}
    launch_files.write(tmp_path / "results", times, launches=4)
    launch_files.write_counts(tmp_path / "results", "2.15.0", {"instructions.BySize.track_instructions tensor 16": [5003, 5001]})
    commits = {f"{COPY} tensor 16": {"2.8.0#aaaa1111bbbb": 1.0, "2.8.0#cccc2222dddd": 1.1}}
    launch_files.write(tmp_path / ".asv/revisions/results", commits, launches=1, machine="lab")

    def of(commit: str | None = None, **options):
        given = {"machine": None, "env_spec": [], "bench": None, **options}
        assert reading.show(TorchReleases(shipped()), CONF, Namespace(commit=commit, **given)) == 0
        lines = [line.split("  ") for line in capsys.readouterr().out.splitlines() if line]
        return {first: [*filter(None, map(str.strip, others))] for first, *others in lines}

    return of


def test_a_release_has_its_times_counts_and_failures(show):
    """With half of the interval, and the number of launches; of a failure the reason."""
    (history,) = reader.load_results(Path("results"), shipped()).histories
    timing = next(each for case, each in history.results[-1].timings.items() if case["method"] == "tensor")
    shown = show("v2.15.0")
    assert [*shown] == [
        "torch 2.15.0 on Python 3.11, box",
        "benchmark",
        f"{COPY}('tensor', 16)",
        f"{COPY}('clone', 16)",
        "instructions.BySize.track_instructions('tensor', 16)",
    ]
    assert shown[f"{COPY}('tensor', 16)"] == [f"{timing.seconds * 1e6:.2f} µs", f"{100 * (timing.factor() - 1):.1f} %", "4"]
    assert shown[f"{COPY}('clone', 16)"] == ["failed: RuntimeError: no"]
    assert shown["instructions.BySize.track_instructions('tensor', 16)"] == ["5\u2009001"]
    assert [*show("v2.15.0", bench=["instr"])][2:] == ["instructions.BySize.track_instructions('tensor', 16)"]


def test_what_has_results_is_listed(show, monkeypatch):
    """Releases of each history, and git revisions with the torch that measured them; one launch tells no interval."""
    shas = {version: launch_files.sha_of(version)[:8] for version in ("2.8.0", "2.14.1", "2.15.0")}
    assert show() == {
        "commit": ["torch", "history", "environment"],
        "v2.14.1": [shas["2.14.1"], "box", "py3.11-cuda"],
        "v2.15.0": [shas["2.15.0"], "box", "py3.11-cuda"],
        "aaaa1111": [shas["2.8.0"], "lab", "py3.11-cuda"],
        "cccc2222": [shas["2.8.0"], "lab", "py3.11-cuda"],
    }
    assert [*show(machine="lab")] == ["commit", "aaaa1111", "cccc2222"]
    monkeypatch.setattr(git, "find", lambda name: name)
    assert [*show("cccc2222dddd")] == ["cccc2222 with torch 2.8.0 on Python 3.11, lab", "benchmark", f"{COPY}('tensor', 16)"]
