"""The main job: choose releases, install and measure each, publish the site. Prints nothing: whoever calls is told how far it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from tensorcopy.asv_plugin import program
from tensorcopy.asv_plugin.configuration import Paths
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure.plan import TIMED, Measurement
from tensorcopy.measure.progress import Progress, Stage, progress
from tensorcopy.measure.run_passes import Job, one_pass
from tensorcopy.releases import environments, release_table
from tensorcopy.results import load
from tensorcopy.results.load import Result

QUICKLY = r"^(copies|conversions)\.(BySize|Throughput|Latency)"
BY_SIZE = ("copies.BySize.time_copy", "conversions.BySize.time_conversion")
FEW_SAMPLES = {"rounds": 1, "repeat": 3}
SAMPLES = 10  # of a full measurement: the suites' rounds times their repeat

INSTALL, CHECK, MEASURE, MEASURE_QUICKLY, PUBLISH = 45.0, 6.0, 90.0, 15.0, 35.0  # seconds on two cores, until the pace is known

Tell = Callable[[Progress], None]


@dataclass(frozen=True)
class Selection:
    """What is to be measured, newest release first; and a line for each release that is left out, with the reason."""

    measurements: tuple[Measurement, ...]
    left_out: tuple[str, ...]


def choose(wanted: str, pythons: tuple[str, ...]) -> Selection:
    """The releases that `wanted` selects; "" is the newest one that this machine can install. `pythons` are preferred in their order.

    Raises TensorcopyError where nothing can be installed.
    """
    candidates = release_table.select(wanted) if wanted else list(release_table.load())
    measurements, left_out = [], []
    for release in reversed(candidates):
        served = environments.pythons_for(release, list(pythons))
        if served:
            measurements.append(Measurement(release, served[0]))
            if not wanted:
                break
        else:
            first, last = release.pythons
            left_out.append(f"torch {release.version} is skipped: it has wheels for Python {first} to {last}, uv finds none of them here")
    if not measurements:
        raise TensorcopyError(
            "nothing can be measured here",
            got=left_out[0],
            allowed="a release that `tensorcopy releases` shows as installable",
            next=f"uv python install {candidates[-1].pythons[1]}",
        )
    return Selection(tuple(measurements), tuple(left_out))


def already_measured(found: tuple[Result, ...], measurement: Measurement, machine: str, quick: bool) -> Result | None:
    """This machine's result for a measurement, if it holds all that would be measured now."""
    for result in found:
        if (result.machine, result.sha, result.environment) == (machine, measurement.release.sha, measurement.environment):
            return result if _complete(result, quick) else None
    return None


def run(measurements: list[Measurement], paths: Paths, machine: str, quick: bool, tell: Tell) -> tuple[TensorcopyError, ...]:
    """Measure, publish, and return what went wrong on the way: a release that failed, a result that cannot be read.

    The others are measured and published all the same. Samples are added to what is there, never put in its place. Raises
    TensorcopyError where nothing can be published.
    """
    problems = []
    steps = [step for measurement in measurements for step in _steps(measurement, paths, quick)] + [Stage("publishing the site", PUBLISH)]

    def told(current: int, share: float, elapsed: float, detail: str) -> None:
        tell(progress(steps, current, share, elapsed, f": {detail}" if detail else ""))

    def waited(current: int, _share: float, elapsed: float, detail: str) -> None:
        """An installation tells not how far it is: by its expected time, up to nine tenths."""
        told(current, min(elapsed / steps[current].seconds, 0.9), elapsed, detail)

    for number, measurement in enumerate(measurements):
        told(2 * number, 0.0, 0.0, "")
        try:
            one_pass(
                measurement,
                Job(paths, machine, QUICKLY if quick else TIMED, FEW_SAMPLES if quick else {}),
                installing=partial(waited, 2 * number),
                measuring=partial(told, 2 * number + 1),
            )
        except TensorcopyError as error:
            problems.append(error)
    told(len(steps) - 1, 0.0, 0.0, "")
    found = load.load_results(paths.results)
    if found.unpublishable:
        raise found.unpublishable[0]  # asv would remove the site and then stop at this file
    program.publish()
    told(len(steps) - 1, 1.0, PUBLISH, "")
    return (*problems, *found.problems)


def _steps(measurement: Measurement, paths: Paths, quick: bool) -> list[Stage]:
    version = measurement.release.version
    there = environments.is_complete(measurement.path(paths))
    return [
        Stage(f"checking torch {version}" if there else f"installing torch {version}", CHECK if there else INSTALL),
        Stage(f"measuring torch {version}", MEASURE_QUICKLY if quick else MEASURE),
    ]


def _complete(result: Result, quick: bool) -> bool:
    suites = {case.suite for case in result.timings}
    if quick:
        return suites.issuperset(BY_SIZE)
    samples = [len(timing.samples) for case, timing in result.timings.items() if case.suite in BY_SIZE]
    modules = {suite.split(".")[0] for suite in suites}
    return {"copies", "conversions", "floors", "threads"} <= modules and min(samples, default=0) >= SAMPLES
