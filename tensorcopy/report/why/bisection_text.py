"""Since which build a call changed, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tensorcopy.analysis.bisection import COUNT, Outcome
from tensorcopy.analysis.profiles.difference import Difference
from tensorcopy.report.numbers import duration, signed_percent
from tensorcopy.report.why.difference_text import named_text, number, sentence
from tensorcopy.report.why.upstream import compare_address

SHORT = 12  # digits of a SHA
WHOLE = 0.9  # share of the change from which on the rest is not mentioned: counts of builds differ by some per mille


def text(heading: str, outcome: Outcome, shas: Mapping[str, str], functions: Difference | None, failures: Mapping[str, str]) -> str:
    """Return a table of the builds, between which of them the change lies, and the functions behind it.

    heading : the call and its circumstances
    shas : of the builds that were measured
    functions : between both builds; None where the search went by time
    failures : why builds could not be measured
    """
    lines = [heading, "", *_table(outcome, shas), "", *_between(outcome, shas)]
    if functions is not None:
        lines += ["", sentence(functions), named_text(functions)]
    skipped = [f"torch {version} was left out: {failures.get(version, 'it does not run this call')}" for version in outcome.skipped]
    return "\n".join([*lines, *(["", *skipped] if skipped else [])]) + "\n"


def _table(outcome: Outcome, shas: Mapping[str, str]) -> Iterator[str]:
    """Yield a row for each build, the measured ones with their value."""
    width = max(len(build) for build in outcome.builds) + 2
    unit = "instructions" if outcome.unit == COUNT else "time"
    yield f"{'torch':<{width}}{'git SHA':<{SHORT + 2}}{unit:>12}"
    for build in outcome.builds:
        if build in outcome.values:
            yield f"{build:<{width}}{shas[build][:SHORT]:<{SHORT + 2}}{_value(outcome, build):>12}"
        else:
            yield f"{build:<{width}}{'':<{SHORT + 2}}{'not needed':>12}"


def _value(outcome: Outcome, build: str) -> str:
    value = outcome.values[build]
    return number(value) if outcome.unit == COUNT else duration(value)


def _between(outcome: Outcome, shas: Mapping[str, str]) -> Iterator[str]:
    """Yield where the change lies, and what remains."""
    before, after = outcome.interval.before, outcome.interval.after
    builds = outcome.builds[outcome.builds.index(before) + 1 : outcome.builds.index(after)]
    whole = "" if outcome.share >= WHOLE and outcome.share <= 1 / WHOLE else f", of {signed_percent(outcome.whole)} between both ends"
    yield f"Changed between torch {before} and {after}: {signed_percent(outcome.ratio)}{whole}."
    if builds:
        yield f"Not narrowed further: torch {outcome.interval.middle} differs significantly from neither end."
        yield f"Left in between: {', '.join(builds)}."
    else:
        yield "No other build that can be installed lies in between."
    yield f"Commits: {compare_address(shas[before], shas[after])}"
