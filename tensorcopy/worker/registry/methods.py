"""The registry: every way of copying a tensor that tensorcopy knows, one row each.

A row's `code` is what a reader would type; its callable is compiled from that very text, so the two cannot differ. A name is a key in
stored results: rows are appended, never renamed, reordered or given another body.
"""

from __future__ import annotations

import copy
import importlib
import re
import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch

from tensorcopy.errors import TensorcopyError
from tensorcopy.worker.devices import ACCELERATORS
from tensorcopy.worker.registry import operations
from tensorcopy.worker.registry.semantics import Outcome, Semantics, array, raises

NAMES: Mapping[str, Any] = MappingProxyType({"torch": torch, "np": np, "copy": copy})  # what a method's code may name besides x


class Promise(NamedTuple):
    """What a method does from a torch release on. An accelerator on which nobody has looked yet is promised nothing: None."""

    since: str
    cpu: Semantics
    accelerator: Semantics | None


class Method(Protocol):
    """A way to copy: a plain function of a tensor, which carries what is known of it. A call of it costs what a call costs.

    name : the key in results, such as "detach_clone"
    code : the expression, of a tensor `x`, that the function is
    code_on_accelerator : the expression where `x` lies on another device than the CPU; mostly the same
    on : by device, the function for a tensor that lies there; on["cpu"] is the method itself
    names : what its code may name besides x
    promises : what it does, by the release from which on it does; none where nobody has promised anything
    since : the first torch release that has it
    """

    name: str
    code: str
    code_on_accelerator: str
    on: Mapping[str, Callable[[Any], Any]]
    names: Mapping[str, Any]
    promises: tuple[Promise, ...]
    since: str

    def __call__(self, x: Any, /) -> Any: ...


def exists(method: Method) -> bool:
    """Whether the installed torch has `method`."""
    return _version(torch.__version__) >= _version(method.since)


def promised(method: Method, device: str, release: str = torch.__version__) -> Semantics | None:
    """What `method` promises on `device` with a torch release; None where it does not exist or nobody has looked yet."""
    valid = [promise for promise in method.promises if _version(promise.since) <= _version(release)]
    if not valid:
        return None
    return valid[-1].cpu if device == "cpu" else valid[-1].accelerator


def _method(
    name: str, code: str, *promises: Promise, on_accelerator: str = "", since: str = "", names: Mapping[str, Any] = NAMES
) -> Method:
    """A row of the table. Its functions are compiled from its code, so that the two cannot differ."""
    method: Any = _compiled(code, names)
    method.__name__ = method.__qualname__ = method.name = name
    method.code, method.code_on_accelerator, method.names = code, on_accelerator or code, names
    method.on = {"cpu": method, **dict.fromkeys(ACCELERATORS, _compiled(method.code_on_accelerator, names))}
    method.promises, method.since = promises, since or promises[0].since
    found: Method = method
    return found


def _compiled(code: str, names: Mapping[str, Any]) -> Any:
    return eval(f"lambda x: {code}", dict(names))  # noqa: S307 - the text is a row of this table, or the reader's own


def _version(text: str) -> tuple[int, ...]:
    """(2, 5, 1) of "2.5.1+cu124", "2.5.1.dev20261101" or "2.5.1a0+nv25"."""
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3])


class UnknownMethod(TensorcopyError, KeyError):
    """A name that is in no row of the table."""


class _Rows(dict):  # type: ignore[type-arg]
    def __missing__(self, name: str) -> Method:
        raise UnknownMethod("unknown method", got=repr(name), allowed=", ".join(self), next="tensorcopy methods lists them")


def _table(*rows: Method) -> Mapping[str, Method]:
    return MappingProxyType(_Rows({row.name: row for row in rows}))


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
    """`torch.tensor(x)` and `x.new_tensor(x)`: independent, with a warning whose advice torch turned round."""
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

COPIES = _table(
    _method("new_tensor", "x.new_tensor(x)", *_copy_construct("tensor.new_tensor")),
    _method("clone_detach", "x.clone().detach()", _everywhere("1.9.0", _both(INDEPENDENT))),
    # the one copy that stays in the graph: copy_ is differentiable
    _method("empty_like_copy", "torch.empty_like(x).copy_(x)", _everywhere("1.9.0", Semantics(INDEPENDENT, IN_GRAPH))),
    _method("tensor", "torch.tensor(x)", *_copy_construct("torch.tensor")),
    _method("detach_clone", "x.detach().clone()", _everywhere("1.9.0", _both(INDEPENDENT))),
)
"""The five copies of the article, each a `Method` by its name: new_tensor, clone_detach, empty_like_copy, tensor, detach_clone."""

CONVERSIONS = _table(
    _method(
        "detach_numpy_copy",
        "x.detach().numpy().copy()",
        # ndarray.copy() lays its result out in C order
        _everywhere("1.9.0", _both(array(layout="contiguous"))),
        on_accelerator="x.detach().cpu().numpy().copy()",
    ),
    _method(
        "clone_detach_numpy",
        "x.clone().detach().numpy()",
        _everywhere("1.9.0", _both(array())),
        on_accelerator="x.clone().detach().cpu().numpy()",
    ),
    _method(
        "detach_clone_numpy",
        "x.detach().clone().numpy()",
        _everywhere("1.9.0", _both(array())),
        on_accelerator="x.detach().clone().cpu().numpy()",
    ),
)
"""The three ways to an independent ndarray: detach_numpy_copy, clone_detach_numpy, detach_clone_numpy."""

