"""GitHub's expressions mean here what GitHub's documentation says of them."""

from __future__ import annotations

import pytest

from tests.workflow_runs.expressions import evaluate, holds, replaced

CONTEXTS = {
    "github": {"event": {"label": {"name": "Measure on GPU"}, "labels": [{"name": "a"}, {"name": "b"}]}, "sha": "1234"},
    "inputs": {},
    "success()": lambda: False,
    "cancelled()": lambda: False,
}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("github.sha", "1234"),
        ("inputs.passes || '40'", "40"),
        ("github.event.label.name == 'measure on gpu'", True),  # texts are compared without case
        ("contains(github.event.labels.*.name, 'b')", True),
        ("github.event.missing.name == ''", True),  # what is missing is null, and equals an empty text
        ("format('origin/{0}', 'main')", "origin/main"),
        ("fromJSON('[1, 2]')", [1, 2]),
        ("!(github.sha == '1') && 'it''s' || 'other'", "it's"),
    ],
)
def test_an_expression_has_its_value(expression, value):
    assert evaluate(expression, CONTEXTS) == value


def test_a_condition_without_a_status_function_asks_for_success():
    """After a failure, only a step that says so runs."""
    assert not holds("github.sha == '1234'", CONTEXTS)
    assert holds("${{ !cancelled() }}", CONTEXTS)


def test_values_keep_their_type_and_texts_their_surroundings():
    """`true` and null become texts within a text only."""
    assert replaced({"a": "${{ github.event.labels }}", "b": ["x-${{ inputs.none }}-${{ github.sha }}"]}, CONTEXTS) == {
        "a": [{"name": "a"}, {"name": "b"}],
        "b": ["x--1234"],
    }


@pytest.mark.parametrize(
    "expression",
    [
        "github.sha ? 1",
        "github.sha github.sha",
        "unknown.name",
        "(github.sha",
        "contains(github.sha, '1'",
        "contains(github.sha '1')",
        "github.sha &&",
    ],
)
def test_what_is_not_understood_is_an_error(expression):
    """A new function or operator in a workflow needs a place here."""
    with pytest.raises((ValueError, KeyError)):
        evaluate(expression, CONTEXTS)
