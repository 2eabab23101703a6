"""Settings of a measuring run: options of `tensorcopy measure`, and environment variables for `asv run`, which has no such options."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable
from functools import partial
from math import inf
from typing import Any

from tensorcopy.errors import TensorcopyError
from tensorcopy.worker.devices import DEVICES

NEEDS = "TENSORCOPY_NEEDS"  # environment variable, which the workflow sets on a machine with a GPU
MOST_LAUNCHES = 1000  # of a release
ENOUGH = 16  # launches where people wait for the answer: four decide what is clear, sixteen halve their intervals
LAST_PORT = 65535
LONGEST_NAME, LONGEST_FOLDER = 64, 200  # characters and bytes of a machine's name: file systems allow 255, and it may get a suffix


def duration(text: str) -> float:
    """Return the seconds of a duration such as 5h, 90m, 30s or 1h30m."""
    parts = re.fullmatch(r"(?:(\d{1,4})h)?(?:(\d{1,6})m)?(?:(\d{1,8})s)?", text, re.ASCII)
    seconds = sum(int(number or 0) * unit for number, unit in zip(parts.groups(), (3600, 60, 1))) if parts else 0
    if not seconds:
        raise argparse.ArgumentTypeError(f"got {text!r}; allowed: hours, minutes or seconds, such as 5h, 90m or 1h30m")
    return float(seconds)


def _whole(text: str, least: int, most: float, allowed: str) -> int:
    """Return a whole number from `least` to `most`."""
    if not re.fullmatch("[0-9]{1,6}", text) or not least <= int(text) <= most:
        raise argparse.ArgumentTypeError(f"got {text[:20]!r}; allowed: {allowed}")
    return int(text)


launch_count = partial(_whole, least=1, most=MOST_LAUNCHES, allowed=f"1 to {MOST_LAUNCHES}")
port = partial(_whole, least=1, most=LAST_PORT, allowed=f"1 to {LAST_PORT}, or no --port for the next free one")


def expression(text: str) -> str:
    """Return a valid regular expression as it can be a part of another: (?i)a as (?i:a)."""
    try:
        re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"got {text!r}: {error}; allowed: a regular expression") from error
    return re.sub(r"^\(\?([aimsux]+)\)(.*)", r"(?\1:\2)", text, flags=re.DOTALL)


def machine_name(text: str) -> str:
    """Return a valid name of a machine unchanged: it becomes a folder of the results."""
    if not re.fullmatch(rf"\w[\w.+-]{{0,{LONGEST_NAME - 1}}}", text) or text.endswith(".") or len(text.encode()) > LONGEST_FOLDER:
        raise argparse.ArgumentTypeError(
            f"got {text[:LONGEST_NAME]!r}; allowed: up to {LONGEST_NAME} letters, digits and . _ + - after a letter or digit"
        )
    return text


def add(parser: argparse.ArgumentParser, launches: str | None = None) -> None:
    """Add the options to a parser. The environment variable of --for is TENSORCOPY_FOR, and so on.

    launches : that each release has by default; None for more than there are
    """

    def option(name: str, default: str | None = None, **kinds: Any) -> None:
        parser.add_argument(f"--{name}", default=os.environ.get(f"TENSORCOPY_{name.upper()}") or default, **kinds)

    option("launches", launches, type=launch_count, metavar="N", help=f"launches per release; default: {launches}")
    option("device", choices=DEVICES, help="only cases on this device; exit 2 if it is missing or fails; default: all")
    option(
        "parallel",
        type=launch_count,
        metavar="N",
        help="take N launches at a time, each on another core; default: half of the cores, as far as memory suffices, and one on a device",
    )
    option("for", type=duration, dest="budget", metavar="TIME", help="begin no launch after this time, such as 5h or 1h30m, and exit 0")


def from_environment() -> argparse.Namespace:
    """Return the settings that environment variables give. Raises TensorcopyError for an invalid one."""
    parser = argparse.ArgumentParser(exit_on_error=False)
    add(parser)
    try:
        settings = parser.parse_args([])
        if settings.device not in (None, *DEVICES):  # argparse does not check a default
            raise argparse.ArgumentTypeError(f"argument --device: got {settings.device!r}; allowed: {', '.join(DEVICES)}")
    except (argparse.ArgumentError, argparse.ArgumentTypeError) as error:
        name, _, text = str(error).removeprefix("argument --").partition(": ")
        variable = f"TENSORCOPY_{name.upper()}"
        raise _invalid(variable, text, f"unset {variable}, or set it anew") from error
    settings.budget = settings.budget or inf
    return settings


def needs(device: str | None) -> str:
    """Return the device that every torch must be able to use: the one that `NEEDS` names, or that of the cases. Raises TensorcopyError."""
    named = os.environ.get(NEEDS) or device or ""
    if named not in ("", *DEVICES):
        raise _invalid(NEEDS, f"got {named!r}; allowed: {', '.join(DEVICES)}", f"unset {NEEDS}, or set it anew")
    return named


def checked(option: str, check: Callable[[str], str], text: str) -> str:
    """Return what one of the functions above makes of an option of asv. Raises TensorcopyError for an invalid one."""
    try:
        return check(text)
    except argparse.ArgumentTypeError as error:
        raise _invalid(option, str(error), f"correct {option}") from error


def _invalid(name: str, text: str, next: str) -> TensorcopyError:
    """Return the error of a setting; text : that argparse shows."""
    got, _, allowed = text.removeprefix("got ").partition("; allowed: ")
    return TensorcopyError(f"invalid {name}", got=got, allowed=allowed, next=next)
