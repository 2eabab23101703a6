"""The article's printed values, checked on every torch release.

Each function runs one section of the article and yields (expression, value here, value the article prints). `device` replaces the article's
DEVICE, which is CUDA. Statements about two devices are yielded only where `device` is not the CPU.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch

Row = tuple[str, Any, Any]


class Statement(NamedTuple):
    """A value that the article prints, with its section and the value here."""

    section: str
    expression: str
    got: Any
    printed: Any

    @property
    def holds(self) -> bool:
        return bool(self.got == self.printed)


def statements(device: str) -> list[Statement]:
    """Return every statement of the article, evaluated on `device`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns on reading .grad of a non-leaf; that it is None is a statement
        return [Statement(section.__name__, *row) for section in SECTIONS for row in section(device)]


def _leaf(value: float, device: str, requires_grad: bool = True) -> torch.Tensor:
    return torch.tensor([value], device=device, requires_grad=requires_grad)


def _value(tensor: Any) -> Any:
    return None if tensor is None else tensor.item()


def _error(function: Callable[[], Any]) -> str:
    try:
        function()
    except (TypeError, RuntimeError) as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


def graph(device: str) -> Iterator[Row]:
    """y = x*w + b: the gradient reaches the leaves that require it."""
    x, w, b = _leaf(2.0, device, False), _leaf(1.0, device), _leaf(3.0, device)
    y = x * w + b
    y.backward()
    yield "y", y.item(), 5.0
    yield "y.grad_fn", type(y.grad_fn).__name__, "AddBackward0"
    for name, tensor, gradient in (("x", x, None), ("w", w, 2.0), ("b", b, 1.0), ("y", y, None)):
        yield f"{name}.grad", _value(tensor.grad), gradient
    for name, tensor, requires_grad in (("x", x, False), ("w", w, True), ("b", b, True), ("y", y, True)):
        yield f"{name}.requires_grad", tensor.requires_grad, requires_grad
    for name, tensor, is_leaf in (("x", x, True), ("w", w, True), ("b", b, True), ("y", y, False)):
        yield f"{name}.is_leaf", tensor.is_leaf, is_leaf


def detach(device: str) -> Iterator[Row]:
    """z = w.detach(): not in the graph, shared values."""
    w = _leaf(1.0, device)
    y = _leaf(2.0, device, False) * w
    z = w.detach()
    yield "z.device == w.device", z.device == w.device, True
    yield "z.requires_grad", z.requires_grad, False
    yield "z.grad", z.grad, None
    yield "z is y", z is y, False
    yield "z.is_leaf", z.is_leaf, True
    z[0] = 2
    yield "w after z[0] = 2", w.item(), 2.0
    yield "z after z[0] = 2", z.item(), 2.0


def clone(device: str) -> Iterator[Row]:
    """v = w.clone(): in the graph, copied values."""
    x, w, b = _leaf(2.0, device, False), _leaf(1.0, device), _leaf(3.0, device)
    v = w.clone()
    y = x * v + b
    y.backward()
    yield "v.grad_fn", type(v.grad_fn).__name__.rstrip("0"), "CloneBackward"
    yield "y", y.item(), 5.0
    for name, tensor, gradient in (("x", x, None), ("w", w, 2.0), ("v", v, None), ("b", b, 1.0), ("y", y, None)):
        yield f"{name}.grad", _value(tensor.grad), gradient
    yield "v is w", v is w, False
    yield "v.is_leaf", v.is_leaf, False
    yield "v.requires_grad", v.requires_grad, True
    v[0] = 7.0
    yield "w after v[0] = 7.0", w.item(), 1.0
    yield "v after v[0] = 7.0", v.item(), 7.0
    yield "v.grad_fn after v[0] = 7.0", type(v.grad_fn).__name__, "CopySlices"


def retain_grad(device: str) -> Iterator[Row]:
    """A clone keeps its gradient after retain_grad(); w gets 2 + 1."""
    x, w = _leaf(2.0, device, False), _leaf(1.0, device)
    v = w.clone()
    v.retain_grad()
    y = x * w + v
    y.backward()
    yield "y", y.item(), 3.0
    for name, tensor, gradient in (("x", x, None), ("w", w, 3.0), ("v", v, 1.0), ("y", y, None)):
        yield f"{name}.grad", _value(tensor.grad), gradient


def cpu(device: str) -> Iterator[Row]:
    """z = y.cpu(): gradients flow across devices, values are copied."""
    x, w, b = _leaf(2.0, device, False), _leaf(1.0, device), _leaf(3.0, device)
    y = x * w + b
    y.retain_grad()
    z = y.cpu()
    z.retain_grad()
    v, c = _leaf(7.0, "cpu"), _leaf(4.0, "cpu")
    f = v * z + c
    f.backward()
    yield "z", z.item(), 5.0
    yield "z.device", z.device.type, "cpu"
    yield "f", f.item(), 39.0
    gradients = (("x", x, None), ("w", w, 14.0), ("b", b, 7.0), ("y", y, 7.0), ("z", z, 7.0), ("v", v, 5.0), ("c", c, 1.0), ("f", f, None))
    for name, tensor, gradient in gradients:
        yield f"{name}.grad", _value(tensor.grad), gradient
    for name, tensor, is_leaf in (("z", z, False), ("v", v, True), ("c", c, True), ("f", f, False)):
        yield f"{name}.is_leaf", tensor.is_leaf, is_leaf
        yield f"{name}.requires_grad", tensor.requires_grad, True
    if device == "cpu":
        return  # on the CPU, .cpu() returns the tensor itself: the rest does not apply
    yield "z is y", z is y, False
    yield "y.grad.device == y.device", y.grad is not None and y.grad.device == y.device, True
    yield "v * y", _error(lambda: v * y).split(",")[0], "RuntimeError: Expected all tensors to be on the same device"
    w = _leaf(1.0, device)
    v = w.cpu()
    v[0] = 7.0
    yield "w after w.cpu()[0] = 7.0", w.item(), 1.0
    yield "v after w.cpu()[0] = 7.0", v.item(), 7.0
    yield "v.grad_fn", type(v.grad_fn).__name__, "CopySlices"


