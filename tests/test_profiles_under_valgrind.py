"""Function profiles of the installed torch name a planted extra call, and bytecode is specialised before they are taken."""

import json
import re
from pathlib import Path

import pytest

from tensorcopy.analysis import functions as analysis
from tensorcopy.report import why
from tensorcopy.results import functions, reader
from tensorcopy.worker import declarations, hardware, instruction_count
from tests.conftest import require

CASES = r"^(detached_once|detached_twice|detach_clone) 1 float32 contiguous$"
WITH_GRAD = "^(clone_detach|detach_clone) 16 float32 contiguous"
INSTRUCTIONS = "instructions.BySize.track_instructions"
COUNTED = rf"^{INSTRUCTIONS}\('(clone_detach|detach_clone)', 16"  # two methods: valgrind takes seconds for each
WARM = r"^(cpu|clone_detach_numpy) \d+ float32"
PLANTED = [  # an operation, and one with a planted extra call
    {"name": "detached_once", "code": "x.detach()"},
    {"name": "detached_twice", "code": "x.detach().detach()"},
]


@pytest.fixture(scope="module")
def counted(checkout) -> Path:
    """The folder of a launch that counts instructions, and of its profile."""
    require(not hardware.missing_valgrind(), hardware.missing_valgrind())
    variables = {declarations.VARIABLE: json.dumps(PLANTED), instruction_count.ONLY: f"{CASES}|{WITH_GRAD}|{WARM}"}
    options = ("--interpreter", "same", "--machine", "counted", "--bench", COUNTED)
    done = checkout.run("tensorcopy", "measure", *options, **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "functions of 1 release counted" in done.stdout
    return checkout.root / "results" / "counted"


@pytest.fixture(scope="module")
def profile(counted) -> functions.Profiles:
    """The profile of that launch."""
    (path,) = counted.glob(f"*{functions.ENDING}")
    return functions.read(path)


@pytest.mark.slow
def test_a_planted_extra_call_is_named(profile):
    """Detaching twice is as many instructions more as detaching once, and `detach` is called twice."""
    once, twice = (profile.of(f"{name} 1 float32 contiguous") for name in ("detached_once", "detached_twice"))
    difference = analysis.of_profiles(1, once, twice)
    assert difference.share_named >= analysis.NAMED
    calls = {change.function[1]: (change.status, change.before.calls, change.after.calls) for change in difference.calls_changed}
    assert calls["torch::autograd::THPVariable_detach"] == ("called more often", 1, 2)
    assert calls["at::native::detach"] == ("called more often", 1, 2)
    assert "2× instead of 1×" in why.sentence(difference)


@pytest.mark.slow
def test_no_call_is_specialised_while_it_is_counted(profile):
    """Python 3.11 tries again and again where it cannot, which took 3 to 4 % of a call of 2^20 elements."""
    assert sum(re.match(WARM, case) is not None for case in profile.cases) > 20
    assert [name for _, name in profile.functions if "pecialize" in name] == []


@pytest.mark.slow
def test_instruction_counts_show_the_cost_of_autograd(counted):
    """Clone before detach runs autograd, too. That counts repeat is tested above."""
    (result,) = [result for result in reader.load_results(counted.parent).results if result.machine == counted.name]
    counts = {tuple(value for _, value in case.parameters): count for case, count in result.counts.items() if case.suite == INSTRUCTIONS}
    assert len(counts) == 4
    assert counts["clone_detach", "16", "True"] > 1.2 * counts["detach_clone", "16", "True"]
