"""The reader's own operations, declared in a file."""

from __future__ import annotations

import ast
import importlib
import json
import re
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from benchmarks import cases
from tensorcopy.copying.inside import own, timing
from tensorcopy.copying.inside.loop import LOOP
from tensorcopy.copying.inside.semantics import describe
from tensorcopy.copying.shipped import shipped
from tensorcopy.errors import TensorcopyError
from tensorcopy.measure import revisions
from tensorcopy.releases import release_table
from tensorcopy.site import render
from tensorcopy.worker import operations, turns
from tests import launch_files
from tests.conftest import ROOT, declared_in

NEWEST = release_table.load()[-1]
GUIDE = (ROOT / "docs/own-operation.md").read_text(encoding="utf-8")


def example(folder: Path) -> Path:
    """Write the guide's example into a folder."""
    (folder / operations.FILE).write_text(re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL)[0])
    (folder / "mine.py").write_text(re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)[0])
    return folder


@pytest.fixture
def here(worker_here, undeclared, tmp_path, monkeypatch, run_command):
    """The function `run_command`, in a folder that is not a checkout, with a torch that is measured in few turns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(timing, "REQUEST_TURNS", 4)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield run_command
    sys.modules.pop("mine", None)


@pytest.mark.slow
def test_the_guide_s_example_is_checked_drawn_and_advised(tmp_path, here):
    """`check` compares it with its promise, `plot` draws it, and `advise` times it."""
    example(tmp_path)
    code, checked, error = here("check", "--json")
    assert code == 0, error
    rows = {(row["method"], row["of"]): row for row in json.loads(checked)["checked"] if row["group"] == "mine"}
    assert {method for method, _ in rows} == {"through_list", "contiguous_copy"}
    assert {row["kept"] for (method, _), row in rows.items() if method == "contiguous_copy"} == {True}
    assert {row["kept"] for (method, _), row in rows.items() if method == "through_list"} == {None}
    _, drawn, _ = here("plot", "copies", "--max", "4", "--json")
    assert {"through_list", "contiguous_copy", "detach_clone"} <= {curve["name"] for curve in json.loads(drawn)["curves"]}
    _, advised, _ = here("advise", "--requires-grad", "--numel", "64", "--json")
    assert "mine.contiguous_copy(x)" in [choice["code"] for choice in json.loads(advised)["choices"]]


def test_a_broken_promise_of_an_own_operation_is_reported(tmp_path, here):
    """`check` prints the operation's code."""
    example(tmp_path)
    text = (tmp_path / operations.FILE).read_text()
    (tmp_path / operations.FILE).write_text(text.replace('layout = "contiguous"', "shares_storage = true"))
    code, out, _ = here("check")
    assert code == 1
    assert "✗ mine.contiguous_copy(x) on cpu, a plain tensor: shares_storage: True promised, False observed" in out


FAILING = """
[[operation]]
name = "lost"
code = "nowhere.copy(x)"
imports = ["nowhere"]

[[operation]]
name = "newer"
code = "newer.f(x)"
imports = ["newer"]

[[operation]]
name = "rows"
code = "x.reshape(-1, 2).clone()"

[[operation]]
name = "not_17"
code = "x.clone() if x.numel() != 17 else 1 / 0"

[[operation]]
name = "good"
code = "x.detach().clone().detach()"
imports = ["newer"]
"""


@pytest.fixture
def failing(tmp_path):
    """A folder with operations of which only one runs."""
    (tmp_path / operations.FILE).write_text(FAILING)
    (tmp_path / "newer.py").write_text("import torch\ntorch.not_in_this_release")


SOME = """
[[operation]]
name = "cut"
code = "x +"

[[operation]]
name = "detach"
code = "x.clone()"

[[operation]]
name = "good"
code = "x.detach().clone().detach()"

[[operation]]
name = "good"
code = "x.clone()"
"""
WHY = {
    "cut": "got code = 'x +': SyntaxError: invalid syntax (tensorcopy.toml, line 1); allowed: an expression of Python",
    "detach": "got the name of another method; allowed: a name of its own",
    "good (row 4)": "got the name of an earlier row",
}


def test_a_row_that_cannot_be_used_is_left_out_by_name_and_the_others_work(tmp_path, here):
    """Every command says so; `check`, which is asked whether all is well, exits with 1."""
    (tmp_path / operations.FILE).write_text(SOME)
    code, out, checked = here("check")
    assert code == 1
    assert "x.detach().clone().detach()" in out
    for err in (checked, here("history")[2]):
        for name, why in WHY.items():
            assert f"tensorcopy: warning: the operation {name} is left out: {why}" in err
    code, out, err = here("advise", "--numel", "17", "--json")
    assert code == 0
    assert "x.detach().clone().detach()" in {choice["code"] for choice in json.loads(out)["choices"]}
    for name, why in WHY.items():
        assert f"tensorcopy: {name} is left out: {why}" in err
        assert json.loads(out)["left_out"][name].startswith(why)


