"""The registry: one row for every way of copying a tensor that is measured.

A row's `code` is the expression a reader would type; its function is compiled from that text, so the two cannot differ. Names are keys in
stored results: append rows, never rename, reorder or change them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tensorcopy.worker.registry.method import NAMES, Method, Promise, exists, make_method, make_table, promised
from tensorcopy.worker.registry.semantics import Outcome, Semantics, array, raises

__all__ = ["ALTERNATIVES", "CONVERSIONS", "COPIES", "GROUPS", "METHODS", "NAMES", "PRIMITIVES", "Method", "exists", "promised"]


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

COPIES = make_table(
    make_method("new_tensor", "x.new_tensor(x)", *_copy_construct("tensor.new_tensor")),
    make_method("clone_detach", "x.clone().detach()", _everywhere("1.9.0", _both(INDEPENDENT))),
    # stays in the graph, unlike the other copies: copy_ is differentiable
    make_method("empty_like_copy", "torch.empty_like(x).copy_(x)", _everywhere("1.9.0", Semantics(INDEPENDENT, IN_GRAPH))),
    make_method("tensor", "torch.tensor(x)", *_copy_construct("torch.tensor")),
    make_method("detach_clone", "x.detach().clone()", _everywhere("1.9.0", _both(INDEPENDENT))),
)
"""The article's five copies, each a `Method` by name: new_tensor, clone_detach, empty_like_copy, tensor, detach_clone."""

CONVERSIONS = make_table(
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

PRIMITIVES = make_table(
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

ALTERNATIVES = make_table(
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
            accelerator=None,
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

METHODS = make_table(*COPIES.values(), *CONVERSIONS.values(), *PRIMITIVES.values(), *ALTERNATIVES.values())


GROUPS: Mapping[str, Mapping[str, Method]] = MappingProxyType(
    {"copy": COPIES, "conversion": CONVERSIONS, "primitive": PRIMITIVES, "alternative": ALTERNATIVES}
)
"""The registry's methods by group; `own.groups` adds the reader's own operations."""
