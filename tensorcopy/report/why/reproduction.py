"""A script that shows a change on two releases, with only torch and numpy.

People run it, and a result may come from anybody: the code of a method is compared with codes.json, which comes with the package and is
written by docs/tools/readme.py, and other text from the result is a version, or a comment of one line.
"""

from __future__ import annotations

import json
import re
import shlex
import textwrap
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tensorcopy.analysis import recommend
from tensorcopy.errors import TensorcopyError
from tensorcopy.report.numbers import duration, signed_percent
from tensorcopy.report.why.cause import Cause
from tensorcopy.report.why.difference_text import sentence
from tensorcopy.results.reader import Result

TEMPLATE = Path(__file__).with_name("repro.py.txt")
CODES = Path(__file__).with_name("codes.json")
VERSION = re.compile(r"\d+(\.\w+)*")
NAME = re.compile(r"\w+ \d+ \w+ \w+( grad)?")
FILE = "repro.py"
LINE = 110  # columns of a comment
ALWAYS = ("import platform", "import warnings", "from statistics import median")
USED = {"copy": "import copy", "np": "import numpy as np"}  # of the names that a method's code may use besides torch


def script(cause: Cause, file: str = FILE) -> str:
    """Return the script: one file with inline metadata (PEP 723), which `uv run` starts with either release.

    file : its path, for the commands in its first lines

    Raises TensorcopyError where no script is possible.
    """
    problem = _problem(cause)
    if problem is not None:
        raise problem
    check = f"assert {'np.array_equal(result, x.detach().numpy())' if _gives_array(cause.code) else 'torch.equal(result, x)'}"
    used = [name for name in USED if re.search(rf"\b{name}\.", f"{cause.code} {check}")]
    return TEMPLATE.read_text(encoding="utf-8").format(
        python=cause.before.python,
        numpy=cause.before.provenance["numpy"],
        before=command(cause.before, file),
        after=command(cause.after, file),
        seen="\n".join(f"#   {line}" for line in seen(cause)),
        imports=_imports(used),
        code=cause.code,
        quoted=repr(cause.code),
        names=", ".join(f'"{name}": {name}' for name in ("x", "torch", *used)),
        tensor=tensor(cause.name),
        check=check,
    )


def is_possible(cause: Cause) -> bool:
    """Return whether a script can show a change."""
    return _problem(cause) is None


def _problem(cause: Cause) -> TensorcopyError | None:
    """Return why no script is possible; None where one is."""
    pythons = list(dict.fromkeys([cause.before.python, cause.after.python]))
    if len(pythons) > 1:
        return TensorcopyError(
            "no script shows this change",
            got=f"Python {' and '.join(pythons)}",
            allowed="two results of the same Python",
            next=f"tensorcopy why {cause.method} A@{pythons[1]} B@{pythons[1]} --script",
        )
    expected = _codes().get(cause.method)
    if cause.code != expected:
        return TensorcopyError(
            "no script shows this case",
            got=f"{cause.method} with other code than the registry's" if expected else f"{cause.method}, which the registry does not have",
            allowed="a method that tensorcopy list methods lists",
            next="tensorcopy why shows its functions",
        )
    versions = [pythons[0], cause.before.provenance["numpy"], *map(_torch, (cause.before, cause.after))]
    unusable = [*(text for text in versions if not VERSION.fullmatch(text)), *([] if NAME.fullmatch(cause.name) else [cause.name])]
    if unusable:
        return TensorcopyError(
            "no script shows this case",
            got=repr(unusable[0]),
            allowed="versions such as 2.15.0, and a case such as detach 1 float32 contiguous",
            next=f"check {cause.after.path}",
        )
    return None


def codes(methods: Mapping[str, Any]) -> str:
    """Return the content of codes.json: the code of each method of the registry, of those in a result."""
    of_registry = {name: row["code"] for name, row in methods.items() if row["group"] in recommend.GROUPS}
    return json.dumps(of_registry, indent=2) + "\n"


@cache
def _codes() -> dict[str, str]:
    result: dict[str, str] = json.loads(CODES.read_text(encoding="utf-8"))
    return result


def command(result: Result, file: str = FILE) -> str:
    """Return the command that runs the script with a release."""
    path = shlex.quote(file) if file.isprintable() else FILE  # the script's comment is one line
    return f"uv run --python {result.python} --with torch=={_torch(result)} {path}"


def _torch(result: Result) -> str:
    """Return the version of torch without its build."""
    return str(result.provenance["torch"]).partition("+")[0]


def seen(cause: Cause) -> list[str]:
    """Return what was measured here, in lines."""
    lines = textwrap.wrap(f"{' → '.join(cause.labels)}: {sentence(cause.difference)}", LINE, break_long_words=False)
    change = cause.time
    if change and change.before and change.after and change.ratio:
        times = f"{duration(change.before)} → {duration(change.after)} ({signed_percent(change.ratio)})"
        processor = " ".join(cause.after.provenance["cpu"].split())
        lines.append(f"{times} on {processor}, Python {cause.after.python}")
    return lines


def tensor(name: str) -> str:
    """Return an expression for the tensor of a profiled case, as `tensorcopy.worker.methods` makes it."""
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
