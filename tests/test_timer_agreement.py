"""Times of the suites agree with torch's Timer, and the comparison with it detects mistakes in timing."""

import sys
from pathlib import Path

import pytest

from docs.tools import verify
from tensorcopy.releases import environments

pytestmark = pytest.mark.timed

WRONG = '''
"""Suites with common mistakes in timing."""

import torch

from benchmarks import cases
from tensorcopy.worker.methods import COPIES


class SetUpPerCall:
    params = [["detach_clone"], [1]]
    param_names = ["method", "numel"]
    warmup_time = 0

    def setup(self, method, numel):
        self.x = torch.ones(numel)

    def time_copy(self, method, numel):
        COPIES[method](self.x)


class ColdFirstCall(cases.Suite):
    params = [["clone_detach", "detach_clone"], [1]]
    param_names = ["method", "numel"]
    started = False

    def time_copy(self, method, numel):
        if not self.started:  # lazy initialization is in the first sample only
            cases._spent[0] += 0.001
            self.started = True
        self.time(cases.case(COPIES[method], numel))
'''


def test_suites_agree_with_torchs_timer(checkout):
    """For a suite at two sizes, since a case takes a second; copies of megabytes depend on the memory that they get."""
    with checkout.edited({"benchmarks/cases.py": (r"^NUMELS = .*$", "NUMELS = [2**4, 2**10]")}):
        completed = checkout.run("docs.tools.verify", "--interpreter", "same", "--bench", r"^copies\.ByGrad")
    assert completed.returncode == 0, completed.stdout + completed.stderr
    assert "suites and their reference agree with torch" in completed.stdout


@pytest.mark.parametrize("mistake", ["SetUpPerCall", "ColdFirstCall"])
def test_a_wrong_timer_disagrees(tmp_path, mistake):
    """The comparison detects mistakes in timing."""
    root = tmp_path / "wrongly"
    root.mkdir()
    (root / "__init__.py").write_text("")
    (root / "wrong.py").write_text(WRONG)
    environment = environments.Environment(Path(sys.executable), {})
    agreement = verify.run(verify.Probe(environment, suites=mistake, root=root), lambda share, case: None)
    assert not agreement.holds
    assert min(ratio.ratio for ratio in agreement.ratios) > 1.1