def numpy(device: str) -> Iterator[Row]:
    """x.numpy(): shares storage; raises in the graph and on other devices."""
    x = _leaf(2.0, "cpu", False)
    z = x.numpy()
    z[0] = 7.0
    yield "x after z[0] = 7.0", x.item(), 7.0
    yield "z after z[0] = 7.0", float(z[0]), 7.0
    w = _leaf(1.0, "cpu")
    needs_detach = "RuntimeError: Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
    yield "w.numpy()", _error(w.numpy), needs_detach
    yield "w.clone().numpy()", _error(lambda: w.clone().numpy()), needs_detach
    yield "x.clone().numpy()", _error(lambda: x.clone().numpy()), "no error"
    shared = w.detach().numpy()
    shared[0] = 5.0
    yield "w after w.detach().numpy()[0] = 5.0", w.item(), 5.0
    for code, ndarray in (
        ("w.detach().numpy().copy()", w.detach().numpy().copy()),
        ("w.detach().clone().numpy()", w.detach().clone().numpy()),
        ("w.clone().detach().numpy()", w.clone().detach().numpy()),
    ):
        ndarray[0] = 9.0
        yield f"w after {code}[0] = 9.0", w.item(), 5.0
    if device != "cpu":
        on_device = _leaf(2.0, device, False)
        needs_cpu = (
            f"TypeError: can't convert {on_device.device} device type tensor to numpy. "
            "Use Tensor.cpu() to copy the tensor to host memory first."
        )
        yield "x.numpy()", _error(on_device.numpy), needs_cpu
        yield "x.detach().clone().numpy()", _error(lambda: on_device.detach().clone().numpy()), needs_cpu


def detach_clone(device: str) -> Iterator[Row]:
    """s = w.detach().clone(): shares neither values nor graph."""
    w = _leaf(1.0, device)
    z = w.detach()
    s = z.clone()
    for name, tensor in (("z", z), ("s", s)):
        yield name, tensor.item(), 1.0
        yield f"{name}.grad", tensor.grad, None
        yield f"{name} is w", tensor is w, False
        yield f"{name}.is_leaf", tensor.is_leaf, True
        yield f"{name}.requires_grad", tensor.requires_grad, False
    s[0] = 7.0
    yield "w after s[0] = 7.0", w.item(), 1.0


def clone_detach(device: str) -> Iterator[Row]:
    """z = w.clone().detach(): gradients behind z do not reach w."""
    x, w, b = _leaf(2.0, device, False), _leaf(4.0, device), _leaf(3.0, device)
    v = w.clone()
    z = v.detach()
    y = x * v + b
    y.backward()
    t, c = _leaf(7.0, device), _leaf(9.0, device)
    u = z * t + c
    u.backward()
    yield "y", y.item(), 11.0
    yield "u", u.item(), 37.0
    gradients = (
        ("x", x, None),
        ("w", w, 2.0),
        ("b", b, 1.0),
        ("y", y, None),
        ("v", v, None),
        ("z", z, None),
        ("t", t, 4.0),
        ("c", c, 1.0),
        ("u", u, None),
    )
    for name, tensor, gradient in gradients:
        yield f"{name}.grad", _value(tensor.grad), gradient
    z[0] = 8.0
    yield "w after z[0] = 8.0", w.item(), 4.0


def new_tensor(device: str) -> Iterator[Row]:
    """tensor.new_tensor(x) equals x.clone().detach(), also with requires_grad=True."""
    x = _leaf(2.0, device)
    copy = x.new_tensor(x)
    yield "x.new_tensor(x)", (copy.item(), copy.is_leaf, copy.requires_grad), (2.0, True, False)
    copy = x.new_tensor(x, requires_grad=True)
    yield "x.new_tensor(x, requires_grad=True)", (copy.item(), copy.is_leaf, copy.requires_grad), (2.0, True, True)


def shared_weights(device: str) -> Iterator[Row]:
    """Network A trains w; network B reads z = w.detach() and never changes w."""
    x, w, b = _leaf(2.0, device, False), _leaf(4.0, device), _leaf(3.0, device)
    z = w.detach()
    y = x * w + b
    y.backward()
    t, c = _leaf(7.0, device), _leaf(9.0, device)
    u = z * t + c
    u.backward()
    yield "w.grad", _value(w.grad), 2.0
    yield "z.grad", z.grad, None
    yield "t.grad", _value(t.grad), 4.0
    _gradient_descent(w, b)
    yield "w after A's step", w.item(), 3.0
    yield "z after A's step", z.item(), 3.0
    for parameter in (t, c):
        parameter.grad = None
    u = z * t + c
    u.backward()
    _gradient_descent(t, c)
    yield "t.grad with the new z", _value(t.grad), 3.0
    yield "w after B's step", w.item(), 3.0


def _gradient_descent(*parameters: torch.Tensor) -> None:
    """Update parameters in place, as torch.optim.SGD(parameters, lr=0.5).step() does.

    Making an optimizer imports TorchDynamo, which takes a second.
    """
    with torch.no_grad():
        for parameter in parameters:
            parameter.add_(parameter.grad, alpha=-0.5)


SECTIONS = (graph, detach, clone, retain_grad, cpu, numpy, detach_clone, clone_detach, new_tensor, shared_weights)
