"""The command line: arguments, output and exit codes.

Exit code 0: done; 1: a check failed; 2: an error, printed in one line. Modules here import what a command needs only when it runs.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Sequence

from tensorcopy import __version__
from tensorcopy.cli import ci, compare, confirm, docs, info, local, measure, verify, why
from tensorcopy.errors import TensorcopyError

# the packages of the extra, by import name: a missing package has no metadata that could be read instead
DASHBOARD = (
    "asv",
    "asv_runner",
    "asv_tachyon",
    "fastjsonschema",
    "filelock",
    "griffe",
    "jinja2",
    "markdown_it",
    "markupsafe",
    "mdit_py_plugins",
    "psutil",
    "pynvml",
    "rjsmin",
    "scipy",
    "tomlkit",
    "uplot-python",  # read, never imported
    "uv",
)
INSTALL = {
    **dict.fromkeys(DASHBOARD, 'pip install "tensorcopy[dashboard]"'),
    "matplotlib": 'pip install "tensorcopy[plot]"',
    "github": "uv run --group github tensorcopy …, in a checkout",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    options = parser().parse_args(arguments)
    gc.set_threshold(200_000)  # results are many small values that stay: looking for garbage among them takes a tenth of `compare`
    try:
        from rich.console import Console

        return int(options.command(options, Console(highlight=False)))
    except TensorcopyError as error:
        print(f"tensorcopy: {error}", file=sys.stderr)
    except ModuleNotFoundError as error:
        print(f"tensorcopy: {missing(error)}", file=sys.stderr)
    except KeyboardInterrupt:
        print("tensorcopy: interrupted; finished work is kept, and the same command continues with the rest", file=sys.stderr)
    return 2


def missing(error: ModuleNotFoundError) -> TensorcopyError:
    """Return the error to print for a package that is not installed.

    Re-raises `error` if the missing module belongs to tensorcopy or to Python.
    """
    module = error.name or ""
    package = module.partition(".")[0]
    if package in ("", "tensorcopy", *sys.stdlib_module_names):
        raise error  # a fault of the program or of this Python: no package would help
    return TensorcopyError(
        "this command needs a package that is not installed",
        got=f"no {module}",
        allowed="advise, check and plot, which need no extra" if package in INSTALL else "the packages that tensorcopy depends on",
        next=INSTALL.get(package, f"pip install {package}"),
    )


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    program = argparse.ArgumentParser(prog="tensorcopy", description="How do I copy a tensor? Measured on every torch release and device.")
    program.add_argument("--version", action="version", version=f"tensorcopy {__version__}")
    commands = program.add_subparsers(required=True, metavar="COMMAND")
    for module in (measure, confirm, verify, compare, why, info, local, ci, docs):
        module.add(commands)
    return program
