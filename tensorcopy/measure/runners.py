"""The machines that measure the published history: .github/runners.toml."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tensorcopy.errors import TensorcopyError
from tensorcopy.worker import toml
from tensorcopy.worker.devices import DEVICES

FILE = Path(".github/runners.toml")
RUNNER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")


@dataclass(frozen=True)
class Runner:
    """Machines of one kind.

    machine : the name in results
    labels : the runners' labels for runs-on
    device : "cpu", or the accelerator to measure
    shards : number of runners that share one measurement
    environments : number of torch releases that its disk holds at a time, 3 to 5 GB each with CUDA
    """

    machine: str
    labels: list[str]
    device: str = "cpu"
    shards: int = 1
    environments: int = 2  # a hosted runner has 14 GB


def load(path: Path = FILE) -> list[Runner]:
    """Read the list of runners.

    Raises TensorcopyError for an unreadable file or an invalid row.
    """
    try:
        rows = toml.load(path).get("runner", [])
        if not isinstance(rows, list):
            raise ValueError(f"runner is {rows!r}, not [[runner]]")
    except (OSError, ValueError) as error:
        raise TensorcopyError(
            "the list of runners cannot be read", got=f"{path}: {error}", allowed="TOML", next=f"git checkout {path}"
        ) from error
    runners: list[Runner] = []
    for row in rows:
        fault = _fault(row)
        if not fault and row["machine"] in [runner.machine for runner in runners]:
            fault = f"{row['machine']} twice"
        if fault:
            raise TensorcopyError(
                f"invalid row in {path.name}",
                got=fault,
                allowed=f"machine, labels, and optionally device ({', '.join(DEVICES)}), shards (1 to 64) and environments (2 to 64)",
                next="docs/gpu-runner.md has an example",
            )
        runners.append(Runner(**row))
    return runners


def _fault(row: Any) -> str:
    """Return what is wrong with a row; "" for a valid one."""
    try:
        runner: Any = Runner(**row)  # with values of any type
        valid = (
            RUNNER_NAME.fullmatch(runner.machine)
            and runner.labels
            and all(isinstance(label, str) and label for label in runner.labels)
            and runner.device in DEVICES
            and isinstance(runner.shards, int)
            and 1 <= runner.shards <= 64
            and isinstance(runner.environments, int)
            and 2 <= runner.environments <= 64
        )
    except TypeError as error:
        return f"{row}: {error}"
    return "" if valid else str(row)


def matrix(runners: list[Runner], device: str = "") -> list[dict[str, Any]]:
    """Return a job's matrix, with a row for each shard of each runner.

    device : only runners with this device; "" for all
    Raises TensorcopyError if no runner is left.
    """
    rows = [
        {**asdict(runner), "shard": f"{number}/{runner.shards}", "artifact": f"results-{runner.machine}-{number}"}
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
    return {runner.machine: runner.device for runner in load()}.get(machine, "") if FILE.exists() else ""
