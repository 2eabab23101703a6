"""Launch files: their schema, written once, read and checked.

A launch is one draw of processes. Its file is `results/HISTORY/TIME-ID.json`. It is created whole when the launch has ended, and never
changed: adding is creating a file, merging is copying files, and a launch that is interrupted leaves nothing. There are two kinds:

times : two or more sides have taken turns (`measure.launch`); or the methods of a single side, which ranks them only
counts : one side has counted instructions, bytes and allocations, and observed what each method does

msgspec compiles the schema from the classes below.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timezone
from math import prod
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from tensorcopy import files
from tensorcopy.errors import TensorcopyError
from tensorcopy.worker.nvidia import driver_version

VERSION = 2  # of the format: a file of a newer one is refused, and kept
MOST_CASES = 100_000  # of a suite: a site with ten thousand takes minutes
UNIT = 1e4  # effects are whole ten-thousandths of a log ratio
OTHER_VERSION = "in another version of the benchmark"  # why a side skips a case: its values cannot be compared
ALL = "*"  # in place of a side's number: every side
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


class Provenance(Struct, frozen=True):
    """What the program reads of the provenance of a side; other fields stand beside, which a page shows as they are."""

    torch: Name
    torch_sha: Name
    python: Name
    cpu: Name
    accelerators: dict[Name, Name]
    hardware: dict[Name, Any]
    threads: Number = 1
    driver: Text = ""
    requires: dict[Name, Text] = {}


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


def method_code(row: Mapping[str, Any], device: str) -> str:
    """Return the code of an observed method for a tensor on a device; row : a `StoredMethod`, or an empty one, which has none."""
    return str(row.get("code" if device == "cpu" else "code_on_accelerator", ""))


class Statements(Struct, frozen=True):
    """How many of the article's statements held on a device, and those that did not."""

    statements: Number
    hold: Number
    fail: list[Text]


