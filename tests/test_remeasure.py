"""Order and cases of a repeated measurement."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tensorcopy.analysis.comparisons import version
from tensorcopy.asv_plugin.configuration import Paths
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import remeasure
from tensorcopy.results.passes import Case

COPY = Case("copies.BySize.time_copy", (("method", "tensor"), ("numel", "16")))
CONTROL = Case("floors.Control.time_sum", ())


@pytest.mark.parametrize(
    ("counts", "passes", "order"),
    [
        ((0, 0), 4, [0, 1, 1, 0, 0, 1, 1, 0]),
        ((2, 2), 4, [0, 1, 1, 0]),
        ((1, 0), 2, [1, 1, 0]),
        ((3, 3), 2, []),
    ],
    ids=["from the start", "more passes", "after an interruption", "complete"],
)
def test_two_releases_alternate_until_both_have_their_passes(counts, passes, order):
    """The order is A B B A, so that a steady drift of the machine affects both alike."""
    assert list(remeasure.alternating(counts, passes)) == order


def test_another_machine_measures_nothing_again(shipped_results, tmp_path):
    """It is refused before a release is installed."""
    before, after = (
        replace(result, provenance={**result.provenance, "identity": "0" * 12})
        for result in shipped_results.results
        if result.environment == "py3.11-cuda" and version(result) in ("2.14.1", "2.15.0")
    )
    with pytest.raises(TensorcopyError, match="this is not the machine of the results: got identity "):
        remeasure.measurer(before, after, Paths(tmp_path, tmp_path, tmp_path / "env", ("3.11",)), lambda progress: None)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "matches"),
    [
        ("copies.BySize.time_copy('tensor', 16)", True),
        ("copies.BySize.time_copy(tensor, 16)", True),
        ("copies.BySize.time_copy('new_tensor', 16)", False),
        ("copies.BySize.time_copy('tensor', 1)", False),
        ("floors.Control.time_sum", True),
        ("floors.Control.time_sum_of_squares", False),
    ],
)
def test_the_expression_matches_only_the_given_cases(name, matches):
    """asv puts text parameters in quotes in some places."""
    assert bool(re.search(remeasure.expression([COPY, CONTROL]), name)) is matches
