"""Compare what this torch does with what the methods promise and with what the article prints.

As a probe, with devices as arguments, it returns the methods' semantics for `tensorcopy check`; `observations` adds them to the provenance
of a measurement.

`SECTIONS` has the article's code line by line. A line `expressions -> values` states what the article prints for each expression; any other
line is run. `leaf(value)` makes a tensor of one element on `device`, which replaces the article's DEVICE, CUDA. The lines after
`ON_ACCELERATOR` are about two devices: on the CPU, `.cpu()` returns the tensor itself.
"""

from __future__ import annotations

import ast
import platform
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy
import torch

from tensorcopy.copying.inside import semantics
from tensorcopy.copying.inside.methods import Method, code_on, exists, promised
from tensorcopy.copying.inside.own import groups, own_groups
from tensorcopy.copying.inside.semantics import Outcome
from tensorcopy.worker import devices, operations
from tensorcopy.worker.processes import ReportProgress, ignore_progress

PLAIN, WITH_GRAD = "plain", "with_grad"

ON_ACCELERATOR = "# on an accelerator"

SECTIONS = {
    "graph": """
x, w, b = leaf(2.0, grad=False), leaf(1.0), leaf(3.0)
y = x * w + b
y.backward()
y, type(y.grad_fn).__name__ -> 5.0, "AddBackward0"
x.grad, w.grad, b.grad, y.grad -> None, 2.0, 1.0, None
x.requires_grad, w.requires_grad, b.requires_grad, y.requires_grad -> False, True, True, True
x.is_leaf, w.is_leaf, b.is_leaf, y.is_leaf -> True, True, True, False
""",
    "detach": """
w = leaf(1.0)
y = leaf(2.0, grad=False) * w
z = w.detach()
z.device == w.device, z.requires_grad, z.grad, z is y, z.is_leaf -> True, False, None, False, True
z[0] = 2
w, z -> 2.0, 2.0
""",
    "clone": """
x, w, b = leaf(2.0, grad=False), leaf(1.0), leaf(3.0)
v = w.clone()
y = x * v + b
y.backward()
type(v.grad_fn).__name__.rstrip("0"), y -> "CloneBackward", 5.0
x.grad, w.grad, v.grad, b.grad, y.grad -> None, 2.0, None, 1.0, None
v is w, v.is_leaf, v.requires_grad -> False, False, True
v[0] = 7.0
w, v, type(v.grad_fn).__name__ -> 1.0, 7.0, "CopySlices"
""",
    "retain_grad": """
x, w = leaf(2.0, grad=False), leaf(1.0)
v = w.clone()
v.retain_grad()
y = x * w + v
y.backward()
y -> 3.0
x.grad, w.grad, v.grad, y.grad -> None, 3.0, 1.0, None
""",
    "cpu": """
x, w, b = leaf(2.0, grad=False), leaf(1.0), leaf(3.0)
y = x * w + b
y.retain_grad()
z = y.cpu()
z.retain_grad()
v, c = leaf(7.0, on="cpu"), leaf(4.0, on="cpu")
f = v * z + c
f.backward()
z, z.device.type, f -> 5.0, "cpu", 39.0
x.grad, w.grad, b.grad, y.grad, z.grad, v.grad, c.grad, f.grad -> None, 14.0, 7.0, 7.0, 7.0, 5.0, 1.0, None
z.is_leaf, v.is_leaf, c.is_leaf, f.is_leaf -> False, True, True, False
z.requires_grad, v.requires_grad, c.requires_grad, f.requires_grad -> True, True, True, True
# on an accelerator
z is y, y.grad.device == y.device -> False, True
error(lambda: v * y).split(",")[0] -> "RuntimeError: Expected all tensors to be on the same device"
w = leaf(1.0)
v = w.cpu()
v[0] = 7.0
w, v, type(v.grad_fn).__name__ -> 1.0, 7.0, "CopySlices"
""",
    "numpy": """
x = leaf(2.0, grad=False, on="cpu")
z = x.numpy()
z[0] = 7.0
x, z[0] -> 7.0, 7.0
w = leaf(1.0, on="cpu")
needs_detach = "RuntimeError: Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
error(w.numpy), error(w.clone().numpy), error(x.clone().numpy) -> needs_detach, needs_detach, "no error"
w.detach().numpy()[0] = 5.0
w -> 5.0
w.detach().numpy().copy()[0] = 9.0
w -> 5.0
w.detach().clone().numpy()[0] = 9.0
w -> 5.0
w.clone().detach().numpy()[0] = 9.0
w -> 5.0
# on an accelerator
x = leaf(2.0, grad=False)
needs_cpu = f"TypeError: can't convert {x.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
error(x.numpy), error(x.detach().clone().numpy) -> needs_cpu, needs_cpu
""",
    "detach_clone": """
w = leaf(1.0)
z = w.detach()
s = z.clone()
z, z.grad, z is w, z.is_leaf, z.requires_grad -> 1.0, None, False, True, False
s, s.grad, s is w, s.is_leaf, s.requires_grad -> 1.0, None, False, True, False
s[0] = 7.0
w -> 1.0
""",
    "clone_detach": """
x, w, b = leaf(2.0, grad=False), leaf(4.0), leaf(3.0)
v = w.clone()
z = v.detach()
y = x * v + b
y.backward()
t, c = leaf(7.0), leaf(9.0)
u = z * t + c
u.backward()
y, u -> 11.0, 37.0
x.grad, w.grad, b.grad, y.grad, v.grad, z.grad, t.grad, c.grad, u.grad -> None, 2.0, 1.0, None, None, None, 4.0, 1.0, None
z[0] = 8.0
w -> 4.0
""",
    "new_tensor": """
x = leaf(2.0)
properties(x.new_tensor(x)) -> 2.0, True, False
properties(x.new_tensor(x, requires_grad=True)) -> 2.0, True, True
""",
    "shared_weights": """
x, w, b = leaf(2.0, grad=False), leaf(4.0), leaf(3.0)
z = w.detach()
y = x * w + b
y.backward()
t, c = leaf(7.0), leaf(9.0)
u = z * t + c
u.backward()
w.grad, z.grad, t.grad -> 2.0, None, 4.0
descend(w, b)
w, z -> 3.0, 3.0
t.grad = c.grad = None
u = z * t + c
u.backward()
descend(t, c)
t.grad, w -> 3.0, 3.0
""",
}


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
        return [claim for section, code in SECTIONS.items() for claim in _claims(section, code, device)]


