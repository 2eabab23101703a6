"""What a function of a tensor does is observed on both forms of a tensor, so that nothing but a copy is recommended as one."""

from dataclasses import asdict

import pytest

from tensorcopy.copying import recommend
from tensorcopy.copying.inside import semantics
from tensorcopy.copying.inside.methods import Method, Promise
from tensorcopy.copying.inside.semantics import describe


def operation(code: str) -> Method:
    return Method("own", "own", code, (Promise("1.9.0", None, None),))


def matching(own: Method) -> set[tuple[str, bool]]:
    """Return what the requests are for that a function matches: what it gives, and whether with its own storage."""
    row = {"group": "own", "observed": {"cpu": asdict(semantics.observed(own, "cpu"))}}
    return {(request.to, request.own) for request in recommend.requests("cpu") if recommend.matches(row, request)}


@pytest.mark.parametrize(
    ("code", "plain", "with_grad"),
    [
        ("x.detach().clone()", "", ""),
        ("x.clone() * 1", "", ""),
        ("x.detach().numpy()[::-1][::-1]", "", ""),
        ("x.reshape(-1, 2).clone()", "shape, values", "shape, values, gradients"),
        ("torch.relu(x)", "values", "values, gradients"),
        ("x * 0", "values", "values, gradients"),
        ("x.half()", "values", "values"),  # rounded, and so are gradients, by the same rounding
        ("torch.where(x.isnan(), 0, x)", "values", "values, gradients"),
        ("x.clamp(min=-1e38)", "values", "values, gradients"),  # of −∞ alone
        ("x * 1e30 * 1e-30", "values", "values, gradients"),
        ("x + 1e-30", "values", "values"),
        ("x + (x - x.detach())", "values", "values, gradients"),
        ("x.bfloat16()", "values", "values"),  # which numpy does not have
        ("x.mul_(2)", "values, x", ""),  # on a leaf that requires grad it raises
        ("x.t().contiguous().t().clone() if x.is_contiguous() else x.clone() + 1", "values", "values"),  # of one form alone
    ],
)
def test_a_change_is_observed(code, plain, with_grad):
    """Of values and gradients, over many magnitudes, signs, infinity and NaN; of x itself too. Only a copy matches a request."""
    observed = semantics.observed(operation(code), "cpu")
    assert (observed.plain.changes, observed.with_grad.changes) == (plain, with_grad)
    assert bool(matching(operation(code))) is (plain == with_grad == "")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("x.contiguous()", "shares storage only with a contiguous tensor, out of the graph, layout contiguous"),
        ("x.reshape(-1).view(x.shape)", "shares storage only with a contiguous tensor, out of the graph, layout contiguous"),
        ("np.ascontiguousarray(x.detach().numpy())", "shares storage only with a contiguous tensor, layout contiguous"),
        ("x.clone() if x.is_contiguous() else x", "shares storage only with a transposed tensor, out of the graph"),
        ("x.view(6) if False else x.view(*x.shape)", "shares storage, out of the graph"),
        ("x.t().view(-1).view(x.t().shape).t()", "shares storage, out of the graph, not observed: a contiguous tensor"),
        ("x.double() if x.is_contiguous() else x.clone()", "independent, out of the graph, not observed: dtype"),
    ],
)
def test_what_differs_between_both_forms_is_told_and_never_recommended(code, words):
    """Neither as a copy, although one form has its own storage, nor as a view."""
    outcome = asdict(semantics.observed(operation(code), "cpu").plain)
    assert describe(outcome) == words
    assert outcome["shares_storage"] is words.startswith("shares storage")
    assert matching(operation(code)) == ({("tensor", False)} if words == "shares storage, out of the graph" else set())


@pytest.mark.parametrize(("code", "gives"), [("x.tolist()", "list"), ("(x,)", "tuple"), ("x.sum().item()", "float"), ("None", "NoneType")])
def test_what_is_neither_a_tensor_nor_an_array_is_an_error(code, gives):
    """It says what it is, and matches no request."""
    outcome = semantics.observed(operation(code), "cpu").plain
    assert (outcome.gives, outcome.raises) == ("error", f"TypeError: it returns a {gives}, and no tensor or ndarray")
    assert matching(operation(code)) == set()


def test_an_outcome_is_told_in_words():
    """What is as it was is left out, and what warns is said to."""
    assert describe(asdict(semantics.observed(operation("x.double()"), "cpu").with_grad)) == "independent, in the graph, dtype float64"
    warned = semantics.observed(operation("torch.tensor(x)"), "cpu").plain
    assert describe(asdict(warned)) == "independent, out of the graph, warns"
    leaf = semantics.observed(operation("x.detach().clone().requires_grad_()"), "cpu").plain
    assert describe(asdict(leaf)) == "independent, out of the graph, requires grad itself"
    zeros = semantics.observed(operation("np.zeros(x.shape)"), "cpu").plain
    assert describe(asdict(zeros)) == "changes values, independent, dtype float64, layout contiguous"
    error = asdict(semantics.raises("TypeError: no {device} tensor"))
    assert [describe(error, device) for device in ("cpu", "cuda")] == ["TypeError: no cpu tensor", "TypeError: no cuda:0 tensor"]
