"""Promise, then prove: on the torch that is installed here."""

from __future__ import annotations

import pytest
import torch

from tensorcopy import ALTERNATIVES, CONVERSIONS, COPIES, PRIMITIVES, observed
from tensorcopy.errors import TensorcopyError
from tensorcopy.worker import devices
from tensorcopy.worker.registry.methods import GROUPS, METHODS, promised

NAMES = {
    "copy": ["new_tensor", "clone_detach", "empty_like_copy", "tensor", "detach_clone"],
    "conversion": ["detach_numpy_copy", "clone_detach_numpy", "detach_clone_numpy"],
    "primitive": ["detach", "clone", "cpu", "numpy"],
}


@pytest.mark.parametrize("group", NAMES)
def test_names_are_keys_in_results(group):
    """The fixed names, in their fixed order."""
    assert list(GROUPS[group]) == NAMES[group]


@pytest.mark.parametrize("device", devices.DEVICES)
@pytest.mark.parametrize("name", METHODS)
def test_a_method_does_what_it_promises(name, device):
    """Observation equals promise, error texts and warnings included."""
    method = METHODS[name]
    if not devices.is_available(device):
        pytest.skip(f"no {device} here")
    promise = promised(method, device)
    if promise is None:
        pytest.skip(f"nothing is promised on {device} yet")
    assert observed(method, device) == promise


def test_promises_follow_the_release():
    """What torch changed is in the row: asarray(copy=True) kept out of the graph until 2.12."""
    method = ALTERNATIVES["asarray_copy"]
    assert promised(method, "cpu", "1.10.2") is None
    assert promised(method, "cpu", "2.11.0").with_grad.keeps_graph is False
    assert promised(method, "cpu", "2.12.1").with_grad.keeps_graph is True
    assert promised(method, "cpu", "2.12.0a0+nv26") == promised(method, "cpu", "2.12.0.dev20260601") == promised(method, "cpu", "2.15.0")
    assert "clone().detach()" in promised(COPIES["tensor"], "cpu", "2.6.0").plain.warns
    assert "detach().clone()" in promised(COPIES["tensor"], "cpu", "2.7.0").plain.warns


@pytest.mark.filterwarnings("ignore:To copy construct from a tensor")
@pytest.mark.parametrize("name", [*COPIES, *CONVERSIONS])
def test_the_callable_is_its_code(name):
    """Called through the registry or typed out: the same values."""
    method, x = METHODS[name], torch.arange(4.0)
    typed = eval(method.code, {"torch": torch, "x": x})
    called = method(x)
    assert type(called) is type(typed)
    assert called.tolist() == typed.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_a_conversion_leads_through_the_cpu_elsewhere():
    """Its row says where."""
    method = CONVERSIONS["detach_clone_numpy"]
    assert method.code == "x.detach().clone().numpy()"
    assert method.code_on_accelerator == "x.detach().clone().cpu().numpy()"
    assert method.on["cpu"] is method
    assert method.on["cuda"].__code__.co_names == ("detach", "clone", "cpu", "numpy")
    assert PRIMITIVES["clone"].code_on_accelerator == "x.clone()"


def test_an_unknown_name_is_told_what_is_known():
    """Four parts: what, got, allowed, next; and still a KeyError."""
    with pytest.raises(TensorcopyError, match=r"unknown method: got 'klone'; allowed: new_tensor, .*; next: ") as caught:
        COPIES["klone"]
    assert isinstance(caught.value, KeyError)
    assert COPIES.get("klone") is None
    assert "klone" not in COPIES


def test_the_tables_cannot_be_changed():
    """A row is a key in results: nobody replaces one by accident."""
    with pytest.raises(TypeError):
        COPIES["clone_detach"] = None


@pytest.mark.slow
def test_a_call_through_the_registry_costs_at_most_60_ns():
    """Against the bare expression, in turns; the least of many, for noise only adds. The methods are empty, so torch's noise is out."""
    from timeit import Timer

    class Tensor:
        def detach(self):
            return self

        clone = detach

    x, method = Tensor(), COPIES["detach_clone"]
    bare, called = Timer("x.detach().clone()", globals={"x": x}), Timer("method(x)", globals={"x": x, "method": method})

    def overhead() -> float:
        rounds = [(bare.timeit(10_000), called.timeit(10_000)) for _ in range(50)]
        return (min(one for _, one in rounds) - min(one for one, _ in rounds)) / 10_000

    assert min(overhead() for _ in range(6)) <= 60e-9
