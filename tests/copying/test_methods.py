"""The registry: promises are kept by the installed torch."""

import json

import pytest
import torch

from tensorcopy import ALTERNATIVES, CONVERSIONS, COPIES, PRIMITIVES
from tensorcopy.copying.inside.methods import GROUPS, METHODS, TRANSFERS, code_on, promised, why_not

NAMES = {
    "copy": ["new_tensor", "clone_detach", "empty_like_copy", "tensor", "detach_clone"],
    "conversion": ["detach_numpy_copy", "clone_detach_numpy", "detach_clone_numpy"],
    "primitive": ["detach", "clone", "cpu", "numpy"],
}


def test_names_are_keys_in_results():
    """The fixed names, in their fixed order, and that of the table: asv's parameters are names in it, and results have their places."""
    assert {group: list(GROUPS[group]) for group in NAMES} == NAMES
    assert list(GROUPS) == [*NAMES, "alternative", "transfer"]
    assert [name for group in GROUPS.values() for name in group] == list(METHODS)


def test_promises_depend_on_the_release():
    """For example, asarray(copy=True) is in the graph from torch 2.12 on."""
    method = ALTERNATIVES["asarray_copy"]
    assert promised(method, "cpu", "1.10.2") is None
    assert promised(method, "cpu", "2.11.0").with_grad.keeps_graph is False
    assert promised(method, "cpu", "2.12.1").with_grad.keeps_graph is True
    assert promised(method, "cpu", "2.12.0a0+nv26") == promised(method, "cpu", "2.12.0.dev20260601") == promised(method, "cpu", "2.15.0")
    assert "clone().detach()" in promised(COPIES["tensor"], "cpu", "2.6.0").plain.warns
    assert "detach().clone()" in promised(COPIES["tensor"], "cpu", "2.7.0").plain.warns


def test_a_conversion_goes_through_the_cpu_on_accelerators():
    method = CONVERSIONS["detach_clone_numpy"]
    assert method.code_on_accelerator == "x.detach().clone().cpu().numpy()"
    assert [method.on[device].__code__.co_names for device in ("cpu", "mps")] == [
        ("detach", "clone", "numpy"),
        ("detach", "clone", "cpu", "numpy"),
    ]
    assert code_on(PRIMITIVES["clone"], "cuda") == "x.clone()"


@pytest.mark.parametrize(("device", "reason"), [("cuda", ""), ("mps", "is for a tensor on cuda"), ("cpu", "is for a tensor on cuda")])
def test_pinned_memory_is_for_cuda(device, reason):
    """Elsewhere the method does not apply, and promises nothing; torch raises without a driver for CUDA."""
    pinned = TRANSFERS["pinned_numpy"]
    assert why_not(pinned, device).removeprefix("pinned_numpy ") == reason
    assert (promised(pinned, "cpu", "1.9.0"), promised(pinned, "cuda", "1.9.0").plain.gives) == (None, "ndarray")


PINNED = """
import json, torch
from dataclasses import asdict
from tensorcopy.copying.inside import semantics
from tensorcopy.copying.inside.methods import NAMES, TRANSFERS, promised
method = TRANSFERS["pinned_numpy"]
x = torch.arange(1.0, 4.0).to("cuda")
a = eval(method.code.partition(" = ")[2].partition(";")[0], {**NAMES, "x": x})
read_too_early = a.tolist()
torch.cuda.synchronize()
addresses = set()
for _ in range(6):
    b = method.on["cuda"](x)
    addresses.add(b.ctypes.data)
observed = semantics.observed(method, "cuda") == promised(method, "cuda")
print(json.dumps([read_too_early, a.tolist(), b.tolist(), len(addresses), observed]))
"""


@pytest.mark.slow
def test_pinned_memory_is_safe_to_read_after_the_wait_only(emulated_cuda):
    """Before it, the ndarray has what its memory had. With the wait, promises are kept, and memory of earlier calls is reused."""
    done = emulated_cuda.run("-c", PINNED, OPERATION_US=20_000)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [[0.0, 0.0, 0.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0], 2, True]


@pytest.mark.weekly
def test_a_compiled_clone_that_only_arithmetic_uses_is_fused_away():
    """As the guide says: the code that torch.compile writes multiplies x itself; a clone that is returned is made."""
    from torch._inductor.utils import run_and_get_code

    x = torch.ones(1024)
    _, (fused,) = run_and_get_code(torch.compile(lambda x: x.clone() * 2), x)
    assert ("cpp_fused_mul" in fused, fused.count("empty_strided_cpu(")) == (True, 1)
    _, (both,) = run_and_get_code(torch.compile(lambda x: (y := x.clone(), y * 2)), x)
    assert both.count("empty_strided_cpu(") == 2
