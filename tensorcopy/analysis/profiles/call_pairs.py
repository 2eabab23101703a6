"""The call trees of two profiles as one. Numbers in, numbers out."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

from tensorcopy.results.profiles.profile_file import Function, Node

MOST = 0.5  # share of a function's instructions: a callee that makes more is what the function is there for


@dataclass(frozen=True)
class NodePair:
    """A function in the call trees of both sides, in the same place; None on a side that does not call it there."""

    function: Function
    before: Node | None
    after: Node | None
    callees: tuple[NodePair, ...]

    @property
    def difference(self) -> float:
        """Inclusive instructions after, minus before."""
        return (self.after.inclusive if self.after else 0.0) - (self.before.inclusive if self.before else 0.0)


def paired(before: Sequence[Node], after: Sequence[Node], smallest: float = 0.0) -> tuple[NodePair, ...]:
    """Return two call trees as one, the largest difference first.

    A compiler may leave out a call, or another caller may come in between. So a function that only one side has here, and that mainly calls
    one that only the other side has here, stands beside that one, and not above it. An inline function may be in another library: it is the
    same function.

    smallest : functions with fewer inclusive instructions on both sides are left out, with their callees
    """
    left, right = _aligned(before, after)
    pairs = [
        NodePair(
            function,
            left.get(function),
            right.get(function),
            paired(
                left[function].callees if function in left else (),
                right[function].callees if function in right else (),
                smallest,
            ),
        )
        for function in dict.fromkeys([*left, *right])
        if any(function in side and side[function].inclusive >= smallest for side in (left, right))
    ]
    return tuple(sorted(pairs, key=lambda pair: (-abs(pair.difference), pair.function)))


def _aligned(before: Sequence[Node], after: Sequence[Node]) -> tuple[dict[Function, Node], dict[Function, Node]]:
    """Return the functions of both sides, without callers in between that the other side lacks."""
    left, right = _merged(before), _merged(after)
    left = _in_libraries_of(left, right)
    while True:
        opened = _opened(left, right), _opened(right, left)
        if opened == (None, None):
            return left, right
        left, right = opened[0] or left, opened[1] or right


def _in_libraries_of(nodes: dict[Function, Node], others: dict[Function, Node]) -> dict[Function, Node]:
    """Return one side with each function in the library in which the other side has it, where only one side has it in either."""
    there = {function[1]: function for function in others if function not in nodes}
    moved = {function: there.get(function[1], function) if function not in others else function for function in nodes}
    return _merged(Node(moved[function], node.own, node.calls, node.callees) for function, node in nodes.items())


def _opened(nodes: dict[Function, Node], others: dict[Function, Node]) -> dict[Function, Node] | None:
    """Return one side with a caller in between beside what it calls; None where there is none.

    others : of the other side
    """
    only_there = others.keys() - nodes.keys()
    for function, node in nodes.items():
        if function not in others and _leads_to(node, only_there):
            rest = [other for other in nodes.values() if other is not node]
            return _merged([*rest, Node(function, node.own, node.calls), *node.callees])
    return None


def _leads_to(node: Node, functions: Container[Function]) -> bool:
    """Return whether a function mainly calls one of `functions`, itself or through others."""
    while node.callees:
        largest = max(node.callees, key=lambda callee: callee.inclusive)
        if largest.inclusive < MOST * node.inclusive:
            return False
        if largest.function in functions:
            return True
        node = largest
    return False


def _merged(nodes: Iterable[Node]) -> dict[Function, Node]:
    """Return nodes by their function, those of one function as one."""
    by_function: dict[Function, Node] = {}
    for node in nodes:
        known = by_function.get(node.function)
        by_function[node.function] = _sum(known, node) if known else node
    return by_function


def _sum(first: Node, second: Node) -> Node:
    callees: Iterator[Node] = iter(_merged([*first.callees, *second.callees]).values())
    return Node(first.function, first.own + second.own, first.calls + second.calls, tuple(callees))
