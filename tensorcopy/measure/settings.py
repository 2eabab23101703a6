"""The values of options that several commands have, and of the environment variables of `asv run`, which has no such options."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable
from typing import TypeVar

from tensorcopy.errors import TensorcopyError
from tensorcopy.worker.devices import DEVICES

Value = TypeVar("Value")
MOST_LAUNCHES = 1000  # of a release
ENOUGH = 16  # launches where people wait for the answer: four decide what is clear, sixteen halve their intervals
LONGEST_NAME, LONGEST_FOLDER = 64, 200  # characters and bytes of a machine's name: file systems allow 255, and it may get a suffix


def variable(name: str, check: Callable[[str], Value], otherwise: Value) -> Value:
    """Return what an environment variable says that is an option of `asv run`, or else `otherwise`. Raises TensorcopyError."""
    text = os.environ.get(name)
    return checked(name, check, text) if text else otherwise


def checked(option: str, check: Callable[[str], Value], text: str) -> Value:
    """Return what one of the functions below makes of an option of asv, or a variable. Raises TensorcopyError for an invalid one."""
    try:
        return check(text)
    except argparse.ArgumentTypeError as error:
        got, _, allowed = str(error).removeprefix("got ").partition("; allowed: ")
        raise TensorcopyError(f"invalid {option}", got=got, allowed=allowed, next=f"correct {option}") from error


def duration(text: str) -> float:
    """Return the seconds of a duration such as 5h, 90m, 30s or 1h30m."""
    parts = re.fullmatch(r"(?:(\d{1,4})h)?(?:(\d{1,6})m)?(?:(\d{1,8})s)?", text, re.ASCII)
    seconds = sum(int(number or 0) * unit for number, unit in zip(parts.groups(), (3600, 60, 1))) if parts else 0
    if not seconds:
        raise argparse.ArgumentTypeError(f"got {text!r}; allowed: hours, minutes or seconds, such as 5h, 90m or 1h30m")
    return float(seconds)


def launch_count(text: str) -> int:
    """Return a number of launches."""
    if not re.fullmatch("[0-9]{1,6}", text) or not 1 <= int(text) <= MOST_LAUNCHES:
        raise argparse.ArgumentTypeError(f"got {text[:20]!r}; allowed: 1 to {MOST_LAUNCHES}")
    return int(text)


def device_name(text: str) -> str:
    """Return the name of a device unchanged."""
    if text not in DEVICES:
        raise argparse.ArgumentTypeError(f"got {text!r}; allowed: {', '.join(DEVICES)}")
    return text


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
        allowed = f"up to {LONGEST_NAME} letters, digits and . _ + - after a letter or digit"
        raise argparse.ArgumentTypeError(f"got {text[:LONGEST_NAME]!r}; allowed: {allowed}")
    return text