PRIMITIVES = _table(
    _method("detach", "x.detach()", _everywhere("1.9.0", _both(Outcome(shares_storage=True)))),
    _method("clone", "x.clone()", _everywhere("1.9.0", Semantics(INDEPENDENT, IN_GRAPH))),
    _method(
        "cpu",
        "x.cpu()",
        Promise(
            "1.9.0",
            # on the CPU it returns x itself, which is why it then is a leaf
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
    _method(
        "numpy",
        "x.numpy()",
        Promise(
            "1.9.0",
            cpu=Semantics(array(shares_storage=True), NUMPY_NEEDS_DETACH),
            accelerator=Semantics(NUMPY_NEEDS_CPU, NUMPY_NEEDS_CPU),
        ),
    ),
)
"""detach, clone, cpu and numpy alone."""

_ASARRAY_WARNS = (
    "UserWarning: torch.asarray: unspecified requires_grad now defaults to obj.requires_grad instead of False. "
    "Pass requires_grad=False explicitly to get the old behavior and silence this warning."
)
_DLPACK_TEXT = "Can't export tensors that require gradient, use tensor.detach()"

ALTERNATIVES = _table(
    _method("to_copy", "x.to(x.device, copy=True)", _everywhere("1.9.0", Semantics(INDEPENDENT, IN_GRAPH))),
    _method(
        "asarray_copy",
        "torch.asarray(x, copy=True)",
        _everywhere("1.11.0", _both(INDEPENDENT)),
        _everywhere(
            "2.12.0",
            Semantics(INDEPENDENT, Outcome(keeps_graph=True, is_leaf=False, requires_grad=True, warns=_ASARRAY_WARNS)),
        ),
    ),
    # a leaf of its own that asks for a gradient as x does
    _method("deepcopy", "copy.deepcopy(x)", _everywhere("1.9.0", Semantics(INDEPENDENT, Outcome(requires_grad=True)))),
    _method(
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
    _method(
        "numpy_force",
        "x.numpy(force=True)",
        Promise("1.13.0", cpu=_both(array(shares_storage=True)), accelerator=_both(array())),
    ),
    _method(
        "numpy_array",
        "np.array(x)",
        Promise(
            "1.9.0",
            cpu=Semantics(array(), NUMPY_NEEDS_DETACH),
            accelerator=Semantics(NUMPY_NEEDS_CPU, NUMPY_NEEDS_CPU),
        ),
    ),
    _method(
        "numpy_from_dlpack",
        "np.from_dlpack(x)",
        Promise(
            "1.10.0",
            cpu=Semantics(array(shares_storage=True), raises(f"RuntimeError: {_DLPACK_TEXT}")),
            accelerator=None,
        ),
        Promise(
            "2.9.0",
            cpu=Semantics(array(shares_storage=True), raises(f"BufferError: {_DLPACK_TEXT}")),
            accelerator=None,
        ),
    ),
    # independent on every device, with one allocation on the host and none on the device
    _method("detach_to_cpu_copy_numpy", 'x.detach().to("cpu", copy=True).numpy()', _everywhere("1.9.0", _both(array()))),
)
"""The other ways that people ask about, some of which share storage or fail: see what each promises."""

METHODS = _table(*COPIES.values(), *CONVERSIONS.values(), *PRIMITIVES.values(), *ALTERNATIVES.values())


def _own(row: operations.Operation) -> Method:
    """An operation of the reader's own. Raises TensorcopyError where it cannot be had."""
    if row.name in METHODS or row.name == "floor":  # which stands beside the methods in a picture
        raise TensorcopyError("an operation has the name of another", got=row.name, allowed="a name of its own", next=operations.GUIDE)
    names = dict(NAMES)
    for module in row.imports:
        names[module.partition(".")[0]] = _imported(module, row)
    try:
        promise = [Promise(row.since, semantics, None) for semantics in _promised(row)]
        return _method(row.name, row.code, *promise, on_accelerator=row.code_on_accelerator, since=row.since, names=names)
    except (SyntaxError, TypeError) as error:
        raise TensorcopyError(
            f"the operation {row.name} is refused",
            got=f"{type(error).__name__}: {error}",
            allowed="an expression of x",
            next=operations.GUIDE,
        ) from error


def _promised(row: operations.Operation) -> list[Semantics]:
    if not row.promise:
        return []
    plain = Outcome(**row.promise.get("plain", {}))
    return [Semantics(plain, Outcome(**row.promise["with_grad"]) if "with_grad" in row.promise else plain)]


def _imported(module: str, row: operations.Operation) -> Any:
    """The module's topmost package, as `import` binds it."""
    beside = [row.folder] if row.folder and row.folder not in sys.path else []
    sys.path += beside
    try:
        importlib.import_module(module)
        return importlib.import_module(module.partition(".")[0])
    except ImportError as error:
        raise TensorcopyError(
            f"the operation {row.name} cannot be imported",
            got=f"{module}: {error}",
            allowed="a module beside tensorcopy.toml, or one that is installed where torch is",
            next="install it there, or name it in the operation's requires",
        ) from error


OWN = _table(*(_own(row) for row in operations.declared()))
"""Operations of the reader's own: those of tensorcopy.toml, and of installed packages."""

GROUPS: Mapping[str, Mapping[str, Method]] = MappingProxyType(
    {
        "copy": COPIES,
        "conversion": CONVERSIONS,
        "primitive": PRIMITIVES,
        "alternative": ALTERNATIVES,
        **{
            group: _table(*(OWN[row.name] for row in operations.declared() if row.group == group))
            for group in dict.fromkeys(row.group for row in operations.declared())
        },
    }
)