class StoredSide(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One side of a launch: an environment."""

    sha: Annotated[str, Meta(pattern="^[0-9a-f]{40}$")]  # of torch
    environment: Annotated[str, Meta(pattern=r"^py3\.\d{1,2}-[a-z]+(-interpreter)?$")]  # "-interpreter" for its own torch
    revision: Name = ""  # of the project, where two of its revisions are compared under one torch
    provenance: dict[str, Any] = {}  # versions, hardware and settings (`worker.provenance`), without what all sides share

    @property
    def place(self) -> Place:
        """What tells it from the other sides: SHA, environment and revision."""
        return self.sha, self.environment, self.revision


class Row(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The turns of one case.

    The time of a side is that of the usual call when nothing disturbs it: the geometric mean of the fastest third of its turns, of each of
    which the fastest window counts.
    """

    seconds: Seconds  # a call's, the geometric mean of all sides
    calls: Number  # in a turn
    turns: Number  # of each side
    effects: list[Effect | None]  # by side, log(its time / the mean of all sides) in 1 / UNIT; null without turns
    in_turns: bool = False  # of a single side, whether this method took turns with the others


class StoredSuite(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A benchmark, as asv describes it, and its cases by their number in asv's order."""

    version: Name
    param_names: list[Name]
    params: list[list[Text]]
    unit: Name
    type: Name
    rows: dict[str, Row] = {}  # of a launch of times
    values: dict[str, Value] = {}  # of a launch of counts
    skipped: dict[str, dict[str, Text]] = {}  # reasons by case, and by the number of the side, or `ALL`
    failed: dict[str, dict[str, Text]] = {}

    @property
    def form(self) -> tuple[str, str]:
        """Version and unit: values can be compared where both are equal."""
        return self.version, self.unit

    def tells(self, index: str, side: int) -> bool:
        """Return whether it has the time or value of a case on a side, or the reason why there is none."""
        row, reasons = self.rows.get(index), {**self.failed.get(index, {}), **self.skipped.get(index, {})}
        return index in self.values or bool(row and row.effects[side] is not None) or str(side) in reasons or ALL in reasons


class Launch(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """One launch."""

    version: int
    kind: Literal["times", "counts"]
    id: Annotated[str, Meta(pattern=r"^\d{8}T\d{6}-[0-9a-f]{8}$")]  # its name, "20261125T091500-1a2b3c4d"
    started: Annotated[str, Meta(max_length=40)]  # ISO 8601 in UTC
    ended: Annotated[str, Meta(max_length=40)]
    machine: Name  # that took it
    sides: Annotated[list[StoredSide], Meta(min_length=1, max_length=200)]
    reference: Number | UnsetType = UNSET  # the number of the side that is in every launch of a run
    provenance: dict[str, Any]  # what all sides share
    suites: dict[Name, StoredSuite]
    methods: dict[str, dict[str, Any]] = {}  # of a launch of counts, every method's code and what it was observed to do
    article: dict[str, Any] = {}  # of the same, how many of the article's statements held

    def provenance_of(self, side: int) -> dict[str, Any]:
        """Return the whole provenance of a side."""
        whole = {**self.provenance, **self.sides[side].provenance, "started": self.started}
        if whole.get("driver"):  # a launch may have the whole line of the kernel
            whole["driver"] = driver_version(str(whole["driver"]))
        return whole

    def form(self, name: str) -> Hashable:
        """Return what must be equal for values of a suite to be compared: its version and unit, and the builds of a user's packages."""
        return (*self.suites[name].form, *builds(self.provenance).items())


def builds(provenance: Mapping[str, Any]) -> dict[str, str]:
    """Return the packages of a user that were built from files, each with its version and a digest of these; see `worker.packages`."""
    return {name: text for name, text in provenance.get("requires", {}).items() if " " in text}


def newest_suites(launches: Iterable[Launch]) -> dict[str, StoredSuite]:
    """Return every suite in its newest form; what a launch has of another form of it cannot be compared.

    launches : in order

    It is that of the newest launch, or of the highest version where versions are numbers: an older checkout may measure later.
    """
    newest: dict[str, StoredSuite] = {}
    for name, suite in ((name, suite) for launch in launches for name, suite in launch.suites.items()):
        version, known = suite.version, newest.get(name, suite).version
        if not (version + known).isdecimal() or not (version + known).isascii() or int(version) >= int(known):
            newest[name] = suite
    return newest


def new_id(now: datetime | None = None) -> str:
    """Return a new name of a launch: its start, and digits that no other launch has."""
    return f"{now or datetime.now(timezone.utc):%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"


def write(folder: Path, launch: Launch) -> Path:
    """Create the file of a launch in the folder of its history, as a whole, and return its path.

    Raises TensorcopyError for one that could not be read, and where the file exists; DiskError and OSError.
    """
    path, data = folder / f"{launch.id}.json", msgspec.json.encode(launch) + b"\n"
    try:
        _checked(path, data)
    except FileProblem as problem:
        allowed, following = "what a file of results can hold", "--bench with fewer benchmarks"
        raise TensorcopyError("the launch cannot be stored", got=problem.got, allowed=allowed, next=following) from problem
    create(path, data)
    return path


def create(path: Path, data: bytes) -> None:
    """Create a file as a whole: an interrupted writer leaves nothing under its name, and an existing file is never replaced.

    Raises FileProblem where it exists, DiskError and OSError.
    """
    try:
        files.replace(path, data, new=True)
    except FileExistsError as error:
        raise FileProblem(path, "the file {} exists", got="another launch of this name", allowed="a new one", next="repeat") from error


def read(path: Path) -> Launch:
    """Return the launch in a file.

    Raises TensorcopyError, naming the file, for one that is damaged, of a newer format, or disagrees with its name.
    """
    launch = _checked(path, content(path))
    with damage_named(path):
        _require(path.name == f"{launch.id}.json", f"the launch {launch.id}")
    return launch


def content(path: Path) -> bytes:
    """Return the bytes of a file of results. Raises TensorcopyError, naming it, for what is none: a pipe may never end."""
    with damage_named(path):
        _require(path.is_file(), "not a regular file")  # first: to resolve a link to itself raises RuntimeError before Python 3.13
        _require(not path.is_symlink() or path.resolve().parent == path.parent.resolve(), "a link that leaves its folder")
        return files.read_bytes(path)


_decoder = msgspec.json.Decoder(Launch)
SUITES = re.compile(rb'"suites"\s*:')  # in a text it would be \"suites\"


class _Version(Struct):
    version: int
    id: object = None


def _checked(path: Path, data: bytes) -> Launch:
    with damage_named(path):
        _require(len(data) <= files.LARGEST, f"more than {files.LARGEST >> 20} MiB")
        if msgspec.json.decode(data, type=_Version).id is None:  # as in asv's own files: machine.json, and the results of a commit
            allowed, following = "launches that tensorcopy has written", "move it out, or name another results_dir in asv.conf.json"
            raise FileProblem(path, "{} is no launch", got="no id, as in a file of asv", allowed=allowed, next=following)
        require_version(path, data, VERSION)
        launch = _decoder.decode(data)
        _require(len(SUITES.findall(data)) == 1, "two lists of suites, of which a reader takes the last")
        _check(launch)
        for number in range(len(launch.sides)):
            msgspec.convert(launch.provenance_of(number), Provenance)
        msgspec.convert(launch.methods, dict[Name, StoredMethod])
        msgspec.convert(launch.article, dict[Name, Statements])
    return launch


def require_version(path: Path, data: bytes, known: int) -> None:
    """Raise TensorcopyError for a file of another format, which is whole, and stays. Raises ValueError for what is no JSON."""
    version = msgspec.json.decode(data, type=_Version).version
    if version != known:
        what, allowed = "the file {} is of another format", f"version {known} of this tensorcopy"
        raise FileProblem(path, what, got=f"version {version}", allowed=allowed, next="upgrade tensorcopy")


def can_hold(value: float) -> bool:
    """Return whether a launch can have a value of a benchmark."""
    return value == 0 or 1 / LARGEST_VALUE <= abs(value) <= LARGEST_VALUE


def _require(holds: object, fault: str) -> None:
    if not holds:
        raise ValueError(fault)


def _check(launch: Launch) -> None:
    """Raise ValueError for sides, times or cases that no launch has."""
    started, ended = (datetime.fromisoformat(text) for text in (launch.started, launch.ended))
    in_order = started.tzinfo and ended.tzinfo and ended >= started
    sides, other = len(launch.sides), "values" if launch.kind == "times" else "rows"
    _require(in_order, f"it begins at {launch.started} and ends at {launch.ended}")
    _require(len({side.place for side in launch.sides}) == sides, "it has a side twice")
    _require(launch.reference is UNSET or launch.reference < sides, f"its reference is side {launch.reference} of {sides}")
    for name, suite in launch.suites.items():
        of, names, count = name[:100], len(suite.param_names), prod(map(len, suite.params))
        _require(len(suite.params) == names, f"{of} has {names} names of {len(suite.params)} parameters")
        _require(count <= MOST_CASES, f"{of} has {count:,} cases: allowed are {MOST_CASES:,}")
        indices = (*suite.rows, *suite.values, *suite.skipped, *suite.failed)
        unknown = [index[:20] for index in indices if not (index.isascii() and index.isdecimal() and int(index) < count)]
        _require(not unknown, f"{of} has no case {', '.join(unknown[:1])}")
        _require(not getattr(suite, other), f"{of} has {other.replace('rows', 'turns')} in a launch of {launch.kind}")
        _require(all(map(can_hold, suite.values.values())), f"{of} has a value below {1 / LARGEST_VALUE:g}")
        unequal = [index for index, row in suite.rows.items() if len(row.effects) != sides]
        _require(not unequal, f"{of} does not have {sides} effects in case {', '.join(unequal[:1])}")


class FileProblem(TensorcopyError):
    """An error that names a file of results: it is damaged or refused; what : with "{}" for the file."""

    def __init__(self, path: Path, what: str, *, got: str, allowed: str, next: str) -> None:
        super().__init__(what.format(displayed(path)), got=" ".join(got.split()), allowed=allowed, next=next)
        self.path = path


def displayed(path: Path) -> Path:
    """Return a file's path from the folder of results on, as errors show it."""
    full = path if len(path.parts) >= 3 and ".." not in path.parts else path.resolve()  # a link in a full path keeps its name
    return Path(*full.parts[-3:])


def damaged(path: Path, got: str) -> FileProblem:
    """Return the error for a file that cannot be read."""
    following = f"{files.from_git(path)}, or remove it: other launches are not affected"
    return FileProblem(path, "the file {} cannot be read", got=got, allowed="a complete file as tensorcopy writes it", next=following)


@contextmanager
def damage_named(path: Path) -> Iterator[None]:
    """Raise TensorcopyError, naming the file, for what is not a valid launch."""
    try:
        yield
    except OSError as error:
        raise damaged(path, error.strerror or str(error)) from error
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError, MemoryError) as error:
        raise damaged(path, str(error) or type(error).__name__) from error
