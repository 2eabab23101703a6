"""Which functions a change consists of. Numbers in, numbers out.

Two profiles are compared function by function, in exclusive instructions, so that the differences add up to that of the whole call.
Functions are named, the largest difference first, until the named ones make four fifths of the whole. A function belongs to a group, such
as the dispatcher or the allocator, by the first rule that matches its library and name.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from tensorcopy.judge.paired import has_changed
from tensorcopy.results.function_profiles import Function, FunctionCost, Profile
from tensorcopy.results.kinds import TOLERANCES
from tensorcopy.results.suite_specs import INSTRUCTIONS

NAMED = 0.8  # share of the difference that the named functions make at least
CALLED_MORE = 0.5  # calls of one call of the case; a smaller difference is the loop's
CLEARLY = 1.5  # times the cheapest function of a profile: one that costs so much more would be in it
ABSENT = FunctionCost(0.0, 0.0)

OTHER = "other code"  # such as the C and C++ libraries', and the cheapest functions, which a profile leaves out
VARIANTS = r"(DEFAULT|AVX2|AVX512|AVX512_256|ZVECTOR|VSX|SVE256|SVE128)"  # of a kernel, by the instruction set that it is compiled for

# a group, and regular expressions on the library and on the name
RULES = [
    ("thread-local lookups", "", r"__tls_get_addr|__tls_init|TLS init function|_dl_update_slotinfo|update_get_addr"),
    ("kernel", "", rf"at::native::{VARIANTS}::"),
    ("kernel", "", r"^(at::internal::serial_for_each|at::TensorIteratorBase::(serial_)?for_each|at::parallel_for)"),
    ("kernel", "libc", r"^__?mem(cpy|move|set)"),
    ("kernel", "", r"^(c10::function_ref::callback_fn|at::loop_2d_from_1d)"),
    ("allocator", "", r"^_?_?(libc_)?_?(int_|mid_)?(malloc|free|memalign|calloc|realloc)(_consolidate|_hook)?$"),
    ("allocator", "", r"^_?_?(libc_)?_?(int_|mid_)?(posix_memalign|aligned_alloc)(_consolidate|_hook)?$"),
    ("allocator", "", r"^(alloc_perturb|unlink_chunk|sysmalloc|systrim|arena_get2|tcache\w*)$"),
    ("allocator", "", r"^operator (new|delete)"),
    ("allocator", "", r"^c10::(alloc_cpu|free_cpu|memset_junk|.*CPUAllocator|[Pp]rofiledCPUMemoryReporter|.*ReportAndDelete)"),
    ("allocator", "", r"^c10::(memoryProfilingEnabled|c10_compute_alignment|NUMA|GetAllocator|GetCurrentNUMANode)"),
    ("numpy", r"umath|numpy|multiarray", ""),
    ("interpreter", "libpython", ""),
    ("interpreter", "libc|libpthread", r"^_*pthread_"),  # the lock of the interpreter takes nearly all of them
    ("dispatcher", "", r"^c10::(impl::)?(Dispatcher|OperatorEntry|OperatorHandle|DispatchKey)"),
    ("dispatcher", "", r"^c10::(impl::)?(BoxedKernel|KernelFunction|wrap_kernel_functor)"),
    ("dispatcher", "", r"^at::_ops|^c10::(impl::)?(Exclude|Include)DispatchKeyGuard|^c10::impl::TorchDispatchModeTLS"),
    ("dispatcher", "", r"^at::(RecordFunction|getStepCallbacks|\w*CallbackManager)|^c10::impl::(tls|get_default|raw_)|wrapper_C\w+_"),
    ("dispatcher", "", r"^c10::(computeDispatchKey|detail::DispatchKey|impl::dispatch|impl::LocalDispatchKeySet|dispatchKey\w+)"),
    ("Python binding", "", r"THPVariable|^THP|^torch::Python|^torch::\w*[Pp]y\w*"),
    ("Python binding", "", r"FunctionSignature|FunctionParameter|pybind11|torch_function|^c10::WarningUtils"),
    ("Python binding", "", r"PyObjectSlot|HermeticPyObject|PyWarningHandler|PyInterpreter"),
    ("Python binding", "", r"^torch::(utils|autograd::utils)::|PythonTorchFunctionTLS|DLPack|DLDevice|DLDataType"),
    ("autograd", "", r"^torch::autograd::|^torch::ADInplaceOrView|NodeCreationHooks"),
    ("autograd", "", r"^c10::(AutogradState|GradMode|InferenceMode|AutogradMeta)"),
    ("TensorImpl and metadata", "", r"^c10::(TensorImpl|StorageImpl|Storage|intrusive_ptr|weak_intrusive_ptr)"),
    ("TensorImpl and metadata", "", r"^c10::(VariableVersion|SymInt|SymBool|ScalarType|Tensor|\w*IntArrayRef)"),
    ("TensorImpl and metadata", "", r"^at::((TensorBase|Tensor)\b|namedinference|impl::has_names)|^caffe2::TypeMeta"),
    ("TensorImpl and metadata", "", r"^at::detail::(make_tensor|computeStorage)"),
    ("operator", "", r"^at::"),
    ("operator", "libtorch_cpu", ""),
    ("TensorImpl and metadata", "libc10", ""),
    ("Python binding", "libtorch_python", ""),
]


class FunctionChange(NamedTuple):
    """A function on both sides; one that a side does not run has no cost there."""

    function: Function
    group: str
    before: FunctionCost
    after: FunctionCost
    calls_changed: bool  # whether it is certainly called more or less often, or on one side only

    @property
    def difference(self) -> float:
        """Exclusive instructions after, minus before."""
        return self.after.own - self.before.own


class GroupChange(NamedTuple):
    """All functions of a group."""

    group: str
    difference: float  # of all its functions
    before: float
    after: float
    named: tuple[FunctionChange, ...]  # its functions among the named ones, the largest difference first


@dataclass(frozen=True)
class ProfileDifference:
    """The functions behind the difference of a case between two profiles."""

    before: Profile
    after: Profile
    total: float  # instructions after, minus before
    functions: tuple[FunctionChange, ...]  # every function that differs, the largest difference first
    named: tuple[FunctionChange, ...]  # the first of them
    unnamed: float  # the part of the total that these leave open

    @property
    def ratio(self) -> float:
        """The instructions after over those before; 1 where there were none."""
        return self.after.instructions / self.before.instructions if self.before.instructions else 1.0

    @property
    def changed(self) -> bool:
        """Whether the instructions differ by more than counts of the same release do."""
        return has_changed(self.before.instructions, self.after.instructions, TOLERANCES[INSTRUCTIONS])

    @property
    def share_named(self) -> float:
        """The share of the difference that the named functions explain."""
        return 1 - abs(self.unnamed) / abs(self.total) if self.total else 1.0

    @property
    def groups(self) -> list[GroupChange]:
        """The groups with a named function, or with a difference of an instruction or more, the largest first."""
        changes = []
        for group in {change.group for change in self.functions}:
            rows = [change for change in self.functions if change.group == group]
            before, after = sum(row.before.own for row in rows), sum(row.after.own for row in rows)
            named = tuple(row for row in self.named if row.group == group)
            changes.append(GroupChange(group, sum(row.difference for row in rows), before, after, named))
        moved = [change for change in changes if change.named or abs(change.difference) >= 1]
        return sorted(moved, key=lambda change: (-abs(change.difference), change.group))


def between(before: Profile, after: Profile) -> ProfileDifference:
    """Return the difference of a case.

    An inline function is in each library that uses it, and the loader takes any. So those of one name are one where the sides have them in
    different libraries: in that where it costs most after the change. A profile leaves out what costs less than its cheapest function.
    """
    profiles, sides, cheapest = (before, after), list[dict[Function, FunctionCost]](), list[float]()
    first, second = ({name for _, name in side.functions} for side in profiles)
    moved = {name for _, name in before.functions.keys() ^ after.functions.keys()} & first & second
    homes = dict[str, Function]()
    for function in (each for each in after.functions if each[1] in moved):
        homes[function[1]] = max(homes.get(function[1], function), function, key=lambda each: after.functions[each].own)
    for side in profiles:
        costs = dict[Function, FunctionCost]()
        for function, cost in side.functions.items():
            home = homes.get(function[1], function)
            known = costs.get(home, ABSENT)
            costs[home] = FunctionCost(known.own + cost.own, known.calls + cost.calls)
        sides.append(costs)
        cheapest.append(min((cost.own for cost in side.functions.values()), default=0.0))
    changed = []
    for function in sides[0].keys() | sides[1].keys():
        old, new = (costs.get(function, ABSENT) for costs in sides)
        is_certain = all(max(old.own, new.own) > CLEARLY * least for costs, least in zip(sides, cheapest) if function not in costs)
        calls_changed = old != new and is_certain and (ABSENT in (old, new) or abs(new.calls - old.calls) >= CALLED_MORE)
        if old.own != new.own or calls_changed:
            changed.append(FunctionChange(function, group_of(function), old, new, calls_changed))
    changed.sort(key=lambda change: (-abs(change.difference), change.function))
    total = after.instructions - before.instructions
    rest, number = total - sum(change.difference for change in changed), len(changed)  # the fewest that explain `NAMED` of the total
    while number and abs(rest + changed[number - 1].difference) <= (1 - NAMED) * abs(total):
        number -= 1
        rest += changed[number].difference
    named = tuple(changed[:number])
    return ProfileDifference(before, after, total, tuple(changed), named, total - sum(change.difference for change in named))


@lru_cache(maxsize=65536)  # releases have some thousand functions together
def group_of(function: Function) -> str:
    """Return what a function belongs to."""
    library, name = function
    matching = (group for group, of_library, of_name in RULES if re.search(of_library, library) and re.search(of_name, name))
    return next(matching, OTHER)


def by_component(profile: Profile) -> dict[str, float]:
    """Return the instructions of each component of a case, which add up to those of the call; without those that do not run."""
    costs = defaultdict[str, float](float)
    for function, cost in profile.functions.items():
        costs[group_of(function)] += cost.own
    costs[OTHER] += max(0.0, profile.instructions - sum(costs.values()))
    return {component: cost for component, cost in costs.items() if cost}
