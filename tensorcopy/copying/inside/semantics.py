"""The semantics of a method: storage, graph, device, dtype, layout, warnings.

`methods.py` states what each method promises; `observed` runs it on a small tensor and reports what it does. Both have the same fields, so
that tests, pages and readers can compare them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import inf, nan
from typing import Any, Protocol

from tensorcopy.errors import first_line, line_of
from tensorcopy.worker.devices import with_device


class RunsOnDevices(Protocol):
    """A method: a function of a tensor for each device."""

    on: Mapping[str, Callable[[Any], Any]]


@dataclass(frozen=True)
class Outcome:
    """The result `y` of a method called on `x`; None in fields that do not apply, or were not observed.

    gives : "tensor", "ndarray", "error", or the name of another type, of which nothing is observed
    shares_storage : whether a later write to x changes y
    keeps_graph : whether gradients flow from y to x
    is_leaf, requires_grad : of y
    device, dtype : "same" where they equal those of x, else their names
    layout : "same" where y has the strides of a transposed x, "contiguous", other strides, or the name of a layout without strides
    warns : category and text of its warnings, except DeprecationWarning
    raises : type and text of its error; `{device}` stands for the tensor's device
    changes : what is not that of x: "shape", "values" or "gradients", and "x" where that was written into, joined by ", "; "" for a true
        copy or view
    unobserved : what could not be observed, each with the reason: "gradients: RuntimeError: …"
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
    changes: str | None = ""
    unobserved: tuple[str, ...] = ()


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


# the tensors that a method is tried on, made of two dimensions, until it accepts one: transposed, a change of the layout is detected
FORMS: Mapping[str, Callable[[Any], Any]] = {
    "a transposed tensor": lambda x: x.t(),
    "a contiguous tensor": lambda x: x.t().contiguous(),
    "a tensor of four dimensions": lambda x: x.t().reshape(1, x.shape[1], x.shape[0], 1),
}


def observed(method: RunsOnDevices, device: str) -> Semantics:
    """Run `method` on `device`, and return what it does with the installed torch.

    device : cpu, cuda, mps or xpu

    An error of the method is an outcome, and is not raised.
    """
    return Semantics(plain=_outcome(method, device, requires_grad=False), with_grad=_outcome(method, device, requires_grad=True))


def _outcome(method: RunsOnDevices, device: str, *, requires_grad: bool) -> Outcome:
    import numpy as np
    import torch

    errors: dict[str, str] = {}
    for form, formed in FORMS.items():
        x = formed(torch.arange(6, dtype=torch.float32, device=device).reshape(2, 3)).requires_grad_(requires_grad)
        try:
            with _record_warnings() as caught:
                y = method.on[device](x)
            break
        except (Exception, SystemExit) as error:  # any error is an outcome
            errors[form] = line_of(error).replace(str(x.device), "{device}")
    else:
        return raises(next(iter(errors.values())))
    # numpy 2 addresses its DeprecationWarning to torch's developers, not to torch's users
    shown = [warning for warning in caught if not issubclass(warning.category, DeprecationWarning)]
    warns = "; ".join(f"{warning.category.__name__}: {first_line(warning.message)}" for warning in shown)
    is_tensor = isinstance(y, torch.Tensor)
    if not (is_tensor or isinstance(y, np.ndarray)):
        return replace(raises(""), gives=type(y).__name__, warns=warns, changes=None)
    unobserved = [f"{form}: {text}" for form, text in errors.items()]

    def observe(what: str, act: Callable[..., Any], *arguments: Any) -> Any:
        """Return an observation; None where it fails, which is no error of the method."""
        try:
            return act(*arguments)
        except (Exception, SystemExit) as error:
            unobserved.append(f"{what}: {line_of(error)}")
            return None

    with _record_warnings():  # of what follows, which is not the method's
        fields = {name: observe(name.replace("_", " "), act, x, y) for name, act in (OF_TENSORS if is_tensor else OF_ARRAYS).items()}
        values = formed(_values_of_all_kinds())
        other = values.to(device, copy=True).requires_grad_(requires_grad)
        result = observe(f"a tensor of shape {tuple(other.shape)}", method.on[device], other)
        changes = None if result is None else observe("values", _changed_values, values, other, result)
        if changes in ("", "values") and is_tensor and result.requires_grad:
            changes = ", ".join(filter(None, [changes, observe("gradients", _changed_gradients, other, result)]))
    outcome = Outcome(**fields) if is_tensor else array(**fields)
    return replace(outcome, warns=warns, changes=changes, unobserved=tuple(unobserved))


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


