"""What a method promises, and what it is observed to do.

A promise is written down once in `methods.py`; an observation is made here by running the method on a small tensor and looking.
The two have the same fields, so that a test, a page and a person can lay them side by side.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol


class RunsOnDevices(Protocol):
    """Has a function of a tensor for each device."""

    on: Mapping[str, Callable[[Any], Any]]


@dataclass(frozen=True)
class Outcome:
    """What one call gives. Read as a sentence about the result `y` of a method on `x`; a field is None where it says nothing.

    gives : "tensor", "ndarray" or "error"
    shares_storage : whether a later write to x shows in y
    keeps_graph : whether a gradient of y reaches x
    is_leaf, requires_grad : as y has them
    device, dtype : "same" as those of x, or which
    layout : "same" where the strides of a transposed x are kept, or "contiguous"
    warns : category and text; no DeprecationWarning
    raises : type and text; `{device}` stands for the tensor's device
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
    """What a method gives for a tensor that does not require grad, and for a leaf that does."""

    plain: Outcome
    with_grad: Outcome


def raises(text: str) -> Outcome:
    """The outcome of a call that fails with `text`, written "Type: message"."""
    return Outcome("error", None, None, None, None, None, None, None, raises=text)


def array(**fields: Any) -> Outcome:
    """The outcome of a call that gives an ndarray: there is no graph it could be part of."""
    return Outcome(**{"gives": "ndarray", "keeps_graph": None, "is_leaf": None, "requires_grad": None, "device": "cpu", **fields})


def observed(method: RunsOnDevices, device: str) -> Semantics:
    """What `method` really does on `device` ("cpu", "cuda", "mps", "xpu"), with the torch that is installed.

    Raises nothing of the method's own: an error is an outcome.
    """
    return Semantics(
        plain=_outcome(method, device, requires_grad=False),
        with_grad=_outcome(method, device, requires_grad=True),
    )


def _outcome(method: RunsOnDevices, device: str, *, requires_grad: bool) -> Outcome:
    import torch

    # transposed, so that a method that lays its result out anew is seen to
    x = torch.arange(6, dtype=torch.float32, device=device).reshape(2, 3).t().requires_grad_(requires_grad)
    with _every_warning() as caught:
        try:
            y = method.on[device](x)
        except Exception as error:  # whatever a method raises is what is being asked
            return raises(f"{type(error).__name__}: {_first_line(error)}".replace(str(x.device), "{device}"))
    # a DeprecationWarning is numpy 2 speaking to torch's developers, not torch to its users
    told = [one for one in caught if not issubclass(one.category, DeprecationWarning)]
    warns = "; ".join(f"{one.category.__name__}: {_first_line(one.message)}" for one in told)
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
        shares_storage=_shares_storage(x, y),  # last: it writes
        warns=warns,
    )


@contextmanager
def _every_warning() -> Iterator[list[warnings.WarningMessage]]:
    """What is warned of inside, also what torch says but once in a process: it may have said it for another device."""
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
    """How a result with `strides`, in elements, lies beside x."""
    if strides == x.stride():
        return "same"
    return "contiguous" if strides == x.contiguous().stride() else str(strides)


def _keeps_graph(x: Any, y: Any) -> bool:
    """Whether y.sum()'s gradient arrives at x."""
    if not y.requires_grad:
        return False
    x.grad = None
    y.sum().backward()
    arrived = x.grad is not None and bool((x.grad == 1).all())
    x.grad = None
    return arrived


def _shares_storage(x: Any, y: Any) -> bool:
    """Whether a write to x shows in y. Both are changed."""
    import torch

    with torch.no_grad():
        x[0, 0] = 99.0
        return float(y[0, 0]) == 99.0


def _first_line(message: Any) -> str:
    """The text without what changes from build to build: where in torch's sources it was triggered."""
    return str(message).strip().split("\n")[0].split(" (Triggered internally")[0].strip()
