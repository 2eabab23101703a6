"""What an operation changes is observed, so that nothing but a copy is recommended as one."""

import dataclasses

import pytest

from tensorcopy.copying import recommend
from tensorcopy.copying.inside.semantics import describe

torch = pytest.importorskip("torch")

from tensorcopy.copying.inside import semantics  # noqa: E402
from tensorcopy.copying.inside.methods import Method, Promise  # noqa: E402


def make_method(name, code, *promises, on_accelerator="", since="1.9.0", **options):
    return Method("own", name, code, promises or (Promise(since, None, None),), on_accelerator, **options)


def operation(code: str) -> Method:
    return make_method("own", code, since="1.9.0")


@pytest.mark.parametrize(
    ("code", "plain", "with_grad"),
    [
        ("x.detach().clone()", "", ""),
        ("x.clone() * 1", "", ""),
        ("torch.complex(x, x).conj()", "values", "values"),
        ("x.detach().numpy()[::-1][::-1]", "", ""),
        ("x.reshape(-1, 2).clone()", "shape, values", "shape, values"),  # the shape of the first tensor is kept, by chance
        ("x.view(3, 2)", None, None),  # of no other shape
        ("torch.relu(x)", "values", "values, gradients"),
        ("x * 0", "values", "values, gradients"),
        ("x.half()", "values", "values"),  # rounded, and so are gradients, by the same rounding
        ("torch.where(x.isnan(), 0, x)", "values", "values, gradients"),
        ("x.clamp(min=-1e38)", "values", "values, gradients"),  # of −∞ alone
        ("x * 1e30 * 1e-30", "values", "values, gradients"),
        ("x + 1e-30", "values", "values"),
        ("x + (x - x.detach())", "values", "values, gradients"),
        ("x.clone().flatten()", "shape, values", "shape, values"),
        ("x.mul_(2)", "values, x", ""),  # on a leaf that requires grad it raises
    ],
)
def test_a_change_is_observed(code, plain, with_grad):
    """Of values and gradients, over many magnitudes, signs, infinity and NaN; of x itself too. Only a copy matches a request."""
    observed = semantics.observed(operation(code), "cpu")
    assert (observed.plain.changes, observed.with_grad.changes) == (plain, with_grad)
    assert matches_any(operation(code)) is (plain == with_grad == "")


@pytest.mark.parametrize(("code", "gives"), [("x.tolist()", "list"), ("(x,)", "tuple"), ("x.sum().item()", "float"), ("None", "NoneType")])
def test_what_is_neither_a_tensor_nor_an_array_is_named(code, gives):
    """It is no error of the operation, and matches no request."""
    outcome = semantics.observed(operation(code), "cpu").plain
    assert (outcome.gives, outcome.raises) == (gives, "")
    assert describe(dataclasses.asdict(outcome)) == f"returns a {gives}, of which nothing is observed"
    assert not matches_any(operation(code))


@pytest.mark.parametrize(
    ("code", "words", "unobserved"),
    [
        ("np.flip(x.detach().numpy())", "changes values, shares storage, layout (-1, -3)", []),
        ("x.to(torch.complex64)", "independent, in the graph, dtype complex64", []),
        ("x.double()", "independent, in the graph, dtype float64", []),
        ("x.detach().numpy().astype('>f4')", "independent, dtype >f4", []),
        (
            "x.to_sparse()",
            "independent, in the graph, layout sparse_coo, not observed: gradients",
            ["gradients: TypeError: those of torch."],
        ),
        (
            "x.view(3, 2)",
            "shares storage, in the graph, not observed: a tensor of shape (8, 7)",
            ["a tensor of shape (8, 7): RuntimeError: "],
        ),
        (
            "x.detach().to('meta')",
            "out of the graph, device meta, not observed: shares storage and values",
            ["shares storage: NotImplementedError: ", "values: NotImplementedError: "],
        ),
        (
            "x.detach().numpy().astype(object)",
            "dtype object, not observed: shares storage and values",
            ["shares storage: Type", "values: Type"],
        ),
    ],
)
def test_an_error_of_an_observation_is_not_one_of_the_operation(code, words, unobserved):
    """What could not be observed has the reason, and nothing that is not wholly observed is recommended as a copy."""
    outcome = semantics.observed(operation(code), "cpu").with_grad
    assert describe(dataclasses.asdict(outcome)) == words
    assert outcome.raises == ""
    assert [reason[: len(start)] for reason, start in zip(outcome.unobserved, unobserved)] == unobserved
    assert len(outcome.unobserved) == len(unobserved)
    assert not (unobserved and matches_any(operation(code)))


def matches_any(own: Method) -> bool:
    """Return whether an operation matches any request."""
    row = {"group": "own", "observed": {"cpu": dataclasses.asdict(semantics.observed(own, "cpu"))}}
    return any(recommend.matches(row, request) for request in recommend.requests("cpu"))
