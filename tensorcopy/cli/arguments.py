"""Argument types, progress bars and error lines that several commands share."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tensorcopy.cli import output
from tensorcopy.errors import TensorcopyError

if TYPE_CHECKING:
    from rich.console import Console

    from tensorcopy.measure.plan import Shard
    from tensorcopy.measure.run_passes import Progress

RESULTS = Path("results")
MACHINE = "a machine in results; default: the last that measured what the command needs"
MOST_PASSES = 1000  # of a release: a file has all of them, and is read as a whole
LONGEST_NAME, LONGEST_FOLDER = 64, 200  # characters and bytes of a machine's name: file systems allow 255, and it may get a suffix


@contextmanager
def progress_bar(console: Console | None = None) -> Iterator[Callable[[Progress], None]]:
    """Yield a function that shows progress.

    It draws a bar on a terminal and prints one line per step elsewhere.

    console : stderr by default
    """
    from rich import progress as bars

    from tensorcopy.results.writing import WAITING

    console = console or output.console(stderr=True)

    description = bars.TextColumn("{task.description}", markup=False)
    columns = description, bars.BarColumn(), bars.TextColumn("{task.percentage:>3.0f} %  {task.fields[left]}")
    with bars.Progress(*columns, console=console) as bar:
        task = bar.add_task("starting", total=1.0, left="")
        printed = set()

        def report_progress(progress: Progress) -> None:
            bar.update(task, description=progress.doing, completed=progress.done, left=_time_left(progress.remaining))
            step = progress.doing if WAITING in progress.doing else progress.doing.split(":")[0]
            if not console.is_terminal and step not in printed:
                printed.add(step)
                left = _time_left(progress.remaining)
                console.print(f"{step} ({left})" if left else step)

        yield report_progress
        bar.update(task, completed=1.0, left="")


@contextmanager
def share_bar(title: str = "") -> Iterator[Callable[[float, str], None]]:
    """Yield a function that shows progress on stderr.

    It takes the finished share (0 to 1) and the present step.

    title : printed before each step
    """
    from tensorcopy.measure.run_passes import Progress

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
    text = "exit with 2 if a needed result file cannot be read; always so in CI"
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
        output.print_line(str(error))


def print_warnings(warnings: Sequence[TensorcopyError]) -> None:
    """Print each warning to stderr, one per line; they do not change the exit code."""
    for warning in warnings:
        output.print_line(f"warning: {warning}")


def expression(text: str) -> str:
    """Return a valid regular expression unchanged."""
    try:
        re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"got {text!r}: {error}; allowed: a regular expression") from error
    return text


def duration(text: str) -> float:
    """Return the seconds of a duration such as 5h, 90m, 30s or 1h30m."""
    parts = re.fullmatch(r"(?:(\d{1,4})h)?(?:(\d{1,6})m)?(?:(\d{1,8})s)?", text, re.ASCII)
    seconds = sum(int(number or 0) * unit for number, unit in zip(parts.groups(), (3600, 60, 1))) if parts else 0
    if not seconds:
        raise argparse.ArgumentTypeError(f"got {text!r}; allowed: hours, minutes or seconds, such as 5h, 90m or 1h30m")
    return float(seconds)


def machine_name(text: str) -> str:
    """Return a valid name of a machine unchanged: it becomes a folder of the results."""
    if not re.fullmatch(rf"\w[\w.+-]{{0,{LONGEST_NAME - 1}}}", text) or text.endswith(".") or len(text.encode()) > LONGEST_FOLDER:
        raise argparse.ArgumentTypeError(
            f"got {text[:LONGEST_NAME]!r}; allowed: up to {LONGEST_NAME} letters, digits and . _ + - after a letter or digit"
        )
    return text


def pass_count(text: str, fewest: int = 1) -> int:
    """Return a number of passes."""
    if not re.fullmatch("[0-9]{1,6}", text) or not fewest <= int(text) <= MOST_PASSES:
        raise argparse.ArgumentTypeError(f"got {text[:LONGEST_NAME]!r}; allowed: {fewest} to {MOST_PASSES}")
    return int(text)


def two_or_more(text: str) -> int:
    """Return a number of environments."""
    number = int(text)
    if number < 2:
        raise argparse.ArgumentTypeError(f"got {number}; allowed: 2 or more, the newest release and another")
    return number


def shard(text: str) -> Shard:
    """Return a part of a sharded run."""
    number, slash, of = text.partition("/")
    if not (slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise argparse.ArgumentTypeError(f"got {text!r}; allowed: 1/5 to 5/5 for five machines")
    from tensorcopy.measure.plan import Shard

    return Shard(int(number), int(of))
