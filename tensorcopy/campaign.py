"""A campaign says what is measured and how it is judged. The command line makes it once, from tensorcopy.toml, and passes it on.

docs/own-operation.md and docs/measurement.md show the tables of the file. One with [project] or [suites] is a campaign of its own: its
operations and suites, and nothing else. Any other adds its operations and rules to the shipped campaign.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from keyword import iskeyword
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from tensorcopy import files
from tensorcopy.errors import TensorcopyError, line_of
from tensorcopy.releases import release_table
from tensorcopy.releases.release_table import ReleaseIndex
from tensorcopy.results.cases import ITEMSIZE, Case
from tensorcopy.results.launches import StoredOutcome
from tensorcopy.worker.devices import DEVICES
from tensorcopy.worker.operations import FILE, GUIDE, OF_THE_LOOP, SIZE, Input, Operation, of_values, variables

BESIDE = ("copies", "conversions")
TAKEN = ("copy", "conversion", "primitive", "alternative", "transfer")
NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
VERSION = re.compile(r"\d{1,3}(\.\d{1,3}){1,2}")
LAYOUTS = {"contiguous": 0, "transposed": 2, "strided": 1, "channels_last": 4}  # with the fewest dimensions that each needs
MAX_SIZE = 2**24  # of a size, and of a dimension
FIELDS = {"project": ("name", "title", "requires"), "suites": ("path", "threads")}  # of the tables
TABLES = {"operation", *FIELDS, "margin", "acknowledged"}
PROJECT_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,39}", re.ASCII)
PACKAGE = re.compile(r"[A-Za-z0-9.][^\x00]*")  # no option of pip, and an argument of its process
MOST_THREADS = 1024
MEM = re.compile(r"^\s*(def mem_|class Mem[A-Z_]|def Mem[A-Z_])", re.MULTILINE)  # a benchmark that needs pympler
LONGEST_TITLE = 80  # characters: a heading of two lines on a phone
Pattern = Annotated[str, Meta(min_length=1, max_length=300)]


@dataclass(frozen=True)
class VerdictRules:
    """The rules of verdicts that a campaign declares.

    margins : the smallest slowdown that counts, as a share of the time, by a regular expression on cases; of several, the last counts
    acknowledged : regular expression on cases, the last release whose slowdown is acknowledged, and why
    releases : in order
    """

    margins: tuple[tuple[re.Pattern[str], float], ...] = ()
    acknowledged: tuple[tuple[re.Pattern[str], str, str], ...] = ()
    releases: tuple[str, ...] = ()

    def unmatched(self, cases: Iterable[Case]) -> list[TensorcopyError]:
        """Return a warning for each row that matches none of these cases; none without cases."""
        rows = [*(("[margin]", row[0]) for row in self.margins), *(("[[acknowledged]]", row[0]) for row in self.acknowledged)]
        names = [case.name for case in set(cases)] if rows else []
        return [
            TensorcopyError(
                f"a row of {table} in {FILE} matches no case",
                got=pattern.pattern,
                allowed="a regular expression on names of cases, as compare prints them",
                next="tensorcopy compare A B --all lists them",
            )
            for table, pattern in rows
            if names and not any(map(pattern.search, names))
        ]

    def margin(self, name: str) -> float | None:
        """Return the margin of the case of a name; None where none is declared."""
        return next((share for pattern, share in reversed(self.margins) if pattern.search(name)), None)

    def why(self, name: str, release: str) -> str:
        """Return why the slowdown of a case with a release is acknowledged; "" where it is not."""
        if release not in self.releases:
            return ""
        to = self.releases.index(release)
        rows = ((reason, pattern) for pattern, last, reason in self.acknowledged if to <= self.releases.index(last))
        return next((reason for reason, pattern in rows if pattern.search(name)), "")


NO_RULES = VerdictRules()


@dataclass(frozen=True)
class Campaign:
    """What is measured, and how it is judged.

    name : of asv's project, in the head of every page
    title : the heading of a project's landing page; that of the shipped one is `question` in words.toml
    folder : of tensorcopy.toml
    releases : those of the package's table, and of `table`, whose rows replace those of the same version
    table : the file that a user adds releases to; it may not exist yet
    operations : the user's own
    methods : names that no operation can have, since the program itself measures something under them
    left_out : by name, why other operations are none: a row that cannot be used costs no other
    suites : the folder of an asv suite; None where the operations are all that is measured
    requires : packages for the environment of every release; one that begins with "." is the folder of a package
    threads : of torch in its processes, since times with several depend on what else runs; 0 for as many as torch decides
    rules : margins, and acknowledged slowdowns
    pins_numpy : whether the table of releases chooses numpy, not what is required
    is_shipped : whether it is the one of this package: commits of its repository are commits of this program
    observers : arguments of the probe of an environment: the module that observes what methods do, and "--own-only" without a registry
    profiler : the probe that counts the functions of its cases; "" for none
    profiled : a regular expression on the names of the cases whose functions are counted; "" for all
    pages : the package with the pages that only this campaign has, see `site.build.files`; "" for none
    measured : beginnings of the files of its repository that can change a time, or whether there is one
    quick, memory : regular expressions on asv's names, of what `dashboard --quick` times and `dashboard` counts; "" for all
    """

    name: str
    title: str
    folder: Path
    releases: ReleaseIndex
    table: Path
    operations: tuple[Operation, ...] = ()
    suites: Path | None = None
    requires: tuple[str, ...] = ()
    threads: int = 0
    rules: VerdictRules = NO_RULES
    pins_numpy: bool = False
    is_shipped: bool = False
    observers: tuple[str, ...] = ()
    profiler: str = ""
    profiled: str = ""
    pages: str = ""
    measured: tuple[str, ...] = ("",)
    quick: str = ""
    memory: str = ""
    methods: frozenset[str] = frozenset()
    left_out: Mapping[str, TensorcopyError] = field(default_factory=dict, compare=False)

    def requirements(self) -> list[str]:
        """Return the arguments of `pip install` for its packages, of which `sources` are folders.

        A suite with mem_ benchmarks gets pympler, which measures them, as from asv.
        """
        sources = (path for path in self.suites.rglob("*.py") if path.is_file()) if self.suites else ()  # an editor's lock is a link
        arguments = ["pympler"] if any(MEM.search(path.read_text(encoding="utf-8", errors="replace")) for path in sources) else []
        return [*arguments, *self.measured_packages()]

    def measured_packages(self) -> list[str]:
        """Return the requirements whose code its benchmarks run."""
        of_operations = [package for operation in self.operations for package in operation.requires]
        named = [package for package in self.requires if not package.startswith(".")]
        return [*of_operations, *named, *map(str, self.sources())]

    def sources(self) -> list[Path]:
        """Return the folders of the packages that are installed from their files."""
        return [(self.folder / package).resolve() for package in self.requires if package.startswith(".")]

    def variables(self) -> dict[str, str]:
        """Return the environment variables with which a process receives its operations."""
        return variables(self.operations)

    def steady(self) -> dict[str, str]:
        """Return the environment variables of a process that measures it, unless the caller sets them."""
        return {"OMP_NUM_THREADS": str(self.threads)} if self.threads else {}


def read(folder: Path, shipped: Campaign | None = None, methods: frozenset[str] = frozenset()) -> Campaign:
    """Return the campaign of a folder.

    shipped : to which a tensorcopy.toml without [project] and [suites] adds
    methods : names that no operation can have

    Raises TensorcopyError for an invalid tensorcopy.toml, and for a folder that declares no campaign where there is no shipped one. An
    invalid [[operation]] is left out.
    """
    path = folder / FILE
    document = _document(path) if files.is_there(path) else {}
    if others := set(document) - TABLES:
        raise _refused(", ".join(sorted(others)), "[[operation]] and [[acknowledged]] tables, [project], [suites] and [margin]")
    tables = {table: document[table] for table in FIELDS if table in document}
    if tables:
        own = folder / release_table.TABLE.name
        releases = release_table.load(*([own] if files.is_there(own) else []))
        made = _checked_project(tables, folder, releases)
    elif shipped:
        made = replace(shipped, folder=folder)
    else:
        raise TensorcopyError(f"{FILE} declares no project", got="no [project]", allowed="[project] with name", next=f"add it to {FILE}")
    operations, left_out = _operations(document, path, methods)
    return replace(made, operations=operations, methods=methods, left_out=left_out, rules=_rules(document, path, made.releases))


def _operations(
    document: Mapping[str, Any], path: Path, methods: Collection[str]
) -> tuple[tuple[Operation, ...], dict[str, TensorcopyError]]:
    """Return the operations that can be used, and by name why others cannot.

    methods : names that are in use otherwise
    """
    rows = document.get("operation", [])
    if not isinstance(rows, list):
        raise _refused(f"operation = {rows!r}", "[[operation]] tables")
    for row in rows:
        if not isinstance(row, dict):
            raise _refused(f"operation = {row!r}", "[[operation]] tables")
    declared, left_out = dict[str, Operation](), dict[str, TensorcopyError]()
    for number, row in enumerate(rows, 1):
        try:
            operation = _checked_operation(row, path)
            if operation.name in methods or operation.name in declared:
                raise _refused(f"the name of {'an earlier row' if operation.name in declared else 'another method'}", "a name of its own")
            declared[operation.name] = operation
        except TensorcopyError as error:
            name = str(row.get("name") or f"number {number}")
            name = f"{name} (row {number})" if name in {*declared, *left_out} else name
            left_out[name] = TensorcopyError(f"the operation {name} is left out", got=error.got, allowed=error.allowed, next=error.next)
    return tuple(declared.values()), left_out


def _document(path: Path) -> dict[str, Any]:
    try:
        return files.read_toml(path)
    except (OSError, ValueError) as error:
        raise _refused(str(error), "TOML") from error


def _checked_operation(row: Mapping[str, Any], path: Path) -> Operation:
    allowed = [field.name for field in fields(Operation) if field.name != "folder"]
    for name, value in row.items():
        is_list = name in ("imports", "requires", "sizes")
        expected = dict if name in ("promise", "inputs") else list if is_list else str
        if name not in allowed:
            raise _refused(name, ", ".join(allowed))
        if not isinstance(value, expected) or (name in ("imports", "requires") and not all(isinstance(item, str) for item in value)):
            raise _refused(f"{name} = {value!r}", {dict: "a table", list: "an array of strings", str: "a string"}[expected])
    for name in ("name", "code"):
        if not row.get(name):
            raise _refused(f"an operation without {name}", "a name and code")
    for name in ("name", "group"):
        if name in row and not NAME.fullmatch(row[name]):
            raise _refused(f"{name} = {row[name]!r}", "lowercase letters, digits and _, at most 40")
    if not VERSION.fullmatch(row.get("since", "1.9.0")):
        raise _refused(f"since = {row['since']!r}", "a release of torch, such as 2.1.0")
    if not all(map(PACKAGE.fullmatch, row.get("requires", ()))):
        raise _refused(f"requires = {row['requires']!r}", 'an array of packages, such as "einops==0.8"')
    for module in row.get("imports", ()):
        if not all(map(str.isidentifier, module.split("."))):
            raise _refused(f"imports {module!r}", "names of modules")
    if others := set(row.get("promise", {})) - {"plain", "with_grad"}:
        raise _refused(f"promise with {', '.join(sorted(others))}", "plain and with_grad")
    promised = StoredOutcome.__struct_fields__
    for kind, outcome in row.get("promise", {}).items():
        if not isinstance(outcome, dict) or set(outcome) - set(promised):
            raise _refused(f"promise.{kind} = {outcome!r}", f"a table with {', '.join(promised)}")
    if row.get("group") in TAKEN:
        raise _refused(f"group = {row['group']!r}", "a group that is not one of the registry's")
    if row.get("beside", BESIDE[0]) not in BESIDE:
        raise _refused(f"beside = {row['beside']!r}", " or ".join(BESIDE))
    if not all(map(_is_size, row.get("sizes", [1]))) or not row.get("sizes", [1]):
        raise _refused(f"sizes = {row['sizes']!r}", f"an array of numbers from 1 to {MAX_SIZE}")
    for name, values in row.get("inputs", {}).items():
        _check_input(name, values)
    _check_syntax(row)
    inputs = row.get("inputs") or ({"x": {}} if row.get("setup") or row.get("reference") else {})
    return replace(of_values({**row, "inputs": inputs}), folder=str(path.parent.resolve()))


def _check_syntax(row: Mapping[str, Any]) -> None:
    for name in ("code", "code_on_accelerator", "reference", "setup"):
        text = row.get(name, "")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # who runs the code is warned
                compile(text if name == "setup" else f"lambda: {text or None}", FILE, "exec" if name == "setup" else "eval")
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:  # of a null character, and of too many parts
            allowed = "statements of Python" if name == "setup" else "an expression of Python"
            raise _refused(f"{name} = {text!r}: {line_of(error)}", allowed) from error


def _check_input(name: str, row: Any) -> None:
    names = [field.name for field in fields(Input)]
    if not name.isidentifier() or iskeyword(name) or name in OF_THE_LOOP:
        raise _refused(f"the input {name!r}", f"names of Python, none of {', '.join(OF_THE_LOOP)}")
    if not isinstance(row, dict):
        raise _refused(f"inputs.{name} = {row!r}", '{ shape = ["n", 64] }')
    if set(row) - set(names):
        raise _refused(f"{', '.join(sorted(set(row) - set(names)))} in inputs.{name}", ", ".join(names))
    shape = row.get("shape", [SIZE])
    if not isinstance(shape, list) or not all(size == SIZE or _is_size(size) for size in shape):
        raise _refused(f"shape = {shape!r} in inputs.{name}", f'an array of "n" and of numbers from 1 to {MAX_SIZE}')
    for name_of_field, allowed in (("dtype", tuple(ITEMSIZE)), ("layout", tuple(LAYOUTS)), ("device", DEVICES)):
        if row.get(name_of_field, allowed[0]) not in allowed:
            raise _refused(f"{name_of_field} = {row[name_of_field]!r} in inputs.{name}", ", ".join(allowed))
    layout = row.get("layout", "contiguous")
    if len(shape) < LAYOUTS[layout] or (layout == "channels_last" and len(shape) != LAYOUTS[layout]):
        raise _refused(f"layout = {layout!r} of {len(shape)} dimensions in inputs.{name}", f"{LAYOUTS[layout]} dimensions")
    if not isinstance(row.get("requires_grad", False), bool):
        raise _refused(f"requires_grad = {row['requires_grad']!r} in inputs.{name}", "true or false")


def _is_size(value: object) -> bool:
    return type(value) is int and 0 < value <= MAX_SIZE


def _checked_project(tables: Mapping[str, Any], folder: Path, releases: ReleaseIndex) -> Campaign:
    for table, values in tables.items():
        allowed = ", ".join(FIELDS[table])
        if not isinstance(values, dict):
            raise _refused(f"{table} = {values!r}", f"a table [{table}] with {allowed}")
        for name, value in values.items():
            if name not in FIELDS[table]:
                raise _refused(f"{name} in [{table}]", allowed)
            if name == "requires":
                if not isinstance(value, list) or not all(isinstance(package, str) and PACKAGE.fullmatch(package) for package in value):
                    raise _refused(f"requires = {value!r}", 'an array of packages, such as "einops==0.8" or ".."')
            elif name == "threads":
                if type(value) is not int or not 0 <= value <= MOST_THREADS:
                    raise _refused(f"threads = {value!r}", f"a number from 0, torch's own, to {MOST_THREADS}")
            elif not isinstance(value, str) or not value.isprintable():
                raise _refused(f"{name} = {value!r} in [{table}]", "a text of one line")
    values, path = tables.get("project", {}), tables.get("suites", {}).get("path")
    name = values.get("name") or default_name(folder)
    title = values.get("title") or default_title(name)
    if not PROJECT_NAME.fullmatch(name):
        raise _refused(f"name = {name!r} in [project]", "letters, digits and . _ -, at most 40")
    if len(title) > LONGEST_TITLE:
        raise _refused(f"a title of {len(title)} characters", f"at most {LONGEST_TITLE}")
    if "suites" in tables and not path:
        raise _refused("[suites] without path", 'path = "benchmarks", the folder of an asv suite')
    threads = tables.get("suites", {}).get("threads", 1)
    requires = tuple(values.get("requires", ()))
    suites = (folder / path).resolve() if path else None
    if suites and not suites.is_dir():
        raise _refused(f"the path {suites.name} in [suites], which is no folder", "the folder of an asv suite, relative to tensorcopy.toml")
    if suites and not (suites / "__init__.py").is_file():
        raise _refused(f"the folder {suites.name} without __init__.py", "the folder of an asv suite, a package")
    own_table = folder / release_table.TABLE.name
    return Campaign(name, title, folder, releases, own_table, suites=suites, requires=requires, threads=threads)


def default_name(folder: Path) -> str:
    """Return the name of a project from that of its folder."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "", folder.name).lstrip("._-")[:40] or "project"


def default_title(name: str) -> str:
    """Return the title of a project that declares none."""
    return f"{name} over torch releases"


class _Acknowledged(Struct, frozen=True, forbid_unknown_fields=True):
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
    acknowledged: list[_Acknowledged] = []


def _rules(document: Mapping[str, Any], path: Path, releases: ReleaseIndex) -> VerdictRules:
    try:
        tables = msgspec.convert({name: document[name] for name in _Tables.__struct_fields__ if name in document}, _Tables)
        margins = tuple((re.compile(pattern), percent / 100) for pattern, percent in tables.margin.items())
        acknowledged = tuple((re.compile(row.case), releases.find(row.release).version, row.why) for row in tables.acknowledged)
    except (ValueError, re.error, RecursionError, OverflowError) as error:
        raise TensorcopyError(
            f"{path.name} is refused",
            got=str(error),
            allowed="[margin] with percents by regular expressions, and [[acknowledged]] with case, release and why",
            next=GUIDE,
        ) from error
    return VerdictRules(margins, acknowledged, tuple(release.version for release in releases))


def _refused(got: str, allowed: str) -> TensorcopyError:
    return TensorcopyError(f"{FILE} is refused", got=got, allowed=allowed, next=GUIDE)
