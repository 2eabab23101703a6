"""What a function belongs to: the dispatcher, autograd, the allocator and so on.

The first rule that matches a function decides. One that no rule matches, such as a function of the C library, belongs to what its caller
belongs to.
"""

from __future__ import annotations

import re
from functools import lru_cache

from tensorcopy.results.profiles.profile_file import Function

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
OTHER = "other code"

VARIANTS = r"(DEFAULT|AVX2|AVX512|AVX512_256|ZVECTOR|VSX|SVE256|SVE128)"  # of a kernel, by the instruction set that it is compiled for

# a group, and expressions on the library and on the name
RULES = [
    (THREAD_LOCAL, "", r"__tls_get_addr|__tls_init|TLS init function|_dl_update_slotinfo|update_get_addr"),
    (KERNEL, "", rf"at::native::{VARIANTS}::|^(at::internal::serial_for_each|at::TensorIteratorBase::(serial_)?for_each|at::parallel_for)"),
    (KERNEL, "libc", r"^__?mem(cpy|move|set|cpy_chk)"),
    (KERNEL, "", r"^(c10::function_ref::callback_fn|at::loop_2d_from_1d)"),
    (ALLOCATOR, "", r"^_?_?(libc_)?_?(int_|mid_)?(malloc|free|memalign|calloc|realloc|posix_memalign|aligned_alloc)(_consolidate|_hook)?$"),
    (
        ALLOCATOR,
        "",
        r"^(alloc_perturb|unlink_chunk|sysmalloc|systrim|arena_get2|tcache\w*|malloc_consolidate|madvise|munmap|mmap|sbrk|brk)$",
    ),
    (
        ALLOCATOR,
        "",
        r"^operator (new|delete)|^c10::(alloc_cpu|free_cpu|memset_junk|.*CPUAllocator|ProfiledCPUMemoryReporter|NUMA|GetAllocator)",
    ),
    (ALLOCATOR, "", r"^c10::(profiledCPUMemoryReporter|memoryProfilingEnabled|.*ReportAndDelete|c10_compute_alignment|GetCurrentNUMANode)"),
    (NUMPY, r"umath|numpy|multiarray", ""),
    (NUMPY, "", r"^(PyArray|PyDataMem|npy_)"),
    (INTERPRETER, "libpython", ""),
    (
        DISPATCHER,
        "",
        r"^c10::(impl::)?(Dispatcher|OperatorEntry|OperatorHandle|DispatchKey|BoxedKernel|KernelFunction|wrap_kernel_functor)",
    ),
    (DISPATCHER, "", r"^at::_ops|^c10::(impl::)?(Exclude|Include)DispatchKeyGuard|^c10::impl::TorchDispatchModeTLS"),
    (DISPATCHER, "", r"^at::(RecordFunction|getStepCallbacks|\w*CallbackManager)|^c10::impl::(tls|get_default|raw_)|wrapper_C\w+_"),
    (DISPATCHER, "", r"^c10::(computeDispatchKey|detail::DispatchKey|impl::dispatch|impl::LocalDispatchKeySet|dispatchKey\w+)"),
    (BINDING, "", r"THPVariable|^THP|^torch::Python|^torch::\w*[Pp]y\w*|FunctionSignature|FunctionParameter|pybind11|has_torch_function"),
    (
        BINDING,
        "",
        r"^(isResurrectable|getPyInterpreter|check_has_torch_dispatch)|PyObjectSlot|HermeticPyObject|PyWarningHandler|PyInterpreter",
    ),
    (BINDING, "", r"^torch::(utils|autograd::utils)::|PythonTorchFunctionTLS|torch_function|^c10::WarningUtils|DLPack|DLDevice|DLDataType"),
    (
        AUTOGRAD,
        "",
        r"^torch::autograd::|^torch::ADInplaceOrView|^c10::(AutogradState|GradMode|InferenceMode|AutogradMeta)|NodeCreationHooks",
    ),
    (
        METADATA,
        "",
        r"^c10::(TensorImpl|StorageImpl|Storage|intrusive_ptr|weak_intrusive_ptr|VariableVersion|SymInt|SymBool|ScalarType|Tensor)",
    ),
    (METADATA, "", r"^c10::(impl::SizesAndStrides|raw|UndefinedTensorImpl|make_storage_impl|\w*IntArrayRef|_compute\w*|Device|GetStorage)"),
    (METADATA, "", r"^at::(TensorBase|Tensor|namedinference|impl::has_names|detail::(make_tensor|computeStorage))|^caffe2::TypeMeta"),
    (OPERATOR, "", r"^at::"),
    (OPERATOR, "libtorch_cpu", ""),
    (METADATA, "libc10", ""),
    (BINDING, "libtorch_python", ""),
]
COMPILED = [(group, re.compile(library), re.compile(name)) for group, library, name in RULES]


@lru_cache(maxsize=65536)  # functions and groups of callers: releases have some thousand functions together
def group_of(function: Function, caller: str = OTHER) -> str:
    """Return a function's group.

    caller : the group of its caller, which a function without a rule gets
    """
    library, name = function
    for group, library_rule, name_rule in COMPILED:
        if library_rule.search(library) and name_rule.search(name):
            return group
    return caller


@lru_cache(maxsize=65536)  # as above
def variant_of(function: Function) -> str:
    """Return the instruction set of a kernel: "AVX2", "DEFAULT", the C library's, or "" for no kernel."""
    match = re.search(rf"::{VARIANTS}::", function[1])
    if match:
        return match[1]
    match = re.match(r"__?mem(?:cpy|move|set)_(\w+)", function[1])
    return match[1] if match else ""
