"""The cases of a result that failed or were skipped, a line each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container

from tensorcopy.numbers import counted
from tensorcopy.results.result import Result


def failures(result: Result, suites: Container[str] | None = None) -> list[str]:
    """Return a line for each case that failed in its last launch: its name and its own error.

    suites : whose cases are meant; None for all
    """
    return [f"{case.name}: {text}" for case, text in result.failures.items() if suites is None or case.suite in suites]


def skips(result: Result) -> list[str]:
    """Return a line for each reason why cases of a third-party suite were skipped, with their number."""
    of_suite = Counter((case.suite, reason) for case, reason in result.skips.items() if not case.spec.shipped)
    return [f"{counted(number, 'case')} of {suite}: {reason}" for (suite, reason), number in of_suite.items()]
