"""The cause of a change between two results: which functions make it, and whether the time changed too.

On a device whose launches tell them, it is the parts of the time that changed.

As text and JSON; and for others as a script with only torch and numpy, and as an issue for PyTorch's tracker. People run the script, and a
result may come from anybody: the code of a method is compared with codes.json, which comes with the package, and other text from the result
is a version, or a comment of one line.
"""

from __future__ import annotations

import json
import re
import shlex
import textwrap
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tensorcopy.campaign import VerdictRules
from tensorcopy.errors import TensorcopyError
from tensorcopy.judge import comparisons, function_changes
from tensorcopy.judge.comparisons import Question, word
from tensorcopy.judge.function_changes import FunctionChange, GroupChange, ProfileDifference
from tensorcopy.judge.paired import Change, Verdict
from tensorcopy.numbers import change_size, duration, level, number, percent, signed, signed_interval, signed_percent
from tensorcopy.report import words
from tensorcopy.report.formats import markdown_table
from tensorcopy.results import function_profiles
from tensorcopy.results.cases import Case, only_match
from tensorcopy.results.function_profiles import Function
from tensorcopy.results.result import Result
from tensorcopy.results.select import SelectedPair

GROUPS_IN_A_SENTENCE = 4
LARGE = 0.05  # share of the difference; a smaller group is only counted in the sentence
PYTHON_FUNCTIONS = 8  # in a sentence
NAMED_SHARE = 0.05  # of a call; a sentence names no smaller part
NAMED_CHANGES = 3  # parts that a sentence names with their change
WIDTH, FIGURES = 64, 40  # columns of a function's name, and of its figures
TIME_ONLY = "The time changed and the instructions did not: memory, caches or the machine."


@dataclass(frozen=True)
class Cause:
    """What is behind the change of a case.

    name : of the profiled case, such as "detach 1 float32 contiguous"
    code : of the method
    labels : of both results, such as "torch 2.5.1"
    time : the verdict on the time; None where it was not timed
    case : the timed one; None where it was not timed
    """

    name: str
    code: str
    before: Result
    after: Result
    labels: tuple[str, str]
    difference: ProfileDifference
    time: Change | None
    case: Case | None

    @property
    def method(self) -> str:
        return self.name.split()[0]

    @property
    def time_only(self) -> bool:
        """Whether the time changed and the instructions did not."""
        moved = self.time is not None and self.time.verdict in (Verdict.SLOWER, Verdict.FASTER)
        return moved and not self.difference.changed


def of_pair(pair: SelectedPair, pattern: str, rules: VerdictRules) -> Cause:
    """Return the cause of the change of a case between two results. Raises TensorcopyError."""
    before, after = function_profiles.profiles_of(pair.before), function_profiles.profiles_of(pair.after)
    if (before is None or after is None) and pair.device not in ("", "cpu"):
        raise TensorcopyError(
            f"no functions were counted beside these times on {pair.device}: a script or an issue shows instructions of the processor",
            got=f"{pair.after.history} with --device {pair.device}",
            allowed="--device cpu, of a machine whose functions were counted",
            next=f"tensorcopy why {shlex.quote(pattern)} {pair.before.version} {pair.after.version} --device cpu",
        )
    if before is None or after is None:
        raise function_profiles.not_counted(pair.after if before else pair.before)
    cases = _cases((pair.before, pair.after), [name for name in before.cases if name in after.cases])
    name = _selected(cases, pattern)
    timed = next((case for case in cases[name] if case in pair.before.timings and case in pair.after.timings), None)
    change = comparisons.between(Question(pair.before, pair.after, rules)).changes[timed] if timed else None
    return of_results(pair.before, pair.after, name, function_changes.between(before, after, name), change, timed)


def of_results(before: Result, after: Result, name: str, difference: ProfileDifference, time: Change | None, case: Case | None) -> Cause:
    """Return the cause of the change of a profiled case; `time` is the verdict on the time of `case`."""
    method = name.split()[0]
    row = after.methods.get(method) or before.methods.get(method) or {}
    return Cause(name, row.get("code", method), before, after, comparisons.labels(before, after), difference, time, case)


def _cases(results: Sequence[Result], names: Collection[str]) -> dict[str, list[Case]]:
    """Return the cases of each profiled name; of several, those of the own suites of a method first."""
    by_name: dict[str, list[Case]] = {name: [] for name in names}
    for case in dict.fromkeys(case for result in reversed(results) for case in (*result.timings, *result.counts)):
        by_name.get(function_profiles.name_of(case), []).append(case)
    return by_name


