"""The data of the history explorer: its numbers are those of the history, and its links lead to what they name."""

import csv
import json
import re
from io import StringIO

import pytest

from tensorcopy.copying.shipped import shipped
from tensorcopy.numbers import duration
from tensorcopy.results import suite_specs
from tensorcopy.results.cases import Case
from tensorcopy.site import addresses, history_chart, render, writer
from tensorcopy.site.content import Content
from tensorcopy.site.data_files import machine_csv
from tensorcopy.site.machine import Machine
from tests import launch_files
from tests.conftest import lab_campaign
from tests.pages import follow_all_links, html

RELEASES = {
    "py3.9-cuda": ("1.9.0", "1.11.0", "1.12.1", "1.13.1", "2.8.0"),
    "py3.11-cuda": ("1.13.1", "2.6.0", "2.9.1", "2.14.1", "2.15.0"),
}


@pytest.fixture(scope="module")
def content(shipped_results) -> Content:
    """The content of ten of the shipped results."""
    results = [result for result in shipped_results.results if result.version in RELEASES.get(result.environment, ())]
    assert len(results) == sum(len(releases) for releases in RELEASES.values())
    return render.content(shipped(), results)


@pytest.fixture(scope="module")
def machine(content) -> Machine:
    return content.machines[0]


@pytest.fixture(scope="module")
def data(content, machine) -> dict:
    """The data of every case, as the page reads it."""
    return json.loads(history_chart.json_text(history_chart.chart_data(machine, machine.cases, content.comparisons)))


def cases_of(machine, data) -> list[tuple[Case, dict]]:
    """Return each case with its row."""
    by_address = {addresses.of_case(machine.name, case): case for case in machine.cases}
    return [(by_address[f"{data['suites'][row['suite']][1]}/{row['page']}.html"], row) for row in data["cases"]]


def dense(column: list, size: int) -> list:
    """Return the values of a column at every release."""
    first, values = column[0], column[1]
    return [None] * first + values + [None] * (size - first - len(values))


def test_every_value_is_that_of_the_csv(machine, data):
    """It has at least five digits, and is shown as the same duration."""
    checked, in_file = 0, {}
    for entry in csv.DictReader(StringIO(machine_csv(machine))):
        for column in ("value", "instructions"):
            values = in_file.setdefault((entry["case"], entry["metric"], column), {})
            values |= {(entry["environment"], entry["torch"]): float(entry[column])} if entry[column] else {}
    for case, row in cases_of(machine, data):
        timed = machine.timed_by_count.get(case)
        shown_as = timed or case
        expected = in_file[shown_as.name, shown_as.spec.metric, "instructions" if timed else "value"]
        shown = {
            (f"py{python}-cuda", release): value
            for python, column in row["values"].items()
            for release, value in zip(data["releases"], dense(column, len(data["releases"])))
            if value is not None
        }
        assert shown.keys() == expected.keys(), case
        for key, value in expected.items():
            seconds = shown[key] / 1e9 if case.spec.timed else shown[key]
            assert seconds == pytest.approx(value, rel=5e-5), (case, key)
            assert not case.spec.timed or duration(seconds) == duration(value), (case, key)
            checked += 1
    assert checked > 3000


def test_joints_put_the_values_on_the_axis_of_the_history(machine, data):
    """The older Python's values before a joint, scaled by its factor, are those of the joined history."""
    joined = 0
    for case, row in cases_of(machine, data):
        history = machine.history[case]
        columns = {python: dense(column, len(data["releases"])) for python, column in row["values"].items()}
        values = list(columns[history.results[-1].python])
        for release, older, factor in row.get("joints", ()):
            values[:release] = [value and value * factor for value in columns[older][:release]]
            joined += 1
        scale = 1e-9 if history.unit == suite_specs.SECONDS else 1
        shown = {release: value * scale for release, value in zip(data["releases"], values) if value is not None}
        expected = {release: value for release, value in zip(history.releases, history.values) if value is not None}
        assert shown == pytest.approx(expected, rel=1e-4), case
    assert joined > 100


def test_changes_are_those_of_the_history(machine, data):
    for case, row in cases_of(machine, data):
        history = machine.history[case]
        shown = [(data["releases"][step[0]], step[1]) for step in row.get("steps", ())]
        assert shown == [(history.releases[step.index], pytest.approx(step.ratio, rel=1e-3)) for step in history.steps], case
    assert any(row.get("steps") for row in data["cases"])


def test_intervals_are_those_of_the_newest_result(machine, data):
    """Half of one is in thousandths of the time; counts are exact."""
    index, compared = data["releases"].index("2.15.0"), 0
    for case, row in cases_of(machine, data):
        first, _, *halves = row["values"].get("3.11", (0, ()))[:3]
        timing = machine.result.timings.get(case)
        assert len(halves) == case.spec.timed or not row["values"].get("3.11")
        if timing:
            assert halves[0][index - first] == round(history_chart.UNIT * (timing.interval[1] / timing.seconds - 1)), case
            compared += 1
    assert compared > 100


