"""Collect the accuracy report: measured comparisons, simulated histories and annotated series."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median

from tensorcopy.analysis.accuracy.annotated import Annotated
from tensorcopy.analysis.accuracy.detector import Detector
from tensorcopy.analysis.accuracy.measured import UNCHANGED, Comparisons, compare_variants, torch_cases
from tensorcopy.analysis.accuracy.simulated import POINTS, SIGMA, Simulated, simulate
from tensorcopy.analysis.two_sample import MARGIN
from tensorcopy.errors import TensorcopyError
from tensorcopy.results import noise
from tensorcopy.results.reader import Results


@dataclass(frozen=True)
class AccuracyReport:
    """Everything the accuracy report shows.

    passes : on each side; quiet : of them, in the median case
    releases : points in a simulated series
    sigma : the standard deviation of their noise
    """

    torch: str
    python: str
    cpu: str
    day: str
    passes: int
    quiet: int
    releases: int
    sigma: float
    margin: float
    comparisons: tuple[Comparisons, ...]
    histories: tuple[Simulated, ...]
    annotated: Annotated | None


def accuracy_report(
    slowdowns: Results,
    shipped: Results,
    annotated_series: Annotated | None,
    report_progress: Callable[[float, str], None],
    *,
    shares: Mapping[str, float],
    asv: Detector,
) -> AccuracyReport:
    """Return the accuracy report. Raises TensorcopyError without injected slowdowns.

    slowdowns : the results with and without added work; shipped : the results of the same machine, whose noise is pooled
    shares : the share of work that each of the slowdowns adds, by name
    """
    variants = {result.machine: result for result in slowdowns.results}
    missing = [name for name in shares if name not in variants]
    if missing:
        raise TensorcopyError(
            "the injected slowdowns were not measured",
            got=f"no {', '.join(missing)}",
            allowed=", ".join(shares),
            next="tensorcopy accuracy --measure",
        )
    unchanged = variants[UNCHANGED[0]]
    others = [result for result in shipped.results if noise.same_kind(result, unchanged)]
    return AccuracyReport(
        torch=unchanged.provenance["torch"],
        python=unchanged.provenance["python"],
        cpu=unchanged.provenance["cpu"],
        day=unchanged.provenance["started"][:10],
        passes=min(len(result.passes) for result in variants.values()),
        quiet=min(int(median(len(result.timings[case].usable) for case in torch_cases(result))) for result in variants.values()),
        releases=POINTS,
        sigma=SIGMA,
        margin=MARGIN,
        comparisons=tuple(compare_variants(variants, others, lambda share: report_progress(share / 2, "comparisons"), shares, asv)),
        histories=tuple(simulate(asv, lambda share: report_progress((1 + share) / 2, "histories"))),
        annotated=annotated_series,
    )