def _selected(cases: dict[str, list[Case]], pattern: str) -> str:
    """Return the one profiled case that a pattern selects. Raises TensorcopyError.

    A method alone is its smallest tensor that does not require grad.
    """
    of_method = [name for name in cases if name.split()[0] == pattern and name.endswith("float32 contiguous")]
    if of_method:
        return min(of_method, key=lambda name: int(name.split()[1]))
    texts = {name: {name, *(case.name for case in of_name)} for name, of_name in cases.items()}
    following = f"a method alone, such as {next(iter(cases), 'detach').split()[0]}, or a whole name"
    return only_match(texts, pattern, "no such case was profiled on both sides", following)


def text(cause: Cause, width: int = 110) -> str:
    """Return the cause of a change, the answer first.

    width : of the table, in columns
    """
    difference = cause.difference
    python = " / ".join(dict.fromkeys([cause.before.python, cause.after.python]))
    device = cause.case.device if cause.case else "cpu"  # functions are counted on the CPU
    place = f"{cause.after.hardware(device)} ({cause.after.history}, {device})"
    sections = [
        [f"{cause.code}, {case_text(cause.name)}, on {place}", f"{' → '.join(cause.labels)}, Python {python}"],
        [sentence(difference), *([TIME_ONLY] if cause.time_only else [])],
        table(difference, width),
        [kernel_text(difference)],
        [named_text(difference), python_text(difference), time_text(cause.time)],
    ]
    return "\n\n".join("\n".join(filter(None, lines)) for lines in sections if any(lines)) + "\n"


