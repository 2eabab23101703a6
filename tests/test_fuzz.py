"""No mutation of a result file raises, and none changes a comparison without a word."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tensorcopy import cli
from tensorcopy.asv_plugin.stamp import summary
from tensorcopy.errors import TensorcopyError
from tensorcopy.results import merge, reader, writing
from tensorcopy.site import render
from tests import mutations
from tests.mutations import RELEASES, mutate, seeded, small_results

RESULTS = Path("results")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout with small results."""
    folder = tmp_path_factory.mktemp("small")
    small_results(folder)
    return folder


@pytest.fixture
def in_copy(small: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Any]:
    """A context in which the current folder is a fresh copy of the small checkout."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("COLUMNS", "200")

    @contextmanager
    def copied() -> Iterator[None]:
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "checkout"
            shutil.copytree(small, copy)
            with monkeypatch.context() as patch:
                patch.chdir(copy)
                yield

    return copied


LOAD, COMPARE, PAGES, MERGE = (
    f"a random mutation of a result file: {what}"
    for what in (
        "load",
        "compare; an output that changes names the file, unless the value is plausible",
        "pages",
        "merge; all or nothing is written",
    )
)  # rows of docs/reliability.md


@pytest.fixture
def check_property(
    request: pytest.FixtureRequest, tried: Callable[[str, int], None]
) -> Callable[[Callable[[mutations.Choose], None], int, str], None]:
    """A function that checks a property of mutations: the same ones in each run, but others in each run by hand.

    It counts the tries of a row, also where the property does not hold.
    """

    def check(prop: Callable[[mutations.Choose], None], tries: int, row: str) -> None:
        count = 0

        def counted(choose: mutations.Choose) -> None:
            nonlocal count
            count += 1
            prop(choose)

        try:
            check_mutations(counted, tries, by_hand="by-hand" in request.node.name)
        finally:
            tried(row, count)

    return check


def check_mutations(prop: Callable[[mutations.Choose], None], tries: int, *, by_hand: bool) -> None:
    @settings(max_examples=tries, deadline=None, derandomize=not by_hand, database=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def check(data: st.DataObject) -> None:
        prop(lambda options: data.draw(st.sampled_from(options)))

    check()


def runs(fast: int, weekly: int, by_hand: int) -> pytest.MarkDecorator:
    """Return the numbers of tries: beside the other fast tests, every week, and by hand."""
    return pytest.mark.parametrize(
        "tries",
        [fast, pytest.param(weekly, marks=pytest.mark.weekly), pytest.param(by_hand, marks=pytest.mark.fuzz)],
        ids=["fast", "weekly", "by-hand"],
    )


def compared(capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Return exit code, output and errors of a comparison."""
    code = cli.main(["compare", *RELEASES])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def check_compare(choose: mutations.Choose, undamaged: tuple[int, str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """Compare after a mutation: an output that differs names a file."""
    path, done = mutate(RESULTS, choose)
    code, output, errors = compared(capsys)
    assert "Traceback" not in errors
    if (code, output) != undamaged[:2] and not mutations.is_possible(path, done):
        assert mutations.named(path, done) in errors, done


@runs(fast=40, weekly=400, by_hand=1600)
def test_loading_never_raises(tries, in_copy, check_property):
    """A problem is an error in one line."""

    def prop(choose: mutations.Choose) -> None:
        with in_copy():
            mutate(RESULTS, choose)
            loaded = reader.load_results(RESULTS)
            assert all("\n" not in str(problem) and len(str(problem)) < 2000 for problem in loaded.problems)

    check_property(prop, tries, LOAD)


@runs(fast=20, weekly=200, by_hand=1600)
def test_a_comparison_that_differs_names_the_damaged_file(tries, in_copy, check_property, capsys):
    """On stderr; or the damage is another value that could have been measured."""
    with in_copy():
        undamaged = compared(capsys)
        assert undamaged[0] == 0
        assert undamaged[2] == ""

    def prop(choose: mutations.Choose) -> None:
        with in_copy():
            check_compare(choose, undamaged, capsys)

    check_property(prop, tries, COMPARE)


@runs(fast=2, weekly=25, by_hand=400)
def test_every_page_is_written(tries, in_copy, check_property):
    """Of the results that could be read."""

    def prop(choose: mutations.Choose) -> None:
        with in_copy():
            mutate(RESULTS, choose)
            assert dict(render.files(render.content(reader.load_results(RESULTS).results)))

    check_property(prop, tries, PAGES)


@runs(fast=10, weekly=100, by_hand=320)
def test_merging_takes_all_or_nothing(tries, in_copy, check_property):
    """A merge either writes valid results, or names a file and writes nothing."""

    def prop(choose: mutations.Choose) -> None:
        with in_copy():
            into = Path("into")
            shutil.copytree(RESULTS, into)
            mutate(RESULTS, choose)
            before = contents(into)
            try:
                merge.merge([RESULTS], into, summary)
            except TensorcopyError:
                assert contents(into) == before
            else:
                in_no_history = [problem for problem in reader.load_results(into).problems if "in no history" not in str(problem)]
                assert in_no_history == []

    check_property(prop, tries, MERGE)


def contents(folder: Path) -> dict[str, str]:
    return {
        str(path): path.read_text(encoding="utf-8")
        for path in folder.rglob("*")
        if path.is_file() and path.name not in (writing.LOCK, writing.WRITER)
    }


REPLACED = [what for what in mutations.FILE_MUTATIONS if what not in ("a copy beside itself", "another folder")]


@pytest.mark.parametrize("what", REPLACED)
@pytest.mark.parametrize("name", ["benchmarks.json", "xeon-2core/machine.json", "xeon-2core/38b96d33-py3.11-cuda.json"])
def test_a_comparison_without_one_of_its_files_is_refused(what, name, in_copy, capsys):
    """Something else is in the file's place, or the file has another name; the older Python is not taken instead."""
    with in_copy():
        mutations.FILE_MUTATIONS[what](RESULTS / name)
        code, output, errors = compared(capsys)
        assert (code, output) == (2, "")
        assert errors.startswith("tensorcopy: ")
        assert f"results/{name.partition('/')[0]}" in errors


SEEDS = (0, 36, 63, 130, 188, 278, 387, 509, 637, 997, 1195, 1594)  # each raised before files were validated


@pytest.mark.parametrize("seed", SEEDS)
def test_a_mutation_that_raised_is_a_problem(seed, in_copy):
    """By the seed of a run of 1,600."""
    with in_copy():
        path, _ = mutate(RESULTS, seeded(seed))
        assert [path.name in str(problem) for problem in reader.load_results(RESULTS).problems] == [True]
