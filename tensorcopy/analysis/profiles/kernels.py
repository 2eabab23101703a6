"""The kernels of a case: instructions per element, and the instruction set that they use."""

from __future__ import annotations

from dataclasses import dataclass

from tensorcopy.analysis.profiles.function_groups import KERNEL, group_of, variant_of
from tensorcopy.results.profiles.profile_file import Function, Node, Profile

FROM = 2**14  # elements; in smaller tensors a kernel is a small part of a call
LOST = 2.0  # a kernel that takes so many times the instructions is no longer vectorised; AVX512 to AVX2 is a factor of 2 at most
GAINED = 1 / LOST


@dataclass(frozen=True)
class Kernel:
    """The kernels of a side.

    per_element : instructions
    variant : the instruction set of the one that takes most instructions; "" where its symbol names none
    function : that kernel, or the caller that names the instruction set; None where no kernel runs
    """

    per_element: float
    variant: str
    function: Function | None


@dataclass(frozen=True)
class KernelChange:
    """The kernels of both sides.

    shown : whether the tensor is so large that the kernel matters
    """

    before: Kernel
    after: Kernel
    shown: bool

    @property
    def lost_vectorisation(self) -> bool:
        return self._factor >= LOST

    @property
    def gained_vectorisation(self) -> bool:
        return 0 < self._factor <= GAINED

    @property
    def _factor(self) -> float:
        if not self.shown or not self.before.per_element or not self.after.per_element:
            return 1.0
        return self.after.per_element / self.before.per_element


def change(numel: int, before: Profile, after: Profile) -> KernelChange:
    """Return the kernels of a case of `numel` elements."""
    kernels = kernel_of(numel, before), kernel_of(numel, after)
    return KernelChange(*kernels, shown=numel >= FROM and any(kernel.function for kernel in kernels))


def kernel_of(numel: int, profile: Profile) -> Kernel:
    """Return the kernels of a profile."""
    costs: dict[Function, float] = {}
    named: dict[Function, Function] = {}  # of each kernel, the nearest caller whose symbol names an instruction set

    def visit(node: Node, caller: Function) -> None:
        nearest = node.function if variant_of(node.function) else caller
        if group_of(node.function) == KERNEL:
            costs[node.function] = costs.get(node.function, 0.0) + node.own
            named[node.function] = nearest
        for callee in node.callees:
            visit(callee, nearest)

    for root in profile.roots:
        visit(root, ("", ""))
    if not costs:
        return Kernel(0.0, "", None)
    largest = max(costs, key=lambda function: costs[function])
    kernel = named[largest] if any(named[largest]) else largest
    return Kernel(sum(costs.values()) / numel, variant_of(kernel), kernel)
