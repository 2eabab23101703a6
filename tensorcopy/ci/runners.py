"""The machines that measure the published history, as the matrix of a job."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tensorcopy.errors import TensorcopyError
from tensorcopy.worker import toml
from tensorcopy.worker.devices import DEVICES

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")


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


def load(path: Path) -> list[Runner]:
    """Read .github/runners.toml.

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
    runners = [_runner(row, path) for row in rows]
    names = [runner.machine for runner in runners]
    for name in names:
        if names.count(name) > 1:
            raise _invalid(path, f"{name} twice")
    return runners


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


def _runner(row: Any, path: Path) -> Runner:
    try:
        runner: Any = Runner(**row)  # with values of any type
        valid = (
            NAME.fullmatch(runner.machine)
            and runner.labels
            and all(isinstance(label, str) and label for label in runner.labels)
            and runner.device in DEVICES
            and isinstance(runner.shards, int)
            and 1 <= runner.shards <= 64
            and isinstance(runner.environments, int)
            and 2 <= runner.environments <= 64
        )
    except TypeError as error:
        raise _invalid(path, f"{row}: {error}") from error
    if not valid:
        raise _invalid(path, str(row))
    return Runner(**row)


def _invalid(path: Path, got: str) -> TensorcopyError:
    return TensorcopyError(
        f"invalid row in {path.name}",
        got=got,
        allowed=f"machine, labels, and optionally device ({', '.join(DEVICES)}), shards (1 to 64) and environments (2 to 64)",
        next="docs/gpu-runner.md has an example",
    )
