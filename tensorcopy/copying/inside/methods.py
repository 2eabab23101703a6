"""The Method type: one way to copy a tensor, with its code and its promises.

Its function is compiled from the code that a reader would type.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch

from tensorcopy.copying.inside.semantics import Outcome, Semantics, array, raises
from tensorcopy.errors import TensorcopyError
from tensorcopy.worker.devices import DEVICES

NAMES: Mapping[str, Any] = MappingProxyType({"torch": torch, "np": np, "copy": copy})  # names available to a method's code, besides x


class Promise(NamedTuple):
    """The semantics promised from a torch release on.

    cpu : None where the method is for other devices only
    accelerator : None where the method has not been observed on an accelerator yet
    """

    since: str
    cpu: Semantics | None
    accelerator: Semantics | None


class Method(Protocol):
    """A way to copy: a plain function of a tensor, described by its attributes.

    name : the key in results, such as "detach_clone"
    code : the expression, of a tensor `x`, that the function evaluates; or statements that assign its result
    code_on_accelerator : the code where `x` is on an accelerator; mostly the same
    on : by device, the function for a tensor on it; on["cpu"] is the method itself
    names : the names available to its code, besides x
    promises : its promised semantics, by the first release they hold for; empty where nothing is promised
    since : the first torch release that has the method
    devices : of `x`, on which it can be called
    caveat : what to know of it beside its semantics, a key of words.toml; "" for nothing
    """

    name: str
    code: str
    code_on_accelerator: str
    on: Mapping[str, Callable[[Any], Any]]
    names: Mapping[str, Any]
    promises: tuple[Promise, ...]
    since: str
    devices: tuple[str, ...]
    caveat: str

    def __call__(self, x: Any, /) -> Any: ...


def why_not(method: Method, device: str) -> str:
    """Return why `method` does not apply to a tensor on `device` with the installed torch; "" where it does."""
    if device not in method.devices:
        return f"{method.name} is for a tensor on {' or '.join(method.devices)}"
    if _version(torch.__version__) < _version(method.since):
        return f"{method.code} exists from torch {method.since} on"
    return ""


def promised(method: Method, device: str, release: str = torch.__version__) -> Semantics | None:
    """Return the semantics that `method` promises on `device` with a torch release.

    None where that release lacks the method, or where nothing is promised on that device.
    """
    valid = [promise for promise in method.promises if _version(promise.since) <= _version(release)]
    if not valid:
        return None
    return valid[-1].cpu if device == "cpu" else valid[-1].accelerator


def code_on(method: Method, device: str) -> str:
    """Return the code of `method` for a tensor on `device`."""
    return method.code if device == "cpu" else method.code_on_accelerator


def make_method(
    name: str,
    code: str,
    *promises: Promise,
    on_accelerator: str = "",
    since: str = "",
    names: Mapping[str, Any] = NAMES,
    devices: tuple[str, ...] = DEVICES,
    result: str = "",
    caveat: str = "",
) -> Method:
    """Return a method whose functions are compiled from its code.

    result : the name that the code assigns, where it is statements; "" of an expression
    """
    function: Any = _compile(code, names, result)
    function.__name__ = function.__qualname__ = function.name = name
    function.code, function.code_on_accelerator, function.names = code, on_accelerator or code, names
    other = _compile(function.code_on_accelerator, names, result)
    function.on = {device: function if device == "cpu" else other for device in DEVICES}
    function.promises, function.since = promises, since or promises[0].since
    function.devices, function.caveat = devices, caveat
    method: Method = function
    return method


def _compile(code: str, names: Mapping[str, Any], result: str) -> Any:
    namespace = dict(names)
    if not result:
        return eval(f"lambda x: {code}", namespace)  # noqa: S307 - code from this registry or from the reader's own tensorcopy.toml
    exec(f"def method(x):\n    {code}\n    return {result}", namespace)  # noqa: S102 - code from this registry
    return namespace["method"]


def _version(text: str) -> tuple[int, ...]:
    """(2, 5, 1) of "2.5.1+cu124", "2.5.1.dev20261101" or "2.5.1a0+nv25"."""
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3])


class UnknownMethod(TensorcopyError, KeyError):
    """A name that no row of the table has."""


class Methods(Mapping[str, Method]):
    """Methods by name, read-only; a KeyError lists all names."""

    def __init__(self, *methods: Method) -> None:
        self._by_name = {method.name: method for method in methods}

    def __getitem__(self, name: str) -> Method:
        try:
            return self._by_name[name]
        except KeyError:
            following = "tensorcopy check, which shows what each method does"
            raise UnknownMethod("unknown method", got=repr(name), allowed=", ".join(self), next=following) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)


def _both(outcome: Outcome) -> Semantics:
    return Semantics(plain=outcome, with_grad=outcome)


def _everywhere(since: str, semantics: Semantics) -> Promise:
    return Promise(since, semantics, semantics)


def _warning(function: str, *, then: str) -> str:
    return (
        f"UserWarning: To copy construct from a tensor, it is recommended to use sourceTensor.{then} or "
        f"sourceTensor.{then}.requires_grad_(True), rather than {function}(sourceTensor)."
    )


def _copy_construct(function: str) -> tuple[Promise, ...]:
    """Return the promises of `torch.tensor(x)` and `x.new_tensor(x)`.

    The copy is independent; torch 2.7 reworded the warning.
    """
    return (
        _everywhere("1.9.0", _both(Outcome(warns=_warning(function, then="clone().detach()")))),
        _everywhere("2.7.0", _both(Outcome(warns=_warning(function, then="detach().clone()")))),
    )


INDEPENDENT = Outcome()
IN_GRAPH = Outcome(keeps_graph=True, is_leaf=False, requires_grad=True)
NUMPY_NEEDS_DETACH = raises("RuntimeError: Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
NUMPY_NEEDS_CPU = raises(
    "TypeError: can't convert {device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
)

COPIES = Methods(
    make_method("new_tensor", "x.new_tensor(x)", *_copy_construct("tensor.new_tensor")),
    make_method("clone_detach", "x.clone().detach()", _everywhere("1.9.0", _both(INDEPENDENT))),
    # stays in the graph, unlike the other copies: copy_ is differentiable
    make_method("empty_like_copy", "torch.empty_like(x).copy_(x)", _everywhere("1.9.0", Semantics(INDEPENDENT, IN_GRAPH))),
    make_method("tensor", "torch.tensor(x)", *_copy_construct("torch.tensor")),
    make_method("detach_clone", "x.detach().clone()", _everywhere("1.9.0", _both(INDEPENDENT))),
)
"""The article's five copies by name, each a `Method`: new_tensor, clone_detach, empty_like_copy, tensor, detach_clone."""

