"""asv's own commands: the arguments and environments that they take here, what they print, and how they end.

Where tensorcopy raises an error, asv ends with one line and exit code 2.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from asv import environment
from asv.commands.find import Find
from asv.commands.run import Run
from asv.commands.setup import Setup
from asv.console import log
from asv.repo import get_repo

from tensorcopy.errors import TensorcopyError, of_os_error
from tensorcopy.releases import interpreters
from tensorcopy.worker import declarations

ERROR_FILE = "TENSORCOPY_ERROR"  # environment variable: where the process that started asv reads the error as JSON
MIN_RELEASES = 3  # releases between which `asv find` measures; of fewer it names the last one unmeasured
KINDS = ("release", "interpreter", "existing")
ALLOWED = "release:N.N, interpreter:PYTHON, existing:PYTHON, or a name that `asv setup` prints"
# prints which of its arguments cannot be imported; asv's runner, too, looks neither into the current folder nor into PYTHONPATH;
# a folder that only has a package's name has no origin
MISSING = """
import json, os, sys
from importlib.util import find_spec
hidden = {"", *os.environ.get("PYTHONPATH", "").split(os.pathsep)} - set(os.environ.get("ASV_PYTHONPATH", "-").split(os.pathsep))
sys.path = [path for path in sys.path if path not in hidden]
print(json.dumps([name for name in sys.argv[1:] if getattr(find_spec(name), "origin", None) is None]))
"""


@contextmanager
def exit_on_error() -> Iterator[None]:
    """Log a TensorcopyError, or an error of the disk, in one line and end asv with exit code 2.

    asv then stores nothing for what it was about to measure.
    """
    try:
        yield
    except (TensorcopyError, OSError) as error:
        known = error if isinstance(error, TensorcopyError) else of_os_error(error)
        if known is None:
            raise
        log.error(str(known))
        pass_on(known)
        raise SystemExit(2) from error


def pass_on(error: TensorcopyError) -> None:
    """Write the first error into the file that asv's caller has named, if any."""
    path = os.environ.get(ERROR_FILE)
    with suppress(OSError):  # the disk may be full; the error was printed
        if path and not Path(path).exists():
            Path(path).write_text(json.dumps(error.document()), encoding="utf-8")


def end_on(errors: Sequence[Exception]) -> None:
    """Print errors in one line each and end the process with exit code 2, if there are any.

    For the end of a process: asv's log is closed, and its exit code is decided.
    """
    for error in errors:
        print(error, flush=True)
        if isinstance(error, TensorcopyError):
            pass_on(error)
    if errors:
        end()


def end() -> None:
    """End the process with exit code 2, also where asv would end with 0: at exit, an exception would not change the code."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(2)


def show_disk_errors() -> None:
    """Let asv end with one line and exit code 2 where a file cannot be written."""
    show_others = sys.excepthook

    def show(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        known = of_os_error(error) if isinstance(error, OSError) else None
        if known is None:
            show_others(kind, error, traceback)
            return
        print(known, flush=True)
        pass_on(known)
        raise SystemExit(2)

    sys.excepthook = show


def check_arguments() -> None:
    """Let `asv run` and `asv find` end before they measure, with exit code 2, where their arguments do not suit torch releases."""
    for command, check in ((Run, _check_run), (Find, _check_find)):
        run = command.run_from_conf_args

        def checked(conf: Any, options: Any, run: Any = run, check: Any = check, **others: Any) -> Any:
            with exit_on_error():
                if options.parallel != 1:  # asv would install each release in another process, and measure in this one with the one before
                    raise TensorcopyError(
                        "asv cannot install torch releases in parallel",
                        got="--parallel",
                        allowed="one environment after the other",
                        next="leave --parallel out",
                    )
                check(conf, options)
            return run(conf, options, **others)

        command.run_from_conf_args = checked


def _check_run(_conf: Any, options: Any) -> None:
    """Raise TensorcopyError for --set-commit-hash, and for a release beside `-E existing`, of which asv stores nothing."""
    if options.set_commit_hash is not None:
        raise TensorcopyError(
            "a result is stored for the torch that was measured",
            got=f"--set-commit-hash {options.set_commit_hash}",
            allowed="the SHA that torch reports",
            next=f"asv run -E interpreter:same {options.set_commit_hash}^!",
        )
    names = [name.partition(":") for name in options.env_spec or ()]
    existing = [python or "same" for kind, _, python in names if kind == "existing" or (not kind and python == "same")]
    if existing and options.range:
        raise TensorcopyError(
            "an existing environment is measured as it is, and the result is not stored",
            got=options.range,
            allowed="no release",
            next=f"leave it out, or asv run -E interpreter:{existing[0]} {options.range}, which stores the result",
        )


def _check_find(conf: Any, options: Any) -> None:
    """Raise TensorcopyError where `asv find` would measure nothing."""
    repo = get_repo(conf)
    tags = [repo.get_name_from_hash(sha) for sha in reversed(repo.get_hashes_from_range(options.range))]
    if len(tags) < MIN_RELEASES:
        first, last = options.range.partition("..")[0] if ".." in options.range else "A", (tags or ["B"])[-1]
        sides = " ".join(name.removeprefix("v") for name in (first or "A", last))
        raise TensorcopyError(
            "asv find needs releases between which it can search",
            got=f"{options.range}, which is {', '.join(tags) or 'none'}",
            allowed=f"a range of {MIN_RELEASES} or more; A..B begins after A",
            next=f"tensorcopy compare {sides}, or tensorcopy bisect CASE {sides}",
        )


def check_environments() -> None:
    """Let asv end with exit code 2 where -E names an environment that cannot measure torch releases."""
    class_by_name, construct = environment.get_environment_class_by_name, environment.ExistingEnvironment.__init__

    def of_torch(kind: str) -> Any:
        if kind not in KINDS:  # such an environment would hold the project, and torch at no particular release
            with exit_on_error():
                raise TensorcopyError(
                    "torch releases cannot be measured in such an environment", got=f"-E {kind}", allowed=ALLOWED, next="leave -E out"
                )
        return class_by_name(kind)

    def constructed(self: Any, conf: Any, python: str, *others: Any) -> None:
        with exit_on_error():
            interpreters.executable(python)
            construct(self, conf, python, *others)
            packages = ["torch", "numpy", "asv_runner", *(["tensorcopy"] if declarations.project() is None else [])]
            missing = json.loads(self.run(["-c", MISSING, *packages]))
            if missing:
                install = f"{self.python} -m pip install torch numpy, then " if {"torch", "numpy"} & {*missing} else ""
                raise TensorcopyError(
                    "this Python cannot run the suites",
                    got=f"{self.python} without {', '.join(missing)}",
                    allowed=f"a Python that has {', '.join(packages)}",
                    next=f"{install}-E interpreter:{self.python}, which needs only torch and numpy",
                )

    environment.get_environment_class_by_name = of_torch
    environment.ExistingEnvironment.__init__ = constructed


def print_environments() -> None:
    """Let `asv setup` print the names of its environments and exit with 0; asv prints objects, and exits with 1."""

    def setup(conf: Any, options: Any) -> int:
        environments = Setup.run(conf=conf, parallel=options.parallel, env_spec=options.env_spec)
        for each in environments:
            log.info(each.name)
        if not environments:
            log.error("No environments selected")
        return 0 if environments else 1

    Setup.run_from_conf_args = setup