def test_a_commit_with_a_row_that_cannot_be_used_is_refused(tmp_path):
    """Left out on one side of a pull request, the operation would look as if it were removed."""
    (tmp_path / operations.FILE).write_text(SOME)
    with pytest.raises(TensorcopyError, match="the operation cut is left out"):
        revisions.of_folder(tmp_path, shipped())


LOST = "the operation lost cannot be imported: got nowhere: No module named 'nowhere'; allowed: a module"
NEWER = "the operation newer cannot be imported: got newer: AttributeError: module 'torch' has no attribute"


def test_an_operation_that_cannot_be_imported_is_checked_as_one_that_fails(failing, here):
    """The others are observed."""
    code, out, _ = here("check")
    assert code == 1
    assert f"nowhere.copy(x): TensorcopyError: {LOST}" in out
    (line,) = (line for line in out.splitlines() if LOST in line)
    assert line.endswith('["."], below [project]')  # a launch stores it whole
    assert len(line) - len("nowhere.copy(x): ") <= turns.LONGEST_ERROR - 100  # names of operations and modules may be longer
    assert f"newer.f(x): TensorcopyError: {NEWER}" in out
    assert re.search(r"\?  x.detach\(\).clone\(\).detach\(\) +independent, out of the graph +independent, out of the graph *\n", out)
    assert "every documented behaviour holds; ? 10 have no documented behaviour yet; " in out
    assert "; ✗ lost, newer: the operation fails for every tensor that was tried\n" in out
    code, out, _ = here("check", "--json")
    assert code == 1
    assert len(json.loads(out)["checked"]) > 40


DEMANDING = """
[[operation]]
name = "flat"
code = "x.view(-1).clone()"

[[operation]]
name = "as_bytes"
code = "x.detach().view(torch.uint8).clone()"

[[operation]]
name = "image"
code = "x.clone(memory_format=torch.channels_last)"

[[operation]]
name = "doubled"
code = "x.detach().mul_(2)"

[[operation]]
name = "emptied"
code = "(x.detach().clone(), x.detach().zero_())[0]"
"""


def test_an_operation_is_tried_on_a_tensor_that_it_accepts(tmp_path, here):
    """Which of them it refuses is said; one that writes into x is named, whatever it returns."""
    (tmp_path / operations.FILE).write_text(DEMANDING)
    code, out, _ = here("check")
    assert code == 0, out
    assert out.rstrip().endswith("doubled, emptied: the operation writes into x, so that a later call has another one")
    rows = [row for row in json.loads(here("check", "--json")[1])["checked"] if row["group"] == "own" and row["of"] == "plain"]
    told = {row["method"]: describe(row["observed"]) for row in rows}
    refused = "not observed: a transposed tensor"
    assert told == {
        "flat": f"changes shape and values, independent, out of the graph, layout (1,), {refused}",
        "as_bytes": f"changes shape and values, independent, out of the graph, dtype uint8, layout (8, 1), {refused}",
        "image": f"independent, out of the graph, layout (6, 1, 3, 3), {refused} and a contiguous tensor",
        "doubled": "changes values, writes into x, shares storage, out of the graph",
        "emptied": "writes into x, independent, out of the graph",
    }


def test_operations_that_fail_are_left_out_by_name_with_their_errors(failing, here):
    """The answer is that of the others."""
    code, out, err = here("advise", "--numel", "17", "--json")
    advice = json.loads(out)
    assert code == 0
    assert {"x.detach().clone().detach()", "x.detach().clone()"} < {choice["code"] for choice in advice["choices"]}
    reasons = {"lost": f"TensorcopyError: {LOST}", "newer": f"TensorcopyError: {NEWER}", "rows": "RuntimeError: shape '[-1, 2]' is invalid"}
    reasons["not_17"] = "ZeroDivisionError: division by zero, with 17 elements"
    assert advice["left_out"].keys() == reasons.keys()
    assert not [choice for choice in advice["choices"] if choice["method"] in reasons]
    for name, reason in reasons.items():
        assert f"tensorcopy: {name} is left out: {reason}" in err
    code, out, err = here("plot", "--max", "2", "--json")
    assert code == 0
    assert "good" in {curve["name"] for curve in json.loads(out)["curves"]}
    assert "tensorcopy: rows is left out: RuntimeError: shape '[-1, 2]' is invalid for input of size 1, with 1 elements\n" in err
    _, out, _ = here("advise", "--numel", "16", "--json")
    assert "x.reshape(-1, 2).clone()" not in {choice["code"] for choice in json.loads(out)["choices"]}


def test_a_case_of_an_operation_that_cannot_be_imported_fails_alone(failing, here, tmp_path):
    """It fails with the error of the import, and so does no other case."""
    declared_in(tmp_path)
    cases.case(own.own_operations()["good"], 16)
    with pytest.raises(TensorcopyError, match=re.escape(LOST)):
        cases.case(own.own_operations()["lost"], 16)


SPARSE = """
[[operation]]
name = "to_sparse"
code = "x.to_sparse()"
"""


