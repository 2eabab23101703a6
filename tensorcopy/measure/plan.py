"""Plan passes: select releases and Pythons, count missing passes, and order them.

Starts no process except uv's search for Pythons, the probe of a named interpreter, and what opens an environment.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from tensorcopy.configuration import Paths
from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import environments, interpreters, release_table, uv
from tensorcopy.releases.environments import Environment
from tensorcopy.releases.release_table import Release, minor
from tensorcopy.results import files, suite_specs
from tensorcopy.results.cases import Case
from tensorcopy.results.suite_specs import OWN
from tensorcopy.worker import declarations, nvidia
from tensorcopy.worker.devices import ACCELERATORS
from tensorcopy.worker.nvidia import Gpu

ALL = "^"
NEW = "NEW"  # the newest release that this machine has measured, and all later ones

T = TypeVar("T")


@dataclass(frozen=True)
class Measurement:
    """A release to measure, on a Python or in an interpreter that has its torch.

    interpreter : the argument of asv's "-E interpreter:"; "" where uv installs the release
    build : kind of wheel; "" for the kind that uv installs here
    """

    release: Release
    python: str
    interpreter: str = ""
    build: str = ""

    @property
    def environment(self) -> str:
        """The environment's name in results."""
        name = environments.name(self.python, self.build or environments.expected_build())
        return f"{name}-interpreter" if self.interpreter else name

    @property
    def tool(self) -> str:
        """The environment's specification for `asv run -E`."""
        return f"interpreter:{self.interpreter}" if self.interpreter else f"release:{self.python}"

    def file(self, paths: Paths, machine: str) -> Path:
        """Return the path of its result file."""
        return paths.results / machine / f"{self.release.sha[:8]}-{self.environment}.json"

    def path(self, paths: Paths) -> Path:
        """Return the folder into which uv installs it."""
        return environments.path_of(paths.environments, self.release, self.python, environments.expected_build())

    def is_installed(self, paths: Paths) -> bool:
        """Return whether the release can be measured without an installation."""
        return bool(self.interpreter) or environments.is_complete(self.path(paths))

    def opened(self, paths: Paths) -> Environment:
        """Return its environment, installed unless it exists or is an interpreter's own. Raises TensorcopyError."""
        if self.interpreter:
            return environments.inspected(interpreters.executable(self.interpreter))
        return environments.build(paths.environments, self.release, self.python, environments.expected_build())


@dataclass(frozen=True)
class Shard:
    """One of several equal parts of a run, each on a machine of the same kind.

    A shard takes its share of the passes of every release, so that differences between the machines affect all releases alike.

    number : from 1 to `of`
    """

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def share(self, passes: int) -> int:
        """Return how many of `passes` belong to this shard."""
        return len(range(self.number - 1, passes, self.of))


def in_interpreter(python: str, named: Sequence[str] = ()) -> Measurement:
    """Return the measurement of an interpreter's own torch.

    python : as asv's "-E interpreter:" takes it; "same" is the running interpreter
    named : the releases that the user has named

    Raises TensorcopyError where that torch is no release of the table, or another one than `named`.
    """
    provenance = environments.inspected(interpreters.executable(python), observes=False).report["ledger"]
    release = environments.released_as(provenance)
    others = [text for text in named if text not in (NEW, release.version, release.tag)]
    if others:
        raise TensorcopyError(
            "this interpreter has another torch",
            got=", ".join(others),
            allowed=release.version,
            next="leave out --interpreter to install the release",
        )
    return Measurement(release, "{}.{}".format(*minor(provenance["python"])), python, provenance["build"])


def select(
    specifications: Sequence[str],
    pythons: Sequence[str],
    measured: Collection[str] = (),
    *,
    newest_first: bool = False,
    first: bool = False,
) -> tuple[list[Measurement], list[str]]:
    """Return the measurements of these releases, and why others are skipped.

    specifications : such as "2.10..", "..2.0.1@3.9" or "NEW"; all releases if empty
    pythons : in order of preference, for specifications without @PYTHON
    measured : SHAs of the releases that this machine has results of, for "NEW"
    first : whether one measurement is enough

    Raises TensorcopyError for a wrong specification, and where this machine can install none of the releases.
    """
    measurements, skipped = [], []
    for text in specifications or [".."]:
        range_text, at, python = text.partition("@")
        if at and not re.fullmatch(r"3\.\d+", python):
            raise TensorcopyError("unknown Python", got=repr(text), allowed="RANGE@3.9", next=f"{range_text}@{pythons[-1]}")
        if range_text == NEW:
            rows = list(release_table.load())  # the newest measured release and all later ones; without one, the two newest
            last = max((index for index, row in enumerate(rows) if row.sha in measured), default=len(rows) - 2)
            releases = rows[max(0, last) :]
        else:
            releases = release_table.select(range_text)
        for release in sorted(releases, reverse=newest_first):
            measurement, reason = installable(release, [python] if python else pythons)
            if measurement is None:
                skipped.append(f"torch {release.version} is skipped: {reason}")
            else:
                measurements.append(measurement)
                if first:
                    break
    if not measurements:
        raise TensorcopyError(
            "no release can be measured here",
            got=skipped[0],
            allowed="a release that `tensorcopy list releases` shows as installable",
            next="install one of its Pythons with uv python install",
        )
    return list(dict.fromkeys(measurements)), skipped


