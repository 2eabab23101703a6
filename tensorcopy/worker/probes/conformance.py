"""Promise against observation, of every method, with the torch that is installed.

`python -m tensorcopy.worker.probes.conformance [DEVICE …]` prints it as JSON; without a device, of every device that is there.
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy
import torch

from tensorcopy.errors import TensorcopyError
from tensorcopy.worker import devices
from tensorcopy.worker.registry import semantics
from tensorcopy.worker.registry.methods import GROUPS, exists, promised
from tensorcopy.worker.registry.semantics import Outcome

PLAIN, WITH_GRAD = "plain", "with_grad"


@dataclass(frozen=True)
class Checked:
    """One method on one device, of a plain tensor or of a leaf that requires grad.

    promised : None where nobody has looked yet, as on most accelerators
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
        """Whether the promise is kept; None where there is none."""
        return None if self.promised is None else self.promised == self.observed


def check(on: Iterable[str] = ()) -> list[Checked]:
    """Every method that this torch has, on these devices; on every one that is there by default. Takes a second or two.

    Raises TensorcopyError for a device that is not there.
    """
    wanted = list(on) or devices.available()
    for device in wanted:
        devices.demand(device)
    found = []
    for device in wanted:
        for group, rows in GROUPS.items():
            for method in filter(exists, rows.values()):
                code = method.code if device == "cpu" else method.code_on_accelerator
                seen, promise = semantics.observed(method, device), promised(method, device)
                for of in (PLAIN, WITH_GRAD):
                    found.append(
                        Checked(method.name, group, code, device, of, getattr(promise, of) if promise else None, getattr(seen, of))
                    )
    return found


def document(rows: Iterable[Checked]) -> dict[str, Any]:
    """As plain values: what was there, and for each row what was promised and observed."""
    return {
        "torch": torch.__version__,
        "torch_sha": torch.version.git_version,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "checked": [{**asdict(row), "kept": row.kept} for row in rows],
    }


if __name__ == "__main__":
    try:
        print(json.dumps(document(check(sys.argv[1:]))))
    except TensorcopyError as error:
        sys.exit(str(error))
