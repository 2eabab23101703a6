"""Plots: what is drawn where, and what it says."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from tensorcopy.site.charts import charts
from tensorcopy.site.charts.svg_plot import Band, Line, Names, Numels, Places, Plot, Point, Ratios, Rule, Seconds, Whiskers
from tensorcopy.site.model.machine import machines
from tests.conftest import NEW, OLD, measured

SVG = "{http://www.w3.org/2000/svg}"


def drawn(**fields) -> ElementTree.Element:
    plot = Plot(**{"label": "a plot", "x": Names(("1.0", "2.0", "3.0")), "y": Seconds(1e-6, 1e-4), **fields})
    return ElementTree.fromstring(plot.svg())


def test_a_gap_is_not_drawn_over():
    """The pen is lifted where a release was not measured."""
    root = drawn(lines=[Line([Point(0, 1e-6), None, Point(2, 1e-4)])])
    (line,) = [path for path in root.iter(f"{SVG}path") if path.get("class", "").startswith("line")]
    assert line.get("d").count("M") == 2
    assert "L" not in line.get("d")


def test_a_mark_says_its_number_and_leads_on():
    """To a pointer and to a screen reader; text is escaped."""
    root = drawn(lines=[Line([Point(0, 1e-5, 'torch "1.0" <b>', "a.html?x=1&y=2")])])
    (link,) = root.iter(f"{SVG}a")
    assert link.get("href") == "a.html?x=1&y=2"
    assert link.find(f"{SVG}title").text == 'torch "1.0" <b>'


def test_a_higher_value_lies_higher():
    """And each release to the right of the one before."""
    plot = Plot("", Names(("a", "b")), Seconds(1e-6, 1e-4), [])
    (left, low), (right, high) = plot.at(0, 1e-6), plot.at(1, 1e-4)
    assert left < right
    assert low > high


@given(st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=30), st.booleans())
def test_an_axis_holds_its_values_and_has_ticks(values, linear):
    """Whatever they are; ticks are few, inside, and differ from each other."""
    axis = Seconds.around(values, linear=linear)
    assert all(-1e-9 <= axis.part(value) <= 1 + 1e-9 for value in values)
    ticks = axis.ticks()
    assert 1 <= len(ticks) <= 16
    assert len({text for _, text in ticks}) == len(ticks)
    assert all(axis.low <= value <= axis.high for value, _ in ticks)


def test_noise_does_not_look_like_drama():
    """Two per cent do not fill the picture: a logarithmic axis spans at least a quarter."""
    axis = Seconds.around([1.0e-6, 1.02e-6])
    assert axis.high / axis.low > 1.25
    assert axis.part(1.02e-6) - axis.part(1.0e-6) < 0.1


def test_sizes_are_powers_of_two():
    """On a logarithmic axis; on a linear one in binary units."""
    assert [text for _, text in Numels(1, 2**4).ticks()] == ["2⁰", "2¹", "2²", "2³", "2⁴"]
    assert [text for _, text in Numels(1, 2**14, linear=True).ticks()] == ["0", "4 Ki", "8 Ki", "12 Ki", "16 Ki"]


def test_intervals_of_a_comparison_are_drawn_around_no_change():
    """A ratio of 1 lies in the middle, and what is wider than the axis ends at its edge."""
    assert Ratios(0.1).part(1.0) == 0.5
    root = drawn(x=Places(2), y=Ratios(0.1), whiskers=[Whiskers([(0, 0.5, 0.9, 1.0), (1, 1.0, 1.05, 1.08)], "slower")])
    lines, dots = [path for path in root.iter(f"{SVG}path") if "slower" in path.get("class", "")]
    assert lines.get("d").count("M") == dots.get("d").count("M") == 2


def test_a_step_and_a_band_are_drawn():
    """With the step's word."""
    root = drawn(lines=[], bands=[Band([(0, 1e-6, 2e-6), (1, 1e-6, 3e-6), None, (2, 1e-6, 2e-6)])], rules=[Rule(0.5, "slower +12 %")])
    assert "slower +12 %" in [text.text for text in root.iter(f"{SVG}text")]
    assert any(path.get("class") == "band s1" for path in root.iter(f"{SVG}path"))


def test_a_picture_follows_light_and_dark_and_asks_for_no_style():
    """Colours are the stylesheet's; alone it brings them along, both ways."""
    found = tuple(measured(release, {("a", 2**10): 1e-6, ("b", 2**10): 2e-6}) for release in (OLD, NEW))
    (machine,) = machines(found, (OLD, NEW))
    svg = charts.of_group(machine.histories[0], {"a": "x.a()", "b": "x.b()"})
    assert "x.b(), torch 2.0.0, py3.11-cuda: 2.00 µs" in svg
    assert "style" not in svg
    assert not re.search(r'(fill|stroke)="', svg)
    alone = charts.standalone(svg)
    assert "prefers-color-scheme: dark" in alone
    assert "--series-1:#" in alone
    assert ElementTree.fromstring(alone).tag == f"{SVG}svg"
