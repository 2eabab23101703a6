"""The table of releases."""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import date

import pytest
from packaging.version import Version

from tensorcopy.errors import TensorcopyError
from tensorcopy.releases import release_table
from tests.conftest import NEW


def versions(chosen):
    return [release.version for release in chosen]


def test_the_table_has_every_minor_release_in_order_of_version():
    """1.9 to 2.15, and the article's 1.9.0 beside 1.9.1."""
    minors = [f"1.{n}" for n in range(9, 14)] + [f"2.{n}" for n in range(16)]
    listed = versions(release_table.load())
    assert list(dict.fromkeys(".".join(version.split(".")[:2]) for version in listed)) == minors
    assert listed[:2] == ["1.9.0", "1.9.1"]
    assert listed == sorted(listed, key=Version)


def test_every_sha_is_another():
    """It is the commit's name to asv, eight digits of it a file's."""
    shas = [release.sha[:8] for release in release_table.load()]
    assert len(set(shas)) == len(shas)


def test_one_numpy_wherever_possible():
    """So that numpy is no part of the story: a later one only on Pythons for which 1.26.4 has no wheel."""
    assert {release.numpy for release in release_table.load()} == {"1.26.4"}
    newest = release_table.load()[-1]
    assert release_table.numpy_for(newest, "3.11") == "1.26.4"
    assert release_table.numpy_for(newest, "3.13") == "2.1.3"


@pytest.mark.parametrize("name", ["2.5.1", "v2.5.1", "a8d6afb", "a8d6afb511a69687bbb2b7e88a3cf67917e1697e"])
def test_a_release_is_found_by_version_tag_and_sha(name):
    """Whatever asv or a person calls it."""
    assert release_table.find(name).version == "2.5.1"


@pytest.mark.parametrize(
    ("text", "first", "last", "count"),
    [
        ("2.15.0", "2.15.0", "2.15.0", 1),
        ("2.10..", "2.10.0", "2.15.0", 6),
        ("..1.10", "1.9.0", "1.10.2", 3),
        ("2.5.1..2.7", "2.5.1", "2.7.1", 3),
    ],
)
def test_a_range_is_selected(text, first, last, count):
    """Both ends included; a minor release stands for its last patch."""
    chosen = versions(release_table.select(text))
    assert (chosen[0], chosen[-1], len(chosen)) == (first, last, count)


@pytest.mark.parametrize("text", ["2.99.0", "v3", "2.99..", "2.7..2.5"])
def test_an_unknown_release_is_one_clear_line(text):
    """What, got, allowed, next."""
    with pytest.raises(TensorcopyError, match=r"^[^\n]+: got [^\n]+; allowed: [^\n]+; next: [^\n]+$"):
        release_table.select(text)


def test_a_row_is_added_in_its_place(tmp_path):
    """By version, not at the end; a nightly is a row like any other; adding it again replaces it."""
    table = tmp_path / "releases.toml"
    shutil.copy(release_table.TABLE, table)
    nightly = replace(NEW, version="2.13.1.dev20261101", kind="nightly", requires=("setuptools==1",))
    release_table.add(nightly, table)
    after = release_table.load(table)
    assert versions(after).index(nightly.version) == versions(after).index("2.13.0") + 1
    assert nightly in after
    release_table.add(replace(nightly, date=date(2026, 11, 2)), table)
    assert len(release_table.load(table)) == len(after)
    assert table.read_text().startswith(release_table.TABLE.read_text().split("[[release]]")[0])


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (('sha = "', 'sha = "x'), "the SHA of torch"),
        (("numpy = ", "nunpy = "), "is no release"),
        (("[[release]]", "[[release"), "cannot be read"),
    ],
    ids=["sha", "key", "syntax"],
)
def test_a_damaged_table_is_one_clear_line(tmp_path, change, complaint):
    """The table is edited by hand too."""
    table = tmp_path / "releases.toml"
    table.write_text(release_table.TABLE.read_text().replace(*change, 1))
    with pytest.raises(TensorcopyError, match=complaint):
        release_table.load(table)


@pytest.mark.parametrize(("python", "runs"), [("3.9", False), ("3.10", False), ("3.11", True), ("3.15", True), ("3.16", False)])
def test_pythons_are_compared_as_numbers(python, runs):
    """3.9 is older than 3.11."""
    assert release_table.find("2.15.0").runs_on(python) is runs


@pytest.mark.slow
def test_what_the_index_has_and_the_table_has_not_becomes_a_row(workshop, tmp_path):
    """The newest rows taken out come back as they were, beside patches that the table never had; then there is nothing."""
    rows = release_table.load()
    table = workshop.root / "tensorcopy" / "releases.toml"
    whole = table.read_text(encoding="utf-8")
    try:
        table.write_text("[[release]]".join(whole.split("[[release]]")[:-2]), encoding="utf-8")
        done = workshop.run("tensorcopy", "releases", "new")
        assert done.returncode == 0, done.stderr
        assert f"torch {rows[-1].version} of {rows[-1].date}: new in the table" in done.stdout
        found = release_table.load(table)
        assert set(found) >= set(rows)
        assert "The index has no torch that the table has not" in workshop.run("tensorcopy", "releases", "new").stdout
    finally:
        table.write_text(whole, encoding="utf-8")
