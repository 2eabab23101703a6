"""Which results form a series: an interpreter's torch never joins the wheel's, and commands answer from the machine that can."""

from __future__ import annotations

import json
import shutil

import pytest

from tensorcopy.analysis import comparisons, confirmation, series
from tensorcopy.analysis.two_sample import Verdict
from tensorcopy.releases import release_table
from tensorcopy.results import reader, select
from tensorcopy.results.series_key import SeriesKey, by_history
from tensorcopy.site.model import machine as machine_model
from tests.conftest import ROOT, measured_in_passes

BEFORE, AFTER = (release_table.find(version) for version in ("2.14.1", "2.15.0"))
SLOWER = 1.71  # an interpreter's torch against the wheel's


@pytest.fixture(scope="module")
def beside_an_interpreter(tmp_path_factory):
    """Shipped results of two releases, and the newer one as an interpreter has it: each of its times is 1.71 times as long."""
    folder = tmp_path_factory.mktemp("interpreter")
    shutil.copy(ROOT / "results" / "benchmarks.json", folder)
    machine = folder / "xeon-2core"
    machine.mkdir()
    shutil.copy(ROOT / "results" / "xeon-2core" / "machine.json", machine)
    for release in (BEFORE, AFTER):
        shutil.copy(ROOT / "results" / "xeon-2core" / f"{release.sha[:8]}-py3.11-cuda.json", machine)
    document = json.loads((machine / f"{AFTER.sha[:8]}-py3.11-cuda.json").read_text())
    result, samples = (document["result_columns"].index(name) for name in ("result", "samples"))
    for row in document["results"].values():
        if len(row) > samples and row[samples]:
            row[result] = [value and value * SLOWER for value in row[result]]
            row[samples] = [values and [value * SLOWER for value in values] for values in row[samples]]
    for record in document["passes"]:
        record["id"] += "-interpreter"
    name = f"{document['env_name']}-interpreter"
    (machine / f"{AFTER.sha[:8]}-{name}.json").write_text(json.dumps({**document, "env_name": name}))
    return folder


def test_an_interpreter_is_a_series_of_its_own(beside_an_interpreter):
    """Its build says so, and no history joins it with the wheels."""
    loaded = reader.load_results(beside_an_interpreter)
    assert loaded.problems == ()
    keys = {result.series_key for result in loaded.results}
    assert {(key.machine, key.python, key.build) for key in keys} == {
        ("xeon-2core", "3.11", "cuda"),
        ("xeon-2core", "3.11", "cuda-interpreter"),
    }
    assert sorted(len(axes[0]) for axes in by_history(loaded.results).values()) == [1, 2]


def test_releases_are_compared_without_an_interpreter(beside_an_interpreter):
    """Both sides are of one series, and the interpreter's passes show no noise of theirs; "@" selects it."""
    pair = select.pair(BEFORE.version, AFTER.version, beside_an_interpreter)
    assert [result.series_key.build for result in (pair.before, pair.after)] == ["cuda", "cuda"]
    compared = comparisons.between(pair.before, pair.after, pair.beside)
    assert sum(change.verdict is Verdict.SLOWER for change in compared.changes.values()) < len(compared.changes) / 2
    assert compared.others == []
    named = select.pair(f"{AFTER.version}@cuda-interpreter", AFTER.version, beside_an_interpreter)
    assert [result.series_key.build for result in (named.before, named.after)] == ["cuda-interpreter", "cuda"]
    assert comparisons.labels(named.before, named.after)[0].endswith("cuda-interpreter")


def test_no_history_has_a_step_to_an_interpreter(beside_an_interpreter):
    """Neither the terminal's nor the site's; nor is a step to it measured again."""
    results = reader.load_results(beside_an_interpreter).results
    by_case = series.series_by_case(results)
    assert max(len(each.results) for each in by_case.values()) == 2
    (machine,) = machine_model.machines(results, release_table.load())
    for histories in (by_case, machine.history):
        assert {result.series_key.build for each in histories.values() for result in each.results} == {"cuda"}
    assert all(pair.after.series_key.build == "cuda" for pair in confirmation.pending(results, {}, 10))


def test_the_history_is_of_a_machine_with_two_releases(tmp_path):
    """Another has measured one of them later; named, that one answers, and alone it does, too."""
    times = {"clone_detach": [1.0, 1.01, 0.99]}
    for release in (BEFORE, AFTER):
        measured_in_passes(tmp_path, release, times, "old", started="2026-11-20T08:00:00+00:00")
    measured_in_passes(tmp_path, AFTER, times, "new", started="2026-11-21T08:00:00+00:00")
    results = reader.load_results(tmp_path).results
    assert [len(axis) for axis in select.history(results)] == [2]
    assert [result.machine for (result,) in select.history(results, "new")] == ["new"]
    of_new = [result for result in results if result.machine == "new"]
    assert [result.machine for (result,) in select.history(of_new)] == ["new"]
    (case_series,) = series.series_by_case(results).values()
    assert "(old)" in case_series.on  # the first line of `tensorcopy history`


def test_pythons_are_joined_and_nothing_else():
    """Machines of one name in two folders have another identity."""
    key = SeriesKey("box", "0123456789ab", "3.11", "cuda")
    assert key.joined == SeriesKey("box", "0123456789ab", "3.9", "cuda").joined
    others = [
        SeriesKey("box", "ba9876543210", "3.11", "cuda"),
        SeriesKey("box", "0123456789ab", "3.11", "cpu"),
        SeriesKey("box", "0123456789ab", "3.11", "cuda-interpreter"),
        SeriesKey("other", "0123456789ab", "3.11", "cuda"),
    ]
    assert all(key.joined != other.joined for other in others)