def test_what_would_not_have_been_seen_is_that_of_the_comparison(content, machine, data):
    """Of each release with the one before on the same Python, as their comparison has it."""
    before, after = machine.series[0].results[-2:]
    changes = content.comparisons[addresses.of_comparison(before, after)].changes
    index, compared = data["releases"].index(after.version), 0
    for case, row in cases_of(machine, data):
        if case.spec.timed and case in after.timings:
            first, _, _, sizes = row["values"]["3.11"]
            assert sizes[index - first] == round(history_chart.UNIT * changes[case].detectable), case
            assert sizes[0] is None, "there is no release before"
            compared += 1
    assert compared > 100


def test_each_place_has_one_case(machine, data):
    """A case with default parameters of another suite is the one by size: both measure the same."""
    places = [json.dumps({name: value for name, value in row.items() if name in history_chart.DEFAULTS}) for row in data["cases"]]
    assert len(places) == len(set(places))
    names = {suite for suite, _ in data["suites"]}
    assert {"copies.BySize", "copies.ByGrad", "copies.ByDtype", "instructions.BySize"} <= names
    by_dtype = [row for case, row in cases_of(machine, data) if case.suite.startswith("copies.ByDtype")]
    assert {row["dtype"] for row in by_dtype} == {"float16", "bfloat16", "int64", "bool"}


def test_a_link_names_the_place_and_the_methods(machine):
    """Axes with their default value are left out."""
    cases = [launch_files.case(f"copies.ByGrad.time_copy {name} 16384 True") for name in ("clone_detach", "detach_clone")]
    fragment = "group=copies&method=clone_detach,detach_clone&numel=16384&grad=yes"
    assert history_chart.link(machine, *cases) == f"history/epyc-2core/index.html#{fragment}"
    counted = launch_files.case("instructions.BySize.track_instructions clone 1 False")
    assert history_chart.link(machine, counted).endswith("#group=primitives&method=clone&numel=1&unit=instructions")
    assert history_chart.link(machine) == "history/epyc-2core/index.html"


def test_the_library_of_the_chart_keeps_its_licence(tmp_path):
    """And every script and stylesheet that pages load is written."""
    writer.write_assets(tmp_path)
    assert {*writer.ASSETS} == {path.name for path in tmp_path.iterdir()}
    assert "(MIT Licensed)" in (tmp_path / writer.UPLOT).read_text(encoding="utf-8")[:300]
    licence = (tmp_path / writer.LICENSES).read_text(encoding="utf-8")
    assert licence.startswith("uPlot, https:")
    assert "Copyright (c) 2021, Leon Sorokin" in licence
    assert licence.rstrip().endswith("SOFTWARE.")


def test_a_japanese_word_of_the_chart_stands_for_an_english_one():
    source = (writer.STATIC / "explorer.js").read_text(encoding="utf-8")
    english, japanese = (source.split(f"const {name} = {{")[1].split("\n  };")[0] for name in ("ENGLISH", "JAPANESE"))
    assert set(words_of(japanese)) < set(words_of(english))


def words_of(table: str) -> list[str]:
    """Return the keys of a table of texts in a script."""
    return sorted(re.findall(r"(?:^|, |\s)(\w+): (?:\"|\()", table, re.MULTILINE))


@pytest.mark.parametrize("charted", [False, True], ids=["suites alone", "beside an operation"])
def test_only_what_can_be_charted_has_an_explorer(tmp_path, charted):
    """A suite of others has no methods and sizes: its cases have their pages, and no page or button promises a chart."""
    names = ["theirs.time_rolling n=1000", *(["own.BySize.time_own scale numel=16"] if charted else [])]
    launch_files.write(tmp_path, {name: {"2.8.0": 1.0, "2.14.1": 1.0, "2.15.0": 1.0} for name in names})
    launch_files.write(tmp_path, {"theirs.time_rolling n=1000": {"2.14.1": 1.0, "2.15.0": 1.0}}, machine="other")
    site = dict(render.files(render.content(lab_campaign(tmp_path), launch_files.load(tmp_path))))
    assert {address for address in site if address.startswith("history/other/")} == {
        "history/other/cases.html",
        "history/other/theirs.time_rolling/1000.html",
    }
    assert ("history/box/index.html" in site) is ("history/box/times.js" in site) is charted
    index = site["history/index.html"]
    assert ("Explore box" in index, "Explore other" in index) == (charted, False)
    assert 'href="other/cases.html">other</a>' in index
    assert ("data-pairs" in site["compare/index.html"]) is charted
    follow_all_links(html(site), {*site, *writer.ASSETS})
