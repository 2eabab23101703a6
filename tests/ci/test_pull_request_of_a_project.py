"""Two commits of a project: its operations, its suite and its package are what differs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from tensorcopy import campaign, configuration
from tensorcopy.ci import pr_comment
from tensorcopy.cli import main
from tensorcopy.judge.paired import Change, Reason, Verdict
from tensorcopy.measure import plan, revisions, side_process
from tensorcopy.measure.side_process import LocalSide
from tensorcopy.measure.taking import Job, Sides
from tensorcopy.releases import release_table
from tensorcopy.releases.environments import Environment
from tensorcopy.results.cases import Case
from tests.projects.test_new_project import COPIES
from tests.repositories import AUTHOR, commit_all, edit, sha
from tests.repositories import run as git

NORMS = Path("benchmarks") / "norms.py"  # the suite that `init` writes
STEADY = """
    def time_halved(self, numel):
        for _ in range(10):
            self.x / 2
"""
SLOW = ("self.x * torch.rsqrt", "for _ in range(100):\n            self.x.clone()\n        self.x * torch.rsqrt")


@pytest.fixture
def folder(no_other_repository, tmp_path, monkeypatch) -> Path:
    """The project of `init` in a repository, the current folder, with one commit."""
    (tmp_path / "lab").mkdir()
    monkeypatch.chdir(tmp_path / "lab")
    git(Path(), "init", "-q", "-b", "main")
    assert main(["init", "--title", "RMS norm"]) == 0
    commit_all(Path(), "base")
    return tmp_path / "lab"


def checkouts(folder: Path) -> list[Path]:
    """Return the folders with the files of the last two commits."""
    return [revisions.checked_out(sha(folder, name), configuration.paths()) for name in ("HEAD~1", "HEAD")]


def environments(folder: Path, name: str) -> Path:
    """Return the folder of the environments of a commit."""
    measurement = plan.Measurement(release_table.load()[-1], "3.11")
    paths = configuration.paths()
    return revisions.of(measurement, sha(folder, name), "", campaign.read(folder), paths).path(paths).parent


def test_each_commit_has_its_files_and_shares_the_environments(folder):
    edit(folder / NORMS, *SLOW)
    commit_all(folder, "head")
    base, head = checkouts(folder)
    assert [(place / NORMS).read_text().count("clone()") for place in (base, head)] == [0, 1]
    for name in ("HEAD~1", "HEAD"):
        assert environments(folder, name) == folder / ".asv" / "env"
    (base / "mark").touch()
    assert checkouts(folder) == [base, head]
    assert (base / "mark").exists()  # it is not made again


@pytest.mark.parametrize("requires", ['"einops==0.8.1"', '"."', "1"], ids=["version", "folder", "invalid"])
def test_a_commit_that_needs_other_packages_has_environments_of_its_own(folder, requires):
    """Other ones than the checkout; a folder is the one of each commit."""
    edit(folder / "tensorcopy.toml", "[project]\n", "[project]\nrequires = [" + requires + "]\n")
    commit_all(folder, "head")
    if requires != '"."':
        git(folder, "checkout", "-q", "HEAD~1")
    assert not environments(folder, "main").exists()


def test_a_project_below_the_top_takes_the_whole_repository(folder):
    """Its suite and its package may lie beside it; a script keeps its mode and a link its target."""
    below = folder / "over-torch"
    below.mkdir()
    (folder / "build.sh").write_text("#!/bin/sh\n")
    (folder / "build.sh").chmod(0o755)
    (folder / "link").symlink_to("build.sh")
    (below / "tensorcopy.toml").write_text('[project]\nname = "a"\nrequires = [".."]\n[suites]\npath = "../benchmarks"\n')
    (folder / "asv.conf.json").rename(below / "asv.conf.json")
    commit_all(folder, "one")
    (folder / "benchmarks" / "steps.py").touch()
    commit_all(folder, "two")
    os.chdir(below)
    base, head = checkouts(folder)
    assert base.parts[-2:] == (sha(folder, "HEAD~1")[:12], "over-torch")
    declared = campaign.read(head)
    assert declared.suites == head.parent / "benchmarks"
    assert declared.requirements() == [str(head.parent)]
    assert (head.parent / "benchmarks" / "steps.py").exists()
    assert not (base.parent / "benchmarks" / "steps.py").exists()
    assert os.access(head.parent / "build.sh", os.X_OK)
    assert (head.parent / "link").readlink() == Path("build.sh")


def suite(body: str) -> str:
    return f"class Ones:\n    def time_ones(self):\n        {body}\n"


@pytest.fixture
def two_suites(folder, monkeypatch) -> tuple[revisions.Revision, revisions.Revision, Job]:
    """Return two commits, of which the later one changes the body of a benchmark, and a job whose environments are not looked at."""
    for body in ("sum([1])", "sum([1, 2])"):
        (folder / "benchmarks" / "ones.py").write_text(suite(body))
        commit_all(folder, body)
    measurement, own = plan.Measurement(release_table.load().find("2.8.0"), "3.11"), campaign.read(folder)
    made = [revisions.of(measurement, sha(folder, name), name, own, configuration.paths()) for name in ("HEAD~1", "HEAD")]
    opened = Environment(Path(sys.executable), {"provenance": {"accelerators": {}}, "torch_folder": "torch"})
    sides = Sides(own, configuration.paths())
    sides.opened.update(dict.fromkeys(made, opened))
    return made[0], made[1], Job(sides, "box")


def body_of(revision: revisions.Revision, job: Job) -> str:
    """Return the body of the benchmark that a revision runs."""
    return (job.sides.of(revision).suites / "ones.py").read_text(encoding="utf-8")


def test_both_commits_run_the_later_one_s_suites(two_suites):
    """As with asv: where they ran each its own, a benchmark whose body has changed could not be compared."""
    base, head, job = two_suites
    assert (body_of(base, job), body_of(head, job)) == (suite("sum([1])"), suite("sum([1, 2])"))
    job.sides.taker.suites_of = lambda side: {}
    shared, note = revisions.with_suites_of(base, head, job)
    assert (shared.place, note) == (base.place, "")
    assert body_of(shared, job) == body_of(head, job)


def test_a_commit_that_cannot_import_the_later_one_s_suites_runs_its_own(two_suites):
    """And says why: they may import what only the later commit has."""

    def refuse(side: LocalSide) -> dict[str, Any]:
        raise side_process.cannot_import(side, "ModuleNotFoundError: No module named 'later'")

    base, head, job = two_suites
    job.sides.taker.suites_of = refuse
    own, note = revisions.with_suites_of(base, head, job)
    assert body_of(own, job) == suite("sum([1])")
    assert note.startswith("HEAD~1 runs its own suites: the suites cannot be imported in py3.11-cuda")
    assert note.endswith("No module named 'later'")
    assert job.sides.failed == {}


def error_of(capsys, *arguments: str) -> str:
    """Return the one line of a comparison that is refused."""
    assert main(["ci", "pull-request", "--base", "HEAD~1", *arguments]) == 2
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("tensorcopy: ")]
    return line


def test_names_of_a_third_party_are_shown_as_far_as_a_comment_shows_them():
    """Their parameters and units may have any character and any length."""
    case = Case("a.time_b", (("shape", "(3, 4)"), ("path", "<a/b>|`  é" + 200 * "x")))
    change = Change(Verdict.UNKNOWN, Reason.ONLY_AFTER, unit="<GB>/s" + 20 * "x")
    (row,) = pr_comment.rows(SimpleNamespace(changes={case: change}, after=SimpleNamespace(methods={})))
    assert row.case.startswith("a.time_b shape=(3, 4) path=_a/b___ _xxx")
    assert row.unit.startswith(" GB /sx")
    assert msgspec.json.decode(msgspec.json.encode(row), type=pr_comment.CommentRow) == row


def compared(folder: Path, head: str, python: str) -> tuple[int, dict[str, dict[str, Any]], str]:
    """Compare a head with the branch main; return the exit code, the changes by benchmark and the comment."""
    variables = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    few = ["--interpreter", python, "--launches", "3", "--bench", r"\(1024\)"]
    command = [sys.executable, "-m", "tensorcopy", "ci", "pull-request", "--base", "main", "--head", head, *few]
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    out = folder / "comparison"
    assert (out / "comparison.json").exists(), done.stderr
    assert not COPIES.search(done.stdout), done.stdout
    assert "--all" not in done.stdout  # an option of compare
    (pair,) = json.loads((out / "comparison.json").read_text())["pairs"]
    assert pair["failures"] == [], done.stderr
    return done.returncode, {row["case"].split()[0].rpartition("time_")[2]: row for row in pair["rows"]}, pr_comment.section(out, "", "cpu")


@pytest.mark.slow
def test_a_slower_benchmark_is_found_and_the_other_is_not(folder, old_python):
    """In the oldest torch; the project is what its commits have, not the files of the current folder."""
    with (folder / NORMS).open("a") as suite:
        suite.write(STEADY)
    commit_all(folder, "two benchmarks")
    git(folder, "checkout", "-q", "-b", "slow")
    edit(folder / NORMS, *SLOW)
    commit_all(folder, "slow")
    git(folder, "checkout", "-q", "main")
    code, changes, comment = compared(folder, "slow", old_python)
    assert (code, changes["rms_norm"]["reason"]) == (1, "changed"), changes
    assert changes["rms_norm"]["ratio"] > 4  # about 10
    assert 0.8 < changes["halved"]["ratio"] < 1.25
    assert re.match(r"### 🔴 [12] of 2 cases slower \(.*\), (none|1) faster", comment)  # one run in twenty may have a false alarm
    assert f"\nhead {sha(folder, 'slow')[:8]} against base {sha(folder, 'main')[:8]} with torch " in comment
    assert not COPIES.search(comment)


@pytest.mark.parametrize(
    ("before", "after", "arguments", "message"),
    [
        ("", "", ["--release", "0.1"], "have no torch in common here: got 0.1"),
        ("./library", "./library", ["--interpreter", "same"], "cannot have the packages of two commits: got requires that differ"),
        ("einops==0.8.0", "einops==0.8.1", ["--interpreter", "same"], "cannot have the packages of two commits: got requires that differ"),
    ],
    ids=["a release that is not in the table", "a folder in an interpreter", "two versions in an interpreter"],
)
def test_what_cannot_be_compared_is_refused(folder, capsys, before, after, arguments, message):
    """An interpreter imports one version of a package for both commits, and every case would be unchanged."""
    declaration = (folder / "tensorcopy.toml").read_text(encoding="utf-8")
    for package, name in ((before, "base"), (after, "head")):
        requires = f'[project]\nrequires = ["{package}"]  # {name}\n' if package else f"[project]  # {name}\n"
        (folder / "tensorcopy.toml").write_text(declaration.replace("[project]\n", requires), encoding="utf-8")
        commit_all(folder, name)
    assert message in error_of(capsys, *arguments)


def test_a_commit_before_the_project_is_measured_as_that_of_the_checkout_says(folder):
    """With its own package. So versions of a package that are older than its project can be compared, and so can the first pull request."""
    edit(folder / "tensorcopy.toml", "[project]\n", '[project]\nrequires = ["."]\n')
    git(folder, "rm", "-q", "--cached", "tensorcopy.toml")
    git(folder, *AUTHOR, "commit", "-qm", "without")
    commit_all(folder, "with")
    base, head = checkouts(folder)
    assert [(place / "tensorcopy.toml").exists() for place in (base, head)] == [False, True]
    own, paths = campaign.read(folder), configuration.paths()
    assert [revisions.of_folder(place, own).requirements() for place in (base, head)] == [[str(base)], [str(head)]]
    measurement = plan.Measurement(release_table.load().find("2.8.0"), "3.11")
    made = [revisions.of(measurement, sha(folder, name), "", own, paths) for name in ("HEAD~1", "HEAD")]
    assert made[0].path(paths).parent == base / ".asv" / "env"
    job = Job(Sides(own, paths, taker=SimpleNamespace(suites_of=lambda side: {})), "box")
    opened = Environment(Path(sys.executable), {"provenance": {"accelerators": {}}, "torch_folder": "torch"})
    job.sides.opened.update(dict.fromkeys(made, opened))
    _, note = revisions.with_suites_of(*made, job)
    assert note == f"{sha(folder, 'HEAD~1')[:8]} has no tensorcopy.toml: it is measured as that of the checkout says"
