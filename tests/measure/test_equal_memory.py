"""Sides that copied into other memory than the others, as their page faults tell; `test_launch` takes such cases again."""

import pytest

from tensorcopy.measure.launch import Turns, differing


@pytest.mark.parametrize(
    ("faults", "differ"),
    [
        ([1000, 1000, 1900], set()),
        ([1000, 1000, 2100], {2}),
        ([1000, 1000, 520], set()),
        ([1000, 1000, 480], {2}),
        ([0, 0, 60], set()),  # few
        ([0, 0, 70], {2}),
        ([1000, 0], {1}),  # of two, the one whose memory was there before
        ([1000, None, 0, 1000], {2}),  # one has failed
        ([None], set()),
    ],
)
def test_a_side_differs_from_the_median_one_by_half_or_by_as_much_again(faults, differ):
    turns = [Turns(failed="no") if number is None else Turns(seconds=[1e-6], faults=number) for number in faults]
    assert differing(turns) == differ
