"""The machines that measure the published history: .github/runners.toml at the top of the repository."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from tensorcopy import files
from tensorcopy.measure import git
from tensorcopy.worker.devices import DEVICES

FILE = ".github/runners.toml"


class Runner(Struct, frozen=True, forbid_unknown_fields=True):
    """Machines of one kind."""

    machine: Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}\Z")]  # the name of their histories
    labels: Annotated[list[Annotated[str, Meta(min_length=1)]], Meta(min_length=1)]  # for runs-on
    device: Literal[DEVICES] = "cpu"  # type: ignore[valid-type] # that torch must be able to use


def matrix() -> list[dict[str, Any]]:
    """Return the runners of this repository as a job's matrix. Raises TensorcopyError where they cannot be read.

    `backend` chooses torch's kind of wheel: without a GPU that for the CPU, a tenth as large.
    """
    path = Path(git.printed("rev-parse", "--show-toplevel") or ".") / FILE
    try:
        runners = msgspec.convert(files.read_toml(path).get("runner"), list[Runner])
        names = [runner.machine for runner in runners]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"{twice[0]} twice")
    except (OSError, ValueError) as error:
        allowed = f"[[runner]] with machine, labels and optionally device ({', '.join(DEVICES)}), as tensorcopy init --github writes"
        raise files.damaged(path, error, allowed) from error
    return [{**msgspec.structs.asdict(runner), "backend": "cpu" if runner.device == "cpu" else ""} for runner in runners]
