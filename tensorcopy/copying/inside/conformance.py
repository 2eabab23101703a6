"""Compare what this torch does with what the methods promise and with what the article prints.

As a probe, with devices as arguments, it returns the methods' semantics for `tensorcopy check`; `observations` adds them to the provenance
of a measurement.

`printed` has the article's code line by line. It makes tensors of one element by `leaf(value)`, on the device that is checked, where the
article has DEVICE and CUDA.
"""

from __future__ import annotations

import platform
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy
import torch

from tensorcopy.copying.inside import printed, semantics
from tensorcopy.copying.inside.methods import Method, code_on, promised, why_not
from tensorcopy.copying.inside.own import groups, own_groups
from tensorcopy.copying.inside.semantics import Outcome
from tensorcopy.worker import devices, operations
from tensorcopy.worker.devices import DEVICES
from tensorcopy.worker.processes import ReportProgress, ignore_progress

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
            for method in methods.values():
                if why_not(method, device):
                    continue
                observation, promise = semantics.observed(method, device), promised(method, device)
                for of in (PLAIN, WITH_GRAD):
                    expected = getattr(promise, of) if promise else None
                    rows.append(Checked(method.name, group, code_on(method, device), device, of, expected, getattr(observation, of)))
    return rows


class Claim(NamedTuple):
    """A value that the article prints, with its section and the value here."""

    section: str
    expression: str
    got: Any
    printed: Any

    @property
    def holds(self) -> bool:
        return bool(self.got == self.printed)


def claims(device: str) -> list[Claim]:
    """Return every value that the article prints, with that of `device`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns on reading .grad of a non-leaf; that it is None is a claim
        return [claim for section in printed.SECTIONS for claim in _claims(section, device)]


def _claims(section: str, device: str) -> Iterator[Claim]:
    def leaf(value: float, grad: bool = True, on: str = device) -> torch.Tensor:
        return torch.tensor([value], device=on, requires_grad=grad)

    names: dict[str, Any] = {"leaf": leaf, "error": _error, "properties": _properties, "descend": _descend}
    for line in printed.lines(section):
        if line.on_accelerator and device == "cpu":
            continue
        if not line.expressions:
            exec(line.code, names)  # noqa: S102 - the lines are ours
            continue
        for expression, value in zip(line.expressions, line.values(names)):
            got = eval(expression, names)  # noqa: S307
            yield Claim(section, expression, got.item() if isinstance(got, torch.Tensor) else got, value)


def _error(function: Callable[[], Any]) -> str:
    try:
        function()
    except (TypeError, RuntimeError) as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


def _properties(copy: torch.Tensor) -> tuple[float, bool, bool]:
    return copy.item(), copy.is_leaf, copy.requires_grad


def _descend(*parameters: torch.Tensor) -> None:
    """Update parameters in place, as torch.optim.SGD(parameters, lr=0.5).step() does.

    Making an optimizer imports TorchDynamo, which takes a second.
    """
    with torch.no_grad():
        for parameter in parameters:
            parameter.add_(parameter.grad, alpha=-0.5)


def observations(*, own_only: bool = False) -> dict[str, Any]:
    """Return "methods" as `observed_on` returns them for all available devices, and by device "article": how many of its statements hold.

    own_only : leave out the article and the registry's methods, which a project does not measure
    """
    available = devices.available()
    methods = observed_on(available, own_groups() if own_only else groups())
    for operation in operations.operations():
        if operation.inputs:  # what it does to a tensor x is not observed
            code_on_accelerator = operation.code_on_accelerator or operation.code
            row = {"group": operation.group, "code": operation.code, "code_on_accelerator": code_on_accelerator, "since": operation.since}
            methods[operation.name] = {**row, "observed": {}}
    if own_only:
        return {"methods": methods}
    article = {}
    for device in available:
        claimed = claims(device)
        failing = [claim for claim in claimed if not claim.holds]
        article[device] = {
            "statements": len(claimed),
            "hold": len(claimed) - len(failing),
            "fail": [printed.failure(claim.section, claim.expression, claim.printed, repr(claim.got)) for claim in failing],
        }
    return {"methods": methods, "article": article}


def observed_on(devices: Sequence[str], of_groups: Mapping[str, Mapping[str, Method]]) -> dict[str, Any]:
    """Return each method's group, code and observed semantics on `devices`, by name, and "devices" and "caveat" of one that has them.

    of_groups : the methods by group

    "observed" lacks the devices to which a method does not apply, and is empty for one that this torch does not have.
    """
    rows: dict[str, Any] = {}
    for group, methods in of_groups.items():
        for method in methods.values():
            row = {"group": group, "code": method.code, "code_on_accelerator": method.code_on_accelerator, "since": method.since}
            of_some = {} if method.devices == DEVICES else {"devices": list(method.devices)}
            rows[method.name] = {**row, **of_some, **({"caveat": method.caveat} if method.caveat else {}), "observed": {}}
            for device in devices:
                if why_not(method, device):
                    continue
                observation, promise = semantics.observed(method, device), promised(method, device)
                as_promised = None if promise is None else observation == promise
                rows[method.name]["observed"][device] = {**asdict(observation), "as_promised": as_promised}
    return rows


def main(arguments: Sequence[str], report_progress: ReportProgress = ignore_progress) -> dict[str, Any]:
    """Check on the devices that are the arguments, or on all available ones.

    Returns the versions, the rows, the devices that are there and cannot be used, and why methods do not apply, as plain values.
    """
    checked = check(arguments)
    return {
        "torch": torch.__version__,
        "torch_sha": torch.version.git_version,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "unsupported": devices.unsupported(),
        "not_applicable": {
            device: [reason for methods in groups().values() for method in methods.values() if (reason := why_not(method, device))]
            for device in dict.fromkeys(row.device for row in checked)
        },
        "checked": [{**asdict(row), "kept": row.kept} for row in checked],
    }
