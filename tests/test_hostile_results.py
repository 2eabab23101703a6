"""A result file is somebody's text: whatever it holds, no script of it runs, no page fails, and what is wrong with it is named."""

from __future__ import annotations

import json
import re

import pytest

from tensorcopy.releases.release_table import load as releases
from tensorcopy.results import load
from tensorcopy.site import render
from tests.conftest import measured_in_passes
from tests.test_site import Tags

SCRIPT = "<script>alert(1)</script>"
BEFORE, AFTER = releases()[-2:]
TIMES = {"clone_detach": [1.2, 1.21, 1.19], "detach_clone": [1.0, 1.01, 0.99]}


@pytest.fixture
def folder(tmp_path):
    """Two releases on one machine, sound."""
    measured_in_passes(tmp_path, BEFORE, TIMES)
    return tmp_path


def spoilt(folder, change, **provenance):
    """The newest release's file after `change` has had its way with it; the problems and the site that follow."""
    path = measured_in_passes(folder, AFTER, TIMES, **provenance)
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    read = load.load_results(folder)
    site = dict(render.files(render.content(read.results)))
    for address, text in site.items():
        if address.endswith(".html"):
            page = Tags(text)
            assert page.open == [], address
            assert [attributes["src"][-13:] for tag, attributes in page.tags if tag == "script"] == ["tensorcopy.js"], address
            assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")], address
    return read.problems, site


def row(document):
    """asv's row of the one suite, by column."""
    return document["results"]["copies.BySize.time_copy"]


def column(document, name):
    return document["result_columns"].index(name)


def test_scripts_stay_text(folder):
    """In the ledger, in a method's code, in what it was seen to do, in a parameter."""

    def change(document):
        seen = {"gives": "tensor", "shares_storage": False, "keeps_graph": False, "is_leaf": True, "requires_grad": False}
        seen |= {"device": SCRIPT, "dtype": SCRIPT, "layout": SCRIPT, "warns": SCRIPT, "raises": ""}
        method = {"group": "copy", "code": SCRIPT, "code_on_accelerator": SCRIPT, "since": SCRIPT}
        document["methods"] = {
            name: {**method, "observed": {"cpu": {"plain": seen, "with_grad": seen, "as_promised": False}}}
            for name in ("detach_clone", SCRIPT)
        }
        document["article"] = {"cpu": {"statements": 1, "hold": 0, "fail": [SCRIPT]}}
        row(document)[column(document, "params")][0] = ["'detach_clone'", repr(SCRIPT)]

    problems, site = spoilt(folder, change, cpu=SCRIPT, os=SCRIPT, driver=SCRIPT)
    assert problems == ()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in site["index.html"]
    assert all(re.fullmatch(r"[A-Za-z0-9._/-]+", address) for address in site)


@pytest.mark.parametrize(
    ("what", "sample"),
    [("a time below nothing", -1e-6), ("no time", 0.0), ("ages", 1e300), ("a word", "1e-6"), ("a list", [1e-6])],
)
def test_what_is_no_time_is_refused_by_name(folder, what, sample):
    """And the other releases are shown."""

    def change(document):
        row(document)[column(document, "samples")][0][0] = sample

    problems, site = spoilt(folder, change)
    assert [str(problem).count(f"{AFTER.sha[:8]}-py3.11-cuda.json cannot be read") for problem in problems] == [1]
    assert f"torch {BEFORE.version} on " in site["index.html"]


def test_nan_is_asvs_word_for_skipped(folder):
    """The case is not measured; the page says so."""

    def change(document):
        row(document)[column(document, "result")][0] = float("nan")

    problems, site = spoilt(folder, change)
    assert problems == ()
    assert "NaN" not in site["data/box.json"]


@pytest.mark.parametrize("numel", ["abc", "-5", "0", "1.5", "9" * 5000, "٣"])
def test_a_number_of_elements_is_one(folder, numel):
    """Else the file is refused by name."""

    def change(document):
        row(document)[column(document, "params")][1] = [numel]

    problems, _ = spoilt(folder, change)
    assert ["cannot be read" in str(problem) for problem in problems] == [True]


@pytest.mark.parametrize("name", ["params", "version", "result"])
def test_a_missing_column_is_named(folder, name):
    """Columns that asv may leave out may be missing; these may not."""

    def change(document):
        document["result_columns"][column(document, name)] = "something"

    problems, site = spoilt(folder, change)
    assert len(problems) == (name != "result")
    assert "index.html" in site


def test_what_the_schema_does_not_describe_is_refused(folder):
    """A method without its code, an observation with a number for a word."""

    def change(document):
        document["methods"] = {"detach_clone": {"observed": {"cpu": 17}}}

    problems, _ = spoilt(folder, change)
    assert ["methods/detach_clone" in str(problem) for problem in problems] == [True]


@pytest.mark.slow
def test_ten_thousand_parameters_are_pages_like_others(folder):
    """Slow to read, but no page fails."""

    def change(document):
        names = [f"m{number}" for number in range(10_000)]
        cells = row(document)
        for title in ("result", "samples"):
            index = column(document, title)
            cells[index] = [cells[index][0]] * len(names)
        cells[column(document, "params")][0] = [repr(name) for name in names]
        document["passes"] = []

    problems, site = spoilt(folder, change)
    assert problems == ()
    assert sum(address.startswith("history/box/copies.BySize/m") and address.endswith(".html") for address in site) == 10_000