def as_json(cause: Cause) -> str:
    """Return the cause as JSON; instructions are of one call."""
    difference = cause.difference
    kernel = difference.kernel
    sides = {"before": _side_values(cause.before), "after": _side_values(cause.after)}
    kernels = {
        "before": {**asdict(kernel.before), "function": kernel.before.name},
        "after": {**asdict(kernel.after), "function": kernel.after.name},
        "lost_vectorisation": kernel.lost_vectorisation,
        "gained_vectorisation": kernel.gained_vectorisation,
    }
    document = {
        "case": cause.name,
        "code": cause.code,
        **sides,
        "sentence": sentence(difference),
        "instructions": {"before": difference.before.instructions, "after": difference.after.instructions, "difference": difference.total},
        "changed": difference.changed,
        "only_the_clock": cause.time_only,
        "python_calls": {"before": dict(difference.before.python), "after": dict(difference.after.python)},
        "share_named": difference.share_named,
        "unnamed": difference.unnamed,
        "groups": [{"group": group.group, "before": group.before, "after": group.after} for group in difference.groups],
        "functions": [
            {
                "library": change.function[0],
                "name": change.function[1],
                "group": change.group,
                "status": change.status,
                "named": index < difference.named_count,
                "before": change.before._asdict(),
                "after": change.after._asdict(),
            }
            for index, change in enumerate(difference.functions)
        ],
        "kernel": kernels if kernel.shown else None,
        "time": _time_values(cause.time) if cause.time else None,
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _side_values(result: Result) -> dict[str, str]:
    return {"torch": result.provenance["torch"], "sha": result.sha, "python": result.python, "history": result.history}


def _time_values(time: Change) -> dict[str, str | float | None]:
    return {"verdict": time.verdict.value, "before": time.before, "after": time.after, "ratio": time.ratio}


def sentence(difference: ProfileDifference) -> str:
    """Return the difference in one sentence.

    "−1 642 instructions (−29.0 %): TensorImpl and metadata −604 (TensorImpl::TensorImpl 2× instead of 4×), allocator −210."
    """
    total = f"{signed(difference.total)} instructions ({signed_percent(difference.ratio)})"
    if not difference.changed:
        return f"No change: {total}, less than two counts of the same release may differ."
    shown = shown_groups(difference)
    large = [group for group in shown if abs(group.difference) >= LARGE * abs(difference.total)]
    parts = [_group_part(difference, group) for group in large[:GROUPS_IN_A_SENTENCE]]
    left = len(shown) - len(parts)
    more = f", and {left} more group{'s' if left > 1 else ''}" if left else ""
    return f"{total}: {', '.join(parts)}{more}."


def _group_part(difference: ProfileDifference, group: GroupChange) -> str:
    """Return a group's difference, with its function whose calls changed and made most of it."""
    part = f"{group.group} {signed(group.difference)}"
    for change in difference.calls_changed:
        if change.group == group.group and change.difference * group.difference > 0:
            times = {"gained": f"new, {number(change.after.calls)}×", "lost": "gone"}.get(
                change.status, f"{number(change.after.calls)}× instead of {number(change.before.calls)}×"
            )
            return f"{part} ({'::'.join(change.function[1].split('::')[-2:])} {times})"
    return part


@dataclass(frozen=True)
class FunctionRow:
    """A group of functions or a named function, as texts."""

    name: str
    before: str
    after: str
    change: str
    calls: str = ""
    is_group: bool = False


def shown_groups(difference: ProfileDifference) -> list[GroupChange]:
    """Return the groups of the table, which the sentence counts."""
    return [group for group in difference.groups if group.named or abs(group.difference) >= 1]


def rows(difference: ProfileDifference) -> Iterator[FunctionRow]:
    """Yield a row for each group, followed by those of its named functions."""
    names = unique_names(difference.functions)
    for group in shown_groups(difference):
        yield FunctionRow(group.group, number(group.before), number(group.after), signed(group.difference), is_group=True)
        for change in group.named:
            yield row(names[change.function], change)


def row(name: str, change: FunctionChange) -> FunctionRow:
    """Return the row of a function."""
    calls = " → ".join(dict.fromkeys([number(change.before.calls), number(change.after.calls)]))
    return FunctionRow(name, number(change.before.own), number(change.after.own), signed(change.difference), calls)


def unique_names(changes: Iterable[FunctionChange]) -> dict[Function, str]:
    """Return the name of each function, with its library where another library has one of the same name."""
    named = [change.function for change in changes]
    several = Counter(name for _, name in named)
    return {(library, name): f"{name} ({library})" if several[name] > 1 else name for library, name in named}


def table(difference: ProfileDifference, width: int) -> list[str]:
    """Return the groups with their named functions, in lines; a long name has its own line, in which it is whole."""
    room = min(WIDTH, width - FIGURES)
    title = FunctionRow("exclusive instructions", "before", "after", "change", "calls", is_group=True)
    lines = []
    for line in (title, *rows(difference)):
        name = line.name if line.is_group else f"  {line.name}"
        beside = name if len(name) <= room else ""
        lines += [] if beside else [name]
        lines.append(f"{beside:<{room}} {line.before:>9} {line.after:>9} {line.change:>8}  {line.calls}".rstrip())
    return lines


def kernel_text(difference: ProfileDifference) -> str:
    """Return a sentence about the kernels; "" for a small tensor, or one that no kernel runs over."""
    kernel = difference.kernel
    if not kernel.shown:
        return ""
    per_element = f"{kernel.before.per_element:.3g} → {kernel.after.per_element:.3g} instructions per element"
    variant = " → ".join(dict.fromkeys(filter(None, (kernel.before.variant, kernel.after.variant))))
    names = " → ".join(dict.fromkeys([kernel.before.name, kernel.after.name]))
    vectorised = " The kernel lost its vectorisation." if kernel.lost_vectorisation else ""
    vectorised = " The kernel became vectorised." if kernel.gained_vectorisation else vectorised
    return f"Kernel: {per_element} ({variant or 'its symbol names no instruction set'}; {names}).{vectorised}"


def named_text(difference: ProfileDifference) -> str:
    """Return how much of a change is named, and how much is not; "" where nothing changed."""
    if not difference.changed:
        return ""
    functions, others = len(difference.named), len(difference.functions) - len(difference.named)
    named = "1 named function explains" if functions == 1 else f"{functions} named functions explain"
    where = f"{others} other function{'s' if others > 1 else ''} and in " if others else ""
    unnamed = f"The remaining {signed(difference.unnamed)} are in {where}those that the profile omits (together 1 % of a call)."
    return f"{named} {percent(difference.share_named, 0)} of the difference. {unnamed}"


def python_text(difference: ProfileDifference) -> str:
    """Return which Python functions a call calls, those whose number changed first; "" where it calls none.

    Their instructions are not told apart: the interpreter runs all of them.
    """
    before, after = difference.before.python, difference.after.python
    names = sorted({**before, **after}, key=lambda name: (before.get(name) == after.get(name), -after.get(name, 0), name))
    calls = [f"{name} {' → '.join(dict.fromkeys(number(side.get(name, 0)) for side in (before, after)))}×" for name in names]
    more = f", and {len(calls) - PYTHON_FUNCTIONS} more" if len(calls) > PYTHON_FUNCTIONS else ""
    return f"Python functions called in one call: {', '.join(calls[:PYTHON_FUNCTIONS])}{more}." if calls else ""


def case_text(name: str) -> str:
    """Return what a profiled case is measured on: "numel=16, float32, contiguous, requires grad"."""
    _, numel, dtype, layout, *grad = name.split()
    if layout == "n":  # of an operation that declares its inputs
        return f"n={numel}"
    return ", ".join([f"numel={numel}", dtype, layout, *(["requires grad"] if grad else [])])


def time_text(change: Change | None) -> str:
    """Return the change of the time with its interval; "" where the case was not timed."""
    if change is None or change.ratio is None or not (change.before and change.after):
        return ""
    verdict = "" if change.verdict in (Verdict.SLOWER, Verdict.FASTER) else word(change)
    size = ", ".join(filter(None, [signed_percent(change.ratio), verdict, _interval(change)]))
    return f"Time per call: {duration(change.before)} → {duration(change.after)} ({size})."


def _interval(change: Change) -> str:
    return f"{level(change.level)} interval {signed_interval(change.interval)}" if change.interval else ""


# What shows a change to others: a script, and an issue.

TEMPLATE = Path(__file__).with_name("repro.py.txt")
VERSION = re.compile(r"\d+(\.\w+)*")
NAME = re.compile(r"\w+ \d+ \w+ \w+( grad)?")
SCRIPT = "repro.py"
COMMENT_WIDTH = 110  # columns of a comment
ALWAYS = ("import platform", "import warnings", "from statistics import median")
USED = {"copy": "import copy", "np": "import numpy as np"}  # of the names that a method's code may use besides torch

TRACKER = "https://github.com/pytorch/pytorch"
NEW_ISSUE = f"{TRACKER}/issues/new?template=bug-report.yml"
ISSUE_ROWS = 16  # rows of the table; the sentence below it has the share of all named ones
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


def script(cause: Cause, file: str = SCRIPT) -> str:
    """Return the script: one file with inline metadata (PEP 723), which `uv run` starts with either release.

    file : its path, for the commands in its first lines

    Raises TensorcopyError where no script is possible.
    """
    problem = script_problem(cause)
    if problem is not None:
        raise problem
    gives_array = "numpy" in cause.code or cause.code.startswith("np.")
    check = f"assert {'np.array_equal(result, x.detach().numpy())' if gives_array else 'torch.equal(result, x)'}"
    used = [name for name in USED if re.search(rf"\b{name}\.", f"{cause.code} {check}")]
    # imports in the order of a linter: the standard library, a blank line, other packages
    standard = sorted([*ALWAYS, *(USED[name] for name in used if name == "copy")], key=lambda line: (line.startswith("from"), line))
    others = [*(USED[name] for name in used if name == "np"), "import torch", "from torch.utils.benchmark import Timer"]
    seen = textwrap.wrap(f"{' → '.join(cause.labels)}: {sentence(cause.difference)}", COMMENT_WIDTH, break_long_words=False)
    if time := time_text(cause.time):
        seen.append(f"{time.removesuffix('.')} on {_line(cause.after.provenance['cpu'])}, Python {cause.after.python}")
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


def script_problem(cause: Cause) -> TensorcopyError | None:
    """Return why no script is possible; None where one is."""
    pythons = list(dict.fromkeys([cause.before.python, cause.after.python]))
    if len(pythons) > 1:
        python = pythons[1]
        return TensorcopyError(
            "no script shows this change",
            got=f"Python {' and '.join(pythons)}",
            allowed="two results of the same Python",
            next=f"tensorcopy why {cause.method} {cause.before.version}@{python} {cause.after.version}@{python} --script",
        )
    expected = words.codes().get(cause.method)
    if cause.code != expected:
        return TensorcopyError(
            "no script shows this case",
            got=f"{cause.method} with other code than the registry's" if expected else f"{cause.method}, which the registry does not have",
            allowed="a method of the registry, such as detach_clone",
            next="leave --script or --issue out, to see its functions",
        )
    versions = [pythons[0], cause.before.provenance["numpy"], cause.before.version, cause.after.version]
    unusable = [*(text for text in versions if not VERSION.fullmatch(text)), *([] if NAME.fullmatch(cause.name) else [cause.name])]
    if unusable:
        return TensorcopyError(
            "no script shows this case",
            got=repr(unusable[0]),
            allowed="versions such as 2.15.0, and a case such as detach 1 float32 contiguous",
            next=f"check the launches in {cause.after.folder}",
        )
    return None


def command(result: Result, file: str = SCRIPT) -> str:
    """Return the command that runs the script with a release."""
    path = shlex.quote(file) if file.isprintable() else SCRIPT  # the script's comment is one line
    return f"uv run --python {result.python} --with torch=={result.version} {path}"


def tensor(name: str) -> str:
    """Return an expression for the tensor of a profiled case, as `tensorcopy.copying.inside.methods` makes it."""
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
    before, after = cause.before.version, cause.after.version
    if not difference.changed or difference.total < 0:
        raise TensorcopyError(
            "nothing to report",
            got=f"{cause.name} from torch {before} to {after}: {signed_percent(difference.ratio)} instructions",
            allowed="a case that takes more instructions",
            next="tensorcopy compare A B lists the cases that became slower",
        )
    names = unique_names(difference.functions)
    rows = []
    for named in difference.named[:ISSUE_ROWS]:
        of_function = row(names[named.function].replace("|", "\\|"), named)  # GitHub ends a cell there, even within code
        rows.append([f"`{of_function.name}`", named.group, of_function.before, of_function.after, of_function.change, of_function.calls])
    is_slower = change and change.ratio and change.verdict is Verdict.SLOWER
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
        slower=f", and {change_size(change.ratio)} more time ({_interval(change)})" if change and change.ratio and is_slower else "",
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
