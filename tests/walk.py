"""Every command with bad input and in odd surroundings, derived from the parser: a new command is walked too."""

import argparse
import io
import json
import os
import re
import shutil
import subprocess
import sys
import time
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

import psutil

from tensorcopy import cli
from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import interpreters
from tests import launch_files
from tests.conftest import ROOT

EXIT_CODES = (0, 1, 2, 3)
EVIL = "\x1b[31m\x07\x9b2J\u202e[bold]a[/]b[/nope] :smile: @x `#1`"  # colours, bells, markup, and what ends it
EVIL_DATA = "\u202e[bold]a[/]b[/nope] :smile: @x `#1`"  # what a file of results may have: one with control characters is not read
BAD = (
    *("", " ", "nope", "0", "-1", "1e400", "9" * 5000, "nan", "(", "[", "*", "\\", "..", "../..", "/", "/dev/null", "/dev/full", "."),
    *("results", "2.15.0..1.9.0", "2.15.0@3.9@x", "9.9", "2.15.0@", "x" * 5000, "a/b", "a\nb", EVIL, "\udcff", "é×", "v", "0/0", "1/x"),
    *("%s", "{0}", "--"),
)
VALID = {"before": "2.14.1", "after": "2.15.0", "case": "detach_clone", "folder": "artifact"}  # what a required argument gets
# Options with which a command ends before it measures anything: the walk is about input and surroundings
CHEAP = {
    "advise": ["--shipped"],
    "check": ["--device=nowhere"],
    "plot": ["--device=nowhere"],
    "dashboard": ["--no-serve"],
}


@dataclass(frozen=True)
class Command:
    """A command of the parser, such as ("ci", "runners")."""

    words: tuple[str, ...]
    parser: argparse.ArgumentParser = field(compare=False)

    @property
    def name(self) -> str:
        return " ".join(self.words)

    @property
    def actions(self) -> list[argparse.Action]:
        hidden = argparse._HelpAction, argparse._SubParsersAction, argparse._VersionAction
        return [action for action in self.parser._actions if not isinstance(action, hidden)]

    def line(self, **values: str) -> list[str]:
        """Return a command line in which the arguments named by `values` have these values."""
        options, positional = [], []
        for action in self.actions:
            value = values.get(action.dest)
            if action.option_strings:
                needed = VALID.get(action.dest, "x") if action.required else None
                value = needed if value is None else value
                if value is not None:
                    options.append(action.option_strings[-1] if action.nargs == 0 else f"{action.option_strings[-1]}={value}")
            elif value is not None or action.nargs not in ("?", "*"):
                positional.append(VALID.get(action.dest, "x") if value is None else value)
        return [*self.words, *CHEAP.get(self.name, []), *options, *(["--", *positional] if positional else [])]


def commands(parser: argparse.ArgumentParser | None = None, words: tuple[str, ...] = ()) -> Iterator[Command]:
    """Yield every command of the parser."""
    parser = parser or cli.parser()
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if words and not any(action.required for action in below):
        yield Command(words, parser)
    for action in below:
        for name, command in action.choices.items():
            yield from commands(command, (*words, name))


def bad_lines(command: Command) -> Iterator[list[str]]:
    """Yield command lines: each argument with each bad value, each flag, too many and too few arguments."""
    yield command.line()
    yield [*command.words, *CHEAP.get(command.name, [])]
    yield [*command.words, "--nope"]
    yield [*command.words, *["x"] * 9]
    yield [*command.words, EVIL]
    yield [*command.words, "--", "\udcff", EVIL, "-"]
    for action in command.actions:
        if action.option_strings and action.nargs == 0:
            yield command.line(**{action.dest: ""})
        else:
            yield from (command.line(**{action.dest: value}) for value in dict.fromkeys(BAD))


