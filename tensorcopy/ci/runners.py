"""The machines that measure for the published history: .github/runners.toml as the matrix of a job."""

from __future__ import annotations

import re
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tensorcopy.errors import TensorcopyError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DEVICES = ("cpu", "cuda", "mps", "xpu")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")


@dataclass(frozen=True)
class Runner:
    """One kind of machine.

    machine : its name in results
    labels : of its runners, as runs-on takes them
    device : the fastest thing it has
    shards : over how many of its runners a run is divided
    """

    machine: str
    labels: list[str]
    device: str = "cpu"
    shards: int = 1


def load(path: Path) -> list[Runner]:
    """Raises TensorcopyError for a file that cannot be read, or a row that is no runner."""
    try:
        rows = tomllib.loads(path.read_text(encoding="utf-8")).get("runner", [])
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise TensorcopyError(
            "the list of runners cannot be read", got=f"{path}: {error}", allowed="TOML", next=f"git checkout {path}"
        ) from error
    found = [_runner(row, path) for row in rows]
    names = [one.machine for one in found]
    for one in found:
        if names.count(one.machine) > 1:
            raise _no_runner(path, f"{one.machine} twice")
    return found


def matrix(runners: list[Runner], device: str = "") -> list[dict[str, Any]]:
    """A job's matrix: a row for each shard of each runner with the device; "" for all. Raises TensorcopyError where it would be empty."""
    found = [
        {**asdict(one), "shard": f"{number}/{one.shards}", "artifact": f"results-{one.machine}-{number}"}
        for one in runners
        if device in ("", one.device)
        for number in range(1, one.shards + 1)
    ]
    if not found:
        raise TensorcopyError(
            "there is no runner", got=device or "an empty list", allowed=", ".join(DEVICES), next="add a row to .github/runners.toml"
        )
    return found


def _runner(row: Any, path: Path) -> Runner:
    try:
        one: Any = Runner(**row)  # of whatever types the file has
        sound = (
            NAME.fullmatch(one.machine)
            and one.labels
            and all(isinstance(label, str) and label for label in one.labels)
            and one.device in DEVICES
            and isinstance(one.shards, int)
            and 1 <= one.shards <= 64
        )
    except TypeError as error:
        raise _no_runner(path, f"{row}: {error}") from error
    if not sound:
        raise _no_runner(path, str(row))
    return Runner(**row)


def _no_runner(path: Path, got: str) -> TensorcopyError:
    return TensorcopyError(
        f"a row of {path.name} is no runner",
        got=got,
        allowed=f"machine, labels, and where needed device ({', '.join(DEVICES)}) and shards (1 to 64)",
        next="docs/gpu-runner.md has an example",
    )
