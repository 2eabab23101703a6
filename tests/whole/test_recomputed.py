"""What is printed of the shipped results follows from their launch files, by other means than the program's."""

from collections import Counter
from dataclasses import replace

import pytest

from tests import recompute
from tests.conftest import ROOT, SHIPPED

pytestmark = pytest.mark.slow

LEAST = {  # numbers that are recomputed, at least
    "verdicts": 8000,
    "times": 6000,
    "changes": 6000,
    "decided changes, by comparison": 1500,
    "other changes, by comparison": 1,
    "decided changes, by older Python": 80,
    "open regressions": 50,
    "comparisons on pages": 45,
}


def test_every_number_follows_from_the_launches(published_site, monkeypatch):
    """Verdicts, sizes, intervals and p-values of neighbours, times, changes, open regressions and the counts of each comparison's page."""
    monkeypatch.chdir(ROOT)  # of the commands
    lines, checked = recompute.differences(published_site)
    assert lines == []
    assert {what: number for what, number in LEAST.items() if checked[what] < number} == {}


def test_another_number_is_found(published_site):
    """A change, an end of an interval, and a verdict that are not those of the launches."""
    machine = recompute.machine_in(SHIPPED)
    rows = recompute.data_of(published_site, machine)
    first, second, third, *_ = (key for key, row in rows.items() if row.verdict == "slower")
    assert [*recompute.of_data(machine, rows, Counter())] == []
    for key, fields in (
        (first, {"change": rows[first].change + 0.2}),
        (second, {"interval": (rows[second].interval[0], rows[second].interval[1] + 0.2)}),
        (third, {"verdict": ""}),
    ):
        found = [*recompute.of_data(machine, {**rows, key: replace(rows[key], **fields)}, Counter())]
        assert found  # a change of the newer Python that is gone is one of the older Python only, too
        assert [line for line in found if key[2] not in line] == []
