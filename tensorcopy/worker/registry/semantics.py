"""The semantics of a method: storage, graph, device, dtype, layout, warnings.

`methods.py` states what each method promises; `observed` runs it on a small tensor and reports what it does. Both have the same fields, so
that tests, pages and readers can compare them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
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


def observed(method: RunsOnDevices, device: str) -> Semantics:
    """Run `method` on `device`, and return what it does with the installed torch.

    device : one of `devices.DEVICES`

    An error that the method raises is an outcome, and is not raised.
    """
    return Semantics(
        plain=_outcome(method, device, requires_grad=False),
        with_grad=_outcome(method, device, requires_grad=True),
    )


def _outcome(method: RunsOnDevices, device: str, *, requires_grad: bool) -> Outcome:
    import torch

    # transposed, so that a method that changes the layout is detected
    x = torch.arange(6, dtype=torch.float32, device=device).reshape(2, 3).t().requires_grad_(requires_grad)
    with _record_warnings() as caught:
        try:
            y = method.on[device](x)
        except Exception as error:  # any error is an outcome
            return raises(f"{type(error).__name__}: {_first_line(error)}".replace(str(x.device), "{device}"))
    # numpy 2 addresses its DeprecationWarning to torch's developers, not to torch's users
    shown = [warning for warning in caught if not issubclass(warning.category, DeprecationWarning)]
    warns = "; ".join(f"{warning.category.__name__}: {_first_line(warning.message)}" for warning in shown)
    if not isinstance(y, torch.Tensor):
        return array(
            shares_storage=_shares_storage(x, y),
            dtype="same" if y.dtype.name == "float32" else y.dtype.name,
            layout=_layout(x, tuple(stride // y.itemsize for stride in y.strides)),
            warns=warns,
        )
    return Outcome(
        keeps_graph=_keeps_graph(x, y),
        is_leaf=y.is_leaf,
        requires_grad=y.requires_grad,
        device="same" if y.device == x.device else y.device.type,
        dtype="same" if y.dtype == x.dtype else str(y.dtype),
        layout=_layout(x, y.stride()),
        shares_storage=_shares_storage(x, y),  # last, as it writes to x
        warns=warns,
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
    """Return whether the gradient of y.sum() reaches x."""
    if not y.requires_grad:
        return False
    x.grad = None
    y.sum().backward()
    reached = x.grad is not None and bool((x.grad == 1).all())
    x.grad = None
    return reached


def _shares_storage(x: Any, y: Any) -> bool:
    """Return whether a write to x changes y; writes to x."""
    import torch

    with torch.no_grad():
        x[0, 0] = 99.0
        return float(y[0, 0]) == 99.0


def _first_line(message: Any) -> str:
    """Return the first line, without the source line of torch that triggered it.

    That line differs between builds.
    """
    return str(message).strip().split("\n")[0].split(" (Triggered internally")[0].strip()
