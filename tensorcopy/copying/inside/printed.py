"""The article's code, line by line, and the values that it prints. Needs no torch: an environment runs it, and a page shows it.

A line `expressions -> values` of `SECTIONS` states what the article prints for each expression; any other line is run. The lines after
`ON_ACCELERATOR` are about two devices: on the CPU, `.cpu()` returns the tensor itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

ON_ACCELERATOR = "# on an accelerator"

SECTIONS = {
    "graph": """
x, w, b = leaf(2.0, grad=False), leaf(1.0), leaf(3.0)
y = x * w + b
y.backward()
y, type(y.grad_fn).__name__ -> 5.0, "AddBackward0"
x.grad, w.grad, b.grad, y.grad -> None, 2.0, 1.0, None
x.requires_grad, w.requires_grad, b.requires_grad, y.requires_grad -> False, True, True, True
x.is_leaf, w.is_leaf, b.is_leaf, y.is_leaf -> True, True, True, False
""",
    "detach": """
w = leaf(1.0)
y = leaf(2.0, grad=False) * w
z = w.detach()
z.device == w.device, z.requires_grad, z.grad, z is y, z.is_leaf -> True, False, None, False, True
z[0] = 2
w, z -> 2.0, 2.0
""",
    "clone": """
x, w, b = leaf(2.0, grad=False), leaf(1.0), leaf(3.0)
v = w.clone()
y = x * v + b
y.backward()
type(v.grad_fn).__name__.rstrip("0"), y -> "CloneBackward", 5.0
x.grad, w.grad, v.grad, b.grad, y.grad -> None, 2.0, None, 1.0, None
v is w, v.is_leaf, v.requires_grad -> False, False, True
v[0] = 7.0
w, v, type(v.grad_fn).__name__ -> 1.0, 7.0, "CopySlices"
""",
    "retain_grad": """
x, w = leaf(2.0, grad=False), leaf(1.0)
v = w.clone()
v.retain_grad()
y = x * w + v
y.backward()
y -> 3.0
x.grad, w.grad, v.grad, y.grad -> None, 3.0, 1.0, None
""",
    "cpu": """
x, w, b = leaf(2.0, grad=False), leaf(1.0), leaf(3.0)
y = x * w + b
y.retain_grad()
z = y.cpu()
z.retain_grad()
v, c = leaf(7.0, on="cpu"), leaf(4.0, on="cpu")
f = v * z + c
f.backward()
z, z.device.type, f -> 5.0, "cpu", 39.0
x.grad, w.grad, b.grad, y.grad, z.grad, v.grad, c.grad, f.grad -> None, 14.0, 7.0, 7.0, 7.0, 5.0, 1.0, None
z.is_leaf, v.is_leaf, c.is_leaf, f.is_leaf -> False, True, True, False
z.requires_grad, v.requires_grad, c.requires_grad, f.requires_grad -> True, True, True, True
# on an accelerator
z is y, y.grad.device == y.device -> False, True
error(lambda: v * y).split(",")[0] -> "RuntimeError: Expected all tensors to be on the same device"
w = leaf(1.0)
v = w.cpu()
v[0] = 7.0
w, v, type(v.grad_fn).__name__ -> 1.0, 7.0, "CopySlices"
""",
    "numpy": """
x = leaf(2.0, grad=False, on="cpu")
z = x.numpy()
z[0] = 7.0
x, z[0] -> 7.0, 7.0
w = leaf(1.0, on="cpu")
needs_detach = "RuntimeError: Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
error(w.numpy), error(w.clone().numpy), error(x.clone().numpy) -> needs_detach, needs_detach, "no error"
w.detach().numpy()[0] = 5.0
w -> 5.0
w.detach().numpy().copy()[0] = 9.0
w -> 5.0
w.detach().clone().numpy()[0] = 9.0
w -> 5.0
w.clone().detach().numpy()[0] = 9.0
w -> 5.0
# on an accelerator
x = leaf(2.0, grad=False)
needs_cpu = f"TypeError: can't convert {x.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
error(x.numpy), error(x.detach().clone().numpy) -> needs_cpu, needs_cpu
""",
    "detach_clone": """
w = leaf(1.0)
z = w.detach()
s = z.clone()
z, z.grad, z is w, z.is_leaf, z.requires_grad -> 1.0, None, False, True, False
s, s.grad, s is w, s.is_leaf, s.requires_grad -> 1.0, None, False, True, False
s[0] = 7.0
w -> 1.0
""",
    "clone_detach": """
