"""Probes in any Python that has torch, and the folders from which it imports tensorcopy, asv_runner and the suites.

The package is beside others that were installed for another Python, or in a checkout with other folders, so it is linked into a folder of
its own.
"""

from __future__ import annotations

import json
import os
import secrets
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from tensorcopy.errors import TensorcopyError, exception_line, of_text
from tensorcopy.worker import processes
from tensorcopy.worker.processes import ReportProgress, ignore_progress

SEARCH_PATHS = ("PYTHONPATH", "ASV_PYTHONPATH")  # Python's and asv's: asv's runner drops what is only in the first
PACKAGE = Path(__file__).resolve().parents[1]
CHECKOUT = PACKAGE.parent
IS_CHECKOUT = (CHECKOUT / "asv.conf.json").exists()  # or else this package is installed from a wheel
OWN_SUITES = CHECKOUT / "benchmarks" if IS_CHECKOUT else PACKAGE / "suites"  # the folder of tensorcopy's suites
SUITES_NAME = "tensorcopy_suites"  # the name by which a project's suites import tensorcopy's
FILE = "tensorcopy.toml"  # that declares a campaign
GUIDE = "tensorcopy init writes an example into an empty folder"


def executable(python: str) -> Path:
    """Return the path of an interpreter: of "same", the running one, a program on the PATH, or a path. Raises TensorcopyError."""
    path = sys.executable if python == "same" else shutil.which(python)
    if path is None:
        allowed = '"same", a program on the PATH, or its path'
        raise TensorcopyError("no such interpreter", got=python, allowed=allowed, next="correct the name or the path")
    return Path(path).absolute()  # probes start in another folder


def run_probe(
    python: Path,
    module: str,
    *arguments: str,
    variables: Mapping[str, str] | None = None,
    report_progress: ReportProgress = ignore_progress,
) -> dict[str, Any]:
    """Run a probe in another interpreter, and return its result.

    module : such as "tensorcopy.copying.inside.timing"; its `main` gets the arguments
    variables : the environment variables of the process; this process's by default
    report_progress : called with the share that is done (0 to 1) and the current step

    Raises TensorcopyError: that of the probe, or for an interpreter that cannot run it.
    """
    command = [str(python), "-m", processes.__name__, module, *arguments]
    inherited = os.environ if variables is None else variables
    # errors go to a file, since an unread pipe would fill up and block the process
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+", errors="replace") as errors:
        # a link: the packages installed beside this one are for this Python, not for the other one
        variables = {**inherited, "PYTHONPATH": search_path([_linked(Path(folder), {"tensorcopy": PACKAGE})], python)}
        options: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": errors, "text": True, "errors": "replace"}
        with subprocess.Popen(command, env=variables, cwd=folder, start_new_session=True, **options) as process:
            assert process.stdout is not None
            document = None
            try:
                for line in process.stdout:  # the last is the result, unless what is run has printed
                    try:
                        document = json.loads(line)
                    except ValueError:
                        document = None
                    if isinstance(document, dict) and document.keys() == {"share", "doing"}:
                        report_progress(document["share"], document["doing"])
                process.wait()
            except BaseException:  # an interruption, which does not reach what the process has started
                with suppress(AttributeError, OSError):  # Windows has no groups of processes, and this one may have ended
                    os.killpg(process.pid, signal.SIGKILL)
                process.kill()
                raise
        errors.seek(0)
        stderr = errors.read().strip()
    if isinstance(document, dict) and "error" in document:
        raise TensorcopyError(**document["error"])
    if isinstance(document, dict) and process.returncode == 0:
        return document
    got = exception_line(stderr) or f"no output, exit status {process.returncode}"
    allowed = "torch 1.9 or newer and numpy on Python 3.9 or newer, and no error"
    following = f"PYTHONPATH={shlex.quote(str(PACKAGE.parent))} {shlex.join(command)} shows the full error"
    raise of_text(stderr) or TensorcopyError(f"{module} failed in {python}", got=got, allowed=allowed, next=following)


def search_path(folders: Sequence[Path], python: Path) -> str:
    """Return a PYTHONPATH with these folders, and for the running Python with the caller's."""
    callers = os.environ.get("PYTHONPATH", "") if python == Path(sys.executable) else ""  # it does not fit another one
    return os.pathsep.join(filter(None, [*map(str, folders), callers]))


def folders(environments: Path, *, with_runner: bool = False) -> list[Path]:
    """Return folders with links to tensorcopy and its suites, and nothing else, in that of all environments.

    with_runner : whether one has asv_runner, which is pure Python: for interpreters that do not have it
    """
    made = [_linked(environments.absolute() / "tensorcopy", {"tensorcopy": PACKAGE, SUITES_NAME: OWN_SUITES})]
    if with_runner:
        runner = Path(str(distribution("asv_runner").locate_file("asv_runner")))
        made.append(_linked(environments.absolute() / "asv-runner", {"asv_runner": runner}))
    return made


def _linked(folder: Path, targets: Mapping[str, Path]) -> Path:
    """Return a folder with links of these names, which are made unless they are there."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, target in targets.items():
        link = folder / name
        if not (link.is_symlink() and link.readlink() == target):
            draft = link.with_name(f".{name}.{secrets.token_hex(4)}")  # others may make the link, or have one to a package that was removed
            draft.symlink_to(target)
            draft.replace(link)
    return folder
