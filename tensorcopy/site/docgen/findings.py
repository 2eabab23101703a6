"""The figures of docs/findings.md: what `tensorcopy why` says about each finding. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from tensorcopy.report.why import cause, cause_text
from tensorcopy.results.load import Result
from tensorcopy.results.select import Pair

FINDINGS = {  # by the name of the part: case, Python, release before, release after
    "detach": ("detach", "3.11", "2.5.1", "2.15.0"),
    "cpu": ("cpu", "3.11", "2.9.1", "2.10.0"),
    "numpy": ("numpy", "3.9", "1.12.1", "1.13.1"),
}


def parts(results: Sequence[Result]) -> dict[str, str]:
    """Return the generated parts of docs/findings.md by name.

    Raises TensorcopyError where the functions of a side were not counted.
    """
    return {name: _part(results, *finding) for name, finding in FINDINGS.items()}


def _part(results: Sequence[Result], case: str, python: str, before: str, after: str) -> str:
    by_name = {(result.provenance["torch"].partition("+")[0], result.python): result for result in results}
    pair = Pair(by_name[before, python], by_name[after, python], tuple(results))
    explained = cause.of_pair(pair, case)
    sentences = [cause_text.sentence(explained.difference), cause_text.time_text(explained), cause_text.named_text(explained.difference)]
    quoted = "\n".join(f"> {sentence}" for sentence in sentences if sentence)
    return f"`{explained.code}`, torch {before} → {after}, Python {python}, {cause_text.case_text(explained)}:\n\n{quoted}"
