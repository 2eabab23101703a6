"""Arguments that several commands share, and the campaign that they are about."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from os.path import relpath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensorcopy import files
from tensorcopy.measure.settings import machine_name
from tensorcopy.worker.devices import DEVICES

if TYPE_CHECKING:
    from tensorcopy.campaign import Campaign

MOST_ELEMENTS = 2**62  # of a tensor, as in files of results
FORMATS = ("text", "markdown", "json", "csv")


def add_command(commands: Any, name: str, text: str, act: Callable[[argparse.Namespace], int] | None = None) -> argparse.ArgumentParser:
    """Add a command to a parser, and return its own; its help begins with the sentence about it in the list of commands."""
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text, description=f"{text[:1].upper()}{text[1:]}.")
    parser.set_defaults(command=act)
    return parser


def add_results(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which results are meant."""
    named = "a folder in results; default: of those that have the newest release of the device, the one with most releases"
    parser.add_argument("--device", default="", choices=DEVICES, help="cases on this device; default: cpu where it was measured")
    parser.add_argument("--history", type=machine_name, metavar="NAME", help=named)


def line(text: str) -> str:
    """Return a text that can be written as UTF-8, in one line."""
    if any("\ud800" <= each <= "\udfff" or each < " " for each in text):
        raise argparse.ArgumentTypeError(f"got {text!a}; allowed: one line of UTF-8")
    return text


def share(text: str) -> float:
    """Return the share that a percentage is."""
    try:
        value = float(text.rstrip("% "))
    except ValueError:
        value = 0.0
    if not 0 < value <= 100:
        raise argparse.ArgumentTypeError(f"got {text!r}; allowed: more than 0, at most 100 percent")
    return value / 100


def numel(text: str) -> int:
    """Return a number of elements, written as 16384, 2**14, 2^14 or 1e6."""
    base, power, exponent = text.replace("^", "**").partition("**")
    try:
        number = int(base) ** int(exponent) if power and int(exponent) < 64 else float(text)
    except (ValueError, ArithmeticError):
        number = 0
    if not (text.isascii() and 1 <= number <= MOST_ELEMENTS and number == int(number)):
        raise argparse.ArgumentTypeError(f"got {text[:40]!r}; allowed: a whole number from 1 to 2**62, such as 16384, 2**14 or 1e6")
    return int(number)


def results_folder() -> Path:
    """Return the folder of launch files: that of asv.conf.json, or results/ in a folder without one.

    Raises TensorcopyError where there is neither; below the folder of a project, it names that.
    """
    from tensorcopy import configuration

    is_alone = files.is_there(Path("results")) and not files.is_there(Path(configuration.FILE))
    return Path("results" if is_alone else relpath(configuration.paths().results))


def campaign() -> Campaign:
    """Return the campaign of the current folder. Raises TensorcopyError for an invalid tensorcopy.toml."""
    from tensorcopy.copying.shipped import of_folder

    return of_folder(Path.cwd())
