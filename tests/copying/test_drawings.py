"""Drawings show what was observed: shared storage, the gradient's way, leaves."""

from xml.etree import ElementTree

import pytest

from tensorcopy.copying import advise
from tensorcopy.copying.drawings import draw_methods
from tests import launch_files


def counted(svg):
    """Return how often each class stands in a drawing."""
    classes = [element.get("class", "") for element in ElementTree.fromstring(svg).iter()]
    return {name: classes.count(name) for name in dict.fromkeys(classes)}


@pytest.mark.parametrize(
    ("seen", "parts"),
    [
        ({}, {"cell": 6, "flows broken": 1, "leaf": 2}),  # an independent leaf: two storages
        ({"shares_storage": True}, {"cell": 3, "flows broken": 1, "leaf": 2}),
        ({"keeps_graph": True, "is_leaf": False, "requires_grad": True}, {"cell": 6, "flows": 1, "head": 1, "leaf": 1, "leaf none": 1}),
        ({"gives": "ndarray", "keeps_graph": None, "is_leaf": None, "requires_grad": None}, {"cell": 6, "leaf": 1}),
    ],
)
def test_a_method_is_drawn_as_it_was_observed(seen, parts):
    """Three boxes for each storage, a broken line where no gradient flows, a ring for what is no leaf; neither for an ndarray."""
    drawn = counted(draw_methods({"a": launch_files.observed(code="x.a()", **seen)})["a"])
    assert {name: drawn[name] for name in ("cell", "flows", "flows broken", "head", "leaf", "leaf none") if name in drawn} == parts


def test_every_shipped_method_that_gives_something_is_drawn():
    """And two networks that share a weight; what raises for every tensor is not."""
    methods = advise.shipped_evidence("cpu").methods
    drawn = draw_methods(methods)
    assert {*methods} - {*drawn} <= {"pinned_numpy"}
    assert 'aria-label="two networks"' in drawn["two_networks"]
    assert all(ElementTree.fromstring(svg).get("aria-label") for svg in drawn.values())
