"""Which results form a series: an interpreter's torch never joins the wheel's, and the machine that can answers."""

import pytest

from tensorcopy.copying.shipped import shipped
from tensorcopy.judge import case_history, comparisons
from tensorcopy.judge.comparisons import Question
from tensorcopy.releases import release_table
from tensorcopy.results import reader, select
from tensorcopy.results.result import by_history
from tensorcopy.site import facts
from tests import launch_files
from tests.launch_files import EVERY, START

CASE = "copies.BySize.time_copy tensor 16"
SLOWER = 1.71  # an interpreter's torch against the wheel's


@pytest.fixture
def beside_an_interpreter(tmp_path):
    """Launches of two releases, in which an interpreter with the newer one took turns, too."""
    times = {"2.14.1": 1.0, "2.15.0": 1.0, "2.15.0@3.11": SLOWER}
    launch_files.write(tmp_path, {CASE: times}, sides={"2.15.0@3.11": {"build": "cuda-interpreter"}}, launches=4, noise=0.001)
    return tmp_path


def test_an_interpreter_is_a_series_of_its_own(beside_an_interpreter):
    """No history joins it with the wheels."""
    loaded = reader.load_results(beside_an_interpreter)
    assert loaded.problems == ()
    assert sorted(len(axes[0]) for axes in by_history(loaded.results).values()) == [1, 2]


def test_releases_are_compared_without_an_interpreter(beside_an_interpreter):
    """Both sides are of one series; "@" selects the interpreter, which took turns with the wheel."""
    pair = select.pair("2.14.1", "2.15.0", beside_an_interpreter, release_table.load())
    assert [result.series_key.build for result in (pair.before, pair.after)] == ["cuda", "cuda"]
    (change,) = comparisons.between(Question(pair.before, pair.after)).changes.values()
    assert change.ratio == pytest.approx(1.0, abs=0.01)
    named = select.pair("2.15.0@cuda-interpreter", "2.15.0", beside_an_interpreter, release_table.load())
    assert [result.series_key.build for result in (named.before, named.after)] == ["cuda-interpreter", "cuda"]
    assert comparisons.labels(named.before, named.after)[0].endswith("cuda-interpreter")
    (change,) = comparisons.between(Question(named.before, named.after)).changes.values()
    assert change.ratio == pytest.approx(1 / SLOWER, rel=0.01)


def test_the_site_and_the_terminal_show_the_same_history(tmp_path):
    """Of two builds on one machine, that with two releases, though the other has the newest release."""
    launch_files.write(tmp_path, {CASE: {"2.13.0": 1.0, "2.14.1": 1.0}}, launches=3)
    launch_files.write(tmp_path, {CASE: {"2.15.0": 1.0}}, sides={"2.15.0": {"build": "cpu"}}, launches=1, start=START + 20 * EVERY)
    results = reader.load_results(tmp_path).results
    (history,) = facts.site(shipped(), results).histories
    (of_site,), (of_terminal,) = history.cases.values(), case_history.joined(select.history(results)).values()
    assert of_site.releases == of_terminal.releases == ("2.13.0", "2.14.1")


def test_the_history_is_of_a_machine_with_two_releases(tmp_path):
    """Another has measured one of them later; named, that one answers, and alone it does, too."""
    launch_files.write(tmp_path, {CASE: {"2.14.1": 1.0, "2.15.0": 1.0}}, launches=3, machine="old")
    launch_files.write(tmp_path, {CASE: {"2.15.0": 1.0}}, launches=3, machine="new", start=START + 99 * EVERY)
    results = reader.load_results(tmp_path).results
    assert [len(axis) for axis in select.history(results)] == [2]
    assert [result.machine for (result,) in select.history(results, "new")] == ["new"]
    of_new = [result for result in results if result.machine == "new"]
    assert [result.machine for (result,) in select.history(of_new)] == ["new"]
    (history,) = case_history.joined(select.history(results)).values()
    assert "(old, cpu)" in history.on  # the first line of `tensorcopy history`