def checkout(folder: Path, evil: bool = False) -> Path:
    """Write a checkout with the results of two releases; no Python of it is installed, so that nothing is measured in it.

    evil : whether names, the processor and outcomes of its results have markup and invisible characters
    """
    (folder / "artifact").mkdir()
    text = (ROOT / "asv.conf.json").read_text().replace('["3.11", "3.9"]', '["3.99"]')
    assert "3.99" in text
    (folder / "asv.conf.json").write_text(text)
    machine = dict.fromkeys(("cpu", "os", "libc", "governor", "hugepages", "cpu_capability"), f"Box{EVIL_DATA}") if evil else {}
    for path in launch_files.write_small(folder / "results", "2.14.1", "2.15.0", **machine):
        if evil:  # also a case's name and code, wherever they are, and what a method raises
            text = path.read_text(encoding="utf-8")
            for name in ("clone_detach", "x.detach().clone()"):
                text = text.replace(name, f"{name}{json.dumps(EVIL_DATA)[1:-1]}")
            path.write_text(text.replace('"raises":""', f'"raises":{json.dumps(EVIL_DATA)}'), encoding="utf-8")
    return folder


def complaint(code: int, out: str, err: str) -> str:
    """Return what is wrong with the end of a command, or ""."""
    for stream, text in (("stdout", out), ("stderr", err)):
        if "Traceback" in text or "Exception ignored" in text:
            return f"a traceback on {stream}: {text.strip().splitlines()[-1][:200]}"
        control = next((character for character in text if unsafe(character)), "")
        if control:
            return f"{control!r} on {stream}: {text[max(0, text.index(control) - 40) : text.index(control) + 20]!r}"
    if "a fault of tensorcopy" in err:
        return err.strip()[:300]
    if code not in EXIT_CODES:
        return f"exit code {code}"
    if code == 2 and not re.search(r"^tensorcopy[^:\n]*: [^\n]+\Z", err.rstrip("\n"), re.MULTILINE):
        return f"exit code 2 without an error line at the end: {err[-200:]!r}"
    return ""


def unsafe(character: str) -> bool:
    """Return whether a character may change what a terminal shows elsewhere."""
    return character not in "\n\t" and unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")


def surroundings(folder: Path) -> dict[str, str]:
    """Return the environment variables of a walk: no home, no index, no pull request."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "UV_", "COLUMNS", "PYENV_"))}
    home, programs = folder / "home", folder / "programs"
    home.mkdir(exist_ok=True)
    if not programs.exists():  # without a Python: none is found to make an environment with
        programs.mkdir()
        for name in filter(shutil.which, ("git", "bash", "sh", "head", "mktemp", "rmdir", "script")):
            (programs / name).symlink_to(str(shutil.which(name)))
    return {
        **kept,
        "HOME": str(home),
        "PATH": str(programs),
        "UV_OFFLINE": "1",
        "UV_CACHE_DIR": str(folder / "uv"),
        "PYTHONPATH": str(ROOT),
    }


def in_process(arguments: Sequence[str]) -> str:
    """Run a command in this process and return what is wrong with its end, or ""."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = cli.main(list(arguments))
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        except BaseException as error:
            return f"raises {type(error).__name__}: {str(error)[:200]}"
    texts = [stream.buffer.getvalue().decode("utf-8", "surrogateescape") for stream in (out, err)]
    return complaint(code, *texts)


def walk(folder: Path, lines: Sequence[Sequence[str]]) -> dict[tuple[str, ...], str]:
    """Run command lines in this process in a folder, and return what is wrong with each that does not end well."""
    failures = {}
    before = Path.cwd()
    with ExitStack() as stack:
        stack.enter_context(mock.patch.dict(os.environ, surroundings(folder), clear=True))
        no_torch = TensorcopyError("there is no torch", got="none", allowed="torch 1.9 or newer", next="pip install torch")
        stack.enter_context(mock.patch.object(interpreters, "run_probe", side_effect=no_torch))  # whose import takes seconds
        stack.callback(os.chdir, before)
        os.chdir(folder)
        for line in lines:
            problem = in_process(line)
            if problem:
                failures[tuple(line)] = problem
    return failures


