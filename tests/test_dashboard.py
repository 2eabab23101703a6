"""The main job: stages, errors, and results that are already complete."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tensorcopy.configuration import Paths
from tensorcopy.errors import DiskError, TensorcopyError
from tensorcopy.measure import plan, run_passes
from tensorcopy.measure.plan import Measurement
from tensorcopy.releases import environments, release_table, uv
from tensorcopy.results.reader import Results
from tests.conftest import measured

OLD, NEW = release_table.load()[-2:]
ERROR = TensorcopyError("no torch", got="none", allowed="one", next="install it")


@pytest.fixture
def run_dashboard(monkeypatch, tmp_path):
    """Run the job with a stub in place of each measurement; return its errors and what it reported."""

    def run(measure_pass, results):
        reports = []
        monkeypatch.setattr(run_passes, "measure_pass", measure_pass)
        monkeypatch.setattr(run_passes.program, "publish", lambda: None)
        monkeypatch.setattr(run_passes.reader, "load_results", lambda folder: results)
        paths = Paths(tmp_path, tmp_path, tmp_path, ("3.11",))
        measurements = [Measurement(release, "3.11") for release in (OLD, NEW)]
        problems = run_passes.measure_and_publish(measurements, paths, "box", True, reports.append)
        return problems, reports

    return run


def test_every_stage_is_reported_and_an_error_stops_only_its_release(run_dashboard):
    """The second release is measured although the first fails."""

    def measure_pass(measurement, job, report_install, report_measure):
        report_install(0.0, 1.0, "")
        if measurement.release is OLD:
            raise ERROR
        report_measure(0.5, 1.0, "copies.BySize")

    problems, reports = run_dashboard(measure_pass, Results((), ()))
    assert problems == (ERROR,)
    assert list(dict.fromkeys(report.doing for report in reports)) == [
        f"installing torch {OLD.version}",
        f"installing torch {NEW.version}",
        f"measuring torch {NEW.version}: copies.BySize",
        "publishing the site",
    ]
    assert [report.done for report in reports] == sorted(report.done for report in reports)
    assert (reports[-1].done, reports[-1].remaining) == (1.0, 0.0)


def test_errors_before_the_one_that_ends_a_run_are_not_lost(run_dashboard):
    """The command line prints them first."""

    def measure_pass(measurement, *_):
        raise ERROR if measurement.release is OLD else DiskError("full", got="none", allowed="some", next="free some")

    with pytest.raises(DiskError) as caught:
        run_dashboard(measure_pass, Results((), ()))
    assert caught.value.earlier == (ERROR,)


@pytest.mark.parametrize(
    ("machine", "quick", "complete"),
    [("box", True, True), ("box", False, False), ("crate", True, False)],
    ids=["quick", "full", "another machine"],
)
def test_a_complete_result_of_this_machine_is_not_measured_again(machine, quick, complete):
    """A full measurement needs more suites and samples than a quick one."""
    result = measured(NEW, {("clone_detach", 16): 1e-6, ("detach_clone_numpy", 16): 1e-6}, python="3.11")
    measurement = Measurement(NEW, "3.11")
    result = replace(result, path=Path("results") / "box" / "result.json", environment=measurement.environment)
    assert (run_passes.already_measured((result,), measurement, machine, quick) is result) is complete


def test_the_newest_release_with_a_python_is_measured(monkeypatch):
    """The sentence about a newer one names the release and its Pythons."""
    monkeypatch.setattr(uv, "find_python", lambda python: Path("python"))
    monkeypatch.setattr(type(NEW), "runs_on", lambda release, python: release != NEW)
    measurements, skipped = plan.select([], environments.known_pythons(["3.11"]), newest_first=True, first=True)
    assert (measurements, len(skipped)) == ([Measurement(OLD, "3.11")], 1)
    assert skipped[0].startswith(f"torch {NEW.version} is skipped: it has wheels for Python {NEW.pythons[0]} to ")
