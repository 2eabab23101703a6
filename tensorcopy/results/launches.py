"""Launch files: their schema, written once, read and checked.

A launch is one draw of processes. Its file is `results/MACHINE/TIME-ID.json`. It is created whole when the launch has ended, and never
changed: adding is creating a file, merging is copying files, and a launch that is interrupted leaves nothing. There are two kinds:

times : two or more sides have taken turns (`measure.case_turns`); or the methods of a single side, which is then unpaired
counts : one side has counted instructions, bytes and allocations, and observed what each method does

msgspec compiles the schema from the classes below.
"""

from __future__ import annotations

import os
import re
import secrets
import tempfile
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timezone
from math import prod
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from tensorcopy import files
from tensorcopy.errors import TensorcopyError, of_os_error
from tensorcopy.worker.nvidia import driver_version

VERSION = 2  # of the format: a file of a newer one is refused, and kept
LARGEST = 4 * 2**20  # bytes; a launch of all releases and cases has 100 kB
ROOM = 2**20  # bytes that are free before a launch: ten times the 100 kB
MOST_CASES = 100_000  # of a suite: a site with ten thousand takes minutes
TIMED = ("time", "timeraw")  # types of asv's benchmarks; of all others a launch of counts has the value
UNIT = 1e4  # effects are whole ten-thousandths of a log ratio
OTHER_VERSION = "in another version of the benchmark"  # why a side skips a case: its values cannot be compared
ALL = "*"  # in place of a side's number: every side
ID = r"\d{8}T\d{6}-[0-9a-f]{8}"
OF_INTERPRETER = "-interpreter"  # ends the name of an environment that is an interpreter's own

Place = tuple[str, str, str]  # SHA of torch, environment, and git revision: "" of what is checked out

LONGEST_NAME = 300  # characters
Name = Annotated[str, Meta(max_length=LONGEST_NAME)]
Text = Annotated[str, Meta(max_length=1000)]
Number = Annotated[int, Meta(ge=0, le=2**62)]
SHORTEST, LONGEST = 1e-12, 1e6  # seconds: a call takes more than a cycle, and less than eleven days
Seconds = Annotated[float, Meta(gt=SHORTEST, lt=LONGEST)]
LARGEST_VALUE = 1e30  # and its inverse the smallest but 0: a ratio of two can be computed
Value = Annotated[float, Meta(ge=-LARGEST_VALUE, le=LARGEST_VALUE)]
Effect = Annotated[int, Meta(ge=-300_000, le=300_000)]  # a side that is e^30 times as slow would have stood still


class Hardware(Struct, frozen=True):
    """What pages and the identity of a machine read of its hardware; other fields may stand beside."""

    flags: list[Name] = []
    caches: list[Name] = []
    memory_gib: float | None = None


class Provenance(Struct, frozen=True):
    """What results, comparisons and pages read of the provenance of a side; other fields may stand beside."""

    torch: Name
    torch_sha: Name
    python: Name
    numpy: Name
    cpu: Name
    cores: Number
    accelerators: dict[Name, Name]
    hardware: Hardware
    settings: dict[Name, Text]
    build: Name = ""
    asv_runner: Name = ""
    os: Name = ""
    arch: Name = ""
    libc: Name = ""
    compiler: Name = ""
    tensorcopy: Name = ""
    identity: Name = ""
    cuda: Name | None = None
    cpu_capability: Name = ""
    governor: Name = ""
    cpu_quota: float | None = None
    hugepages: Name = ""
    threads: Number = 1
    driver: Text = ""
    gpu: dict[Name, Any] | None = None
    unsupported: dict[Name, Text] = {}
    requires: dict[Name, Text] = {}
    follows_torch: dict[Name, Text] = {}


class StoredOutcome(Struct, frozen=True, kw_only=True):
    """What a method was observed to do with one kind of tensor, see `semantics.Outcome`."""

    gives: Name
    warns: Text
    raises: Text
    changes: Text = ""
    unobserved: list[Text] = []
    shares_storage: bool | None
    keeps_graph: bool | None
    is_leaf: bool | None
    requires_grad: bool | None
    device: Name | None
    dtype: Name | None
    layout: Name | None


class Observation(Struct, frozen=True):
    """What a method was observed to do on one device."""

    plain: StoredOutcome
    with_grad: StoredOutcome
    as_promised: bool | None = None


class StoredMethod(Struct, frozen=True):
    """A method's code, and by device what it was observed to do."""

    group: Name
    code: Text
    observed: dict[Name, Observation]
    code_on_accelerator: Text
    since: Name


class Statements(Struct, frozen=True):
    """How many of the article's statements held on a device, and those that did not."""

    statements: Number
    hold: Number
    fail: list[Text]