# --- real processes


ALONE = '"$@"'
SURROUNDINGS: dict[str, tuple[str, dict[str, str | None]]] = {  # a shell line around "$@", and variables to set, None: to remove
    "| true": ('"$@" | true; exit 0', {}),
    "| head -c 1": ('"$@" | head -c 1 >/dev/null; exit 0', {}),
    "> /dev/full": ('"$@" > /dev/full', {}),
    "2> /dev/full": ('"$@" 2> /dev/full; exit 0', {}),
    "stdout closed": ('"$@" >&-', {}),
    "stderr closed": ('"$@" 2>&-; exit 0', {}),
    "ascii": (ALONE, {"PYTHONIOENCODING": "ascii"}),
    "C locale": (ALONE, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LANG": None}),
    "COLUMNS=1": (ALONE, {"COLUMNS": "1"}),
    "COLUMNS=x": (ALONE, {"COLUMNS": "x", "LINES": "0"}),
    "FORCE_COLOR": (ALONE, {"FORCE_COLOR": "1"}),
    "deleted folder": ('gone=$(mktemp -d); cd "$gone"; rmdir "$gone"; "$@"', {}),
    "no HOME": (ALONE, {"HOME": None}),
    "HOME a file": (ALONE, {"HOME": "/dev/null"}),
    "no temporary folder": (ALONE, {"TMPDIR": "/proc/nowhere"}),
    "no PATH": (ALONE, {"PATH": "/nowhere"}),
    "terminal": ('exec script -qec "$(printf "%q " "$@")" /dev/null', {}),
}


def process(arguments: Sequence[str], surrounding: str, folder: Path) -> str:
    """Run a command in another process, in the surrounding of that name, and return what is wrong with its end, or ""."""
    shell, changed = SURROUNDINGS[surrounding]
    variables = {name: value for name, value in {**surroundings(folder), **changed}.items() if value is not None}
    command = ["/bin/bash", "-c", shell, "bash", sys.executable, "-m", "tensorcopy", *arguments]
    try:
        done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, timeout=120, check=False, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return "did not end in 120 s"
    out, err = (text.decode("utf-8", "replace").replace("\r\n", "\n") for text in (done.stdout, done.stderr))
    if surrounding in ("FORCE_COLOR", "terminal"):  # which have sequences of their own
        out, err = (re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", text) for text in (out, err))
        err = err or out
    code = done.returncode
    return complaint(1 if code == 2 and not err else code, out, err)


def good_lines(command: Command) -> Iterator[list[str]]:
    """Yield a command line for each choice of each argument, and for each flag."""
    yield command.line()
    for action in command.actions:
        if action.option_strings and action.nargs == 0:
            yield command.line(**{action.dest: ""})
        elif action.dest == "format":
            yield from (command.line(format=name) for name in ("text", "markdown", "json", "csv"))
        elif action.choices:
            yield from (command.line(**{action.dest: str(choice)}) for choice in action.choices)


# --- signals

WAIT = 30  # seconds until a process has started another one, or ends


def send(number: int, arguments: Sequence[str], folder: Path) -> tuple[int, str, list[list[str]]]:
    """Send a command a signal soon after it has started another process.

    Returns its exit code, its errors, and the command lines of the processes that run a second later.
    """
    command, closed = [sys.executable, "-m", "tensorcopy", *arguments], {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    options = {"cwd": folder, "env": surroundings(folder), "start_new_session": True, "text": True, **closed}
    with subprocess.Popen(command, stderr=subprocess.PIPE, **options) as started:
        program, end = psutil.Process(started.pid), time.monotonic() + WAIT
        while not program.children() and time.monotonic() < end:
            time.sleep(0.001)
        time.sleep(0.5)
        others = program.children(recursive=True)  # also of another session
        os.kill(started.pid, number)
        _, errors = started.communicate(timeout=WAIT)
    time.sleep(1)
    running = [each for each in others if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]
    return started.returncode, errors, [each.cmdline() for each in running]