def installable(release: Release, pythons: Sequence[str]) -> tuple[Measurement | None, str]:
    """Return the measurement of a release, or None and the reason.

    The first of the Pythons that can install the release is used.
    """
    reason = environments.why_not(release, pythons)
    if reason:
        return None, reason
    return Measurement(release, next(python for python in pythons if release.runs_on(python) and uv.find_python(python))), ""


def runnable(measurements: Sequence[Measurement], gpus: Sequence[Gpu]) -> tuple[list[Measurement], list[str]]:
    """Return the measurements whose wheel one of these GPUs can run, and why others are skipped.

    gpus : the visible ones of NVIDIA. Without any, perhaps of AMD, or with `environments.BACKEND`, which selects other wheels than those
        of the table, nothing is skipped: the check before measuring names the reason

    Raises TensorcopyError where they can run none.
    """
    if not gpus or environments.backend():
        return list(measurements), []
    reasons = {each: environments.why_no_gpu(each.release, gpus) for each in measurements}
    lines = [f"torch {each.release.version} is skipped: {reason}" for each, reason in reasons.items() if reason]
    if len(lines) == len(measurements):
        raise TensorcopyError(
            f"{' and '.join(dict.fromkeys(gpu.name for gpu in gpus))} can run none of these releases",
            got=lines[-1].partition(" is skipped: ")[2],
            allowed="a release that `tensorcopy list releases --device cuda` shows as running",
            next=f"name another release, install a newer driver, or set {environments.BACKEND} to an older CUDA, such as cu126",
        )
    return [each for each in measurements if not reasons[each]], lines


def timed_suites() -> str:
    """Return a regular expression on asv's names for all timed suites; in a project, for all suites."""
    counted = dict.fromkeys(spec.module for spec in suite_specs.table().values() if not spec.timed)
    return ALL if declarations.project() else f"^(?!{'|'.join(counted)})"  # counts are equal in every pass


def on_device(suites: str, device: str) -> str:
    """Return a regular expression on asv's names for the cases of `suites` on `device`.

    suites : a regular expression; "" for all timed suites
    """
    others = f"(?=.*'{device}')" if device != "cpu" else f"(?!.*'({'|'.join(ACCELERATORS)})')"
    return f"^{others}.*(?:{suites})" if suites else f"{timed_suites()}{others}"  # it is anchored and takes no characters


def named_device(suites: str) -> str:
    """Return the accelerator that a regular expression on asv's names asks for; "" for none."""
    asked = re.search(f"'({'|'.join(ACCELERATORS)})'", re.sub(r"\(\?!.*?\)+", "", suites))
    return asked[1] if asked else ""


def groups(measurements: Sequence[Measurement], max_environments: int) -> list[list[Measurement]]:
    """Divide measurements into groups of at most `max_environments`.

    Every group has the newest release, which makes the groups comparable.
    """
    if len(measurements) <= max_environments:
        return [list(measurements)]
    *earlier, anchor = sorted(measurements, key=lambda measurement: measurement.release)
    size = max_environments - 1
    return [[*earlier[start : start + size], anchor] for start in range(0, len(earlier), size)]


def pass_order(missing: Mapping[T, int], random: Random) -> list[T]:
    """Order missing passes in rounds, each round in random order.

    Items that miss most passes come first.

    missing : the number of missing passes of each item
    """
    order: list[T] = []
    rounds = max(missing.values(), default=0)
    for number in range(rounds):
        items = [item for item, count in missing.items() if count >= rounds - number]
        random.shuffle(items)
        order += items
    return order


def room(measurements: Sequence[Measurement], paths: Paths, max_environments: int) -> tuple[str, bool]:
    """Return a sentence about the disk that missing environments need, and whether that is more than what is free.

    "" where none is missing. An environment shares its files with uv's cache by hard links: one that uv has installed before needs little.
    """
    missing = min(max_environments, sum(not measurement.is_installed(paths) for measurement in measurements))
    if not missing:
        return "", False
    folder = next(each for each in (paths.environments, *paths.environments.parents) if each.exists())
    free = shutil.disk_usage(folder).free / 1e9
    each = environments.GIGABYTES if environments.expected_build() == "cuda" else (0, 0)
    size = f", {each[0]} to {each[1]} GB each where uv's cache lacks the files" if each[1] else ""
    noun = "environment is" if missing == 1 else "environments are"
    return f"{missing} {noun} to be installed{size}; {free:.0f} GB are free", missing * each[0] > free


