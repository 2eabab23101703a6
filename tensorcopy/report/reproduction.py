"""What shows a change to others: a script with only torch and numpy, and an issue for PyTorch's tracker.

People run the script, and a result may come from anybody: the code of a method is compared with codes.json, which comes with the package,
and other text from the result is a version, or a comment of one line.
"""

from __future__ import annotations

import json
import re
import shlex
import textwrap
from functools import cache
from pathlib import Path

from tensorcopy.analysis.comparisons import version
from tensorcopy.analysis.two_sample import Verdict
from tensorcopy.errors import TensorcopyError
from tensorcopy.report.numbers import change_size, duration, number, signed_percent
from tensorcopy.report.sentences import BY_COUNT
from tensorcopy.report.tables import markdown_table
from tensorcopy.report.why import Cause, case_text, named_text, row, sentence, time_text, unique_names
from tensorcopy.results.reader import Result

TEMPLATE = Path(__file__).with_name("repro.py.txt")
CODES = Path(__file__).with_name("codes.json")
VERSION = re.compile(r"\d+(\.\w+)*")
NAME = re.compile(r"\w+ \d+ \w+ \w+( grad)?")
FILE = "repro.py"
LINE = 110  # columns of a comment
ALWAYS = ("import platform", "import warnings", "from statistics import median")
USED = {"copy": "import copy", "np": "import numpy as np"}  # of the names that a method's code may use besides torch

TRACKER = "https://github.com/pytorch/pytorch"
NEW_ISSUE = f"{TRACKER}/issues/new?template=bug-report.yml"
FUNCTIONS = 16  # rows of the table; the sentence below it has the share of all named ones
ISSUE = """# `{code}` takes {percent} more instructions since torch {after}{slower}

### 🐛 Describe the bug

A call of `{code}` on the CPU ({case}) takes {count_after} instructions with torch {after} and {count_before} with {before}, \
counted by valgrind: {sentence} {time} Measured on {cpu}, Python {python}, with the default wheels.

{functions}

{named}

```python
{script}
```

```sh
{command_before}
{command_after}
```

Commits in between: {commits}{history}

### Versions

```
{versions}
```
"""


def script(cause: Cause, file: str = FILE) -> str:
    """Return the script: one file with inline metadata (PEP 723), which `uv run` starts with either release.

    file : its path, for the commands in its first lines

    Raises TensorcopyError where no script is possible.
    """
    problem = _problem(cause)
    if problem is not None:
        raise problem
    gives_array = "numpy" in cause.code or cause.code.startswith("np.")
    check = f"assert {'np.array_equal(result, x.detach().numpy())' if gives_array else 'torch.equal(result, x)'}"
    used = [name for name in USED if re.search(rf"\b{name}\.", f"{cause.code} {check}")]
    # imports in the order of a linter: the standard library, a blank line, other packages
    standard = sorted([*ALWAYS, *(USED[name] for name in used if name == "copy")], key=lambda line: (line.startswith("from"), line))
    others = [*(USED[name] for name in used if name == "np"), "import torch", "from torch.utils.benchmark import Timer"]
    seen = textwrap.wrap(f"{' → '.join(cause.labels)}: {sentence(cause.difference)}", LINE, break_long_words=False)
    change = cause.time
    if change and change.before and change.after and change.ratio:
        times = f"{duration(change.before)} → {duration(change.after)} ({signed_percent(change.ratio)})"
        seen.append(f"{times} on {_line(cause.after.provenance['cpu'])}, Python {cause.after.python}")
    return TEMPLATE.read_text(encoding="utf-8").format(
        python=cause.before.python,
        numpy=cause.before.provenance["numpy"],
        before=command(cause.before, file),
        after=command(cause.after, file),
        seen="\n".join(f"#   {line}" for line in seen),
        imports="\n".join([*standard, "", *others]),
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
            next="tensorcopy why without --script or --issue shows its functions",
        )
    versions = [pythons[0], cause.before.provenance["numpy"], *map(version, (cause.before, cause.after))]
    unusable = [*(text for text in versions if not VERSION.fullmatch(text)), *([] if NAME.fullmatch(cause.name) else [cause.name])]
    if unusable:
        return TensorcopyError(
            "no script shows this case",
            got=repr(unusable[0]),
            allowed="versions such as 2.15.0, and a case such as detach 1 float32 contiguous",
            next=f"check {cause.after.path}",
        )
    return None


