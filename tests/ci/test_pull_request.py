"""A pull request, compared by the command of pull-request.yml: its summary, what a job hands on, and its exit code."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tensorcopy.cli import main
from tensorcopy.errors import TensorcopyError
from tensorcopy.judge import comparisons
from tensorcopy.judge.comparisons import Question
from tensorcopy.measure import run, sides
from tensorcopy.measure.plan import Request
from tests import launch_files
from tests.conftest import ROOT, Checkout, at_home
from tests.repositories import AUTHOR, commit_all, edit, sha
from tests.repositories import run as git


class Measured:
    """Stands for measuring: notes each request, and has stored launches of two sides with given times."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.requests: list[Request] = []
        self.times: dict[str, Any] = {}  # of both sides, in microseconds, by case
        self.error: TensorcopyError | None = None
        self.problems: tuple[TensorcopyError, ...] = ()
        self.notes: tuple[str, ...] = ()

    def run(self, request: Request, *_: Any, **__: Any) -> Any:
        self.requests.append(request)
        if self.error and len({side.release for side in request.sides}) == 1:
            raise self.error
        return type("Outcome", (), {"problems": self.problems, "notes": self.notes})

    def compared(self, request: Request, outcome: Any, campaign: Any, margin: float) -> Any:
        cases = {case: dict(zip(("2.14.1", "2.15.0"), times)) for case, times in self.times.items()}
        folder = self.folder / f"{len(self.requests)}"
        launch_files.write(folder, cases, launches=8)
        return comparisons.between(Question(*launch_files.load(folder, "2.14.1", "2.15.0"), campaign.rules, margin))


@pytest.fixture
def measured(no_other_repository, every_python, tmp_path_factory, monkeypatch) -> Measured:
    made = Measured(tmp_path_factory.mktemp("launches"))
    monkeypatch.setattr(run, "run", made.run)
    monkeypatch.setattr(run, "compared", made.compared)
    return made


@pytest.fixture
def project(measured, tmp_path, monkeypatch) -> Path:
    """A project with a commit on main, and another one on a branch, as the current folder; GitHub names two files."""
    for variable in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    folder = tmp_path / "project"
    (folder / "benchmarks").mkdir(parents=True)
    (folder / "benchmarks" / "__init__.py").touch()
    (folder / "tensorcopy.toml").write_text('[project]\nname = "lab"\n[suites]\npath = "benchmarks"\n')
    shutil.copy(ROOT / "asv.conf.json", folder)
    monkeypatch.chdir(folder)
    git(folder, "init", "-q", "-b", "main", ".")
    commit_all(folder, "base")
    git(folder, "checkout", "-q", "-b", "work")
    (folder / "benchmarks" / "ones.py").write_text("def time_ones(): pass\n")
    commit_all(folder, "head")
    return folder


def summary(project: Path) -> str:
    return (project.parent / "GITHUB_STEP_SUMMARY").read_text()


def handed_on(project: Path) -> str:
    """Return the output `text` of the step, as GitHub reads it; "" without one."""
    path = project.parent / "GITHUB_OUTPUT"
    match = re.fullmatch(r"text<<(\w+)\n(.*)\n\1\n", path.read_text(), re.DOTALL) if path.exists() else None
    return match[2] if match else ""


def test_the_summary_begins_with_the_answer(project, measured, capsys):
    """The failed case first, names as code, what would have been noticed; the same text is handed on, with the marker of the device."""
    fails = "RuntimeError: `no` | <b> @me"
    measured.times = {"own.time_a": (1.0, 1.24), "own.time_b": (1.0, 1.0), "own.time_c": (1.0, fails), "own.time_d": (2.0, 2.0)}
    assert main(["ci", "pull-request"]) == 1
    marker, heading, *lines = summary(project).splitlines()
    assert marker == "<!-- tensorcopy cpu -->"
    base, head = (sha(project, name)[:8] for name in ("main", "work"))
    assert re.fullmatch(
        rf"### 🔴 head {head} against base {base} on Box 9000: 1 of 4 cases slower \(2\d\.\d %\), none faster, \*\*1 fails\*\*", heading
    ), heading
    rows = [line for line in lines if line.startswith("| ❌") or line.startswith("| 🔴")]
    assert [re.search(r"`(.*?)`", row)[1] for row in rows] == ["own.time_c", "own.time_a"]
    assert "&#60;b&#62;" in rows[0]
    assert "@me" not in rows[0]
    assert any(line.startswith("9 times in 10, we would notice a slowdown of ") for line in lines)
    assert handed_on(project) == summary(project)
    assert summary(project) in capsys.readouterr().out


def test_both_sides_take_turns_until_a_change_of_two_percent_is_decided(project, measured):
    """In a folder that is no history; the base is where the branch forked off, whatever main has now."""
    base, head = sha(project, "main"), sha(project, "work")
    git(project, "checkout", "-q", "main")
    git(project, *AUTHOR, "commit", "-q", "--allow-empty", "-m", "later")
    measured.times = {"own.time_a": (1.0, 1.0)}
    assert main(["ci", "pull-request", "--head", "work", "--device", "cuda"]) == 0
    (request,) = measured.requests
    assert [side.revision.commit for side in request.sides] == [base, head]
    assert (request.launches, request.most, request.half, request.together) == (8, 16, 0.01, True)
    assert (request.device, request.needs) == ("cuda", "cuda")
    assert request.folder == project / ".asv" / "revisions" / "results"
    assert summary(project).startswith("<!-- tensorcopy cuda -->\n### head ")


