"""Plan launches: select releases and Pythons, group them, and count the launches that are there.

A launch has all selected releases of one Python as sides. The reference is a side of every launch: it joins those of several Pythons, and
those of the groups into which a small disk divides the releases. Starts no process except uv's search for Pythons, the probe of a named
interpreter, and what opens an environment.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tensorcopy.campaign import Campaign
from tensorcopy.configuration import Paths
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure.side_benchmarks import Suites, has_own_fork
from tensorcopy.measure.side_process import LocalSide, usable_cores
from tensorcopy.numbers import counted
from tensorcopy.releases import environments, interpreters, uv
from tensorcopy.releases.environments import Environment
from tensorcopy.releases.release_table import NUMPY_2, WITH_NUMPY_2, Release, ReleaseIndex, minor
from tensorcopy.results import suite_specs
from tensorcopy.results.cases import Case, names_of
from tensorcopy.results.launches import OF_INTERPRETER, Launch, Place, builds
from tensorcopy.worker.devices import ACCELERATORS
from tensorcopy.worker.nvidia import Gpu

REFERENCE = "2.8.0"  # it has wheels for Python 3.9 to 3.13, and kernels for GPUs from sm_70 to sm_120
UNASKED = 2  # environments that are installed without a question: two releases to compare
NEIGHBOURS = 2  # older releases that are measured again beside a new one
NUMPY_2_NAME = WITH_NUMPY_2.removeprefix("-")  # after "@": with numpy 2 in place of the history's numpy
NEW = "NEW"  # the releases that are newer than any that this machine has measured, and their neighbours

SIDE_GIGABYTES = 0.5  # of memory, of the process of a side with its fork
# What a side takes in a launch, on an AMD EPYC of 2023: to start, for a case, for each byte of its tensor, and for another's case
START_SECONDS, CASE_SECONDS, BYTE_SECONDS, OWN_FORK_SECONDS = 3.0, 0.025, 6e-9, 0.1
COUNT_SECONDS = 0.3  # a counted case, or one whose functions are counted


@dataclass(frozen=True)
class Measurement:
    """A release to measure, on a Python or in an interpreter that has its torch.

    interpreter : the argument of asv's "-E interpreter:"; "" where uv installs the release
    build : kind of wheel; "" for the kind that uv installs here. One with numpy 2 ends in `WITH_NUMPY_2`
    """

    release: Release
    python: str
    interpreter: str = ""
    build: str = ""

    def __str__(self) -> str:
        numpy = " with numpy 2" if self.build.endswith(WITH_NUMPY_2) else ""
        return f"torch {self.release.version} on Python {self.python}{numpy}"

    @property
    def torch_build(self) -> str:
        """The kind of wheel, also where it is the one that uv installs here."""
        return self.build or environments.expected_build()

    @property
    def environment(self) -> str:
        """The environment's name in results."""
        name = environments.name(self.python, self.torch_build)
        return f"{name}{OF_INTERPRETER}" if self.interpreter else name

    @property
    def place(self) -> Place:
        """What tells its side of a launch from others."""
        return self.release.sha, self.environment, ""

    def path(self, paths: Paths) -> Path:
        """Return the folder into which uv installs it."""
        return environments.path_of(paths.environments, self.release, self.python, self.torch_build)

    def is_installed(self, paths: Paths) -> bool:
        """Return whether the release can be measured without an installation."""
        return bool(self.interpreter) or environments.is_complete(self.path(paths))

    def is_outdated(self, campaign: Campaign, paths: Paths) -> bool:
        """Return whether its environment exists, and is installed anew when it is opened."""
        where = (paths.environments, self.release, self.python, self.torch_build)
        return not self.interpreter and environments.is_outdated(*where, campaign)

    def opened(self, campaign: Campaign, paths: Paths) -> Environment:
        """Return its environment, installed unless it exists or is an interpreter's own. Raises TensorcopyError."""
        if self.interpreter:
            return environments.inspected(interpreters.executable(self.interpreter), campaign)
        return environments.build(paths.environments, self.release, self.python, self.torch_build, campaign)

    def side(self, environment: Environment, campaign: Campaign, paths: Paths) -> LocalSide:
        """Return the side of a launch in its opened environment."""
        folders = [interpreters.package_folder(paths.environments)]
        provenance = dict(environment.report["provenance"])
        if self.interpreter:
            folders.append(interpreters.runner_folder(paths.environments))
            provenance["asv_runner"] = environments.runner()
        search_path = interpreters.search_path(folders, environment.python)
        return LocalSide(
            sha=self.release.sha,
            environment=self.environment,
            provenance=provenance,
            python=environment.python,
            suites=suites_folder(campaign),
            variables={**environment.variables(), **dict.fromkeys(interpreters.SEARCH_PATHS, search_path)},
            torch=Path(environment.report["torch_folder"]),
        )


