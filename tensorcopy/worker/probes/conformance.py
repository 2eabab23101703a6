"""Compare promised with observed semantics, for every method and device.

`python -m tensorcopy.worker.processes tensorcopy.worker.probes.conformance [DEVICE …]` prints the result as JSON, for `tensorcopy check`.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy
import torch

from tensorcopy.worker import devices, semantics
from tensorcopy.worker.methods import code_on, exists, promised
from tensorcopy.worker.own import groups
from tensorcopy.worker.processes import ReportProgress, ignore_progress
from tensorcopy.worker.semantics import Outcome

PLAIN, WITH_GRAD = "plain", "with_grad"


@dataclass(frozen=True)
class Checked:
    """One method on one device, for a tensor without grad or a leaf that requires it.

    of : "plain" or "with_grad"
    promised : None where nothing is promised, as on most accelerators
    """

    method: str
    group: str
    code: str
    device: str
    of: str
    promised: Outcome | None
    observed: Outcome

    @property
    def kept(self) -> bool | None:
        """Whether the promise is kept; None without a promise."""
        return None if self.promised is None else self.promised == self.observed


def check(on: str | Iterable[str] = ()) -> list[Checked]:
    """Check every method that this torch has, on these devices.

    on : a device or several; all available ones by default

    Takes a second or two. Raises TensorcopyError for a device that is not available.
    """
    selected = ([on] if isinstance(on, str) else list(on)) or devices.available()
    for device in selected:
        devices.require(device)
    rows: list[Checked] = []
    for device in selected:
        for group, methods in groups().items():
            for method in filter(exists, methods.values()):
                observation, promise = semantics.observed(method, device), promised(method, device)
                for of in (PLAIN, WITH_GRAD):
                    expected = getattr(promise, of) if promise else None
                    rows.append(Checked(method.name, group, code_on(method, device), device, of, expected, getattr(observation, of)))
    return rows


def document(rows: Iterable[Checked]) -> dict[str, Any]:
    """Return the versions, the rows, and the devices that are there and cannot be used, as plain values."""
    return {
        "torch": torch.__version__,
        "torch_sha": torch.version.git_version,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "unsupported": devices.unsupported(),
        "checked": [{**asdict(row), "kept": row.kept} for row in rows],
    }


def main(arguments: Sequence[str], report_progress: ReportProgress = ignore_progress) -> dict[str, Any]:
    """Check on the devices that are the arguments, or on all available ones."""
    return document(check(arguments))
