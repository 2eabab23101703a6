"""Operations of the reader's own: declared in a file or by a package, then measured, checked, drawn and shown like the others."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tensorcopy.errors import TensorcopyError
from tensorcopy.worker.registry import operations
from tests.conftest import ROOT

GUIDE = (ROOT / "docs/own-operation.md").read_text(encoding="utf-8")


def example(folder: Path) -> Path:
    """The guide's example, as files."""
    (folder / operations.FILE).write_text(re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL)[0])
    (folder / "mine.py").write_text(re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)[0])
    return folder


def package(folder: Path) -> Path:
    """A package that is installed, as far as Python sees it, with the guide's entry point."""
    (folder / "mine.py").write_text(re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)[0])
    points = re.findall(r'```toml\n\[project.entry-points."(.*?)"\]\n(\w+) = "(.*?)"', GUIDE)[0]
    about = folder / "someones_copies-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: someones-copies\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[{}]\n{} = {}\n".format(*points))
    return folder


def tensorcopy(folder: Path, *command: str, path: str = "") -> subprocess.CompletedProcess[str]:
    """A command as typed in a folder that is no checkout."""
    environment = {**os.environ, "PYTHONPATH": path, "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, "-m", "tensorcopy.cli", *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_the_guide_s_example_is_checked_drawn_and_advised(tmp_path):
    """`check` tells what it does, and holds it to its promise; `plot` has it beside the copies; `advise` among what does as asked."""
    example(tmp_path)
    done = tensorcopy(tmp_path, "check", "--json")
    assert done.returncode == 0, done.stderr
    seen = {(row["method"], row["of"]): row for row in json.loads(done.stdout)["checked"] if row["group"] == "mine"}
    assert {method for method, _ in seen} == {"through_list", "pinned"}
    assert {row["kept"] for (method, _), row in seen.items() if method == "pinned"} == {True}
    assert {row["kept"] for (method, _), row in seen.items() if method == "through_list"} == {None}
    drawn = tensorcopy(tmp_path, "plot", "copies", "--max", "4", "--json")
    assert {"through_list", "pinned", "detach_clone"} <= {curve["name"] for curve in json.loads(drawn.stdout)["curves"]}
    advised = tensorcopy(tmp_path, "advise", "--requires-grad", "--numel", "64", "--json")
    assert "mine.pinned(x)" in [choice["code"] for choice in json.loads(advised.stdout)["choices"]]


def test_an_installed_package_declares_its_own(tmp_path):
    """By an entry point; its name is the group."""
    folder = package(tmp_path)
    done = tensorcopy(Path.home(), "check", "--json", path=str(folder))
    assert done.returncode == 0, done.stderr
    rows = [row for row in json.loads(done.stdout)["checked"] if row["method"] == "through_list"]
    assert {row["group"] for row in rows} == {"someones_copies"}
    assert {row["code"] for row in rows} == {"mine.through_list(x)"}


def test_a_broken_promise_is_seen(tmp_path):
    """It is the reader's own that `check` then names."""
    example(tmp_path)
    text = (tmp_path / operations.FILE).read_text()
    (tmp_path / operations.FILE).write_text(text.replace('layout = "contiguous"', "shares_storage = true"))
    done = tensorcopy(tmp_path, "check")
    assert done.returncode == 1
    assert "✗ mine.pinned(x) on cpu, of a plain tensor: shares_storage: True promised, False observed" in done.stdout


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ('name = "a"', "an operation without code"),
        ('name = "A b"\ncode = "x"', "small letters"),
        ('name = "a"\ncode = "x"\ngroup = "copy"', "a group of your own"),
        ('name = "a"\ncode = "x"\nbeside = "cakes"', "copies or conversions"),
        ('name = "a"\ncode = "x"\ncolour = "red"', "got colour; allowed: name, code"),
        ('name = "a"\ncode = "x"\nimports = "mine"', "an array of text"),
        ("name = 1", "got name = 1; allowed: text"),
        ('name = "a"\ncode = "x"\n[[operation]]\nname = "a"\ncode = "x"', "two operations have one name"),
        ('name = "a', "is refused"),
    ],
)
def test_a_file_that_is_not_as_it_should_be_is_refused(tmp_path, monkeypatch, row, text):
    """With what was got and what is allowed, before anything is measured."""
    (tmp_path / operations.FILE).write_text(f"[[operation]]\n{row}\n")
    monkeypatch.chdir(tmp_path)
    operations.declared.cache_clear()
    try:
        with pytest.raises(TensorcopyError) as caught:
            operations.declared()
    finally:
        operations.declared.cache_clear()
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ('name = "detach"\ncode = "x"', "an operation has the name of another: got detach"),
        ('name = "floor"\ncode = "x.clone()"', "an operation has the name of another: got floor"),
        ('name = "a"\ncode = "nowhere.copy(x)"\nimports = ["nowhere"]', "the operation a cannot be imported: got nowhere: No module named"),
        ('name = "a"\ncode = "x +"', "the operation a is refused: got SyntaxError"),
        ('name = "a"\ncode = "x"\npromise.plain = { colour = 1 }', "the operation a is refused: got TypeError"),
    ],
)
def test_an_operation_that_cannot_be_had_is_said_in_one_line(tmp_path, row, text):
    (tmp_path / operations.FILE).write_text(f"[[operation]]\n{row}\n")
    done = tensorcopy(tmp_path, "check")
    assert done.returncode == 2
    assert done.stderr.startswith(f"tensorcopy: {text}")


def test_without_any_there_is_none():
    """Nothing is handed on, and the suites are those of the checkout."""
    assert operations.declared() == ()
    assert operations.variables() == {}


@pytest.mark.slow
def test_an_operation_is_measured_and_shown(workshop):
    """In a release's own environment, into results, and on the site under its own group."""
    example(workshop.root)
    known = workshop.root / "results" / "benchmarks.json"
    before = known.read_text()
    try:
        run = workshop.run("tensorcopy", "measure", "2.15.0", "--machine", "box", "--passes", "1", "--bench", r"^own\.BySize(?!.*16777216)")
        assert run.returncode == 0, run.stdout + run.stderr
        (path,) = (workshop.root / "results" / "box").glob("*-py3.11-*.json")
        document = json.loads(path.read_text())
        assert document["methods"]["pinned"]["group"] == "mine"
        assert document["methods"]["pinned"]["code"] == "mine.pinned(x)"
        published = workshop.run("asv", "publish")
        assert published.returncode == 0, published.stdout + published.stderr
        site = workshop.root / "site"
        for page in ("methods/pinned.html", "history/box/own.BySize/pinned-1024.html", "sizes/box/py3.11-cuda/2.15.0.html"):
            assert "mine.pinned(x)" in re.sub(r"<.*?>", "", (site / page).read_text()), page
        assert "mine: own operations on cpu" in (site / "sizes/box/py3.11-cuda/2.15.0.html").read_text()
        assert "mine.through_list(x)" in re.sub(r"<.*?>", "", (site / "semantics.html").read_text())
    finally:
        for name in (operations.FILE, "mine.py"):
            (workshop.root / name).unlink()
        shutil.rmtree(workshop.root / "results" / "box", ignore_errors=True)
        known.write_text(before)  # other tests use this checkout too
