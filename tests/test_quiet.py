"""The control decides which samples are quiet and which passes are excluded."""

from __future__ import annotations

import pytest

from tensorcopy.results import passes
from tensorcopy.worker import control


def record(name, *readings_ns, **more):
    """Return a pass record of one case with these control readings."""
    suites = {"copies.BySize.time_copy": {"version": "2", "samples": [len(readings_ns)], "control_ns": [list(readings_ns)]}}
    return {"id": name, "suites": suites, **more}


@pytest.mark.parametrize(("readings", "limit"), [([8.0] * 100, 10.0), ([8.0] * 19, float("inf")), ([5.0] + [8.0] * 199, 10.0)])
def test_the_limit_is_a_quarter_above_the_lowest_hundredth(readings, limit):
    """Fewer than 20 readings give no limit, and one outlier does not lower it."""
    assert control.limit(readings) == pytest.approx(limit)


def test_the_limit_is_that_of_all_passes_together():
    """In seconds; the records have nanoseconds."""
    assert passes.quiet_limit([record("a", *[8000] * 10), record("b", *[16000] * 10)]) == pytest.approx(10e-6)


def test_a_pass_whose_control_is_far_from_the_others_is_excluded():
    """The reason has both figures. A record may also exclude its pass itself."""
    records = [record(str(number), 8500 + 10 * number) for number in range(9)]
    records += [record("far", 12000), record("by hand", 8500, left_out="a build ran beside it")]
    assert passes.excluded_passes(records) == {
        "far": "its control, 12.0 µs, is far from the others' 8.5 to 8.6 µs",
        "by hand": "a build ran beside it",
    }


def test_too_few_passes_exclude_none():
    """Two speeds of one machine, each seen once."""
    assert passes.excluded_passes([record("a", 8500), record("b", 16000)]) == {}
