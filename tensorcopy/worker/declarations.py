"""What tensorcopy.toml declares: the reader's own operations, and a project with a dashboard of its own operations or asv suites.

    [[operation]]
    name = "through_numpy"
    code = "mine.through_numpy(x)"
    imports = ["mine"]

    [project]
    name = "kernels"
    title = "Our kernels over torch releases"

    [suites]
    path = "benchmarks"
    threads = 1

A process in a release's environment receives the operations in the environment variable `VARIABLE`: an old Python has no TOML reader. A
project measures what its file declares, and none of the registry's methods.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from keyword import iskeyword
from pathlib import Path
from typing import Any

from tensorcopy.errors import TensorcopyError
from tensorcopy.worker import files
from tensorcopy.worker.devices import DEVICES

FILE = "tensorcopy.toml"
VARIABLE = "TENSORCOPY_OPERATIONS"  # the environment variable with all declarations as JSON
FOLDER = "TENSORCOPY_FOLDER"  # the environment variable with the folder of tensorcopy.toml, where it is not the current one
CHECKOUT = Path(__file__).resolve().parents[2]
BESIDE = ("copies", "conversions")
TAKEN = ("copy", "conversion", "primitive", "alternative", "transfer")
SIZES = (2**4, 2**7, 2**10)  # of an operation with inputs, which may have several dimensions
NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
VERSION = re.compile(r"\d{1,3}(\.\d{1,3}){1,2}")
GUIDE = "docs/own-operation.md has an example"
SIZE = "n"  # stands for the size of a case
INPUT_DTYPES = ("float32", "float16", "bfloat16", "float64", "complex64", "int64", "int32", "uint8", "bool")
INPUT_LAYOUTS = {"contiguous": 0, "transposed": 2, "strided": 1, "channels_last": 4}  # with the fewest dimensions that each needs
MAX_SIZE = 2**24  # of a size, and of a dimension
OF_THE_LOOP = ("calls", "perf_counter", "repeat", "start", "wait")  # names that the timed loop uses itself
FIELDS = {"project": ("name", "title", "requires"), "suites": ("path", "threads")}  # of the tables
TABLES = {"operation", *FIELDS, "margin", "acknowledged"}  # the last two are read by analysis.declared
PROJECT_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,39}", re.ASCII)
PACKAGE = re.compile(r"[A-Za-z0-9.]")  # begins a requirement, and no option of pip
MOST_THREADS = 1024
MEM = re.compile(r"^\s*(def mem_|class Mem[A-Z_]|def Mem[A-Z_])", re.MULTILINE)  # a benchmark that needs pympler
LONGEST_TITLE = 80  # characters: a heading of two lines on a phone


@dataclass(frozen=True)
class Input:
    """A tensor that an operation takes.

    shape : of numbers, and "n" for the size of the case
    layout : "transposed" are the last two dimensions, "strided" is every second element of the last one
    """

    shape: tuple[int | str, ...] = (SIZE,)
    dtype: str = "float32"
    layout: str = "contiguous"
    device: str = "cpu"
    requires_grad: bool = False


@dataclass(frozen=True)
class Operation:
    """A row of tensorcopy.toml.

    name : the key in results; append rows, never rename or reorder them
    code : the expression, of a tensor `x`
    imports : the modules that the code uses; found beside tensorcopy.toml, or installed
    group : a label for operations that belong together, such as their author's
    beside : the plot that includes it: "copies" or "conversions"
    code_on_accelerator : the expression where `x` is on an accelerator, if it differs
    since : the first torch release that the code runs with
    requires : packages to install into the environments of releases
    inputs : the tensors that it takes by name, where that is not x alone
    sizes : the values of "n" in their shapes
    setup : statements before the timed code, whose names it may use
    reference : an expression whose values it must have
    promise : its semantics, "plain" and "with_grad" with fields of `semantics.Outcome`; optional
    folder : the folder of tensorcopy.toml
    """

    name: str
    code: str
    imports: tuple[str, ...] = ()
    group: str = "own"
    beside: str = "copies"
    code_on_accelerator: str = ""
    since: str = "1.9.0"
    requires: tuple[str, ...] = ()
    inputs: Mapping[str, Input] = field(default_factory=dict)
    sizes: tuple[int, ...] = SIZES
    setup: str = ""
    reference: str = ""
    promise: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    folder: str = ""


@cache
def operations() -> tuple[Operation, ...]:
    """Return the operations of tensorcopy.toml in the current folder, or else in the checkout.

    Raises TensorcopyError for an invalid declaration.
    """
    if VARIABLE in os.environ:
        return tuple(Operation(**_values(row)) for row in json.loads(os.environ[VARIABLE]))
    paths = [path for path in (folder() / FILE, CHECKOUT / FILE) if path.is_file()]
    declared = tuple(operations_of_file(paths[0])) if paths else ()
    names = [operation.name for operation in declared]
    duplicates = [name for name in names if names.count(name) > 1]
    if duplicates:
        raise TensorcopyError("two operations have the same name", got=duplicates[0], allowed="distinct names", next=GUIDE)
    return declared


def folder() -> Path:
    """Return the folder whose tensorcopy.toml applies: the current one, unless the process that started this one named another."""
    return Path(os.environ.get(FOLDER) or Path.cwd())


@contextmanager
def in_folder(folder: Path) -> Iterator[None]:
    """Let the tensorcopy.toml of another folder apply."""
    earlier = os.environ.get(FOLDER)
    os.environ[FOLDER] = str(folder)
    operations.cache_clear()
    try:
        yield
    finally:
        del os.environ[FOLDER]
        if earlier is not None:
            os.environ[FOLDER] = earlier
        operations.cache_clear()


def variables() -> dict[str, str]:
    """Return the environment variables that hand the declarations to a process.

    Empty where no operation is declared.
    """
    return {VARIABLE: json.dumps([asdict(operation) for operation in operations()])} if operations() else {}


def operations_of_file(path: Path) -> Iterator[Operation]:
    """Yield the operations of a tensorcopy.toml. Raises TensorcopyError for an invalid one."""
    document = _document(path)
    rows = document.get("operation", [])
    if set(document) - TABLES or not isinstance(rows, list):
        raise _refused(", ".join(document), "[[operation]] and [[acknowledged]] tables, [project], [suites] and [margin]")
    for row in rows:
        if not isinstance(row, dict):
            raise _refused(f"operation = {row!r}", "[[operation]] tables")
        yield _checked_operation(row, path)


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
    for module in row.get("imports", ()):
        if not all(map(str.isidentifier, module.split("."))):
            raise _refused(f"imports {module!r}", "names of modules")
    if set(row.get("promise", {})) - {"plain", "with_grad"}:
        raise _refused(f"promise with {', '.join(row['promise'])}", "plain and with_grad")
    if row.get("group") in TAKEN:
        raise _refused(f"group = {row['group']!r}", "a group that is not one of the registry's")
    if row.get("beside", BESIDE[0]) not in BESIDE:
        raise _refused(f"beside = {row['beside']!r}", " or ".join(BESIDE))
    if not all(map(_is_size, row.get("sizes", [1]))) or not row.get("sizes", [1]):
        raise _refused(f"sizes = {row['sizes']!r}", f"an array of numbers from 1 to {MAX_SIZE}")
    for name, values in row.get("inputs", {}).items():
        _check_input(name, values)
    inputs = row.get("inputs") or ({"x": {}} if row.get("setup") or row.get("reference") else {})
    return Operation(**_values({**row, "inputs": inputs}), folder=str(path.parent.resolve()))


def _values(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of an operation's fields, from TOML or JSON."""
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
    inputs = {name: Input(**{**of, "shape": tuple(of.get("shape", (SIZE,)))}) for name, of in row.get("inputs", {}).items()}
    return {**values, "inputs": inputs}


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
    for name_of_field, allowed in (("dtype", INPUT_DTYPES), ("layout", tuple(INPUT_LAYOUTS)), ("device", DEVICES)):
        if row.get(name_of_field, allowed[0]) not in allowed:
            raise _refused(f"{name_of_field} = {row[name_of_field]!r} in inputs.{name}", ", ".join(allowed))
    layout = row.get("layout", "contiguous")
    if len(shape) < INPUT_LAYOUTS[layout] or (layout == "channels_last" and len(shape) != INPUT_LAYOUTS[layout]):
        raise _refused(f"layout = {layout!r} of {len(shape)} dimensions in inputs.{name}", f"{INPUT_LAYOUTS[layout]} dimensions")
    if not isinstance(row.get("requires_grad", False), bool):
        raise _refused(f"requires_grad = {row['requires_grad']!r} in inputs.{name}", "true or false")


