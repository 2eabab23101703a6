"""The semantics of a method: storage, graph, device, dtype, layout, warnings.

`methods.py` states what each method promises; `observed` runs it on a small tensor and reports what it does. Both have the same fields, so
that tests, pages and readers can compare them.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import inf, nan
from typing import Any, Protocol


class RunsOnDevices(Protocol):
    """A method: a function of a tensor for each device."""

    on: Mapping[str, Callable[[Any], Any]]


@dataclass(frozen=True)
class Outcome:
    """The result `y` of a method called on `x`; None in fields that do not apply.

    gives : "tensor", "ndarray" or "error"
    shares_storage : whether a later write to x changes y
    keeps_graph : whether gradients flow from y to x
    is_leaf, requires_grad : of y
    device, dtype : "same" where they equal those of x, else their names
    layout : "same" where y has the strides of a transposed x, or "contiguous"
    warns : category and text of its warnings, except DeprecationWarning
    raises : type and text of its error; `{device}` stands for the tensor's device
    changes : what is not that of x: "shape", "values" or "gradients", joined by ", "; "" for a true copy or view
    """

    gives: str = "tensor"
    shares_storage: bool | None = False
    keeps_graph: bool | None = False
    is_leaf: bool | None = True
    requires_grad: bool | None = False
    device: str | None = "same"
    dtype: str | None = "same"
    layout: str | None = "same"
    warns: str = ""
    raises: str = ""
    changes: str = ""


@dataclass(frozen=True)
class Semantics:
    """The outcomes for a tensor without grad, and for a leaf that requires grad."""

    plain: Outcome
    with_grad: Outcome


def raises(text: str) -> Outcome:
    """Return the outcome of a call that raises `text`, as "Type: message"."""
    return Outcome("error", None, None, None, None, None, None, None, raises=text)


def array(**fields: Any) -> Outcome:
    """Return the outcome of a call that returns an ndarray, which has no graph."""
    return Outcome(**{"gives": "ndarray", "keeps_graph": None, "is_leaf": None, "requires_grad": None, "device": "cpu", **fields})


def observed(method: RunsOnDevices, device: str, *, transposed: bool = True) -> Semantics:
    """Run `method` on `device`, and return what it does with the installed torch.

    device : one of `devices.DEVICES`
    transposed : whether x is, so that a method that changes the layout is detected

    An error of the method is an outcome, and is not raised.
    """
    return Semantics(
        plain=_outcome(method, device, transposed, requires_grad=False),
        with_grad=_outcome(method, device, transposed, requires_grad=True),
    )


def _outcome(method: RunsOnDevices, device: str, transposed: bool, *, requires_grad: bool) -> Outcome:
    import torch

    x = torch.arange(6, dtype=torch.float32, device=device).reshape(2, 3)
    x = (x.t() if transposed else x).requires_grad_(requires_grad)
    try:
        with _record_warnings() as caught:
            y = method.on[device](x)
        with _record_warnings():  # of what follows, which is not the method's
            outcome = _tensor_outcome(x, y) if isinstance(y, torch.Tensor) else _array_outcome(x, y)
            changed = _changes(method, device, transposed, requires_grad)
    except Exception as error:  # any error is an outcome
        return raises(f"{type(error).__name__}: {_first_line(error)}".replace(str(x.device), "{device}"))
    # numpy 2 addresses its DeprecationWarning to torch's developers, not to torch's users
    shown = [warning for warning in caught if not issubclass(warning.category, DeprecationWarning)]
    warns = "; ".join(f"{warning.category.__name__}: {_first_line(warning.message)}" for warning in shown)
    return replace(outcome, warns=warns, changes=changed)


def _array_outcome(x: Any, y: Any) -> Outcome:
    import numpy as np

    if not isinstance(y, np.ndarray):
        raise TypeError(f"{type(y).__name__} returned, neither a tensor nor an ndarray")
    return array(
        shares_storage=_shares_storage(x, y),
        dtype="same" if y.dtype.name == "float32" else y.dtype.name,
        layout=_layout(x, tuple(stride // y.itemsize for stride in y.strides)),
    )


def _tensor_outcome(x: Any, y: Any) -> Outcome:
    return Outcome(
        keeps_graph=_keeps_graph(x, y),
        is_leaf=y.is_leaf,
        requires_grad=y.requires_grad,
        device="same" if y.device == x.device else y.device.type,
        dtype="same" if y.dtype == x.dtype else str(y.dtype),
        layout=_layout(x, y.stride()),
        shares_storage=_shares_storage(x, y),  # last, as it writes to x
    )


@contextmanager
def _record_warnings() -> Iterator[list[warnings.WarningMessage]]:
    """Record all warnings, including those that torch emits once per process."""
    import torch

    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield caught
    finally:
        torch.set_warn_always(before)


def _layout(x: Any, strides: tuple[int, ...]) -> str:
    """Return the layout of a result with `strides`, in elements, relative to x."""
    if strides == x.stride():
        return "same"
    return "contiguous" if strides == x.contiguous().stride() else str(strides)


def _keeps_graph(x: Any, y: Any) -> bool:
    """Return whether a gradient of y reaches x."""
    if not y.requires_grad:
        return False
    x.grad = None
    y.sum().backward(retain_graph=True)
    reached = x.grad is not None
    x.grad = None
    return reached


def _shares_storage(x: Any, y: Any) -> bool:
    """Return whether a write to x changes y; writes to x."""
    import torch

    before = copy.deepcopy(y.detach() if isinstance(y, torch.Tensor) else y)
    with torch.no_grad():
        x.fill_(99.0)
    return not _equal(before, y)


def _changes(method: RunsOnDevices, device: str, transposed: bool, requires_grad: bool) -> str:
    """Return what a method changes: "shape", "values", "gradients"; called on values of all kinds, which no operation but a copy keeps."""
    import torch

    random = torch.Generator().manual_seed(0)
    spread = torch.randn(24, generator=random) * 10 ** (40 * torch.rand(24, generator=random) - 20)
    values = torch.cat([spread, torch.randn(24, generator=random), torch.tensor([0.0, 1.0, -1.0, 1e30, -1e30, inf, -inf, nan])]).reshape(
        2, -1
    )
    x = values.clone().to(device)
    values, x = (values.t(), x.t()) if transposed else (values, x)
    x.requires_grad_(requires_grad)
    try:
        y = method.on[device](x)
        if tuple(y.shape) != tuple(x.shape):
            return "shape, values"
        changed = [] if _equal(y, values) and _equal(x, values) else ["values"]
        if isinstance(y, torch.Tensor) and y.requires_grad:
            gradient = torch.randn(y.shape, generator=random).to(y.device, y.dtype)
            (y * gradient).sum().backward()  # backward(gradient) would import a quarter of torch, for half a second
            if x.grad is not None and not _equal(x.grad, gradient):
                changed.append("gradients")
    except Exception:  # it fails for some values
        return "values"
    return ", ".join(changed)


def _equal(first: Any, second: Any) -> bool:
    """Return whether two tensors or ndarrays of one shape have the same values; NaN equals NaN."""
    import torch

    a, b = (torch.as_tensor(each).detach().cpu() for each in (first, second))
    return bool(((a == b) | ((a != a) & (b != b))).all())


def _first_line(message: Any) -> str:
    """Return the first line, without the source line of torch that triggered it.

    That line differs between builds.
    """
    return str(message).strip().split("\n")[0].split(" (Triggered internally")[0].strip()


def describe(observed: dict[str, Any]) -> str:
    """Return an outcome in a few words: "independent, out of the graph"."""
    if observed["raises"]:
        return str(observed["raises"]).replace("{device}", "the device")
    words = [f"changes {observed['changes'].replace(', ', ' and ')}"] if observed.get("changes") else []
    words.append("shares storage" if observed["shares_storage"] else "independent")
    if observed["gives"] == "tensor":
        words.append("in the graph" if observed["keeps_graph"] else "out of the graph")
        if observed["requires_grad"] and not observed["keeps_graph"]:
            words.append("requires grad itself")
    if observed["layout"] != "same":
        words.append(f"layout {observed['layout']}")
    if observed["warns"]:
        words.append("warns")
    return ", ".join(words)


def describe_differences(promised: dict[str, Any], observed: dict[str, Any]) -> str:
    """Return the fields that differ: "keeps_graph: False promised, True observed"."""
    names = [name for name in promised if promised[name] != observed[name]]
    return "; ".join(f"{name}: {promised[name]!r} promised, {observed[name]!r} observed" for name in names)
