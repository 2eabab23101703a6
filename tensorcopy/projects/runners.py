"""The machines that measure the published history: .github/runners.toml."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from tensorcopy import files
from tensorcopy.errors import TensorcopyError
from tensorcopy.worker.devices import DEVICES

FILE = Path(".github/runners.toml")


class Runner(Struct, frozen=True, forbid_unknown_fields=True):
    """Machines of one kind.

    machine : the name in results
    labels : the runners' labels for runs-on
    device : "cpu", or the accelerator to measure
    shards : number of runners that share one measurement
    environments : number of torch releases that its disk holds at a time, 2 to 7 GB each with CUDA
    """

    machine: Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}\Z")]
    labels: Annotated[list[Annotated[str, Meta(min_length=1)]], Meta(min_length=1)]
    device: Literal[DEVICES] = "cpu"  # type: ignore[valid-type]
    shards: Annotated[int, Meta(ge=1, le=64)] = 1
    environments: Annotated[int, Meta(ge=2, le=64)] = 2  # a hosted runner has 14 GB


class _RunnerTable(Struct, forbid_unknown_fields=True):
    runner: list[Runner] = []


def load(path: Path = FILE) -> list[Runner]:
    """Read the list of runners. Raises TensorcopyError for an unreadable file or an invalid row."""
    try:
        runners = msgspec.convert(files.read_toml(path), _RunnerTable).runner
        names = [runner.machine for runner in runners]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"{twice[0]} twice")
    except (OSError, ValueError) as error:
        raise TensorcopyError(
            "the list of runners cannot be read",
            got=f"{path}: {error}",
            allowed=f"[[runner]] with machine, labels, and optionally device ({', '.join(DEVICES)}), shards and environments",
            next="remove it, then tensorcopy init --github writes an example",
        ) from error
    return runners


def matrix(runners: list[Runner], device: str = "") -> list[dict[str, Any]]:
    """Return a job's matrix, with a row for each shard of each runner.

    device : only runners with this device; "" for all
    Raises TensorcopyError if no runner is left.
    """
    rows = [
        {**msgspec.structs.asdict(runner), "shard": f"{number}/{runner.shards}", "artifact": f"results-{runner.machine}-{number}"}
        for runner in runners
        if device in ("", runner.device)
        for number in range(1, runner.shards + 1)
    ]
    if not rows:
        raise TensorcopyError(
            "there is no runner", got=device or "an empty list", allowed=", ".join(DEVICES), next="add a row to .github/runners.toml"
        )
    return rows


def device_of(machine: str) -> str:
    """Return the device that a runner of this name must have; "" for another machine."""
    return {runner.machine: runner.device for runner in load()}.get(machine, "") if files.is_there(FILE) else ""
