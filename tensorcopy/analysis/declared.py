"""What tensorcopy.toml says of verdicts: the margins of cases, and regressions that are acknowledged.

[margin]  # in percent, by regular expressions on the names of cases
"^own.BySize through_list" = 10

[[acknowledged]]
case = "copies.BySize tensor"
release = "2.7.1"
why = "the price of a correct warning: pytorch#1"
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import release_table
from tensorcopy.worker import declarations, files

Pattern = Annotated[str, Meta(min_length=1, max_length=300)]


class Row(Struct, frozen=True, forbid_unknown_fields=True):
    """A row of [[acknowledged]].

    case : a regular expression on the names of cases
    release : the last one whose slowdown is acknowledged: what a later one adds is not
    why : one line
    """

    case: Pattern
    release: str
    why: Annotated[str, Meta(min_length=1, max_length=300)]


class _Tables(Struct, frozen=True):
    margin: dict[Pattern, Annotated[float, Meta(gt=0, le=100)]] = {}
    acknowledged: list[Row] = []


@dataclass(frozen=True)
class Declared:
    """The tables of one file.

    margins : as a share of the time, by regular expression; of several that match, the last counts
    acknowledged : regular expression, last release and reason of each row
    """

    margins: tuple[tuple[re.Pattern[str], float], ...] = ()
    acknowledged: tuple[tuple[re.Pattern[str], str, str], ...] = ()

    @property
    def rows(self) -> list[tuple[str, re.Pattern[str]]]:
        """The table and the regular expression of each row."""
        return [*(("[margin]", row[0]) for row in self.margins), *(("[[acknowledged]]", row[0]) for row in self.acknowledged)]

    def margin(self, name: str) -> float | None:
        """Return the margin of the case of a name; None where none is declared."""
        return next((share for pattern, share in reversed(self.margins) if pattern.search(name)), None)

    def why(self, name: str, release: str) -> str:
        """Return why the slowdown of a case with a release is acknowledged; "" where it is not."""
        versions = [row.version for row in release_table.load()]
        if release not in versions:
            return ""
        to = versions.index(release)
        return next((why for pattern, last, why in self.acknowledged if to <= versions.index(last) and pattern.search(name)), "")


def current() -> Declared:
    """Return what tensorcopy.toml of the current folder declares. Raises TensorcopyError for an invalid declaration."""
    path = declarations.folder() / declarations.FILE
    return _read(path, path.stat().st_mtime_ns) if path.is_file() else Declared()


@lru_cache(maxsize=4)
def _read(path: Path, modified: int) -> Declared:
    try:
        tables = msgspec.convert(files.read_toml(path), _Tables)
        margins = tuple((re.compile(pattern), percent / 100) for pattern, percent in tables.margin.items())
        acknowledged = tuple((re.compile(row.case), release_table.find(row.release).version, row.why) for row in tables.acknowledged)
    except (OSError, ValueError, re.error, RecursionError, OverflowError) as error:
        raise TensorcopyError(
            f"{path.name} is refused",
            got=str(error),
            allowed="[margin] with percents by regular expressions, and [[acknowledged]] with case, release and why",
            next=declarations.GUIDE,
        ) from error
    return Declared(margins, acknowledged)
