"""The figures of docs/findings.md: what `tensorcopy why` says about each finding."""

from __future__ import annotations

from collections.abc import Sequence

from tensorcopy.report.why import cause, difference_text
from tensorcopy.results.reader import Result
from tensorcopy.results.select import Pair

FINDINGS = {  # by the name of the part: case, Python, release before, release after
    "detach": ("detach", "3.11", "2.5.1", "2.15.0"),
    "cpu": ("cpu", "3.11", "2.9.1", "2.10.0"),
    "numpy": ("numpy", "3.9", "1.12.1", "1.13.1"),
    "from_dlpack": ("numpy_from_dlpack", "3.11", "2.8.0", "2.9.1"),
}


def parts(results: Sequence[Result]) -> dict[str, str]:
    """Return the generated parts of docs/findings.md by name, without those of results that are not there.

    Raises TensorcopyError where the functions of a side were not counted.
    """
    by_name = {(result.provenance["torch"].partition("+")[0], result.python): result for result in results}
    there = {name: finding for name, finding in FINDINGS.items() if all((release, finding[1]) in by_name for release in finding[2:])}
    return {
        name: _part(Pair(by_name[before, python], by_name[after, python], tuple(results)), case, python, before, after)
        for name, (case, python, before, after) in there.items()
    }


def _part(pair: Pair, case: str, python: str, before: str, after: str) -> str:
    explained = cause.of_pair(pair, case)
    sentences = [
        difference_text.sentence(explained.difference),
        difference_text.time_text(explained.time),
        difference_text.named_text(explained.difference),
    ]
    quoted = "\n".join(f"> {sentence}" for sentence in sentences if sentence)
    return f"`{explained.code}`, torch {before} → {after}, Python {python}, {difference_text.case_text(explained.name)}:\n\n{quoted}"
