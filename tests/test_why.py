"""`tensorcopy why` names the functions behind a change, and says how much it leaves open."""

from __future__ import annotations

import ast
import json
import lzma
import shutil
from dataclasses import replace

import pytest

from tensorcopy import cli
from tensorcopy.analysis.profiles import call_pairs, difference
from tensorcopy.errors import TensorcopyError
from tensorcopy.report.why import cause, cause_text, reproduction
from tensorcopy.results import select
from tensorcopy.results.profiles import profile_file
from tensorcopy.results.profiles.profile_file import Node, Profile
from tests.conftest import ROOT

RESULTS = ROOT / "results"
SHIPPED = sorted(RESULTS.glob(f"*/*{profile_file.ENDING}"))
PAIRS = [  # whose functions were counted on both sides
    ("detach", "2.5.1", "2.15.0"),
    ("numpy", "1.12.1@3.9", "1.13.1@3.9"),
    ("empty_like_copy 1 float32 contiguous grad", "1.13.1@3.11", "2.0.1@3.11"),
    ("numpy_from_dlpack", "2.8.0", "2.9.1"),
    ("cpu", "2.9.1", "2.10.0"),
    ("detach_clone", "2.13.0", "2.15.0"),
]
LARGEST = 60_000  # bytes of a profile's file

ROOT_FUNCTION, COPY, MALLOC = ("libpython", "_PyEval_EvalFrameDefault"), ("libtorch_cpu", "at::native::copy_"), ("libc", "malloc")


def profile(*callees: Node, own: float = 100.0) -> Profile:
    root = Node(ROOT_FUNCTION, own, 1, callees)
    return Profile(root.inclusive, (root,))


@pytest.fixture(scope="module")
def causes():
    return {pair: cause.of_pair(select.pair(pair[1], pair[2], RESULTS), pair[0]) for pair in PAIRS}


@pytest.mark.parametrize("pair", PAIRS, ids=[f"{case} {before} {after}" for case, before, after in PAIRS])
def test_the_named_functions_explain_four_fifths_of_a_shipped_change(causes, pair):
    """And with the unnamed part they add up to the whole."""
    functions = causes[pair].difference
    assert functions.changed
    assert functions.share_named >= difference.NAMED
    assert sum(change.difference for change in functions.named) + functions.unnamed == pytest.approx(functions.total)
    assert len(functions.named) < len(functions.functions)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name.split(".")[0])
def test_a_shipped_profile_fits_its_result(path):
    """It is small, matches its schema, and has the instructions that were counted for the result."""
    assert path.stat().st_size <= LARGEST
    result = path.with_name(path.name.replace(profile_file.ENDING, ".json"))
    profiles = profile_file.read(path)
    assert profiles.provenance["torch_sha"] == json.loads(result.read_text(encoding="utf-8"))["commit_hash"]
    detach = profiles.of("detach 1 float32 contiguous")
    assert detach is not None
    named = sum(root.inclusive for root in detach.roots)
    assert 0.98 <= named / detach.instructions <= 1.001


def test_the_sentence_comes_first(causes):
    """The total, then the groups by their part in it, and the calls that changed."""
    text = cause_text.text(causes[PAIRS[0]])
    answer = text.split("\n\n")[1]
    assert answer.startswith("−1\u2009")
    assert "TensorImpl and metadata −" in answer
    assert "× instead of" in answer
    assert "named functions explain" in text


def test_json_has_the_figures_of_the_text(causes):
    document = json.loads(cause_text.as_json(causes[PAIRS[0]]))
    functions = causes[PAIRS[0]].difference
    assert document["instructions"]["difference"] == functions.total
    assert [row["name"] for row in document["functions"] if row["named"]] == [change.function[1] for change in functions.named]


def test_a_function_that_is_called_more_often_is_named():
    """As the one planted extra call among other functions."""
    before = profile(Node(COPY, 200, 1, (Node(MALLOC, 40, 1),)))
    after = profile(Node(COPY, 400, 2, (Node(MALLOC, 80, 2),)))
    functions = difference.between(1, before, after)
    assert functions.total == 240
    assert functions.calls_changed[0].function == COPY
    assert functions.calls_changed[0].status == "called more often"
    assert "native::copy_ 2× instead of 1×" in cause_text.sentence(functions)


def test_a_function_too_cheap_for_a_profile_is_not_called_lost():
    """A profile leaves out the cheapest functions, which may still run."""
    before, after = profile(Node(COPY, 10, 1), own=500), profile(Node(MALLOC, 40, 1), own=600)
    by_function = {change.function: change for change in difference.between(1, before, after).functions}
    assert by_function[COPY].status == "changed"
    assert by_function[MALLOC].status == "gained"


@pytest.mark.parametrize(
    ("per_element", "words"),
    [(1.1, ""), (8.0, "The kernel lost its vectorisation."), (0.1, "The kernel became vectorised.")],
    ids=["as before", "slower", "faster"],
)
def test_a_lost_vectorisation_is_said_in_those_words(per_element, words):
    """Instructions per element and the instruction set of the symbol are shown for large tensors."""
    numel = 2**17

    def kernel(variant: str, cost: float) -> Profile:
        return profile(Node(("libtorch_cpu", f"at::native::{variant}::copy_kernel"), cost * numel, 1))

    functions = difference.between(numel, kernel("AVX2", 1.0), kernel("DEFAULT", per_element))
    text = cause_text.kernel_text(functions)
    assert "AVX2 → DEFAULT" in text
    assert text.endswith(words)
    assert not difference.between(16, kernel("AVX2", 1.0), kernel("DEFAULT", per_element)).kernel.shown


