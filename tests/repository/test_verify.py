"""Times of the suites agree with torch's Timer, and the comparison with it detects mistakes in timing and disturbed turns."""

import os
import sys
from pathlib import Path

import pytest

from docs.tools import verify
from docs.tools.verify import Agreement
from tensorcopy.measure.process import Program
from tests.conftest import copied


@pytest.mark.parametrize(
    ("ratios", "holds"),
    [
        ((1.0, 1.02, 0.97), True),
        ((1.031, 1.04, 1.05), False),
        ((1.0, 1.0, 1.081), False),
        ((1.0, 1.0, 0.919), False),
    ],
    ids=["agree", "the median is off", "one above", "one below"],
)
def test_the_median_must_agree_within_three_and_every_case_within_eight_percent(ratios, holds):
    """Either limit alone would miss a constant error or a single wrong case."""
    assert Agreement("2.15.0", "Box 9000", {("copies", str(number)): ratio for number, ratio in enumerate(ratios)}).holds is holds


WRONG = '''
"""A suite with a common mistake in timing."""

import torch

from tensorcopy.copying.inside.methods import COPIES


class SetUpPerCall:
    params = [["detach_clone"], [1]]
    param_names = ["method", "numel"]
    warmup_time = 0

    def setup(self, method, numel):
        self.x = torch.ones(numel)

    def time_copy(self, method, numel):
        COPIES[method](self.x)
'''


@pytest.mark.timed
def test_suites_agree_with_torchs_timer(tmp_path_factory):
    """For a suite at two sizes, since a case takes a second; copies of megabytes depend on the memory that they get."""
    checkout = copied(tmp_path_factory)
    checkout.edit("benchmarks/cases.py", r"^NUMELS = .*$", "NUMELS = [2**4, 2**10]")
    completed = checkout.run("docs.tools.verify", "--bench", r"^copies\.ByGrad")
    assert completed.returncode == 0, completed.stdout + completed.stderr
    assert "suites and their reference agree with torch" in completed.stdout


@pytest.mark.timed
def test_a_wrong_timer_disagrees(tmp_path):
    """The comparison detects a mistake in timing."""
    root = tmp_path / "wrongly"
    root.mkdir()
    (root / "__init__.py").write_text("")
    (root / "wrong.py").write_text(WRONG)
    program = Program(("sha", "py3.11-cpu", ""), Path(sys.executable), root, {**os.environ})
    agreement = verify.compared(program, "SetUpPerCall")
    assert not agreement.holds
    assert min(agreement.ratios.values()) > 1.1
