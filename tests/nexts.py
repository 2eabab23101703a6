"""What an error tells to do next can be typed: each command in it is one that its program takes.

`tests/conftest.py` asks it of every error that a test meets.
"""

import argparse
import re
import shlex
import subprocess
from collections.abc import Sequence
from contextlib import redirect_stdout
from functools import cache

from tensorcopy import cli
from tensorcopy.errors import TensorcopyError

OTHERS = {"-c", "-m", "-p", "-ld", "--tool"}  # options of python, mkdir, ls and valgrind
PROSE = "have|in|lists|of|prints|shows|to|where|which|writes"  # words that end a command


@cache
def faults(text: str) -> list[str]:
    """Return what of a next cannot be typed."""
    lines = commands(text)
    found = [f"{shlex.join(line)}: {why}" for line in lines if (why := refused(line))]
    options = {*re.findall(r"(?<!\S)--?[a-z][\w-]*", text)} - OTHERS - {word for line in lines for word in line}
    for program in ("tensorcopy", "asv"):
        options -= options and options_of(program)
    return found + [f"{text}: no {option}" for option in sorted(options)]


def commands(text: str) -> list[list[str]]:
    """Return the command lines in a next: each ends with its clause, or before a word that is prose."""
    clauses = re.split(r"[,;:] | or | and ", text)
    matches = (re.search(r"(^|[ `])(?P<line>(tensorcopy|asv|git|uv|pip) [^`]+)", clause) for clause in clauses)
    try:
        return [shlex.split(re.split(rf" (?:{PROSE})\b", match["line"])[0]) for match in matches if match]
    except ValueError:  # a quoted name was split
        return []


def refused(command: Sequence[str]) -> str:
    """Return why a program does not take a command line; "" where it does."""
    if command[0] in ("tensorcopy", "asv"):
        try:
            with redirect_stdout(None):
                parser(command[0]).parse_args(command[1:])
        except (SystemExit, TensorcopyError) as ended:
            return "" if getattr(ended, "code", 2) == 0 else "its parser refuses it"  # 0 after the help
        return ""
    words = ["uv", *command] if command[0] == "pip" else [command[0], *command[3 if command[1] == "-C" else 1 :]]
    depth = 3 if words[1] in ("python", "pip", "cache") else 2
    text = help_text(*words[:depth])
    lacking = [word for word in words[depth:] if word.startswith("-") and not re.search(rf"-(\[no-\])?{word.lstrip('-')}\b", text)]
    return "" if f"{' '.join(words[:depth])} [" in text and not lacking else f"{' '.join(words[:depth])} lacks {lacking or 'help'}"


@cache
def parser(program: str) -> argparse.ArgumentParser:
    if program == "tensorcopy":
        return cli.parser()
    from asv.commands import make_argparser  # which takes a part of a second

    made: argparse.ArgumentParser = make_argparser()[0]
    return made


@cache
def options_of(program: str) -> set[str]:
    """Return the options of a program and of its commands."""
    ahead, options = [parser(program)], set[str]()
    while ahead:
        of = ahead.pop()
        options.update(of._option_string_actions)
        ahead += [each for action in of._actions if isinstance(action, argparse._SubParsersAction) for each in action.choices.values()]
    return options


@cache
def help_text(*command: str) -> str:
    done = subprocess.run([*command, "-h" if command[0] == "git" else "--help"], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr
