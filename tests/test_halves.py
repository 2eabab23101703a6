"""The two halves never import each other."""

from __future__ import annotations

import ast
import subprocess
import sys

from tests.conftest import ROOT

PACKAGE = ROOT / "tensorcopy"
TORCH_HALF = [
    "methods",
    "semantics",
    "devices",
    "article",
    "ledger",
    "memory",
    "instructions",
    "agreement",
    "checking",
    "curves",
    "timers",
    "trial",
]
BOTH = ["errors", "control", "figures", "multiples", "operations", "units"]
ASV_HALF = [
    "releases",
    "documents",
    "results",
    "merging",
    "compare",
    "history",
    "sides",
    "report",
    "evidence",
    "courses",
    "report_card",
    "environments",
    "interpreters",
    "observations",
    "wheels",
    "uv",
    "units",
    "passes",
    "floors",
    "verify",
    "progress",
    "server",
    "readme",
    "advice",
    "advising",
    "words",
    "site",
    "cli",
]


def named_in(path) -> set[str]:
    """Every module that a file imports anywhere, also inside a function."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names


def imported_by(*modules: str) -> set[str]:
    """The top-level modules that importing `modules` brings in, in a fresh interpreter."""
    code = f"import sys, {', '.join(modules)}; print(*{{name.split('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_torch_half_knows_no_asv():
    """Importing the registry and what observes it brings in no asv."""
    assert not {"asv", "asv_runner"} & imported_by(*(f"tensorcopy.{module}" for module in TORCH_HALF))


def test_the_asv_half_knows_no_torch():
    """What reads, judges and shows results runs where torch is not installed; and asv is imported by its plugin alone."""
    assert not {"torch", "asv"} & imported_by(*(f"tensorcopy.{module}" for module in ASV_HALF))


def test_the_package_itself_brings_in_neither():
    """`import tensorcopy` is free until one of its names is used."""
    assert not {"torch", "numpy", "asv", "asv_runner"} & imported_by("tensorcopy")


def test_no_file_of_one_half_names_a_module_of_the_other():
    """Not even inside a function. `errors` and `control` belong to both."""
    of_torch = {f"tensorcopy.{module}" for module in TORCH_HALF} | {"torch"}
    for path in PACKAGE.rglob("*.py"):
        named = named_in(path)
        if path.parent == PACKAGE and path.stem in TORCH_HALF:
            assert (
                not {name for name in named if name.startswith("tensorcopy.")}
                - of_torch
                - {"tensorcopy.errors", "tensorcopy.errors.TensorcopyError", "tensorcopy.control", "tensorcopy.__version__"}
                - {"tensorcopy.figures"}  # draws what either has measured
                - {"tensorcopy.operations"}  # is a file that either reads
                - {name for name in named if name.rsplit(".", 1)[0] in of_torch}
            ), path
        elif path.name != "__init__.py":
            assert not named & of_torch, path


def test_only_the_plugin_imports_asv():
    """One module per foreign thing."""
    for path in PACKAGE.rglob("*.py"):
        if path.parent.name != "asv_plugin":
            assert not {name for name in named_in(path) if name.split(".")[0] == "asv"}, path


def test_the_suites_know_the_torch_half_only():
    """And asv_runner's word for "not here"."""
    allowed = tuple(f"tensorcopy.{module}" for module in (*TORCH_HALF, *BOTH))
    for path in (ROOT / "benchmarks").glob("*.py"):
        ours = {name for name in named_in(path) if name and name.startswith("tensorcopy.")}
        assert all(name.startswith(allowed) or f"tensorcopy.{name.split('.')[-1]}" in allowed for name in ours), path
