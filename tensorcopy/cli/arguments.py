"""What the commands have in common: where results lie, a bar, how an error is said, what an argument may be."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import progress

RESULTS = Path("results")


@contextmanager
def bar(console: Console) -> Iterator[Callable[[progress.Progress], None]]:
    """A function to tell how far a job is: a bar on a terminal, a line for each step elsewhere."""
    with Progress(
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %  {task.fields[left]}"), console=console
    ) as bar:
        task = bar.add_task("starting", total=1.0, left="")
        said = set()

        def tell(now: progress.Progress) -> None:
            bar.update(task, description=now.doing, completed=now.done, left=_left(now.remaining))
            doing = now.doing.split(":")[0]
            if not console.is_terminal and doing not in said:
                said.add(doing)
                left = _left(now.remaining)
                console.print(f"{doing} ({left})" if left else doing)

        yield tell


def _left(seconds: float) -> str:
    if seconds == 0:
        return ""
    if seconds >= 90:
        return f"about {round(seconds / 60)} min left"
    return f"about {max(5, round(seconds / 5) * 5)} s left"


def say(problems: Sequence[TensorcopyError]) -> None:
    """Each error on a line of its own."""
    for problem in problems:
        print(f"tensorcopy: {problem}", file=sys.stderr)


def expression(text: str) -> str:
    """A regular expression, as it was typed."""
    try:
        re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"got {text!r}: {error}; allowed: a regular expression") from error
    return text


def positive(text: str) -> int:
    """A count of one or more."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"got {number}; allowed: 1 or more")
    return number
