"""Why a method is recommended, and what to know of it, in words: `tensorcopy advise` and the tables of choices show them."""

from __future__ import annotations

from collections.abc import Sequence

from tensorcopy.copying import recommend
from tensorcopy.copying.recommend import CopyRequest, Option

REASONS = {  # by the key of `recommend.reason`
    "use_x": "Use x itself: it shares its memory and stays in the graph.",
    "no_match": "No method in tensorcopy does this.",
    "no_shared_ndarray": "No ndarray shares memory with a tensor on {device}: numpy reads host memory only. Ask for an independent one.",
    "not_in_numpy": "numpy has no {dtype}. Convert first: x.detach().float().numpy() is an independent ndarray.",
    "reason_only": "The only method that does this.",
    "reason_only_timed": "The only one of these methods that was timed for such a tensor.",
    "reason_fastest": "The fastest of {measured} methods that do this.",
    "reason_few_launches": "Not enough measurements at this size. Recommended because it is the fastest at the nearest size with enough.",
    "reason_usual": "The usual form, and safe everywhere. None that is as safe is faster by 5 % and 50 ns.",
    "reason_other_size": "Not timed at this size. Recommended because it is the fastest at the nearest size at which it was timed.",
    "reason_usual_unmeasured": "The usual form. It was not timed for such a tensor.",
    "reason_tied": "As fast as the fastest at this size, and at most others.",
    "reason_no_warning": "The fastest of these methods that does not warn.",
    "reason_unmeasured": "It does this. It was not timed for such a tensor.",
}
CAVEATS = {  # by the key of `recommend.caveats`
    "warns": "warns: {detail}",
    "timed_without_grad": "timed for an x that requires no grad",
    "own_gradient": "the copy requires grad itself, with a gradient of its own",
    "contiguous": "the result is contiguous: the strides of x are not kept",
    "writes": "shares memory: writing to one changes the other",
    "shares_on_cpu": "shares memory if x is on the CPU",
    "grad_raises": "raises {detail} once x requires grad",
    "grad_warns": "warns once x requires grad: {detail}",
    "grad_flows": "stays in the graph once x requires grad",
    "grad_own": "requires grad itself once x does",
    "since": "only since torch {detail}",
    "device_copy": "allocates another tensor of this size on the device",
    "pinned": "in pinned memory, to be read only after the wait; torch keeps it for later tensors",
}


def reason(request: CopyRequest, options: Sequence[Option]) -> str:
    """Return why the first option is recommended."""
    key, values = recommend.reason(request, options)
    return REASONS[key].format(**values)


def caveat(key: str, detail: str) -> str:
    """Return what to know of a method."""
    return CAVEATS[key].format(detail=detail)
