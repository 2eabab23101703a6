"""`tensorcopy why` names the functions behind a change, and says how much it leaves open."""

import json
import re
import shlex
from dataclasses import replace

import pytest

from tensorcopy import cli
from tensorcopy.campaign import NO_RULES
from tensorcopy.errors import TensorcopyError
from tensorcopy.judge import function_changes
from tensorcopy.releases import release_table
from tensorcopy.report import explanation
from tensorcopy.results import function_profiles, select
from tensorcopy.results.cases import Case
from tensorcopy.results.function_profiles import FunctionCost, Profile
from tests.conftest import ROOT, SHIPPED_GPU

RESULTS = ROOT / "results"
PAIRS = [  # whose functions were counted on both sides
    ("detach", "2.5.1", "2.15.0"),
    ("numpy", "1.12.1", "1.13.1"),
    ("empty_like_copy 1 float32 contiguous grad", "1.13.1@3.11", "2.0.1@3.11"),
]
COPY, MALLOC = ("libtorch_cpu", "at::native::copy_"), ("libc", "malloc")
THERE, HERE = ("libc10", "c10::reset_not_null_"), ("libtorch_cpu", "c10::reset_not_null_")


def profile(*costs: tuple[tuple[str, str], float, float], rest: float = 100.0) -> Profile:
    """Return a profile of functions with their instructions and calls, and of the interpreter's loop."""
    loop = (("libpython", "_PyEval_EvalFrameDefault"), rest, 1.0)
    return Profile(sum(own for _, own, _ in (loop, *costs)), {name: FunctionCost(own, calls) for name, own, calls in (loop, *costs)})


@pytest.fixture(scope="module")
def causes():
    return {pair: explanation.of_pair(select.pair(pair[1], pair[2], RESULTS, release_table.load()), pair[0], NO_RULES) for pair in PAIRS}


@pytest.mark.parametrize("pair", PAIRS, ids=[f"{case} {before} {after}" for case, before, after in PAIRS])
def test_the_named_functions_explain_four_fifths_of_a_shipped_change(causes, pair):
    """All functions together add up to the whole."""
    difference = causes[pair].difference
    assert difference.changed
    assert difference.share_named >= function_changes.NAMED
    assert sum(change.difference for change in difference.functions) == pytest.approx(difference.total, rel=0.02)
    assert sum(group.difference for group in difference.groups) == pytest.approx(difference.total, rel=0.02)
    assert len(difference.named) < len(difference.functions)


def test_the_sentence_comes_first(causes):
    """The total, then the groups by their part in it, and the calls that changed."""
    text = explanation.text(causes[PAIRS[0]])
    answer = text.split("\n\n")[1]
    assert answer.startswith("−1\u2009")
    assert "TensorImpl and metadata −" in answer
    assert "× instead of" in answer
    assert "named functions explain" in text
    named, more = re.search(r": (.*), and (\d+) more groups\.$", answer).groups()
    rows = [line for line in text.partition("exclusive instructions")[2].split("\n\n")[0].splitlines()[1:] if not line.startswith(" ")]
    assert len(re.findall(r" [+−][\d\u2009]+", named)) + int(more) == len(rows)
    assert re.search(r"^Time per call: .* ns → .* ns \(−[\d.]+ %, 95 % interval −[\d.]+ to −[\d.]+ %\)\.$", text, re.MULTILINE)
    assert text.split("\n\n")[-1].count(" other functions and in those that the profile omits (together 1 % of a call)") == 1


def test_json_has_the_figures_of_the_text(causes):
    document = json.loads(explanation.as_json(causes[PAIRS[0]]))
    difference = causes[PAIRS[0]].difference
    assert document["instructions"]["difference"] == difference.total
    assert [row["name"] for row in document["functions"] if row["named"]] == [change.function[1] for change in difference.named]


def test_what_is_named_is_said_of_a_change_only():
    """Of an unchanged case it would be a share of noise; one function explains, several explain."""
    same = function_changes.of_profiles(1, profile((COPY, 200, 1)), profile((MALLOC, 200.5, 1)))
    assert explanation.named_text(same) == ""
    single = function_changes.of_profiles(1, profile((COPY, 200, 1)), profile((COPY, 300, 1)))
    assert explanation.named_text(single).startswith("1 named function explains 100 % of the difference. The remaining 0 are in those that")


def test_python_functions_are_named_with_their_calls_on_both_sides():
    """Those whose number changed first; a call without any has no such line."""
    sides = (replace(profile((COPY, 200, 1)), python=python) for python in ({"mine.a": 1, "mine.b": 2}, {"mine.a": 1, "mine.c": 3}))
    assert explanation.python_text(function_changes.of_profiles(1, *sides)) == (
        "Python functions called in one call: mine.c 0 → 3×, mine.b 2 → 0×, mine.a 1×."
    )
    assert explanation.python_text(function_changes.of_profiles(1, profile(), profile())) == ""


@pytest.mark.parametrize(
    ("case", "name"),
    [
        ("own.BySize.time_own method=f numel=16", "f 16 float32 contiguous"),
        ("own.ByGrad.time_own method=f numel=16 requires_grad=True", "f 16 float32 contiguous grad"),
        ("own.ByInputs.time_own method=f n=128", "f 128 inputs n"),
        ("other.time_it kind=x", ""),
    ],
)
def test_a_case_is_found_by_the_name_that_compare_prints(case, name):
    """Of own operations, too; an asv suite has no profile."""
    suite, *parameters = case.split()
    assert function_profiles.name_of(Case(suite, tuple(tuple(each.split("=")) for each in parameters))) == name


