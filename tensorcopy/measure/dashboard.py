"""Run the main job: install and measure releases, and publish the site.

Prints nothing; reports progress through a callback.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from tensorcopy.asv_plugin import program
from tensorcopy.asv_plugin.configuration import Paths
from tensorcopy.errors import DiskError, TensorcopyError, after
from tensorcopy.measure.plan import Measurement, timed_suites
from tensorcopy.measure.run_passes import Job, Progress, Reporter, Stage, measure_pass
from tensorcopy.releases import environments, release_table
from tensorcopy.results import reader, suite_specs
from tensorcopy.results.reader import Result
from tensorcopy.results.suite_specs import OWN
from tensorcopy.worker import declarations

FEW_SAMPLES = {"rounds": 1, "repeat": 3}
SAMPLES = 10  # in a full measurement: the suites' rounds times their repeat

INSTALL, CHECK, MEASURE, MEASURE_QUICK, PUBLISH = 45.0, 6.0, 90.0, 15.0, 35.0  # expected seconds on two cores


def choose(range_text: str, pythons: tuple[str, ...]) -> tuple[list[Measurement], list[str]]:
    """Return the releases of a range that this machine can install, newest first, and why it cannot install the others.

    range_text : "" for the newest release that this machine can install
    pythons : in order of preference

    Raises TensorcopyError where this machine can install none of them.
    """
    candidates = release_table.select(range_text) if range_text else list(release_table.load())
    measurements, skipped = [], []
    for release in reversed(candidates):
        suitable = environments.pythons_for(release, list(pythons))
        if suitable:
            measurements.append(Measurement(release, suitable[0]))
            if not range_text:
                break
        else:
            versions = " to ".join(release.pythons)
            skipped.append(f"torch {release.version} is skipped: it has wheels for Python {versions}, and uv finds none of them here")
    if not measurements:
        raise TensorcopyError(
            "no release can be measured here",
            got=skipped[0],
            allowed="a release that `tensorcopy list releases` shows as installable",
            next=f"uv python install {candidates[-1].pythons[1]}",
        )
    return measurements, skipped


def already_measured(results: tuple[Result, ...], measurement: Measurement, machine: str, quick: bool) -> Result | None:
    """Return this machine's result of a measurement, if it is complete.

    A complete result has the suites and as many samples as would be measured now.
    """
    for result in results:
        if (result.machine, result.sha, result.environment) == (machine, measurement.release.sha, measurement.environment):
            return result if _complete(result, quick) else None
    return None


def run(
    measurements: list[Measurement], paths: Paths, machine: str, quick: bool, report_progress: Callable[[Progress], None]
) -> tuple[TensorcopyError, ...]:
    """Measure, publish the site, and return the errors.

    An error of one release or result file does not stop the others. New samples are added to earlier ones. Raises TensorcopyError where
    the site cannot be published.
    """
    stages = [stage for measurement in measurements for stage in _stages(measurement, paths, quick)]
    reporter = Reporter([*stages, Stage("publishing the site", PUBLISH)], report_progress)
    quick_suites = "|".join(re.escape(spec.label) for spec in suite_specs.table().values() if spec.quick)
    suites = rf"^({quick_suites})\." if quick and not declarations.project() else timed_suites()
    job = Job(paths, machine, suites, FEW_SAMPLES if quick else {})
    problems: list[TensorcopyError] = []
    for number, measurement in enumerate(measurements):
        install, measure = 2 * number, 2 * number + 1
        reporter.at(install)
        try:
            with after(problems):
                measure_pass(measurement, job, partial(reporter.waiting_at, install), partial(reporter.at, measure))
        except DiskError:
            raise
        except TensorcopyError as error:
            problems.append(error)
    reporter.at(len(stages))
    loaded = reader.load_results(paths.results)
    with after(problems):
        if loaded.unpublishable:
            raise loaded.unpublishable[0]  # asv would remove the site and then stop at this file
        program.publish()
    reporter.at(len(stages), 1.0, PUBLISH)
    return (*problems, *loaded.problems)


def _stages(measurement: Measurement, paths: Paths, quick: bool) -> list[Stage]:
    version = measurement.release.version
    installed = environments.is_complete(measurement.path(paths))
    return [
        Stage(f"checking torch {version}", CHECK) if installed else Stage(f"installing torch {version}", INSTALL),
        Stage(f"measuring torch {version}", MEASURE_QUICK if quick else MEASURE),
    ]


def _complete(result: Result, quick: bool) -> bool:
    if declarations.project():
        return bool(result.timings)
    specs = [spec for spec in suite_specs.table().values() if spec.timed and spec.methods != OWN and "device" not in spec.parameters]
    if not {case.suite for case in result.timings}.issuperset(spec.name for spec in specs if spec.quick or not quick):
        return False
    return quick or min(len(timing.samples) for case, timing in result.timings.items() if case.spec.quick) >= SAMPLES