x, w, b = leaf(2.0, grad=False), leaf(4.0), leaf(3.0)
v = w.clone()
z = v.detach()
y = x * v + b
y.backward()
t, c = leaf(7.0), leaf(9.0)
u = z * t + c
u.backward()
y, u -> 11.0, 37.0
x.grad, w.grad, b.grad, y.grad, v.grad, z.grad, t.grad, c.grad, u.grad -> None, 2.0, 1.0, None, None, None, 4.0, 1.0, None
z[0] = 8.0
w -> 4.0
""",
    "new_tensor": """
x = leaf(2.0)
properties(x.new_tensor(x)) -> 2.0, True, False
properties(x.new_tensor(x, requires_grad=True)) -> 2.0, True, True
""",
    "shared_weights": """
x, w, b = leaf(2.0, grad=False), leaf(4.0), leaf(3.0)
z = w.detach()
y = x * w + b
y.backward()
t, c = leaf(7.0), leaf(9.0)
u = z * t + c
u.backward()
w.grad, z.grad, t.grad -> 2.0, None, 4.0
descend(w, b)
w, z -> 3.0, 3.0
t.grad = c.grad = None
u = z * t + c
u.backward()
descend(t, c)
t.grad, w -> 3.0, 3.0
""",
}


@dataclass(frozen=True)
class ArticleLine:
    """A line of a section: code that is run, or expressions with the values that the article prints for them.

    code : as it is run; of expressions, the code of their values
    expressions : empty for code that is run
    on_accelerator : whether it is about two devices
    """

    code: str
    expressions: tuple[str, ...]
    on_accelerator: bool

    def values(self, names: Mapping[str, Any]) -> list[Any]:
        """Return the value of each expression, where `names` has what the lines before have assigned."""
        values = eval(self.code, dict(names))  # noqa: S307 - the lines are ours
        return list(values) if len(self.expressions) > 1 else [values]


def lines(section: str) -> Iterator[ArticleLine]:
    """Yield the lines of a section."""
    on_accelerator = False
    for text in SECTIONS[section].strip().splitlines():
        left, arrow, right = text.partition(" -> ")
        if text == ON_ACCELERATOR:
            on_accelerator = True
        elif not arrow:
            yield ArticleLine(text, (), on_accelerator)
        else:
            parsed = ast.parse(left, mode="eval").body
            expressions = [ast.unparse(part) for part in parsed.elts] if isinstance(parsed, ast.Tuple) else [left]
            yield ArticleLine(right, tuple(expressions), on_accelerator)


def failure(section: str, expression: str, value: Any, got: str) -> str:
    """Return what a result stores of a value that is not what the article prints: "detach: z.grad is 1, printed None"."""
    return f"{section}: {expression} is {got}, printed {value!r}"


class Printed(NamedTuple):
    """A value that the article prints, or a line of its code, whose expression is ""."""

    section: str
    code: str
    expression: str
    value: Any
    on_accelerator: bool

    def got(self, failures: list[str]) -> str:
        """Return what a result saw instead, among all that it saw; "" where it is what the article prints."""
        before, after = failure(self.section, self.expression, self.value, "\n").split("\n")
        return next((text[len(before) : -len(after)] for text in failures if text.startswith(before) and text.endswith(after)), "")


@cache
def session(section: str, device: str) -> tuple[Printed, ...]:
    """Return the code of a section and the values that the article prints, in order; `device` is named in torch's own texts."""
    names: dict[str, Any] = {"x": SimpleNamespace(device=device)}
    found: list[Printed] = []
    for line in lines(section):
        if line.expressions:
            values = zip(line.expressions, line.values(names))
            found += (Printed(section, "", expression, value, line.on_accelerator) for expression, value in values)
            continue
        (statement,) = ast.parse(line.code).body
        named = isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name) and statement.value
        if isinstance(named, (ast.Constant, ast.JoinedStr)):  # a text of torch
            exec(line.code, names)  # noqa: S102
        else:
            found.append(Printed(section, line.code, "", None, line.on_accelerator))
    return tuple(found)


def drawn_graph() -> dict[str, Any]:
    """Return the values and gradients of the article's first graph, y = x*w + b, by name: "w" and "w.grad"."""
    graph = session("graph", "cpu")
    (made,) = [ast.parse(each.code).body[0] for each in graph if "leaf(" in each.code]
    assert isinstance(made, ast.Assign)
    assert isinstance(made.targets[0], ast.Tuple)
    assert isinstance(made.value, ast.Tuple)
    leaves = {
        ast.unparse(name): ast.literal_eval(call.args[0])
        for name, call in zip(made.targets[0].elts, made.value.elts)
        if isinstance(call, ast.Call)
    }
    return {**leaves, **{each.expression: each.value for each in graph if each.expression}}