def test_the_method_that_an_error_names_is_one_of_the_project():
    """Where no case matches: "detach" is none of another's."""
    with pytest.raises(TensorcopyError) as raised:
        explanation._selected({"sparse_copy 1 float32 contiguous": []}, "nosuch")
    assert raised.value.next == "a method alone, such as sparse_copy, or a whole name"


def test_a_profile_without_instructions_is_compared():
    """It divides by none of both sides."""
    nothing, something = Profile(0.0, {}), profile((COPY, 200, 1))
    assert function_changes.of_profiles(1, something, nothing).changed
    assert function_changes.of_profiles(1, nothing, something).changed
    assert not function_changes.of_profiles(1, nothing, nothing).changed


def test_a_function_that_is_called_more_often_is_named():
    difference = function_changes.of_profiles(1, profile((COPY, 200, 1), (MALLOC, 40, 1)), profile((COPY, 400, 2), (MALLOC, 80, 2)))
    assert difference.total == 240
    assert [(change.function, change.status) for change in difference.calls_changed] == [
        (COPY, "called more often"),
        (MALLOC, "called more often"),
    ]
    assert "native::copy_ 2× instead of 1×" in explanation.sentence(difference)


def test_a_function_too_cheap_for_a_profile_is_not_called_lost():
    """A profile leaves out the cheapest functions, which may still run."""
    difference = function_changes.of_profiles(1, profile((COPY, 10, 1), rest=500), profile((MALLOC, 40, 1), rest=600))
    by_function = {change.function: change.status for change in difference.functions}
    assert (by_function[COPY], by_function[MALLOC]) == ("changed", "gained")


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ([(THERE, 30, 6), (MALLOC, 40, 1)], [(THERE, 10, 2), (HERE, 20, 4), (MALLOC, 50, 1)], {MALLOC: 10}),
        ([(THERE, 30, 6), (MALLOC, 40, 1)], [(HERE, 36, 7), (MALLOC, 40, 1)], {HERE: 6}),
        ([(THERE, 10, 2), (HERE, 20, 4)], [(THERE, 20, 4), (HERE, 10, 2)], {THERE: 10, HERE: -10}),
    ],
    ids=["moved in part", "moved and changed", "in both on both sides"],
)
def test_a_function_that_moves_to_another_library_did_not_change(before, after, changes):
    """An inline function is in each library that uses it, and the loader takes any: its costs count together."""
    difference = function_changes.of_profiles(1, profile(*before), profile(*after))
    assert {change.function: change.difference for change in difference.functions} == changes


AVX2, DEFAULT, MEMSET = "at::native::AVX2::copy_kernel", "at::native::DEFAULT::copy_kernel", "__memset_avx2_unaligned_erms"


def on_kernels(before: tuple[str, float, float], after: tuple[str, float, float], numel: int = 2**20) -> function_changes.ProfileDifference:
    """Return the difference of two kernels by their name, instructions per element, and calls."""
    sides = [profile((("libc" if name == MEMSET else "libtorch_cpu", name), cost * numel, calls)) for name, cost, calls in (before, after)]
    return function_changes.of_profiles(numel, *sides)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ((AVX2, 1.0, 1), (DEFAULT, 8.0, 1), "The kernel lost its vectorisation."),
        ((AVX2, 1.0, 1), (DEFAULT, 0.1, 1), "The kernel became vectorised."),
        ((AVX2, 1.0, 1), (DEFAULT, 1.1, 1), ""),
        ((MEMSET, 1.0, 1), (MEMSET, 2.0, 1), ""),
        ((MEMSET, 1.0, 1), (MEMSET, 2.1, 2), ""),
        ((MEMSET, 2.1, 2), (MEMSET, 1.0, 1), ""),
    ],
    ids=["lost", "gained", "as before", "AVX512 to AVX2", "runs twice", "ran twice"],
)
def test_a_lost_vectorisation_is_said_with_evidence_only(before, after, words):
    """Instructions per element and the instruction set of the symbol are shown of large tensors whose elements a kernel runs over."""
    text = explanation.kernel_text(on_kernels(before, after))
    assert "instructions per element (" in text
    assert text.endswith(words)
    assert ("vectoris" in text) is bool(words)
    assert ("AVX2 → DEFAULT" in text) is (after[0] == DEFAULT)
    assert not on_kernels(before, after, 16).kernel.shown
    assert not on_kernels((MEMSET, 1e-5, 1), (MEMSET, 2.2e-5, 1)).kernel.shown


def test_a_release_whose_functions_were_not_counted_is_one_line(small_checkout, capsys):
    """It says which command counts them."""
    for path in small_checkout.glob(f"results/*/*{function_profiles.ENDING}"):
        path.unlink()
    assert cli.main(["why", "detach_clone", "2.4.1", "2.15.0"]) == 2
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1
    assert "tensorcopy measure 2.4.1@3.11 --machine box, which needs valgrind" in printed


def test_a_device_selects_the_machine_whose_functions_are_compared(shipped_results, monkeypatch, capsys):
    """None were counted on the GPU's, which the error names; without a script, the parts of a call on the device are meant."""
    monkeypatch.setattr(select, "load_results", lambda folder, releases: shipped_results)
    assert cli.main(["why", "detach", "2.14.1", "2.15.0", "--device", "cuda", "--script"]) == 2
    printed = capsys.readouterr().err
    assert SHIPPED_GPU.name in printed
    assert cli.main([*shlex.split(printed.partition("next: tensorcopy ")[2]), "--script"]) == 0
    capsys.readouterr()
    assert cli.main(["why", "detach", "2.14.1", "2.15.0", "--device", "cuda"]) == 2
    assert "next: tensorcopy measure 2.14.1@3.12 2.15.0@3.12 --device cuda" in capsys.readouterr().err