@cache
def _codes() -> dict[str, str]:
    result: dict[str, str] = json.loads(CODES.read_text(encoding="utf-8"))
    return result


def command(result: Result, file: str = FILE) -> str:
    """Return the command that runs the script with a release."""
    path = shlex.quote(file) if file.isprintable() else FILE  # the script's comment is one line
    return f"uv run --python {result.python} --with torch=={version(result)} {path}"


def tensor(name: str) -> str:
    """Return an expression for the tensor of a profiled case, as `tensorcopy.worker.methods` makes it."""
    _, numel_text, dtype, layout, *grad = name.split()
    numel = int(numel_text)
    options = [*([f"dtype=torch.{dtype}"] if dtype != "float32" else []), *(["requires_grad=True"] if grad else [])]
    shape = f"{numel // 1024}, 4, 16, 16" if numel > 16 else "1, 1, 4, 4"
    size = {"contiguous": str(numel), "strided": str(2 * numel)}.get(layout, shape)
    view = {"strided": "[::2]", "transposed": ".transpose(-1, -2)", "channels_last": ".contiguous(memory_format=torch.channels_last)"}
    return f"torch.ones({', '.join([size, *options])}){view.get(layout, '')}"


def issue(cause: Cause, history: str = "") -> str:
    """Return a change to more instructions as an issue in Markdown, in the order of the tracker's form.

    history : the address of the page with the case's history; "" for none

    Raises TensorcopyError where the call takes no more instructions, or no script is possible.
    """
    difference, provenance, change = cause.difference, cause.after.provenance, cause.time
    before, after = map(version, (cause.before, cause.after))
    if not difference.changed or difference.total < 0:
        raise TensorcopyError(
            "nothing to report",
            got=f"{cause.name} from torch {before} to {after}: {signed_percent(difference.ratio)} instructions",
            allowed="a case that takes more instructions",
            next="tensorcopy compare A B lists the cases that became slower",
        )
    names = unique_names(difference.functions)
    rows = []
    for named in difference.named[:FUNCTIONS]:
        of_function = row(names[named.function].replace("|", "\\|"), named)  # GitHub ends a cell there, even within code
        rows.append([f"`{of_function.name}`", named.group, of_function.before, of_function.after, of_function.change, of_function.calls])
    is_slower = change and change.ratio and change.verdict is Verdict.SLOWER and change.reason not in BY_COUNT
    versions = {
        "PyTorch": provenance["torch"],
        "OS": provenance.get("os", ""),
        "Libc": provenance.get("libc", ""),
        "Python": provenance["python"],
        "CPU": provenance["cpu"],
        "numpy": provenance["numpy"],
    }
    return ISSUE.format(
        code=cause.code,
        case=case_text(cause.name),
        before=before,
        after=after,
        percent=change_size(difference.ratio),
        slower=f", and is {change_size(change.ratio)} slower" if change and change.ratio and is_slower else "",
        count_before=number(difference.before.instructions),
        count_after=number(difference.after.instructions),
        sentence=sentence(difference),
        time=time_text(change),
        cpu=_line(provenance["cpu"]),
        python=cause.after.python,
        functions=markdown_table(["function, without its callees", "group", "before", "after", "change", "calls"], rows, "llrrrr"),
        named=named_text(difference),
        script=script(cause).rstrip(),
        command_before=command(cause.before),
        command_after=command(cause.after),
        commits=f"{TRACKER}/compare/{cause.before.sha}...{cause.after.sha}",
        history=f"\nHistory of this call over releases: {history}" if history else "",
        versions="\n".join(f"{name}: {_line(value)}" for name, value in versions.items() if value),
    )


def _line(value: object) -> str:
    """Return a value of the results as text of one line, which opens or ends no block of Markdown."""
    return " ".join(str(value).replace("`", "'").split())
