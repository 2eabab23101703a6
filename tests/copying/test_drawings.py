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
    ("seen", "cells", "broken", "rings"),
    [
        ({}, 6, 1, 0),  # an independent leaf: two storages
        ({"shares_storage": True}, 3, 1, 0),
        ({"keeps_graph": True, "is_leaf": False, "requires_grad": True}, 6, 0, 1),
    ],
)
def test_a_method_is_drawn_as_it_was_observed(seen, cells, broken, rings):
    """Three boxes for each storage, a broken line where no gradient flows, a ring for what is no leaf."""
    drawn = counted(draw_methods({"a": launch_files.observed(code="x.a()", **seen)})["a"])
    assert (drawn["cell"], drawn.get("flows broken", 0), drawn.get("leaf none", 0)) == (cells, broken, rings)
    assert drawn.get("head", 0) == 1 - broken


def test_every_shipped_method_that_gives_something_is_drawn():
    """And two networks that share a weight; what raises for every tensor is not."""
    methods = advise.shipped_evidence("cpu").methods
    drawn = draw_methods(methods)
    assert {*methods} - {*drawn} <= {"pinned_numpy"}
    assert 'aria-label="two networks"' in drawn["two_networks"]
    assert all(ElementTree.fromstring(svg).get("aria-label") for svg in drawn.values())


def test_an_ndarray_has_no_mark_and_no_gradient():
    array = launch_files.observed(gives="ndarray", keeps_graph=None, is_leaf=None, requires_grad=None)
    drawn = counted(draw_methods({"a": array})["a"])
    assert (drawn["leaf"], "flows" in drawn, "flows broken" in drawn) == (1, False, False)