def test_check_shows_no_error_of_its_own_as_one_of_an_operation(tmp_path, here):
    """What it cannot observe has the reason; tests/copying/test_semantics.py has what is said of other operations."""
    (tmp_path / operations.FILE).write_text(SPARSE)
    code, out, _ = here("check")
    assert code == 0
    for row in (
        r"x.to_sparse\(\) +independent, out of the graph, layout sparse_coo +independent, in the graph, layout sparse_coo, not ob",
        r"x.to_sparse\(\): not observed: gradients: TypeError: those of torch.sparse_coo are not compared\n",
    ):
        assert re.search(row, out), row


OF_X = "inputs.x = {}\n"


@pytest.mark.parametrize(
    ("declared", "text"),
    [
        (
            'code = "i + 1"\ninputs.i = { dtype = "int64" }\nsetup = "i = i + 2**60"\nreference = "i"',
            r"differs .* got 11529\d+ instead of 11529\d+ at \[0\], in 16 of 16 values at n = 16",
        ),
        (f'{OF_X}code = "s.clone()"\nsetup = "s = x.to_sparse()"\nreference = "x"', ""),
        (
            f'{OF_X}code = "x"\nreference = "x.nothing()"',
            "the reference of the operation a cannot be used: got AttributeError: 'Tensor' object has no",
        ),
        (
            f'{OF_X}code = "y"\nsetup = "y = x.nothing()"\nreference = "x"',
            "the setup of the operation a cannot be used: got AttributeError",
        ),
        (
            f'{OF_X}code = "None"\nreference = "x"',
            "the reference of the operation a cannot be used: got TypeError: a NoneType has no values to compare with torch",
        ),
    ],
)
def test_a_reference_is_as_strict_as_it_says(tmp_path, here, declared, text):
    """An error of the reference is no error of the operation; tests/copying/test_values.py has results of every kind."""
    (tmp_path / operations.FILE).write_text(f'[[operation]]\nname = "a"\n{declared}\n')
    (operation,), method = declared_in(tmp_path), own.own_with_inputs()["a"]
    with pytest.raises(TensorcopyError, match=text) if text else nullcontext():
        own.check_reference(operation, method, 16)


INPUTS = """
[[operation]]
name = "attend"
code = "q @ q"
sizes = [16]
inputs.q = { shape = ["n", "n"] }

[[operation]]
name = "gather"
code = "rows[index]"
sizes = [16, 64]
inputs.rows = { shape = ["n"], device = "cuda" }
inputs.index = { shape = ["n"], dtype = "int64" }
"""


def test_a_case_with_inputs_on_an_accelerator_names_it(tmp_path, here):
    """It is selected, compared and shown as a case of the device, not of the CPU."""
    (tmp_path / operations.FILE).write_text(INPUTS)
    declared_in(tmp_path)
    try:
        suites = importlib.reload(importlib.import_module("benchmarks.own"))
        assert suites.ByInputs.params == [["attend"], [16]]
        assert suites.ByInputsOnDevice.params == [["gather"], [16, 64], ["cuda"]]
    finally:
        sys.modules.pop("benchmarks.own")
    assert launch_files.case("own.ByInputsOnDevice.time_own gather 64 cuda").device == "cuda"


def test_an_operation_is_shown_under_its_group(tmp_path):
    """On the site of a checkout: what it does, its history, its time over size, and beside the other methods."""
    names = ("through_list", "contiguous_copy")
    methods = {name: launch_files.observed("mine", f"mine.{name}(x)") for name in names}
    cases = {f"own.BySize.time_own {name} {numel}": {NEWEST.version: 1.0} for name in names for numel in (16, 1024)}
    launch_files.write(tmp_path, cases)
    launch_files.write_counts(tmp_path, NEWEST.version, {}, methods=methods)
    site = {address: re.sub(r"<.*?>", "", text) for address, text in render.files(render.content(shipped(), launch_files.load(tmp_path)))}
    sizes = f"sizes/box/py3.11-cuda/{NEWEST.version}.html"
    for page in ("methods/contiguous_copy.html", "history/box/own.BySize/contiguous_copy-1024.html", sizes, "semantics.html"):
        assert "mine.contiguous_copy(x)" in site[page], page
    assert "mine: own operations on cpu" in site[sizes]


def test_no_name_of_an_operation_is_one_of_the_loop_s(tmp_path, here):
    """An input or a result of the set-up with such a name would take the place of the clock, or the loop of the value."""
    stored = {node.id for node in ast.walk(ast.parse(LOOP.format(names="", code="pass"))) if isinstance(node, ast.Name)}
    functions = {node.name for node in ast.walk(ast.parse(LOOP.format(names="", code="pass"))) if isinstance(node, ast.FunctionDef)}
    assert {*operations.OF_THE_LOOP} == (stored | functions | {"calls"}) - {"_"}
    (tmp_path / operations.FILE).write_text('[[operation]]\nname = "a"\ncode = "q + 1"\nsetup = "clock = 5"\ninputs.q = {}\n')
    (operation,), method = declared_in(tmp_path), own.own_with_inputs()["a"]
    with pytest.raises(TensorcopyError, match="the setup of the operation a makes a name that the timed loop uses: got clock"):
        own.make_values(operation, method, 16)
