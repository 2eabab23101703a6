"""Every value that the article prints, checked with the installed torch."""

from __future__ import annotations

import pytest

from tensorcopy.worker import devices
from tensorcopy.worker.probes import article_claims


@pytest.mark.parametrize("device", devices.available())
@pytest.mark.parametrize("section", article_claims.SECTIONS, ids=lambda section: section.__name__)
def test_the_article_s_values_are_reproduced(section, device):
    """On every available device; statements about two devices need an accelerator."""
    statements = [statement for statement in article_claims.statements(device) if statement.section == section.__name__]
    assert statements
    assert [statement for statement in statements if not statement.holds] == []


def test_a_statement_with_another_value_does_not_hold():
    """Otherwise the test above would pass whatever torch does."""
    assert not article_claims.Statement("graph", "w.grad", 2.0, 3.0).holds
