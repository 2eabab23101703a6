"""The recommended copy of 64 MiB in pages of 4 KiB and in huge pages, which torch asks for with THP_MEM_ALLOC_ENABLE=1. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tensorcopy.analysis.comparisons import version
from tensorcopy.results import baseline
from tensorcopy.results.passes import Case, Timing
from tensorcopy.results.reader import Result

METHOD, NUMEL = "detach_clone", 2**24


@dataclass(frozen=True)
class PagesRow:
    """The times of a release.

    huge : None where its torch does not ask for huge pages
    memcpy : of numpy, which always asks for them; None if it was not measured
    """

    release: str
    small: Timing
    huge: Timing | None
    memcpy: Timing | None


def case(*, huge: bool) -> Case:
    """Return the case of one kind of pages."""
    return Case("pages.HugePages.time_copy", (("method", METHOD), ("numel", str(NUMEL)), ("huge_pages", str(huge))))


def rows(results: Iterable[Result]) -> Iterator[PagesRow]:
    """Yield a row for each result that has the time in pages of 4 KiB."""
    for result in results:
        small = result.timings.get(case(huge=False))
        if small:
            memcpy = baseline.timing_of(result, case(huge=False))
            yield PagesRow(version(result), small, result.timings.get(case(huge=True)), memcpy)