def test_a_tree_of_both_sides_has_each_call_once():
    """Functions that only one side calls have no node on the other."""
    before, after = profile(Node(COPY, 10, 1)), profile(Node(MALLOC, 40, 1))
    (pair,) = call_pairs.paired(before.roots, after.roots)
    assert [(callee.function, callee.before is None, callee.difference) for callee in pair.callees] == [
        (MALLOC, True, 40),
        (COPY, False, -10),
    ]


def test_a_caller_in_between_stands_beside_what_it_calls():
    """Else everything below it would be new on one side and gone on the other."""
    wrapper = ("libpython", "PyObject_Vectorcall")
    before = profile(Node(COPY, 10, 1, (Node(MALLOC, 40, 1),)))
    after = profile(Node(wrapper, 5, 1, (Node(COPY, 10, 1, (Node(MALLOC, 60, 2),)),)))
    (pair,) = call_pairs.paired(before.roots, after.roots)
    assert [(callee.function, callee.difference) for callee in pair.callees] == [(COPY, 20), (wrapper, 5)]
    assert [callee.difference for callee in pair.callees[0].callees] == [20]
    assert sum(callee.difference for callee in pair.callees) == pair.difference


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda document: {**document, "version": 2}, "version"),
        (lambda document: {**document, "torch_sha": "0" * 40}, "torch_sha"),
        (lambda document: {**document, "cases": {"detach 1 float32 contiguous": {"instructions": 1, "tree": [0, 99999, 1, 1]}}}, "no tree"),
        (lambda document: {**document, "cases": {"detach 1 float32 contiguous": {"instructions": 1, "tree": [3, 0, 1, 1]}}}, "no tree"),
        (None, "end-of-stream"),
    ],
    ids=["version", "another torch", "unknown function", "depth", "cut off"],
)
def test_a_damaged_profile_is_named_in_one_line(tmp_path, damage, message):
    pair = select.pair("2.5.1", "2.15.0", RESULTS)
    source = profile_file.path_of(pair.after.path)
    path = tmp_path / "results" / "xeon-2core" / source.name
    path.parent.mkdir(parents=True)
    if damage is None:
        path.write_bytes(source.read_bytes()[:1000])
    else:
        document = json.loads(lzma.decompress(source.read_bytes()))
        path.write_bytes(lzma.compress(json.dumps(damage(document)).encode()))
    moved = replace(pair.after, path=path.with_name(pair.after.path.name))
    with pytest.raises(TensorcopyError, match=message) as error:
        profile_file.profiles_of(moved)
    assert source.name in str(error.value)
    assert "\n" not in str(error.value)


def test_a_release_without_a_profile_is_one_line(small_checkout, capsys):
    """It says which command counts its functions."""
    for path in small_checkout.glob(f"results/*/*{profile_file.ENDING}"):
        path.unlink()
    assert cli.main(["why", "detach", "1.9.0", "2.15.0"]) == 2
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1
    assert "tensorcopy profile 1.9.0@3.9 --machine xeon-2core, which needs valgrind" in printed


def test_profiling_without_valgrind_is_one_line(small_checkout, capsys, monkeypatch):
    monkeypatch.setenv("PATH", str(small_checkout))
    assert shutil.which("valgrind") is None
    assert cli.main(["profile", "2.15.0", "--machine", "xeon-2core"]) == 2
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1
    assert "no valgrind here: apt install valgrind" in printed


@pytest.mark.parametrize("pair", PAIRS, ids=[case for case, _, _ in PAIRS])
def test_a_reproduction_is_a_short_script(causes, pair):
    """It imports torch, numpy and the standard library only, and names both commands and what was seen."""
    script = reproduction.script(causes[pair])
    lines = script.splitlines()
    assert len(lines) <= 42
    assert max(map(len, lines)) <= 140
    imported = {
        (node.module if isinstance(node, ast.ImportFrom) else node.names[0].name).partition(".")[0]
        for node in ast.walk(ast.parse(script))
        if isinstance(node, (ast.Import, ast.ImportFrom))
    }
    assert imported <= {"torch", "numpy", "platform", "warnings", "statistics", "copy"}
    assert script.startswith("# /// script\n# requires-python")
    for release in pair[1:]:
        assert f"--with torch=={release.partition('@')[0]}" in script
    assert "instructions (" in script


@pytest.mark.parametrize(
    ("name", "expression"),
    [
        ("clone 16 float32 contiguous", "torch.ones(16)"),
        ("clone 16 float32 contiguous grad", "torch.ones(16, requires_grad=True)"),
        ("clone 1024 bool contiguous", "torch.ones(1024, dtype=torch.bool)"),
        ("clone 1024 float32 strided", "torch.ones(2048)[::2]"),
        ("clone 2048 float32 transposed", "torch.ones(2, 4, 16, 16).transpose(-1, -2)"),
    ],
)
def test_a_reproduction_makes_the_tensor_that_was_measured(name, expression):
    assert reproduction.tensor(name) == expression
