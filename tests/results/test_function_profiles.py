"""Functions of a call: read from callgrind, named alike over releases, and kept beside a result."""

import json
import lzma

import pytest

from tensorcopy.copying.inside.profiler import INTERPRETER, UNNAMED, Cost, function_name, library_name, per_call, read
from tensorcopy.judge import function_changes
from tensorcopy.results import function_profiles
from tests import launch_files
from tests.mutations import RELEASES, small_results

# 10 turns: the loop takes 20 instructions a turn and 100 once; it calls `act` through a jump without a symbol; `act` calls `free`
CALLGRIND = """# callgrind format
positions: line
events: Ir

ob=(1) /lib/libpython3.11.so.1.0
fl=(1) ???
fn=(1) loop
0 100
+3 200
*
cob=(2) ???
cfn=(2) 0x0123
calls=10 0
0 520

ob=(2)
fn=(2)
0 20
cob=(3) /env/torch/lib/libc10.so
cfi=(3) ???
cfn=(3) act(int)
calls=10 0
0 500

ob=(3)
fn=(3)
0 300
cob=(4) /usr/lib/libc.so.6
cfn=(4) free
calls=20 0
0 200
cfn=(4)
calls=7 0
0 0

ob=(4)
fn=(4)
0 200

totals: 820
"""
ACT, FREE = ("libc10", "act"), ("libc", "free")


def test_of_several_files_the_newest_is_that_of_a_result(tmp_path):
    """Functions that were counted again, as after a change of what is counted."""
    results = small_results(tmp_path)
    result = next(each for each in launch_files.load(results) if each.version == RELEASES[-1])
    (path,) = function_profiles.paths_of(results / "box", result.sha, result.environment)
    counted = json.loads(lzma.decompress(path.read_bytes()))
    for year, newest in (("2020", counted["functions"][0]), ("2090", ["libc", "2090"])):
        again = json.dumps({**counted, "functions": [["libc", year], *counted["functions"][1:]]}).encode()
        path.with_name(f"{year}0101T000000{path.name[15:]}").write_bytes(lzma.compress(again))
        result = next(each for each in launch_files.load(results) if each.place == result.place)
        assert function_profiles.profiles_of(result).functions[0] == tuple(newest)


def test_a_jump_without_a_symbol_belongs_to_its_caller():
    """No instruction is lost; the function without a caller is the interpreter's loop; calls that cost nothing were made outside it."""
    assert read(CALLGRIND) == {INTERPRETER: Cost(320, 0), ACT: Cost(300, 10), FREE: Cost(200, 20)}


@pytest.mark.parametrize(("calls", "own"), [(50, 1), (2, 1), (10, 1)], ids=["many", "few", "between"])
def test_the_loop_is_subtracted(calls, own):
    """What runs once is subtracted once, and what runs in every turn by the turns."""
    many, few = ({INTERPRETER: Cost(100 + 20 * turns, 0)} for turns in (50, 2))
    costs = {INTERPRETER: Cost(100 + 20 * calls + own * calls, 0), ACT: Cost(30 * calls, calls)}
    assert per_call(costs, many, few, calls) == {INTERPRETER: pytest.approx(Cost(own, 0)), ACT: pytest.approx(Cost(30, 1))}


RAW = {
    "pthread_mutex_lock@@GLIBC_2.2.5": "pthread_mutex_lock",
    "PyObject_Vectorcall'2": "PyObject_Vectorcall",
    "???": UNNAMED,
    "std::__cxx11::basic_string<char>::_M_dispose()": "std::__cxx11::basic_string::_M_dispose",
    "at::LocalCallbackManager::rebuild() [clone .constprop.0]": "at::LocalCallbackManager::rebuild",
    "at::(anonymous namespace)::GlobalCallbackManager::get()": "at::GlobalCallbackManager::get",
    "operator new(unsigned long)": "operator new",
    "c10::operator<<(std::ostream&, c10::DeviceType)": "c10::operator<<",
    "torch::detail::MakeNextFunctionList::operator()(at::Tensor const&)": "torch::detail::MakeNextFunctionList::operator()",
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
    assert function_name(raw) == RAW[raw]


@pytest.mark.parametrize(
    ("path", "library"),
    [
        ("/env/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so", "libtorch_cpu"),
        ("/usr/lib/x86_64-linux-gnu/libc-2.31.so", "libc"),
        ("/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", "ld"),
        ("/usr/bin/python3.9", "libpython"),
        ("/env/numpy/core/_multiarray_umath.cpython-311-x86_64-linux-gnu.so", "_multiarray_umath"),
        ("/env/torch/lib/libgomp-a34b3233.so.1", "libgomp"),
    ],
)
def test_a_library_has_no_version(path, library):
    assert library_name(path) == library


@pytest.mark.parametrize(
    ("function", "group"),
    [
        (("libc", "_int_free"), "allocator"),
        (("libstdc++", "operator new"), "allocator"),
        (("ld", "__tls_get_addr"), "thread-local lookups"),
        (("libpython", "PyObject_GenericGetAttr"), "interpreter"),
        (("libc", "pthread_mutex_lock"), "interpreter"),
        (("libtorch_python", "torch::autograd::THPVariable_detach"), "Python binding"),
        (("libtorch_cpu", "at::_ops::detach::call"), "dispatcher"),
        (("libtorch_cpu", "torch::autograd::as_view"), "autograd"),
        (("libc10", "c10::TensorImpl::copy_tensor_metadata"), "TensorImpl and metadata"),
        (("libtorch_cpu", "at::native::AVX2::direct_copy_kernel"), "kernel"),
        (("libtorch_cpu", "at::native::copy_"), "operator"),
        (("_multiarray_umath", "PyArray_NewCopy"), "numpy"),
        (("libstdc++", "__dynamic_cast"), "other code"),
    ],
)
def test_a_function_belongs_to_a_group(function, group):
    assert function_changes.group_of(function) == group
