"""Results of operations are compared as strictly as docs/own-operation.md says."""

from math import inf, nan

import numpy as np
import pytest
import torch

from tensorcopy.copying.inside.values import difference, equal

BIG = torch.tensor([2**60, 2**60 + 1])
X = torch.tensor([[1.0, 0.0], [2.0, nan]])
Z = torch.complex(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
SOFTMAX = torch.full((256,), 1 / 256)


@pytest.mark.parametrize(
    ("result", "expected", "text"),
    [
        (BIG + 1, BIG, "1152921504606846977 instead of 1152921504606846976 at [0], in 2 of 2 values"),
        (BIG, BIG.to(torch.float64), ""),  # the less exact dtype decides
        (BIG.numpy().astype(np.uint64) + np.uint64(1), BIG, "1152921504606846977 instead of 1152921504606846976 at [0], in 2 of 2 values"),
        (torch.tensor([True, False]), torch.tensor([True, True]), "False instead of True at [1], in 1 of 2 values"),
        (Z, Z.conj(), "(1+3j) instead of (1-3j) at [0], in 2 of 2 values"),
        (Z.conj(), torch.complex(Z.real, -Z.imag), ""),
        (Z.conj().imag, torch.tensor([-3.0, -4.0]), ""),
        (X, X.clone(), ""),
        (X, X.nan_to_num(5.0), "nan instead of 5.0 at [1, 1], in 1 of 4 values"),
        (X.nan_to_num(5.0), X, "5.0 instead of nan at [1, 1], in 1 of 4 values"),
        (torch.tensor(inf), torch.tensor(-inf), "inf instead of -inf, in 1 of 1 values"),
        (torch.tensor([inf, 1.0]), torch.tensor([3e38, 1.0]), "inf instead of 3e+38 at [0], in 1 of 2 values"),
        (np.flip(X.numpy()), np.flip(X.numpy()).copy(), ""),
        (np.flip(X.numpy()), X, "nan instead of 1.0 at [0, 0], in 4 of 4 values"),
        (X.to_sparse(), X.clone(), ""),
        (X.to_sparse(), 2 * X, "1.0 instead of 2.0 at [0, 0], in 2 of 4 values"),
        (X.half(), X, ""),
        (X.bfloat16() * 1.05, X, "1.046875 instead of 1.0 at [0, 0], in 2 of 4 values"),
        (X * (1 + 5e-5), X, ""),
        (X * (1 + 5e-5), X.double() * (1 + 3e-4), "1.00005"),
        (X.double() * (1 + 5e-5), X.double(), "1.00005"),
        (Z.to(torch.complex128) * (1 + 1e-9), Z.to(torch.complex128), ""),
        (SOFTMAX.half() * 0, SOFTMAX.half(), "0.0 instead of 0.003906 at [0], in 256 of 256 values"),  # below the tolerance, and wrong
        (torch.tensor(1e-6), torch.tensor(0.0), ""),
        (X[0], X, "the shape (2,) instead of (2, 2)"),
        (X.max(0), X, "a max of 2 instead of a Tensor"),
        ((X, Z), (X, Z), ""),
        ((X, Z), [X, Z.conj()], "(1+3j) instead of (1-3j) at [0], in 2 of 2 values"),
        ((X, (Z,)), (X, (Z, Z)), "a tuple of 1 instead of a tuple of 2"),
        (Z.real.tolist(), Z.real, ""),
        (3, 3.0, ""),
        ("a", "b", "a instead of b, in 1 of 1 values"),
    ],
)
def test_a_difference_is_told(result, expected, text):
    """With the first values that differ, and how many do."""
    told = difference(result, expected)
    assert told.startswith(text) if text else told == ""


@pytest.mark.parametrize("value", [None, {"x": X}, object(), X.to("meta"), np.array([None])])
def test_what_has_no_values_is_not_compared(value):
    with pytest.raises((TypeError, NotImplementedError)):
        difference(value, X)


def test_a_copy_has_exactly_the_same_values():
    """Whatever its dtype and layout; NaN equals NaN."""
    for copy in (X.clone(), X.double(), X.bfloat16(), X.to_sparse(), X.numpy()[:, ::-1][:, ::-1], X.to(torch.complex64)):
        assert equal(copy, X)
    for other in (X + 1e-7, X[0], X.nan_to_num(), X.t()):
        assert not equal(other, X)