def _claims(section: str, code: str, device: str) -> Iterator[Claim]:
    def leaf(value: float, grad: bool = True, on: str = device) -> torch.Tensor:
        return torch.tensor([value], device=on, requires_grad=grad)

    names: dict[str, Any] = {"leaf": leaf, "error": _error, "properties": _properties, "descend": _descend}
    applies = code if device != "cpu" else code.partition(ON_ACCELERATOR)[0]
    for line in applies.strip().splitlines():
        left, arrow, right = line.partition(" -> ")
        if not arrow:
            exec(line, names)  # noqa: S102 - the lines are above
            continue
        parsed = ast.parse(left, mode="eval").body
        expressions = [ast.unparse(part) for part in parsed.elts] if isinstance(parsed, ast.Tuple) else [left]
        printed = eval(right, names)  # noqa: S307
        for expression, value in zip(expressions, printed if len(expressions) > 1 else [printed]):
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
            "fail": [f"{claim.section}: {claim.expression} is {claim.got!r}, printed {claim.printed!r}" for claim in failing],
        }
    return {"methods": methods, "article": article}


def observed_on(devices: Sequence[str], of_groups: Mapping[str, Mapping[str, Method]]) -> dict[str, Any]:
    """Return each method's group, code and observed semantics on `devices`, by name.

    of_groups : the methods by group

    "observed" is empty for a method that this torch does not have.
    """
    rows: dict[str, Any] = {}
    for group, methods in of_groups.items():
        for method in methods.values():
            row = {"group": group, "code": method.code, "code_on_accelerator": method.code_on_accelerator, "since": method.since}
            rows[method.name] = {**row, "observed": {}}
            for device in devices if exists(method) else ():
                observation, promise = semantics.observed(method, device), promised(method, device)
                as_promised = None if promise is None else observation == promise
                rows[method.name]["observed"][device] = {**asdict(observation), "as_promised": as_promised}
    return rows


def main(arguments: Sequence[str], report_progress: ReportProgress = ignore_progress) -> dict[str, Any]:
    """Check on the devices that are the arguments, or on all available ones.

    Returns the versions, the rows, and the devices that are there and cannot be used, as plain values.
    """
    return {
        "torch": torch.__version__,
        "torch_sha": torch.version.git_version,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "unsupported": devices.unsupported(),
        "checked": [{**asdict(row), "kept": row.kept} for row in check(arguments)],
    }