@pytest.mark.parametrize(
    ("times", "error", "code", "text"),
    [
        ({"own.time_a": (1.0, 1.0)}, None, 0, "none of 1 case slower"),
        ({"own.time_a": (1.2, 1.0)}, None, 0, "1 faster"),
        ({"own.time_a": (1.0, "ValueError: no")}, None, 1, "**1 fails**"),
        ({"own.time_a": ("ValueError: no", 1.0)}, None, 3, "none of 1 case slower"),
        ({}, TensorcopyError("head failed", got="<b>", allowed="c", next="d"), 2, "head failed: got &#60;b&#62;; allowed: c"),
    ],
    ids=["alike", "faster", "fails", "mended", "a side cannot be measured"],
)
def test_the_exit_code_is_the_verdict(project, measured, times, error, code, text):
    measured.times, measured.error = times, error
    assert main(["ci", "pull-request"]) == code
    assert text in summary(project)


def test_where_no_file_that_is_measured_differs_nothing_is_measured(project, measured):
    """The check passes; the summary says why, and there is no comment."""
    git(project, *AUTHOR, "commit", "-q", "--allow-empty", "-m", "again")
    assert main(["ci", "pull-request", "--base", "HEAD~1"]) == 0
    assert measured.requests == []
    assert summary(project) == "<!-- tensorcopy cpu -->\n### No file that is measured differs from the base\n"
    assert handed_on(project) == ""


def test_notes_of_measuring_are_told(project, measured):
    """Such as that base runs its own suites."""
    measured.times, measured.notes = {"own.time_a": (1.0, 1.0)}, ("base 1234abcd runs its own suites: no #1",)
    assert main(["ci", "pull-request"]) == 0
    assert "base 1234abcd runs its own suites: no \\#&#8203;1\n" in summary(project)


def test_what_went_wrong_beside_a_comparison_is_told(project, measured):
    """As that a case of a suite cannot be imported; what is compared is shown."""
    measured.times, measured.problems = {"own.time_a": (1.0, 1.0)}, (TensorcopyError("a is broken", got="b", allowed="c", next="d"),)
    assert main(["ci", "pull-request"]) == 2
    assert "none of 1 case slower" in summary(project)
    assert "a is broken: got b" in summary(project)


def test_a_release_that_head_adds_is_compared_with_the_one_before(measured, tmp_path, monkeypatch, capsys):
    """In a checkout of tensorcopy: under head's code, by the margin of releases; where nothing else differs, alone.

    Of several pairs the exit code is that of a slower case, before that of one that fails.
    """
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "benchmarks", "benchmarks", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "asv.conf.json", tmp_path)
    git(tmp_path, "init", "-q", "-b", "main", ".")
    rows, table = (ROOT / sides.TABLE).read_text().split("[[release]]"), tmp_path / sides.TABLE
    table.parent.mkdir()
    for added in (rows[:-1], rows):  # without the newest, and with it
        table.write_text("[[release]]".join(added))
        commit_all(tmp_path, "a table")
    measured.times = {"copies.BySize.time_copy tensor 16": (1.0, 1.0)}
    assert main(["ci", "pull-request", "--base", "HEAD~1"]) == 0
    (request,) = measured.requests
    newest = sides.release_table.load()[-2:]
    assert [side.release.version for side in request.sides] == [release.version for release in newest]
    assert {side.revision.commit for side in request.sides} == {sha(tmp_path)}
    assert request.half == pytest.approx(0.015)
    assert re.search(rf"### torch {newest[1].version} against (torch )?{newest[0].version} on Box 9000", capsys.readouterr().out)
    (tmp_path / "benchmarks" / "more.py").touch()
    git(tmp_path, "add", "benchmarks")
    git(tmp_path, *AUTHOR, "commit", "-qm", "a file that is measured")
    measured.error = TensorcopyError("head failed", got="a", allowed="b", next="c")
    measured.error.earlier = [TensorcopyError("base failed", got="a", allowed="b", next="c")]
    for seconds, code in ((1.0, 2), (1.2, 1)):  # two pairs, of which the first fails
        measured.times = {"copies.BySize.time_copy tensor 16": (1.0, seconds)}
        assert main(["ci", "pull-request", "--base", "HEAD~2"]) == code
        assert re.search("base failed.*head failed.*### .*torch", capsys.readouterr().out, re.DOTALL)


@pytest.mark.slow
def test_two_commits_are_measured(project, monkeypatch, tmp_path_factory):
    """By the step of the workflow, in the torch of this Python; a benchmark of head fails. `asv compare` reads the same launches."""
    monkeypatch.undo()
    suite = "def time_sum():\n    sum(range(2000))\n\n\ndef time_other():\n    sum(range(1000))\n"
    (project / "benchmarks" / "ones.py").write_text(suite)
    commit_all(project, "base")
    edit(project / "benchmarks" / "ones.py", "sum(range(1000))", "raise ValueError('no')")
    commit_all(project, "head")
    output = tmp_path_factory.mktemp("github")
    environment = {**at_home(output), "GITHUB_OUTPUT": str(output / "output"), "GITHUB_STEP_SUMMARY": str(output / "summary")}
    step = ["ci", "pull-request", "--base", "HEAD~1", "--head", "HEAD", "--for", "20s", "--interpreter", "same"]
    checkout = Checkout(project, environment)
    done = checkout.run("tensorcopy", *step)
    assert done.returncode == 1, done.stdout + done.stderr
    text = (output / "summary").read_text()
    assert "**1 fails**" in text
    assert "| ❌ `ones.time_other` |" in text
    assert "ones.time_sum" in text
    assert "both commits ran the later one's suites, so that this change is not compared" in text
    assert f"\n{text}" in (output / "output").read_text()
    compared = checkout.run("asv", "compare", "HEAD~1", "HEAD")
    assert (compared.returncode, "✗ ones.time_other" in compared.stdout) == (0, True), compared.stdout + compared.stderr
    assert not (project / "results").exists()