def _layout(x: Any, y: Any) -> str:
    """Return the layout of y relative to x."""
    import torch

    if isinstance(y, torch.Tensor) and y.layout is not torch.strided:
        return str(y.layout).rpartition(".")[2].lstrip("_")
    strides = y.stride() if isinstance(y, torch.Tensor) else tuple(stride // y.itemsize for stride in y.strides)
    if strides == x.stride() and not x.is_contiguous():
        return "same"
    return "contiguous" if strides == x.contiguous().stride() else str(strides)


def _dtype(x: Any, y: Any) -> str:
    return "same" if str(y.dtype) in (str(x.dtype), "float32") else str(y.dtype)


def _keeps_graph(x: Any, y: Any) -> bool:
    """Return whether a gradient of y reaches x."""
    return y.requires_grad and _gradient(x, y) is not None


def _gradient(x: Any, y: Any, gradient: Any = 1) -> Any:
    """Return what reaches x where y has this gradient; None where nothing does."""
    import torch

    total = ((y if y.layout is torch.strided else y.to_dense()) * gradient).sum()
    x.grad = None
    (total.real if total.is_complex() else total).backward(retain_graph=True)  # backward(gradient) would import a quarter of torch
    reached, x.grad = x.grad, None
    return reached


def _shares_storage(x: Any, y: Any) -> bool:
    """Return whether a write to x changes y; writes to x."""
    import torch

    from tensorcopy.copying.inside.values import as_array, equal

    before = as_array(y).copy()
    with torch.no_grad():
        x.fill_(99.0)
    return not equal(before, y)


def _values_of_all_kinds() -> Any:
    """Return a tensor on the CPU, with values that no operation but a copy keeps; no size is that of `_outcome`."""
    import torch

    random = torch.Generator().manual_seed(0)
    spread = torch.randn(24, generator=random) * 10 ** (40 * torch.rand(24, generator=random) - 20)
    special = torch.tensor([0.0, 1.0, -1.0, 1e30, -1e30, inf, -inf, nan])
    values = torch.cat([spread, torch.randn(24, generator=random), special])
    return values.reshape(7, -1)


def _changed_values(values: Any, x: Any, y: Any) -> str:
    """Return "shape, values" or "values" for what differs in the result, with "x" where x itself does; "" for nothing."""
    from tensorcopy.copying.inside.values import equal

    of_result = ["shape", "values"] if tuple(y.shape) != tuple(values.shape) else [] if equal(y, values) else ["values"]
    return ", ".join([*of_result, *([] if equal(x, values) else ["x"])])


def _changed_gradients(x: Any, y: Any) -> str:
    """Return "gradients" where one that reaches x is not that of y."""
    import torch

    from tensorcopy.copying.inside.values import equal

    if y.layout is not torch.strided:
        raise TypeError(f"those of {y.layout} are not compared")
    gradient = torch.randn(y.shape, generator=torch.Generator().manual_seed(1)).to(y.device, y.dtype)
    reached = _gradient(x, y, gradient)
    return "" if reached is None or equal(reached, gradient) else "gradients"


# by field of Outcome, from x and y; the last one writes to x
OF_ARRAYS: Mapping[str, Callable[[Any, Any], Any]] = {"dtype": _dtype, "layout": _layout, "shares_storage": _shares_storage}
OF_TENSORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "keeps_graph": _keeps_graph,
    "is_leaf": lambda x, y: y.is_leaf,
    "requires_grad": lambda x, y: y.requires_grad,
    "device": lambda x, y: "same" if y.device == x.device else y.device.type,
    **OF_ARRAYS,
}


def error_of(observed: Mapping[str, Any], device: str) -> str:
    """Return the error of an outcome on a device as torch words it, which names the device "cuda:0"; "" where none was raised."""
    return with_device(str(observed["raises"]), device)


def describe(observed: dict[str, Any], device: str = "cpu") -> str:
    """Return an outcome on a device in a few words: "independent, out of the graph"."""
    if observed["raises"]:
        return error_of(observed, device)
    if observed["gives"] not in ("tensor", "ndarray"):
        return f"returns a {observed['gives']}, of which nothing is observed"
    changes = (observed.get("changes") or "").split(", ")
    changed = [each for each in changes if each not in ("", "x")]
    words = [f"changes {' and '.join(changed)}"] * bool(changed) + ["writes into x"] * ("x" in changes)
    words += {True: ["shares storage"], False: ["independent"]}.get(observed["shares_storage"], [])
    if observed["gives"] == "tensor":
        words += {True: ["in the graph"], False: ["out of the graph"]}.get(observed["keeps_graph"], [])
        if observed["requires_grad"] and observed["keeps_graph"] is False:
            words.append("requires grad itself")
    for name in ("dtype", "layout", *(["device"] if observed["gives"] == "tensor" else [])):
        if observed[name] not in ("same", None):
            words.append(f"{name} {observed[name].replace('torch.', '')}")
    if observed["warns"]:
        words.append("warns")
    unobserved = " and ".join(reason.partition(":")[0] for reason in observed.get("unobserved", ()))
    return ", ".join([*words, *([f"not observed: {unobserved}"] if unobserved else [])])


def describe_differences(promised: dict[str, Any], observed: dict[str, Any]) -> str:
    """Return the fields that differ: "keeps_graph: False promised, True observed"."""
    names = [name for name in promised if promised[name] != observed[name]]
    return "; ".join(f"{name}: {promised[name]!r} promised, {observed[name]!r} observed" for name in names)