CONVERSIONS = Methods(
    make_method(
        "detach_numpy_copy",
        "x.detach().numpy().copy()",
        # ndarray.copy() returns C order
        _everywhere("1.9.0", _both(array(layout="contiguous"))),
        on_accelerator="x.detach().cpu().numpy().copy()",
    ),
    make_method(
        "clone_detach_numpy",
        "x.clone().detach().numpy()",
        _everywhere("1.9.0", _both(array())),
        on_accelerator="x.clone().detach().cpu().numpy()",
    ),
    make_method(
        "detach_clone_numpy",
        "x.detach().clone().numpy()",
        _everywhere("1.9.0", _both(array())),
        on_accelerator="x.detach().clone().cpu().numpy()",
    ),
)
"""The article's three conversions to an independent ndarray: detach_numpy_copy, clone_detach_numpy, detach_clone_numpy."""

PRIMITIVES = Methods(
    make_method("detach", "x.detach()", _everywhere("1.9.0", _both(Outcome(shares_storage=True)))),
    make_method("clone", "x.clone()", _everywhere("1.9.0", Semantics(INDEPENDENT, IN_GRAPH))),
    make_method(
        "cpu",
        "x.cpu()",
        Promise(
            "1.9.0",
            # on the CPU it returns x itself, so the result is a leaf
            cpu=Semantics(
                Outcome(shares_storage=True),
                Outcome(shares_storage=True, keeps_graph=True, requires_grad=True),
            ),
            accelerator=Semantics(
                Outcome(device="cpu"),
                Outcome(keeps_graph=True, is_leaf=False, requires_grad=True, device="cpu"),
            ),
        ),
    ),
    make_method(
        "numpy",
        "x.numpy()",
        Promise(
            "1.9.0",
            cpu=Semantics(array(shares_storage=True), NUMPY_NEEDS_DETACH),
            accelerator=Semantics(NUMPY_NEEDS_CPU, NUMPY_NEEDS_CPU),
        ),
    ),
)
"""The single operations that the copies are made of: detach, clone, cpu, numpy."""

_ASARRAY_WARNS = (
    "UserWarning: torch.asarray: unspecified requires_grad now defaults to obj.requires_grad instead of False. "
    "Pass requires_grad=False explicitly to get the old behavior and silence this warning."
)
_DLPACK_TEXT = "Can't export tensors that require gradient, use tensor.detach()"