def _is_size(value: object) -> bool:
    return type(value) is int and 0 < value <= MAX_SIZE


@dataclass(frozen=True)
class Project:
    """The project that the current folder declares.

    name : of asv's project, in the head of every page
    title : the heading of its landing page
    requires : packages for the environment of every release; one that begins with "." is the folder of a package
    suites : the folder of an asv suite of its own; None without one
    threads : of torch in its processes, since times with several depend on what else runs; 0 for as many as torch decides
    folder : the folder of tensorcopy.toml
    """

    name: str
    title: str
    requires: tuple[str, ...]
    suites: Path | None
    threads: int
    folder: Path

    def requirements(self) -> list[str]:
        """Return the arguments of `pip install` for its packages, of which `sources` are folders.

        A suite with mem_ benchmarks gets pympler, which measures them, as from asv.
        """
        sources = self.suites.rglob("*.py") if self.suites else ()
        arguments = ["pympler"] if any(MEM.search(path.read_text(encoding="utf-8", errors="replace")) for path in sources) else []
        return [*arguments, *(package for package in self.requires if not package.startswith(".")), *map(str, self.sources())]

    def sources(self) -> list[Path]:
        """Return the folders of the packages that are installed from their files."""
        return [(self.folder / package).resolve() for package in self.requires if package.startswith(".")]

    def variables(self) -> dict[str, str]:
        """Return the environment variables of a process that measures it, unless the caller sets them."""
        return {"OMP_NUM_THREADS": str(self.threads)} if self.threads else {}


