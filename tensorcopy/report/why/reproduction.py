"""A script that shows a change on two releases, with only torch and numpy."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from tensorcopy.errors import TensorcopyError
from tensorcopy.report.units import duration, signed_percent
from tensorcopy.report.why.cause import Cause
from tensorcopy.report.why.cause_text import sentence
from tensorcopy.results.load import Result

TEMPLATE = Path(__file__).with_name("repro.py.txt")
FILE = "repro.py"
LINE = 110  # columns of a comment
ALWAYS = ("import platform", "import warnings", "from statistics import median")
USED = {"copy": "import copy", "np": "import numpy as np"}  # of the names that a method's code may use besides torch


def script(cause: Cause) -> str:
    """Return the script: one file with inline metadata (PEP 723), which `uv run` starts with either release.

    Raises TensorcopyError for an own operation, whose code needs more than torch and numpy.
    """
    if cause.method not in cause.after.methods:
        raise TensorcopyError(
            "no script shows this case",
            got=f"{cause.method}, which is not a method of the registry",
            allowed="a method of tensorcopy methods",
            next="tensorcopy why shows its functions",
        )
    check = f"assert {'np.array_equal(result, x.detach().numpy())' if _gives_array(cause.code) else 'torch.equal(result, x)'}"
    used = [name for name in USED if re.search(rf"\b{name}\.", f"{cause.code} {check}")]
    return TEMPLATE.read_text(encoding="utf-8").format(
        python=min(cause.before.python, cause.after.python, key=_minor),
        numpy=cause.before.provenance["numpy"],
        before=command(cause.before),
        after=command(cause.after),
        seen="\n".join(f"#   {line}" for line in seen(cause)),
        imports=_imports(used),
        code=cause.code,
        quoted=repr(cause.code),
        names=", ".join(f'"{name}": {name}' for name in ("x", "torch", *used)),
        tensor=tensor(cause.name),
        check=check,
    )


def command(result: Result) -> str:
    """Return the command that runs the script with a release."""
    version = result.provenance["torch"].partition("+")[0]
    return f"uv run --python {result.python} --with torch=={version} {FILE}"


def seen(cause: Cause) -> list[str]:
    """Return what was measured here, in lines."""
    lines = textwrap.wrap(f"{' → '.join(cause.labels)}: {sentence(cause.difference)}", LINE, break_long_words=False)
    change = cause.time
    if change and change.before and change.after and change.ratio:
        times = f"{duration(change.before)} → {duration(change.after)} ({signed_percent(change.ratio)})"
        lines.append(f"{times} on {cause.after.provenance['cpu']}, Python {cause.after.python}")
    return lines


def tensor(name: str) -> str:
    """Return an expression for the tensor of a profiled case, as `tensorcopy.worker.tensors` makes it."""
    _, numel_text, dtype, layout, *grad = name.split()
    numel = int(numel_text)
    options = [*([f"dtype=torch.{dtype}"] if dtype != "float32" else []), *(["requires_grad=True"] if grad else [])]
    shape = f"{numel // 1024}, 4, 16, 16" if numel > 16 else "1, 1, 4, 4"
    size = {"contiguous": str(numel), "strided": str(2 * numel)}.get(layout, shape)
    view = {"strided": "[::2]", "transposed": ".transpose(-1, -2)", "channels_last": ".contiguous(memory_format=torch.channels_last)"}
    return f"torch.ones({', '.join([size, *options])}){view.get(layout, '')}"


def _gives_array(code: str) -> bool:
    return "numpy" in code or code.startswith("np.")


def _imports(used: list[str]) -> str:
    """Return the imports in the order of a linter: the standard library, a blank line, other packages."""
    standard = sorted([*ALWAYS, *(USED[name] for name in used if name == "copy")], key=lambda line: (line.startswith("from"), line))
    others = [*(USED[name] for name in used if name == "np"), "import torch", "from torch.utils.benchmark import Timer"]
    return "\n".join([*standard, "", *others])


def _minor(python: str) -> tuple[int, ...]:
    return tuple(int(part) for part in python.split("."))
