"""What a notebook shows of the values that the Python interface returns."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

import tensorcopy
from tensorcopy.analysis.advice.matching import CopyRequest
from tensorcopy.analysis.profiles import difference
from tensorcopy.report.local.advice import Advice, MatchingMethod
from tensorcopy.report.local.progress import WIDTH
from tensorcopy.report.why.cause import Cause
from tensorcopy.results.load import Result
from tensorcopy.results.profiles.profile_file import Node, Profile
from tensorcopy.worker.methods import Promise, make_method, make_table
from tensorcopy.worker.probes.conformance import Checked, CheckedRows
from tensorcopy.worker.semantics import Outcome, Semantics

HOSTILE = "<script>alert('&')</script>"
REQUEST = CopyRequest(to="tensor", own=True, keeps_graph=None, requires_grad=False, device="cpu")
CHOICES = (
    MatchingMethod("clone", f"x.clone() # {HOSTILE}", 1.5e-6, 1.2, "fastest", None, (f"warns: {HOSTILE}",)),
    MatchingMethod("tensor", "torch.tensor(x)", 3e-6, 2.4, "slower", 2.0, ()),
    MatchingMethod("other", "x + 0", None, None, "", None, ("c",)),
)


def hostile_cause():
    """Return a cause whose texts are hostile: a function is gone."""
    before = Node(("libpython", "call"), 1000.0, 1, (Node((HOSTILE, HOSTILE), 500.0, 1, ()),))
    after = Node(("libpython", "call"), 1000.0, 1, ())
    functions = difference.between(1, *(Profile(root.inclusive, (root,)) for root in (before, after)))
    result = Result(Path("here"), HOSTILE, "", "3.11", "", HOSTILE, {})
    return Cause("detach 1 float32 contiguous", HOSTILE, result, result, (HOSTILE, "B"), functions, None)


def hostile_values():
    """Return a value of each kind in which every text is hostile, and texts that its HTML must show."""
    outcome = Outcome(warns=HOSTILE, layout=HOSTILE)
    methods = make_table(make_method("a", f"x # {HOSTILE}", Promise("1.9.0", Semantics(outcome, outcome), None)))
    return {
        "Advice": (Advice(REQUEST, 8, CHOICES, HOSTILE, "here", "2.15.0", HOSTILE, "2026-11-23", 0.9), ["1.50 µs", "slower +100 %", "90%"]),
        "Outcome": (outcome, ["shares_storage", "no"]),
        "Semantics": (Semantics(outcome, Outcome("error", raises=HOSTILE)), ["plain tensor", "requires grad", "raises"]),
        "CheckedRows": (CheckedRows([Checked("m", "own", HOSTILE, HOSTILE, "plain", None, outcome)]), ["?", "independent"]),
        "Methods": (methods, ["a", "torch 1.9.0"]),
        "Cause": (hostile_cause(), ["numel=1, float32, contiguous", "the whole call", "1\u2009500", "−500"]),
    }


@pytest.mark.parametrize("kind", ["Advice", "Outcome", "Semantics", "CheckedRows", "Methods", "Cause"])
def test_the_html_of_a_value_is_well_formed_and_shows_hostile_texts_as_text(kind):
    """Plain elements without an attribute, in the notebook's own colours."""
    value, texts = hostile_values()[kind]
    shown = value._repr_html_()
    root = ElementTree.fromstring(f"<div>{shown}</div>")
    assert {element.tag for element in root.iter()} <= {"div", "p", "code", "table", "thead", "tbody", "tr", "th", "td"}
    assert not any(element.attrib for element in root.iter())
    text = " ".join(root.itertext()).replace("\u00a0", " ")
    for each in (HOSTILE, *texts):
        assert each in text
    widths = [len(row) for row in root.iter("tr")]
    assert len({*widths}) == 1
    assert len(widths) >= 2
    assert len(shown) < 10_000


def test_advice_that_matches_nothing_is_its_reason():
    assert Advice(REQUEST, 8, (), "No method does.", "here", "2.15.0", "a CPU", "2026-11-23")._repr_html_() == "<p>No method does.</p>"


def test_a_check_is_a_list_that_a_notebook_shows_as_a_table():
    """A row for every row, with its code and its sign."""
    rows = tensorcopy.check("cpu")
    assert isinstance(rows, list)
    root = ElementTree.fromstring(rows._repr_html_())
    assert [[cell.text or "".join(cell.itertext()) for cell in row][:2] for row in root.iter("tr")][1:] == [["✓", row.code] for row in rows]


def test_the_table_of_methods_lists_their_code():
    """It stays a read-only mapping."""
    root = ElementTree.fromstring(tensorcopy.COPIES._repr_html_())
    assert [code.text for code in root.iter("code")] == [method.code for method in tensorcopy.COPIES.values()]
    assert repr(tensorcopy.COPIES) == f"Methods({', '.join(tensorcopy.COPIES)})"
    with pytest.raises(TypeError):
        tensorcopy.COPIES["new"] = None


@pytest.mark.slow
def test_advise_is_quiet_unless_it_is_given_something_that_shows_progress(worker_here, capsys):
    """One line, written over and ended."""
    tensorcopy.advise(numel=16)
    out, err = capsys.readouterr()
    assert (out, re.sub(r"W\d.* torch/.*\n", "", err)) == ("", "")  # torch may log when it times for the first time
    tensorcopy.advise(numel=16, report_progress=tensorcopy.show_progress)
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.split("\r")[1:]
    assert len({len(line.rstrip("\n")) for line in lines}) == 1
    assert [line[4:].strip() for line in lines if "round" not in line] == ["finished"]
    assert err.count("\n") == err.endswith("\n") == 1
    assert re.fullmatch(rf"100%  finished {{{WIDTH - 8}}}\n", lines[-1])


@pytest.mark.slow
def test_plot_reports_progress(worker_here):
    """From its first step to its last."""
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    shares = []
    tensorcopy.plot("copies", most=2, axes=Figure().subplots(), report_progress=lambda share, doing: shares.append(share))
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
