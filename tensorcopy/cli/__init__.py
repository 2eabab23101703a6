"""The command line: arguments, printing, exit codes. 0 done; 1 it does not hold; 2 something could not be done, said in one line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from rich.console import Console

from tensorcopy import __version__
from tensorcopy.cli import ci, compare, docs, info, local, measure
from tensorcopy.errors import TensorcopyError

# what the extra brings, by the names they are imported under
DASHBOARD = (
    "asv",
    "asv_runner",
    "asv_tachyon",
    "griffe",
    "jinja2",
    "jsonschema",
    "markdown_it",
    "markupsafe",
    "mdit_py_plugins",
    "psutil",
    "pynvml",
    "scipy",
    "uv",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit code."""
    options = parser().parse_args(arguments)
    console = Console(highlight=False)
    try:
        return int(options.command(options, console))
    except TensorcopyError as error:
        print(f"tensorcopy: {error}", file=sys.stderr)
    except ModuleNotFoundError as error:
        print(f"tensorcopy: {missing(str(error.name))}", file=sys.stderr)
    except KeyboardInterrupt:
        print("tensorcopy: interrupted; what was finished is kept, the same command goes on with the rest", file=sys.stderr)
    return 2


def missing(module: str) -> TensorcopyError:
    """What to say where a package is not installed. Raises KeyError where it is none of ours to ask for: that is a fault of the program."""
    extra = {**dict.fromkeys(DASHBOARD, "dashboard"), "matplotlib": "plot"}[module.partition(".")[0]]
    return TensorcopyError(
        "this needs a package that is not installed",
        got=f"no {module}",
        allowed="advise, check and plot without any other",
        next=f'pip install "tensorcopy[{extra}]"',
    )


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    program = argparse.ArgumentParser(prog="tensorcopy", description="How do I copy a tensor? Measured on every torch release and device.")
    program.add_argument("--version", action="version", version=f"tensorcopy {__version__}")
    commands = program.add_subparsers(required=True, metavar="COMMAND")
    for family in (measure, compare, info, local, ci, docs):
        family.add(commands)
    return program