def count_passes(path: Path, suites: str, device: str = "") -> int:
    """Return the number of passes that every selected suite has in a result file, as `passes_by_suite` returns them."""
    return min((len(records) for records in passes_by_suite(path, suites, device).values()), default=0)


def missing_passes(path: Path, suites: str, passes: int, shard: Shard | None = None, device: str = "") -> int:
    """Return how many passes a result file, or this shard of it, misses.

    passes : the number that every selected suite shall have in the end
    device : that will be there, also if it was not in the last pass

    The passes of other shards never count as this shard's, whether or not they are merged into the file. A suite of the table that
    benchmarks.json does not have is new, and has no pass. Raises TensorcopyError for a damaged file.
    """
    by_suite = passes_by_suite(path, suites, device)
    if path.exists() and not declarations.project():
        known, cases = files.suites(path.parents[1]), suites + without_absent(files.records(path), device)
        for spec in suite_specs.table().values():
            devices = ACCELERATORS if "device" in spec.parameters else ("",)
            if spec.name not in known and spec.methods != OWN and any(re.search(cases, f"{spec.name}({each!r})") for each in devices):
                by_suite[spec.name] = []

    def missing(records: Sequence[Mapping[str, Any]]) -> int:
        if shard is None:
            return max(0, passes - len(records))
        shards = [record.get("shard", "") for record in records]
        before_this_run = sum(not text.endswith(f"/{shard.of}") for text in shards)
        return max(0, shard.share(passes - before_this_run) - shards.count(str(shard)))

    return max(map(missing, by_suite.values() or [[]]))


def passes_by_suite(path: Path, suites: str, device: str = "") -> dict[str, list[dict[str, Any]]]:
    """Return the records of a result file's passes by suite, for the suites that a regular expression on asv's names selects.

    A pass counts for a suite if it is not left out and has samples of a selected case, or counts, of the suite's version in
    benchmarks.json. A suite is omitted if its version was run and every selected case was skipped, or if its cases need a device that is
    not there. Raises TensorcopyError for a damaged file.
    """
    if not path.exists():
        return {}
    document = files.result(path)
    records = [record for record in document["passes"] if not record.get("left_out")]
    rows, cases = files.rows_of(document), suites + without_absent(document["passes"], device)
    by_suite: dict[str, list[dict[str, Any]]] = {}
    for name, suite in files.suites(path.parents[1]).items():
        row = rows.get(name, {})
        is_current = row.get("version") == suite["version"]
        params = row["params"] if is_current else suite["params"]
        names = [f"{name}({', '.join(values)})" if values else name for values in product(*params)]
        selected = [index for index, text in enumerate(names) if re.search(cases, text)]
        if not selected:
            continue
        if not is_current:
            by_suite[name] = []
        elif any(files.number(files.cell(row, "result", index)) is not None for index in selected):
            by_suite[name] = []
            for record in records:
                timed, counted = record["suites"].get(name), record.get("counts", {}).get(name)
                if timed:
                    counts = timed["version"] == row["version"] and any(index in selected for index, n in enumerate(timed["samples"]) if n)
                elif counted:
                    counts = counted["version"] == row["version"]
                else:  # early passes did not record counts
                    counts = not record["suites"] and record["selection"] == suites
                by_suite[name] += [record] if counts else []
    return by_suite


def without_absent(records: Sequence[Mapping[str, Any]], required: str) -> str:
    """Return the end of a regular expression on asv's names that excludes the accelerators which the next pass will not find.

    A skipped case would still cost a process.

    records : of earlier passes, of which the last may have lacked a GPU that was hidden or not there; nothing is excluded without any
    required : a device that was asked for; "" for none
    """
    if not records:
        return ""
    provenance = records[-1]["ledger"]
    present = {*provenance["accelerators"], required}
    if provenance.get("cuda") and "cuda" not in {*present, *provenance.get("unsupported", {})} and nvidia.visible_gpus()[0]:
        present.add("cuda")
    absent = [device for device in ACCELERATORS if device not in present]
    return f"(?!.*'({'|'.join(absent)})')" if absent else ""


def alternating(counts: Sequence[int], passes: int) -> Iterator[int]:
    """Yield the index (0 or 1) of the next item to measure, A B B A.

    Ends when both have `passes` passes.

    counts : the number of passes that each already has
    """
    for number in range(passes):
        for index in ((0, 1), (1, 0))[number % 2]:
            if counts[index] <= number:
                yield index


def expression_of(cases: Sequence[Case]) -> str:
    """Return a regular expression that matches asv's names of these cases only."""
    names = []
    for case in cases:
        values = ", ".join(f"'?{re.escape(value)}'?" for _, value in case.parameters)
        names.append(re.escape(case.suite) + (rf"\({values}\)" if values else ""))
    return f"^({'|'.join(names)})$"
