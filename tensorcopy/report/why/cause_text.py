"""The cause of a change for the terminal, and as JSON."""

from __future__ import annotations

import json
from typing import Any

from tensorcopy.analysis.profiles.difference import FunctionChange
from tensorcopy.analysis.profiles.kernels import Kernel, KernelChange
from tensorcopy.report.why.cause import Cause
from tensorcopy.report.why.difference_text import (
    call_rows,
    case_text,
    group_rows,
    kernel_name,
    kernel_text,
    named_text,
    sentence,
    time_text,
)

CLOCK_ONLY = "The clock moved and the instructions did not: memory, caches or the machine."


def text(cause: Cause) -> str:
    """Return the cause of a change in lines of about 110 columns, the answer first."""
    sections = [
        [f"{cause.code}, {case_text(cause.name)}", f"{' → '.join(cause.labels)}, Python {python_text(cause)}, {cause.before.machine}"],
        [sentence(cause.difference), *([CLOCK_ONLY] if cause.only_the_clock else [])],
        group_rows(cause.difference),
        call_rows(cause.difference),
        [kernel_text(cause.difference)] if cause.difference.kernel.shown else [],
        [named_text(cause.difference), time_text(cause.time)],
    ]
    return "\n\n".join("\n".join(filter(None, lines)) for lines in sections if any(lines)) + "\n"


def python_text(cause: Cause) -> str:
    return " / ".join(dict.fromkeys([cause.before.python, cause.after.python]))


def document(cause: Cause) -> dict[str, Any]:
    """Return the cause as plain values; instructions are of one call."""
    difference = cause.difference
    kernel = difference.kernel
    return {
        "case": cause.name,
        "code": cause.code,
        "before": _side(cause, 0),
        "after": _side(cause, 1),
        "sentence": sentence(difference),
        "instructions": {"before": difference.before.instructions, "after": difference.after.instructions, "difference": difference.total},
        "changed": difference.changed,
        "only_the_clock": cause.only_the_clock,
        "share_named": difference.share_named,
        "unnamed": difference.unnamed,
        "groups": [{"group": group.group, "before": group.before, "after": group.after} for group in difference.groups],
        "functions": [_function(change, named=index < difference.named_count) for index, change in enumerate(difference.functions)],
        "kernel": _kernels(kernel) if kernel.shown else None,
        "time": {"verdict": cause.time.verdict.value, "before": cause.time.before, "after": cause.time.after, "ratio": cause.time.ratio}
        if cause.time
        else None,
    }


def as_json(cause: Cause) -> str:
    """Return the cause as JSON text."""
    return json.dumps(document(cause), indent=2, ensure_ascii=False) + "\n"


def _side(cause: Cause, index: int) -> dict[str, str]:
    result = (cause.before, cause.after)[index]
    return {"torch": result.provenance["torch"], "sha": result.sha, "python": result.python, "machine": result.machine}


def _function(change: FunctionChange, *, named: bool) -> dict[str, Any]:
    library, name = change.function
    sides = {
        side: {"own": cost.own, "inclusive": cost.inclusive, "calls": cost.calls}
        for side, cost in (("before", change.before), ("after", change.after))
    }
    return {"library": library, "name": name, "group": change.group, "status": change.status, "named": named, **sides}


def _kernels(kernel: KernelChange) -> dict[str, Any]:
    vectorisation = {"lost_vectorisation": kernel.lost_vectorisation, "gained_vectorisation": kernel.gained_vectorisation}
    return {"before": _kernel(kernel.before), "after": _kernel(kernel.after), **vectorisation}


def _kernel(kernel: Kernel) -> dict[str, Any]:
    return {"per_element": kernel.per_element, "variant": kernel.variant, "function": kernel_name(kernel)}