def suites_folder(campaign: Campaign) -> Path:
    """Return the folder of the suites of a campaign. Raises TensorcopyError where there is nothing to measure."""
    if campaign.suites is None:
        raise TensorcopyError(
            "this project has nothing to measure",
            got=f"{interpreters.FILE} without a suite",
            allowed='[suites] with path = "benchmarks"',
            next=interpreters.GUIDE,
        )
    return campaign.suites


@dataclass(frozen=True)
class Shard:
    """One of several equal parts of a run, each on a machine of the same kind: its share of the missing launches of every release.

    number : from 1 to `of`
    """

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def share(self, launches: int) -> int:
        """Return how many of the launches belong to this shard."""
        return len(range(self.number - 1, launches, self.of))


def in_interpreter(python: str, campaign: Campaign) -> Measurement:
    """Return the measurement of an interpreter's own torch.

    python : as asv's "-E interpreter:" takes it; "same" is the running interpreter

    Raises TensorcopyError where that torch is no release of the table.
    """
    provenance = environments.inspected(interpreters.executable(python), campaign).report["provenance"]
    release = environments.released_as(provenance, campaign.releases)
    return Measurement(release, "{}.{}".format(*minor(provenance["python"])), python, provenance["build"])


def in_interpreters(pythons: Sequence[str], campaign: Campaign, named: Sequence[str] = ()) -> list[Measurement]:
    """Return the measurements of interpreters, which are asked at the same time.

    named : the releases that the user has named; all if empty

    Raises TensorcopyError for one that `in_interpreter` refuses, for two with the same torch, and for a named release that none has.
    """
    asked = [*dict.fromkeys(pythons)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        # before the probes of each, which take a minute
        torches = pool.map(lambda python: interpreters.torch_of(interpreters.executable(python)), asked)
        _refuse_same({python: (tuple(torch), f"torch {torch[0]} on Python {torch[1]}") for python, torch in zip(asked, torches) if torch})
        measurements = [*pool.map(lambda python: in_interpreter(python, campaign), asked)]
    _refuse_same({each.interpreter: (each.place, str(each)) for each in measurements})
    known = {name for each in measurements for name in (each.release.version, each.release.tag)}
    if others := [text for text in named if text not in known | {NEW}]:
        raise TensorcopyError(
            "no interpreter has this torch",
            got=", ".join(others),
            allowed=", ".join(each.release.version for each in measurements),
            next="leave out --interpreter to install the release",
        )
    chosen = [each for each in measurements if {each.release.version, each.release.tag} & {*named}]
    return chosen if chosen and NEW not in named else measurements


def _refuse_same(torches: Mapping[str, tuple[Hashable, str]]) -> None:
    """Raise TensorcopyError where two interpreters have the same torch.

    torches : by interpreter, what tells its torch from others, and the name of that
    """
    first: dict[Hashable, str] = {}
    for interpreter, (torch, name) in torches.items():
        if first.setdefault(torch, interpreter) != interpreter:
            raise TensorcopyError(
                "two interpreters have the same torch",
                got=f"{name} in {first[torch]} and {interpreter}",
                allowed="another release, Python or kind of wheel in each",
                next="leave one of them out",
            )


def joining(measurements: Sequence[Measurement]) -> Measurement | None:
    """Return the interpreter that joins launches of several: the first of the newest release; None of one."""
    return max(measurements, key=lambda each: each.release) if len(measurements) > 1 else None


def select(
    specifications: Sequence[str],
    campaign: Campaign,
    pythons: Sequence[str],
    measured: Collection[str] = (),
    *,
    newest_first: bool = False,
    first: bool = False,
) -> tuple[list[Measurement], list[str]]:
    """Return the measurements of these releases, and why others are skipped.

    specifications : such as "2.10..", "..2.0.1@3.9", "2.15.0@numpy2" or "NEW"; all releases if empty
    pythons : in order of preference, for specifications without @PYTHON
    measured : SHAs of the releases that this machine has results of, for "NEW"
    first : whether one measurement is enough

    Raises TensorcopyError for a wrong specification, and where this machine can install none of the releases.
    """
    measurements, skipped, following = [], [], []
    for text in specifications or [".."]:
        range_text, at, python = text.partition("@")
        releases = new(campaign.releases, measured) if range_text == NEW else campaign.releases.select(range_text)
        build = ""
        if python == NUMPY_2_NAME and campaign.pins_numpy:
            python, build = "", f"{environments.expected_build()}{WITH_NUMPY_2}"
        elif at and not re.fullmatch(r"3\.\d+", python):
            raise TensorcopyError(
                "unknown Python", got=repr(text), allowed="RANGE@3.9", next=f"{range_text}@{python_for(releases[-1], pythons)}"
            )
        wanted = [python] if python else pythons
        for release in sorted(releases, reverse=newest_first):
            measurement, reason = installable(release, wanted)
            if build and minor(release.version) < NUMPY_2:
                measurement, reason = None, "its wheel needs numpy 1"
            if measurement is None:
                skipped.append(f"torch {release.version} is skipped: {reason}")
                needed = python_for(release, wanted)
                other = (
                    f"uv python install {needed}"
                    if needed in wanted
                    else f"name {release.version}@{python_for(release, environments.known_pythons())}"
                )
                following.append(f"name {release.version} without @{NUMPY_2_NAME}" if build else other)
            else:
                measurements.append(replace(measurement, build=build))
                if first:
                    break
    if not measurements:
        raise TensorcopyError(
            "no release can be measured here",
            got=skipped[0],
            allowed="a release that `tensorcopy list releases` shows as installable",
            next=following[0],
        )
    return list(dict.fromkeys(measurements)), skipped


def new(releases: ReleaseIndex, measured: Collection[str]) -> list[Release]:
    """Return the releases that are newer than any measured one, by their SHAs, and the two before them; without any, the two newest."""
    rows = list(releases)
    newest = max((index for index, row in enumerate(rows) if row.sha in measured), default=len(rows) - 1)
    return rows[max(0, newest + 1 - NEIGHBOURS) :]


def newest(measurements: Sequence[Measurement], releases: ReleaseIndex, measured: Collection[str]) -> list[Measurement]:
    """Return the last measurement of the newest release; none where this machine has measured a newer one.

    measured : SHAs of the releases that this machine has results of
    """
    last = max(reversed(measurements), key=lambda each: each.release)
    return [] if any(release.sha in measured and release > last.release for release in releases) else [last]


def installable(release: Release, pythons: Sequence[str]) -> tuple[Measurement | None, str]:
    """Return the measurement of a release, or None and the reason.

    The first of the Pythons that can install the release is used.
    """
    reason = environments.why_not(release, pythons)
    if reason:
        return None, reason
    return Measurement(release, next(python for python in pythons if release.runs_on(python) and uv.find_python(python))), ""


def python_for(release: Release, pythons: Sequence[str]) -> str:
    """Return the first of some Pythons that a release has a wheel for, or else the newest that it has one for."""
    return next(filter(release.runs_on, pythons), release.pythons[1])


def runnable(measurements: Sequence[Measurement], gpus: Sequence[Gpu]) -> tuple[list[Measurement], list[str]]:
    """Return the measurements that one of these GPUs can run, and why others are skipped: by their wheels, an interpreter may have another.

    gpus : the visible ones of NVIDIA. Without any, perhaps of AMD, or with `environments.BACKEND`, which selects other wheels than those
        of the table, nothing is skipped: the check before measuring names the reason

    Raises TensorcopyError where they can run none.
    """
    if not gpus or environments.backend():
        return list(measurements), []
    reasons = {each: "" if each.interpreter else environments.why_no_gpu(each.release, gpus) for each in measurements}
    lines = [f"torch {each.release.version} is skipped: {reason}" for each, reason in reasons.items() if reason]
    if len(lines) == len(measurements):
        raise TensorcopyError(
            f"{' and '.join(dict.fromkeys(gpu.name for gpu in gpus))} can run none of these releases",
            got=lines[-1].partition(" is skipped: ")[2],
            allowed="a release that `tensorcopy list releases --device cuda` shows as running",
            next=f"name another release, install a newer driver, or set {environments.BACKEND} to an older CUDA, such as cu126",
        )
    return [each for each in measurements if not reasons[each]], lines


def reference(releases: ReleaseIndex, pythons: Sequence[str]) -> Measurement | None:
    """Return the measurement of the reference release, on the newest of these Pythons that has it; None where none has."""
    return installable(releases.find(REFERENCE), sorted(pythons, key=minor, reverse=True))[0]


def groups(measurements: Sequence[Measurement], reference: Measurement | None, max_environments: int) -> list[list[Measurement]]:
    """Divide measurements into those that are sides of the same launches, at most so many, the newest releases first.

    They are of one Python, or interpreters. Groups of one Python share a release, so that neighbours are always in one launch. The
    reference, which is in all launches, counts.
    """
    divided: list[list[Measurement]] = []
    pythons = {each: "" if each.interpreter else each.python for each in measurements}
    for python in dict.fromkeys(pythons.values()):
        own = sorted((each for each in measurements if pythons[each] == python and each != reference), key=lambda each: each.release)
        size = max(1, max_environments - (reference is not None))
        step = max(1, size - 1)
        starts = [start for start in range(0, len(own), step) if start == 0 or start + size - step < len(own)]
        divided += [own[start : start + size] for start in reversed(starts)]  # an interrupted run has what is asked for most
    if not divided and reference in measurements:
        divided = [[*measurements]]  # of the reference alone
    return divided


def seconds_of_side(suites: Suites) -> float:
    """Return about how long a side takes in a launch of the selected cases of these suites."""
    total = START_SECONDS
    for name, suite in suites.items():
        for text, nbytes in suite.sizes.items():
            if text in suite.selected:
                total += OWN_FORK_SECONDS if has_own_fork(name) else CASE_SECONDS + BYTE_SECONDS * nbytes
    return total


def minutes(seconds: float, suites: Suites) -> str:
    """Return about how long something takes in words: of another's suites the least, since their setup and calls may take minutes."""
    number = max(1, round(seconds / 60))
    cases = sum(len(suite.selected) for name, suite in suites.items() if has_own_fork(name))
    return f"at least {number} min for {counted(cases, 'case')}, more where setup or a call is slow" if cases else f"about {number} min"


def seconds_of_counts(suites: Suites) -> float:
    """Return about how long the selected cases of these suites take to count with one release, without what a third-party suite does."""
    return START_SECONDS + COUNT_SECONDS * sum(len(suite.selected) for suite in suites.values())


def parallel(sides: int, devices: Collection[str]) -> int:
    """Return how many launches are taken at a time: one for two cores, as far as memory suffices for the sides; one on a device."""
    if devices:
        return 1
    from psutil import virtual_memory

    fitting = int(virtual_memory().available / (SIDE_GIGABYTES * 1e9 * sides))
    return max(1, min(len(usable_cores()) // 2, fitting))


def on_device(suites: str, device: str) -> str:
    """Return a regular expression on asv's names for the cases of `suites`, a regular expression, on `device`."""
    devices = ACCELERATORS if device == "cpu" else [device]
    by_suite = [f"|{re.escape(spec.name)}\\b" for spec in suite_specs.table().values() if spec.device in devices]
    is_there = rf".*'({'|'.join(devices)})(:\d+)?'{''.join(by_suite)}"
    return f"^({'?!' if device == 'cpu' else '?='}{is_there}).*(?:{suites})"


def launch_counts(
    launches: Iterable[Launch],
    suites: Suites,
    kind: str = "times",
    *,
    opened: Mapping[Place, Mapping[str, Any]] = MappingProxyType({}),
) -> Counter[Place]:
    """Return in how many launches of a kind each side has every case of these suites, whether or not it could run there.

    A git revision may lack a case: a launch counts for it where any side has the case. Launches with another build of a user's package than
    the side's environment has now do not count.

    opened : the provenance of environments that are known
    suites : with the selected cases; those with another form of one have none of its cases
    """
    read = [launch for launch in launches if launch.kind == kind]
    counts: dict[Place, Counter[tuple[str, str]]] = {side.place: Counter() for launch in read for side in launch.sides}
    for launch in read:
        for name, suite in suites.items():
            stored = launch.suites.get(name)
            if stored is None or stored.form != suite.stored().form:
                continue
            there = {text: str(index) for index, text in enumerate(names_of(name, stored.params))}
            has_packages = suite_specs.find(name).packages
            for number, side in enumerate(launch.sides):
                now = opened.get(side.place)
                if has_packages and now is not None and builds(now) != builds(launch.provenance_of(number)):
                    continue
                numbers = range(len(launch.sides)) if side.revision else [number]
                for text in suite.selected:
                    index = there.get(text, "")
                    counts[side.place][name, text] += any(stored.tells(index, each) for each in numbers)
    keys = [(name, text) for name, suite in suites.items() for text in suite.selected]
    return Counter({place: min((of_side[key] for key in keys), default=0) for place, of_side in counts.items()})


def confirm_installing(
    measurements: Sequence[Measurement], paths: Paths, max_environments: int, say: Callable[[str], object], *, asks: bool = True
) -> None:
    """Say how many environments are to be installed and how large they are; ask at a terminal where they are more than `UNASKED`.

    max_environments : that are on the disk at a time
    say : prints a sentence
    asks : False where the user has agreed already

    Raises TensorcopyError where the disk does not hold so many, and where the user declines.
    """
    missing = {each.path(paths): each for each in measurements if not each.is_installed(paths)}.values()
    count = min(max_environments, len(missing))
    if not count:
        return
    folder = next(each for each in (paths.environments, *paths.environments.parents) if each.exists())
    free = shutil.disk_usage(folder).free / 1e9
    sizes = sorted((environments.gigabytes(folder, each.release, each.python) for each in missing), reverse=True)
    needed = sum(sizes[:count])
    size = f": about {needed} GB, and" if needed else ";"
    sentence = f"{counted(count, 'environment')} {'is' if count == 1 else 'are'} to be installed{size} {free:.0f} GB are free"
    say(sentence)
    fewer = "name fewer releases, or tensorcopy measure --environments 3, which removes each as soon as it is measured"
    if count > UNASKED and needed > free:
        raise TensorcopyError("the disk is too small", got=sentence, allowed="room for them together", next=f"free some space, {fewer}")
    if count > UNASKED and asks and sys.stdin.isatty() and sys.stdout.isatty():
        try:
            answer = input("Install them? [y/N] ").strip()
        except EOFError:  # Ctrl-D
            answer = ""
        if answer.lower() not in ("y", "yes"):
            raise TensorcopyError("nothing was installed", got=repr(answer), allowed="y", next=fewer)


def expression_of(cases: Sequence[Case]) -> str:
    """Return a regular expression that matches asv's names of these cases only."""
    names = []
    for case in cases:
        values = ", ".join(f"'?{re.escape(value)}'?" for _, value in case.parameters)
        names.append(re.escape(case.suite) + (rf"\({values}\)" if values else ""))
    return f"^({'|'.join(names)})$"
