"""What a release changed besides times: exact counts, and what methods do; and the page of a release on every device."""

import re

import pytest

from tensorcopy.site import addresses
from tensorcopy.site.changes import outcome_changes
from tests import launch_files
from tests.pages import site_of, text_of

VERSIONS = ("2.13.0", "2.14.1", "2.15.0")
WARNING = "UserWarning: a price"


def write(folder):
    """Write launches of three releases: 2.14.1 warns and allocates more, and 2.15.0 takes the warning back."""
    cases = {f"copies.BySize.time_copy {method} 16": dict.fromkeys(VERSIONS, 1.0) for method in ("tensor", "clone_detach")}
    launch_files.write(folder, cases)
    for version, warns, peak in zip(VERSIONS, ("", WARNING, ""), (100, 200, 200)):
        methods = {"tensor": launch_files.observed(warns=warns), "clone_detach": launch_files.observed()}
        launch_files.write_counts(folder, version, {"memory.Host.track_peak tensor 1048576 cpu": peak}, methods=methods)


def part(page: str, heading: str) -> str:
    """Return the part of a page below a heading as text; "" without it."""
    return text_of(page.partition(f"<h2>{heading}</h2>")[2].partition("<h2>")[0])


def test_a_release_has_its_exact_counts_and_what_methods_do_otherwise(tmp_path):
    """Each with the release that changed it alone, before and after."""
    write(tmp_path)
    files = site_of(launch_files.load(tmp_path))
    older, newer = (files[f"compare/box/py3.11-cuda/{pair}.html"] for pair in ("2.13.0..2.14.1", "2.14.1..2.15.0"))
    assert "more bytes in 1 of 1 case at numel > 2¹⁴, +100.0 %" in part(older, "Exact counts").replace("\u202f", " ")
    assert not part(newer, "Exact counts")
    for page, before, after in ((older, "none", WARNING), (newer, WARNING, "none")):
        (row,) = re.findall(r'<tr><th scope="row">.*?</tr>', page.partition("<h2>What methods do</h2>")[2].partition("<h2>")[0])
        cells = [text_of(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)]
        assert cells[1:] == ["without grad or that requires grad, cpu", "warns", before, after]
    both = files["compare/box/py3.11-cuda/2.13.0..2.15.0.html"]
    assert not part(both, "Exact counts")  # of the history, which has a change with each release
    assert "what changed</h1>" not in both


def test_an_error_names_the_device_as_torch_does(tmp_path):
    """It is stored with a placeholder, so that it is the same on every device."""
    for version, after in (("2.14.1", "to numpy"), ("2.15.0", "to an array")):
        seen = {**launch_files.SEEN, "raises": f"TypeError: can't convert {{device}} {after}"}
        methods = {"numpy": {**launch_files.observed(), "observed": {"cuda": {"plain": seen, "with_grad": seen}}}}
        launch_files.write_counts(tmp_path, version, {"memory.Host.track_peak tensor 1048576 cpu": 1}, methods=methods)
    (change,) = outcome_changes(*launch_files.load(tmp_path, "2.14.1", "2.15.0"))
    assert (change.before, change.after) == ("TypeError: can't convert cuda:0 to numpy", "TypeError: can't convert cuda:0 to an array")


@pytest.mark.parametrize(
    ("others", "number"), [(["ByDtype.time_copy tensor 16 float32", "ByLayout.time_copy tensor 16 contiguous"], 1), ([], 0)]
)
def test_a_comparison_says_which_tensors_were_measured_again(tmp_path, others, number):
    """Those of the same method, size, dtype and layout in another suite."""
    names = ["BySize.time_copy tensor 16", "BySize.time_copy clone_detach 16", "ByDtype.time_copy tensor 16 int64", *others]
    launch_files.write(tmp_path, {f"copies.{name}": dict.fromkeys(VERSIONS[1:], 1.0) for name in names}, launches=2)
    files = site_of(launch_files.load(tmp_path))
    text = text_of(files["compare/box/py3.11-cuda/2.14.1..2.15.0.html"])
    assert ("1 call is in several tables" in text) is bool(number)


def test_the_pages_of_releases_lead_to_each_other_and_to_their_comparisons(tmp_path):
    """There is none of the first one, which is compared with nothing."""
    write(tmp_path)
    files = site_of(launch_files.load(tmp_path))
    assert [address for address in files if address.startswith("releases/")] == [addresses.of_release(version) for version in VERSIONS[1:]]
    page = files[addresses.of_release("2.14.1")]
    links = re.findall(r'href="([^"]+)"', page.partition("<main")[2].partition("</main>")[0])
    assert links == ["../compare/index.html", "../compare/box/py3.11-cuda/2.13.0..2.14.1.html", "2.15.0.html"]
    assert 'name="description" content="What torch 2.14.1 made slower and faster' in page
    comparison = files["compare/box/py3.11-cuda/2.13.0..2.14.1.html"]
    assert 'href="../../../releases/2.14.1.html">2.14.1 on every device</a>' in comparison


def test_a_comparison_says_how_it_was_measured(tmp_path):
    """Below the picture's title, or as a sentence where nothing was timed by size."""
    launch_files.write(tmp_path, {"several.time_one": {"2.14.1": 1.0, "2.15.0": 1.1}})
    files = site_of(launch_files.load(tmp_path))
    page = text_of(files["compare/box/py3.11-cuda/2.14.1..2.15.0.html"])
    assert "<svg" not in page
    assert re.search(r"\d+ launches: both sides took turns", page)
    assert "by at least 3 % (faster: the inverse, −2.9 %)" in page
