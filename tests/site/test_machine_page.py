"""The page of a machine: its environment, and all of its results."""

import csv
import re
from io import StringIO

import pytest

from tensorcopy.copying.shipped import shipped
from tensorcopy.site import addresses, machine, render
from tensorcopy.site.pages import data
from tests import launch_files
from tests.conftest import write_pages

NEWER_NUMPY = {"build": "cuda-numpy2", "numpy": "2.4.6"}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Return results of two releases on one Python, and on another of the older, and of the newer with numpy 2."""
    folder = tmp_path_factory.mktemp("results")
    sides = {"2.14.1": {}, "2.15.0": {}, "2.14.1@3.9": {}, "2.15.0@3.12": NEWER_NUMPY}
    launch_files.write(folder, {"copies.BySize.time_copy tensor 16": dict.fromkeys(sides, 1.0)}, sides=sides)
    return launch_files.load(folder)


def rows(page: str) -> list[list[str]]:
    """Return the cells of the table of results."""
    body = page.partition('id="results"')[2].partition("<tbody>")[2].partition("</tbody>")[0]
    return [[re.sub("<.*?>", "", cell) for cell in re.findall(r"<t[hd].*?>(.*?)</t[hd]>", row)] for row in body.split("</tr>")[:-1]]


def test_every_result_of_a_machine_is_listed(results, tmp_path):
    """The newest release first, and those with numpy 2, which are in no history; their times are in the CSV."""
    content = render.content(shipped(), results)
    write_pages(tmp_path, content, "data")
    page = (tmp_path / addresses.of_machine("box")).read_text(encoding="utf-8")
    listed = [(release.partition("+")[0], environment, numpy) for release, environment, _, numpy, *_ in rows(page)]
    older = launch_files.PROVENANCE["numpy"]
    assert listed == [
        ("2.15.0", "py3.11-cuda", older),
        ("2.15.0", "py3.12-cuda-numpy2", "2.4.6"),
        ("2.14.1", "py3.11-cuda", older),
        ("2.14.1", "py3.9-cuda", older),
    ]
    assert not any(result.series_key.has_numpy_2 for result in content.machine.results)
    text = (tmp_path / addresses.of_machine_data("box")).read_text(encoding="utf-8")
    assert {row["environment"] for row in csv.DictReader(StringIO(text))} == {environment for _, environment, _ in listed}


def test_the_environment_says_what_is_not_that_of_the_times(results, tmp_path):
    """A call is timed with one thread, whatever torch takes by default; only an identity that is unknown is explained."""
    (each,) = machine.machines(results)
    write_pages(tmp_path, render.content(shipped(), results), "data")
    assert "recorded" not in (tmp_path / addresses.of_machine("box")).read_text(encoding="utf-8")
    assert ("threads, by default (timed with one)", str(launch_files.PROVENANCE["threads"])) in data._provenance(each.provenance)
