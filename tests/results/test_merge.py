"""Merging copies launches: in any order, twice, and from two programs at once."""

import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tensorcopy.cli import main
from tensorcopy.errors import TensorcopyError
from tensorcopy.results import launches
from tensorcopy.results.merge import merge
from tests import launch_files
from tests.repositories import commit_all, run

CASES = {"copies.BySize.time_copy tensor 16": {"2.14.1": 1.0, "2.15.0": 1.2}}


@pytest.fixture
def folders(tmp_path) -> list[Path]:
    """Two folders with three launches each, of which they share none."""
    for number in (1, 2):
        launch_files.write(tmp_path / f"part-{number}", CASES, launches=3, start=launch_files.START.replace(hour=8 + number))
    return [tmp_path / "part-1", tmp_path / "part-2"]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_merge_has_every_launch_once(folders, tmp_path):
    """Byte for byte, in either order, and from a folder of folders."""
    both = contents(folders[0]) | contents(folders[1])
    assert len(both) == 7
    assert merge(folders, tmp_path / "a") == (7, 0)
    assert merge(folders[::-1], tmp_path / "b") == (7, 0)
    assert merge([tmp_path / "a", *folders], tmp_path / "b") == (0, 7)
    shutil.copytree(folders[0], tmp_path / "all" / "x" / "results")
    shutil.copytree(folders[1], tmp_path / "all" / "y")
    merge([tmp_path / "all"], tmp_path / "c")
    assert contents(tmp_path / "a") == contents(tmp_path / "b") == contents(tmp_path / "c") == both


def test_the_command_counts_them(folders, tmp_path, capsys):
    assert main(["merge", *map(str, folders), "--into", str(tmp_path / "into")]) == 0
    assert "7 files added, 0 there" in capsys.readouterr().out
    assert main(["merge", str(tmp_path / "nothing")]) == 2
    assert "nothing to merge: got no launch in " in capsys.readouterr().err


def test_merges_at_once_share_the_work(folders, tmp_path):
    """None of them fails, and each launch is counted as new once."""
    into = tmp_path / "into"
    with ThreadPoolExecutor(8) as pool:
        for number in range(10):
            counts = [*pool.map(lambda _: merge(folders, into / str(number)), range(8))]  # noqa: B023 - before the next number
            assert sum(new for new, _ in counts) == 7
            assert {sum(each) for each in counts} == {7}
            assert contents(into / str(number)) == contents(folders[0]) | contents(folders[1])


def test_a_branch_of_origin_has_the_results_of_the_same_folder(folders, tmp_path, monkeypatch):
    """Of a project below the top of its repository, whether its folder is relative or not."""
    project = tmp_path / "repository" / "over-torch"
    shutil.copytree(folders[0], project / "results")
    for command in (["init", "-q", "-b", "main"], ["remote", "add", "origin", "."]):
        run(project.parent, *command)
    commit_all(project, "results")
    shutil.rmtree(project / "results")
    monkeypatch.chdir(project)
    for into in (Path("results"), project / "results"):
        assert main(["merge", str(folders[1]), "--into", str(into), "--also", "main"]) == 0
        assert len(contents(project / "results")) == 7
        shutil.rmtree(project / "results")


def test_a_launch_with_another_content_is_refused_before_anything_is_copied(folders, tmp_path):
    """And one that is damaged."""
    into = tmp_path / "into"
    path = next((folders[0] / "box").glob("*T*.json"))
    launches.create(into / "box" / path.name, path.read_bytes() + b" ")
    with pytest.raises(TensorcopyError, match="is there with another content"):
        merge(folders, into)
    assert len(contents(into)) == 1
    shutil.rmtree(into)
    shutil.copytree(folders[0], tmp_path / "again")
    twice = tmp_path / "again" / "box" / path.name
    twice.write_bytes(twice.read_bytes() + b" ")
    with pytest.raises(TensorcopyError, match="is there with another content"):
        merge([folders[0], tmp_path / "again"], into)
    assert not into.exists()
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(TensorcopyError, match="cannot be read"):
        merge(folders, into)
    assert not into.exists()


@pytest.mark.parametrize("name", ["{} (1).json", "copy of {}.json"])
def test_a_launch_that_was_renamed_is_refused(folders, tmp_path, name):
    """It is a launch, and would be missing; what has no launch's name is none."""
    (folders[0] / "box" / "machine.json").write_text("{}")
    path = next((folders[0] / "box").glob("*T*.json"))
    renamed = path.rename(path.with_name(name.format(path.stem)))
    with pytest.raises(TensorcopyError, match=re.escape(f"{renamed.name} cannot be read: got the launch {path.stem}")):
        merge(folders, tmp_path / "into")
    renamed.unlink()
    assert merge(folders, tmp_path / "into") == (6, 0)
