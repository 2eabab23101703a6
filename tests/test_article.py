"""Every value the article prints, on the torch that is installed here."""

from __future__ import annotations

import pytest

from tensorcopy.worker import devices
from tensorcopy.worker.probes import article_claims


@pytest.mark.parametrize("device", devices.DEVICES)
@pytest.mark.parametrize("section", article_claims.SECTIONS, ids=lambda section: section.__name__)
def test_the_article_holds(section, device):
    """Where there is an accelerator, its own DEVICE is one; the CPU does for what needs no second device."""
    if not devices.is_available(device):
        pytest.skip(f"no {device} here")
    of_section = [one for one in article_claims.statements(device) if one.section == section.__name__]
    assert of_section
    assert [one for one in of_section if not one.holds] == []


def test_a_statement_can_fail():
    """A statement holds because it is so, not because it is written so."""
    assert not article_claims.Statement("graph", "w.grad", 2.0, 3.0).holds
