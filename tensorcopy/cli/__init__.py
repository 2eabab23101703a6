"""The command line: arguments, output and exit codes.

Exit code 0: done; 1: a check failed; 2: an error, printed in one line; 3: nothing could be compared; 130, 143 and 129: ended by SIGINT,
SIGTERM or SIGHUP; 141: its output was closed.
Modules here import what a command needs only when it runs.
"""

from __future__ import annotations

import argparse
import gc
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from tensorcopy import __version__
from tensorcopy.cli import ci, compare, init, local, measure, output
from tensorcopy.errors import TensorcopyError, of_os_error
from tensorcopy.worker.processes import installing

TRACEBACK = "TENSORCOPY_TRACEBACK"  # environment variable: show where a fault of the program arose

# what interrupted commands keep; the others write nothing, or nothing before their end
KEPT = dict.fromkeys(("measure", "dashboard", "ci"), "finished launches are kept, and the same command continues with the rest")


def main(
    arguments: Sequence[str] | None = None,
    report_start: Callable[..., object] = lambda *_: None,
    is_interrupted: Callable[[], object] = lambda: False,
) -> int:
    """Run one command and return its exit code.

    report_start : called before a command or a part of it runs, with what it keeps when it is interrupted and, unless it is that of the
        signal, with its exit code then; `tensorcopy.__main__` handles signals
    is_interrupted : whether a signal has come; an import may raise another exception in place of it, as numpy's does
    """
    with output.clean_streams():
        try:
            return _run(arguments, report_start)
        except Exception as error:
            code = None if is_interrupted() else ended(error)
            if code is None and (is_interrupted() or os.environ.get(TRACEBACK)):
                raise
            if code is None:
                got, following = f"{type(error).__name__}: {error}", f"{TRACEBACK}=1 shows where it arose; please report it"
                fault = TensorcopyError("a fault of tensorcopy", got=got, allowed="an error that names the input", next=following)
                code = output.print_errors([fault])
            return code


def _run(arguments: Sequence[str] | None, report_start: Callable[..., object]) -> int:
    program = parser()
    try:
        options = program.parse_args(arguments)
        options.report_start = report_start
        report_start(KEPT.get(options.verb, "nothing was written"))
        gc.set_threshold(200_000)  # results are many small values that stay: looking for garbage among them takes a tenth of `compare`
        return int(options.command(options) or 0)
    finally:
        output.flush()


def ended(error: Exception) -> int | None:
    """Print the line of an error that a command may raise, and return the exit code; None for a fault of the program."""
    if isinstance(error, BrokenPipeError):
        output.discard(sys.stdout)  # `| head` has read enough
        return 141
    shown = expected(error)
    return output.print_errors([*shown.earlier, shown]) if shown else None


def expected(error: Exception) -> TensorcopyError | None:
    """Return the error to print for an exception; None for a fault, such as a missing module of Python: no package would help."""
    if isinstance(error, TensorcopyError):
        return error
    if isinstance(error, OSError):
        what, allowed = "the operating system refused a file or a stream", "one that exists and can be written, on a disk with room"
        got = str(error) or type(error).__name__
        return of_os_error(error) or TensorcopyError(what, got=got, allowed=allowed, next="check the path and its permissions")
    ours = ("", "tensorcopy", *sys.stdlib_module_names)
    if not isinstance(error, ModuleNotFoundError) or (error.name or "").partition(".")[0] in ours:
        return None
    what, following = "this command needs a package that is not installed", installing('"tensorcopy[dashboard]"')
    return TensorcopyError(what, got=f"no {error.name}", allowed="advise, check and plot, which need no extra", next=following)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    about = "How do I copy a tensor? Measured on torch releases since 1.9, on CPU and CUDA."
    program = _Command(prog="tensorcopy", description=about, epilog="tensorcopy COMMAND --help explains a command.")
    program.add_argument("--version", action="version", version=f"tensorcopy {__version__}")
    program.set_defaults(command=lambda _: program.print_help())
    commands = program.add_subparsers(title="commands", dest="verb", metavar="COMMAND", parser_class=_Command)
    for module in (local, compare, measure, init, ci):
        module.add(commands)
    return program


class _Command(argparse.ArgumentParser):
    """A parser whose errors are lines as ours, and that refuses "--" as a value.

    Until Python 3.12, argparse gives an empty list in place of such a value, or the default.
    """

    def error(self, message: str) -> NoReturn:
        """Raise TensorcopyError, where argparse prints its usage."""
        parts = re.fullmatch(r"(.*?): (?:got|invalid choice:) (.*?)(?:; allowed: | \(choose from )(.*?)\)?", message, re.DOTALL)
        otherwise = "these arguments cannot be read", message, " ".join(self.format_usage().split()[1:])
        what, got, allowed = parts.groups() if parts else otherwise
        allowed = allowed.replace("'", "")  # of a choice, as Python 3.12 and later write it
        raise TensorcopyError(what, got=got, allowed=allowed, next=f"{self.prog} -h lists the arguments")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse what is left over in the command that it follows; argparse leaves that to the whole program."""
        found, left = super().parse_known_args(args, namespace)
        if left:
            self.error(f"unrecognized arguments: {' '.join(left)}")
        return found, left

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        if arg_strings == ["--"] and (action.nargs is None or action.option_strings):
            raise argparse.ArgumentError(action, "got '--'; allowed: a value, after -- that ends the options")
        return super()._get_values(action, arg_strings)
