"""Every value that the article prints, checked with the installed torch."""

import pytest

from tensorcopy.copying.inside import conformance, printed
from tensorcopy.worker import devices

STATEMENTS = 99  # that the article makes about a tensor on the CPU


@pytest.mark.parametrize("device", devices.available())
def test_the_article_s_values_are_reproduced(device):
    """On every available device; claims about two devices need an accelerator."""
    assert [claim for claim in conformance.claims(device) if not claim.holds] == []


def test_every_value_is_checked():
    """Of each section: a line of several values cannot lose one. What a measurement stores says how many hold."""
    claims = conformance.claims("cpu")
    assert len(claims) == STATEMENTS
    assert {claim.printed.section for claim in claims} == set(printed.SECTIONS)
    assert {type(claim.got) for claim in claims if claim.printed.expression.endswith(".grad")} == {type(None), float}
    assert conformance.observations()["article"]["cpu"] == {"statements": STATEMENTS, "hold": STATEMENTS, "fail": []}


def test_a_value_that_differs_is_named(monkeypatch):
    """Otherwise the tests above would pass whatever torch does. A result stores what was got, and finds it again by the statement."""
    monkeypatch.setitem(printed.SECTIONS, "detach", "w = leaf(1.0)\nw.detach() is w, w -> True, 1.0")
    failed = [claim for claim in conformance.claims("cpu") if not claim.holds]
    assert [(claim.printed.section, claim.printed.expression, claim.got, claim.printed.value) for claim in failed] == [
        ("detach", "w.detach() is w", False, True)
    ]
    article = conformance.observations()["article"]["cpu"]
    assert article["hold"] == article["statements"] - 1
    assert article["fail"] == ["detach: w.detach() is w is False, printed True"]
    assert failed[0].printed.got(article["fail"]) == "False"
    assert [line.got(article["fail"]) for line in printed.session("detach", "cpu")] == ["", "False", ""]
