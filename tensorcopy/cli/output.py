"""Streams and consoles that show text of any result, on any terminal; progress bars and error lines.

Control characters are escaped, the output is UTF-8 in any locale, and markup in data stays text.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO

from tensorcopy.errors import TensorcopyError

if TYPE_CHECKING:
    from rich.console import Console

    from tensorcopy.report.table import Report
    from tensorcopy.worker.processes import ReportProgress

CONTROLS = ("Cc", "Cf", "Cs", "Zl", "Zp")  # categories of characters that can change what a terminal shows elsewhere
NARROWEST = 20  # columns


class CleanStream:
    """A text stream that escapes control characters, and otherwise is the one that it wraps."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        return self.stream.write(visible(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def visible(text: str) -> str:
    r"""Return text whose control characters are escaped as in JSON: \u001b. Line ends and tabs are kept."""
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    kept = [character in "\n\t" or unicodedata.category(character) not in CONTROLS for character in text]
    return "".join(character if is_kept else json.dumps(character)[1:-1] for character, is_kept in zip(text, kept))


@contextmanager
def clean_streams() -> Iterator[None]:
    """Make stdout and stderr streams that take any text, in UTF-8 whatever the locale.

    A stream that the caller has closed becomes one that leads nowhere: otherwise the next file opened would take its place.
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # its number is the lowest free one, which the next file gets
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w", encoding="utf-8"))  # noqa: PTH123, SIM115 - for the whole run
    before = sys.stdout, sys.stderr
    for stream in before:
        with suppress(AttributeError, OSError, ValueError):
            stream.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    sys.stdout, sys.stderr = (stream if isinstance(stream, CleanStream) else CleanStream(stream) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def console(*, stderr: bool = False) -> Console:
    """Return a rich console on stdout or stderr, to which all text is data: neither markup nor emoji."""
    from rich.console import Console
    from rich.segment import Segment

    from tensorcopy.report.table import PIPED

    class CleanConsole(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # `main` ends the program

        def render(self, *arguments: Any) -> Iterator[Segment]:
            for segment in super().render(*arguments):
                yield segment if segment.control else Segment(visible(segment.text), segment.style)

    stream = sys.stderr if stderr else sys.stdout
    stream = stream.stream if isinstance(stream, CleanStream) else stream  # rich's own sequences must arrive
    fallback = 80 if stream.isatty() else PIPED, 24  # what is piped is not folded, so that code stays in one piece
    width = min(max(shutil.get_terminal_size(fallback).columns, NARROWEST), PIPED)
    return CleanConsole(file=stream, stderr=stderr, highlight=False, markup=False, emoji=False, width=width, soft_wrap=width == PIPED)


def show(report: Report, form: str = "text", *, everything: bool = False) -> None:
    """Print a report in a format."""
    from tensorcopy.report import table

    if form != "text":
        sys.stdout.write(table.FORMATS[form](report))
        return
    to = console()
    for line in table.terminal(report, to.width, everything=everything):
        to.print(line, soft_wrap=True)


def flush() -> None:
    """Write what is buffered. Raises OSError; nothing is then left for Python to write at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        discard(sys.stdout)
        raise


def discard(stream: TextIO) -> None:
    """Lead a stream nowhere from now on: what is buffered, too."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def print_line(text: str) -> None:
    r"""Print a line to stderr, with line ends in the text as \n. Where stderr cannot be written, it is lost."""
    try:
        print(visible("\\n".join(f"tensorcopy: {text}".splitlines()).replace("\t", " ")), file=sys.stderr, flush=True)
    except OSError:
        discard(sys.stderr)


def print_errors(errors: Iterable[TensorcopyError]) -> int:
    """Print each error to stderr, one per line, and return the exit code: 2, or 0 where there is none."""
    lines = [*map(str, errors)]
    for line in lines:
        print_line(line)
    return 2 if lines else 0


@contextmanager
def progress_bar(drawn_on: Console | None = None) -> Iterator[ReportProgress]:
    """Yield a function that shows progress: a bar on a terminal, a line for each step elsewhere; drawn_on : stderr by default."""
    from rich import progress as bars

    drawn_on = drawn_on or console(stderr=True)
    columns = (
        bars.TextColumn("{task.description}", markup=False),
        bars.BarColumn(),
        bars.TextColumn("{task.percentage:>3.0f} %"),
        bars.TimeRemainingColumn(),
    )
    bar, printed = bars.Progress(*columns, console=drawn_on), set[str]()
    task = bar.add_task("", total=1.0)

    def report_progress(done: float, doing: str) -> None:
        bar.start()  # what is refused before has no bar
        bar.update(task, description=doing, completed=done)
        step = doing.partition(":")[0]
        if not drawn_on.is_terminal and step not in printed:
            printed.add(step)
            drawn_on.print(step, soft_wrap=True)

    try:
        yield report_progress
        bar.update(task, completed=1.0)
    finally:
        if printed or drawn_on.is_terminal:
            bar.stop()
