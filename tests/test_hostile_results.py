"""A result file is untrusted: it runs no script, breaks no page, and is named."""

from __future__ import annotations

import json
import re

import pytest

from tensorcopy.releases.release_table import load as releases
from tensorcopy.results import reader
from tensorcopy.site import addresses, render
from tests.conftest import measured_in_passes
from tests.test_site import Tags, foreign_scripts

SCRIPT = "<script>alert(1)</script>"
BEFORE, AFTER = releases()[-2:]
TIMES = {"clone_detach": [1.2, 1.21, 1.19], "detach_clone": [1.0, 1.01, 0.99]}


@pytest.fixture
def folder(tmp_path):
    """A folder with a valid result."""
    measured_in_passes(tmp_path, BEFORE, TIMES)
    return tmp_path


def load_changed(folder, change, **provenance):
    """Return the problems and the site with a result that `change` has edited; only the landing page where the file was refused."""
    path = measured_in_passes(folder, AFTER, TIMES, **provenance)
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    loaded = reader.load_results(folder)
    pages = render.files(render.content(loaded.results))
    site = dict(pages) if not loaded.problems else dict([next(page for page in pages if page[0] == addresses.LANDING)])
    for address, text in site.items():
        if address.endswith(".html"):
            page = Tags(text)
            assert page.open == [], address
            assert foreign_scripts(page) == [], address
            assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")], address
    return loaded.problems, site


def row(document):
    """Return asv's row of the only suite."""
    return document["results"]["copies.BySize.time_copy"]


def column(document, name):
    return document["result_columns"].index(name)


def test_scripts_stay_text(folder):
    """In the provenance, in a method's code, in its observations, in a parameter."""

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

    problems, site = load_changed(folder, change, cpu=SCRIPT, os=SCRIPT, driver=SCRIPT)
    assert problems == ()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in site["index.html"]
    assert all(re.fullmatch(r"[A-Za-z0-9._/-]+", address) for address in site)


@pytest.mark.parametrize("sample", [-1e-6, 0.0, 1e300, "1e-6", [1e-6], None], ids=["negative", "zero", "too long", "text", "list", "null"])
def test_a_sample_that_is_not_a_time_is_refused(folder, sample):
    """The file is named, and the other releases are shown."""

    def change(document):
        row(document)[column(document, "samples")][0][0] = sample

    problems, site = load_changed(folder, change)
    assert [str(problem).count(f"{AFTER.sha[:8]}-py3.11-cuda.json cannot be read") for problem in problems] == [1]
    assert f"torch {BEFORE.version} on " in site["index.html"]


def test_a_result_of_nan_is_a_skipped_case(folder):
    """It is not measured, and NaN does not reach the site's data."""

    def change(document):
        row(document)[column(document, "result")][0] = float("nan")
        row(document)[column(document, "samples")][0] = None
        for record in document["passes"]:
            of_suite = record["suites"]["copies.BySize.time_copy"]
            of_suite["samples"][0], of_suite["control_ns"][0] = 0, []

    problems, site = load_changed(folder, change)
    assert problems == ()
    assert "NaN" not in site["data/box.json"]


@pytest.mark.parametrize(
    "numel",
    ["abc", "-5", "0", "1.5", "9" * 5000, "0" * 19 + "1" + "9" * 5000, "٣"],
    ids=["word", "negative", "zero", "fraction", "5,000 digits", "5,020 digits with leading zeros", "Arabic digit"],
)
def test_an_impossible_number_of_elements_is_refused(folder, numel):
    """The file is named, and the other releases are shown."""

    def change(document):
        row(document)[column(document, "params")][1] = [numel]

    problems, site = load_changed(folder, change)
    assert [f"{AFTER.sha[:8]}-py3.11-cuda.json cannot be read" in str(problem) for problem in problems] == [True]
    assert f"torch {BEFORE.version} on " in site["index.html"]


@pytest.mark.parametrize("name", ["params", "version", "result"])
def test_a_missing_column_is_a_problem(folder, name):
    """The file is named."""

    def change(document):
        document["result_columns"][column(document, name)] = "something"

    problems, site = load_changed(folder, change)
    assert [f"{AFTER.sha[:8]}-py3.11-cuda.json cannot be read" in str(problem) for problem in problems] == [True]
    assert f"torch {BEFORE.version} on " in site["index.html"]


def test_a_file_that_violates_the_schema_is_refused(folder):
    """A method without its code."""

    def change(document):
        document["methods"] = {"detach_clone": {"observed": {"cpu": 17}}}

    problems, _ = load_changed(folder, change)
    assert ["methods.detach_clone must contain ['code', 'code_on_accelerator'," in str(problem) for problem in problems] == [True]


@pytest.mark.parametrize("params", [[[1]], [5], "tensor", [["'tensor'"], ["16"], ["17"]]], ids=["number", "axis", "text", "too many"])
def test_parameters_of_another_form_are_refused(folder, params):
    """The file is named, and the other releases are shown."""

    def change(document):
        row(document)[column(document, "params")] = params

    problems, site = load_changed(folder, change)
    assert ["cannot be read" in str(problem) for problem in problems] == [True]
    assert f"torch {BEFORE.version} on " in site["index.html"]


def test_records_that_count_more_samples_than_there_are_are_refused(folder):
    """Their samples would be assigned to the wrong passes."""

    def change(document):
        document["passes"][0]["suites"]["copies.BySize.time_copy"]["samples"] = [4, 3]

    problems, _ = load_changed(folder, change)
    assert ["has 4 samples of case 0 in a pass, with 3 readings of the control" in str(problem) for problem in problems] == [True]


@pytest.mark.parametrize("name", ["{document}", "{0.__class__}", "a" * 10_000], ids=["format field", "attribute", "long"])
def test_a_name_in_a_fault_is_quoted_and_cut(folder, name):
    """The validator formats its messages with the names that it finds."""

    def change(document):
        document["methods"] = {name: 1}

    problems, _ = load_changed(folder, change)
    assert [f"methods.{name[:200]}" in str(problem) and len(str(problem)) < 1000 for problem in problems] == [True]


def test_deeply_nested_json_is_refused(folder):
    """Python's parser gives up on it."""
    path = measured_in_passes(folder, AFTER, TIMES)
    path.write_text("[" * 100_000)
    assert ["cannot be read" in str(problem) for problem in reader.load_results(folder).problems] == [True]


@pytest.mark.slow
def test_thousands_of_parameters_are_pages_like_others(folder):
    """Reading them is slow, but no page fails."""

    def change(document):
        names = [f"m{number}" for number in range(2_000)]
        cells = row(document)
        for title in ("result", "samples"):
            index = column(document, title)
            cells[index] = [cells[index][0]] * len(names)
        cells[column(document, "params")][0] = [repr(name) for name in names]
        document["passes"] = []

    problems, site = load_changed(folder, change)
    assert problems == ()
    assert sum(address.startswith("history/box/copies.BySize/m") and address.endswith(".html") for address in site) == 2_000
