"""A call tree: which function called which, and the instructions of each.

callgrind, with `--separate-callers`, counts each function once for every chain of callers. `read` parses its output into a tree; the other
functions change trees in place. Costs are of the whole loop until `divide` makes them those of one call.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from tensorcopy.worker.probes.functions import names

Function = tuple[str, str]  # library and name, such as ("libc10", "c10::TensorImpl::TensorImpl")

SMALLEST = 0.5  # instructions; a subtree with fewer, per call, is left out


@dataclass
class Node:
    """A function, as called from one chain of callers.

    own : its exclusive instructions
    calls : how often it was called
    """

    own: float = 0.0
    calls: float = 0.0
    callees: dict[Function, Node] = field(default_factory=dict)

    def inclusive(self) -> float:
        """Return its instructions with those of all its callees."""
        return self.own + sum(callee.inclusive() for callee in self.callees.values())

    def own_by_function(self) -> dict[Function, float]:
        """Return the exclusive instructions of each function below it."""
        costs: dict[Function, float] = defaultdict(float)
        for function, callee in self.callees.items():
            costs[function] += callee.own
            for below, cost in callee.own_by_function().items():
                costs[below] += cost
        return costs


NOTHING = Node()


@dataclass
class _Costs:
    """What callgrind counted for each chain of callers, as callgrind writes it: the callee first."""

    own: dict[str, float]
    calls: dict[str, float]
    libraries: dict[str, str]  # by raw name of a function


def read(text: str) -> Node:
    """Return the tree in a callgrind output file; its root is no function.

    Jumps without a symbol, such as the entries of a procedure linkage table, are left out: callers call their callees directly.
    """
    costs = _costs(text)
    functions = {raw: (names.library(library), names.function(raw)) for raw, library in costs.libraries.items()}
    root = Node()
    for chain, cost in costs.own.items():
        _node(root, chain, functions).own += cost
    for chain, number in costs.calls.items():
        if not _is_jump(chain.partition("'")[0], functions):
            _node(root, chain, functions).calls += number
    return root


def _is_jump(raw: str, functions: dict[str, Function]) -> bool:
    return functions.get(raw, ("", ""))[1] == names.UNNAMED and functions[raw][0] == names.NO_LIBRARY


def _node(root: Node, chain: str, functions: dict[str, Function]) -> Node:
    """Return the node of a chain such as "malloc'operator new'main", which is made where it is missing."""
    node = root
    for raw in reversed(chain.split("'")):
        if raw.isdigit() or _is_jump(raw, functions):  # a digit is callgrind's mark of a recursion
            continue
        function = functions.get(raw) or ("", names.function(raw))
        node = node.callees.setdefault(function, Node())
    return node


def _costs(text: str) -> _Costs:
    """Parse a callgrind output file, in which "(5) name" defines a name and "(5)" repeats it."""
    costs = _Costs(defaultdict(float), defaultdict(float), {})
    defined: dict[str, dict[str, str]] = {"ob": {}, "fn": {}}

    def lookup(kind: str, value: str) -> str:
        number, _, name = value.partition(" ")
        if name:
            defined[kind][number] = name
        return defined[kind][number]

    library = callee_library = chain = callee = ""
    calls: float | None = None  # of the next line of costs, where that is a call
    for line in text.splitlines():
        if line[:1].isdigit() or line[:1] in ("+", "-", "*"):
            if calls is not None:
                costs.calls[callee] += calls
                calls, callee_library = None, library
            else:
                costs.own[chain] += float([*line.split(), "0"][1])
            continue
        key, _, value = line.partition("=")
        if key == "ob":
            library = callee_library = lookup("ob", value)
        elif key == "cob":
            callee_library = lookup("ob", value)
        elif key == "fn":
            chain = lookup("fn", value)
            costs.libraries.setdefault(chain.partition("'")[0], library)
        elif key == "cfn":
            callee = lookup("fn", value)
            costs.libraries.setdefault(callee.partition("'")[0], callee_library)
        elif key == "calls":
            calls = float(value.split()[0])
    return costs


def take_calls(tree: Node, other: Node) -> None:
    """Take the numbers of calls from another count of the same loop, in place; what it did not call has no calls."""
    for function, node in tree.callees.items():
        counted = other.callees.get(function, NOTHING)
        node.calls = counted.calls
        take_calls(node, counted)


def subtract(tree: Node, empty: Node, short: Node, turns: tuple[int, int, int]) -> None:
    """Subtract the loop and what switches counting on and off, in place.

    empty, short : an empty loop of many and of few turns, between which each cost is a straight line
    turns : of the tree, of `empty` and of `short`
    """
    here, many, few = turns
    for function, node in tree.callees.items():
        long_loop, short_loop = empty.callees.get(function, NOTHING), short.callees.get(function, NOTHING)
        if long_loop is not NOTHING or short_loop is not NOTHING:
            node.own -= min(node.own, short_loop.own + (long_loop.own - short_loop.own) * (here - few) / (many - few))
            node.calls -= min(node.calls, short_loop.calls + (long_loop.calls - short_loop.calls) * (here - few) / (many - few))
            subtract(node, long_loop, short_loop, turns)


def divide(tree: Node, calls: int) -> None:
    """Divide all costs by the calls of the loop, in place."""
    for node in tree.callees.values():
        node.own /= calls
        node.calls /= calls
        divide(node, calls)


def keep(tree: Node, functions: Iterable[Function]) -> None:
    """Leave out all other functions, in place: their callers call their callees."""
    wanted = set(functions)
    callees: dict[Function, Node] = {}
    for function, node in tree.callees.items():
        keep(node, wanted)
        if node.inclusive() >= SMALLEST:
            merge(callees, {function: node} if function in wanted else node.callees)
    tree.callees = callees


def merge(into: dict[Function, Node], callees: dict[Function, Node]) -> None:
    """Add callees to others, in place."""
    for function, node in callees.items():
        if function in into:
            into[function].own += node.own
            into[function].calls += node.calls
            merge(into[function].callees, node.callees)
        else:
            into[function] = node
