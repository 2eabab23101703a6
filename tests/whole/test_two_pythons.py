"""Releases of two Pythons, measured by one command: the reference, which both have, joins their launches."""

import pytest

from tensorcopy.measure.sides import REFERENCE
from tensorcopy.releases import release_table
from tensorcopy.results import launches
from tests.conftest import NEWEST_SHIPPED, OLDEST_SHIPPED, installed, link_environments

pytestmark = pytest.mark.weekly


def test_the_launches_of_two_pythons_are_joined_by_the_reference(workshop, tmp_path_factory):
    """Each has its releases and the reference as sides, on one core, and the fit compares them by way of it."""
    oldest, newest = OLDEST_SHIPPED.version, NEWEST_SHIPPED.version
    link_environments(workshop.root, installed(tmp_path_factory, oldest, f"{REFERENCE}@3.9", REFERENCE, newest))
    options = ("--launches", "1", "--machine", "joined", "--bench", r"copies\.BySize.*'tensor', 16\)", "--no-counts")
    done = workshop.run("tensorcopy", "measure", oldest, newest, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    taken = [launches.read(path) for path in (workshop.root / "results" / "joined").glob("*.json")]
    assert [len(each.sides) for each in taken] == [2, 2]
    assert {each.sides[each.reference].sha for each in taken} == {release_table.load().find(REFERENCE).sha}
    compared = workshop.run("tensorcopy", "compare", f"{oldest}@joined", f"{newest}@joined", "--all")
    assert "2 releases with 1 launch, in results/joined" in done.stdout
    assert compared.returncode in (0, 3), compared.stderr
