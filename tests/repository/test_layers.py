"""Folders import only folders before them in the data flow; the engine does not know copying/, and only asv_plugin/ imports asv."""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterable
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.conftest import ROOT

PACKAGE = ROOT / "tensorcopy"
MODULES = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in PACKAGE.rglob("*.py")}
FOLDERS = sorted({path.parent.name for path in PACKAGE.glob("*/*.py")})
FLOORS = sorted([*FOLDERS, *(path.stem for path in PACKAGE.glob("[a-z]*.py"))])  # with the modules beside the folders, but for __main__
IN_ENVIRONMENTS = ("tensorcopy.worker.", "tensorcopy.copying.inside.")  # what runs there


@cache
def nodes(path: Path) -> list[ast.AST]:
    """Return every node of a module's syntax tree, without what only a type checker imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    tree.body = [node for node in tree.body if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")]
    return [*ast.walk(tree)]


@cache
def named_in(path: Path) -> frozenset[str]:
    """Return every module that a file imports, also inside a function."""
    return frozenset(named_by(nodes(path)))


def named_by(nodes: Iterable[ast.AST]) -> set[str]:
    """Return every module that some statements import."""
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names


def imported_modules(path: Path) -> set[str]:
    """Return the modules of this package that a file imports; of `from a import b` the submodule `a.b` if it exists."""
    named = named_in(path) & MODULES.keys()
    return {name for name in named if not any(longer.startswith(f"{name}.") for longer in named)}


def folder_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in FOLDERS else ""


def test_the_architecture_page_lists_the_folders_in_the_order_of_their_imports():
    """A folder, or a module beside them, imports only what stands before it; each has a place."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = [re.findall(r"`(\w+)(?:/|\.py)`", row) for row in re.findall(r"^\| (`[^|]*)\|", text, re.MULTILINE)]
    order = [floor for row in rows for floor in row if floor in FLOORS]
    assert sorted(order) == FLOORS
    floors = {module: [*module.split("."), ""][1] for module in MODULES}
    places = {module: order.index(floor) for module, floor in floors.items() if floor in order}
    assert {
        (module, name) for module in places for name in imported_modules(MODULES[module]) if places.get(name, -1) > places[module]
    } == set()


def test_a_name_is_that_of_one_class_and_of_one_module():
    """A reader who searches for a name finds one place; methods alone are judged, observed and shown."""
    modules = Counter(path.stem for path in MODULES.values() if path.stem != "__init__")
    classes = Counter(node.name for path in MODULES.values() for node in nodes(path) if isinstance(node, ast.ClassDef))
    assert {name for counts in (modules, classes) for name, count in counts.items() if count > 1} == {"methods"}


def test_the_modules_that_the_architecture_page_names_are_there():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = {f"tensorcopy.{name.replace('/', '.')}" for name in re.findall(r"`(\w+(?:/\w+)+)`", text)}
    assert len(named) > 10
    assert named - MODULES.keys() == set()


def test_no_module_imports_itself_through_others():
    TopologicalSorter({module: imported_modules(path) - {module} for module, path in MODULES.items()}).prepare()


@pytest.mark.parametrize(
    ("imported", "allowed"),
    [
        ("torch", {"worker", "copying"}),
        ("asv", {"asv_plugin"}),
        ("asv_runner", {"worker"}),  # which finds suites with it
        ("tensorcopy.copying", {"copying", "cli"}),  # the engine does not know what it measures; pages and probes are named by the campaign
    ],
)
def test_few_folders_import_what_is_foreign_to_the_others(imported, allowed):
    own = re.compile(rf"{re.escape(imported)}(\.|$)")
    assert {folder_of(module) for module, path in MODULES.items() if any(map(own.match, named_in(path)))} == allowed


def test_one_module_of_the_site_imports_results_and_judge():
    """`facts` has what pages show of them; `build` reads the folder."""
    importing = {
        module.split(".")[-1]: folders
        for module, path in MODULES.items()
        if folder_of(module) == "site" and (folders := {*map(folder_of, imported_modules(path))} & {"results", "judge"})
    }
    assert importing == {"facts": {"results", "judge"}, "build": {"results"}}


def test_the_judge_reads_no_file():
    """What it judges, with which margins and which acknowledgements, is passed in."""
    readers = re.compile(r"(?<!def )(?<![\w.])open\(|read_text|read_bytes|read_toml|load_results|\.cwd\(|\benviron\b")
    assert {path.name for module, path in MODULES.items() if folder_of(module) == "judge" and readers.search(path.read_text())} == set()


def test_only_what_runs_in_an_environment_names_modules_that_need_torch():
    """Also inside a function: the program runs where no torch is, and starts the others in a release's environment."""
    at_once = {module: named_by(nodes(path)[0].body) for module, path in MODULES.items() if module.startswith(IN_ENVIRONMENTS)}
    needing: set[str] = set()
    while more := {module for module, names in at_once.items() if names & {"torch", *needing}} - needing:
        needing |= more
    assert {"tensorcopy.worker.provenance", "tensorcopy.copying.inside.methods"} <= needing
    assert {module for module, path in MODULES.items() if not module.startswith(IN_ENVIRONMENTS) and named_in(path) & needing} == set()


def test_what_runs_in_an_environment_imports_nothing_else():
    """Of this package, errors and files beside what runs there; of others, what every environment has."""
    own = {"tensorcopy", "tensorcopy.copying", "tensorcopy.errors", "tensorcopy.files"}
    paths = [path for module, path in MODULES.items() if module.startswith(IN_ENVIRONMENTS) or module in own]
    importing = {}
    for path in (*paths, *(ROOT / "benchmarks").glob("*.py")):
        of_package = {name for name in named_in(path) & MODULES.keys() if not f"{name}.".startswith(IN_ENVIRONMENTS)}
        others = {name.partition(".")[0] for name in named_in(path)} - sys.stdlib_module_names
        importing[path.name] = (of_package - own) | (others - {"tensorcopy", "cases", "torch", "numpy", "asv_runner", "pynvml", "tomli"})
    assert {name: names for name, names in importing.items() if names} == {}
