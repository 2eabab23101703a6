"""The kernels of a case: instructions per element, and the instruction set that they use."""

from __future__ import annotations

from dataclasses import dataclass

from tensorcopy.analysis.profiles.function_groups import KERNEL, group_of, variant_of
from tensorcopy.results.profiles.profile_file import Function, Node, Profile

FROM = 2**14  # elements; in smaller tensors a kernel is a small part of a call
LEAST = 0.05  # instructions per element: AVX512 copies an element of 4 bytes in some 0.1; what takes less is no kernel over the elements
LOST = 2.0  # a kernel that takes more times the instructions is no longer vectorised; AVX512 to AVX2 is a factor of 2 at most
GAINED = 1 / LOST


@dataclass(frozen=True)
class Kernel:
    """The kernels of a side.

    per_element : instructions
    variant : the instruction set of the one that takes most instructions; "" where its symbol names none
    function : that kernel, or the caller that names the instruction set; None where no kernel runs
    calls : of that function: one that runs twice takes twice the instructions, vectorised or not
    """

    per_element: float
    variant: str
    function: Function | None
    calls: float


@dataclass(frozen=True)
class KernelChange:
    """The kernels of both sides.

    shown : whether a side runs a kernel over the elements, of a tensor so large that the kernel matters
    """

    before: Kernel
    after: Kernel
    shown: bool

    @property
    def lost_vectorisation(self) -> bool:
        return self._factor > LOST and self.after.calls <= self.before.calls

    @property
    def gained_vectorisation(self) -> bool:
        return self._factor < GAINED and self.after.calls >= self.before.calls

    @property
    def _factor(self) -> float:
        if not self.shown or min(self.before.per_element, self.after.per_element) < LEAST:
            return 1.0
        return self.after.per_element / self.before.per_element


def change(numel: int, before: Profile, after: Profile) -> KernelChange:
    """Return the kernels of a case of `numel` elements."""
    kernels = kernel_of(numel, before), kernel_of(numel, after)
    return KernelChange(*kernels, shown=numel >= FROM and any(kernel.per_element >= LEAST for kernel in kernels))


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
        return Kernel(0.0, "", None, 0.0)
    largest = max(costs, key=lambda function: costs[function])
    kernel = named[largest] if any(named[largest]) else largest
    return Kernel(sum(costs.values()) / numel, variant_of(kernel), kernel, profile.functions[kernel].calls)