ALTERNATIVES = Methods(
    make_method("to_copy", "x.to(x.device, copy=True)", _everywhere("1.9.0", Semantics(INDEPENDENT, IN_GRAPH))),
    make_method(
        "asarray_copy",
        "torch.asarray(x, copy=True)",
        _everywhere("1.11.0", _both(INDEPENDENT)),
        _everywhere(
            "2.12.0",
            Semantics(INDEPENDENT, Outcome(keeps_graph=True, is_leaf=False, requires_grad=True, warns=_ASARRAY_WARNS)),
        ),
    ),
    # a new leaf with x's requires_grad
    make_method("deepcopy", "copy.deepcopy(x)", _everywhere("1.9.0", Semantics(INDEPENDENT, Outcome(requires_grad=True)))),
    make_method(
        "clone_contiguous",
        "x.clone(memory_format=torch.contiguous_format)",
        _everywhere(
            "1.9.0",
            Semantics(
                Outcome(layout="contiguous"),
                Outcome(keeps_graph=True, is_leaf=False, requires_grad=True, layout="contiguous"),
            ),
        ),
    ),
    make_method(
        "numpy_force",
        "x.numpy(force=True)",
        Promise("1.13.0", cpu=_both(array(shares_storage=True)), accelerator=_both(array())),
    ),
    make_method(
        "numpy_array",
        "np.array(x)",
        Promise(
            "1.9.0",
            cpu=Semantics(array(), NUMPY_NEEDS_DETACH),
            accelerator=Semantics(NUMPY_NEEDS_CPU, NUMPY_NEEDS_CPU),
        ),
    ),
    make_method(
        "numpy_from_dlpack",
        "np.from_dlpack(x)",
        Promise(
            "1.10.0",
            cpu=Semantics(array(shares_storage=True), raises(f"RuntimeError: {_DLPACK_TEXT}")),
            accelerator=None,  # numpy raises, another error with each device and with some of its releases
        ),
        Promise(
            "2.9.0",
            cpu=Semantics(array(shares_storage=True), raises(f"BufferError: {_DLPACK_TEXT}")),
            accelerator=None,
        ),
    ),
    # independent on every device, with one allocation on the host and none on the device
    make_method("detach_to_cpu_copy_numpy", 'x.detach().to("cpu", copy=True).numpy()', _everywhere("1.9.0", _both(array()))),
)
"""Other ways to copy that readers ask about; some share storage or raise, as their promises state."""

TRANSFERS = Methods(
    # on the CPU there is nothing to transfer: .cpu() returns x itself, and the ndarray shares its memory
    make_method(
        "detach_cpu_numpy",
        "x.detach().cpu().numpy()",
        Promise("1.9.0", cpu=_both(array(shares_storage=True)), accelerator=_both(array())),
    ),
    # .to allocates pinned memory, to which the device writes itself; for other memory, the driver copies from a pinned buffer of its own.
    # It only queues the transfer: until the wait, which is therefore a part of the method, the ndarray has what its memory had before
    make_method(
        "pinned_numpy",
        'a = x.detach().to("cpu", non_blocking=True).numpy(); torch.cuda.synchronize()',
        Promise("1.9.0", cpu=None, accelerator=_both(array())),
        devices=("cuda",),
        result="a",
        caveat="pinned",
    ),
)
"""Conversions of a tensor on an accelerator that make no copy beside the transfer."""

METHODS = Methods(*COPIES.values(), *CONVERSIONS.values(), *PRIMITIVES.values(), *ALTERNATIVES.values(), *TRANSFERS.values())


GROUPS: Mapping[str, Mapping[str, Method]] = MappingProxyType(
    {"copy": COPIES, "conversion": CONVERSIONS, "primitive": PRIMITIVES, "alternative": ALTERNATIVES, "transfer": TRANSFERS}
)
"""The registry's methods by group; `own.groups` adds the reader's own operations."""


LAYOUTS = ("contiguous", "transposed", "strided", "channels_last")
DTYPES = ("float32", "float16", "bfloat16", "int64", "bool")


def make_tensor(numel: int, device: str = "cpu", dtype: str = "float32", layout: str = "contiguous", requires_grad: bool = False) -> Any:
    """Return a leaf of `numel` elements.

    layout : "transposed" and "channels_last" need 16 elements or a multiple of 2^10; "strided" is every second element, x[::2]
    """
    if layout == "contiguous":
        x = torch.ones(numel)
    elif layout == "strided":
        x = torch.ones(2 * numel)
    else:
        x = torch.ones(numel // 1024, 4, 16, 16) if numel > 16 else torch.ones(1, 1, 4, 4)
        x = x.transpose(-1, -2) if layout == "transposed" else x.contiguous(memory_format=torch.channels_last)
    x = x.to(device=device, dtype=getattr(torch, dtype))  # keeps the strides of dense tensors only
    x = x[::2] if layout == "strided" else x
    return x.requires_grad_() if requires_grad else x
