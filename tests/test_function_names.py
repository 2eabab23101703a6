"""Functions have names that compare between releases, and a group that says what they belong to."""

from __future__ import annotations

import pytest

from tensorcopy.analysis.profiles import function_groups
from tensorcopy.worker.probes.functions import names

RAW = {
    "pthread_mutex_lock@@GLIBC_2.2.5": "pthread_mutex_lock",
    "PyObject_Vectorcall'2": "PyObject_Vectorcall",
    "0x00000000049367a8": names.UNNAMED,
    "???": names.UNNAMED,
    "THPVariable_NewWithVar(_typeobject*, at::Tensor, c10::impl::PyInterpreterStatus, bool)": "THPVariable_NewWithVar",
    "std::__cxx11::basic_string<char>::_M_dispose()": "std::__cxx11::basic_string::_M_dispose",
    "foo[abi:cxx11](int) const": "foo",
    "at::LocalCallbackManager::rebuild() [clone .constprop.0]": "at::LocalCallbackManager::rebuild",
    "at::(anonymous namespace)::GlobalCallbackManager::get()": "at::GlobalCallbackManager::get",
    "c10::TensorImpl::~TensorImpl()'2": "c10::TensorImpl::~TensorImpl",
    "operator new(unsigned long)": "operator new",
    "operator delete(void*, unsigned long)": "operator delete",
    "c10::operator<<(std::ostream&, c10::DeviceType)": "c10::operator<<",
    "torch::detail::MakeNextFunctionList::operator()(at::Tensor const&)": "torch::detail::MakeNextFunctionList::operator()",
    "c10::SymInt::operator bool() const": "c10::SymInt::operator bool",
    "void newest<int>(int)": "newest",
    "c10::intrusive_ptr<c10::TensorImpl, c10::detail::null<c10::TensorImpl> > c10::TensorImpl::core<A const&>(A const&, bool) const": (
        "c10::TensorImpl::core"
    ),
    "c10::impl::wrap_kernel_functor_unboxed_<c10::F<at::Tensor (c10::K), &torch::ADInplaceOrView::detach>, at::Tensor ()>::call(int)": (
        "c10::impl::wrap_kernel_functor_unboxed_[ADInplaceOrView::detach]::call"
    ),
}


@pytest.mark.parametrize("raw", RAW)
def test_a_name_has_no_decorations(raw):
    """Template arguments, parameters, ABI tags, symbol versions, clones and recursion marks are dropped."""
    assert names.function(raw) == RAW[raw]


@pytest.mark.parametrize(
    ("path", "library"),
    [
        ("/env/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so", "libtorch_cpu"),
        ("/usr/lib/x86_64-linux-gnu/libc.so.6", "libc"),
        ("/usr/lib/x86_64-linux-gnu/libc-2.31.so", "libc"),
        ("/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", "ld"),
        ("/usr/lib/libpython3.11.so.1.0", "libpython"),
        ("/usr/bin/python3.9", "libpython"),
        ("/env/numpy/core/_multiarray_umath.cpython-311-x86_64-linux-gnu.so", "_multiarray_umath"),
        ("/env/torch/lib/libgomp-a34b3233.so.1", "libgomp"),
    ],
)
def test_a_library_has_no_version(path, library):
    assert names.library(path) == library


@pytest.mark.parametrize(
    ("function", "group"),
    [
        (("libc", "_int_free"), function_groups.ALLOCATOR),
        (("libstdc++", "operator new"), function_groups.ALLOCATOR),
        (("ld", "__tls_get_addr"), function_groups.THREAD_LOCAL),
        (("libpython", "PyObject_GenericGetAttr"), function_groups.INTERPRETER),
        (("libtorch_python", "torch::autograd::THPVariable_detach"), function_groups.BINDING),
        (("libtorch_cpu", "at::_ops::detach::call"), function_groups.DISPATCHER),
        (("libtorch_cpu", "torch::autograd::as_view"), function_groups.AUTOGRAD),
        (("libc10", "c10::TensorImpl::copy_tensor_metadata"), function_groups.METADATA),
        (("libtorch_cpu", "at::native::AVX2::direct_copy_kernel"), function_groups.KERNEL),
        (("libtorch_cpu", "at::native::copy_"), function_groups.OPERATOR),
        (("_multiarray_umath", "PyArray_NewCopy"), function_groups.NUMPY),
    ],
)
def test_a_function_belongs_to_a_group(function, group):
    assert function_groups.group_of(function) == group


def test_a_function_without_a_rule_belongs_to_its_caller():
    """A lock belongs to whoever takes it."""
    assert function_groups.group_of(("libc", "pthread_mutex_lock"), function_groups.INTERPRETER) == function_groups.INTERPRETER
