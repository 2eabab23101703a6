"""Argument types, progress bars and error lines that several commands share."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tensorcopy.errors import TensorcopyError

if TYPE_CHECKING:
    from rich.console import Console

    from tensorcopy.measure.progress import Progress

RESULTS = Path("results")


@contextmanager
def progress_bar(console: Console | None = None) -> Iterator[Callable[[Progress], None]]:
    """Yield a function that shows progress.

    It draws a bar on a terminal and prints one line per step elsewhere.

    console : stderr by default
    """
    from rich import progress as bars
    from rich.console import Console

    console = console or Console(stderr=True, highlight=False)

    columns = bars.TextColumn("{task.description}"), bars.BarColumn(), bars.TextColumn("{task.percentage:>3.0f} %  {task.fields[left]}")
    with bars.Progress(*columns, console=console) as bar:
        task = bar.add_task("starting", total=1.0, left="")
        printed = set()

        def report_progress(progress: Progress) -> None:
            bar.update(task, description=progress.doing, completed=progress.done, left=_time_left(progress.remaining))
            step = progress.doing.split(":")[0]
            if not console.is_terminal and step not in printed:
                printed.add(step)
                left = _time_left(progress.remaining)
                console.print(f"{step} ({left})" if left else step)

        yield report_progress


@contextmanager
def share_bar(title: str = "") -> Iterator[Callable[[float, str], None]]:
    """Yield a function that shows progress on stderr.

    It takes the finished share (0 to 1) and the present step.

    title : printed before each step
    """
    from tensorcopy.measure.progress import Progress

    with progress_bar() as report_progress:
        yield lambda share, step: report_progress(Progress(f"{title}: {step}" if title else step, share, 0.0))


def _time_left(seconds: float) -> str:
    if seconds == 0:
        return ""
    if seconds >= 90:
        return f"about {round(seconds / 60)} min left"
    return f"about {max(5, round(seconds / 5) * 5)} s left"


def add_strict(command: argparse.ArgumentParser) -> None:
    """Add the option --strict."""
    text = "exit with 2 if a result file that could have taken part cannot be read; in CI always"
    command.add_argument("--strict", action="store_true", help=text)


def incomplete(problems: Sequence[TensorcopyError], strict: bool) -> bool:
    """Print each problem, and return whether the command fails because of them.

    strict : as the user asked for it; in CI always
    """
    print_errors(problems)
    return bool(problems) and (strict or os.environ.get("CI", "").lower() not in ("", "0", "false"))


def print_errors(errors: Sequence[TensorcopyError]) -> None:
    """Print each error to stderr, one per line."""
    for error in errors:
        print(f"tensorcopy: {error}", file=sys.stderr)


def print_warnings(warnings: Sequence[TensorcopyError]) -> None:
    """Print each warning to stderr, one per line; they do not change the exit code."""
    for warning in warnings:
        print(f"tensorcopy: warning: {warning}", file=sys.stderr)


def expression(text: str) -> str:
    """Return a valid regular expression unchanged."""
    try:
        re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"got {text!r}: {error}; allowed: a regular expression") from error
    return text


def positive(text: str) -> int:
    """Return a count of one or more."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"got {number}; allowed: 1 or more")
    return number
