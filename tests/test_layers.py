"""Folders import only folders before them in the data flow; torch stays in worker/, asv in asv_plugin/."""

from __future__ import annotations

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.conftest import ROOT

PACKAGE = ROOT / "tensorcopy"
MODULES = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in PACKAGE.rglob("*.py")}
FOLDERS = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))


def named_in(path: Path) -> set[str]:
    """Every module that a file imports anywhere, also inside a function."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names


def imported_modules(path: Path) -> set[str]:
    """The modules of this package that a file imports; of `from a import b` the submodule where there is one."""
    named = named_in(path) & MODULES.keys()
    return {name for name in named if not any(other.startswith(f"{name}.") for other in named)}


def folder_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in FOLDERS else ""


def folder_imports() -> dict[str, set[str]]:
    """For each folder, the other folders that its modules import."""
    imports: dict[str, set[str]] = {folder: set() for folder in FOLDERS}
    for module, path in MODULES.items():
        if folder_of(module):
            imports[folder_of(module)] |= {folder_of(name) for name in imported_modules(path)} - {"", folder_of(module)}
    return imports


def imported_at_runtime(*modules: str) -> set[str]:
    """The top-level modules that importing `modules` loads in a fresh interpreter."""
    code = f"import sys, {', '.join(modules)}; print(*{{name.split('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def modules_of(*folders: str) -> list[str]:
    return sorted(module for module in MODULES if folder_of(module) in folders and not module.endswith("__main__"))


def test_folders_have_an_order():
    """An upward import closes a circle, and graphlib names it."""
    TopologicalSorter(folder_imports()).prepare()


def test_modules_have_an_order():
    """No module imports itself by way of others."""
    TopologicalSorter({module: imported_modules(path) - {module} for module, path in MODULES.items()}).prepare()


def test_importing_the_package_imports_neither_torch_nor_asv():
    """`import tensorcopy` is free until one of its names is used."""
    assert not {"torch", "numpy", "asv", "asv_runner"} & imported_at_runtime("tensorcopy")


def test_the_worker_runs_without_asv():
    """It runs in a release's environment, where only torch, numpy and asv_runner are installed."""
    assert not {"asv", "rich", "jsonschema"} & imported_at_runtime(*modules_of("worker"))


def test_everything_else_runs_without_torch():
    """Results are read, judged and shown where torch is not installed."""
    others = [folder for folder in FOLDERS if folder != "worker"]
    without_extra = [module for module in modules_of(*others) if module not in ("tensorcopy.ci.github", "tensorcopy.ci.github")]
    assert "torch" not in imported_at_runtime(*without_extra)


@pytest.mark.parametrize(("package", "folder"), [("torch", "worker"), ("asv", "asv_plugin"), ("asv_runner", "asv_plugin")])
def test_one_folder_imports_each_foreign_package(package, folder):
    """torch in worker/, asv in asv_plugin/; the worker also asks asv_runner how it discovers a suite."""
    allowed = {folder, "worker"} if package == "asv_runner" else {folder}
    importing = {folder_of(module) for module, path in MODULES.items() if package in {name.split(".")[0] for name in named_in(path)}}
    assert importing <= allowed


def test_the_suites_import_the_worker_only():
    """A suite runs where the worker runs."""
    for path in (ROOT / "benchmarks").glob("*.py"):
        ours = {name for name in named_in(path) if name.startswith("tensorcopy")}
        assert all(name.startswith(("tensorcopy.worker", "tensorcopy.errors")) for name in ours), path
