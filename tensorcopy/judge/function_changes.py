"""Which functions a change consists of. Numbers in, numbers out.

Two profiles are compared function by function, in exclusive instructions, so that the differences add up to that of the whole call.
Functions are named, the largest difference first, until the named ones make four fifths of the whole. A function belongs to a group, such
as the dispatcher or the allocator, by the first rule that matches its library and name.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from tensorcopy.judge.paired import has_changed
from tensorcopy.results.function_profiles import Function, FunctionCost, Profile, Profiles

NAMED = 0.8  # share of the difference that the named functions make at least
CALLED_MORE = 0.5  # calls of one call of the case; a smaller difference is the loop's
CLEARLY = 1.5  # times the cheapest function of a profile: one that costs so much more would be in it
ABSENT = FunctionCost(0.0, 0.0)

KERNEL_NUMEL = 2**14  # elements; in smaller tensors a kernel is a small part of a call
LEAST_PER_ELEMENT = 0.05  # instructions; AVX512 copies an element of 4 bytes in some 0.1; what takes less is no kernel over the elements
LOST = 2.0  # a kernel that takes more times the instructions is no longer vectorised; AVX512 to AVX2 is a factor of 2 at most

BINDING = "Python binding"
DISPATCHER = "dispatcher"
AUTOGRAD = "autograd"
METADATA = "TensorImpl and metadata"
ALLOCATOR = "allocator"
KERNEL = "kernel"
INTERPRETER = "interpreter"
NUMPY = "numpy"
OPERATOR = "operator"
THREAD_LOCAL = "thread-local lookups"
OTHER = "other code"  # such as the C and C++ libraries', and the cheapest functions, which a profile leaves out
LEFT_OUT = "the cheapest functions together"
# of a call, from Python down
COMPONENTS = (INTERPRETER, BINDING, NUMPY, DISPATCHER, AUTOGRAD, OPERATOR, METADATA, ALLOCATOR, KERNEL, THREAD_LOCAL, OTHER)

VARIANTS = r"(DEFAULT|AVX2|AVX512|AVX512_256|ZVECTOR|VSX|SVE256|SVE128)"  # of a kernel, by the instruction set that it is compiled for

# a group, and regular expressions on the library and on the name
RULES = [
    (THREAD_LOCAL, "", r"__tls_get_addr|__tls_init|TLS init function|_dl_update_slotinfo|update_get_addr"),
    (KERNEL, "", rf"at::native::{VARIANTS}::|^(at::internal::serial_for_each|at::TensorIteratorBase::(serial_)?for_each|at::parallel_for)"),
    (KERNEL, "libc", r"^__?mem(cpy|move|set)"),
    (KERNEL, "", r"^(c10::function_ref::callback_fn|at::loop_2d_from_1d)"),
    (ALLOCATOR, "", r"^_?_?(libc_)?_?(int_|mid_)?(malloc|free|memalign|calloc|realloc|posix_memalign|aligned_alloc)(_consolidate|_hook)?$"),
    (ALLOCATOR, "", r"^(alloc_perturb|unlink_chunk|sysmalloc|systrim|arena_get2|tcache\w*|malloc_consolidate)$"),
    (ALLOCATOR, "", r"^(madvise|munmap|mmap|sbrk|brk)$"),
    (ALLOCATOR, "", r"^operator (new|delete)"),
    (ALLOCATOR, "", r"^c10::(alloc_cpu|free_cpu|memset_junk|.*CPUAllocator|ProfiledCPUMemoryReporter|NUMA|GetAllocator)"),
    (ALLOCATOR, "", r"^c10::(profiledCPUMemoryReporter|memoryProfilingEnabled|.*ReportAndDelete|c10_compute_alignment|GetCurrentNUMANode)"),
    (NUMPY, r"umath|numpy|multiarray", ""),
    (NUMPY, "", r"^(PyArray|PyDataMem|npy_)"),
    (INTERPRETER, "libpython", ""),
    (INTERPRETER, "libc|libpthread", r"^_*pthread_"),  # the lock of the interpreter takes nearly all of them
    (DISPATCHER, "", r"^c10::(impl::)?(Dispatcher|OperatorEntry|OperatorHandle|DispatchKey)"),
    (DISPATCHER, "", r"^c10::(impl::)?(BoxedKernel|KernelFunction|wrap_kernel_functor)"),
    (DISPATCHER, "", r"^at::_ops|^c10::(impl::)?(Exclude|Include)DispatchKeyGuard|^c10::impl::TorchDispatchModeTLS"),
    (DISPATCHER, "", r"^at::(RecordFunction|getStepCallbacks|\w*CallbackManager)|^c10::impl::(tls|get_default|raw_)|wrapper_C\w+_"),
    (DISPATCHER, "", r"^c10::(computeDispatchKey|detail::DispatchKey|impl::dispatch|impl::LocalDispatchKeySet|dispatchKey\w+)"),
    (BINDING, "", r"THPVariable|^THP|^torch::Python|^torch::\w*[Pp]y\w*|FunctionSignature|FunctionParameter|pybind11|has_torch_function"),
    (BINDING, "", r"^(isResurrectable|getPyInterpreter|check_has_torch_dispatch)"),
    (BINDING, "", r"PyObjectSlot|HermeticPyObject|PyWarningHandler|PyInterpreter"),
    (BINDING, "", r"^torch::(utils|autograd::utils)::|PythonTorchFunctionTLS|torch_function|^c10::WarningUtils|DLPack|DLDevice|DLDataType"),
    (AUTOGRAD, "", r"^torch::autograd::|^torch::ADInplaceOrView|NodeCreationHooks"),
    (AUTOGRAD, "", r"^c10::(AutogradState|GradMode|InferenceMode|AutogradMeta)"),
    (METADATA, "", r"^c10::(TensorImpl|StorageImpl|Storage|intrusive_ptr|weak_intrusive_ptr)"),
    (METADATA, "", r"^c10::(VariableVersion|SymInt|SymBool|ScalarType|Tensor)"),
    (METADATA, "", r"^c10::(impl::SizesAndStrides|raw|UndefinedTensorImpl|make_storage_impl|\w*IntArrayRef|_compute\w*|Device|GetStorage)"),
    (METADATA, "", r"^at::((TensorBase|Tensor)\b|namedinference|impl::has_names|detail::(make_tensor|computeStorage))|^caffe2::TypeMeta"),
    (OPERATOR, "", r"^at::"),
    (OPERATOR, "libtorch_cpu", ""),
    (METADATA, "libc10", ""),
    (BINDING, "libtorch_python", ""),
]
COMPILED = [(group, re.compile(library), re.compile(name)) for group, library, name in RULES]


@dataclass(frozen=True)
class FunctionChange:
    """A function on both sides; one that a side does not run has no cost there.

    certain : whether a missing function really is not called: a profile omits its cheapest functions
    """

    function: Function
    group: str
    before: FunctionCost
    after: FunctionCost
    certain: bool = True

    @property
    def difference(self) -> float:
        """Exclusive instructions after, minus before."""
        return self.after.own - self.before.own

    @property
    def calls(self) -> float:
        """Calls after, minus before."""
        return self.after.calls - self.before.calls

    @property
    def status(self) -> str:
        """One of "gained", "lost", "called more often", "called less often" and "changed"."""
        if not self.certain:
            return "changed"
        if not self.before.calls and not self.before.own:
            return "gained"
        if not self.after.calls and not self.after.own:
            return "lost"
        if abs(self.calls) >= CALLED_MORE:
            return "called more often" if self.calls > 0 else "called less often"
        return "changed"


@dataclass(frozen=True)
class GroupChange:
    """All functions of a group.

    named : its functions among the named ones, the largest difference first
    difference : of all its functions
    """

    group: str
    difference: float
    before: float
    after: float
    named: tuple[FunctionChange, ...]


@dataclass(frozen=True)
class KernelCost:
    """The kernels of a side.

    per_element : instructions
    function : the most expensive kernel; where its name has no instruction set, torch's most expensive one whose name has, if any; None
        where no kernel runs
    variant : the instruction set in its name; "" where it has none
    calls : of that function: one that runs twice takes twice the instructions, vectorised or not
    """

    per_element: float
    variant: str
    function: Function | None
    calls: float

    @property
    def name(self) -> str:
        return self.function[1] if self.function else "no kernel"


@dataclass(frozen=True)
class KernelChange:
    """The kernels of both sides.

    shown : whether a side runs a kernel over the elements, of a tensor so large that the kernel matters
    """

    before: KernelCost
    after: KernelCost
    shown: bool

    @property
    def lost_vectorisation(self) -> bool:
        return self._factor > LOST and self.after.calls <= self.before.calls

    @property
    def gained_vectorisation(self) -> bool:
        return self._factor < 1 / LOST and self.after.calls >= self.before.calls

    @property
    def _factor(self) -> float:
        if not self.shown or min(self.before.per_element, self.after.per_element) < LEAST_PER_ELEMENT:
            return 1.0
        return self.after.per_element / self.before.per_element


@dataclass(frozen=True)
class ProfileDifference:
    """The functions behind the difference of a case between two profiles.

    numel : elements of the case
    functions : every function that differs, the largest difference first
    named_count : how many of them are named
    """

    numel: int
    before: Profile
    after: Profile
    functions: tuple[FunctionChange, ...]
    named_count: int

    @property
    def total(self) -> float:
        """Instructions after, minus before."""
        return self.after.instructions - self.before.instructions

    @property
    def ratio(self) -> float:
        return self.after.instructions / self.before.instructions if self.before.instructions else 1.0

    @property
    def changed(self) -> bool:
        """Whether the instructions differ by more than counts of the same release do."""
        return has_changed(self.before.instructions, self.after.instructions)

    @property
    def named(self) -> tuple[FunctionChange, ...]:
        return self.functions[: self.named_count]

    @property
    def unnamed(self) -> float:
        """The part of the difference that the named functions leave open, in instructions."""
        return self.total - sum(change.difference for change in self.named)

    @property
    def share_named(self) -> float:
        """The share of the difference that the named functions explain."""
        return 1 - abs(self.unnamed) / abs(self.total) if self.total else 1.0

    @cached_property
    def groups(self) -> tuple[GroupChange, ...]:
        """Every group with a difference, the largest first."""
        by_group: dict[str, list[FunctionChange]] = defaultdict(list)
        for change in self.functions:
            by_group[change.group].append(change)
        named = set(self.named)
        changes = [
            GroupChange(
                group,
                sum(change.difference for change in rows),
                sum(change.before.own for change in rows),
                sum(change.after.own for change in rows),
                tuple(change for change in rows if change in named),
            )
            for group, rows in by_group.items()
        ]
        return tuple(sorted(changes, key=lambda change: (-abs(change.difference), change.group)))

    @cached_property
    def calls_changed(self) -> tuple[FunctionChange, ...]:
        """Functions that are called more or less often, the largest difference first."""
        return tuple(change for change in self.functions if change.status != "changed" and abs(change.calls) >= CALLED_MORE)

    @cached_property
    def kernel(self) -> KernelChange:
        """The kernels of both sides."""
        before, after = (_kernel(self.numel, profile) for profile in (self.before, self.after))
        shown = self.numel >= KERNEL_NUMEL and max(before.per_element, after.per_element) >= LEAST_PER_ELEMENT
        return KernelChange(before, after, shown)


def between(first: Profiles, second: Profiles, name: str) -> ProfileDifference:
    """Return the difference of a case that both sides have."""
    return of_profiles(int(name.split()[1]), first.of(name), second.of(name))


def of_profiles(numel: int, before: Profile, after: Profile) -> ProfileDifference:
    """Return the difference of a case of `numel` elements."""
    libraries = _libraries(before, after)
    first, second = (_costs(side, libraries) for side in (before, after))
    changed = []
    for function in first.keys() | second.keys():
        old, new = first.get(function, ABSENT), second.get(function, ABSENT)
        certain = True
        if old is ABSENT:
            certain = new.own > CLEARLY * before.smallest
        elif new is ABSENT:
            certain = old.own > CLEARLY * after.smallest
        change = FunctionChange(function, group_of(function), old, new, certain)
        if old != new and (change.difference or change.status != "changed"):
            changed.append(change)
    changed.sort(key=lambda change: (-abs(change.difference), change.function))
    return ProfileDifference(numel, before, after, tuple(changed), _fewest(changed, after.instructions - before.instructions))


@lru_cache(maxsize=65536)  # releases have some thousand functions together
def group_of(function: Function) -> str:
    """Return what a function belongs to."""
    library, name = function
    matching = (group for group, library_rule, name_rule in COMPILED if library_rule.search(library) and name_rule.search(name))
    return next(matching, OTHER)


def by_component(profiles: Profiles, name: str) -> dict[str, float]:
    """Return the instructions of each component of a profiled case, which add up to those of the call; without those that do not run."""
    row, components = profiles.cases[name], _components(profiles)
    costs = dict.fromkeys(COMPONENTS, 0.0)
    for number, own in zip(row.functions[0::3], row.functions[1::3]):
        costs[components[int(number)]] += own
    costs[OTHER] += max(0.0, row.instructions - sum(costs.values()))
    return {component: cost for component, cost in costs.items() if cost}


@lru_cache(maxsize=64)
def _components(profiles: Profiles) -> list[str]:
    """Return the component of each function that profiles list: once, because hundreds of cases share them."""
    return [group_of(function) for function in profiles.functions]


def heaviest(profile: Profile, number: int, least: float) -> dict[str, list[tuple[str, float]]]:
    """Return the functions of each component with most exclusive instructions; those of one name in several libraries are one.

    With `OTHER` are those that the profile leaves out, as one.

    least : share of the call; of cheaper functions only the first is listed
    """
    costs: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for function, cost in profile.functions.items():
        costs[group_of(function)][function[1]] += cost.own
    if (rest := profile.instructions - sum(cost.own for cost in profile.functions.values())) > 0:
        costs[OTHER][LEFT_OUT] = rest
    ranked = {component: sorted(by_name.items(), key=lambda item: (-item[1], item[0]))[:number] for component, by_name in costs.items()}
    return {
        component: [row for index, row in enumerate(rows) if not index or row[1] >= least * profile.instructions]
        for component, rows in ranked.items()
    }


def _libraries(before: Profile, after: Profile) -> dict[Function, Function]:
    """Return the function as which another one counts: the same in another library.

    An inline function is in each library that uses it, and the loader takes any. So those of one name are one where the sides have them in
    different libraries: in that where it costs most after the change.
    """
    first, second = _by_name(before), _by_name(after)
    moved: dict[Function, Function] = {}
    for name in first.keys() & second.keys():
        old, new = first[name], second[name]
        if old.keys() != new.keys():
            most = max(new, key=lambda function: new[function].own)
            moved.update(dict.fromkeys([*old, *new], most))
    return moved


def _by_name(profile: Profile) -> dict[str, dict[Function, FunctionCost]]:
    """Return the functions of each name, which several libraries may have, with their costs."""
    by_name: dict[str, dict[Function, FunctionCost]] = defaultdict(dict)
    for function, cost in profile.functions.items():
        by_name[function[1]][function] = cost
    return by_name


def _costs(profile: Profile, libraries: Mapping[Function, Function]) -> dict[Function, FunctionCost]:
    """Return the cost of each function, where those of several libraries count as one."""
    costs: dict[Function, FunctionCost] = {}
    for function, cost in profile.functions.items():
        known = costs.get(libraries.get(function, function), ABSENT)
        costs[libraries.get(function, function)] = FunctionCost(known.own + cost.own, known.calls + cost.calls)
    return costs


def _fewest(functions: Sequence[FunctionChange], total: float) -> int:
    """Return how many of the functions explain `NAMED` of the total, and do so with every further one; all where they do not."""
    open_part = total - sum(change.difference for change in functions)
    number = len(functions)
    while number and abs(open_part + functions[number - 1].difference) <= (1 - NAMED) * abs(total):
        open_part += functions[number - 1].difference
        number -= 1
    return number


def _kernel(numel: int, profile: Profile) -> KernelCost:
    """Return the kernels of a profile of a case of `numel` elements."""
    costs = {function: cost for function, cost in profile.functions.items() if group_of(function) == KERNEL}
    if not costs:
        return KernelCost(0.0, "", None, 0.0)
    by_cost = sorted(costs, key=lambda function: -costs[function].own)
    in_torch = (function for function in by_cost if "at::native::" in function[1] and _variant(function))
    kernel = by_cost[0] if _variant(by_cost[0]) else next(in_torch, by_cost[0])  # its loop may be a function without the variant
    return KernelCost(sum(cost.own for cost in costs.values()) / numel, _variant(kernel), kernel, costs[kernel].calls)


def _variant(function: Function) -> str:
    """Return the instruction set of a kernel: "AVX2", "DEFAULT", the C library's, or "" for no kernel."""
    match = re.search(rf"::{VARIANTS}::", function[1]) or re.match(r"__?mem(?:cpy|move|set)_(\w+)", function[1])
    return match[1] if match else ""