class Side(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One side of a launch: an environment.

    sha : of torch
    environment : "py3.11-cuda"; "py3.12-cuda-interpreter" for an interpreter's own torch
    revision : of the project, where two of its revisions are compared under one torch
    provenance : versions, hardware and settings (`worker.provenance`), without what all sides share
    """

    sha: Annotated[str, Meta(pattern="^[0-9a-f]{40}$")]
    environment: Annotated[str, Meta(pattern=r"^py3\.\d{1,2}-[a-z]+(-interpreter|-numpy2)?$")]
    revision: Name = ""
    provenance: dict[str, Any] = {}

    @property
    def place(self) -> Place:
        """What tells it from the other sides: SHA, environment and revision."""
        return self.sha, self.environment, self.revision

    @property
    def is_interpreter(self) -> bool:
        """Whether the environment is an interpreter's own."""
        return self.environment.endswith(OF_INTERPRETER)


class Parts(Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """Where the seconds of a call on a device go.

    empty : the same call of a tensor without elements, until it returns; null where it needs some
    returned : until the call returns; whole : until the device has finished, where each call is waited for
    device : that the device works on a call which waits in its queue; null where that is unknown
    """

    empty: Seconds | None
    returned: Seconds
    whole: Seconds
    device: Seconds | None


class Row(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The turns of one case.

    seconds : a call's, the geometric mean of all sides
    calls : in a turn; turns : of each side
    effects : by side, log(its time / the mean of all sides) in 1 / UNIT; null without turns. The time of a side is that of the usual call
        when nothing disturbs it: the geometric mean of the fastest third of its turns, of each of which the fastest window counts
    parts : by side, of a case on a device that is waited for; null without turns
    in_turns : of a single side, whether this method took turns with the others
    """

    seconds: Seconds
    calls: Number
    turns: Number
    effects: list[Effect | None]
    parts: list[Parts | None] = []
    in_turns: bool = False


class Suite(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A benchmark, as asv describes it, and its cases by their number in asv's order.

    rows : of a launch of times; values : of a launch of counts
    skipped, failed : reasons by case, and by the number of the side, or `ALL`
    """

    version: Name
    param_names: list[Name]
    params: list[list[Text]]
    unit: Name
    type: Name
    rows: dict[str, Row] = {}
    values: dict[str, Value] = {}
    skipped: dict[str, dict[str, Text]] = {}
    failed: dict[str, dict[str, Text]] = {}

    @property
    def form(self) -> tuple[str, str]:
        """Version and unit: values can be compared where both are equal."""
        return self.version, self.unit

    def tells(self, index: str, side: int) -> bool:
        """Return whether it has the time or value of a case on a side, or the reason why there is none."""
        row = self.rows.get(index)
        if index in self.values or (row is not None and row.effects[side] is not None):
            return True
        return any(key in stored.get(index, {}) for stored in (self.failed, self.skipped) for key in (str(side), ALL))


class Launch(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """One launch.

    id : its name, "20261125T091500-1a2b3c4d"; started, ended : ISO 8601 in UTC
    machine : the name in results; the folder's
    provenance : what all sides share
    reference : the number of the side that is in every launch of its machine; absent without one
    looks : how many looks share the chance of a false alarm, where each decided whether to take more launches; by default one
    methods : of a launch of counts, every method's code and what it was observed to do
    article : of the same, how many of the article's statements held
    """

    version: int
    kind: Literal["times", "counts"]
    id: Annotated[str, Meta(pattern=f"^{ID}$")]
    started: Annotated[str, Meta(max_length=40)]
    ended: Annotated[str, Meta(max_length=40)]
    machine: Name
    sides: Annotated[list[Side], Meta(min_length=1, max_length=200)]
    reference: Number | UnsetType = UNSET
    looks: Annotated[int, Meta(ge=1, le=1000)] = 1
    provenance: dict[str, Any]
    suites: dict[Name, Suite]
    methods: dict[str, dict[str, Any]] = {}
    article: dict[str, Any] = {}

    def provenance_of(self, side: int) -> dict[str, Any]:
        """Return the whole provenance of a side."""
        whole = {**self.provenance, **self.sides[side].provenance, "started": self.started}
        if whole.get("driver"):  # a launch may have the whole line of the kernel
            whole["driver"] = driver_version(str(whole["driver"]))
        return whole

    @property
    def identity(self) -> str:
        """The identity of the hardware."""
        return str(self.provenance.get("identity", ""))


def newest_suites(launches: Iterable[Launch]) -> dict[str, Suite]:
    """Return every suite in its newest form; what a launch has of another form of it cannot be compared.

    launches : of one machine, in order

    It is that of the newest launch, or of the highest version where versions are numbers: an older checkout may measure later.
    """
    newest: dict[str, Suite] = {}
    for launch in launches:
        for name, suite in launch.suites.items():
            versions = suite.version, newest.get(name, suite).version
            if not all(version.isascii() and version.isdecimal() for version in versions) or int(versions[0]) >= int(versions[1]):
                newest[name] = suite
    return newest


def new_id(now: datetime | None = None) -> str:
    """Return a new name of a launch: its start, and digits that no other launch has."""
    return f"{now or datetime.now(timezone.utc):%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"


def shared_provenance(provenances: list[Mapping[str, Any]]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return what all provenances have in common, and what remains of each."""
    first = provenances[0]
    shared = {name: value for name, value in first.items() if all(name in each and each[name] == value for each in provenances)}
    return shared, [{name: value for name, value in each.items() if name not in shared} for each in provenances]


def times_of(launch: Launch) -> Hashable:
    """Return the sides and the times of a launch, without its name: two launches never have the same."""
    times = tuple((name, tuple((index, row.seconds) for index, row in suite.rows.items())) for name, suite in launch.suites.items())
    return tuple(side.place for side in launch.sides), times


def path_of(results: Path, launch: Launch) -> Path:
    """Return the path of a launch's file in a folder of results."""
    return results / launch.machine / f"{launch.id}.json"


def write(results: Path, launch: Launch) -> Path:
    """Create the file of a launch as a whole, and return its path.

    Raises TensorcopyError for one that could not be read, and where the file exists; DiskError and OSError.
    """
    path = path_of(results, launch)
    data = _lines(msgspec.json.encode(launch))
    try:
        _checked(path, data)
    except FileProblem as problem:
        raise TensorcopyError(
            "the launch cannot be stored", got=problem.got, allowed="what a file of results can hold", next="--bench with fewer benchmarks"
        ) from problem
    create(path, data)
    return path


def require_room(results: Path, machine: str) -> None:
    """Raise DiskError where a launch of a machine could not be stored, before minutes of measuring.

    As much as a launch needs is written into the machine's folder, or into the nearest one above that exists, as a file without a name.
    """
    folder = next(each for each in (results / machine, results, *results.parents) if each.is_dir())
    with _disk_named(folder), tempfile.TemporaryFile(dir=folder) as file:
        file.write(b"\0" * ROOM)
        file.flush()
        os.fsync(file.fileno())  # some file systems, such as NFS, refuse only then


@contextmanager
def _disk_named(folder: Path) -> Iterator[None]:
    """Raise DiskError, naming the folder, where the disk cannot be written."""
    try:
        yield
    except OSError as error:
        if full := of_os_error(OSError(error.errno, error.strerror, str(folder))):
            raise full from error
        raise


def create(path: Path, data: bytes) -> None:
    """Create a file as a whole: an interrupted writer leaves nothing under its name, and an existing file is never replaced.

    Raises FileProblem where it exists, DiskError and OSError.
    """
    try:
        with _disk_named(path.parent):
            files.replace(path, data, new=True)
    except FileExistsError as error:
        raise FileProblem(
            f"the file {displayed(path)} exists", path=path, got="another launch of this name", allowed="a new one", next="repeat"
        ) from error


def _lines(data: bytes) -> bytes:
    """Return a launch with a line for each suite, so that a difference of two files can be read."""
    of_suites = data.replace(b'},"suites":{', b'},\n"suites":{\n')
    return re.sub(rb'\}\},(?="[^",:}\]])', b"}},\n", of_suites) + b"\n"  # what follows begins a key, and is not the end of a text


def read(path: Path) -> Launch:
    """Return the launch in a file.

    Raises TensorcopyError, naming the file, for one that is damaged, of a newer format, or disagrees with its name or folder.
    """
    launch = _checked(path, content(path))
    if path.name != f"{launch.id}.json":
        raise damaged(path, f"the launch {launch.id}")
    if path.parent.name != launch.machine:
        raise damaged(path, f"a launch of the machine {launch.machine[:60]!r}")
    return launch


def content(path: Path) -> bytes:
    """Return the bytes of a file of results. Raises TensorcopyError, naming it, for what is none: a pipe may never end."""
    with damage_named(path):
        if not path.is_file():  # first: to resolve a link to itself raises RuntimeError before Python 3.13
            raise ValueError("not a regular file")
        if path.is_symlink() and path.resolve().parent != path.parent.resolve():
            raise ValueError("a link that leaves its folder")
        return files.read_bytes(path)


_decoder = msgspec.json.Decoder(Launch)


class _Version(Struct):
    version: int
    id: object = None


def _checked(path: Path, data: bytes) -> Launch:
    with damage_named(path):
        if len(data) > LARGEST:
            raise ValueError(f"more than {LARGEST // 2**20} MiB")
        header = msgspec.json.decode(data, type=_Version)
        if header.id is None:  # asv's own files have none: machine.json, and the results of a commit
            raise FileProblem(
                f"{displayed(path)} is no launch",
                path=path,
                got="no id, as in a file of asv",
                allowed="launches that tensorcopy has written",
                next="move it out of the folder, or name another results_dir in asv.conf.json",
            )
        refuse_newer(path, data, VERSION)
        if header.version < VERSION:
            raise FileProblem(
                f"the file {displayed(path)} is of an older format",
                path=path,
                got=f"version {header.version}, of another estimate of times",
                allowed=f"version {VERSION}",
                next="remove it, and measure its releases anew",
            )
        launch = _decoder.decode(data)
        for name, suite in launch.suites.items():
            if reason := _fault(launch, suite):
                raise ValueError(f"{name[:100]} {reason}")
        _check_sides(launch)
        for number in range(len(launch.sides)):
            msgspec.convert(launch.provenance_of(number), Provenance)
        msgspec.convert(launch.methods, dict[Name, StoredMethod])
        msgspec.convert(launch.article, dict[Name, Statements])
    return launch


def _check_sides(launch: Launch) -> None:
    """Raise ValueError for sides or times that no launch has."""
    started, ended = (datetime.fromisoformat(text) for text in (launch.started, launch.ended))
    if started.tzinfo is None or ended.tzinfo is None or ended < started:
        raise ValueError(f"it begins at {launch.started} and ends at {launch.ended}")
    if len({side.place for side in launch.sides}) < len(launch.sides):
        raise ValueError("it has a side twice")
    if launch.reference is not UNSET and launch.reference >= len(launch.sides):
        raise ValueError(f"its reference is side {launch.reference} of {len(launch.sides)}")


def refuse_newer(path: Path, data: bytes, known: int) -> None:
    """Raise TensorcopyError for a file of a newer format than `known`: it is whole, and stays. Raises ValueError."""
    version = msgspec.json.decode(data, type=_Version).version
    if version > known:
        raise FileProblem(
            f"the file {displayed(path)} is of a newer format",
            path=path,
            got=f"version {version}",
            allowed=f"version {known} of this tensorcopy",
            next="upgrade tensorcopy",
        )


def can_hold(value: float) -> bool:
    """Return whether a launch can have a value of a benchmark."""
    return value == 0 or 1 / LARGEST_VALUE <= abs(value) <= LARGEST_VALUE


def _fault(launch: Launch, suite: Suite) -> str:
    """Return what is wrong with a suite of a launch, "" if nothing is."""
    if len(suite.params) != len(suite.param_names):
        return f"has {len(suite.param_names)} names of {len(suite.params)} parameters"
    count = prod(map(len, suite.params))
    if count > MOST_CASES:
        return f"has {count:,} cases: allowed are {MOST_CASES:,}"
    for index in (*suite.rows, *suite.values, *suite.skipped, *suite.failed):
        if not (index.isascii() and index.isdecimal() and int(index) < count):
            return f"has no case {index[:20]}"
    if suite.values if launch.kind == "times" else suite.rows:
        return f"has {'values' if launch.kind == 'times' else 'turns'} in a launch of {launch.kind}"
    if not all(map(can_hold, suite.values.values())):
        return f"has a value below {1 / LARGEST_VALUE:g}"
    sides = len(launch.sides)
    for index, row in suite.rows.items():
        if len(row.effects) != sides:
            return f"does not have {sides} effects in case {index}"
        if row.parts and len(row.parts) != sides:
            return f"does not have the parts of {sides} sides in case {index}"
        if any(each and each.returned > each.whole for each in row.parts):
            return f"has a call that returns after its end in case {index}"
    return ""


class FileProblem(TensorcopyError):
    """An error that names a file of results: it is damaged or refused."""

    def __init__(self, what: str, *, path: Path, got: str, allowed: str, next: str) -> None:
        super().__init__(what, got=" ".join(got.split()), allowed=allowed, next=next)
        self.path = path


def displayed(path: Path) -> Path:
    """Return a file's path from the folder of results on, as errors show it."""
    full = path if len(path.parts) >= 3 and ".." not in path.parts else path.resolve()  # a link in a full path keeps its name
    return Path(*full.parts[-3:])


def damaged(path: Path, got: str) -> FileProblem:
    """Return the error for a file that cannot be read."""
    return FileProblem(
        f"the file {displayed(path)} cannot be read",
        path=path,
        got=got,
        allowed="a complete file as tensorcopy writes it",
        next=f"{files.from_git(path)}, or remove it: other launches are not affected",
    )


@contextmanager
def damage_named(path: Path) -> Iterator[None]:
    """Raise TensorcopyError, naming the file, for what is not a valid launch."""
    try:
        yield
    except OSError as error:
        raise damaged(path, error.strerror or str(error)) from error
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError, MemoryError) as error:
        raise damaged(path, str(error) or type(error).__name__) from error
