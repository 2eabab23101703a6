"""Which passes are to be taken: of which releases, on which Pythons, and how many are missing. Starts and prints nothing but uv's search
for Pythons.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from tensorcopy.asv_plugin.configuration import Paths
from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import environments, interpreters, release_table, uv
from tensorcopy.releases.release_table import Release, minor
from tensorcopy.results import files

TIMED = "^(?!article|memory|instructions)"  # what changes from pass to pass; the article's own grid repeats copies by size more finely
NEW = "NEW"  # what this machine has not measured yet, beside the last that it has

T = TypeVar("T")


@dataclass(frozen=True)
class Measurement:
    """A release to be measured on one of this machine's Pythons, or in an interpreter that has it.

    interpreter : as asv's "-E interpreter:" takes it; "" where uv installs the release
    build : kind of wheel; "" for the one that uv installs here
    """

    release: Release
    python: str
    interpreter: str = ""
    build: str = ""

    @property
    def environment(self) -> str:
        """Its name in results, as asv's plugin gives it."""
        name = environments.name(self.python, self.build or environments.expected_build())
        return f"{name}-interpreter" if self.interpreter else name

    @property
    def tool(self) -> str:
        """Its environment, as `asv run -E` takes it."""
        return f"interpreter:{self.interpreter}" if self.interpreter else f"release:{self.python}"

    def file(self, paths: Paths, machine: str) -> Path:
        """Its result, as asv names it."""
        return paths.results / machine / f"{self.release.sha[:8]}-{self.environment}.json"

    def path(self, paths: Paths) -> Path:
        """Where uv installs it."""
        return environments.path_of(paths.environments, self.release, self.python, environments.expected_build())

    def is_installed(self, paths: Paths) -> bool:
        """Whether nothing is to be installed any more."""
        return bool(self.interpreter) or environments.is_complete(self.path(paths))


@dataclass(frozen=True)
class Shard:
    """One of several equal parts of a run, on machines of one kind: of every release its share of the passes, so that whatever the machines
    differ by, all releases have alike. `number` counts from 1.
    """

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def share(self, passes: int) -> int:
        """How many of so many passes are this part's."""
        return len(range(self.number - 1, passes, self.of))


def in_interpreter(python: str) -> Measurement:
    """The release that an interpreter already has: "same" is the running one. Raises TensorcopyError where that is no known release."""
    provenance = environments.inspected(interpreters.executable(python)).report["ledger"]
    release = environments.released_as(provenance)
    return Measurement(release, "{}.{}".format(*minor(provenance["python"])), python, provenance["build"])


def selected(
    wanted: Sequence[str], pythons: tuple[str, ...], measured: Collection[str] = (), *, newest_first: bool = False
) -> tuple[list[Measurement], list[str]]:
    """What "2.10..", "..2.0.1@3.9" or "NEW" name, and a line for each release that this machine cannot install. Raises TensorcopyError.

    pythons : preferred in their order where no @PYTHON says which
    measured : the SHAs that this machine has results of, for "NEW"
    """
    found, left_out = [], []
    for text in wanted or [".."]:
        chosen, at, python = text.partition("@")
        if at and not re.fullmatch(r"3\.\d+", python):
            raise TensorcopyError("unknown Python", got=repr(text), allowed="RANGE@3.9 and the like", next=f"{chosen}@{pythons[-1]}")
        among = _new(measured) if chosen == NEW else release_table.select(chosen)
        for release in sorted(among, key=release_table.load().index, reverse=newest_first):
            one, reason = installable(release, [python] if python else list(pythons))
            if one is None:
                left_out.append(f"torch {release.version} is skipped: {reason}")
            else:
                found.append(one)
    if not found:
        raise TensorcopyError(
            "nothing can be measured here",
            got=left_out[0],
            allowed="a release that `tensorcopy releases` shows as installable",
            next="uv python install with one of its Pythons",
        )
    return list(dict.fromkeys(found)), left_out


def installable(release: Release, pythons: list[str]) -> tuple[Measurement | None, str]:
    """A release on the first of these Pythons that it can be installed on; or None, and why."""
    reason = environments.why_not(release, pythons)
    if reason:
        return None, reason
    return Measurement(release, next(one for one in pythons if release.runs_on(one) and uv.find_python(one))), ""


def _new(measured: Collection[str]) -> list[Release]:
    """The last release that was measured, and every later one: they are measured side by side. Where none was, the two newest."""
    rows = list(release_table.load())
    last = max((index for index, row in enumerate(rows) if row.sha in measured), default=len(rows) - 2)
    return rows[max(0, last) :]


def groups(measurements: Sequence[Measurement], room: int) -> list[list[Measurement]]:
    """Measurements of which at most `room` environments are on the disk together, the newest in every group: by it the groups compare."""
    if len(measurements) <= room:
        return [list(measurements)]
    *others, anchor = measurements
    return [[*others[start : start + room - 1], anchor] for start in range(0, len(others), room - 1)]


def missing(lacking: Mapping[T, int], random: Random) -> list[T]:
    """Passes that are still to be taken, in order: round by round, each round in random order, what lacks most first.

    lacking : how many of each
    """
    order: list[T] = []
    most = max(lacking.values(), default=0)
    for number in range(most):
        some = [one for one, count in lacking.items() if count >= most - number]
        random.shuffle(some)
        order += some
    return order


def passes_of(path: Path, suites: str) -> int:
    """How many passes with this selection of suites a result file has; see `counted`."""
    return len(counted(path, suites))


def lacking(path: Path, suites: str, passes: int, shard: Shard | None = None) -> int:
    """How many passes with this selection of suites a result file still lacks of `passes`, or this shard of its share of them.

    The shards of a run may be merged at any time: what the others have taken or will take is theirs. Raises TensorcopyError for a damaged
    file.
    """
    there = counted(path, suites)
    if shard is None:
        return max(0, passes - len(there))
    parts = [record.get("shard", "") for record in there]
    of_all = sum(part.endswith(f"/{shard.of}") for part in parts)
    return max(0, shard.share(passes - (len(there) - of_all)) - parts.count(str(shard)))


def counted(path: Path, suites: str) -> list[dict[str, Any]]:
    """The passes of a result file with this selection of suites that count: of the suites as benchmarks.json beside it knows them, and
    without those that are left out. What is counted once, such as bytes, has no samples: there every pass with this selection counts.

    Raises TensorcopyError for a damaged one.
    """
    if not path.exists():
        return []
    known = files.suites(path.parents[1])
    timed = any(row.get("type", "time") == "time" and re.search(suites, name) for name, row in known.items())
    return [
        record
        for record in files.records(path)
        if record["selection"] == suites
        and not record.get("left_out")
        and (not timed or any(row["version"] == known.get(suite, {}).get("version") for suite, row in record["suites"].items()))
    ]
