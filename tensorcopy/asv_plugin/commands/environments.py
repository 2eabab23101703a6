"""The environments that -E may name: those of torch releases, and an existing Python that can run the suites."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from asv import environment
from asv.commands.setup import Setup
from asv.console import log

from tensorcopy.asv_plugin.exits import exit_on_error
from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import interpreters
from tensorcopy.worker import project

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


def check_environments() -> None:
    """Let asv end with exit code 2 where -E names an environment that cannot measure torch releases."""
    class_by_name, construct = environment.get_environment_class_by_name, environment.ExistingEnvironment.__init__

    def of_torch(kind: str) -> Any:
        if kind not in KINDS:
            _refuse(kind)
        return class_by_name(kind)

    def constructed(self: Any, conf: Any, python: str, *others: Any) -> None:
        with exit_on_error():
            interpreters.executable(python)
            construct(self, conf, python, *others)
            _require_packages(self)

    environment.get_environment_class_by_name = of_torch
    environment.ExistingEnvironment.__init__ = constructed


def _refuse(kind: str) -> NoReturn:
    """End asv: an environment of this kind would hold the project, and torch at no particular release."""
    with exit_on_error():
        raise TensorcopyError(
            "torch releases cannot be measured in such an environment", got=f"-E {kind}", allowed=ALLOWED, next="leave -E out"
        )


def _require_packages(existing: Any) -> None:
    """Raise TensorcopyError where a Python lacks a package that asv or the suites import."""
    python, packages = existing.python, ["torch", "numpy", "asv_runner", *(["tensorcopy"] if project.declared() is None else [])]
    missing = json.loads(existing.run(["-c", MISSING, *packages]))
    if missing:
        install = f"{python} -m pip install torch numpy, then " if {"torch", "numpy"} & {*missing} else ""
        raise TensorcopyError(
            "this Python cannot run the suites",
            got=f"{python} without {', '.join(missing)}",
            allowed=f"a Python that has {', '.join(packages)}",
            next=f"{install}-E interpreter:{python}, which needs only torch and numpy",
        )


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
