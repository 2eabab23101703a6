"""How do I copy a tensor? Measured on torch releases since 1.9, on CPU and CUDA.

>>> from tensorcopy import COPIES
>>> y = COPIES["detach_clone"](x)        # exactly x.detach().clone()

Importing this package imports neither torch nor asv; the registry loads torch when one of its names is first used.
"""

TYPE_CHECKING = False  # without `typing`: until the entry point handles signals, Ctrl-C would end in a traceback
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"

API = {  # public names, and the module where each lives
    "COPIES": "copying.inside.methods",
    "CONVERSIONS": "copying.inside.methods",
    "PRIMITIVES": "copying.inside.methods",
    "ALTERNATIVES": "copying.inside.methods",
    "observed": "copying.inside.semantics",
    "check": "copying.inside.conformance",
    "advise": "copying.advise",
    "plot": "copying.sweep",
}

__all__ = ["__version__", *API]


def __getattr__(name: str) -> "Any":
    if name in API:
        from importlib import import_module

        return getattr(import_module(f"{__name__}.{API[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> "list[str]":
    return sorted(__all__)