def project() -> Project | None:
    """Return the project of the current folder's tensorcopy.toml; None without [project] and [suites].

    Raises TensorcopyError for an invalid declaration.
    """
    return project_in(folder())


@cache
def project_in(folder: Path) -> Project | None:
    """Return the project that a folder declares, as `project`."""
    path = folder / FILE
    document = _document(path) if path.is_file() else {}
    tables = {table: document[table] for table in FIELDS if table in document}
    return _checked_project(tables, folder) if tables else None


def _checked_project(tables: Mapping[str, Any], folder: Path) -> Project:
    for table, values in tables.items():
        allowed = ", ".join(FIELDS[table])
        if not isinstance(values, dict):
            raise _refused(f"{table} = {values!r}", f"a table [{table}] with {allowed}")
        for name, value in values.items():
            if name not in FIELDS[table]:
                raise _refused(f"{name} in [{table}]", allowed)
            if name == "requires":
                if not isinstance(value, list) or not all(isinstance(package, str) and PACKAGE.match(package) for package in value):
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
    return Project(name, title, requires, suites, threads, folder)


def default_name(folder: Path) -> str:
    """Return the name of a project from that of its folder."""
    return re.sub(r"[^\w.-]+|^[^A-Za-z0-9]+", "", folder.name, flags=re.ASCII)[:40] or "project"


def default_title(name: str) -> str:
    """Return the title of a project that declares none."""
    return f"{name} over torch releases"


def _refused(got: str, allowed: str) -> TensorcopyError:
    return TensorcopyError(f"{FILE} is refused", got=got, allowed=allowed, next=GUIDE)
