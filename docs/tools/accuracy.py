"""Count how often compare and history are right and wrong, next to asv's detection; writes docs/accuracy.json.

    uv run python -m docs.tools.accuracy [--dataset FILE] [--measure] [--passes N]

On slowdowns of known size that were really measured (`known_changes`), on simulated histories (`simulated_histories`), and on series from
another project in which people have marked the changes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import SystemRandom
from statistics import median
from typing import Any

from docs.tools import asv_detection, known_changes
from docs.tools.known_changes import UNCHANGED, VARIANTS, torch_cases
from docs.tools.simulated_histories import POINTS, SIGMA, simulate
from tensorcopy.analysis import change_points
from tensorcopy.analysis.paired import MARGIN, Verdict
from tensorcopy import configuration
from tensorcopy.cli import output
from tensorcopy.cli.arguments import RESULTS, pass_count
from tensorcopy.cli.output import print_warnings, progress_bar, share_bar
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import plan
from tensorcopy.report.terminal import terminal_table
from tensorcopy.results import reader, writing
from tensorcopy.results.passes import PASSES
from tensorcopy.results.reader import Result, Results
from tensorcopy.site.pages import data

WITHIN = 5  # points from the annotated one that count as found


def main(arguments: Sequence[str] | None = None) -> None:
    """Write docs/accuracy.json and print its tables. Raises TensorcopyError."""
    parser = argparse.ArgumentParser(prog="python -m docs.tools.accuracy", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--dataset", type=Path, metavar="FILE", help="also grade on these annotated series, such as sap_small_2021.json")
    parser.add_argument("--measure", action="store_true", help="first measure the missing passes of the known changes on this machine")
    parser.add_argument("--passes", type=pass_count, default=PASSES, metavar="N", help=f"of each known change; default: {PASSES}")
    options = parser.parse_args(arguments)
    graded = annotated(json.loads(options.dataset.read_text(encoding="utf-8"))) if options.dataset else None
    if options.measure:
        paths = configuration.paths()
        (newest, *_), _left_out = plan.select([], paths.pythons, newest_first=True)
        with progress_bar() as report_progress:
            known_changes.measure(newest, paths, options.passes, SystemRandom(), report_progress)
    slowdowns, shipped = _results(known_changes.FOLDER), _results(RESULTS)
    with share_bar() as report_share:
        report = document(slowdowns, shipped, graded, report_share)
    writing.replace(data.ACCURACY_FILE, data.accuracy_json(report))
    console = output.console()
    for title, (header, *rows) in data.accuracy_tables(report):
        console.print(terminal_table(header, rows, "l" + "r" * (len(header) - 1), title), "")
    console.print(f"Written to {data.ACCURACY_FILE}")


def _results(folder: Path) -> tuple[Result, ...]:
    """Return the results of a folder, none if it is missing. Raises TensorcopyError: a report of only some of them would be wrong."""
    loaded = reader.load_results(folder) if folder.is_dir() else Results((), ())
    print_warnings(loaded.warnings)
    if loaded.problems:
        raise loaded.problems[0]
    return loaded.results


def _same_kind(first: Result, second: Result) -> bool:
    """Return whether two results share Python, build, numpy and processor. Their machines may have different names."""
    equal = all(first.provenance.get(name) == second.provenance.get(name) for name in ("cpu", "numpy"))
    return equal and (first.series_key.python, first.series_key.build) == (second.series_key.python, second.series_key.build)


def document(
    slowdowns: Iterable[Result], shipped: Iterable[Result], annotated_series: Mapping[str, Any] | None, report: Callable[[float, str], None]
) -> dict[str, Any]:
    """Return docs/accuracy.json. Raises TensorcopyError without the known changes.

    slowdowns : the results with and without added work; shipped : those of the same machine, whose noise is pooled
    report : called with the finished share and the present step
    """
    variants = {result.machine: result for result in slowdowns}
    missing = [name for name in VARIANTS if name not in variants]
    if missing:
        raise TensorcopyError(
            "the known changes were not measured",
            got=f"no {', '.join(missing)}",
            allowed=", ".join(VARIANTS),
            next="uv run python -m docs.tools.accuracy --measure",
        )
    unchanged = variants[UNCHANGED[0]]
    others = [result for result in shipped if _same_kind(result, unchanged)]
    compared = known_changes.compare_variants(variants, others, lambda share: report(share / 2, "comparisons"))
    return {
        "torch": unchanged.provenance["torch"],
        "python": unchanged.provenance["python"],
        "cpu": unchanged.provenance["cpu"],
        "day": unchanged.provenance["started"][:10],
        "passes": min(len(result.passes) for result in variants.values()),
        "quiet": min(int(median(len(result.timings[case].usable) for case in torch_cases(result))) for result in variants.values()),
        "releases": POINTS,
        "sigma": SIGMA,
        "margin": MARGIN,
        "two_sides": [
            {
                "change": row.change,
                "comparisons": row.comparisons,
                **{verdict.value: row.verdicts[verdict] for verdict in Verdict},
                "asv slower": row.asv_slower,
                "asv faster": row.asv_faster,
            }
            for row in compared
        ],
        "histories": [asdict(row) for row in simulate(lambda share: report((1 + share) / 2, "histories"))],
        "annotated": annotated_series,
    }


@dataclass
class Score:
    """Counts of the true changes that were detected, and of false ones.

    delays : points from the true change to the detected one
    """

    changes: int = 0
    detected: int = 0
    false: int = 0
    delays: list[int] = field(default_factory=list)

    def add(self, steps: Sequence[int], truth: int | None, *, within: int) -> None:
        """Count the steps of a series that changes at `truth`; None for no change."""
        near = [step for step in steps if truth is not None and abs(step - truth) <= within]
        self.changes += truth is not None
        self.detected += bool(near)
        self.false += len(steps) - len(near)
        if truth is not None and near:
            self.delays.append(min((step - truth for step in near), key=abs))

    def document(self, points: int) -> dict[str, Any]:
        """Return the score as docs/accuracy.json has it."""
        found = self.detected + self.false
        return {
            "there": self.changes,
            "found": self.detected,
            "false": self.false,
            "recall": self.detected / self.changes if self.changes else None,
            "precision": self.detected / found if found else None,
            "delay": median(self.delays) if self.delays else None,
            **({"false per 1,000 points": 1000 * self.false / points} if points else {}),
        }


def _is_annotated(row: object) -> bool:
    """Return whether a series has positive times, and the index of the first slow one or null."""
    if not isinstance(row, dict) or not {"median", "first_slow_index"} <= set(row):
        return False
    times, index = row["median"], row["first_slow_index"]
    valid = isinstance(times, list) and all(isinstance(time, (int, float)) and time > 0 for time in times)
    return valid and (index is None or (isinstance(index, int) and 0 <= index < len(times)))


def annotated(data: Any) -> dict[str, Any]:
    """Return how well steps are found in series with `median` and `first_slow_index` or null. Raises TensorcopyError."""
    series = data.get("series") if isinstance(data, dict) else None
    if not isinstance(series, list) or not series or not all(map(_is_annotated, series)):
        raise TensorcopyError(
            "not an annotated data set",
            got=f"{data!r:.60}",
            allowed='{"series": [{"median": [...], "first_slow_index": 14 or null}, ...]}',
            next="a file of that form",
        )
    ours, theirs = Score(), Score()
    for row in series:
        ours.add([step.index for step in change_points.steps(row["median"])], row["first_slow_index"], within=WITHIN)
        theirs.add(asv_detection.steps(row["median"]), row["first_slow_index"], within=WITHIN)
    points = sum(len(row["median"]) for row in series)
    source = {"source": data.get("source", ""), "licence": data.get("licence", ""), "series": len(series), "points": points}
    return {**source, **ours.document(points), "asv": theirs.document(points)}


if __name__ == "__main__":
    try:
        main()
    except TensorcopyError as error:
        sys.exit(str(error))
