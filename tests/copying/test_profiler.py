"""Function profiles of the installed torch name a planted extra call, and bytecode is specialised before they are taken."""

import re
import sys
from pathlib import Path

import pytest

from tensorcopy import configuration
from tensorcopy.copying.inside import instruction_count
from tensorcopy.copying.shipped import shipped
from tensorcopy.errors import TensorcopyError
from tensorcopy.judge import function_changes
from tensorcopy.measure import run, sides
from tensorcopy.releases import uv
from tensorcopy.results import function_profiles, reader
from tensorcopy.worker import hardware
from tests.conftest import OLDEST, copied, installed, require

CASES = r"^(clone|clone_detach) 1 float32 contiguous$"
WITH_GRAD = "^(clone_detach|detach_clone) 16 float32 contiguous"
INSTRUCTIONS = "instructions.BySize.track_instructions"
COUNTED = rf"^{INSTRUCTIONS}\('(clone_detach|detach_clone)', 16"  # two methods: valgrind takes seconds for each
WARM = r"^(cpu|clone_detach_numpy) \d+ float32"


def counted(python: str, cases: str, folder: Path) -> function_profiles.Profiles:
    """The profile of a Python's torch, as `measure` stores it."""
    require(not hardware.missing_valgrind(), hardware.missing_valgrind())
    (side,) = sides.in_interpreters([python], shipped())
    opened = sides.opened(side, shipped(), configuration.paths())
    of_side = folder, *side.place[:2]
    function_profiles.write(*of_side, run.functions(opened, shipped().profiler, cases))
    return function_profiles.read(*function_profiles.paths_of(*of_side))


@pytest.mark.weekly
def test_a_planted_extra_call_is_named(tmp_path_factory, tmp_path):
    """Without it, `x.clone()` is as many instructions less as `detach` takes, and `detach` is not called.

    In the oldest torch, which valgrind starts in half the time of the newest.
    """
    (oldest,) = installed(tmp_path_factory, OLDEST.version)
    profile = counted(str(uv.interpreter(oldest)), CASES, tmp_path)
    once, twice = (profile.of(f"{name} 1 float32 contiguous") for name in ("clone", "clone_detach"))
    difference = function_changes.between(once, twice)
    assert difference.share_named >= function_changes.NAMED
    calls = {change.function[1]: (change.before.calls, change.after.calls) for change in difference.functions}
    assert calls["torch::autograd::THPVariable_detach"] == calls["at::Tensor::detach"] == (0, 1)


@pytest.mark.weekly
def test_no_call_is_specialised_while_it_is_counted(tmp_path):
    """Python 3.11 tries again and again where it cannot, which took 3 to 4 % of a call of 2^20 elements."""
    profile = counted(sys.executable, WARM, tmp_path)
    assert sum(re.match(WARM, case) is not None for case in profile.cases) > 20
    assert [name for _, name in profile.functions if "pecialize" in name] == []


@pytest.mark.weekly
def test_counts_and_functions_are_measured_by_one_command(tmp_path_factory):
    """In two runs of valgrind."""
    checkout = copied(tmp_path_factory)
    variables = {instruction_count.ONLY: WITH_GRAD}
    done = checkout.run("tensorcopy", "measure", "--interpreter", "same", "--history", "counted", "--bench", COUNTED, **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "functions of torch" in done.stdout
    (result,) = [result for result in reader.load_results(checkout.root / "results", shipped()).results if result.history == "counted"]
    counts = {tuple(value for _, value in case.parameters): count for case, count in result.counts.items() if case.suite == INSTRUCTIONS}
    assert len(counts) == 4
    assert counts["clone_detach", "16", "True"] > 1.2 * counts["detach_clone", "16", "True"]


def test_a_missing_valgrind_is_an_error_that_names_it(monkeypatch):
    """valgrind is optional, and counts on Linux only; the suite uses the message as its reason for skipping."""
    monkeypatch.setenv("PATH", "")
    assert hardware.missing_valgrind("linux").startswith("no valgrind here: apt install valgrind, ")
    assert hardware.missing_valgrind("darwin") == "valgrind counts on Linux only"
    with pytest.raises(TensorcopyError, match=f"instructions cannot be counted: got {hardware.missing_valgrind()}; allowed: "):
        instruction_count.count()


def test_neither_the_loop_nor_switching_the_count_on_counts():
    """However few the calls of a section are: here 1 000 instructions once, 7 a turn, and 100 a call."""
    few, many = (instruction_count.Section("m", numel) for numel in (2**18, 1))
    assert few.calls < many.calls
    empty = [1000 + turns * 7 for turns in (instruction_count.CALLS, instruction_count.FEWEST_CALLS)]
    assert [instruction_count.without_loop(1000 + each.calls * 107, *empty, each.calls) for each in (few, many)] == [100, 100]


def test_sections_are_the_counted_cases():
    """Each once, of all copies and conversions by size and grad, and of a part by layout and dtype."""
    names = [str(section) for section in instruction_count.SECTIONS]
    assert len(names) == len({*names})
    assert {"detach_clone 1024 float32 contiguous grad", "tensor 16 float32 strided", "clone 1024 float32 contiguous"} <= {*names}
    assert not any(" 16777216 " in name for name in names)
